"""A night in minutes: a real search, a real service that fails in every way, a fast clock."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aide import api
from aide.calls import read_calls
from aide.clock import Clock
from aide.config import load_config
from aide.errors import ModelUnusableError
from aide.run import load
from aide.spent import spent
from benchmarks import context
from benchmarks.loopback import Loopback
from benchmarks.overhead import make_task

KINDS = (
    "429",
    "429-after",
    "500",
    "529",
    "timeout",
    "drop",
    "truncated",
    "garbage",
    "empty",
    "refusal",
    "length",
    "context",
)
MINUTE, HOUR = 60.0, 3600.0
OUT_FROM, OUT_UNTIL = HOUR, 2 * HOUR
REFUSED_FROM = 200
"""From this request on the key is refused."""
FAULTS = dict(
    zip(
        random.Random(0).sample(range(REFUSED_FROM), REFUSED_FROM // 10),
        itertools.cycle(KINDS),
        strict=False,
    )
)
"""One request in ten fails, each in the next of the ways."""
USD = 5.0
PRICES = """
["anthropic:night*"]
input = 3
output = 15
cache_read = 0.3
cache_write = 3.75

["openai:night*"]
input = 3
output = 15
cache_read = 0.3
"""


class NightClock(Clock):
    """What was slept or let pass, and nothing else; the service's outage goes by it.

    Args:
        service: refuses connections for an hour of this clock.
    """

    def __init__(self, service: Loopback) -> None:
        self._service, self._passed = service, 0.0
        self.slept = 0.0

    def now(self) -> float:
        return self._passed

    def sleep(self, seconds: float, wake: Any) -> None:
        self.slept += seconds
        self.passes(seconds)

    def passes(self, seconds: float) -> None:
        self._passed += seconds
        if OUT_FROM <= self._passed < OUT_UNTIL:
            self._service.close_port()
        else:
            self._service.open_port()


def faults(number: int) -> str | None:
    return "401" if number >= REFUSED_FROM else FAULTS.get(number)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    said: list[Mapping[str, Any]] = []
    with Loopback(context.make_brain(), faults, retry_after="30") as service:
        clock = NightClock(service)
        url = service.anthropic_url if provider == "anthropic" else service.openai_url

        def on_event(event: Mapping[str, Any]) -> None:
            said.append(event)
            if event["event"] == "finished":
                clock.passes(MINUTE)

        config = load_config(
            {
                "task": str(make_task(tmp_path / "task")),
                "metric": "rmse",
                "target": "y",
                "model": f"{provider}:night@{url}",
                "sandbox": "benchmarks.instant:InstantSandbox",
                "prices": tmp_path / "prices.toml",
                "usd": USD,
                "hours": 9,
                "steps": 1000,
                "call_seconds": 0.5,
                "reply_tokens": 4000,
                "out": tmp_path / "run",
            },
            environ={},
        )
        with (
            pytest.raises(ModelUnusableError, match="key"),
            api.start(config, on_event, clock=clock) as session,
        ):
            session.run()
        check_account(tmp_path / "run", service, provider)
    assert set(KINDS) <= set(service.faulted)
    check_outage(said, clock)
    check_result(tmp_path / "run")


def check_account(path: Path, service: Loopback, provider: Any) -> None:
    """The service's own count and the book's agree, call by call and token by token."""
    calls = list(read_calls(path / "calls.jsonl"))
    account = spent(path / "calls.jsonl")
    unheard = sum(call.error is not None and call.error.kind == "connection" for call in calls)
    assert len(calls) == account.total.calls
    assert len(calls) - unheard == service.requests[provider] - service.faulted["drop"]
    delivered, lost = service.delivered[provider], service.undelivered[provider]
    for field in ("tokens_in", "tokens_out", "tokens_cached", "tokens_written"):
        assert getattr(account.total, field) == getattr(delivered, field), field
    assert account.unknown.calls == lost.calls
    assert account.unknown.tokens_in >= lost.tokens_in
    assert account.unknown.usd is not None
    assert account.total.usd is not None
    assert account.total.usd > 0.1
    assert account.total.usd + account.unknown.usd <= USD


def check_outage(said: list[Mapping[str, Any]], clock: NightClock) -> None:
    reasons = [str(event["reason"]) for event in said if event["event"] == "waiting"]
    assert any("is out" in reason for reason in reasons)
    assert clock.slept > 0.9 * HOUR


def check_result(path: Path) -> None:
    run = load(path)
    assert len(run.nodes) > 140
    assert run.final is not None
    assert run.submission is not None
    assert run.submission.read_text().startswith("id,y")
    assert "key" in (run.reason or "")
    last = json.loads((path / "journal.jsonl").read_text().splitlines()[-1])
    assert last["event"] == "stop"
