"""The book of calls holds every attempt, the failed ones too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from aide.calls import Booked, Call, read_calls
from aide.errors import (
    BudgetExceeded,
    ModelError,
    ModelUnusableError,
    RunFolderError,
    TransientModelError,
)
from aide.interfaces import Form, Message, Model, Reply, Request, Usage
from aide.journal import Journal
from aide.ledger import Ledger
from aide.llm.scripted import Answer, ScriptedModel
from aide.tokens import TokenEstimate

REQUEST = Request("system", (Message("user", "über 😀 \ud800"),), "draft", 1, 1000, 7)


@dataclass(frozen=True)
class PerToken:
    """A tenth of a cent a token."""

    def usd(self, usage: Usage) -> float:
        return 0.001 * (usage.tokens_in + usage.tokens_out)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "calls.jsonl", sync=False) as journal:
        yield journal


def make_ledger(tokens: int | None = None) -> Ledger:
    return Ledger(lambda model: PerToken(), TokenEstimate(), tokens=tokens)


def booked(book: Journal, model: Model, ledger: Ledger | None = None) -> Booked:
    times = iter(range(0, 10_000, 2))
    return Booked(model, book, ledger or make_ledger(), clock=lambda: next(times))


def failing(error: BaseException) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        raise error

    return answer


def test_an_answer_is_written_with_its_money(book: Journal, tmp_path: Path) -> None:
    reply = booked(book, ScriptedModel([("answer", "length")])).complete(REQUEST)
    assert replace(reply.usage, usd=0.0) == Usage(1, 4, 2)
    assert reply.usage.usd == pytest.approx(0.006)
    (line,) = map(json.loads, (tmp_path / "calls.jsonl").read_text().splitlines())
    assert line["request"]["messages"] == [{"role": "user", "text": "über 😀 \ud800"}]
    assert (line["model"], line["operator"], line["node"]) == ("scripted", "draft", 7)
    assert (line["reply"]["text"], line["seconds"]) == ("answer", 2)
    assert line["usage"]["usd"] == pytest.approx(0.006)
    (call,) = read_calls(tmp_path / "calls.jsonl")
    assert call == Call("scripted", REQUEST, reply, None, reply.usage, None, 2)


def test_a_failure_is_written_and_counted(book: Journal, tmp_path: Path) -> None:
    ledger = make_ledger()
    error = TransientModelError("slow down", kind="rate-limit", retry_after=3.0)
    with pytest.raises(TransientModelError):
        booked(book, ScriptedModel(failing(error)), ledger).complete(REQUEST)
    (call,) = read_calls(tmp_path / "calls.jsonl")
    assert call.reply is None
    assert call.error is not None
    assert (call.error.type, call.error.message) == ("TransientModelError", "slow down")
    assert (call.error.kind, call.error.retry_after) == ("rate-limit", 3.0)
    assert (call.error.billed, call.unknown, call.usage) == (False, None, Usage(calls=1))
    assert (ledger.total, ledger.unknown_calls) == (Usage(calls=1), 0)


class Silent:
    """Answers, and does not tell what it used."""

    name = "silent"

    def complete(self, request: Request) -> Reply:
        return Reply("answer", "silent", Usage(calls=1, usd=None))


def test_a_use_that_is_not_told_is_unknown_and_its_worst_case_counts(
    book: Journal, tmp_path: Path
) -> None:
    ledger = make_ledger()
    assert booked(book, Silent(), ledger).complete(REQUEST).text == "answer"
    (call,) = read_calls(tmp_path / "calls.jsonl")
    assert call.reply is not None
    assert call.unknown is not None
    assert (ledger.unknown_calls, call.unknown.tokens_out) == (1, 1000)
    assert ledger.total == Usage(calls=1)


@pytest.mark.parametrize(
    "error", [ModelError("cut off", billed=True), KeyboardInterrupt(), ZeroDivisionError("bug")]
)
def test_a_call_of_unknown_outcome_keeps_its_worst_case(
    book: Journal, tmp_path: Path, error: BaseException
) -> None:
    ledger = make_ledger()
    with pytest.raises(type(error)):
        booked(book, ScriptedModel(failing(error)), ledger).complete(REQUEST)
    (call,) = read_calls(tmp_path / "calls.jsonl")
    assert call.unknown is not None
    assert call.unknown.tokens_out == 1000
    assert call.unknown.tokens_in + 1000 == ledger.unknown_tokens
    again = make_ledger()
    again.restore(call)
    assert (again.total, again.unknown_usd) == (ledger.total, ledger.unknown_usd)


def test_a_refused_call_is_no_attempt(book: Journal, tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded):
        booked(book, ScriptedModel(["answer"]), make_ledger(tokens=100)).complete(REQUEST)
    assert not list(read_calls(tmp_path / "calls.jsonl"))


def test_the_model_is_asked_for_no_more_than_can_be_afforded(book: Journal) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return "short"

    booked(book, ScriptedModel(answer), make_ledger(tokens=1300)).complete(REQUEST)
    (request,) = asked
    assert 512 <= request.max_tokens < 700
    assert replace(request, max_tokens=1000) == REQUEST


def test_what_is_large_is_packed_and_comes_back_whole(book: Journal, tmp_path: Path) -> None:
    form = Form("solution", "A program.", {"type": "object", "required": ["code"]})
    request = replace(REQUEST, system="rule 🎲 " * 5000, form=form)
    reply = booked(book, ScriptedModel(["print(1)\n" * 5000])).complete(request)
    path = tmp_path / "calls.jsonl"
    assert path.stat().st_size < 4000
    (call,) = read_calls(path)
    assert (call.request, call.reply) == (request, reply)


class Structured:
    """A model whose structured answer holds what JSON cannot."""

    name = "structured"

    def complete(self, request: Request) -> Reply:
        return Reply("{}", self.name, Usage(calls=1), data={"a": float("nan"), "b": [1]})


def test_a_structured_answer_is_kept(book: Journal, tmp_path: Path) -> None:
    booked(book, Structured()).complete(REQUEST)
    (call,) = read_calls(tmp_path / "calls.jsonl")
    assert call.reply is not None
    assert call.reply.data == {"a": None, "b": [1]}


def test_a_torn_last_line_is_left_out_and_a_damaged_one_refused(
    book: Journal, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    assert not list(read_calls(tmp_path / "none.jsonl"))
    model = booked(book, ScriptedModel(["one", "two"]))
    model.complete(REQUEST)
    whole = path.read_bytes()
    model.complete(REQUEST)
    torn = path.read_bytes()[:-10]
    path.write_bytes(torn)
    assert [call.reply.text for call in read_calls(path) if call.reply] == ["one"]
    for damage in (b"{}\n", b"[1]\n", b"nonsense\n", torn + b"\n"):
        path.write_bytes(damage + whole)
        with pytest.raises(RunFolderError, match=r"line [12] of .* is damaged"):
            list(read_calls(path))
    with pytest.raises(RunFolderError, match="cannot be read"):
        list(read_calls(tmp_path))


def test_two_models_in_threads_share_a_book(book: Journal, tmp_path: Path) -> None:
    ledger = make_ledger()
    unusable = ModelUnusableError("no key")
    models = [
        Booked(ScriptedModel(["x" * 500], cycle=True), book, ledger, lambda: 0.0),
        Booked(ScriptedModel(failing(unusable)), book, ledger, lambda: 0.0),
    ]

    def ask(number: int) -> None:
        request = replace(REQUEST, seed=number)
        if number % 2:
            with pytest.raises(ModelUnusableError):
                models[1].complete(request)
        else:
            models[0].complete(request)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(200)))
    calls = list(read_calls(tmp_path / "calls.jsonl"))
    assert sorted(call.request.seed for call in calls) == list(range(200))
    summed = sum((call.usage for call in calls), Usage())
    assert replace(summed, usd=None) == replace(ledger.total, usd=None)
    assert summed.usd == pytest.approx(ledger.total.usd)
