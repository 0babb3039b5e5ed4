"""Keeps what a search finds: artifacts, git, journal, `best/`, in the order that a crash needs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from aide.folder import storing
from aide.node import Node
from aide.parts import Parts
from aide.replay import finished_event
from aide.runner import SUBMISSION
from aide.tree import Tree


class Keeper:
    """Writes finished nodes down, and tells whoever listens. For the search's own thread.

    Args:
        parts: what the run works with.
        tree: the finished nodes.
    """

    def __init__(self, parts: Parts, tree: Tree) -> None:
        self._parts, self._tree = parts, tree

    def finished(self, node: Node, lesson: str) -> None:
        """Make a node finished: its output and its commit first, then the journal's line.

        Raises:
            StorageError: it could not be written; the node is not finished.
        """
        folder = self._parts.folder.node(node.id)
        with storing(str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "output.txt").write_text(node.outcome.log, "utf-8", "replace")
        self._parts.history.commit(node)
        self._parts.write({**finished_event(node), "lesson": lesson})

    def keep_best(self) -> None:
        """Put the best node's program and submission into `best/`; no harm if they are there."""
        best = self._tree.best
        if best is None:
            return
        parts = self._parts
        predictions = parts.folder.node(best.id) / Path(SUBMISSION).name
        submission = parts.task.submission(predictions, "search")
        parts.folder.set_best(f"{best.id:04d}", best.code, submission)
        parts.history.set_best(best.id)

    def tell_finished(self, node: Node, lesson: str) -> None:
        """Tell of a node that is in the tree now; if it is the best, it goes into `best/`."""
        improved = self._tree.best is node
        if improved:
            self.keep_best()
        self.tell(
            "finished",
            node=node.id,
            operator=node.operator,
            parents=node.parents,
            status=node.status,
            reason=node.outcome.reason,
            score=node.score,
            plan=node.plan,
            lesson=lesson,
            improved=improved,
        )

    def tell(self, kind: str, **fields: object) -> None:
        """Tell of something that happens, with where the run stands."""
        budget, ledger, best = self._parts.budget, self._parts.ledger, self._tree.best
        forecast = ledger.forecast(len(self._tree), budget.steps)
        self._parts.on_event(
            {
                "event": kind,
                **fields,
                "nodes": len(self._tree),
                "working": self._tree.working,
                "steps": budget.steps,
                "elapsed": budget.elapsed,
                "left": budget.forecast(len(self._tree)),
                "usage": asdict(ledger.total),
                "forecast": asdict(forecast) if forecast else None,
                "best": best.id if best else None,
                "best_score": best.score if best else None,
            }
        )
