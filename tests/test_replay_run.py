"""A recorded run is repeated from its book, in a namespace without a network: the same tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import aide
from aide.run import Run, load
from benchmarks import context
from benchmarks.loopback import Loopback, seeded
from benchmarks.overhead import make_task
from tests.commands import AIDE, GUESSING, ROOT

STEPS = 50
SETTINGS: dict[str, Any] = {
    "metric": "rmse",
    "target": "y",
    "sandbox": "benchmarks.instant:InstantSandbox",
    "steps": STEPS,
    "seed": 4,
}


@pytest.fixture
def recorded(tmp_path: Path) -> Run:
    """A run with two services' models, some of whose calls failed for a while."""
    task = make_task(tmp_path / "task")
    with Loopback(context.make_brain(), seeded(0, 0.1, ("500", "empty", "length"))) as service:
        return aide.search(
            task,
            model=f"anthropic:a@{service.anthropic_url}",
            models={"improve": f"openai:b@{service.openai_url}"},
            out=tmp_path / "recorded",
            **SETTINGS,
        )


def without_network() -> list[str]:
    """The words before a command that take the network away from it."""
    blocked = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None:
        pytest.skip("this system has no unshare")  # CI's has
    if subprocess.run([*blocked, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody make a namespace")  # CI's does
    return blocked


def shape(run: Run) -> list[tuple[Any, ...]]:
    return [
        (node.id, node.parents, node.operator, node.plan, node.code, node.status, node.score)
        for node in run.nodes
    ]


def test_the_same_tree_without_a_network(recorded: Run, tmp_path: Path) -> None:
    out = tmp_path / "again"
    options = [f"--{name}={value}" for name, value in SETTINGS.items()]
    command = [*AIDE, "run", str(tmp_path / "task"), f"--model=replay:{recorded.path}"]
    done = subprocess.run(
        [*without_network(), *command, *options, f"--out={out}", "--json"],
        env={**GUESSING, "PATH": str(Path(sys.executable).parent) + ":/usr/bin:/bin"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["nodes"] == STEPS
    again = load(out)
    assert shape(again) == shape(recorded)
    assert {node.operator for node in again.nodes} >= {"draft", "debug", "improve"}
    assert again.cost.calls < recorded.cost.calls, "what failed for a while is not repeated"
