"""The roles of the search and the records that they exchange.

The engine alone executes: a policy proposes, an operator writes, a sandbox runs, a task grades,
and none of them knows another. An implementation adds what differs; what holds for all of them is
said here and tested by one contract suite per role in `tests/contracts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from aide.node import Action, Candidate, Node, Proposal, Score, Status, Usage
from aide.records import (
    Context,
    Execution,
    Form,
    Job,
    Limits,
    Message,
    Part,
    Problem,
    PromptLimits,
    Reply,
    Request,
    Scratch,
    TaskInfo,
    View,
)
from aide.tree import Tree


class Task(Protocol):
    """A data set with a goal, a metric and labels that no solution ever sees.

    A task splits the labelled rows once, by a fixed seed, into visible train, search holdout and
    final holdout. All methods may be called from any thread and give the same answer each time.
    """

    @property
    def info(self) -> TaskInfo: ...

    @property
    def fingerprint(self) -> str:
        """A hash of the data and the split: two runs with the same one can be compared."""

    @property
    def seconds(self) -> float | None:
        """The wall time that the task's own settings give one run, or None."""

    def view(self, view: View) -> Path:
        """The folder that a solution sees as `input/`, made on first use.

        smoke: a few hundred rows of search, same files and columns. search: the visible rows in
        train.csv; test.csv holds both holdouts and the real test rows together, without labels.
        full: all labelled rows in train.csv, the real test rows alone in test.csv.
        """

    def preview(self) -> str:
        """The data described for a prompt: files, rows, columns; at most 6,000 characters."""

    def grade(self, submission: Path, part: Part) -> Score:
        """Score a submission for the search view on one holdout.

        Raises:
            InvalidSubmission: it breaks the format; the message names the first fault found.
        """

    def submission(self, submission: Path, view: View) -> str:
        """The rows of the real test set out of a submission for a view, as CSV text, in the order
        of the task's sample; all of the file's rows where the task has no test set.

        Raises:
            InvalidSubmission: as `grade`.
        """

    def grade_hidden(self, submission: Path, labels: Path | None) -> Score:
        """Score a submission for the real test set on labels that the search never had.

        Args:
            labels: a CSV with id and target; None for the hidden labels of a bundled task.

        Raises:
            TaskError: there are no labels to grade with.
            InvalidSubmission: as `grade`.
        """


class Model(Protocol):
    """Something that answers as a language model does. May be called from any thread."""

    @property
    def name(self) -> str:
        """What the run's books and reports call it."""

    def complete(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            ModelError: no answer came; of the kinds in `aide.errors`.
        """


class Policy(Protocol):
    """Chooses which nodes to work on next, and how. Holds settings, never results.

    The same tree, pending proposals and seed give the same actions, whatever was asked before, so
    that a resumed run goes on as if it had not been interrupted.
    """

    def ask(self, tree: Tree, pending: Sequence[Action], n: int) -> list[Action]:
        """At most n actions to start now; none if it has to wait for a pending one.

        Args:
            tree: the finished nodes.
            pending: what is being worked on: asked for, but not in the tree yet.
            n: how many are wanted, at least 1.
        """

    def tell(self, node: Node) -> None:
        """Learn of a finished node; it is in the tree already."""


class Operator(Protocol):
    """Turns nodes into a new solution by asking a model. Holds no state; knows no sandbox."""

    name: str

    def propose(self, context: Context, model: Model) -> Candidate:
        """Write a new solution.

        A reply that holds no usable code is asked for again, with the reason, a bounded number of
        times; then the candidate has status "rejected" or "duplicate" and is not run.

        Raises:
            ModelError: the model failed.
        """


class Sandbox(Protocol):
    """Runs one program at a time per call, isolated; `run` may be called from many threads.

    Guarantees, unless the implementation's first lines say otherwise: no network; nothing of the
    host's environment; input read-only; not root, no capabilities; all of `Limits`; a time-out
    means that every process of the job is dead within two seconds of its limit, with the output
    so far kept; whatever happens inside is an `Execution`, and only a fault of the machinery is an
    exception. Nothing that a program leaves behind is followed, trusted or kept.
    """

    name: str

    @property
    def about(self) -> str:
        """One line for people: which backend, why, and how strong it is."""

    def packages(self) -> Mapping[str, str]:
        """The packages that a program can import: distribution name to version, as installed."""

    def run(self, job: Job) -> Execution:
        """Run a program to its end.

        Raises:
            SandboxError: the sandbox failed; the job may be run again.
            UnavailableError: the sandbox cannot work at all as configured.
            StorageError: the host's disk is full.
        """

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        """Get ready, in the background, for up to `count` runs at once on an input folder.

        Returns at once and never raises; a sandbox with nothing to get ready does nothing.

        Args:
            view: the jobs' input folder.
            limits: the most that each of the jobs may use.
            count: how many of them may run at once.
        """

    def health(self) -> str:
        """Why no job can be run now, for people, or "" if one can; takes seconds at most."""

    def cancel(self) -> None:
        """End all running jobs at once; their `run` raises SandboxError. For a second Ctrl-C."""

    def close(self) -> None:
        """End whatever is left of this sandbox. Safe to call twice."""


Event = Mapping[str, object]
OnEvent = Callable[[Event], None]

__all__ = [
    "Action",
    "Candidate",
    "Context",
    "Event",
    "Execution",
    "Form",
    "Job",
    "Limits",
    "Message",
    "Model",
    "Node",
    "OnEvent",
    "Operator",
    "Part",
    "Policy",
    "Problem",
    "PromptLimits",
    "Proposal",
    "Reply",
    "Request",
    "Sandbox",
    "Score",
    "Scratch",
    "Status",
    "Task",
    "TaskInfo",
    "Tree",
    "Usage",
    "View",
]
