"""The roles of the search and the records that they exchange.

The engine alone executes: a policy proposes, an operator writes, a sandbox runs, a task grades,
and none of them knows another. An implementation adds what differs; what holds for all of them is
said here and tested by one contract suite per role in `tests/contracts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from aide.node import Action, Candidate, Node, Proposal, Score, Status, Usage
from aide.tree import Tree

View = Literal["smoke", "search", "full"]
Part = Literal["search", "final"]
Problem = Literal["binary classification", "multiclass classification", "regression"]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a task is, in the words that prompts and summaries use.

    Attributes:
        name: short, usable as a folder name.
        goal: the task in prose, markdown.
        metric: the metric's name.
        maximize: True if a larger value is better.
        problem: what kind of target it is.
        target: name of the target column in train.csv.
        id: name of the id column.
        predict: what the submission holds: a "label", a "probability" (of the positive class, or
            one column a class) or a "value".
        columns: the submission's columns, in order, the id first.
        classes: the labels, as text, of a classification; the last of two is the positive one.
        evaluation: which data a node's score comes from, in words for people.
    """

    name: str
    goal: str
    metric: str
    maximize: bool
    problem: Problem
    target: str
    id: str
    predict: Literal["label", "probability", "value"]
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    evaluation: str


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


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        system: the stable head of the prompt.
        messages: the turns so far; the last one is the user's.
        operator: who asks, for the books.
        seed: varies the answer where a model can vary it; the same request with the same seed may
            be answered alike.
        max_tokens: the longest answer that is of use.
    """

    system: str
    messages: tuple[Message, ...]
    operator: str
    seed: int
    max_tokens: int = 8192


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        text: the whole answer.
        model: which model answered, in the provider's own name.
        usage: this call's use.
        stop: why it ended.
        seconds: wall time of the call.
    """

    text: str
    model: str
    usage: Usage
    stop: Literal["end", "length", "refusal"] = "end"
    seconds: float = 0.0


class Model(Protocol):
    """Something that answers as a language model does. May be called from any thread."""

    @property
    def name(self) -> str:
        """What the run's books and reports call it."""

    def complete(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            ModelError: no answer came, after whatever retries the provider makes.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of a solution may use.

    Attributes:
        seconds: wall time.
        memory_mb: memory, in MiB, files in the sandbox's memory-backed folders included.
        cpus: processors; may be fractional.
        pids: processes and threads.
        disk_mb: all files it writes, in MiB.
        output_bytes: what is kept of its output, half head and half tail; the rest is counted.
    """

    seconds: float = 600.0
    memory_mb: int = 4096
    cpus: float = 1.0
    pids: int = 256
    disk_mb: int = 1024
    output_bytes: int = 64_000


@dataclass(frozen=True, slots=True)
class Context:
    """What an operator sees, each part bounded in size.

    Attributes:
        task: the task.
        preview: the data described.
        packages: what is installed where the solution runs: name to version.
        parents: the nodes to work on, with their whole code.
        siblings: earlier results of the same action, newest last: other drafts for a draft, other
            children of the parent for an improvement.
        ancestors: for a debug, the chain of attempts that led to the parent, oldest first.
        children: how many children the parent has (drafts, for a draft): the more, the more
            ambitious the next one should be.
        known: normalised code hash to node id, of all nodes.
        limits: what one run may use.
        seed: varies the answer.
    """

    task: TaskInfo
    preview: str
    packages: Mapping[str, str]
    parents: tuple[Node, ...]
    siblings: tuple[Node, ...]
    ancestors: tuple[Node, ...]
    children: int
    known: Mapping[str, int]
    limits: Limits
    seed: int


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


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run.

    Attributes:
        name: unique within the run, as "0007" or "0007-full"; used in container names.
        code: the program: run as `solution.py` in a folder with `input/` and `working/`.
        input: the host folder that the program sees, read-only, as `input/`.
        outputs: the files to bring back, relative to the program's folder, with the most bytes
            that each may have.
        collect: the host folder to put them into, by their last name; made if missing.
        limits: what it may use.
    """

    name: str
    code: str
    input: Path
    outputs: Mapping[str, int]
    collect: Path
    limits: Limits


@dataclass(frozen=True, slots=True)
class Execution:
    """How a program's run ended.

    Attributes:
        status: "ok" (exit status 0), "error", "timeout" or "out-of-memory".
        exit_code: the program's own, None if a signal or a limit ended it.
        signal: the signal that ended it, or None.
        output: stdout and stderr in order, decoded, head and tail with a line between that says
            how much was left out.
        output_bytes: how much it printed in all.
        seconds, cpu_seconds, peak_mb: what it used.
        files: the outputs that came back: name as asked for to host path.
        refused: the outputs that did not: name to reason ("missing", "a symbolic link", ...).
        flags: remarks: "output-truncated", "child-out-of-memory", "disk-full".
    """

    status: Literal["ok", "error", "timeout", "out-of-memory"]
    exit_code: int | None
    signal: int | None
    output: str
    output_bytes: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    files: Mapping[str, Path] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


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
    "Proposal",
    "Reply",
    "Request",
    "Sandbox",
    "Score",
    "Status",
    "Task",
    "TaskInfo",
    "Tree",
    "Usage",
    "View",
]
