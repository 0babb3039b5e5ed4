"""What an operator gets to see of the tree, bounded however large the tree is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from aide.interfaces import Context, Limits, TaskInfo
from aide.node import Action, Node
from aide.tree import Tree


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
) -> Context:
    """Collect what the operator of an action sees.

    Args:
        tree: the finished nodes; the action's parents are among them.
        action: what is to be done.
        task_info, preview, packages, limits, seed: go into the context as they are.
        pending: what else is being worked on; like work on the same parents counts as children.
        siblings: the most siblings to show, at least 1.
        ancestors: the most ancestors to show, at least 1.

    Returns:
        The context. Its `known` is a view that grows with the tree.
    """
    finished = tree.child_count(action.parents[0]) if action.parents else len(tree.roots)
    return Context(
        task=task_info,
        preview=preview,
        packages=packages,
        parents=tuple(tree[parent] for parent in action.parents),
        siblings=_siblings(tree, action, siblings),
        ancestors=_ancestors(tree, action, ancestors),
        children=finished + sum(other == action for other in pending),
        known=MappingProxyType(tree.known),
        limits=limits,
        seed=seed,
    )


def _siblings(tree: Tree, action: Action, most: int) -> tuple[Node, ...]:
    """The newest results of the same action; of improvements, the best one in any case."""
    if not action.parents:
        return tuple(tree[root] for root in tree.roots[-most:])
    if action.operator != "improve":
        return ()
    same = [node for node in tree.children(action.parents[0]) if node.operator == "improve"]
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
