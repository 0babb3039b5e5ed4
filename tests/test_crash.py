"""kill -9 of the search at random moments, then resume: nothing finished is ever lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from aide.run import load
from tests.commands import AIDE, FAST, GUESSING

KILLS = 6
STEPS = 30


def finished(out: Path) -> dict[int, str]:
    """What the journal says of each finished node, whole lines only."""
    path = out / "journal.jsonl"
    if not path.exists():
        return {}
    lines = path.read_bytes().split(b"\n")[:-1]
    events = [json.loads(line) for line in lines]
    return {event["node"]: json.dumps(event) for event in events if event["event"] == "finished"}


def start(out: Path) -> subprocess.Popen[bytes]:
    path = out / "journal.jsonl"
    if path.exists() and b"\n" in path.read_bytes():
        command = [*AIDE, "resume", str(out)]
    else:
        command = [*AIDE, "run", "titanic", "--steps", str(STEPS), "--out", str(out)]
    return subprocess.Popen(
        command,
        env={**os.environ, **FAST, **GUESSING},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.slow
def test_kills_of_the_command_lose_nothing(tmp_path: Path) -> None:
    rng = random.Random(0)
    out = tmp_path / "run"
    known: dict[int, str] = {}
    for _ in range(KILLS):
        process = start(out)
        deadline = time.monotonic() + rng.uniform(0.3, 6)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()
        now = finished(out)
        assert known.items() <= now.items()
        known = now
    process = start(out)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()
    check_whole(out, known)


def check_whole(out: Path, known: dict[int, str]) -> None:
    run = load(out)
    assert [node.id for node in run.nodes] == list(range(1, STEPS + 1))
    assert known.items() <= finished(out).items()
    assert run.final is not None
    proposals = [
        json.loads(line)["node"]
        for line in (out / "journal.jsonl").read_bytes().splitlines()
        if json.loads(line)["event"] == "proposed"
    ]
    assert sorted(proposals) == sorted(set(proposals)), "no node is proposed twice"
    git: Any = subprocess.run(
        ["git", "for-each-ref", "refs/nodes", "--format=%(refname:lstrip=2)"],
        cwd=out / "solutions",
        capture_output=True,
        text=True,
        check=True,
    )
    assert git.stdout.split() == [f"{node.id:04d}" for node in run.nodes]
