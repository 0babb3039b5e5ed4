"""bandit: the drafts' branches compete for steps, and a node that had its chances is set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

from aide.node import Action, Node
from aide.selection import DraftFirst
from aide.tree import Tree

EXPLORE = 0.6
"""The weight of a branch's neglect against its best score, scaled to 0..1 over the run."""
PATIENCE = 3
"""How many children a node gets before its branch's next best one has its turn."""


class Bandit(DraftFirst):
    """An upper confidence bound over the drafts' branches; the best of a branch, with patience.

    A branch is worth its best score, since that is what would be submitted, and the more the
    fewer nodes it has: max backup with the bound of UCB1 (Auer, Cesa-Bianchi and Fischer, 2002).
    Within it, the best node with fewer than `PATIENCE` children is improved, so that no search
    stays on one lucky or used-up node. It leans on nothing but the metric.
    """

    def improved(self, tree: Tree, busy: Sequence[Action]) -> int:
        made = Counter(parent for action in busy for parent in action.parents)
        best, worst = tree.ranked(1)[0], tree.worst
        sizes = Counter[int]()
        for parent, count in made.items():
            sizes[tree.root_of(parent).id] += count
        low, span = _value(worst), abs(_value(best) - _value(worst)) or 1.0
        spent = log(1 + len(tree) + len(busy))

        def worth(node: Node) -> float:
            root = tree.root_of(node.id).id
            neglect = sqrt(spent / (tree.branch_size(root) + sizes[root]))
            return abs(_value(node) - low) / span + EXPLORE * neglect

        # The first of equals is the one with the better score.
        arm = max(tree.branches(len(tree.roots)), key=worth)
        return _with_patience(tree, tree.root_of(arm.id).id, made)


def _with_patience(tree: Tree, root: int, made: Counter[int]) -> int:
    """The best node of a branch with children to spare; the best one if none has."""
    for node_id in tree.ranked_in(root):
        if tree.child_count(node_id) + made[node_id] < PATIENCE:
            return node_id
    return next(iter(tree.ranked_in(root)))


def _value(node: Node) -> float:
    return node.score.value if node.score else 0.0
