"""greedy's choices against a plain reading of the rules, on random trees, both directions."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import ConfigError
from aide.node import FIXABLE, Action
from aide.policies.greedy import Greedy
from aide.tree import Tree
from tests.trees import calls_during, grow, node

DRAFT = Action("draft")
Choices = set[Action | None]


def debuggable(tree: Tree, pending: list[Action], deepest: int) -> Choices:
    """Failing nodes without children, shallow enough, that nobody works on: by a full scan."""
    nodes = {each.id: each for each in tree}

    def depth(node_id: int) -> int:
        this = nodes[node_id]
        return 1 + depth(this.parents[0]) if this.operator == "debug" else 0

    busy = {parent for action in pending for parent in action.parents}
    busy |= {parent for each in nodes.values() for parent in each.parents}
    return {
        Action("debug", (each.id,))
        for each in nodes.values()
        if each.status in FIXABLE and each.id not in busy and depth(each.id) <= deepest
    }


def allowed(tree: Tree, pending: list[Action], greedy: Greedy) -> Choices:
    """Every action that the rules allow, whatever the coin says."""
    pending_drafts = pending.count(DRAFT)
    drafts = sum(each.operator == "draft" for each in tree) + pending_drafts
    if drafts < greedy.drafts:
        return {DRAFT}
    fixes = debuggable(tree, pending, greedy.max_debug_depth) if greedy.debug_prob else set()
    if fixes and greedy.debug_prob == 1:
        return fixes
    scored = [(each.score.value, -each.id) for each in tree if each.score]
    if not tree.maximize:
        scored = [(-value, age) for value, age in scored]
    if scored:
        return fixes | {Action("improve", (-max(scored)[1],))}
    return fixes | {None if pending_drafts else DRAFT}


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(0, 40),
    maximize=st.booleans(),
    debug_prob=st.sampled_from([0.0, 0.5, 1.0]),
    drafts=st.integers(1, 9),
    deepest=st.integers(0, 4),
    n=st.integers(1, 6),
)
def test_each_choice_follows_the_rules(
    seed: int,
    size: int,
    maximize: bool,
    debug_prob: float,
    drafts: int,
    deepest: int,
    n: int,
) -> None:
    tree = grow(seed, size, maximize=maximize, debug=random.Random(seed).random())
    greedy = Greedy(drafts, debug_prob, deepest, seed)
    pending: list[Action] = []
    chosen: list[Action | None] = list(greedy.ask(tree, [], n))
    assert 1 <= len(chosen) <= n
    chosen += [None] * (len(chosen) < n)
    for action in chosen:
        assert action in allowed(tree, pending, greedy)
        if action:
            pending.append(action)


@pytest.mark.parametrize("maximize", [True, False])
def test_drafts_come_first_and_failing_ones_count(maximize: bool) -> None:
    tree = Tree(maximize)
    greedy = Greedy(drafts=3, debug_prob=0.0)
    assert greedy.ask(tree, [], 8) == [DRAFT] * 3
    assert greedy.ask(tree, [DRAFT], 8) == [DRAFT] * 2
    tree.add(node(1))
    tree.add(node(2, value=0.4))
    assert greedy.ask(tree, [], 1) == [DRAFT]
    assert greedy.ask(tree, [DRAFT], 1) == [Action("improve", (2,))]
    tree.add(node(3, value=0.6))
    assert greedy.ask(tree, [], 1) == [Action("improve", (3 if maximize else 2,))]


def test_without_a_working_node_it_drafts_but_one_at_a_time() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, status="rejected"))
    greedy = Greedy(drafts=1, debug_prob=1.0)
    assert greedy.ask(tree, [], 4) == [DRAFT]
    assert greedy.ask(tree, [DRAFT], 4) == []
    assert Greedy(drafts=3).ask(tree, [DRAFT, DRAFT], 4) == []


def test_a_failure_that_is_worked_on_is_left_alone() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1))
    tree.add(node(2))
    tree.add(node(3, value=0.5))
    greedy = Greedy(drafts=3, debug_prob=1.0)
    first, second, third = greedy.ask(tree, [], 3)
    assert {first, second} == {Action("debug", (1,)), Action("debug", (2,))}
    assert third == Action("improve", (3,))


@pytest.mark.parametrize("deepest", [0, 1, 2])
def test_debug_depth_is_bounded(deepest: int) -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    tree.add(node(2, "improve", (1,)))
    greedy = Greedy(drafts=1, debug_prob=1.0, max_debug_depth=deepest)
    for depth in range(deepest + 1):
        assert greedy.ask(tree, [], 1) == [Action("debug", (2 + depth,))]
        tree.add(node(3 + depth, "debug", (2 + depth,)))
    assert greedy.ask(tree, [], 1) == [Action("improve", (1,))]


def test_the_coin_has_its_odds_and_each_failure_the_same() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    for node_id in (2, 3, 4, 5):
        tree.add(node(node_id))
    pending = [Action("debug", (4,))]
    counts = Counter(
        Greedy(1, 0.6, seed=seed).ask(tree, pending, 1)[0].parents[0] for seed in range(3000)
    )
    assert counts[1] == pytest.approx(1200, abs=110)
    assert counts[4] == 0
    for failing in (2, 3, 5):
        assert counts[failing] == pytest.approx(600, abs=90)


def test_each_choice_of_an_ask_has_its_own_coin() -> None:
    tree = grow(9, 60, debug=0.1)
    pairs = Counter(
        tuple(action.operator for action in Greedy(1, 0.5, seed=seed).ask(tree, (), 2))
        for seed in range(400)
    )
    assert all(count > 60 for count in pairs.values())
    assert len(pairs) == 4


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(5, 60), st.integers(2, 6))
def test_asking_for_many_is_asking_one_by_one(seed: int, size: int, n: int) -> None:
    tree = grow(seed, size)
    many = Greedy(seed=seed).ask(tree, [], n)
    one_by_one: list[Action] = []
    for _ in range(n):
        one_by_one += Greedy(seed=seed).ask(tree, one_by_one, 1)
    assert many == one_by_one


def test_the_work_of_an_ask_does_not_grow_with_the_tree() -> None:
    small, large = grow(1, 100, debug=0.2), grow(1, 10_000, debug=0.2)
    pending = [Action("debug", (small.failing_leaves(0)[0][0],)), DRAFT]
    for debug_prob in (0.0, 0.5, 1.0):
        greedy = Greedy(debug_prob=debug_prob, seed=2, merge_prob=1.0)
        few = calls_during(partial(greedy.ask, small, pending, 4))
        many = calls_during(partial(greedy.ask, large, pending, 4))
        assert 0 < many <= 1.5 * few


def test_the_best_of_two_branches_are_merged_once() -> None:
    tree = Tree(maximize=True)
    for node_id, value in ((1, 0.5), (2, 0.6), (3, 0.4)):
        tree.add(node(node_id, value=value))
    tree.add(node(4, "improve", (2,), value=0.7))
    greedy = Greedy(drafts=3, debug_prob=0.0, merge_prob=1.0)
    merge, improve = Action("merge", (4, 1)), Action("improve", (4,))
    assert greedy.ask(tree, [], 3) == [merge, improve, improve]
    assert greedy.ask(tree, [Action("merge", (1, 4))], 1) == [improve]
    assert Greedy(drafts=3).ask(tree, [], 1) == [improve]
    tree.add(node(5, "merge", (4, 1)))
    assert greedy.ask(tree, [], 1) == [improve]
    tree.add(node(6, "improve", (3,), value=0.65))
    assert greedy.ask(tree, [], 1) == [Action("merge", (4, 6))]


def test_what_came_of_a_merge_is_not_merged_with_what_it_came_from() -> None:
    tree = Tree(maximize=True)
    for node_id, value in ((1, 0.5), (2, 0.6), (3, 0.4)):
        tree.add(node(node_id, value=value))
    tree.add(node(4, "merge", (2, 1), value=0.7))
    tree.add(node(5, "improve", (4,), value=0.8))
    assert tree.origins(5) == {1, 2}
    greedy = Greedy(drafts=3, debug_prob=0.0, merge_prob=1.0)
    assert greedy.ask(tree, [], 1) == [Action("merge", (5, 3))]
    tree.add(node(6, "merge", (5, 3), value=0.9))
    assert greedy.ask(tree, [], 1) == [Action("improve", (6,))]


def test_a_merge_takes_two_branches() -> None:
    tree = Tree(maximize=False)
    tree.add(node(1, value=0.5))
    tree.add(node(2, "improve", (1,), value=0.4))
    tree.add(node(3))
    greedy = Greedy(drafts=2, debug_prob=0.0, merge_prob=1.0)
    assert greedy.ask(tree, [], 1) == [Action("improve", (2,))]
    tree.add(node(4, "debug", (3,), value=0.9))
    assert greedy.ask(tree, [], 1) == [Action("merge", (2, 4))]


def test_merges_have_their_odds_and_take_the_place_of_improvements() -> None:
    tree = grow(9, 60, debug=0.1)
    without = [Greedy(1, 0.5, seed=seed).ask(tree, (), 1)[0] for seed in range(1000)]
    some = [Greedy(1, 0.5, seed=seed, merge_prob=0.4).ask(tree, (), 1)[0] for seed in range(1000)]
    changed = [(a.operator, b.operator) for a, b in zip(without, some, strict=True) if a != b]
    assert set(changed) == {("improve", "merge")}
    improvements = sum(action.operator == "improve" for action in without)
    assert len(changed) == pytest.approx(0.4 * improvements, abs=50)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drafts": 0}, "drafts is 0, but has to be at least 1"),
        ({"debug_prob": 1.5}, "debug_prob is 1.5"),
        ({"debug_prob": float("nan")}, "debug_prob is nan"),
        ({"merge_prob": -0.1}, "merge_prob is -0.1, but has to lie between 0 and 1"),
        ({"max_debug_depth": -1}, "max_debug_depth is -1"),
        ({"max_debug_depth": 10**9}, "between 0 and 100"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Greedy(**settings)
