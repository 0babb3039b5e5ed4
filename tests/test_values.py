"""The value in words of each node: exact, the same in any order, and bounded in size."""

from __future__ import annotations

import random
import statistics
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.node import FIXABLE, Node, Status
from aide.tree import Tree
from aide.values import (
    ADVICE,
    LIMIT,
    LINE,
    ROOT,
    Value,
    Values,
    error_class,
    join,
    leaf,
    lesson,
    line_of,
    message,
    render,
    render_branches,
)
from tests.trees import GOLDEN, TASK, node

PLANS = (
    "Scale the numbers",
    "Use another learning rate for the boosted trees " * 4,
    "",
    "X" * 300,
)
REASONS = (
    "ValueError: could not convert",
    "sklearn.exceptions.NotFittedError: no",
    "exit status 2",
)


def history(seed: int, size: int) -> list[Node]:
    """Drafts, improvements, debugs and merges at random; values are rounded, so that some tie."""
    rng = random.Random(seed)
    made: list[Node] = []
    working: list[int] = []
    failing: list[int] = []
    for node_id in range(1, size + 1):
        operators = ["draft"] + ["improve"] * 4 * bool(working) + ["debug"] * 2 * bool(failing)
        operator = rng.choice(operators + ["merge"] * (len(working) > 1))
        pool, count = (failing, 1) if operator == "debug" else (working, 1 + (operator == "merge"))
        parents = () if operator == "draft" else tuple(rng.sample(pool, count))
        value = round(rng.random(), 2) if rng.random() < 0.6 else None
        status: Status = rng.choice(("error", "timeout", "invalid-output", "rejected"))
        plan, reason = f"{rng.choice(PLANS)} {node_id}", rng.choice(REASONS)
        made.append(
            node(node_id, operator, parents, value=value, status=status, plan=plan, reason=reason)
        )
        if made[-1].works:
            working.append(node_id)
        elif status in FIXABLE:
            failing.append(node_id)
    return made


def built(nodes: list[Node], maximize: bool) -> Values:
    values = Values(maximize)
    for each in nodes:
        values.add(each)
    return values


class Scratch:
    """The values worked out anew from the leaves up, children in a random order."""

    def __init__(self, nodes: list[Node], maximize: bool, rng: random.Random) -> None:
        self.nodes = {each.id: each for each in nodes}
        self.maximize, self.rng = maximize, rng
        self.below: dict[int, list[Node]] = {}
        for each in nodes:
            self.below.setdefault(each.parents[0] if each.parents else ROOT, []).append(each)

    def children(self, node_id: int) -> list[Node]:
        found = self.below.get(node_id, [])
        self.rng.shuffle(found)
        return found

    def standing(self, node_id: int) -> float | None:
        this = self.nodes[node_id]
        return this.score.value if this.score else self.before(this)

    def before(self, this: Node) -> float | None:
        known = [v for parent in this.parents if (v := self.standing(parent)) is not None]
        return (max if self.maximize else min)(known) if known else None

    def idea(self, this: Node) -> Node:
        return self.idea(self.nodes[this.parents[0]]) if this.operator == "debug" else this

    def of(self, node_id: int) -> Value:
        parts = [leaf(self.nodes[node_id])] if node_id != ROOT else []
        for child in self.children(node_id):
            parts.append(self.of(child.id))
            parts.append(message(child, self.before(child), self.maximize, self.idea(child)))
        self.rng.shuffle(parts)
        return reduce(lambda a, b: join(a, b, self.maximize), parts, Value())


def test_node_by_node_is_all_at_once_in_any_order() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        maximize = rng.random() < 0.5
        nodes = history(seed, rng.randrange(1, 40))
        values, scratch = built(nodes, maximize), Scratch(nodes, maximize, rng)
        assert values.root() == scratch.of(ROOT)
        assert all(values.of(each.id) == scratch.of(each.id) for each in nodes)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 60), st.booleans())
