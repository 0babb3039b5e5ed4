"""The library: one call from data to a submission, and the same seed gives the same tree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aide
from aide.calls import read_calls
from aide.errors import ConfigError, TaskError

pytestmark = pytest.mark.xdist_group("api")

QUICK: dict[str, Any] = {"sandbox": "process", "python": Path(sys.executable)}


def shape(run: aide.Run) -> list[tuple[Any, ...]]:
    """What has to be the same in two runs of the same seed."""
    return [
        (node.id, node.parents, node.operator, node.code, node.plan, node.status, node.score)
        for node in run.nodes
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> aide.Run:
    out = tmp_path_factory.mktemp("api") / "run"
    return aide.search("titanic", steps=5, seed=3, out=out, **QUICK)


def test_a_run_has_best_nodes_frame_submission_and_cost(run: aide.Run) -> None:
    assert run.best is not None
    assert run.best.score is not None
    assert run.final is not None
    assert run.final.rows > 0
    frame = run.to_frame()
    assert list(frame["node"]) == list(range(1, 6))
    assert frame["score"].max() == run.best.score.value
    assert run.submission is not None
    assert "PassengerId" in pd.read_csv(run.submission).columns
    assert run.cost.calls >= 5
    assert run.cost.usd == 0
    assert run.grade().value > 0.6


def test_the_same_seed_gives_the_same_tree(run: aide.Run, tmp_path: Path) -> None:
    again = aide.search("titanic", steps=5, seed=3, out=tmp_path / "run", **QUICK)
    assert shape(again) == shape(run)
    other = aide.search("titanic", steps=1, seed=4, out=tmp_path / "other", **QUICK)
    assert [node.code for node in other.nodes] != [node.code for node in run.nodes[:1]]


def test_events_tell_the_story(tmp_path: Path) -> None:
    events: list[Mapping[str, Any]] = []
    aide.search("titanic", steps=2, out=tmp_path / "run", on_event=events.append, **QUICK)
    kinds = [event["event"] for event in events]
    assert kinds == ["start", *["proposing", "running", "finished"] * 2, "scoring", "refitting"]
    assert events[-3]["nodes"] == 2


def test_load_reads_a_run_that_is_under_way(run: aide.Run) -> None:
    assert shape(aide.load(run.path)) == shape(run)


def test_the_repository_is_the_tree(run: aide.Run) -> None:
    for node in run.nodes:
        ref = f"refs/nodes/{node.id:04d}"
        result = subprocess.run(
            ["git", "show", f"{ref}:solution.py"],
            cwd=run.path / "solutions",
            capture_output=True,
            check=True,
        )
        assert result.stdout.decode() == node.code


def test_every_call_is_in_the_book(run: aide.Run) -> None:
    calls = list(read_calls(run.path / "calls.jsonl"))
    assert len(calls) == run.cost.calls
    assert {call.node for call in calls} == {node.id for node in run.nodes}
    assert calls[0].request.messages[0].role == "user"
    assert calls[0].reply is not None


def test_a_limit_of_time_ends_the_search_and_still_finishes(tmp_path: Path) -> None:
    guessing = {**QUICK, "model": "tests.author:Author"}
    run = aide.search("titanic", steps=500, hours=8 / 3600, out=tmp_path / "run", **guessing)
    assert 0 < len(run.nodes) < 500
    assert run.reason is not None
    assert "hours" in run.reason
    assert run.final is not None
    assert run.seconds < 30


def test_wrong_arguments_raise_typed_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="steps"):
        aide.search("titanic", steps=0)
    with pytest.raises(TaskError):
        aide.search(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="colour"):
        aide.search("titanic", colour="red")
