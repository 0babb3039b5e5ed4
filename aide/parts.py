"""What a run works with, put together by `build` and handed to whatever executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aide.budget import Budget
from aide.folder import RunFolder
from aide.history import History
from aide.interfaces import Limits, Model, OnEvent, Operator, Sandbox, Task
from aide.journal import Journal


@dataclass(frozen=True)
class Parts:
    """The parts of a run.

    Attributes:
        code_hash: the hash by which copies of a program are recognised.
        on_event: told of each thing that happens, for progress; not for the books.
    """

    folder: RunFolder
    task: Task
    model: Model
    operators: Mapping[str, Operator]
    sandbox: Sandbox
    journal: Journal
    history: History
    budget: Budget
    limits: Limits
    seed: int
    code_hash: Callable[[str], str]
    on_event: OnEvent

    def write(self, event: Mapping[str, object]) -> None:
        """Write an event to the journal, stamped with the run's own time."""
        self.journal.append({**event, "elapsed": round(self.budget.elapsed, 3)})
