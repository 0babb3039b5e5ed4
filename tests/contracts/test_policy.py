"""What holds for every policy. A new one is one more line in POLICIES."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aide.interfaces import Action, Node, Policy
from aide.node import FIXABLE
from aide.policies.bandit import Bandit
from aide.policies.greedy import Greedy
from aide.tree import Tree
from tests.trees import grow, node

Make = Callable[[int], Policy]
POLICIES: dict[str, Make] = {
    "bandit": lambda seed: Bandit(seed=seed),
    "bandit with merges": lambda seed: Bandit(seed=seed, merge_prob=0.5),
    "greedy": lambda seed: Greedy(seed=seed),
    "greedy with merges": lambda seed: Greedy(seed=seed, merge_prob=0.5),
}

pytestmark = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES.keys())


def is_sound(tree: Tree, action: Action) -> bool:
    """True if an operator can do what is asked for."""
    parents = [tree[parent] for parent in action.parents]
    match action.operator:
        case "draft":
            return not parents
        case "debug":
            return [parent.status in FIXABLE for parent in parents] == [True]
        case "improve":
            return [parent.works for parent in parents] == [True]
        case "merge":
            branches = {tree.root_of(parent.id).id for parent in parents}
            return [parent.works for parent in parents] == [True, True] and len(branches) == 2
        case _:
            return bool(parents) and all(parent.works for parent in parents)


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("size", [0, 1, 5, 30, 200])
def test_actions_are_sound(make: Make, size: int, maximize: bool) -> None:
    for seed in range(10):
        tree = grow(seed, size, maximize=maximize)
        policy = make(seed)
        pending: list[Action] = []
        for n in (1, 3, 8):
            actions = policy.ask(tree, tuple(pending), n)
            assert len(actions) <= n
            assert all(is_sound(tree, action) for action in actions)
            assert actions or pending
            pending += actions


@pytest.mark.parametrize("size", [0, 7, 50])
def test_the_same_tree_gives_the_same_actions(make: Make, size: int) -> None:
    """As after a resume: a new object, a tree grown anew, other questions asked before."""
    policy = make(3)
    for earlier in range(size):
        tree = grow(4, earlier)
        policy.ask(tree, (), 2)
    tree, again = grow(4, size), grow(4, size)
    resumed = make(3)
    for each in tree:
        policy.tell(each)
        resumed.tell(each)
    pending = [Action("draft")]
    assert policy.ask(tree, pending, 4) == resumed.ask(again, pending, 4)


def test_asking_changes_nothing(make: Make) -> None:
    tree = grow(9, 60)
    pending = (Action("draft"), Action("improve", (tree.ranked(1)[0].id,)))
    before = [*tree], tree.ranked(60), list(tree.graph.edges)
    first = make(1).ask(tree, pending, 5)
    assert ([*tree], tree.ranked(60), list(tree.graph.edges)) == before
    assert make(1).ask(tree, pending, 5) == first


def test_seeds_matter(make: Make) -> None:
    tree = grow(9, 60, debug=0.1)
    assert len({tuple(make(seed).ask(tree, (), 3)) for seed in range(20)}) > 1


def test_a_search_never_stalls(make: Make) -> None:
    """Four at a time, each result failing but every fifth: always something to do or to await."""
    tree, policy, pending = Tree(maximize=False), make(2), list[Action]()
    for node_id in range(1, 121):
        pending += policy.ask(tree, tuple(pending), 4 - len(pending)) if len(pending) < 4 else []
        assert pending
        action = pending.pop(0)
        value = 1 / node_id if node_id % 5 == 0 else None
        finished: Node = node(node_id, action.operator, action.parents, value=value)
        tree.add(finished)
        policy.tell(finished)
    assert tree.working == 24
