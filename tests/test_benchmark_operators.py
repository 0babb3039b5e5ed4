"""The benchmark of the operators runs, and goes on where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aide.interfaces import Job, Limits
from benchmarks.operators import Cell, Results, main, mean_and_error, ranks
from benchmarks.warm import CPU_SECONDS, STORE, WarmSandbox
from tests.sandbox_fixtures import solution_python, start

pytestmark = pytest.mark.xdist_group("warm")
"""One process for all of them, since each would have the solutions' imports to do."""


def test_it_runs_and_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, "")
    options = ["--steps", "2", "--seeds", "1", "--tasks", "titanic", "--jobs", "1"]
    main([*options, "--out", str(tmp_path)])
    first = capsys.readouterr().out.splitlines()
    figures = json.loads(first[-1])
    assert figures["runs"] == 2
    assert figures["rank_with"] + figures["rank_without"] == 3
    assert sum(line.startswith("titanic ") for line in first) == 2
    kept = sorted((tmp_path / "results").iterdir())
    assert [path.stem for path in kept] == ["titanic-2-0-with", "titanic-2-0-without"]
    assert all(json.loads(path.read_text())["nodes"] == 2 for path in kept)
    # What is lost is done again, without any program being run once more; the rest is kept.
    kept[1].unlink()
    known, times = sorted((tmp_path / "executions").iterdir()), kept[0].stat()
    assert known
    main([*options, "--out", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[2:] == first[3:]
    assert sorted((tmp_path / "executions").iterdir()) == known
    assert kept[0].stat() == times


PROGRAMS = [
    "import sys\n\ndef fail():\n    print('half')\n    return 1 / 0\n\nfail()\n",
    "print(open('input/train.csv').readline())\nopen('working/out.csv', 'w').write('1')\n",
    "raise SystemExit(3)\n",
    "import os; os.kill(os.getpid(), 11)\n",
    "import time; print('so far', flush=True); time.sleep(60)\n",
    "this is no Python\n",
]


def test_a_warm_run_ends_as_a_cold_one(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "train.csv").write_text("id,y\n1,0\n")
    ends: dict[str, list[object]] = {}
    for sandbox in (WarmSandbox(), start("process", solution_python())):
        for code in PROGRAMS:
            limits = Limits(seconds=1.5 if "sleep" in code else 20)
            collect = tmp_path / sandbox.name
            job = Job("0001", code, tmp_path / "input", {"working/out.csv": 9}, collect, limits)
            end = sandbox.run(job)
            files = {name: path.read_text() for name, path in end.files.items()}
            ends.setdefault(code, []).append(
                (end.status, end.exit_code, end.signal, end.output, files, end.refused)
            )
        sandbox.close()
    for warm, cold in ends.values():
        assert warm == cold


def test_a_program_is_ended_at_its_processor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CPU_SECONDS, "1")
    (tmp_path / "input").mkdir()
    job = Job("1", "while True: pass", tmp_path / "input", {}, tmp_path / "out", Limits(60))
    end = WarmSandbox().run(job)
    assert (end.status, end.exit_code, end.signal) == ("timeout", None, None)
    assert 0.8 < end.cpu_seconds < 5


def test_ranks_go_by_the_direction_of_the_metric() -> None:
    def pair(task: str, maximize: bool, mine: float | None, its: float | None) -> Results:
        return {
            Cell(task, 0, arm, 2): {"test": value, "maximize": maximize}
            for arm, value in (("with", mine), ("without", its))
        }

    results = {
        **pair("up", True, 0.9, 0.8),
        **pair("down", False, 0.9, 0.8),
        **pair("tie", False, 0.5, 0.5),
        **pair("none", False, 0.5, None),
    }
    assert ranks(results, "test") == [1.0, 2.0, 1.5, 1.0]
    mean, error = mean_and_error([1.0, 2.0, 1.5, 1.0])
    assert mean == 1.375
    assert round(error, 4) == 0.2394
