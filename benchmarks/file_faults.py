"""A file layer that fails on a seeded schedule: real operations on real files, some of which
end as on a full or a broken disk."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from benchmarks.faults import Schedule

ERRORS = {"full": errno.ENOSPC, "broken": errno.EIO}
KINDS = tuple(ERRORS)
WRITE_KINDS = ("full", "broken", "full half-way", "broken half-way")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
AREAS = {
    "journal.jsonl": "journal",
    "calls.jsonl": "calls",
    "solutions": "git",
    "nodes": "artifacts",
    "versions": "best",
    ".best": "best",
    "best": "best",
}


class FaultyFiles:
    """While it is entered, writing below a folder fails on a schedule; nothing else is touched.

    What can fail: opening for writing, writing (also after half of the data has been written),
    flushing to disk, renaming, linking, making folders. Each operation in each area of a run's
    folder is a place of its own in the schedule. Operations of other processes are not reached.

    Args:
        folder: the folder; need not exist yet.
        schedule: which operations fail.
    """

    def __init__(self, folder: Path, schedule: Schedule) -> None:
        self._folder, self._schedule = folder.absolute(), schedule
        self._replaced: list[tuple[Any, str, Any]] = []
        self._doomed: dict[str, str] = {}

    def __enter__(self) -> FaultyFiles:
        real: dict[int, Callable[..., Any]] = {
            id(os.open): self._os_open(os.open),
            id(os.write): self._os_write(os.write),
            id(os.fsync): self._by_first("fsync", os.fsync),
            id(os.mkdir): self._by_first("mkdir", os.mkdir),
            id(os.rename): self._by_last("rename", os.rename),
            id(os.replace): self._by_last("rename", os.replace),
            id(os.symlink): self._by_last("link", os.symlink),
            id(io.open): self._open(io.open),
        }
        # Some libraries keep such functions under names of their own.
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()):
                if (faulty := real.get(id(value))) is not None:
                    self._replaced.append((module, name, value))
                    setattr(module, name, faulty)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for module, name, value in self._replaced:
            setattr(module, name, value)
        self._replaced.clear()

    def strike(self, operation: str, target: Any) -> None:
        """Raise OSError if an operation on a path or a descriptor is to fail."""
        path = self._below(target)
        kind = self._draw(operation, path, KINDS) if path else None
        if path and kind:
            raise failure(kind, path)

    def write(self, real: Callable[[Any], int], target: Any, data: Any) -> int:
        """Write, or fail, or write half and fail at the next attempt on the same file."""
        path = self._below(target)
        if path is None:
            return real(data)
        kind = self._doomed.pop(path, None) or self._draw("write", path, WRITE_KINDS)
        if kind is None:
            return real(data)
        reason, _, half_way = kind.partition(" ")
        view = memoryview(data).cast("B")
        if not half_way or len(view) < 2:
            raise failure(reason, path)
        self._doomed[path] = reason
        return real(view[: len(view) // 2])

    def _draw(self, operation: str, path: str, kinds: tuple[str, ...]) -> str | None:
        area = AREAS.get(path.split("/")[0], "rest")
        return self._schedule.draw(f"{operation} {area}", kinds)

    def _below(self, target: Any) -> str | None:
        """The path within the folder, or None if it is elsewhere."""
        try:
            known = isinstance(target, int)
            path = (
                Path("/proc/self/fd", str(target)).readlink()
                if known
                else Path(os.fsdecode(target))
            )
        except OSError:
            return None
        path = path.absolute()
        inside = path.is_relative_to(self._folder)
        return str(path.relative_to(self._folder)) if inside else None

    def _by_first(self, operation: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(target: Any, *args: Any, **options: Any) -> Any:
            self.strike(operation, target)
            return real(target, *args, **options)

        return faulty

    def _by_last(self, operation: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(source: Any, target: Any, *args: Any, **options: Any) -> Any:
            self.strike(operation, target)
            return real(source, target, *args, **options)

        return faulty

    def _os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def faulty(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & WRITES:
                self.strike("open", path)
            return real(path, flags, *args, **options)

        return faulty

    def _os_write(self, real: Callable[[int, Any], int]) -> Callable[[int, Any], int]:
        def faulty(descriptor: int, data: Any) -> int:
            return self.write(lambda part: real(descriptor, part), descriptor, data)

        return faulty

    def _open(self, real: Callable[..., IO[Any]]) -> Callable[..., IO[Any]]:
        def faulty(
            file: Any, mode: str = "r", buffering: int = -1, *args: Any, **more: Any
        ) -> Any:
            if not set(mode) & set("wax+") or self._below(file) is None:
                return real(file, mode, buffering, *args, **more)
            if not isinstance(file, int):
                self.strike("open", file)
            return self._opened(file, mode, *args, **more)

        return faulty

    def _opened(
        self,
        file: Any,
        mode: str,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """What `open` gives, upon a raw file whose writes may fail."""
        raw = FaultyFile(self, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        buffer: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)


class FaultyFile(io.FileIO):
    """A raw file whose writes fail when its layer says so, and from then on all of them do."""

    def __init__(
        self, layer: FaultyFiles, file: Any, mode: str, closefd: bool, opener: Any
    ) -> None:
        super().__init__(file, mode, closefd, opener)
        self._layer = layer
        self._failed: OSError | None = None

    def write(self, data: Any) -> int:
        # Closing a file tries once more to write what is left in its buffer.
        if self._failed is not None:
            raise self._failed
        try:
            return self._layer.write(super().write, self.fileno(), data)
        except OSError as error:
            self._failed = error
            raise


def failure(kind: str, path: str) -> OSError:
    """The error of an operation that failed."""
    number = ERRORS[kind]
    return OSError(number, os.strerror(number), path)
