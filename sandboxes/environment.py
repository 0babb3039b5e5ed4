"""The Python that solutions run with: a virtual environment of its own, made on first use.

It is never the one that the search itself runs in: its code and its graders would be readable.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aide.cache import cache_folder
from aide.errors import UnavailableError

log = logging.getLogger("aide")
DEFAULT_PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "statsmodels")
TOOLS = ("pip", "setuptools", "wheel")
READY = "ready"
INSTALL_SECONDS = 1800
LIST_PACKAGES = (
    "import importlib.metadata as m, json;"
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
)


class NoEnvironment(UnavailableError):
    """The solutions' Python is not there, whatever the sandbox."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python that has the solutions' packages.

    Attributes:
        python: the interpreter.
        packages: what it can import: distribution name to version, as installed.
    """

    python: Path
    packages: Mapping[str, str]


def solution_environment(
    packages: Sequence[str] = (), *, python: Path | None = None
) -> Environment:
    """The environment for a list of packages, made in the cache if it is not there yet.

    Args:
        packages: requirements as pip takes them; the default ones if empty.
        python: an environment of the user's own, taken as it is.

    Raises:
        NoEnvironment: it cannot be made, or `python` does not run.
    """
    if python is not None:
        return Environment(python.absolute(), installed(python.absolute()))
    wanted = sorted(packages or DEFAULT_PACKAGES)
    key = json.dumps([sys.version, sys.base_prefix, wanted])
    folder = cache_folder("environments", hashlib.sha256(key.encode()).hexdigest()[:16])
    interpreter = folder / "venv" / "bin" / "python"
    with _locked(folder / "lock"):
        if not (folder / READY).exists():
            _make(folder, wanted)
    return Environment(interpreter, installed(interpreter))


def installed(python: Path) -> dict[str, str]:
    """What an interpreter can import, by name, without the installers.

    Raises:
        NoEnvironment: it does not run.
    """
    command = [str(python), "-I", "-c", LIST_PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoEnvironment(f"the solutions' Python {python} does not run: {error}") from error
    return listed(done.stdout)


def listed(text: str) -> dict[str, str]:
    """What `LIST_PACKAGES` printed, sorted, without the installers."""
    found = json.loads(text).items()
    return {name: version for name, version in sorted(found) if name not in TOOLS}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, packages: Sequence[str]) -> None:
    """Make it in place, since an environment cannot be moved; the marker comes last."""
    venv = folder / "venv"
    shutil.rmtree(venv, ignore_errors=True)
    log.info("Making the solutions' environment (once): %s", ", ".join(packages))
    python = str(venv / "bin" / "python")
    # Our own pip serves where there is one: to install another takes longer than all the rest.
    if _has_pip():
        _call([sys.executable, "-m", "venv", "--without-pip", str(venv)])
        pip = [sys.executable, "-m", "pip", "--python", python]
    else:
        _call([sys.executable, "-m", "venv", str(venv)])
        pip = [python, "-m", "pip"]
    options = ["--only-binary", ":all:", "--disable-pip-version-check", "--no-input", "--quiet"]
    _call([*pip, "install", *options, *packages])
    (folder / READY).touch()


def _has_pip() -> bool:
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False, env=_clean()
    )
    return asked.returncode == 0


def _clean() -> dict[str, str]:
    """Our own variables, without what would show our own packages to the new environment."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _call(command: list[str]) -> None:
    # The sandbox's user is another one for root, so the files have to be open to all.
    try:
        subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=INSTALL_SECONDS,
            umask=0o022,
            env=_clean(),
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or "").strip().splitlines() or ["it said nothing"]
        raise NoEnvironment(
            f"the solutions' environment cannot be made: {lines[-1]}; check the network, or "
            "name an environment of your own"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoEnvironment(f"the solutions' environment cannot be made: {error}") from error
