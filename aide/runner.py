"""Runs programs of a task in a sandbox, and gets over what goes wrong with the sandbox itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from aide.clock import Clock
from aide.errors import SandboxError
from aide.interfaces import Execution, Job, Limits, Sandbox, Task, View

SUBMISSION = "working/submission.csv"
MAX_SUBMISSION_BYTES = 512 * 1024 * 1024
TRIES = 3
LOST_IN_A_ROW = 3
"""After so many programs in a row that no sandbox would run, the sandbox is what is broken."""
POLL_SECONDS = 1.0
HOUR = 3600.0


class JobLost(SandboxError):
    """A sandbox that is well failed with one program each time; it may be the program's doing."""


class Runner:
    """Runs the programs of a task; from many threads at once.

    Args:
        sandbox: where programs run.
        task: gives the data.
        on_retry: told the job's name and the reason when the sandbox has to be tried again.
        clock: for the waits for a sandbox that is out, such as a restarting engine.
        outage_seconds: how long such a wait may be.
        on_wait: told the reason when one begins.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        task: Task,
        on_retry: Callable[[str, str], None],
        *,
        clock: Clock | None = None,
        outage_seconds: float = 3 * HOUR,
        on_wait: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self._sandbox, self._task, self._on_retry = sandbox, task, on_retry
        self._clock, self._outage = clock or Clock(), outage_seconds
        self._on_wait = on_wait
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._running = self._lost = 0

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End what is running, from any thread, and run nothing more."""
        self._cancelled.set()
        if self._running:
            self._sandbox.cancel()

    def prepare(self, view: View, limits: Limits, count: int) -> None:
        """Have the sandbox get ready for up to `count` runs at once on a view."""
        self._sandbox.prepare(self._task.view(view), limits, count)

    def execute(
        self, name: str, code: str, view: View, collect: Path, limits: Limits
    ) -> Execution:
        """Run a program on a view, at most three times where the sandbox itself fails.

        Before another try, a sandbox that is out is waited for.

        Raises:
            JobLost: the sandbox failed each time, and yet it is well, and others ran.
            SandboxError: it stayed out for too long, three programs in a row were lost, or the
                runner was cancelled.
        """
        job = Job(
            name, code, self._task.view(view), {SUBMISSION: MAX_SUBMISSION_BYTES}, collect, limits
        )
        for left in reversed(range(TRIES)):
            self._count(1)
            try:
                # Looked at after the count: whoever cancels sees the run, or stops it here.
                if self.cancelled:
                    raise SandboxError(f"{name} was cancelled")
                execution = self._sandbox.run(job)
                self._lost = 0
                return execution
            except SandboxError as error:
                if self.cancelled:
                    raise
                self._await_health()
                if not left:
                    raise self._lost_job(error) from error
                self._on_retry(name, str(error))
            finally:
                self._count(-1)
        raise AssertionError("unreachable")

    def _count(self, change: int) -> None:
        with self._lock:
            self._running += change

    def _lost_job(self, error: SandboxError) -> SandboxError:
        with self._lock:
            self._lost += 1
            lost = self._lost
        if lost < LOST_IN_A_ROW:
            return JobLost(f"{error}, {TRIES} times in a row")
        return SandboxError(f"{lost} programs in a row could not be run: {error}")

    def _await_health(self) -> None:
        """Wait until the sandbox is well again."""
        end: float | None = None
        while problem := self._sandbox.health():
            if end is None:
                end = self._clock.now() + self._outage
                self._on_wait(f"the sandbox is out: {problem}")
            if self._clock.now() >= end:
                raise SandboxError(
                    f"the sandbox has been out for {self._outage / HOUR:.2g} hours: {problem}; "
                    "put it right, then resume the run"
                )
            self._clock.sleep(POLL_SECONDS, self._cancelled)
            if self.cancelled:
                raise SandboxError("cancelled while the sandbox was out")
