"""The image that containers start from: one that is named, built, or a mirror of the host."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from aide.errors import AideError, UnavailableError
from aide.sandboxes.docker import Image
from aide.sandboxes.engine import OWNER, Engine
from aide.sandboxes.environment import (
    DEFAULT_PACKAGES,
    LIST_PACKAGES,
    listed,
    solution_environment,
)
from aide.sandboxes.mirror import image_tar, mirror

log = logging.getLogger("aide")
REPOSITORY = "aide-solutions"
MIRROR = "aide-mirror"
BASE = "python:3.12-slim"


def make_image(engine: Engine, name: str, packages: Sequence[str], python: Path | None) -> Image:
    """The image for a run.

    Args:
        engine: the engine.
        name: an image's name, "mirror", or "auto": built where a registry can be reached and no
            `python` is given, else the mirror.
        packages: what programs may import; not asked of a named image.
        python: an environment to mirror instead of our own.

    Raises:
        UnavailableError: the image or the environment cannot be had.
    """
    if name == "mirror" or (name == "auto" and python is not None):
        return _mirrored(engine, packages, python, "the host's Python mirrored")
    if name != "auto":
        return _named(engine, name, f"image {name}")
    packages = packages or DEFAULT_PACKAGES
    tag = _tag(packages)
    if not _exists(engine, tag):
        problem = _build(engine, tag, packages)
        if problem:
            return _mirrored(engine, packages, python, f"the host's Python mirrored ({problem})")
    return _named(engine, tag, f"image {tag}")


def _mirrored(engine: Engine, packages: Sequence[str], python: Path | None, about: str) -> Image:
    environment = solution_environment(packages, python=python)
    shown = mirror(environment.python)
    data = image_tar()
    tag = f"{MIRROR}:{hashlib.sha256(data).hexdigest()[:12]}"
    if not _exists(engine, tag):
        client = engine.client.api
        # Podman's engine heeds a tag only here.
        engine.ask(lambda: client.import_image_from_data(data, repository=tag))
    return Image(
        tag,
        str(shown.python),
        shown.folders,
        ("/usr/local",) if shown.hide_local else (),
        environment.packages,
        about,
    )


def _named(engine: Engine, name: str, about: str) -> Image:
    if not _exists(engine, name):
        log.info("Pulling the image %s", name)
        try:
            engine.ask(lambda: engine.client.images.pull(name))
        except AideError as error:
            raise UnavailableError(
                f"the image {name} is not there and cannot be had: {error}"
            ) from (error)
    return Image(name, "python3", (), (), _packages_inside(engine, name), about)


def _packages_inside(engine: Engine, name: str) -> Mapping[str, str]:
    options = {
        "entrypoint": ["python3", "-I", "-c", LIST_PACKAGES],
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "labels": {OWNER: str(engine.me)},
    }
    try:
        container = engine.start(name, f"aide-packages-{uuid.uuid4().hex[:8]}", options)
        try:
            engine.ask(container.wait)
            return listed(engine.ask(lambda: container.logs(stderr=False)).decode())
        finally:
            engine.remove(container.id)
    except (AideError, ValueError) as error:
        raise UnavailableError(f"the image {name} has no usable python3: {error}") from error


def _exists(engine: Engine, name: str) -> bool:
    return bool(engine.ask(lambda: engine.client.images.list(name=name)))


def _build(engine: Engine, tag: str, packages: Sequence[str]) -> str:
    """Build our own image; why it cannot be, or "". One short look at the registry comes first."""
    if not engine.reaches(BASE):
        return "no registry can be reached"
    log.info("Building the image %s (once): %s", tag, ", ".join(packages))
    try:
        with as_file(files("aide.sandboxes").joinpath("image")) as folder:
            engine.build(tag, folder, {"PACKAGES": " ".join(packages)})
    except AideError as error:
        return f"building an image failed: {str(error)[:200]}"
    return ""


def _tag(packages: Sequence[str]) -> str:
    recipe = files("aide.sandboxes").joinpath("image/Dockerfile").read_text()
    key = json.dumps([recipe, sorted(packages)])
    return f"{REPOSITORY}:{hashlib.sha256(key.encode()).hexdigest()[:12]}"
