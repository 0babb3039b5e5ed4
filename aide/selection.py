"""What selectors share that draft first: a few drafts, then debug, merge or improve."""

from __future__ import annotations

import random
from collections.abc import Sequence

from aide.errors import ConfigError
from aide.node import Action, Node
from aide.tree import Tree

DEEPEST = 100


class DraftFirst:
    """A selector whose choices differ in one thing alone: which node is to be improved.

    Each choice is the first of these that applies: a draft while there are too few; with a
    chance of `debug_prob`, a debug of a random failure that nobody has worked on; a draft if
    nothing works yet; with a chance of `merge_prob`, a merge of the best node with the best one
    of a draft's branch that it does not come from, once for each two; an improvement. Work in
    flight counts as if it were there already.

    Args:
        drafts: how many drafts to begin with; failed ones count. At least 1.
        debug_prob: how likely a failure is worked on, if there is one; 0 to 1.
        max_debug_depth: a failure after more debug steps in a row than this is given up; 0 to 100.
        seed: of the random choices.
        merge_prob: how likely the best two branches are merged where an improvement would be
            next; 0 to 1.

    Raises:
        ConfigError: a setting is out of range.
    """

    def __init__(
        self,
        drafts: int = 5,
        debug_prob: float = 0.5,
        max_debug_depth: int = 3,
        seed: int = 0,
        merge_prob: float = 0.0,
    ) -> None:
        if drafts < 1:
            raise ConfigError(f"drafts is {drafts}, but has to be at least 1")
        for name, chance in (("debug_prob", debug_prob), ("merge_prob", merge_prob)):
            if not 0 <= chance <= 1:
                raise ConfigError(f"{name} is {chance}, but has to lie between 0 and 1")
        if not 0 <= max_debug_depth <= DEEPEST:
            raise ConfigError(
                f"max_debug_depth is {max_debug_depth}, but has to lie between 0 and {DEEPEST}"
            )
        self.drafts, self.debug_prob = drafts, debug_prob
        self.max_debug_depth, self.seed = max_debug_depth, seed
        self.merge_prob = merge_prob

    def ask(self, tree: Tree, pending: Sequence[Action], n: int) -> list[Action]:
        """At most n actions; each takes those before it for pending, as n asks for one would."""
        busy = list(pending)
        for _ in range(n):
            action = self._choose(tree, busy)
            if action is None:
                break
            busy.append(action)
        return busy[len(pending) :]

    def tell(self, node: Node) -> None:
        """Nothing to learn: all that counts is in the tree."""

    def improved(self, tree: Tree, busy: Sequence[Action]) -> int:
        """The node to improve, of a tree in which at least one works."""
        raise NotImplementedError

    def _choose(self, tree: Tree, busy: Sequence[Action]) -> Action | None:
        """The next action; None to wait for a draft that may be the first node that works."""
        # A generator per choice: what was asked before a resume must not matter after it.
        rng = random.Random(f"{self.seed}/{len(tree) + len(busy)}")
        drafting = sum(not action.parents for action in busy)
        if len(tree.roots) + drafting < self.drafts:
            return Action("draft")
        if rng.random() < self.debug_prob:
            failing = self._failing(tree, busy, rng)
            if failing is not None:
                return Action("debug", (failing,))
        if tree.best is not None:
            merge = _merge(tree, busy) if rng.random() < self.merge_prob else None
            return merge or Action("improve", (self.improved(tree, busy),))
        return None if drafting else Action("draft")

    def _failing(self, tree: Tree, busy: Sequence[Action], rng: random.Random) -> int | None:
        """A random failing leaf that no pending action works on; None if there is none."""
        leaves = tree.failing_leaves(self.max_debug_depth)
        total = sum(map(len, leaves))
        taken = {parent for action in busy for parent in action.parents}
        if total <= sum(node in level for node in taken for level in leaves):
            return None
        # Few are taken, so drawing again is cheaper than listing the free ones.
        while True:
            place = rng.randrange(total)
            for level in leaves:
                if place < len(level):
                    break
                place -= len(level)
            if level[place] not in taken:
                return level[place]


def _merge(tree: Tree, busy: Sequence[Action]) -> Action | None:
    """The best node with the best of a branch that it does not come from, once for each two."""
    [best] = tree.branches(1)
    # What the best comes from is in it already; so many branches at most are passed over.
    origins = tree.origins(best.id)
    others = [
        node
        for node in tree.branches(1 + len(origins))
        if origins.isdisjoint(tree.origins(node.id))
    ]
    if not others or tree.merged(best.id, others[0].id):
        return None
    pair = (best.id, others[0].id)
    under_way = any(
        action.operator == "merge" and set(action.parents) == set(pair) for action in busy
    )
    return None if under_way else Action("merge", pair)
