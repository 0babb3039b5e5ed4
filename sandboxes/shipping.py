"""Input folders on their way to another machine: named by content, packed, checked, kept there."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aide.errors import UnavailableError
from aide.sandboxes.control import remove_tree, temporary_folder
from aide.sandboxes.owner import Owner

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

PIECE = 16 << 20
"""How many bytes of a packed view travel in one message."""
Stamp = tuple[tuple[str, int, int, int], ...]


def content_hash(folder: Path) -> str:
    """A hash over the names and contents of all files below a folder, links followed.

    Raises:
        UnavailableError: there is no such folder.
        OSError: a file in it cannot be read.
    """
    if not folder.is_dir():
        raise UnavailableError(f"the input folder {folder} does not exist")
    whole = hashlib.sha256()
    for path in _below(folder):
        name = os.fsencode(path.relative_to(folder))
        if path.is_dir():
            whole.update(b"d%d:%b" % (len(name), name))
            continue
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
        whole.update(b"f%d:%b%b" % (len(name), name, content))
    return whole.hexdigest()


def pack(folder: Path, send: Callable[[bytes], None]) -> None:
    """Pack a folder, links followed, as a stream of pieces that is the same each time.

    Args:
        folder: what to pack.
        send: takes each piece, of `PIECE` bytes at most, in order.

    Raises:
        OSError: a file cannot be read.
    """
    with tarfile.open(fileobj=_Sink(send), mode="w|", bufsize=PIECE, dereference=True) as tar:
        for path in _below(folder):
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_plain)


def _below(folder: Path) -> Iterator[Path]:
    """All folders and files, sorted; each folder before what is in it."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir():
            yield from _below(path)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry without what depends on who packed it and when."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime, entry.mode = 0, 0o755 if entry.isdir() else 0o644
    return entry


class _Sink(io.BufferedIOBase):
    """A file to write to that passes everything on."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def write(self, data: Buffer) -> int:
        self._send(bytes(data))
        return len(memoryview(data))


class ViewStore:
    """The views that a machine was sent, in a folder that many processes may share.

    A view is a read-only folder named by its hash. It is hashed again when a process meets it for
    the first time, and whenever a file in it has another size or time than it had then.

    Args:
        folder: where they are; has to exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[str, Stamp] = {}
        self._parts: dict[str, Path] = {}
        self._sweep()

    def find(self, digest: str) -> Path | None:
        """The folder of a view, or None if it is not here whole."""
        path = self._folder / digest
        with self._lock, contextlib.suppress(OSError, UnavailableError):
            stamp = _stamp(path)
            if self._known.get(digest) == stamp:
                return path
            if content_hash(path) == digest:
                self._known[digest] = stamp
                return path
        return None

    def add(self, parcel: str, piece: bytes) -> None:
        """Take in one more piece of a packed view.

        Args:
            parcel: a name for this sending of it.
            piece: the bytes that follow those of the last call.

        Raises:
            OSError: it cannot be kept, and what came before is dropped.
        """
        with self._lock:
            if parcel not in self._parts:
                self._parts[parcel] = temporary_folder(str(self._folder))
            part = self._parts[parcel]
        try:
            with (part / "tar").open("ab") as file:
                file.write(piece)
        except OSError:
            remove_tree(part)
            raise

    def settle(self, parcel: str, digest: str) -> bool:
        """Unpack what has come and keep it; False if that is not the view with this hash."""
        with self._lock:
            part = self._parts.pop(parcel, None)
        if part is None:
            return False
        try:
            unpacked = part / "view"
            _unpack(part / "tar", unpacked)
            if content_hash(unpacked) != digest:
                return False
            unpacked.chmod(0o755)  # only what can be written can be moved to another folder
            with self._alone():
                if self.find(digest) is None:
                    self._place(unpacked, digest, part)
            return True
        except (tarfile.TarError, OSError, UnavailableError):
            return False
        finally:
            remove_tree(part)

    def _place(self, unpacked: Path, digest: str, part: Path) -> None:
        """Move a view to its place; a damaged one that is there goes with the part."""
        place = self._folder / digest
        with contextlib.suppress(FileNotFoundError):
            place.chmod(0o755)
            place.rename(part / "damaged")
        unpacked.rename(place)
        place.chmod(0o555)
        with self._lock:
            self._known[digest] = _stamp(place)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process of this machine places a view meanwhile."""
        with (self._folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _sweep(self) -> None:
        """Remove what processes that died were about to unpack."""
        me = Owner.me()
        for part in self._folder.glob("aide-*"):
            owner = Owner.from_token(part.name, me)
            if owner is not None and owner.is_dead(me):
                remove_tree(part)


def _unpack(tar: Path, to: Path) -> None:
    """Unpack to a new folder that all may read and none may write."""
    with tarfile.open(tar) as packed:
        packed.extractall(to, filter="data")
    tar.unlink()
    to.mkdir(exist_ok=True)
    for path in (to, *_below(to)):
        path.chmod(0o555 if path.is_dir() else 0o444)


def _stamp(folder: Path) -> Stamp:
    """What tells cheaply that a folder is as it was: names, sizes, times and inodes."""
    entries = []
    for path in _below(folder):
        found = path.stat()
        size = 0 if path.is_dir() else found.st_size
        entries.append((str(path), size, found.st_mtime_ns, found.st_ino))
    return tuple(entries)
