"""A run's folder: where everything is, one writer at a time, files replaced whole."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from aide.errors import RunFolderError, StorageError


@contextlib.contextmanager
def storing(what: str) -> Iterator[None]:
    """Turn a failed write into a StorageError that says what it was about."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space, then resume the run" if full else "then resume the run"
        reason = "the disk is full" if full else str(error.strerror or error)
        raise StorageError(f"{what} could not be written: {reason}; {advice}") from error


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file whole: a reader, or a crash, sees the old or the new content.

    Raises:
        StorageError: it could not be written; the old content is intact.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    with storing(str(path)):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


class RunFolder:
    """The paths of a run, and its lock.

    Args:
        path: the folder; `create` or `check` it before use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.config = self.path / "config.toml"
        self.journal = self.path / "journal.jsonl"
        self.calls = self.path / "calls.jsonl"
        self.solutions = self.path / "solutions"
        self.nodes = self.path / "nodes"
        self.best = self.path / "best"
        self.report = self.path / "report.md"
        self.lock = self.path / ".lock"

    def create(self) -> None:
        """Make the folder for a new run.

        Raises:
            RunFolderError: it holds something already, or cannot be made.
        """
        try:
            self.check_new()
            if self.path.exists() and not self._is_ours():
                raise RunFolderError(f"{self.path} exists and is not empty; choose another folder")
            self.nodes.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"the run's folder {self.path} cannot be made: {error.strerror}; "
                "choose another with --out"
            ) from error

    def check_new(self) -> None:
        """Raise RunFolderError if a run has begun here: its journal has a whole line."""
        try:
            with self.journal.open("rb") as stream:
                begun = stream.readline().endswith(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            begun = False
        if begun:
            raise RunFolderError(
                f"{self.path} holds a run already; go on with 'aide resume {self.path}', or "
                "choose another folder"
            )

    def _is_ours(self) -> bool:
        """True for an empty folder, or for what a run left that was killed before it began."""
        files = {self.config, self.journal, self.calls, self.solutions, self.nodes, self.lock}
        begun = f".{self.config.name}."  # what `write_atomic` leaves if it is killed
        return self.path.is_dir() and all(
            path in files or path.name.startswith(begun) for path in self.path.iterdir()
        )

    def check(self) -> None:
        """Raise RunFolderError if there is no run here."""
        if not self.path.is_dir():
            raise RunFolderError(f"there is no folder {self.path}; name the folder of a run")
        if not self.journal.is_file():
            raise RunFolderError(f"{self.path} is not a run's folder: it has no journal.jsonl")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the run's only writer.

        The lock is the kernel's and ends with the process, however that ends.

        Raises:
            RunFolderError: another process is writing, or the folder cannot be written.
        """
        try:
            stream = self.lock.open("a+")
        except OSError as error:
            raise RunFolderError(
                f"the run's folder {self.path} cannot be written: {error.strerror}"
            ) from error
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                stream.seek(0)
                writer = stream.read().strip() or "unknown"
                raise RunFolderError(
                    f"another process ({writer}) is writing to {self.path}; "
                    "wait for it, or stop it first"
                ) from error
            stream.truncate(0)
            stream.write(str(os.getpid()))
            stream.flush()
            yield

    def node(self, node_id: int) -> Path:
        """The folder of a node's log and predictions."""
        return self.nodes / f"{node_id:04d}"

    def set_best(self, name: str, solution: str, submission: str) -> None:
        """Replace `best/`, both files at once.

        `best` is a link to a folder that is complete before the link is turned, since two files
        cannot be replaced in one step.

        Args:
            name: of the version; unique within the run, such as "0007-full".
        """
        version = self.path / "versions" / name
        with storing(str(self.best)):
            version.mkdir(parents=True, exist_ok=True)
        write_atomic(version / "solution.py", solution)
        write_atomic(version / "submission.csv", submission)
        link = self.path / ".best"
        with storing(str(self.best)):
            old = self.best.resolve() if self.best.is_symlink() else None
            link.unlink(missing_ok=True)
            link.symlink_to(Path("versions") / name)
            link.replace(self.best)
            if old is not None and old != version.resolve():
                shutil.rmtree(old, ignore_errors=True)


def new_folder(base: Path, name: str) -> Path:
    """Make the first free one of `base/name-1`, `base/name-2`, ...; nobody else gets the same.

    Raises:
        RunFolderError: it cannot be made.
    """
    for number in itertools.count(1):
        path = base / f"{name}-{number}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise RunFolderError(
                f"the run's folder {path} cannot be made: {error.strerror}; "
                "choose another with --out"
            ) from error
        return path
    raise AssertionError("unreachable")