def test_values_are_consistent(seed: int, size: int, maximize: bool) -> None:
    """Bellman's equation: what is known of a node is itself and what its children know."""
    nodes = history(seed, size)
    values, scratch = built(nodes, maximize), Scratch(nodes, maximize, random.Random(seed))
    sign = -1 if maximize else 1
    for each in (None, *nodes):
        value = values.of(each.id) if each else values.root()
        below = [values.of(child.id) for child in scratch.children(each.id if each else ROOT)]
        own = [leaf(each)] if each else []
        assert value.nodes == sum(part.nodes for part in own + below)
        assert value.valid == sum(part.valid for part in own + below)
        assert value.buggy == sum(part.buggy for part in own + below)
        bests = [(sign * part.best[0], part.best[1]) for part in own + below if part.best]
        assert value.best == ((sign * min(bests)[0], min(bests)[1]) if bests else None)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.booleans())
def test_joins_commute_and_associate(seed: int, maximize: bool) -> None:
    nodes = history(seed, 60)
    values = built(nodes, maximize)
    third = len(nodes) // 3
    a, b, c = (values.of(nodes[at].id) for at in (0, third, 2 * third))
    assert join(a, b, maximize) == join(b, a, maximize)
    left = join(join(a, b, maximize), c, maximize)
    assert left == join(a, join(b, c, maximize), maximize)
    assert join(a, Value(), maximize) == a


@pytest.fixture(scope="module")
def long_run() -> list[Node]:
    return history(5, 2000)


def test_a_long_run_is_told_exactly(long_run: list[Node]) -> None:
    tree, values = Tree(maximize=True), built(long_run, maximize=True)
    for each in long_run:
        tree.add(each)
    root = values.root()
    assert (root.nodes, root.valid) == (2000, tree.working)
    assert tree.best is not None
    assert root.best is not None
    assert root.best[1] == tree.best.id
    for draft in tree.roots:
        branch = [each for each in long_run if tree.root_of(each.id).id == draft]
        value = values.of(draft)
        assert value.nodes == len(branch)
        assert value.buggy == sum(each.status in FIXABLE for each in branch)
        scores = [(-each.score.value, each.id) for each in branch if each.score]
        assert value.best == ((-min(scores)[0], min(scores)[1]) if scores else None)


def test_the_largest_gains_of_a_run_are_known_at_the_root(long_run: list[Node]) -> None:
    values, scratch = built(long_run, True), Scratch(long_run, True, random.Random(0))
    gains = [
        (each.score.value - before, -each.id)
        for each in long_run
        if each.score and (before := scratch.before(each)) is not None
    ]
    largest = sorted(gains, reverse=True)[:5]
    assert [(each.gain, -each.node) for each in values.root().worked] == largest
    losses = sorted((gain, -age) for gain, age in gains if gain <= 0)[:5]
    assert [(each.gain, each.node) for each in values.root().lost] == losses


def test_no_text_is_too_long_or_grows(long_run: list[Node]) -> None:
    values, sizes = Values(maximize=True), dict[int, int]()
    for each in long_run:
        values.add(each)
        values.advise(each.id, "Try it again " * 40)
        if each.id % 5 == 0:
            sizes[each.id] = len(render(values.root(), metric=TASK.metric))
    for each in long_run[::20]:
        text = render(values.of(each.id), metric="m" * 200, node=each.id)
        assert 0 < len(text) <= LIMIT
        assert "Advice: Try it again" in text
        for limit in (600, 100, 99):
            assert len(render(values.of(each.id), metric="m", limit=limit)) <= limit
    assert max(sizes.values()) <= LIMIT
    steps = range(100, 2001, 5)
    slope = statistics.linear_regression(steps, [sizes[step] for step in steps]).slope
    assert abs(slope) < 0.5
    for attempt in values.root().worked + values.root().lost + values.root().failed:
        assert 0 < len(attempt.line) <= LINE


