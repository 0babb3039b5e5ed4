"""Programs on the workers of a Dask cluster, each in a sandbox of its worker's machine.

What travels is a program, the input folder that it may see, and the outputs that it left; labels
and grades stay on the host. Isolation is that of the workers' own sandboxes. Does not protect
against: whoever can reach the scheduler, who can run anything on the workers and on the host, as
with every Dask cluster.

No count of tries is kept here. A worker that dies in mid-job costs one `run`, which raises
SandboxError, and the caller decides on another. Dask would start the task again by itself, as
often as its scheduler is set to: each attempt is noted on the scheduler before its program starts,
and a worker that finds the note there reports the loss instead.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import itertools
import threading
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aide.errors import AideError, SandboxError, StorageError, UnavailableError
from aide.interfaces import Execution, Job, Limits
from aide.sandboxes import far
from aide.sandboxes.cluster import Cluster
from aide.sandboxes.delivery import Delivery
from aide.sandboxes.guest import GuestSettings
from aide.sandboxes.transfer import FILE, HEADER, REFUSED, Transfer
from aide.sandboxes.workers import Workers

if TYPE_CHECKING:
    from distributed import Client

RESULT_SECONDS = 600.0
END_SECONDS = 5.0
LOOK_SECONDS = 5.0
"""How often a running job makes sure that the cluster is still there."""
LOOKS = 3
"""So many times in a row it has to be away for the job to be given up."""
SENDINGS = 3
GIVEN_UP = "given up"
"""What is noted in place of a worker where the host has given an attempt up."""


def dask_sandbox(
    target: str | Client,
    *,
    run_id: str,
    kind: str = "auto",
    packages: Sequence[str] = (),
    image: str = "auto",
    python: Path | None = None,
    offline_author: bool = False,
    warm: bool = True,
) -> DaskSandbox:
    """A sandbox on the workers of a Dask cluster. The caller closes it.

    Args:
        target: the scheduler's address, or a client, which stays the caller's.
        run_id: a short name that no other run has.
        kind, packages, image, python, offline_author, warm: as for `make_sandbox`, which each
            worker calls; `python` is a path on the workers' machines.

    Raises:
        UnavailableError: Dask is not installed, nobody answers at the address, or a worker lacks
            something; names the worker and the remedy.
        ConfigError: there is no such kind.
        SandboxError: a worker's engine failed.
    """
    settings = GuestSettings(run_id, kind, tuple(packages), image, python, offline_author, warm)
    return DaskSandbox(target, settings)


class DaskSandbox:
    """Runs each job on a worker of a Dask cluster.

    Args:
        target: the scheduler's address, or a client, which stays the caller's.
        settings: how the workers make their sandboxes.

    Raises:
        as `dask_sandbox`.
    """

    name = "dask"

    def __init__(self, target: str | Client, settings: GuestSettings) -> None:
        self._settings = settings
        self._cluster = Cluster(target)
        self.delivery = Delivery(self._cluster)
        self._workers = Workers(self._cluster, self.delivery, settings)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._ends: set[threading.Event] = set()
        self._cancelled = 0
        self._closed = False
        try:
            self._about, self._packages = self._workers.open()
        except BaseException:  # raised again
            self.close()
            raise

    @property
    def about(self) -> str:
        return self._about

    def packages(self) -> Mapping[str, str]:
        return self._packages

    def run(self, job: Job) -> Execution:
        with self._lock:
            turn = self._cancelled
        digest = self.delivery.digest(job.input)
        sent: Counter[str] = Counter()
        while True:
            answer = self._attempt(job, digest, turn)
            if isinstance(answer, far.Done):
                return _collected(job, answer)
            if isinstance(answer, far.Lost):
                raise SandboxError(
                    f"the Dask worker {answer.worker} died while it ran job {job.name}"
                )
            sent[answer.worker] += 1
            if sent[answer.worker] > SENDINGS:
                raise SandboxError(
                    f"the Dask worker {answer.worker} does not keep what it is sent"
                )
            self.delivery.bring(job.input, answer.worker)

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        self._workers.prepare(view, limits, count)

    def health(self) -> str:
        try:
            self._cluster.reconnect()
            return self._workers.problem()
        except AideError as error:
            return str(error)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled += 1
            ends = list(self._ends)
        for end in ends:
            end.set()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.cancel()
            self._workers.close()
            with contextlib.suppress(SandboxError):
                self._cluster.note([far.notes(self._settings.run_id)], {})
            self._cluster.close()

    def _attempt(self, job: Job, digest: str, turn: int) -> far.Done | far.Wanted | far.Lost:
        """Have a worker run a job, and wait for what comes of it."""
        key = f"aide-{self._settings.run_id}-{job.name}-{next(self._numbers)}"
        order = far.Order(
            self._settings, key, far.release(), job.name, job.code, digest, job.outputs, job.limits
        )
        needs = self._workers.needs(job.limits)
        with self._ending(job, turn) as end:
            future = self._cluster.submit(far.run, order, key, needs)
            try:
                future.add_done_callback(lambda _: end.set())
                dead = self._wait(end, job, key)
                if self._cancelled != turn:
                    raise SandboxError(f"job {job.name} was cancelled")
                return far.Lost(dead) if dead else self._answer(job, future)
            except AideError:
                self._end(key)
                raise
            finally:
                future.release()

    @contextlib.contextmanager
    def _ending(self, job: Job, turn: int) -> Iterator[threading.Event]:
        """An event for the end of an attempt, which `cancel` sets too."""
        end = threading.Event()
        with self._lock:
            self._ends.add(end)
            late = self._cancelled != turn
        try:
            if late:
                raise SandboxError(f"job {job.name} was cancelled")
            yield end
        finally:
            with self._lock:
                self._ends.discard(end)

    def _wait(self, end: threading.Event, job: Job, key: str) -> str:
        """Wait for the end of an attempt; its worker if that died first, else ""."""
        away = 0
        while not end.wait(LOOK_SECONDS):
            problem = self.health()
            away = away + 1 if problem else 0
            # Dask reports a loss once another worker is free for the task, which may take long.
            with contextlib.suppress(SandboxError):
                worker = self._cluster.read(far.note(self._settings.run_id, key))
                if worker and worker not in self._cluster.workers():
                    return worker
            if away == LOOKS:
                raise SandboxError(f"job {job.name} was lost: {problem}")
        return ""

    def _answer(self, job: Job, future: Any) -> far.Done | far.Wanted | far.Lost:
        """What came of an attempt that is over."""
        from distributed.scheduler import KilledWorker

        lost = (KilledWorker, CancelledError, concurrent.futures.CancelledError, OSError)
        try:
            answer: far.Done | far.Wanted | far.Lost = future.result(timeout=RESULT_SECONDS)
        except ImportError as error:
            raise UnavailableError(
                f"a Dask worker cannot load aide-search {far.release()}: {error}; install the "
                "same version there"
            ) from error
        except lost as error:
            raise SandboxError(f"job {job.name} was lost by Dask: {error}") from error
        return answer

    def _end(self, key: str) -> None:
        """Give an attempt up: end it where it runs, and keep it from beginning elsewhere."""
        until = time.monotonic() + END_SECONDS
        with contextlib.suppress(SandboxError):
            self._cluster.note(far.note(self._settings.run_id, key), GIVEN_UP)
            while time.monotonic() < until:
                answers = self._cluster.ask(far.end, self._settings.run_id, key)
                if not any(answer is True for answer in answers.values()):
                    return


def _collected(job: Job, done: far.Done) -> Execution:
    """Write the outputs that came, as those of a sandbox of the host's own would be."""
    transfer = Transfer(job.outputs, job.collect)
    try:
        for name in job.outputs:
            content = done.contents.get(name)
            if content is None:
                reason = done.execution.refused.get(name, "missing").encode()
                transfer.feed(HEADER.pack(REFUSED, len(reason)) + reason)
            else:
                transfer.feed(HEADER.pack(FILE, len(content)) + content)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(f"the disk is full: {error}; free some and resume") from error
        raise SandboxError(f"the outputs of job {job.name} cannot be kept: {error}") from error
    finally:
        transfer.discard()
    return replace(done.execution, files=transfer.files, refused=transfer.refused)
