"""The tree's look-ups against plain scans over all nodes."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.node import FIXABLE, Candidate, Node, Outcome
from aide.tree import IndexedSet, Tree
from tests.trees import grow, node

SIZES = st.integers(0, 60)
SEEDS = st.integers(0, 10_000)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8))))
def test_indexed_set_is_a_set(steps: list[tuple[bool, int]]) -> None:
    ours, reference = IndexedSet(), set[int]()
    for adds, item in steps:
        (ours.add if adds else ours.discard)(item)
        (reference.add if adds else reference.discard)(item)
        members = [ours[place] for place in range(len(ours))]
        assert len(members) == len(set(members))
        assert set(members) == reference
        assert all((item in ours) == (item in reference) for item in range(9))


def by_hand_depth(nodes: dict[int, Node], node_id: int) -> int:
    this = nodes[node_id]
    return 1 + by_hand_depth(nodes, this.parents[0]) if this.operator == "debug" else 0


@settings(deadline=None)
@given(SEEDS, SIZES, st.booleans())
def test_look_ups_agree_with_scans(seed: int, size: int, maximize: bool) -> None:
    tree = grow(seed, size, maximize=maximize)
    nodes = {each.id: each for each in tree}
    assert list(nodes) == list(range(1, size + 1))
    sign = -1 if maximize else 1
    scored = [(sign * each.score.value, each.id) for each in nodes.values() if each.score]
    ranking = [node_id for _, node_id in sorted(scored)]
    assert [each.id for each in tree.ranked(size + 1)] == ranking
    assert [each.id for each in tree.ranked(3)] == ranking[:3]
    assert tree.working == len(ranking)
    assert (tree.best.id if tree.best else None) == (ranking[0] if ranking else None)
    assert tree.roots == [each.id for each in nodes.values() if not each.parents]
    for node_id in nodes:
        children = [each.id for each in nodes.values() if node_id in each.parents]
        assert [each.id for each in tree.children(node_id)] == children
        assert tree.child_count(node_id) == len(children)
        assert tree.debug_depth(node_id) == by_hand_depth(nodes, node_id)


@settings(deadline=None)
@given(SEEDS, SIZES, st.integers(0, 4))
def test_failing_leaves_agree_with_scans(seed: int, size: int, deepest: int) -> None:
    tree = grow(seed, size)
    nodes = {each.id: each for each in tree}
    parents = {parent for each in nodes.values() for parent in each.parents}
    levels = tree.failing_leaves(deepest)
    assert len(levels) == deepest + 1
    for depth, level in enumerate(levels):
        expected = {
            each.id
            for each in nodes.values()
            if each.status in FIXABLE
            and each.id not in parents
            and by_hand_depth(nodes, each.id) == depth
        }
        assert {level[place] for place in range(len(level))} == expected


def test_lineage_starts_at_the_root() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    tree.add(node(2, value=0.6))
    tree.add(node(3, "improve", (1,), value=0.7))
    tree.add(node(4, "merge", (3, 2), value=0.8))
    assert [each.id for each in tree.lineage(4)] == [1, 3, 4]
    assert [each.id for each in tree.children(2)] == [4]


@pytest.mark.parametrize(("maximize", "better"), [(True, 0.9), (False, 0.1)])
def test_direction(maximize: bool, better: float) -> None:
    tree = Tree(maximize)
    tree.add(node(1, value=0.9))
    tree.add(node(2, value=0.1))
    assert tree.best is not None
    assert tree.best.score is not None
    assert tree.best.score.value == better
    assert tree.better(0.9, 0.1) is maximize
    assert not tree.better(0.5, 0.5)


def test_equal_scores_keep_the_older_node() -> None:
    tree = Tree(maximize=True)
    tree.add(node(2, value=0.5))
    tree.add(node(1, value=0.5))
    assert tree.best is not None
    assert tree.best.id == 1


def test_a_copy_does_not_take_over_the_hash() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5), "abc")
    tree.add(node(2, status="duplicate"), "abc")
    tree.add(node(3))
    assert tree.known == {"abc": 1}


def test_refused_nodes_leave_no_trace() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    with pytest.raises(ValueError, match="node 1 is in the tree already"):
        tree.add(node(1, value=0.9))
    with pytest.raises(ValueError, match=r"not in the tree: \[7\]"):
        tree.add(node(2, "merge", (1, 7), value=0.9))
    assert len(tree) == 1
    assert 2 not in tree
    assert tree.child_count(1) == 0
    assert [each.id for each in tree.ranked(5)] == [1]


@settings(deadline=None)
@given(SEEDS, SIZES, st.booleans())
def test_branches_agree_with_scans(seed: int, size: int, maximize: bool) -> None:
    tree = grow(seed, size, maximize=maximize)
    best: dict[int, tuple[float, int]] = {}
    for each in tree:
        root = tree.lineage(each.id)[0].id
        assert tree.root_of(each.id).id == root
        if each.score:
            score = (-each.score.value if maximize else each.score.value, each.id)
            best[root] = min(best.get(root, score), score)
    expected = [node_id for _, node_id in sorted(best.values())]
    assert [each.id for each in tree.branches(size + 1)] == expected
    assert [each.id for each in tree.branches(2)] == expected[:2]


def test_a_merge_is_of_its_first_parent_and_remembered() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    tree.add(node(2, value=0.6))
    tree.add(node(3, value=0.4))
    assert not tree.merged(1, 2)
    tree.add(node(4, "merge", (1, 2), status="rejected"))
    assert tree.merged(1, 2)
    assert tree.merged(2, 1)
    assert not tree.merged(1, 3)
    assert tree.root_of(4).id == 1
    tree.add(node(5, "merge", (1, 3), value=0.9))
    assert [each.id for each in tree.branches(9)] == [5, 2, 3]


@pytest.mark.parametrize("text", ["", "x = 1\n" * 1000, "naïve 🌲\ud800\n"])
def test_long_texts_take_little_memory_and_come_back_as_they_were(text: str) -> None:
    candidate = Candidate("plan", text)
    assert candidate.code == text
    assert replace(candidate, plan="other").code == text
    assert candidate == Candidate("plan", text)
    assert asdict(candidate)["code"] == text
    held = [value for value in vars(candidate).values() if isinstance(value, bytes | str)]
    assert sum(map(len, held)) < 200


def test_texts_may_be_left_out() -> None:
    assert Candidate("plan").code == ""
    assert Outcome("ok").log == ""
