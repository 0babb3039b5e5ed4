"""What an operator gets to see of the tree, bounded however large the tree is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from aide.interfaces import Context, Limits, PromptLimits, Scratch, TaskInfo
from aide.node import Action, Node
from aide.records import SECTIONS
from aide.tree import Tree
from aide.values import LIMIT, Values, render, render_branches

BRANCHES = 8
"""How many drafts' branches a draft gets to see a line of."""
AROUND = 8
"""The fewest nodes of a branch whose lessons are worth telling, where there are so many."""


def gather(
    tree: Tree,
    action: Action,
    *,
    task_info: TaskInfo,
    preview: str,
    packages: Mapping[str, str],
    limits: Limits,
    seed: int,
    pending: Sequence[Action] = (),
    siblings: int = 8,
    ancestors: int = 6,
    node: int = 0,
    values: Values | None = None,
    prompt: PromptLimits = PromptLimits(),  # noqa: B008 - frozen, so that sharing it is safe
    scratch: Scratch | None = None,
    memory: Literal["scoped", "none"] = "scoped",
    cue: bool = True,
) -> Context:
    """Collect what the operator of an action sees.

    Args:
        tree: the finished nodes; the action's parents are among them.
        action: what is to be done.
        task_info, preview, packages, limits, seed: go into the context as they are.
        pending: what else is being worked on; like work on the same parents counts as children.
        siblings: the most siblings to show, at least 1.
        ancestors: the most ancestors to show, at least 1.
        node: the id that the new node will have.
        values: what was learned so far; None for no lessons.
        prompt, scratch: go into the context as they are.
        memory: "none" leaves out siblings, ancestors and lessons.
        cue: tell how many children there are; otherwise it is always 0.

    Returns:
        The context. Its `known` is a view that grows with the tree.
    """
    scoped = memory == "scoped"
    return Context(
        task=task_info,
        preview=preview,
        packages=packages,
        parents=tuple(tree[parent] for parent in action.parents),
        siblings=_siblings(tree, action, siblings) if scoped else (),
        ancestors=_ancestors(tree, action, ancestors) if scoped else (),
        children=_children(tree, action, pending) if cue else 0,
        known=MappingProxyType(tree.known),
        limits=limits,
        seed=seed,
        node=node,
        lessons=_lessons(tree, action, values, task_info.metric, prompt)
        if scoped and values is not None
        else "",
        prompt=prompt,
        scratch=scratch,
    )


def _children(tree: Tree, action: Action, pending: Sequence[Action]) -> int:
    finished = tree.child_count(action.parents[0]) if action.parents else len(tree.roots)
    return finished + sum(other == action for other in pending)


def _lessons(tree: Tree, action: Action, values: Values, metric: str, prompt: PromptLimits) -> str:
    """What was learned where the action takes place; a debug has its ancestors instead."""
    if action.operator == "debug":
        return ""
    tokens = prompt.sections.get("lessons", SECTIONS["lessons"])
    room = int(tokens * prompt.chars_per_token)
    if not action.parents:
        return _lessons_for_draft(tree, values, metric, room)
    each = min(LIMIT, room) // len(action.parents)
    told = dict(values.around(parent, AROUND) for parent in action.parents)
    texts = (render(told[top], metric=metric, node=top, limit=each) for top in told)
    return "\n\n".join(filter(None, texts))


def _lessons_for_draft(tree: Tree, values: Values, metric: str, room: int) -> str:
    """What all drafts' branches came to, and a line for each of the best ones."""
    best = [(tree.root_of(node.id), node) for node in tree.branches(BRANCHES)]
    # Cut here, by whole lines, since a cut further on could only be by characters.
    while len(lines := render_branches(best)) > room // 2:
        best.pop()
    value = render(values.root(), metric=metric, limit=min(LIMIT, room - len(lines) - 2))
    return "\n\n".join(filter(None, [value, lines]))


def _siblings(tree: Tree, action: Action, most: int) -> tuple[Node, ...]:
    """The newest results of like actions; of what has parents, the best one in any case.

    Like a merge are all merges of either of its parents.
    """
    if not action.parents:
        return tuple(tree[root] for root in tree.roots[-most:])
    if action.operator == "debug":
        return ()
    found = {
        node.id: node
        for parent in action.parents
        for node in tree.children(parent)
        if node.operator == action.operator
    }
    same = [found[node_id] for node_id in sorted(found)]
    newest = same[-most:]
    best = _best(tree, same)
    if best is not None and best not in newest:
        newest[0] = best
    return tuple(newest)


def _best(tree: Tree, nodes: Sequence[Node]) -> Node | None:
    best, value = None, 0.0
    for node in nodes:
        if node.score and (best is None or tree.better(node.score.value, value)):
            best, value = node, node.score.value
    return best


def _ancestors(tree: Tree, action: Action, most: int) -> tuple[Node, ...]:
    """The debug steps that led to the parent and what they began with, the oldest first."""
    if action.operator != "debug":
        return ()
    chain: list[Node] = []
    node = tree[action.parents[0]]
    while node.operator == "debug" and node.parents and len(chain) < most:
        node = tree[node.parents[0]]
        chain.append(node)
    return tuple(reversed(chain))
