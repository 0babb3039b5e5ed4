"""Every call ends in time, whatever the model does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from aide.deadline import Deadline
from aide.errors import ContextTooLongError, ModelError, TransientModelError
from aide.interfaces import Message, Request
from aide.llm.scripted import Answer, ScriptedModel

REQUEST = Request("", (Message("user", "hello"),), "draft", 1)


class Slow:
    """A script's function that answers when it is told to."""

    def __init__(self) -> None:
        self.begun, self.go, self.ended = (threading.Event() for _ in range(3))

    def __call__(self, request: Request) -> Answer:
        self.begun.set()
        assert self.go.wait(10)
        self.ended.set()
        return "late"


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.go.set()
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(5)


def test_an_answer_in_time_comes_out_and_is_asked_for_once() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return "hello"

    model = Deadline(ScriptedModel(answer), 5)
    assert model.name == "scripted"
    for calls in range(1, 20):
        assert model.complete(REQUEST).text == "hello"
        assert len(asked) == calls


def test_a_late_call_is_a_timeout_that_may_be_billed(slow: Slow) -> None:
    model = Deadline(ScriptedModel(slow), 0.05)
    start = time.monotonic()
    with pytest.raises(TransientModelError, match=r"within 0\.05 seconds") as caught:
        model.complete(REQUEST)
    assert time.monotonic() - start < 2
    assert (caught.value.kind, caught.value.billed) == ("timeout", True)
    # What comes after all is dropped, without a word.
    slow.go.set()
    assert slow.ended.wait(5)
    assert model.complete(REQUEST).text == "late"


def test_cancel_ends_the_calls_under_way_and_later_ones(slow: Slow) -> None:
    model = Deadline(ScriptedModel(slow), 3600)
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(model.complete, REQUEST) for _ in range(2)]
        assert slow.begun.wait(5)
        model.cancel()
        for call in calls:
            with pytest.raises(ModelError, match="cancelled"):
                call.result(timeout=5)
    with pytest.raises(ModelError, match="cancelled") as caught:
        model.complete(REQUEST)
    assert not caught.value.billed


@pytest.mark.parametrize(
    "error", [ContextTooLongError("too long"), TimeoutError("its own"), SystemExit(3)]
)
def test_errors_come_out_as_they_are(error: BaseException) -> None:
    def fail(request: Request) -> Answer:
        raise error

    with pytest.raises(type(error)) as caught:
        Deadline(ScriptedModel(fail), 5).complete(REQUEST)
    assert caught.value is error


def test_no_thread_is_left_behind() -> None:
    model = Deadline(ScriptedModel(["hello"], cycle=True), float("inf"))
    before = threading.active_count()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(model.complete, [REQUEST] * 100))
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        threading.Event().wait(0.01)
    assert threading.active_count() <= before
