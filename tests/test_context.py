"""What an operator gets to see, however large the tree is."""

from __future__ import annotations

from functools import partial

from aide.context import gather
from aide.interfaces import Context
from aide.node import Action
from aide.tree import Tree
from tests.trees import LIMITS, PACKAGES, PREVIEW, TASK, calls_during, grow, node

see = partial(gather, task_info=TASK, preview=PREVIEW, packages=PACKAGES, limits=LIMITS, seed=7)


def ids(nodes: tuple[object, ...]) -> list[int]:
    return [getattr(each, "id", 0) for each in nodes]


def test_an_empty_tree() -> None:
    context = see(Tree(maximize=True), Action("draft"))
    assert context == Context(TASK, PREVIEW, PACKAGES, (), (), (), 0, {}, LIMITS, 7)


def test_a_draft_sees_the_newest_drafts() -> None:
    tree = Tree(maximize=True)
    for node_id in range(1, 8):
        tree.add(node(node_id, value=0.5) if node_id % 2 else node(node_id))
    tree.add(node(8, "improve", (1,)))
    pending = [Action("draft"), Action("improve", (1,))]
    context = see(tree, Action("draft"), siblings=3, pending=pending)
    assert ids(context.siblings) == [5, 6, 7]
    assert context.children == 8
    assert context.parents == context.ancestors == ()


def family(maximize: bool) -> Tree:
    """Node 1 with improvements 3 to 9, of which 4 has the largest and 5 the least value."""
    tree = Tree(maximize)
    tree.add(node(1, value=0.5))
    tree.add(node(2, value=0.99))
    for node_id, value in zip(range(3, 10), [None, 0.9, 0.1, 0.4, None, 0.6, 0.5], strict=True):
        tree.add(node(node_id, "improve", (1,), value=value))
    tree.add(node(10, "merge", (1, 2), value=0.95))
    return tree


def test_an_improvement_sees_the_newest_and_the_best_of_its_siblings() -> None:
    action = Action("improve", (1,))
    assert ids(see(family(True), action).siblings) == [3, 4, 5, 6, 7, 8, 9]
    assert ids(see(family(True), action, siblings=3).siblings) == [4, 8, 9]
    assert ids(see(family(False), action, siblings=3).siblings) == [5, 8, 9]
    assert ids(see(family(False), action, siblings=5).siblings) == [5, 6, 7, 8, 9]
    assert ids(see(family(True), action, siblings=1).siblings) == [4]
    context = see(family(True), action, pending=[action, Action("draft")])
    assert context.children == 9
    assert ids(context.parents) == [1]


def test_a_debug_sees_the_chain_that_led_to_it() -> None:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.5))
    tree.add(node(2, "improve", (1,)))
    for node_id in range(3, 8):
        tree.add(node(node_id, "debug", (node_id - 1,)))
    assert ids(see(tree, Action("debug", (2,))).ancestors) == []
    assert ids(see(tree, Action("debug", (3,))).ancestors) == [2]
    assert ids(see(tree, Action("debug", (6,))).ancestors) == [2, 3, 4, 5]
    context = see(tree, Action("debug", (7,)), ancestors=2)
    assert ids(context.ancestors) == [5, 6]
    assert ids(context.parents) == [7]
    assert context.siblings == ()


def test_known_programs_are_seen_as_they_come() -> None:
    tree = Tree(maximize=True)
    context = see(tree, Action("draft"))
    tree.add(node(1, value=0.5), "abc")
    assert context.known == {"abc": 1}


def test_every_part_is_bounded() -> None:
    tree = grow(3, 2000, debug=0.9)
    for each in tree:
        operator = "improve" if each.works else "debug"
        context = see(tree, Action(operator, (each.id,)))
        assert len(context.siblings) <= 8
        assert len(context.ancestors) <= 6
        assert each not in context.siblings + context.ancestors


def test_the_work_does_not_grow_with_the_tree() -> None:
    def counts(size: int) -> list[int]:
        tree = grow(1, size, debug=0.2)
        actions = [Action("draft"), Action("improve", (size,)), Action("debug", (size,))]
        return [calls_during(partial(see, tree, action)) for action in actions]

    for few, many in zip(counts(100), counts(10_000), strict=True):
        assert 0 < many <= 1.5 * few
