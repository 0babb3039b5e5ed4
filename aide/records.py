"""The records that the roles of `aide.interfaces` exchange: frozen, named, with their units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aide.node import Node, Usage

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


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """The shape of a structured answer, for models that can be held to one.

    Attributes:
        name: of the tool or the schema.
        description: what the answer is, for the model.
        schema: a JSON schema of an object, strict: all keys required, no others allowed.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


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
        node: the node that is being worked on, for the books; 0 for none.
        form: the shape that the answer should have; a model that cannot be held to it answers in
            plain text.
    """

    system: str
    messages: tuple[Message, ...]
    operator: str
    seed: int
    max_tokens: int = 8192
    node: int = 0
    form: Form | None = None

    @property
    def chars(self) -> int:
        """The size of the prompt, in characters."""
        return len(self.system) + sum(len(message.text) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        text: the whole answer; of a structured one, its JSON.
        model: which model answered, in the provider's own name.
        usage: this call's use.
        stop: why it ended.
        seconds: wall time of the call.
        data: the structured answer, if one was asked for and came; not checked against the form.
    """

    text: str
    model: str
    usage: Usage
    stop: Literal["end", "length", "refusal"] = "end"
    seconds: float = 0.0
    data: Mapping[str, Any] | None = None


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
        gpus: whole GPUs, its own while it runs.
    """

    seconds: float = 600.0
    memory_mb: int = 4096
    cpus: float = 1.0
    pids: int = 256
    disk_mb: int = 1024
    output_bytes: int = 64_000
    gpus: int = 0


SECTIONS: Mapping[str, int] = {
    "task": 3000,
    "preview": 2500,
    "code": 8000,
    "lessons": 600,
    "siblings": 1500,
    "ancestors": 1500,
    "log": 2500,
    "exemplars": 800,
}
"""The most tokens that each section of a prompt may have; "code" is for each program."""


@dataclass(frozen=True, slots=True)
class PromptLimits:
    """How large a prompt may be.

    Attributes:
        tokens: the most in all.
        sections: the most of each section, by name.
        chars_per_token: how many characters the model makes one token of, as seen so far.
        reply: the most tokens of an answer.
    """

    tokens: int = 28_000
    sections: Mapping[str, int] = field(default_factory=lambda: SECTIONS)
    chars_per_token: float = 3.0
    reply: int = 8192


@dataclass(frozen=True, slots=True)
class Scratch:
    """Short programs that a model may run before it answers.

    Attributes:
        run: runs a snippet where solutions run and returns what it printed, bounded; never raises
            for what the snippet does.
        runs: how many it may run for one candidate.
        seconds: the wall time of each.
    """

    run: Callable[[str], str]
    runs: int
    seconds: float


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
        node: the id that the new node will have; 0 if it has none.
        lessons: what was learned below the parent (in the whole tree, for a draft), in words.
        prompt: how large the prompt may be.
        scratch: programs that may be run before the answer, or None.
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
    node: int = 0
    lessons: str = ""
    prompt: PromptLimits = PromptLimits()
    scratch: Scratch | None = None


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