def family(maximize: bool = True) -> list[Node]:
    """Two drafts; 3 gains, 4 loses, 5 fails and is repaired by 7 in two steps; 8 merges."""
    return [
        node(1, value=0.5, plan="Logistic regression"),
        node(2, value=0.6, plan="Boosted trees"),
        node(3, "improve", (1,), value=0.7, plan="Scale the\nnumbers"),
        node(4, "improve", (1,), value=0.45, plan="Drop all columns but one"),
        node(5, "improve", (3,), reason="pkg.OddError: no", plan="Add ratios"),
        node(6, "debug", (5,), reason="KeyError: 'x'", plan="Rename"),
        node(7, "debug", (6,), value=0.8, plan="Import it"),
        node(8, "merge", (2, 7), value=0.9, plan="Average both"),
        node(9, "improve", (2,), status="out-of-memory", reason="too much", plan="More trees"),
        node(10, "improve", (2,), status="rejected", plan="Nothing"),
        node(11, "improve", (2,), value=0.6, plan="Another seed"),
    ]


def test_what_each_attempt_did() -> None:
    values = built(family(), maximize=True)
    one, two = values.of(1), values.of(2)
    assert (one.nodes, one.valid, one.buggy, one.best) == (6, 4, 2, (0.8, 7))
    assert [(each.node, each.idea, each.line) for each in one.worked] == [
        (3, 3, "Scale the numbers"),
        (7, 5, "Add ratios"),
    ]
    assert [each.gain for each in one.worked] == pytest.approx([0.2, 0.1])
    assert [each.node for each in one.lost] == [4]
    assert [each.gain for each in one.lost] == pytest.approx([-0.05])
    assert [(each.node, each.error) for each in one.failed] == [(5, "OddError")]
    # A merge is measured against the better parent, and counted under the first one.
    assert (two.nodes, two.valid, two.buggy, two.best) == (5, 3, 1, (0.9, 8))
    assert [each.node for each in two.worked] == [8]
    assert [each.gain for each in two.worked] == pytest.approx([0.1])
    assert [(each.node, each.gain) for each in two.lost] == [(11, 0)]
    assert [(each.node, each.error) for each in two.failed] == [(9, "out-of-memory")]
    worse = built(family(), maximize=False).of(1)
    assert worse.best == (0.45, 4)
    assert [each.node for each in worse.worked] == [4]
    assert [each.node for each in worse.lost] == [3, 7]


def test_a_draft_that_was_repaired_has_made_it() -> None:
    values = built([node(1, plan="Trees"), node(2, "debug", (1,), value=0.5)], maximize=True)
    assert [(each.node, each.idea, each.gain) for each in values.root().worked] == [(2, 1, None)]
    text = render(values.root(), metric="accuracy")
    assert "- Trees: made it run (node 2)" in text
    assert "Failed" not in text


def test_what_is_kept_where_room_is_short() -> None:
    """Of failures the newest; and gains last of all, each attempt whole or not at all."""
    values = built([node(1, value=0.5)], maximize=True)
    for node_id in range(2, 26):
        value = (0.5 + node_id / 100, 0.5 - node_id / 100, None)[node_id % 3]
        values.add(node(node_id, "improve", (1,), value=value, plan=f"{node_id} " + "word " * 40))
    root = values.root()
    assert [each.node for each in root.worked] == [24, 21, 18, 15, 12]
    assert [each.node for each in root.lost] == [25, 22, 19, 16, 13]
    assert [each.node for each in root.failed] == [23, 20, 17, 14, 11]
    told = {}
    for limit in (1200, 850, 680, 300):
        lines = render(root, metric="auc", limit=limit).splitlines()
        assert lines[0].endswith("best auc 0.74 (node 24).")
        assert all(line.endswith((".", ":", ")")) for line in lines)
        told[limit] = [int(line.split()[1]) for line in lines if line.startswith("- ")]
    assert told[1200] == [24, 21, 18, 15, 12, 25, 22, 19, 23, 20]
    assert told[850] == [24, 21, 18, 15, 12, 25]
    assert told[680] == [24, 21, 18, 15, 12]
    assert told[300] == [24]


