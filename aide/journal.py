"""The run's journal: one JSON event a line, append-only, on disk before anything acts on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aide.errors import RunFolderError, StorageError
from aide.folder import storing

VERSION = 1
"""Of the journal's format; a reader refuses another one."""


class Journal:
    """The writer's end of a journal. One at a time, under the run folder's lock.

    A last line that a crash cut is dropped on opening; a write that fails half-way is taken back,
    so that what is in the file is always whole lines.

    Args:
        path: the file; made if missing.
        sync: wait for each event to be on disk; False for a file that only people read.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self._path, self._sync = path, sync
        with storing(str(path)):
            self._stream = path.open("a+b")
            end = _end_of_last_line(path)
            self._stream.truncate(end)

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one event, on disk when this returns.

        Raises:
            StorageError: it could not be written; the journal is as it was.
        """
        line = json.dumps(event, allow_nan=False) + "\n"
        size = os.fstat(self._stream.fileno()).st_size
        try:
            with storing(str(self._path)):
                # Unbuffered, or a failed write would be tried again by a later flush.
                data = memoryview(line.encode("ascii"))
                while data:
                    data = data[os.write(self._stream.fileno(), data) :]
                if self._sync:
                    os.fsync(self._stream.fileno())
        except StorageError:
            self._stream.truncate(size)
            raise

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The whole events of a journal, the oldest first, one at a time.

    Raises:
        RunFolderError: a line before the last is damaged, or the format is of another version.
    """
    number = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.endswith(b"\n"):
                    yield _event(path, number, line)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
    if number == 0 or (number == 1 and not line.endswith(b"\n")):
        raise RunFolderError(f"{path} is empty: the run ended before it began; start a new one")


def _event(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
        if not isinstance(event, dict) or "event" not in event:
            raise ValueError("not an event")
    except ValueError as error:
        raise RunFolderError(
            f"line {number} of {path} is damaged ({error}); restore the file from a copy, or "
            f"cut it off after line {number - 1} to go on from there"
        ) from error
    version = event.get("version")
    if number == 1 and version != VERSION:
        raise RunFolderError(
            f"{path.parent} is a run of format {version!r}, and this version of aide reads format "
            f"{VERSION}; use the version that wrote it"
        )
    return event


def _end_of_last_line(path: Path) -> int:
    """Where the last whole line of a file ends, in bytes, reading from the end."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            stream.seek(start)
            place = stream.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return 0
