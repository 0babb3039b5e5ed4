"""Scratch runs: short programs that a model may try on the data before it answers."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from aide.errors import SandboxError
from aide.interfaces import Execution, Job, Limits, Sandbox, Scratch, Task

KEPT_BYTES = 4000


class ScratchPad:
    """Runs snippets where solutions run, on what solutions see: the search view, without labels.

    Nothing that a snippet writes is brought back. Snippets may run from many threads.

    Args:
        sandbox: where they run.
        task: gives the data.
        limits: of a solution; a snippet has the same, but for time and output.
        runs: how many snippets one candidate may have.
        seconds: the wall time of each.
        folder: a host folder that jobs are told of; nothing is put there.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        task: Task,
        limits: Limits,
        *,
        runs: int,
        folder: Path,
        seconds: float = 30.0,
    ) -> None:
        self._sandbox, self._task, self._folder = sandbox, task, folder
        self._runs = runs
        self._limits = replace(
            limits, seconds=min(seconds, limits.seconds), output_bytes=KEPT_BYTES
        )
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._running = self._started = 0
        self._seconds = 0.0

    @property
    def count(self) -> int:
        """How many snippets have been started so far."""
        return self._started

    @property
    def seconds(self) -> float:
        """The wall time of all snippets so far, together."""
        return self._seconds

    def for_node(self, node_id: int) -> Scratch:
        """What the operator that works on a node may run."""
        return Scratch(
            lambda snippet: self._run(node_id, snippet), self._runs, self._limits.seconds
        )

    def cancel(self) -> None:
        """End what is running, from any thread, and run nothing more."""
        self._cancelled.set()
        if self._running:
            self._sandbox.cancel()

    def _run(self, node_id: int, snippet: str) -> str:
        """What a snippet printed, then how it ended, bounded; a failed sandbox is told, too.

        Raises:
            UnavailableError, StorageError: as `Sandbox.run`; no fault of the snippet.
        """
        view = self._task.view("search")
        with self._lock:
            self._started += 1
            self._running += 1
            name = f"{node_id:04d}-scratch-{self._started}"
        job = Job(name, snippet, view, {}, self._folder, self._limits)
        seconds = 0.0
        try:
            # Looked at after the count: whoever cancels either sees the run or stops it here.
            if self._cancelled.is_set():
                return "[not run: the search was interrupted]"
            execution = self._sandbox.run(job)
            seconds = execution.seconds
        except SandboxError as error:
            return f"[the sandbox failed: {error}]"
        finally:
            with self._lock:
                self._running -= 1
                self._seconds += seconds
        return "\n".join(filter(None, (execution.output.rstrip(), f"[{_ending(execution)}]")))


def _ending(execution: Execution) -> str:
    """How a snippet ended. Not how long it took, which would make equal prompts differ."""
    if execution.status == "timeout":
        return "ended at its time limit"
    if execution.status == "out-of-memory":
        return "ended at its memory limit"
    if execution.signal is not None:
        return f"ended by signal {execution.signal}"
    return f"exit status {execution.exit_code}"
