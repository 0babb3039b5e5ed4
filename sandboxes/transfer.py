"""Takes in the files that a program left. Every byte comes from inside, and none is trusted."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from aide.errors import SandboxError

HEADER = struct.Struct("!BQ")
FILE, REFUSED = 0, 1
MAX_REASON = 1000


class Transfer:
    """Parses the stream of outputs and writes the files, each at once when it is complete.

    A file that counts as there is on the disk: what is recorded later may speak of it.

    Args:
        outputs: what was asked for, in order: name to the most bytes.
        collect: the host folder to put them into, by their last name; made if missing.
    """

    def __init__(self, outputs: Mapping[str, int], collect: Path) -> None:
        self.files: dict[str, Path] = {}
        self.refused: dict[str, str] = {}
        self._collect = collect
        self._expected = list(outputs.items())
        self._buffer = bytearray()
        self._kind, self._left, self._in_body = FILE, 0, False
        self._file: BinaryIO | None = None

    @property
    def complete(self) -> bool:
        return not self._expected and not self._buffer

    def feed(self, data: bytes) -> None:
        """Take in a part of the stream.

        Raises:
            SandboxError: it breaks the format or its bounds.
            OSError: a file cannot be written.
        """
        self._buffer += data
        while self._expected:
            if not self._in_body and not self._start():
                return
            if not self._body():
                return
        if self._buffer:
            raise SandboxError("the sandbox sent more than the outputs that were asked for")

    def _start(self) -> bool:
        if len(self._buffer) < HEADER.size:
            return False
        self._kind, self._left = HEADER.unpack_from(self._buffer)
        del self._buffer[: HEADER.size]
        name, cap = self._expected[0]
        if self._kind not in (FILE, REFUSED) or (self._kind == FILE and self._left > cap):
            raise SandboxError(f"the sandbox announced {name} with a size or kind out of bounds")
        if self._kind == REFUSED and self._left > MAX_REASON:
            raise SandboxError(f"the sandbox sent an endless reason for not sending {name}")
        if self._kind == FILE:
            self._open(self._partial(name))
        self._in_body = True
        return True

    def _body(self) -> bool:
        if self._kind == REFUSED:
            if len(self._buffer) < self._left:
                return False
            reason = bytes(self._buffer[: self._left]).decode("utf-8", "replace")
            del self._buffer[: self._left]
            return self._next(refused=reason)
        assert self._file is not None
        part = self._buffer[: self._left]
        self._file.write(part)
        self._left -= len(part)
        del self._buffer[: len(part)]
        return self._left == 0 and self._next()

    def _next(self, refused: str = "") -> bool:
        name, _ = self._expected.pop(0)
        self._in_body = False
        if refused:
            self.refused[name] = refused
        else:
            self._close(durable=True)
            target = self._collect / Path(name).name
            self._partial(name).replace(target)
            _sync(self._collect)
            self.files[name] = target
        return True

    def _partial(self, name: str) -> Path:
        return self._collect / f".{Path(name).name}.part"

    def _open(self, path: Path) -> None:
        _make(self._collect)
        path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
        os.fchmod(self._file.fileno(), 0o644)

    def _close(self, durable: bool = False) -> None:
        if self._file is not None:
            with self._file as file:
                self._file = None
                if durable:
                    file.flush()
                    os.fsync(file.fileno())

    def discard(self) -> None:
        """Drop a file that is not complete."""
        if self._file is not None:
            self._close()
            self._partial(self._expected[0][0]).unlink(missing_ok=True)


def _make(folder: Path) -> None:
    """Make a folder, and those above it, for good."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    """Have the entries of a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
