"""`benchmarks.crash`: a parallel search killed thirty times, and that its checks can fail."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aide import api
from aide.config import load_config
from benchmarks.crash import submission_rows
from benchmarks.crash_checks import Seen, fsck, look
from benchmarks.overhead import make_task
from tests.commands import ROOT


@pytest.mark.slow
def test_thirty_kills_lose_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.crash", "--kills", "30"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": 30, "lost": 0, "nodes": 60}
    moments = done.stdout.partition("doing when it was killed")[2].partition("left half-done")[0]
    assert {"starting", "writing", "finishing"} <= set(moments.split())
    assert len([line for line in moments.splitlines() if line.strip()]) >= 4


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen, set[int]]:
    """A run, what is seen in it, and the rows of its submissions."""
    folder = tmp_path_factory.mktemp("crash")
    config = load_config(
        {
            "task": str(make_task(folder / "task", rows=100)),
            "metric": "rmse",
            "target": "y",
            "model": "benchmarks.instant:make_model",
            "sandbox": "benchmarks.instant:InstantSandbox",
            "steps": 10,
            "out": folder / "run",
        },
        environ={},
    )
    with api.start(config) as session:
        session.run()
    rows = submission_rows(config)
    return folder / "run", look(folder / "run", Seen(), rows), rows


def test_a_whole_run_is_found_whole(finished: tuple[Path, Seen, set[int]]) -> None:
    path, seen, rows = finished
    assert sorted(seen.nodes) == list(range(1, 11))
    assert seen.ended
    assert (seen.lost, seen.faults, seen.cut) == ((), (), "nothing")
    assert fsck(path / "solutions") == ""
    assert look(path, seen, rows) == seen


def drop_last_node(run: Path) -> None:
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"event": "finished", "node": 10,' not in line]
    assert len(kept) == len(lines) - 1
    (run / "journal.jsonl").write_text("".join(kept))


def change_outcome(run: Path) -> None:
    text = (run / "journal.jsonl").read_text()
    assert text.count("epoch 1\\nepoch 1") > 0
    (run / "journal.jsonl").write_text(text.replace("epoch 1\\nepoch 1", "epoch 2\\nepoch 1", 1))


def damage_journal(run: Path) -> None:
    data = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").write_bytes(data[:500] + b"\x00" + data[501:])


def refs(run: Path) -> Path:
    return run / "solutions" / ".git" / "refs" / "nodes"


def swap_commits(run: Path) -> None:
    shutil.copy(refs(run) / "0001", refs(run) / "0002")


def drop_commit(run: Path) -> None:
    (refs(run) / "0003").unlink()


def cut_best(run: Path) -> None:
    text = (run / "best" / "submission.csv").read_text()
    (run / "best" / "submission.csv").write_text(text[: len(text) // 2].rpartition("\n")[0])


def mix_best(run: Path) -> None:
    (run / "best" / "solution.py").write_text("another")


@pytest.mark.parametrize(
    ("damage", "lost", "fault"),
    [
        (drop_last_node, (10,), ""),
        (change_outcome, (1,), ""),
        (damage_journal, tuple(range(1, 11)), "the journal does not replay"),
        (swap_commits, (), "the commit of node 2 holds other code"),
        (drop_commit, (), "node 3 has no commit"),
        (cut_best, (), "best/submission.csv has"),
        (mix_best, (), "best/solution.py is no program"),
    ],
)
def test_the_checks_find_damage(
    finished: tuple[Path, Seen, set[int]],
    tmp_path: Path,
    damage: Callable[[Path], None],
    lost: tuple[int, ...],
    fault: str,
) -> None:
    path, before, rows = finished
    run = shutil.copytree(path, tmp_path / "run", symlinks=True)
    damage(run)
    seen = look(run, before, rows)
    assert sorted(seen.lost) == list(lost)
    assert any(each.startswith(fault) for each in seen.faults) == bool(fault)


def test_git_finds_a_damaged_object(finished: tuple[Path, Seen, set[int]], tmp_path: Path) -> None:
    run = shutil.copytree(finished[0], tmp_path / "run", symlinks=True)
    objects = sorted((run / "solutions" / ".git" / "objects").glob("??/*"))
    victim = random.Random(0).choice(objects)
    victim.chmod(0o644)
    victim.write_bytes(victim.read_bytes()[:-4])
    assert fsck(run / "solutions")
