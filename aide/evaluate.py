"""One candidate's evaluation: run it, again where the sandbox failed, and grade what it wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aide.errors import InvalidSubmission, SandboxError
from aide.interfaces import Execution, Job, Limits, Sandbox, Task, View
from aide.node import Outcome

SUBMISSION = "working/submission.csv"
MAX_SUBMISSION_BYTES = 512 * 1024 * 1024
TRIES = 3


class Evaluator:
    """Runs jobs of a task in a sandbox.

    Args:
        sandbox: where programs run.
        task: gives the data and grades.
        on_retry: told the job's name and the reason when the sandbox has to be tried again.
    """

    def __init__(self, sandbox: Sandbox, task: Task, on_retry: Callable[[str, str], None]) -> None:
        self._sandbox, self._task, self._on_retry = sandbox, task, on_retry
        self._cancelled = threading.Event()
        self._running = 0

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End what is running, from any thread, and run nothing more."""
        self._cancelled.set()
        if self._running:
            self._sandbox.cancel()

    def execute(
        self, name: str, code: str, view: View, collect: Path, limits: Limits
    ) -> Execution:
        """Run a program on a view, at most three times where the sandbox itself fails.

        Raises:
            SandboxError: the sandbox failed each time, or the evaluator was cancelled.
        """
        job = Job(
            name, code, self._task.view(view), {SUBMISSION: MAX_SUBMISSION_BYTES}, collect, limits
        )
        for left in reversed(range(TRIES)):
            if self.cancelled:
                raise SandboxError(f"{name} was cancelled")
            self._running += 1
            try:
                return self._sandbox.run(job)
            except SandboxError as error:
                if not left or self.cancelled:
                    raise
                self._on_retry(name, str(error))
            finally:
                self._running -= 1
        raise AssertionError("unreachable")

    def outcome(self, execution: Execution) -> Outcome:
        """What a run on the search view came to: its status, and a score if it earned one."""
        facts = Outcome(
            status=execution.status,
            log=execution.output,
            seconds=execution.seconds,
            cpu_seconds=execution.cpu_seconds,
            peak_mb=execution.peak_mb,
            flags=execution.flags,
        )
        if execution.status != "ok":
            return replace(facts, reason=failure(execution))
        problem = missing_output(execution)
        if problem:
            return replace(facts, status="invalid-output", reason=problem)
        try:
            score = self._task.grade(execution.files[SUBMISSION], "search")
        except InvalidSubmission as error:
            return replace(facts, status="invalid-output", reason=str(error))
        return replace(facts, score=score)


def missing_output(execution: Execution) -> str:
    """Why there is no submission to look at, or "" if there is one."""
    if SUBMISSION in execution.files:
        return ""
    return f"{SUBMISSION} cannot be used: {execution.refused.get(SUBMISSION, 'missing')}"


def failure(execution: Execution) -> str:
    """One line on why a run failed: the traceback's last line where there is one."""
    if execution.status == "timeout":
        return f"it was ended at its time limit, after {execution.seconds:.0f} seconds"
    if execution.status == "out-of-memory":
        return "it was ended at its memory limit"
    lines = [line.strip() for line in execution.output.splitlines() if line.strip()]
    last = lines[-1][:300] if lines else "it printed nothing"
    if execution.signal is not None:
        return f"signal {execution.signal} ended it; last line: {last}"
    return last if execution.exit_code == 1 else f"exit status {execution.exit_code}: {last}"
