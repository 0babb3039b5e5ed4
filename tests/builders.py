"""Small real nodes, proposals and trees for tests."""

from __future__ import annotations

import random
from typing import get_args

from aide.node import Action, Candidate, Node, Outcome, Proposal, Score, Status, Usage
from aide.tree import Tree


def make_node(
    node_id: int,
    operator: str = "draft",
    parents: tuple[int, ...] = (),
    *,
    value: float | None = None,
    status: Status | None = None,
    code: str = "",
) -> Node:
    """A node that works if it has a value, and else failed with the status."""
    score = None if value is None else Score(value, 0.01, 100)
    outcome = Outcome(status or ("error" if score is None else "ok"), score)
    candidate = Candidate(f"plan {node_id}", code or f"print({node_id})\n", usage=Usage(calls=1))
    return Node(node_id, Action(operator, parents), candidate, outcome)


def make_proposal(node: Node) -> Proposal:
    return Proposal(node.id, node.action, node.candidate)


def random_tree(size: int, seed: int, *, maximize: bool = True) -> Tree:
    """A tree as a search could grow it: drafts, debugs of failing leaves, improvements."""
    rng = random.Random(seed)
    tree = Tree(maximize)
    for node_id in range(1, size + 1):
        tree.add(random_node(tree, node_id, rng), f"hash {node_id}")
    return tree


def random_node(tree: Tree, node_id: int, rng: random.Random) -> Node:
    working = [node.id for node in tree if node.works]
    leaves = [node.id for node in tree if not node.works and not tree.child_count(node.id)]
    operator = rng.choice(["draft", *["debug"] * bool(leaves), *["improve"] * bool(working)])
    parents: tuple[int, ...] = ()
    if operator == "debug":
        parents = (rng.choice(leaves),)
    elif operator == "improve":
        parents = (rng.choice(working),)
    if rng.random() < 0.6:
        return make_node(node_id, operator, parents, value=round(rng.random(), 2))
    failed = [status for status in get_args(Status) if status != "ok"]
    return make_node(node_id, operator, parents, status=rng.choice(failed))
