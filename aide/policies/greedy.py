"""greedy: a few drafts, then improve the best; now and then debug a failure or merge two."""

from __future__ import annotations

from collections.abc import Sequence

from aide.node import Action
from aide.selection import DraftFirst
from aide.tree import Tree


class Greedy(DraftFirst):
    """The selector of the AIDE paper: always the best node is improved."""

    def improved(self, tree: Tree, busy: Sequence[Action]) -> int:
        return tree.ranked(1)[0].id
