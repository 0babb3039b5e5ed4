"""Nodes, trees and a task for tests: real objects of the search, grown by a seeded rule."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from aide.interfaces import Limits, TaskInfo
from aide.node import FIXABLE, Action, Candidate, Node, Outcome, Proposal, Score, Status
from aide.tree import Tree

GOLDEN = Path(__file__).parent / "golden"

TASK = TaskInfo(
    name="churn",
    goal="Predict which customers leave within a month.\n",
    metric="roc_auc",
    maximize=True,
    problem="binary classification",
    target="left",
    id="customer",
    predict="probability",
    columns=("customer", "left"),
    classes=("no", "yes"),
    evaluation="search holdout",
)
LIMITS = Limits(seconds=120, memory_mb=2048, cpus=2)
PREVIEW = "train.csv: 800 rows, 12 columns\ntest.csv: 400 rows, 11 columns\n"
PACKAGES = {"scikit-learn": "1.7.2", "numpy": "2.3.5", "pandas": "2.3.3"}

PROGRAM = '''\
"""Logistic regression on scaled numbers."""
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")
features = [name for name in test.columns if name != "customer"]
model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))
model.fit(train[features], train["left"])
test["left"] = model.predict_proba(test[features])[:, 1]
test[["customer", "left"]].to_csv("working/submission.csv", index=False)
'''


def node(
    node_id: int,
    operator: str = "draft",
    parents: tuple[int, ...] = (),
    *,
    value: float | None = None,
    se: float = 0.01,
    status: Status = "error",
    reason: str = "",
    plan: str = "a plan",
    code: str = PROGRAM,
    log: str = "",
) -> Node:
    """A finished node: with a value it works, without it has the failing status."""
    score = None if value is None else Score(value, se, 200)
    ended: Status = status if value is None else "ok"
    outcome = Outcome(ended, score=score, reason=reason, log=log)
    return Node(node_id, Action(operator, parents), Candidate(plan, code), outcome)


def proposed(finished: Node) -> Proposal:
    """What a node was before it ran."""
    return Proposal(finished.id, finished.action, finished.candidate)


def grow(seed: int, size: int, *, maximize: bool = True, debug: float = 0.5) -> Tree:
    """A random tree of a size: drafts, improvements of working nodes, debugs of failing ones.

    Values are rounded, so that equal scores occur; a third of the nodes fails.
    """
    rng = random.Random(seed)
    tree = Tree(maximize)
    working: list[int] = []
    failing: list[int] = []
    for node_id in range(1, size + 1):
        if failing and rng.random() < debug:
            action = Action("debug", (failing.pop(rng.randrange(len(failing))),))
        elif working and rng.random() < 0.8:
            action = Action("improve", (rng.choice(working),))
        else:
            action = Action("draft")
        value = round(rng.random(), 2) if rng.random() < 0.6 else None
        status: Status = rng.choice(("error", "timeout", "invalid-output", "rejected"))
        made = node(node_id, action.operator, action.parents, value=value, status=status)
        tree.add(made, f"hash {node_id}")
        if value is not None:
            working.append(node_id)
        elif status in FIXABLE:
            failing.append(node_id)
    return tree


def calls_during(work: Callable[[], object]) -> int:
    """How many calls, of Python and C functions, a piece of work makes."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
