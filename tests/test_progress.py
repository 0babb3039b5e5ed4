"""What a terminal shows of a run's cost and of its waits."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Any

import pytest
from rich.console import Console

from aide.node import Score, Usage
from aide.progress import TerminalProgress

START = {"event": "start", "run": "runs/x", "sandbox": "docker"}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """An event of the loop, after three of twelve nodes."""
    return {
        "event": kind,
        "node": 4,
        "operator": "improve",
        "parents": (2,),
        "nodes": 3,
        "steps": 12,
        "left": 540.0,
        "best": 2,
        "best_score": Score(0.82, 0.02, 180),
        "usage": asdict(Usage()),
        "forecast": None,
        **fields,
    }


def shown(*events: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with TerminalProgress(console) as progress:
        for each in (START, *events):
            progress(each)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("usage", "forecast", "text"),
    [
        (Usage(), None, "about 9 min left\n"),
        (Usage(5, 9000, 1000, usd=0.417), Usage(20, usd=1.668), "left, $0.42 of about $1.67"),
        (Usage(5, 9000, 1000, usd=0.417), None, "left, $0.42\n"),
        (
            Usage(5, 9000, 1000, usd=None),
            Usage(20, 36_000, 4000, usd=None),
            "left, 10,000 tokens of about 40,000",
        ),
    ],
)
def test_the_line_tells_the_cost_and_its_forecast(
    usage: Usage, forecast: Usage | None, text: str
) -> None:
    ahead = asdict(forecast) if forecast else None
    said = shown(event("proposing", usage=asdict(usage), forecast=ahead))
    assert text in said
    assert "best 0.820 ± 0.020 (node 2)" in said


def test_a_wait_is_told_with_its_reason() -> None:
    said = shown(
        event("proposing"),
        {"event": "waiting", "reason": "openai:x is out (overloaded)", "seconds": 120.0},
        {"event": "waiting", "reason": "openai:x is out; offline stands in", "seconds": 0.0},
    )
    assert "  openai:x is out (overloaded); waiting 2 min" in said
    assert "stands in\n" in said.replace("\r", "").replace(" \n", "\n")


def test_what_is_no_terminal_is_told_nothing() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with TerminalProgress(console) as progress:
        progress(event("proposing"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""
