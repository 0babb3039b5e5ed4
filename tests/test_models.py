"""Which model is asked for what, what it may cost, and what is said when it cannot be used."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import aide
from aide import api
from aide.calls import read_calls
from aide.config import load_config
from aide.errors import AideError, ConfigError, ModelUnusableError
from aide.node import Usage
from benchmarks import context
from benchmarks.loopback import Loopback
from benchmarks.overhead import make_task
from tests.commands import AIDE, FAST, GUESSING, ROOT
from tests.commands import aide as command

pytestmark = pytest.mark.xdist_group("sdk")

PRICES = '["openai:*"]\ninput = 10\noutput = 50\n'


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """A search over nothing but the models."""
    return {
        "task": str(make_task(tmp_path / "task")),
        "metric": "rmse",
        "target": "y",
        "sandbox": "benchmarks.instant:InstantSandbox",
        "out": tmp_path / "run",
        "steps": 12,
    }


@pytest.fixture
def service() -> Iterator[Loopback]:
    with Loopback(context.make_brain()) as loopback:
        yield loopback


def run(settings: Mapping[str, Any], **more: Any) -> aide.Run:
    with api.start(load_config({**settings, **more}, environ={})) as session:
        session.run()
    return aide.load(settings["out"])


def test_each_operator_asks_its_own_model(settings: dict[str, Any], service: Loopback) -> None:
    named = {"debug": f"openai:small@{service.openai_url}"}
    model = f"anthropic:large@{service.anthropic_url}"
    run(settings, model=model, models=named, debug_prob=1.0, steps=25)
    asked: dict[str, set[str]] = {}
    for call in read_calls(settings["out"] / "calls.jsonl"):
        asked.setdefault(call.operator, set()).add(call.model)
    assert asked["debug"] == {named["debug"]}
    assert asked["draft"] | asked["improve"] == {model}
    account = aide.load(settings["out"]).spent
    for parts in (account.by_operator, account.by_node):
        assert sum(parts.values(), Usage()) == account.total
    assert set(account.by_node) == set(range(1, 26))


def test_a_model_for_no_operator_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"'paint'.*draft, debug, improve, merge, summarize"):
        run(settings, models={"paint": "offline"})
    assert not settings["out"].exists()


def test_tables_of_models_add_up_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "aide.toml"
    file.write_text('task = "titanic"\n[models]\ndebug = "a:A"\ndraft = "b:B"\n')
    environ = {"AIDE_MODELS": "draft=c:C,improve=d:D"}
    config = load_config({"models": {"improve": "e:E"}}, file=file, environ=environ)
    assert config.models == {"debug": "a:A", "draft": "c:C", "improve": "e:E"}


def test_money_cannot_be_capped_without_a_price(
    settings: dict[str, Any], service: Loopback
) -> None:
    with pytest.raises(ConfigError, match=r"price of openai:any@.* is not known.*--prices"):
        run(settings, model=f"openai:any@{service.openai_url}", usd=1.0)


@pytest.mark.parametrize("cap", [{"usd": 1.0}, {"tokens": 60_000}])
def test_a_cap_ends_the_search_with_what_it_has(
    settings: dict[str, Any], service: Loopback, tmp_path: Path, cap: dict[str, Any]
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    model = f"openai:any@{service.openai_url}"
    prices = tmp_path / "prices.toml"
    found = run(settings, model=model, prices=prices, reply_tokens=3000, steps=500, **cap)
    assert 2 < len(found.nodes) < 60
    assert found.final is not None
    [(kind, limit)] = cap.items()
    assert f"budget of {limit:g} {kind}" in (found.reason or "")
    cost = found.cost
    used = cost.usd if kind == "usd" else cost.tokens_in + cost.tokens_out
    assert used is not None
    assert limit / 2 < used <= limit


def test_what_was_spent_counts_after_a_resume(
    settings: dict[str, Any], service: Loopback, tmp_path: Path
) -> None:
    model = f"openai:any@{service.openai_url}"
    before = run(settings, model=model, steps=3).cost
    limit = before.tokens_in + before.tokens_out + 1
    with api.resume(settings["out"], steps=50, tokens=limit) as session:
        assert "tokens is used up" in session.run()
    assert aide.load(settings["out"]).cost == before


def test_a_fallback_answers_while_the_model_is_out(
    settings: dict[str, Any], service: Loopback
) -> None:
    with Loopback(context.make_brain(), lambda number: "401") as refusing:
        model = f"openai:first@{refusing.openai_url}"
        stand_in = f"openai:second@{service.openai_url}"
        found = run(settings, model=model, fallback=stand_in)
    assert len(found.nodes) == 12
    assert {call.model for call in read_calls(settings["out"] / "calls.jsonl")} == {
        model,
        stand_in,
    }


def test_an_unusable_model_ends_the_run_with_what_it_has(
    settings: dict[str, Any], service: Loopback
) -> None:
    service.begin(context.make_brain(), lambda number: "402" if number >= 8 else None)
    with pytest.raises(ModelUnusableError):
        run(settings, model=f"openai:any@{service.openai_url}")
    found = aide.load(settings["out"])
    assert 3 < len(found.nodes) < 12
    assert found.final is not None
    service.begin(context.make_brain())
    with api.resume(settings["out"]) as session:
        session.run()
    assert len(aide.load(settings["out"]).nodes) == 12


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("anthropic:claude-sonnet-5-5", ["ANTHROPIC_API_KEY"]),
        ("openai:gpt-6-luna", ["OPENAI_API_KEY"]),
        ("anthropic", ["--model anthropic:MODEL"]),
        ("replay:nowhere", ["nowhere"]),
    ],
)
def test_a_model_that_cannot_be_made_is_one_sentence(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, model: str, words: list[str]
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(AideError) as caught:
        run(settings, model=model)
    assert caught.value.exit_code == 2
    assert all(word in str(caught.value) for word in words)
    assert not settings["out"].exists()


def test_a_refused_key_at_the_command_line(tmp_path: Path) -> None:
    with Loopback(context.make_brain(), lambda number: "401") as refusing:
        model = f"--model=anthropic:any@{refusing.anthropic_url}"
        done = command("run", "titanic", model, "--out", tmp_path / "run", cwd=tmp_path)
        assert sum(refusing.requests.values()) == 1
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert "key" in line


def test_ctrl_c_ends_a_call_that_hangs(tmp_path: Path) -> None:
    called = threading.Event()

    def hang(number: int) -> str:
        called.set()
        return "timeout"

    with Loopback(context.make_brain(), hang) as service:
        model = f"--model=openai:any@{service.openai_url}"
        process = subprocess.Popen(
            [*AIDE, "run", "titanic", model, f"--out={tmp_path / 'run'}"],
            env={**GUESSING, **FAST, "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert called.wait(60)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors.decode()
    assert b"Traceback" not in errors
    assert aide.load(tmp_path / "run").reason == "interrupted"
