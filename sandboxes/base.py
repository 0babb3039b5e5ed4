"""What all backends share: one supervised run from launch to verdict, cancelling, closing."""

from __future__ import annotations

import errno
import math
import os
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from aide.errors import AideError, SandboxError, StorageError, UnavailableError
from aide.interfaces import Execution, Job, Limits
from aide.sandboxes.control import Control, sweep
from aide.sandboxes.handle import Handle
from aide.sandboxes.pool import MODULES, Pool
from aide.sandboxes.seat import Seat
from aide.sandboxes.seccomp import INSIDE_NAMESPACE, call_filter
from aide.sandboxes.session import run_job
from aide.sandboxes.verdict import execution

NOBODY = 65534
INSIDE = "/job"
AHEAD = "warm"
"""The name of the job to come that a seat is made ahead for."""
TMP_SHARE = 4
"""One part in so many of the disk limit is for /tmp, the rest for the program's folder."""


class SupervisedSandbox(ABC):
    """A sandbox whose programs run under the supervisor. A backend adds how one is launched.

    Args:
        packages: what a program can import, name to version.
        about: one line for people.
        warm: False to have `prepare` do nothing.
    """

    name = ""
    families: tuple[int, ...] = INSIDE_NAMESPACE
    modules: Sequence[str] = MODULES
    """What is loaded ahead."""

    def __init__(self, packages: Mapping[str, str], about: str, warm: bool) -> None:
        self._packages = dict(packages)
        self._about = about
        self._lock = threading.Lock()
        self._running: set[Handle] = set()
        self._cancelled = 0
        self._warm, self._pool = warm, Pool(self.launch_ahead)
        sweep()

    @property
    def about(self) -> str:
        return self._about

    def packages(self) -> Mapping[str, str]:
        return self._packages

    @abstractmethod
    def launch(self, job: Job, control: Control, gpus: Sequence[str]) -> Handle:
        """Start a supervisor that will connect to the control's socket.

        Args:
            job: what it is for; of a seat made ahead only the input folder and the limits.
            control: where it meets us.
            gpus: the UUIDs of those that it gets.

        Raises:
            SandboxError, UnavailableError: as `Sandbox.run`.
        """

    @contextmanager
    def gpus(self, count: int, cancelled: Callable[[], bool]) -> Iterator[Sequence[str]]:
        """The GPUs of one job while it runs.

        Args:
            count: how many.
            cancelled: asked while it waits for them; True to give up.

        Raises:
            SandboxError, UnavailableError: as `Sandbox.run`.
        """
        if count:
            raise UnavailableError(
                f"GPUs are given to programs by Docker only, not by {self.name}; use --sandbox "
                "docker, or gpus = 0"
            )
        yield ()

    def orders(self, job: Job, handle: Handle) -> dict[str, Any]:
        """What the supervisor is told about a job."""
        size = job.limits.disk_mb << 20
        return {
            "folder": INSIDE,
            "seconds": job.limits.seconds,
            "outputs": dict(job.outputs),
            "rlimits": {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": size, "RLIMIT_NOFILE": 4096},
            "filter": call_filter(self.families).hex(),
            "sized": [INSIDE, "/tmp"],
            "oom_files": [],
            "peak_files": [],
        }

    def run(self, job: Job) -> Execution:
        _check(job)
        with self._lock:
            turn = self._cancelled
        try:
            with (
                self.gpus(job.limits.gpus, lambda: self._cancelled != turn) as gpus,
                self._pool.taken(job) as ahead,
                self._used(ahead or self._launched(job, gpus), job, turn) as seat,
            ):
                link = seat.wait()
                run = run_job(job, self.orders(job, seat.handle), link, seat.handle)
                if run.report is None:
                    seat.handle.kill()
                if self._cancelled != turn:
                    raise SandboxError(f"job {job.name} was cancelled")
                return execution(job, run, seat.handle)
        except OSError as error:
            if self._cancelled != turn:
                raise SandboxError(f"job {job.name} was cancelled") from error
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageError(f"the disk is full: {error}; free some and resume") from error
            raise SandboxError(f"the sandbox of job {job.name} failed: {error}") from error

    def _launched(self, job: Job, gpus: Sequence[str], modules: Sequence[str] = ()) -> Seat:
        """A seat whose supervisor is coming up."""
        control = Control(modules)
        try:
            return Seat(control, self.launch(job, control, gpus))
        except BaseException:  # raised again
            control.close()
            raise

    def launch_ahead(self, view: Path, limits: Limits) -> Seat:
        """A seat for a job to come, whose supervisor is coming up.

        Raises:
            SandboxError, UnavailableError: as `Sandbox.run`.
        """
        return self._launched(Job(AHEAD, "", view, {}, view, limits), (), self.modules)

    @contextmanager
    def _used(self, seat: Seat, job: Job, turn: int) -> Iterator[Seat]:
        """A seat while a job runs on it, for `cancel` to find."""
        with self._lock:
            self._running.add(seat.handle)
            late = self._cancelled != turn
        try:
            if late:
                raise SandboxError(f"job {job.name} was cancelled")
            yield seat
        finally:
            with self._lock:
                self._running.discard(seat.handle)
            seat.close()

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        if self._warm:
            self._pool.prepare(view, limits, count)

    @property
    def pool(self) -> Pool:
        """The seats made ahead."""
        return self._pool

    def health(self) -> str:
        return ""

    def cancel(self) -> None:
        with self._lock:
            self._cancelled += 1
            running = list(self._running)
        for handle in running:
            # One that cannot be reached must not keep the others from being ended.
            with suppress(AideError):
                handle.kill()

    def close(self) -> None:
        self.cancel()
        self._pool.close()


def environment(limits: Limits, *, home: str, path: str) -> dict[str, str]:
    """All of a program's environment: nothing of the host's comes in."""
    threads = str(max(1, math.ceil(limits.cpus)))
    names = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
    return {
        **{f"{name}_NUM_THREADS": threads for name in names},
        "HOME": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def sandbox_user() -> int:
    """The user that programs run as: one's own, or nobody for root."""
    return os.getuid() or NOBODY


def _check(job: Job) -> None:
    if not job.input.is_dir():
        raise UnavailableError(f"the input folder {job.input} does not exist")
    for name in job.outputs:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\0" in name:
            raise ValueError(f"an output has to be a plain relative path, not {name!r}")


def check_readable(folder: Path, user: int) -> None:
    """Make sure that the sandbox's user can read what it is to see.

    Raises:
        UnavailableError: some file or folder is closed to others; names it and the remedy.
    """
    if user == os.getuid():
        return
    for path in (folder, *folder.iterdir()):
        needed = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        if path.exists() and path.stat().st_mode & needed != needed:
            raise UnavailableError(
                f"the sandbox's user cannot read {path}: run 'chmod -R o+rX {folder}'"
            )
