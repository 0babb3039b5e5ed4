"""What a search is made of: scores, proposals, finished nodes. All frozen, complete when born."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from aide.squeezed import Squeezed

Status = Literal[
    "ok", "error", "timeout", "out-of-memory", "invalid-output", "duplicate", "rejected"
]
"""How a candidate ended.

ok: it ran and its output was graded. error: it ended with another exit status than 0. timeout,
out-of-memory: a limit ended it. invalid-output: it ran, but its output is missing or breaks the
task's format. duplicate: its code is that of a known node; it was not run. rejected: no
runnable code came out of the model's replies; it was not run.
"""

FIXABLE: frozenset[Status] = frozenset({"error", "timeout", "out-of-memory", "invalid-output"})
"""The statuses that debug can work on: there is code, and there is a run to learn from."""


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value on held-out rows. The direction belongs to the task.

    Attributes:
        value: the metric, in its own unit.
        se: its standard error by bootstrap over the rows; NaN where it cannot be estimated.
        rows: how many rows it was computed on.
    """

    value: float
    se: float
    rows: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used, in tokens as the provider counts them.

    Attributes:
        calls: how many calls.
        tokens_in: all tokens of the prompts, those from and for a cache included.
        tokens_out: all tokens of the answers, reasoning included.
        tokens_cached: the part of tokens_in that was read from a cache.
        usd: money; None if a price is unknown.
        tokens_written: the part of tokens_in that was written to a cache.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    usd: float | None = 0.0
    tokens_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        unknown = self.usd is None or other.usd is None
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            None if unknown else (self.usd or 0.0) + (other.usd or 0.0),
            self.tokens_written + other.tokens_written,
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy asks for: an operator by name and the nodes that it is to work on."""

    operator: str
    parents: tuple[int, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """What an operator made: a solution that has not run yet.

    Attributes:
        plan: what was done and why, in a sentence or a few.
        code: the whole solution, one Python file; empty if no reply held any.
        problem: why it must not run ("duplicate of node 3", "line 4: invalid syntax"), or "".
        flags: remarks on how it was made, such as "rewrite".
        usage: the model calls that it took.
        lines: how long the code is, in lines that are not blank.
        changed: how many of them its first parent does not have; 0 for a draft.
    """

    plan: str
    code: Squeezed = Squeezed()  # noqa: RUF009  # a descriptor, not a value
    problem: str = ""
    status: Status = "ok"
    flags: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    lines: float = 0.0
    changed: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate with its place in the tree: numbered, but not finished."""

    id: int
    action: Action
    candidate: Candidate


@dataclass(frozen=True)
class Outcome:
    """How a candidate's run ended.

    Attributes:
        status: see `Status`.
        score: on the search holdout; None unless the status is "ok".
        reason: one line for a failure, such as the last line of the traceback; "" if it worked.
        log: what the program printed, head and tail, bounded.
        seconds: wall time in the sandbox, on all rows; 0 if it ended at its smoke run.
        cpu_seconds: processor time in the sandbox.
        peak_mb: largest resident memory, in MiB.
        flags: remarks on top of the status, such as "output-truncated".
        smoke_seconds: wall time of the run on a few rows before; 0 if there was none.
    """

    status: Status
    score: Score | None = None
    reason: str = ""
    log: Squeezed = Squeezed()  # noqa: RUF009  # a descriptor, not a value
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    flags: tuple[str, ...] = ()
    smoke_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A finished solution: what was proposed, and how it went. Ids count proposals, from 1."""

    id: int
    action: Action
    candidate: Candidate
    outcome: Outcome

    @property
    def operator(self) -> str:
        return self.action.operator

    @property
    def parents(self) -> tuple[int, ...]:
        return self.action.parents

    @property
    def code(self) -> str:
        return self.candidate.code

    @property
    def plan(self) -> str:
        return self.candidate.plan

    @property
    def status(self) -> Status:
        return self.outcome.status

    @property
    def score(self) -> Score | None:
        return self.outcome.score

    @property
    def works(self) -> bool:
        """True if it ran and was graded."""
        return self.outcome.score is not None
