"""`aide doctor`: what this machine has of what a run needs, a line each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

from aide.cache import cache_folder
from aide.errors import AideError

SERVICES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Each service's package, which is also our extra, and the variable with its key."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    Attributes:
        what: its name.
        ok: True if a run can use it.
        needed: True if no run works without it.
        says: a sentence for people.
    """

    what: str
    ok: bool
    needed: bool
    says: str


def examine() -> list[Finding]:
    """Everything that a run depends on."""
    return [_python(), _aideml(), _git(), _cache(), *_sandboxes(), *map(_service, SERVICES)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", True, True, f"{version}, {sys.executable}")


def _aideml() -> Finding:
    """aideml installs the same import package: each breaks the other."""
    try:
        version = metadata.version("aideml")
    except metadata.PackageNotFoundError:
        return Finding("aideml", True, True, "is not installed here, as it should be")
    return Finding(
        "aideml",
        False,
        True,
        f"version {version} is installed in this environment and overwrites parts of aide-search; "
        "uninstall both, then install aide-search alone",
    )


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", False, True, "is missing; on Debian: apt-get install git")
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return Finding("git", result.returncode == 0, True, result.stdout.strip() or "does not run")


def _cache() -> Finding:
    try:
        folder = cache_folder()
        probe = folder / ".doctor"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Finding("cache", False, True, f"cannot be written ({error}); set AIDE_CACHE")
    free = shutil.disk_usage(folder).free / 2**30
    return Finding("cache", True, True, f"{folder}, {free:.1f} GiB free")


def _sandboxes() -> list[Finding]:
    from aide.sandboxes import probe

    try:
        return [Finding(name, ok, False, says) for name, ok, says in probe()]
    except AideError as error:
        return [Finding("sandboxes", False, True, str(error))]


def _service(name: str) -> Finding:
    """Whether a run could use a service's models; the key itself is never shown or tried."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        says = f"its package is not installed; pip install 'aide-search[{name}]'"
        return Finding(name, False, False, says)
    variable = SERVICES[name]
    if os.environ.get(variable):
        return Finding(name, True, False, f"package {version}, {variable} is set")
    says = f"package {version}, {variable} is not set; only servers of your own will answer"
    return Finding(name, False, False, says)
