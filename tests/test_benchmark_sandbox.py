"""The benchmark of the sandbox runs and says what it promises to."""

from __future__ import annotations

import json

import pytest

from benchmarks.sandbox import main


def test_it_runs_and_its_last_line_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", "1", "--sandbox", "process", "--seats", "1"])
    lines = capsys.readouterr().out.splitlines()
    figures = json.loads(lines[-1])
    assert list(figures) == ["cold_ms", "warm_ms", "subprocess_ms", "ratio"]
    assert figures["ratio"] == pytest.approx(figures["cold_ms"] / figures["warm_ms"], rel=0.02)
    # Any machine loads pandas and scikit-learn in more than five times what a fork takes.
    assert figures["ratio"] > 5
    assert [line.partition("  ")[0] for line in lines[1:4]] == [
        "process, cold",
        "process, warm",
        "plain subprocess",
    ]
    memory = lines[-2].split()
    assert memory[:5] == ["idle", "memory", "of", "a", "seat:"]
    assert 20 < float(memory[5]) < 400
