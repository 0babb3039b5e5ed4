"""The report and the ways in which numbers are shown."""

from __future__ import annotations

import math
from typing import Any

import pytest

from aide.journal import VERSION
from aide.node import Score
from aide.replay import State, finished_event, proposed_event, replay
from aide.report import format_score, format_seconds, one_line, render_report
from aide.spent import Spent
from aide.tree import Tree
from tests.trees import grow, proposed

START: dict[str, Any] = {
    "event": "start",
    "version": VERSION,
    "task": {
        "name": "churn", "metric": "rmse", "maximize": False,
        "evaluation": "search holdout, 9 rows",
    },
    "model": "offline", "policy": "greedy", "seed": 0, "sandbox": "process",
}  # fmt: skip


def state_of(tree: Tree, *more: dict[str, Any]) -> State:
    events = [START]
    for node in tree:
        events += [proposed_event(proposed(node), ""), finished_event(node)]
    return replay([*events, *more])


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (Score(0.81967, 0.0285, 100), "0.820 ± 0.029"),
        (Score(12345.678, 210.0, 100), "12346 ± 210"),
        (Score(0.5, math.nan, 100), "0.5"),
        (Score(0.123456789, 0.0, 100), "0.12346"),
        (Score(1e-9, 1e-12, 100), "0.00000000 ± 0.00000000"),
        (None, "-"),
    ],
)
def test_a_score_has_the_digits_that_its_error_is_worth(score: Score | None, shown: str) -> None:
    assert format_score(score) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (99, "99 s"), (125, "2 min"), (7500, "2 h 05 min"), (None, "-"), (math.inf, "-")],
)
def test_a_length_of_time(seconds: float | None, shown: str) -> None:
    assert format_seconds(seconds) == shown


def test_one_line() -> None:
    assert one_line("a\n  b\tc", 80) == "a b c"
    assert one_line("abcdef", 4) == "abc…"


def test_a_report_tells_of_each_node_and_the_way_to_the_best() -> None:
    tree = grow(3, 30, maximize=False)
    final = {
        "event": "final", "node": tree.best.id if tree.best else 0, "search": None,
        "final": {"value": 0.5, "se": None, "rows": 9},
        "refitted": False, "problem": "it was slow",
    }  # fmt: skip
    text = render_report(state_of(tree, final, {"event": "stop", "reason": "enough"}), Spent())
    assert tree.best is not None
    for node in tree:
        assert f"\n| {node.id} | " in text
    for node in tree.lineage(tree.best.id):
        assert f". node {node.id}, {node.operator}:" in text
    for words in ("lower is better", "it was slow", "enough", "scored once", "holdout, 9 rows"):
        assert words in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(row.replace("\\|", "").count("|") in (3, 7) for row in rows)


def test_a_report_without_a_working_node_says_so() -> None:
    text = render_report(state_of(Tree(True)), Spent())
    assert "no working solution" in text
    assert "it was cut off" in text


def test_the_final_holdout_is_counted() -> None:
    final = {"event": "final", "search": None, "final": None, "refitted": True, "problem": ""}
    tree = grow(1, 12)
    again = [{**final, "node": 2}, {**final, "node": 2}, {**final, "node": 5}]
    state = state_of(tree, *again)
    assert state.finals == 2
    assert "which 2 nodes have met by now" in render_report(state, Spent())
