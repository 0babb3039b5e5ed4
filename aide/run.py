"""A run as its journal tells it, for people and programs that read it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aide.config import Config, read_config
from aide.errors import RunFolderError
from aide.folder import RunFolder
from aide.history import History
from aide.journal import read_events
from aide.node import Node, Score, Usage
from aide.replay import State, replay, score_from
from aide.spent import Spent, spent
from aide.tree import Tree

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """A run as its journal tells it: a snapshot, which a running search does not change.

    Args:
        path: the run's folder.

    Raises:
        RunFolderError: there is no readable run.
    """

    def __init__(self, path: str | Path) -> None:
        self._folder = RunFolder(Path(path))
        self._folder.check()
        self._state: State = replay(read_events(self._folder.journal))

    @property
    def path(self) -> Path:
        return self._folder.path

    @property
    def task(self) -> Mapping[str, Any]:
        """The task's name, metric, direction ("maximize"), problem and evaluation."""
        task: Mapping[str, Any] = self._state.start["task"]
        return task

    @property
    def tree(self) -> Tree:
        return self._state.tree

    @property
    def nodes(self) -> list[Node]:
        """All finished nodes, in the order in which they finished."""
        return list(self._state.tree)

    @property
    def best(self) -> Node | None:
        """The node with the best score on the search holdout."""
        return self._state.tree.best

    @property
    def final(self) -> Score | None:
        """The best node's score on the final holdout, once the run has come to its end."""
        final = self._state.final
        if final is None or self.best is None or final["node"] != self.best.id:
            return None
        return score_from(final["final"])

    @property
    def finals(self) -> int:
        """How many nodes the final holdout has been used for: one, unless the run was extended."""
        return self._state.finals

    @property
    def solution(self) -> Path | None:
        """The best program, once one works."""
        path = self._folder.best / "solution.py"
        return path if path.is_file() else None

    @property
    def submission(self) -> Path | None:
        """The best program's submission for the real test set, once one works."""
        path = self._folder.best / "submission.csv"
        return path if path.is_file() else None

    @property
    def spent(self) -> Spent:
        """What the model calls used: in all, by operator, by node, and what is not known."""
        return spent(self._folder.calls)

    @property
    def cost(self) -> Usage:
        """What all model calls used, as far as it is known."""
        return self.spent.total

    @property
    def seconds(self) -> float:
        """How long the run was at work, all its sessions together."""
        return self._state.elapsed

    @property
    def reason(self) -> str | None:
        """Why it ended, or None if it is under way or was cut off."""
        return self._state.stop["reason"] if self._state.stop else None

    @property
    def config(self) -> Config:
        return read_config(self._folder.config)

    def to_frame(self) -> pd.DataFrame:
        """One row a node: node, parents, operator, status, score, se, seconds, plan, reason."""
        import pandas as pd

        rows = [
            {
                "node": node.id,
                "parents": node.parents,
                "operator": node.operator,
                "status": node.status,
                "score": node.score.value if node.score else None,
                "se": node.score.se if node.score else None,
                "seconds": node.outcome.seconds,
                "plan": node.plan,
                "reason": node.outcome.reason,
            }
            for node in self.nodes
        ]
        return pd.DataFrame(rows)

    def diff(self, node_id: int) -> str:
        """What a node changed against its parent, as a unified diff.

        Raises:
            RunFolderError: there is no such node.
        """
        if node_id not in self.tree:
            last = max((node.id for node in self.nodes), default=0)
            raise RunFolderError(
                f"there is no node {node_id} in {self.path}; they go from 1 to {last}"
            )
        return History(self._folder.solutions).diff(node_id)

    def grade(self, labels: Path | None = None) -> Score:
        """The submission's score on labels that the search never had.

        Args:
            labels: a CSV with the id and target columns; by default a bundled task's own.

        Raises:
            RunFolderError: no solution has worked yet.
            TaskError: there are no labels to grade with.
        """
        if self.submission is None:
            raise RunFolderError(f"{self.path} has no submission: no solution has worked yet")
        # Reading a run must not take the seconds that what grades takes to load.
        from aide.build import load_task

        return load_task(self.config).grade_hidden(self.submission, labels)

    def summary(self) -> dict[str, Any]:
        """The run in one record, as `aide run --json` prints it."""
        best, score = self.best, self.best.score if self.best else None
        cost = self.cost
        return {
            "run": str(self.path),
            "task": self.task["name"],
            "metric": self.task["metric"],
            "maximize": self.task["maximize"],
            "best": None
            if best is None or score is None
            else {
                "node": best.id,
                "operator": best.operator,
                "score": score.value,
                "se": None if score.se != score.se else score.se,
            },
            "final": self.final.value if self.final else None,
            "nodes": len(self.tree),
            "working": self.tree.working,
            "submission": str(self.submission) if self.submission else None,
            "seconds": round(self.seconds, 1),
            "usd": cost.usd,
            "tokens_in": cost.tokens_in,
            "tokens_out": cost.tokens_out,
        }


def load(run: str | Path) -> Run:
    """A run by its folder."""
    return Run(run)
