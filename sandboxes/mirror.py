"""The host's own Python shown inside a sandbox: which folders have to be there, and no others."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from aide.errors import UnavailableError

USERS = "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
GROUPS = "root:x:0:\nnogroup:x:65534:\n"
SWITCH = "passwd: files\ngroup: files\nhosts: files\n"
TOP = ("bin", "lib", "lib64", "lib32", "libx32")


@dataclass(frozen=True, slots=True)
class Mirror:
    """What of the host is shown.

    Attributes:
        python: the interpreter to start.
        folders: host folders, at the same path inside, read-only.
        links: top-level symbolic links: path to target.
        hide_local: True if /usr/local is there and not needed.
    """

    python: Path
    folders: tuple[Path, ...]
    links: dict[str, str]
    hide_local: bool


def mirror(python: Path) -> Mirror:
    """What a program needs of the host to run with this interpreter.

    Raises:
        UnavailableError: the interpreter does not run.
    """
    prefixes = [path.resolve() for path in _prefixes(python)]
    tops = [Path("/", name) for name in TOP]
    wanted = [Path("/usr"), *(top for top in tops if top.is_dir() and not top.is_symlink())]
    for prefix in sorted(set(prefixes)):
        if not any(prefix.is_relative_to(folder) for folder in wanted):
            wanted.append(prefix)
    links = {str(top): str(top.readlink()) for top in tops if top.is_symlink()}
    local = any(prefix.is_relative_to("/usr/local") for prefix in prefixes)
    return Mirror(python, tuple(wanted), links, not local and Path("/usr/local").is_dir())


def _prefixes(python: Path) -> list[Path]:
    code = "import sys; print(sys.prefix); print(sys.base_prefix)"
    try:
        done = subprocess.run(
            [python, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(
            f"the Python {python} for the solutions does not run: {error}"
        ) from (error)
    return [Path(line) for line in done.stdout.splitlines()]


def image_tar() -> bytes:
    """An image with mount points and links only, for the mirrored folders to be bound into."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        # A link /sbin into the bound /usr would hide the engine's init, so it is a folder.
        for name in ("usr", "etc", "proc", "sys", "dev", "sbin", "var", "run", "job", "tmp"):
            entry = tarfile.TarInfo(name)
            # What is mounted over them later may take their mode on.
            mode = {"tmp": 0o1777, "job": 0o777}.get(name, 0o755)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        for name in TOP:
            top, entry = Path("/", name), tarfile.TarInfo(name)
            if top.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, str(top.readlink())
                tar.addfile(entry)
        for name, text in (("passwd", USERS), ("group", GROUPS), ("nsswitch.conf", SWITCH)):
            entry = tarfile.TarInfo(f"etc/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
