"""What was learned below each node, in words of bounded size, folded upward without a model.

The language value of natural-language reinforcement learning (Feng et al., arXiv 2411.14251) with
both of its aggregations done by rule: `message` (G2) says what one edge did, `join` (G1) merges
messages and values. `join` is commutative and associative, so a value depends neither on the
order of the children nor on whether it was folded in one go or node by node.

A merge has two parents and is folded upward along its first one only: each node is then counted
exactly once in every value above it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment, PackageLoader, StrictUndefined

from aide.node import FIXABLE, Node

LIMIT = 1200
"""The most characters of a value in words."""
LINE = 80
"""The most characters that say what was changed."""
ADVICE = 200
"""The most characters of an advice."""
MOST = 5
"""How many attempts each list of a value holds."""
BRANCH = 150
"""The most characters of the line of a draft's branch."""
ROOT = 0
"""Stands above all drafts; nodes are numbered from 1."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One change that was tried.

    Attributes:
        node: the node that it ended in.
        line: what was changed, at most 80 characters.
        idea: the node that tried it first: another one than `node` where debug steps made it run.
        gain: by how much the metric is better than before, in its own unit, so that a loss is
            negative; None if there is nothing to compare with.
        error: the class of the error or the status, if it failed.
    """

    node: int
    line: str
    idea: int
    gain: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a node and all that was made from it.

    Attributes:
        nodes: how many nodes, itself included.
        valid: how many of them work.
        buggy: how many ran and failed; the others never ran.
        best: the best metric value and its node, the older one of equals; None if nothing works.
        worked: the at most 5 attempts with the largest gains, and those that only made it run.
        lost: the at most 5 that ran without a gain, the largest loss first.
        failed: the at most 5 newest that failed, debug steps left out.
        advice: what to do next, in at most 200 characters; not folded upward.
    """

    nodes: int = 0
    valid: int = 0
    buggy: int = 0
    best: tuple[float, int] | None = None
    worked: tuple[Attempt, ...] = ()
    lost: tuple[Attempt, ...] = ()
    failed: tuple[Attempt, ...] = ()
    advice: str = ""


def leaf(node: Node) -> Value:
    """The value of a node that nothing was made from."""
    best = (node.score.value, node.id) if node.score else None
    return Value(1, int(node.works), int(node.status in FIXABLE), best)


def message(node: Node, before: float | None, maximize: bool, idea: Node | None = None) -> Value:
    """G2: what the edge to a node did, as a value without nodes.

    Args:
        node: what the edge leads to.
        before: the metric of what it was made from; None if nothing there works.
        maximize: the direction of the metric.
        idea: the node whose change it carries, if not its own.
    """
    first = idea or node
    attempt = Attempt(node.id, line_of(first.plan or "no plan"), first.id)
    if node.score is None:
        if node.status not in FIXABLE or node.operator == "debug":
            return Value()
        return Value(failed=(replace(attempt, error=error_class(node)),))
    if before is None:
        # A draft that works is no change; one that had to be repaired is.
        return Value(worked=(attempt,)) if node.parents else Value()
    change = node.score.value - before
    attempt = replace(attempt, gain=change if maximize else -change)
    return Value(worked=(attempt,)) if (attempt.gain or 0) > 0 else Value(lost=(attempt,))


def join(a: Value, b: Value, maximize: bool) -> Value:
    """G1: two values of disjoint sets of nodes as that of both; advice is left out."""
    bests = [value.best for value in (a, b) if value.best is not None]
    sign = -1 if maximize else 1
    return Value(
        a.nodes + b.nodes,
        a.valid + b.valid,
        a.buggy + b.buggy,
        min(bests, key=lambda best: (sign * best[0], best[1]), default=None),
        _first(a.worked, b.worked, _by_gain),
        _first(a.lost, b.lost, _by_loss),
        _first(a.failed, b.failed, lambda attempt: (0.0, -attempt.node)),
    )


def _first(
    a: tuple[Attempt, ...], b: tuple[Attempt, ...], key: Callable[[Attempt], tuple[float, int]]
) -> tuple[Attempt, ...]:
    # Most joins bring nothing for two of the three lists, on each of many levels.
    if not a or not b:
        return a or b
    return tuple(sorted(a + b, key=key)[:MOST])


def _by_gain(attempt: Attempt) -> tuple[float, int]:
    return (-(attempt.gain or 0.0), attempt.node)


def _by_loss(attempt: Attempt) -> tuple[float, int]:
    return (attempt.gain or 0.0, attempt.node)


class Values:
    """The value of each node of a tree that grows; the same however often it is built anew.

    Args:
        maximize: the direction of the metric.
    """

    def __init__(self, maximize: bool) -> None:
        self._maximize = maximize
        self._values: dict[int, Value] = {ROOT: Value()}
        self._above: dict[int, int] = {}
        self._standing: dict[int, float | None] = {}
        self._ideas: dict[int, Node] = {}
        self._advice: dict[int, str] = {}

    def add(self, node: Node) -> None:
        """Take in a finished node: one join for each node on its path to the root.

        Raises:
            ValueError: it was added before, or a parent was not.
        """
        missing = [parent for parent in node.parents if parent not in self._above]
        if node.id in self._above or missing:
            raise ValueError(f"node {node.id} is known already, or its parents {missing} are not")
        before = self._best(self._standing[parent] for parent in node.parents)
        idea = self._ideas[node.parents[0]] if node.operator == "debug" else node
        self._ideas[node.id] = idea
        self._standing[node.id] = node.score.value if node.score else before
        self._above[node.id] = above = node.parents[0] if node.parents else ROOT
        self._values[node.id] = leaf(node)
        sent = join(leaf(node), message(node, before, self._maximize, idea), self._maximize)
        for each in self._path(above):
            self._values[each] = join(self._values[each], sent, self._maximize)

    def advise(self, node_id: int, text: str) -> None:
        """Keep a line of advice on what to make of a node; 0 stands for all drafts."""
        self._advice[node_id] = line_of(text, ADVICE)

    def of(self, node_id: int) -> Value:
        """The value of a node, with the advice on it.

        Raises:
            KeyError: there is no such node.
        """
        return replace(self._values[node_id], advice=self._advice.get(node_id, ""))

    def root(self) -> Value:
        """All drafts' values in one."""
        return self.of(ROOT)

    def around(self, node_id: int, nodes: int) -> tuple[int, Value]:
        """The smallest branch that holds a node and at least so many nodes in all.

        Its draft's branch if all are smaller. The advice is that on the node, or on the nearest
        one above it.

        Returns:
            the node that the branch begins with, and its value.
        """
        path = [each for each in self._path(node_id) if each != ROOT]
        top = next((each for each in path if self._values[each].nodes >= nodes), path[-1])
        advice = next((self._advice[each] for each in path if each in self._advice), "")
        return top, replace(self._values[top], advice=advice)

    def _path(self, node_id: int) -> Iterable[int]:
        while node_id != ROOT:
            yield node_id
            node_id = self._above[node_id]
        yield ROOT

    def _best(self, values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return (max if self._maximize else min)(known, default=None)


def line_of(text: str, length: int = LINE) -> str:
    """A text on one line of at most so many characters; "…" marks a cut."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def error_class(node: Node) -> str:
    """The class of the error that ended a program, or its status."""
    found = re.match(r"[\w.]*?(\w{1,40})(?::|$)", node.outcome.reason)
    return found[1] if node.status == "error" and found else node.status


_environment = Environment(
    loader=PackageLoader("aide"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    # The words go into a prompt, which is plain text.
    autoescape=False,
)


def render(value: Value, *, metric: str, node: int = ROOT, limit: int = LIMIT) -> str:
    """A value in words; empty if it holds no more than its own node, or if there is no room.

    Args:
        value: the value.
        metric: the metric's name.
        node: whose value it is; 0 for all drafts.
        limit: the most characters; nothing is worth saying in less than 100.
    """
    told = value.nodes > 1 or value.advice or value.failed
    if not told or limit < 100:
        return ""
    tried = {attempt.idea for attempt in value.worked + value.lost}
    failed = [attempt for attempt in value.failed if attempt.idea not in tried]
    lost, worked = list(value.lost), list(value.worked)
    while len(lost) + len(failed) > MOST:
        (failed if len(failed) >= len(lost) else lost).pop()
    while True:
        text = _words(
            "value.j2", value=value, metric=line_of(metric, 40), node=node,
            worked=worked, lost=lost, failed=failed,
        )  # fmt: skip
        if len(text) <= limit or not (worked or lost or failed):
            return text if len(text) <= limit else line_of(text, limit)
        (max(failed, lost, key=len) or worked).pop()


def render_branches(branches: Sequence[tuple[Node, Node]]) -> str:
    """A heading, and for each draft and its branch's best node a line; "" if there are none."""
    lines = []
    for draft, best in branches:
        score = f"{best.score.value:.6g}" if best.score else best.status
        end = f": {score} (node {best.id})"
        lines.append(f"- {line_of(draft.plan or 'no plan', BRANCH - 2 - len(end))}{end}")
    return _words("branches.j2", lines=lines) if lines else ""


def lesson(node: Node, parents: Sequence[Node], *, metric: str, maximize: bool) -> str:
    """One line on a node: what was changed, what happened, and what that suggests.

    Args:
        node: the node.
        parents: the nodes that it was made from.
        metric: the metric's name.
        maximize: its direction.
    """
    known = [parent.score.value for parent in parents if parent.score]
    before = (max if maximize else min)(known, default=None)
    gain = None
    if node.score and before is not None:
        gain = node.score.value - before if maximize else before - node.score.value
    return _words(
        "lesson.j2", node=node, line=line_of(node.plan or "no plan", 120), parents=parents,
        gain=gain, metric=line_of(metric, 40), error=error_class(node),
    )  # fmt: skip


def _words(template: str, **values: object) -> str:
    return _environment.get_template(template).render(values).strip()
