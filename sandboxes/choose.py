"""Which sandbox a run gets, and what to do where the one that was asked for is not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from aide.errors import AideError, ConfigError, UnavailableError
from aide.interfaces import Sandbox
from aide.sandboxes.environment import NoEnvironment, solution_environment

KINDS = ("auto", "docker", "bubblewrap", "process")


def make_sandbox(
    kind: str,
    *,
    run_id: str,
    packages: Sequence[str] = (),
    image: str = "auto",
    python: Path | None = None,
    offline_author: bool = False,
    warm: bool = True,
) -> Sandbox:
    """The sandbox for a run. The caller closes it.

    Args:
        kind: "docker", "bubblewrap", "process", or "auto": the first of these that works, the
            last one only for code that the offline model writes.
        run_id: a short name that no other run has.
        packages: what programs may import, as pip takes it; the default ones if empty.
        image: for docker: an image's name, "mirror" or "auto".
        python: an environment of the user's own instead of one made for the packages.
        offline_author: True if the offline model writes the code.
        warm: False to start none ahead, whatever `Sandbox.prepare` is told.

    Raises:
        ConfigError: there is no such kind.
        UnavailableError: it cannot work here; says what to install or to choose.
        SandboxError: the engine failed.
    """
    if kind not in KINDS:
        raise ConfigError(f"there is no sandbox {kind!r}; known: {', '.join(KINDS)}")
    if not sys.platform.startswith("linux"):
        raise UnavailableError("the sandboxes need Linux: run in a virtual machine or on a server")
    if kind == "docker":
        return _docker(run_id, packages, image, python, warm)
    if kind == "bubblewrap":
        return _bubblewrap(packages, python, warm)
    if kind == "process":
        return _process(packages, python, warm)
    problems = []
    attempts: list[Callable[[], Sandbox]] = [
        lambda: _docker(run_id, packages, image, python, warm),
        lambda: _bubblewrap(packages, python, warm),
    ]
    for attempt in attempts:
        try:
            return attempt()
        except NoEnvironment:
            raise
        except UnavailableError as error:
            problems.append(str(error))
    if offline_author:
        return _process(packages, python, warm)
    raise UnavailableError(
        "no sandbox works here: start a Docker engine or install bubblewrap, or name "
        f"'--sandbox process' to run without isolation ({'; '.join(problems)})"
    )


def probe() -> list[tuple[str, bool, str]]:
    """Each backend: its name, whether it can be used here, and a sentence on it."""
    return [_probe_docker(), _probe_bubblewrap(), ("process", True, _process_warning())]


def _docker(
    run_id: str, packages: Sequence[str], image: str, python: Path | None, warm: bool
) -> Sandbox:
    # Imported here, since the engine's client takes long to load and may not be needed.
    from aide.sandboxes.docker import DockerSandbox
    from aide.sandboxes.engine import Engine
    from aide.sandboxes.image import make_image

    engine = Engine()
    try:
        made = make_image(engine, image, packages, python)
        return DockerSandbox(engine, made, run_id, warm=warm)
    except AideError:
        engine.close()
        raise


def _bubblewrap(packages: Sequence[str], python: Path | None, warm: bool) -> Sandbox:
    from aide.sandboxes.bubblewrap import BubblewrapSandbox, find_program

    find_program()
    return BubblewrapSandbox(solution_environment(packages, python=python), warm=warm)


def _process(packages: Sequence[str], python: Path | None, warm: bool) -> Sandbox:
    from aide.sandboxes.process import ProcessSandbox

    return ProcessSandbox(solution_environment(packages, python=python), warm=warm)


def _probe_docker() -> tuple[str, bool, str]:
    from aide.sandboxes.engine import Engine

    try:
        engine = Engine()
    except UnavailableError as error:
        return "docker", False, str(error)
    engine.close()
    return "docker", True, f"engine {engine.version} answers at {engine.address}"


def _probe_bubblewrap() -> tuple[str, bool, str]:
    from aide.sandboxes.bubblewrap import BubblewrapSandbox
    from aide.sandboxes.environment import Environment

    try:
        sandbox = BubblewrapSandbox(Environment(Path(sys.executable), {}))
    except AideError as error:
        return "bubblewrap", False, str(error)
    return "bubblewrap", True, sandbox.about


def _process_warning() -> str:
    from aide.sandboxes.process import ABOUT

    return ABOUT
