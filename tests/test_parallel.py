"""Several solutions at once: none lost, none counted twice, and one end to it all."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from aide import api
from aide.config import load_config
from aide.errors import ModelUnusableError
from aide.interfaces import Request
from aide.llm.scripted import ScriptedModel
from aide.run import Run
from benchmarks.instant import make_model
from benchmarks.overhead import make_task
from tests import at_once

STEPS = 24


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {
        "task": str(make_task(tmp_path / "task")),
        "metric": "rmse",
        "target": "y",
        "model": "benchmarks.instant:make_model",
        "sandbox": "benchmarks.instant:InstantSandbox",
        "steps": STEPS,
        "parallel": 4,
        "out": str(tmp_path / "run"),
    }


def run(settings: dict[str, Any], on_event: Callable[[Mapping[str, Any]], None]) -> Run:
    with api.start(load_config(settings, environ={}), on_event) as session:
        session.run()
    return Run(settings["out"])


def whole(run: Run, steps: int = STEPS) -> None:
    """All steps are done once, the journal replays, and git has each node's program."""
    ids = [node.id for node in run.nodes]
    assert len(ids) == len(set(ids)) == steps
    for node in run.nodes:
        shown = subprocess.run(
            ["git", "-C", run.path / "solutions", "show", f"refs/nodes/{node.id:04d}:solution.py"],
            capture_output=True,
            check=True,
            text=True,
        )
        assert shown.stdout == node.code


def test_as_many_run_at_once_as_are_asked_for(settings: dict[str, Any]) -> None:
    at_once.Meeting.runs = 0
    settings["sandbox"] = "tests.at_once:Meeting"
    found = run(settings, api.ignore)
    whole(found)
    assert found.reason == f"all {STEPS} steps are done"
    # Had the four not met, the barrier would have broken and ended the run.
    assert at_once.Meeting.together.broken is False


def test_models_are_asked_ahead_of_the_runs_and_no_further(settings: dict[str, Any]) -> None:
    under_way: set[int] = set()
    most = Counter[str]()

    def on_event(event: Mapping[str, Any]) -> None:
        if event["event"] == "proposing":
            under_way.add(event["node"])
        elif event["event"] == "finished":
            under_way.discard(event["node"])
        most["at once"] = max(most["at once"], len(under_way))

    settings |= {"parallel": 2, "ahead": 3, "drafts": 8}
    whole(run(settings, on_event))
    assert most["at once"] == 5


def test_the_policy_knows_what_is_under_way(settings: dict[str, Any]) -> None:
    settings["policy"] = "tests.at_once:Watching"
    whole(run(settings, api.ignore))
    drafts = [sum(not action.parents for action in seen) for seen in at_once.Watching.seen]
    assert max(drafts) <= 3
    assert max(map(len, at_once.Watching.seen)) > 3


def same_twice() -> ScriptedModel:
    """A model whose second and third programs are the same."""
    inner, numbers, lock = make_model(), iter(range(10**6)), threading.Lock()
    both = threading.Barrier(2)
    kept: list[str] = []

    def answer(request: Request) -> str:
        with lock:
            number = next(numbers)
        text = inner.complete(request).text
        if number in (1, 2):
            with lock:
                kept.append(text)
            # So that neither is in the tree when the other is written.
            both.wait(at_once.SECONDS)
            return kept[0]
        return text

    return ScriptedModel(answer)


def test_the_same_program_written_twice_at_once_is_run_once(settings: dict[str, Any]) -> None:
    settings["model"] = "tests.test_parallel:same_twice"
    found = run(settings, api.ignore)
    whole(found)
    [twin] = [node for node in found.nodes if "at the same time" in node.outcome.reason]
    assert twin.status == "duplicate"
    original = found.tree[int(twin.outcome.reason.split()[3].rstrip(","))]
    assert original.code == twin.code
    assert not (found.path / "nodes" / f"{twin.id:04d}" / "submission.csv").exists()


def test_an_interruption_ends_all_that_runs_and_a_resume_does_it_again(
    settings: dict[str, Any],
) -> None:
    endless = at_once.Endless.started
    settings["sandbox"] = "tests.at_once:Endless"
    with api.start(load_config(settings, environ={})) as session:

        def interrupt() -> None:
            for _ in range(4):
                assert endless.acquire(timeout=at_once.SECONDS)
            session.interrupt()

        stopper = threading.Thread(target=interrupt)
        stopper.start()
        assert session.run() == "interrupted"
        stopper.join()
    assert not Run(settings["out"]).nodes
    with api.resume(settings["out"], sandbox="benchmarks.instant:InstantSandbox") as session:
        session.run()
    whole(Run(settings["out"]))


def dying() -> ScriptedModel:
    """A model whose key is refused after its eighth program."""
    inner, numbers = make_model(), iter(range(10**6))

    def answer(request: Request) -> str:
        if next(numbers) >= 8:
            raise ModelUnusableError("the key is refused")
        return inner.complete(request).text

    return ScriptedModel(answer)


def test_what_was_written_before_the_model_died_is_still_run(settings: dict[str, Any]) -> None:
    settings["model"] = "tests.test_parallel:dying"
    with pytest.raises(ModelUnusableError, match="refused"):
        run(settings, api.ignore)
    found = Run(settings["out"])
    whole(found, 8)
    assert found.final is not None
    with api.resume(settings["out"], model="benchmarks.instant:make_model") as session:
        session.run()
    whole(Run(settings["out"]))


def test_an_engine_that_restarts_costs_no_node(settings: dict[str, Any]) -> None:
    at_once.Restarting.runs = at_once.Restarting.asked = 0
    settings["sandbox"] = "tests.at_once:Restarting"
    waits: list[str] = []

    def on_event(event: Mapping[str, Any]) -> None:
        if event["event"] == "waiting":
            waits.append(event["reason"])

    found = run(settings, on_event)
    whole(found)
    assert not any("lost" in node.outcome.flags for node in found.nodes)
    assert "the sandbox is out: no engine answers" in waits


def test_a_run_asks_for_advice_also_with_many_at_once(settings: dict[str, Any]) -> None:
    settings["advice_every"] = 5
    found = run(settings, api.ignore)
    whole(found)
    assert found.cost.calls > STEPS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "none", str(folder)]
    if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_ends_the_run_while_it_can_be_finished(
    settings: dict[str, Any], small_disk: Path
) -> None:
    settings["out"] = str(small_disk / "run")
    ballast = small_disk / "ballast"

    def on_event(event: Mapping[str, Any]) -> None:
        if event["event"] == "finished" and event["nodes"] == 8:
            ballast.write_bytes(bytes(30 << 20))

    found = run(settings, on_event)
    assert 8 <= len(found.nodes) < STEPS
    reason = str(found.reason)
    assert reason.startswith("the disk is nearly full: ")
    assert "the next step needs 65 MiB; free some, then resume the run" in reason
    assert found.final is not None
    ballast.unlink()
    with api.resume(settings["out"]) as session:
        session.run()
    whole(Run(settings["out"]))
