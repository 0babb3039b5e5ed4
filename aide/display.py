"""A run as a table and as a tree, for `aide show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as RichTree

from aide.replay import score_fields
from aide.report import format_score, format_seconds, one_line

if TYPE_CHECKING:
    from aide.node import Node, Usage
    from aide.run import Run


def node_fields(node: Node, usage: Usage) -> dict[str, Any]:
    """A node as a JSON object, its code and what its model calls used included."""
    return {
        "node": node.id,
        "parents": list(node.parents),
        "operator": node.operator,
        "status": node.status,
        "score": score_fields(node.score),
        "seconds": round(node.outcome.seconds, 3),
        "usage": asdict(usage),
        "plan": node.plan,
        "reason": node.outcome.reason,
        "flags": [*node.candidate.flags, *node.outcome.flags],
        "code": node.code,
    }


def show_table(run: Run, console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("node", "from", "operator", "result", "time", "plan"):
        table.add_column(name, justify="right" if name in ("node", "time") else "left")
    for node in run.nodes:
        table.add_row(
            str(node.id),
            ",".join(map(str, node.parents)),
            node.operator,
            _result(run, node),
            format_seconds(node.outcome.seconds),
            Text(one_line(node.plan, 70)),
        )
    console.print(table)


def show_tree(run: Run, console: Console) -> None:
    task = run.task
    direction = "higher" if task["maximize"] else "lower"
    root = RichTree(Text(f"{task['name']}: {task['metric']}, {direction} is better"))
    # An explicit stack: a chain of improvements may be longer than Python's own.
    stack: list[tuple[RichTree, Iterator[int]]] = [(root, iter(run.tree.roots))]
    while stack:
        branch, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            continue
        node = run.tree[child]
        label = Text.assemble(f"{node.id} {node.operator}  ", _result(run, node), "  ")
        label.append(one_line(node.plan, 60), style="dim")
        below = iter([grandchild.id for grandchild in run.tree.children(child)])
        # A chain is drawn level: one level of indent each would leave the screen.
        stack.append((branch.add(label), below))
    console.print(root)


def _result(run: Run, node: Node) -> Text:
    if node.score is None:
        return Text(node.status, style="red")
    best = run.best is not None and run.best.id == node.id
    return Text(format_score(node.score) + (" *" if best else ""), style="bold" if best else "")
