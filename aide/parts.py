"""What a run works with, put together by `build` and handed to whatever executes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from aide.budget import Budget
from aide.clock import Clock
from aide.folder import RunFolder
from aide.history import History
from aide.interfaces import (
    Context,
    Limits,
    Model,
    OnEvent,
    Operator,
    Sandbox,
    Scratch,
    Task,
    Usage,
)
from aide.journal import Journal
from aide.ledger import Ledger
from aide.tokens import TokenEstimate


@dataclass(frozen=True, slots=True)
class Settings:
    """How a search goes about it.

    Attributes:
        prompt_tokens: the largest prompt.
        reply_tokens: the longest answer.
        memory: "scoped" if operators see earlier results, else "none".
        cue: ask for more as children accumulate.
        advice_every: nodes between two advices of a model; 0 for none.
        smoke: try each solution on a few rows first.
        parallel: how many solutions run at once.
        ahead: how many more may be written, or wait to be run, at the same time.
        outage_seconds: how long to wait for a sandbox that is out.
    """

    prompt_tokens: int
    reply_tokens: int
    memory: Literal["scoped", "none"]
    cue: bool
    advice_every: int
    smoke: bool
    parallel: int
    ahead: int
    outage_seconds: float


@dataclass(frozen=True)
class Parts:
    """The parts of a run.

    Attributes:
        ledger: what the model's calls have used.
        estimate: the size of prompts, in tokens.
        code_hash: the hash by which copies of a program are recognised.
        cancel: ends the calls of the model and the scratch runs, from any thread.
        advise: asks the model for a line of advice on a context's lessons.
        scratch: the snippets that one node's operator may run, or None.
        settings: how the search goes about it.
        clock: for waits.
        on_event: told of each thing that happens, for progress; not for the books. Called from
            any thread.
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
    ledger: Ledger
    estimate: TokenEstimate
    code_hash: Callable[[str], str]
    cancel: Callable[[], None]
    advise: Callable[[Context, Model], tuple[str, Usage]]
    scratch: Callable[[int], Scratch | None]
    settings: Settings
    clock: Clock
    on_event: OnEvent

    def write(self, event: Mapping[str, object]) -> None:
        """Write an event to the journal, stamped with the run's own time."""
        self.journal.append({**event, "elapsed": round(self.budget.elapsed, 3)})