def test_the_words() -> None:
    """To renew the file after an intended change: write the text of `told` into it."""
    values = built(family(), maximize=True)
    values.advise(2, "Keep to trees.")
    told = [render(values.root(), metric="roc_auc")]
    told += [render(values.of(each), metric="roc_auc", node=each) for each in (2, 11, 5)]
    nodes = {each.id: each for each in family()}
    told.append(render_branches([(nodes[2], nodes[8]), (nodes[1], nodes[7])]))
    told += [
        lesson(each, [nodes[parent] for parent in each.parents], metric="roc_auc", maximize=True)
        for each in nodes.values()
    ]
    assert "\n\n".join(filter(None, told)) + "\n" == (GOLDEN / "values.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("value", "maximize", "words"),
    [
        (0.505, True, "better by 0.005, which may be chance"),
        (0.495, True, "worse by 0.005, which may be chance"),
        (0.5, True, "no difference"),
        (0.6, False, "worse by 0.1: do not repeat it"),
        (0.4, False, "better by 0.1: keep it"),
    ],
)
def test_a_lesson_weighs_the_gain(value: float, maximize: bool, words: str) -> None:
    parent, child = node(1, value=0.5), node(2, "improve", (1,), value=value)
    assert words in lesson(child, [parent], metric="auc", maximize=maximize)


@pytest.mark.parametrize("status", ["error", "timeout", "out-of-memory", "invalid-output"])
@pytest.mark.parametrize("reason", ["", "ValueError: " + "x" * 500, "exit status 1: no", ": :"])
def test_a_lesson_is_one_short_line(status: str, reason: str) -> None:
    failed = node(2, status=status, reason=reason, plan="a\nplan " * 99)  # type: ignore[arg-type] # parametrized
    text = lesson(failed, [], metric="metric" * 99, maximize=True)
    assert "\n" not in text
    assert len(text) < 300
    assert error_class(failed) == ("ValueError" if status == "error" and "V" in reason else status)


def test_the_scope_widens_until_it_has_something_to_say() -> None:
    values = built(family(), maximize=True)
    assert values.around(7, 1) == (7, values.of(7))
    assert values.around(7, 4) == (3, values.of(3))
    assert values.around(7, 6) == values.around(7, 99) == (1, values.of(1))
    values.advise(3, "Mind the ratios. " * 50)
    top, value = values.around(7, 6)
    assert (top, value.advice[:16]) == (1, "Mind the ratios.")
    assert len(value.advice) <= ADVICE
    assert values.around(4, 6)[1].advice == values.of(1).advice == ""
    values.advise(ROOT, "Draft trees")
    assert values.root().advice == "Draft trees"


def test_nodes_out_of_order_are_refused() -> None:
    values = Values(maximize=True)
    with pytest.raises(ValueError, match=r"\[1\]"):
        values.add(node(2, "improve", (1,)))
    values.add(node(1, value=0.5))
    with pytest.raises(ValueError, match="node 1 is known already"):
        values.add(node(1, value=0.6))
    assert values.root().nodes == 1


def test_lines_are_single_and_cut() -> None:
    assert line_of(" a\n b\t") == "a b"
    assert line_of("缩放" * 99) == "缩放" * 39 + "缩…"
    assert line_of("word " * 99).endswith("word…")
    heading, line = render_branches([(node(1, plan="w " * 200), node(10**6, value=1 / 3))]).split(
        "\n"
    )
    assert heading == "The best of each draft:"
    assert len(line) <= 150
    assert line.endswith(": 0.333333 (node 1000000)")
