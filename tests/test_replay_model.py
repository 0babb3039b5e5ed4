"""A recorded run is answered from its book: the same tree, no network, no money."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import aide
from aide.calls import Booked, read_calls
from aide.errors import (
    ConfigError,
    ContextTooLongError,
    ModelError,
    ModelUnusableError,
    TransientModelError,
)
from aide.interfaces import Form, Message, Request, Usage
from aide.journal import Journal
from aide.ledger import Ledger
from aide.llm.replay import ReplayModel
from aide.llm.scripted import Answer, ScriptedModel
from aide.tokens import TokenEstimate

REQUEST = Request("system", (Message("user", "ran in 1.0 s"),), "draft", 1, node=1)


class Recorder:
    """Writes a book: each answer is a text or an error."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self, *calls: tuple[Request, str | Exception]) -> ReplayModel:
        answers = iter([answer for _, answer in calls])

        def answer(request: Request) -> Answer:
            given = next(answers)
            if isinstance(given, Exception):
                raise given
            return given

        ledger = Ledger(lambda name: None, TokenEstimate())
        with Journal(self.path / "calls.jsonl", sync=False) as book:
            model = Booked(ScriptedModel(answer), book, ledger, lambda: 0.0)
            for request, given in calls:
                if isinstance(given, Exception):
                    with pytest.raises(type(given)):
                        model.complete(request)
                else:
                    model.complete(request)
        return ReplayModel(str(self.path))


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def told(text: str) -> Request:
    return replace(REQUEST, messages=(Message("user", text),))


def test_the_same_requests_get_their_answers_in_any_order(recorder: Recorder) -> None:
    form = replace(REQUEST, form=Form("f", "d", {"type": "object"}))
    every = [REQUEST, replace(REQUEST, seed=2), replace(REQUEST, system="other"), form]
    model = recorder.record(*((request, str(n)) for n, request in enumerate(every)))
    for n in (2, 0, 3, 1):
        # The length that a ledger left over may differ and is no part of the question.
        assert model.complete(replace(every[n], max_tokens=600)).text == str(n)
    assert model.name == "replay"


def test_it_uses_what_was_used_and_costs_nothing(recorder: Recorder) -> None:
    reply = recorder.record((REQUEST, "answer")).complete(REQUEST)
    assert reply.usage == Usage(1, 5, 2, usd=0.0)
    assert reply.model == "scripted"


def test_the_same_request_again_gets_the_next_answer(recorder: Recorder) -> None:
    advice = replace(REQUEST, node=0, operator="summarize")
    model = recorder.record((advice, "one"), (advice, "two"))
    assert [model.complete(advice).text for _ in range(2)] == ["one", "two"]


def test_where_a_prompt_differs_the_place_decides(recorder: Recorder) -> None:
    other = replace(REQUEST, node=2)
    model = recorder.record(
        (told("ran in 1.0 s"), "one"), (other, "else"), (told("ran in 2.0 s"), "two")
    )
    assert model.complete(told("ran in 1.1 s")).text == "one"
    assert model.complete(told("ran in 2.1 s")).text == "two"
    assert model.complete(other).text == "else"


def test_failures_that_were_got_over_are_left_out(recorder: Recorder) -> None:
    limit = TransientModelError("slow down", kind="rate-limit")
    model = recorder.record(
        (told("a"), limit),
        (told("a"), ModelError("cancelled", billed=True)),
        (told("a"), "one"),
        (told("b"), limit),
        (told("b"), "two"),
    )
    assert [model.complete(told(text)).text for text in "xy"] == ["one", "two"]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ContextTooLongError("too long"), ContextTooLongError),
        (ModelUnusableError("no key"), ModelUnusableError),
        (ModelError("bad request"), ModelError),
        # Raised as it was, it would be tried again.
        (TransientModelError("down", kind="server"), ModelError),
    ],
)
def test_a_failure_for_good_is_raised_again(
    recorder: Recorder, error: Exception, raised: type[Exception]
) -> None:
    model = recorder.record((told("long"), error), (told("short"), "answer"))
    with pytest.raises(ModelError, match=str(error)) as caught:
        model.complete(told("long"))
    assert type(caught.value) is raised
    assert model.complete(told("short")).text == "answer"


def test_of_a_node_that_was_begun_anew_after_a_kill_the_later_answers_count(
    recorder: Recorder,
) -> None:
    model = recorder.record(
        (told("write"), "no code"), (told("write"), "other"), (told("again, since other"), "code")
    )
    assert model.complete(told("write")).text == "other"
    assert model.complete(told("again, since other")).text == "code"


def test_what_was_not_recorded_is_said(recorder: Recorder) -> None:
    model = recorder.record((REQUEST, "answer"))
    model.complete(REQUEST)
    for request in (REQUEST, replace(REQUEST, node=9, operator="debug")):
        with pytest.raises(ModelUnusableError) as caught:
            model.complete(request)
        for part in (repr(request.operator), f"node {request.node}", "seed", "steps", "policy"):
            assert part in str(caught.value)


def test_a_run_without_calls_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "calls.jsonl").touch()
    for argument in ("", str(tmp_path), str(tmp_path / "none"), str(tmp_path / "empty")):
        with pytest.raises(ConfigError):
            ReplayModel(argument)


QUICK: dict[str, Any] = {"sandbox": "process", "python": Path(sys.executable), "smoke": False}


def shape(run: aide.Run) -> list[tuple[Any, ...]]:
    return [
        (node.id, node.parents, node.operator, node.code, node.plan, node.status, node.score)
        for node in run.nodes
    ]


def test_a_recorded_search_gives_the_identical_tree(tmp_path: Path) -> None:
    search = partial(aide.search, "titanic", steps=4, seed=7, drafts=2, **QUICK)
    recorded = search(out=tmp_path / "recorded", model="tests.author:Author")
    again = search(out=tmp_path / "again", model=f"replay:{recorded.path}")
    assert {node.status for node in recorded.nodes} >= {"ok", "error"}
    assert shape(again) == shape(recorded)
    assert again.cost == recorded.cost
    # Of a replay there is a book too, with each question as it was.
    first, second = (list(read_calls(run.path / "calls.jsonl")) for run in (recorded, again))
    assert {call.model for call in second} == {"replay"}
    assert [call.request for call in second] == [call.request for call in first]
