"""The solution tree: finished nodes, their parentage, and the look-ups that a search needs."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator

import networkx as nx

from aide.node import FIXABLE, Node


class IndexedSet:
    """A set of ints with its i-th member, add and discard in O(1); the order is by history."""

    def __init__(self) -> None:
        self._items: list[int] = []
        self._place: dict[int, int] = {}

    def add(self, item: int) -> None:
        if item not in self._place:
            self._place[item] = len(self._items)
            self._items.append(item)

    def discard(self, item: int) -> None:
        place = self._place.pop(item, None)
        if place is None:
            return
        last = self._items.pop()
        if place < len(self._items):
            self._items[place] = last
            self._place[last] = place

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> int:
        return self._items[index]

    def __contains__(self, item: object) -> bool:
        return item in self._place


class Tree:
    """Finished nodes by id. Grows by `add` and never shrinks; a node never changes.

    Args:
        maximize: the direction of the task's metric.
    """

    def __init__(self, maximize: bool) -> None:
        self.maximize = maximize
        self.graph: nx.DiGraph[int] = nx.DiGraph()
        self.roots: list[int] = []
        self.known: dict[str, int] = {}
        self._nodes: dict[int, Node] = {}
        self._debug_depth: dict[int, int] = {}
        self._failing: dict[int, IndexedSet] = {}
        self._ranked: list[tuple[float, int]] = []
        self._root: dict[int, int] = {}
        self._origins: dict[int, frozenset[int]] = {}
        self._tops: dict[int, tuple[float, int]] = {}
        self._branches: list[tuple[float, int]] = []
        self._merged: set[frozenset[int]] = set()
        self._sizes: dict[int, int] = {}
        self._ranked_in: dict[int, list[tuple[float, int]]] = {}
        self._children: dict[int, int] = {}

    def add(self, node: Node, code_hash: str = "") -> None:
        """Add a finished node whose parents are all here.

        Args:
            node: the node.
            code_hash: its normalised code's hash, by which later copies are recognised.

        Raises:
            ValueError: the id is taken or a parent is missing.
        """
        if node.id in self._nodes:
            raise ValueError(f"node {node.id} is in the tree already")
        missing = [parent for parent in node.parents if parent not in self._nodes]
        if missing:
            raise ValueError(f"node {node.id} has parents that are not in the tree: {missing}")
        self._nodes[node.id] = node
        self.graph.add_node(node.id)
        for parent in node.parents:
            self.graph.add_edge(parent, node.id)
            self._children[parent] = self._children.get(parent, 0) + 1
            self._failing_at(self._debug_depth[parent]).discard(parent)
        if not node.parents:
            self.roots.append(node.id)
        self._root[node.id] = self._root[node.parents[0]] if node.parents else node.id
        self._sizes[self._root[node.id]] = self.branch_size(self._root[node.id]) + 1
        above = {self._origins[parent] for parent in node.parents}
        # One set is shared along a chain, so that a long one takes no more memory.
        one = above.pop() if len(above) == 1 else frozenset[int]().union(*above)
        self._origins[node.id] = one or frozenset({node.id})
        if node.operator == "merge":
            self._merged.add(frozenset(node.parents))
        self._index(node, code_hash)

    def _index(self, node: Node, code_hash: str) -> None:
        depth = 0
        if node.operator == "debug" and node.parents:
            depth = self._debug_depth[node.parents[0]] + 1
        self._debug_depth[node.id] = depth
        if node.status in FIXABLE:
            self._failing_at(depth).add(node.id)
        if node.score is not None:
            value = -node.score.value if self.maximize else node.score.value
            insort(self._ranked, (value, node.id))
            self._index_branch(self._root[node.id], (value, node.id))
        if code_hash:
            self.known.setdefault(code_hash, node.id)

    def _index_branch(self, root: int, score: tuple[float, int]) -> None:
        insort(self._ranked_in.setdefault(root, []), score)
        top = self._tops.get(root)
        if top is not None:
            if top < score:
                return
            del self._branches[bisect_left(self._branches, top)]
        self._tops[root] = score
        insort(self._branches, score)

    def _failing_at(self, depth: int) -> IndexedSet:
        return self._failing.setdefault(depth, IndexedSet())

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes

    def __getitem__(self, node_id: int) -> Node:
        return self._nodes[node_id]

    def __iter__(self) -> Iterator[Node]:
        """The nodes in the order in which they finished."""
        return iter(self._nodes.values())

    @property
    def working(self) -> int:
        """How many nodes have a score."""
        return len(self._ranked)

    @property
    def best(self) -> Node | None:
        """The node with the best score; of equals, the one with the smallest id."""
        return self._nodes[self._ranked[0][1]] if self._ranked else None

    def ranked(self, n: int) -> list[Node]:
        """The n best nodes, best first."""
        return [self._nodes[node_id] for _, node_id in self._ranked[:n]]

    @property
    def worst(self) -> Node:
        """The node with the worst score.

        Raises:
            IndexError: nothing works.
        """
        return self._nodes[self._ranked[-1][1]]

    def branch_size(self, root: int) -> int:
        """How many nodes belong to a draft's branch, however they went."""
        return self._sizes.get(root, 0)

    def ranked_in(self, root: int) -> Iterator[int]:
        """The ids of the working nodes of a draft's branch, best first."""
        return (node_id for _, node_id in self._ranked_in.get(root, ()))

    def root_of(self, node_id: int) -> Node:
        """The draft whose branch a node belongs to: a merge is of its first parent's branch."""
        return self._nodes[self._root[node_id]]

    def origins(self, node_id: int) -> frozenset[int]:
        """All drafts that a node comes from, through any of its parents."""
        return self._origins[node_id]

    def branches(self, n: int) -> list[Node]:
        """The best node of each draft's branch, for the n branches with the best, best first."""
        return [self._nodes[node_id] for _, node_id in self._branches[:n]]

    def merged(self, a: int, b: int) -> bool:
        """True if a merge of these two is in the tree, in either order, however it went."""
        return frozenset((a, b)) in self._merged

    def better(self, a: float, b: float) -> bool:
        """True if metric value a is better than b."""
        return a > b if self.maximize else a < b

    def children(self, node_id: int) -> list[Node]:
        """The nodes made from this one, in the order in which they finished."""
        return [self._nodes[child] for child in self.graph.successors(node_id)]

    def child_count(self, node_id: int) -> int:
        return self._children.get(node_id, 0)

    def debug_depth(self, node_id: int) -> int:
        """How many debug steps in a row led to this node: 0 for one that is not a debug step."""
        return self._debug_depth[node_id]

    def failing_leaves(self, max_debug_depth: int) -> list[IndexedSet]:
        """Nodes without children that debug can work on, a set a debug depth, 0 to the maximum."""
        return [self._failing_at(depth) for depth in range(max_debug_depth + 1)]

    def lineage(self, node_id: int) -> list[Node]:
        """The chain of first parents that leads to a node, the root first, the node last."""
        chain: deque[Node] = deque([self._nodes[node_id]])
        while chain[0].parents:
            chain.appendleft(self._nodes[chain[0].parents[0]])
        return list(chain)
