"""The benchmark of prompt sizes runs, and tells apart what it compares."""

from __future__ import annotations

import json
import re

import pytest

from aide.config import Config
from aide.interfaces import Message, Request
from benchmarks.context import SERVICES, figures, largest, main, make_brain


@pytest.mark.slow
@pytest.mark.xdist_group("sdk")
@pytest.mark.parametrize("service", SERVICES)
def test_the_prompts_of_a_long_search_stay_as_they_are(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--service", service])
    lines = capsys.readouterr().out.splitlines()
    result = json.loads(lines[-1])
    assert set(result) == {"ratio", "max_tokens", "ancestor_ratio"}
    rows = [[int(n.replace(",", "")) for n in re.findall(r"[\d,]+", line)] for line in lines[1:-1]]
    assert [row[:2] for row in rows] == [[first, first + 49] for first in range(1, 501, 50)]
    ours, ancestors = [row[2] for row in rows], [row[3] for row in rows]
    assert result["ratio"] <= 1.1
    assert result["max_tokens"] == max(ours)
    assert all(1000 < size < Config.model_fields["prompt_tokens"].default for size in ours)
    # All good nodes in each prompt: more with each step, by now far more than all of ours.
    assert ancestors == sorted(ancestors)
    assert ancestors[-1] > 5 * ours[-1]


def test_figures_compare_the_last_tenth_with_an_early_one() -> None:
    steady = dict.fromkeys(range(1, 501), 4000)
    growing = {step: 40 * step for step in range(1, 501)}
    assert figures(500, steady | {1: 8001}, growing) == {
        "ratio": 1.0,
        "max_tokens": 2001,
        "ancestor_ratio": round(500 / 70, 3),
    }
    assert figures(500, steady | {450: 5000}, steady)["ratio"] == 1.25
    assert figures(500, steady | {449: 5000, 71: 5000}, steady)["ratio"] == 1.0
    assert largest({1: 9}, 1, 5) == 3


def test_few_steps_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--steps", "9"])
    assert "--steps is 9, but has to be at least 10" in capsys.readouterr().err


def test_the_brain_goes_by_the_text_alone() -> None:
    def ask(text: str) -> Request:
        return Request("", (Message("user", text),), "", 0)

    one, two = make_brain(), make_brain()
    first = one(ask("Write a first solution."))
    assert "```python" in first
    assert first == two(ask("Write a first solution."))
    assert first != one(ask("Write a first solution."))
    assert "SEED = 7\n=======" in one(ask("# Solution 1\nSEED = 7\n"))
