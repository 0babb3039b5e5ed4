"""What an operator gets to see, however large the tree is."""

from __future__ import annotations

from functools import partial

import pytest

from aide.context import gather
from aide.interfaces import Context, PromptLimits, Scratch
from aide.node import Action
from aide.tree import Tree
from aide.values import Values, render
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


def learned(tree: Tree) -> Values:
    values = Values(tree.maximize)
    for each in tree:
        values.add(each)
    return values


def test_a_merge_sees_the_merges_of_either_parent() -> None:
    tree = family(True)
    tree.add(node(11, "merge", (4, 2), value=0.2))
    tree.add(node(12, "merge", (4, 8), value=0.3))
    tree.add(node(13, "merge", (8, 9)))
    assert ids(see(tree, Action("merge", (1, 2))).siblings) == [10, 11]
    assert ids(see(tree, Action("merge", (4, 2))).siblings) == [10, 11, 12]
    assert ids(see(tree, Action("merge", (4, 2)), siblings=2).siblings) == [10, 12]


def test_lessons_are_those_of_the_place() -> None:
    tree = family(True)
    values = learned(tree)
    values.advise(1, "Go on.")
    by = partial(render, metric=TASK.metric)
    assert by(values.of(1), node=1) == see(tree, Action("improve", (1,)), values=values).lessons
    # A node with little below it is told of what was tried around it.
    assert by(values.of(1), node=1) == see(tree, Action("improve", (4,)), values=values).lessons
    draft = see(tree, Action("draft"), values=values).lessons
    assert draft.startswith(by(values.root()))
    assert draft.endswith(
        "The best of each draft:\n- a plan: 0.99 (node 2)\n- a plan: 0.95 (node 10)"
    )
    both = see(tree, Action("merge", (2, 4)), values=values).lessons
    assert both == by(values.of(1), node=1, limit=600)
    tree.add(node(11, "improve", (2,), value=0.9, plan="Less"))
    both = see(tree, Action("merge", (2, 4)), values=learned(tree)).lessons
    assert "From node 2 on: 2 solutions" in both
    assert "From node 1 on: 9 solutions" in both
    assert see(tree, Action("debug", (3,)), values=values).lessons == ""
    assert see(tree, Action("improve", (1,))).lessons == ""


def test_no_memory_and_no_cue() -> None:
    tree = family(True)
    tree.add(node(11, "debug", (3,)))
    for action in (Action("draft"), Action("improve", (1,)), Action("debug", (11,))):
        blind = see(tree, action, values=learned(tree), memory="none")
        assert (blind.siblings, blind.ancestors, blind.lessons) == ((), (), "")
        assert blind.children == see(tree, action).children
        assert see(tree, action, pending=[action], cue=False).children == 0


def test_what_goes_through_as_it_is() -> None:
    limits, scratch = PromptLimits(tokens=5000), Scratch(str.upper, 2, 10.0)
    context = see(Tree(True), Action("draft"), node=4, prompt=limits, scratch=scratch)
    assert (context.node, context.prompt, context.scratch) == (4, limits, scratch)


@pytest.mark.parametrize("chars_per_token", [2.0, 3.0, 4.0])
def test_lessons_keep_to_their_section(chars_per_token: float) -> None:
    tree = Tree(maximize=True)
    for node_id in range(1, 301):
        parents = () if node_id <= 12 else ((node_id - 1) % 12 + 1,)
        operator = "improve" if parents else "draft"
        plan = f"Change number {node_id}: " + "words that say much more than is of use " * 9
        value = (node_id * 37 % 101) / 100 if node_id % 5 else None
        tree.add(node(node_id, operator, parents, value=value, plan=plan))
    values, prompt = learned(tree), PromptLimits(chars_per_token=chars_per_token)
    for action in (Action("draft"), Action("improve", (1,)), Action("merge", (1, 2))):
        lessons = see(tree, action, values=values, prompt=prompt).lessons
        assert 600 < len(lessons) <= 600 * chars_per_token


def test_every_part_is_bounded() -> None:
    tree = grow(3, 2000, debug=0.9)
    values = learned(tree)
    for each in list(tree)[::5]:
        operator = "improve" if each.works else "debug"
        context = see(tree, Action(operator, (each.id,)), values=values)
        assert len(context.siblings) <= 8
        assert len(context.lessons) <= 1200
        assert len(context.ancestors) <= 6
        assert each not in context.siblings + context.ancestors


def test_the_work_does_not_grow_with_the_tree() -> None:
    def counts(size: int) -> list[int]:
        tree = grow(1, size, debug=0.2)
        last = (size, size - 1)
        actions = [Action("draft"), Action("improve", last[:1]), Action("debug", last[:1])]
        works = [partial(see, tree, each) for each in [*actions, Action("merge", last)]]
        works.append(partial(see, tree, actions[0], values=learned(tree)))
        return [calls_during(work) for work in works]

    for few, many in zip(counts(100), counts(10_000), strict=True):
        assert 0 < many <= 1.5 * few
