"""Failing services: tried again, waited out, or stood in for; never for ever."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.calls import Booked, read_calls
from aide.errors import (
    BudgetExceeded,
    ContextTooLongError,
    ModelError,
    ModelUnusableError,
    TransientModelError,
)
from aide.interfaces import Request, Usage
from aide.journal import Journal
from aide.ledger import Ledger
from aide.llm.scripted import Answer
from aide.patience import LONGEST_PROBE, OPENS_AFTER, Patient
from aide.tokens import TokenEstimate
from tests.services import (
    REQUEST,
    HandClock,
    Named,
    QuickClock,
    Service,
    patient,
    transient,
    until,
)


def test_a_failing_call_is_tried_again_with_growing_pauses() -> None:
    def waits(seed: int) -> list[float]:
        clock, service = QuickClock(), Service(*[transient()] * 4)
        assert patient(service, clock, seed=seed).complete(REQUEST).text == "answer"
        assert service.calls == 5
        return clock.waits

    for place, wait in enumerate(waits(0)):
        assert 0.5 * 2**place <= wait <= 2**place
    assert waits(0) == waits(0)
    assert waits(0) != waits(1)


def test_a_wait_that_the_service_asks_for_is_obeyed_and_told() -> None:
    clock, said = QuickClock(), list[tuple[str, float]]()
    patient(Service(transient(42.0)), clock, said=said).complete(REQUEST)
    assert clock.waits == [42.0]
    assert said == [("first is to be asked again later (overloaded)", 42.0)]


def test_too_long_a_wait_is_an_outage() -> None:
    clock, said = QuickClock(), list[tuple[str, float]]()
    patient(Service(transient(7200.0)), clock, said=said).complete(REQUEST)
    assert clock.waits == [600.0]
    assert said == [("first is out (overloaded)", 600.0)]


def test_an_outage_is_waited_out_and_said() -> None:
    clock, service, said = QuickClock(), Service(), list[tuple[str, float]]()
    service.down = transient()

    def answer(request: Request) -> Answer:
        service.down = transient() if clock.time < 3000 else None
        return service(request)

    assert patient(answer, clock, said=said).complete(REQUEST).text == "answer"
    assert 3000 <= clock.time <= 3000 + LONGEST_PROBE
    assert service.calls < 25
    assert [reason for reason, _ in said] == ["first is out (overloaded)"] * len(said)
    assert [seconds for _, seconds in said[:7]] == [15, 30, 60, 120, 240, 300, 300]


def test_an_outage_that_lasts_too_long_is_the_end() -> None:
    clock, service = QuickClock(), Service()
    service.down = transient()
    model = patient(service, clock, outage=3600.0)
    with pytest.raises(
        ModelError, match=r"first gave no answer for 1 h \(overloaded\); resume"
    ) as caught:
        model.complete(REQUEST)
    assert not isinstance(caught.value, TransientModelError)
    assert 3600 <= clock.time < 3700
    # A later request does not wait as long again, and the service may come back.
    calls = service.calls
    with pytest.raises(ModelError):
        model.complete(REQUEST)
    assert service.calls == calls
    service.down = None
    clock.time += LONGEST_PROBE
    assert model.complete(REQUEST).text == "answer"


def test_without_patience_an_outage_ends_at_once() -> None:
    clock, service = QuickClock(), Service()
    service.down = transient()
    with pytest.raises(ModelError, match="no answer"):
        patient(service, clock, outage=0.0).complete(REQUEST)
    assert service.calls == OPENS_AFTER


def test_while_a_service_is_out_one_thread_at_a_time_probes_it() -> None:
    clock, service = HandClock(), Service()
    service.down = transient()
    model = patient(service, clock)
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(model.complete, replace(REQUEST, seed=n)) for n in range(8)]
        # All have failed once or waited to be told so: from here on the clock stands still.
        until(lambda: service.calls >= OPENS_AFTER and clock.sleepers == 8)
        clock.move(1.0)
        until(lambda: clock.sleepers == 8)
        before = service.calls
        for probes, seconds in enumerate((15.0, 30.0, 60.0), start=1):
            clock.move(seconds)
            until(partial(service.has_had, before + probes))
            until(lambda: clock.sleepers == 8)
            assert service.calls == before + probes
        service.down = None
        clock.move(120.0)
        assert [call.result(timeout=5).text for call in asked] == ["answer"] * 8


def test_while_a_probe_is_under_way_nobody_else_calls_and_its_answer_wakes_all() -> None:
    clock, service = HandClock(), Service()
    slow, go = threading.Event(), threading.Event()
    service.down = transient()

    def answer(request: Request) -> Answer:
        if slow.is_set():
            service.count()
            assert go.wait(10)
            return "answer"
        return service(request)

    model = patient(answer, clock)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(model.complete, replace(REQUEST, seed=n)) for n in range(4)]
        try:
            # Four first tries; the first of the second ones finds the service out.
            until(lambda: clock.sleepers == 4)
            clock.move(1.0)
            until(lambda: clock.sleepers == 4 and service.has_had(OPENS_AFTER))
            slow.set()
            before = service.calls
            clock.move(15.0)
            until(partial(service.has_had, before + 1))
            for _ in range(5):
                clock.move(3000.0)
                threading.Event().wait(0.02)
            assert service.calls == before + 1
            go.set()
            assert [call.result(timeout=5).text for call in asked] == ["answer"] * 4
        finally:
            go.set()
            model.cancel()


def test_a_request_that_fails_while_others_do_not_is_given_up() -> None:
    clock, errors = QuickClock(), 0

    def answer(request: Request) -> Answer:
        nonlocal errors
        if request.seed == 13:
            errors += 1
            # Another request is answered in between, so the service is not out.
            model.complete(REQUEST)
            raise transient()
        return "answer"

    model = patient(answer, clock)
    with pytest.raises(ModelError, match="first failed 6 times at one request: overloaded"):
        model.complete(replace(REQUEST, seed=13))
    assert errors == 6


def test_the_fallback_stands_in_and_the_first_is_asked_again_later() -> None:
    clock, first, second = QuickClock(), Service(), Service()
    said: list[tuple[str, float]] = []
    first.down = transient()
    model = patient(first, clock, fallback=Named("second", second), said=said)
    for _ in range(3):
        assert model.complete(REQUEST).text == "answer"
    assert (first.calls, second.calls) == (OPENS_AFTER, 3)
    assert said == [("first is out (overloaded); second stands in", 0.0)]
    clock.time += 20.0
    model.complete(REQUEST)
    assert (first.calls, second.calls) == (OPENS_AFTER + 1, 4)
    first.down = None
    clock.time += 60.0
    for _ in range(3):
        model.complete(REQUEST)
    assert (first.calls, second.calls) == (OPENS_AFTER + 4, 4)


def test_if_both_are_out_the_first_that_comes_back_answers() -> None:
    clock, first, second = QuickClock(), Service(), Service(*[transient()] * 7)
    first.down = transient()
    model = patient(first, clock, fallback=Named("second", second))
    assert model.complete(REQUEST).text == "answer"
    assert second.calls == 8
    assert clock.time < 200
    second.down = transient()
    with pytest.raises(ModelError, match="first and second gave no answer"):
        model.complete(REQUEST)


def test_an_unusable_model_is_replaced_for_good_and_said_once() -> None:
    clock, second, said = QuickClock(), Service(), list[tuple[str, float]]()
    first = Service()
    first.down = ModelUnusableError("the key is refused")
    with pytest.raises(ModelUnusableError):
        patient(first, clock).complete(REQUEST)
    model = patient(first, clock, fallback=Named("second", second), said=said)
    with ThreadPoolExecutor(4) as threads:
        assert len(list(threads.map(model.complete, [REQUEST] * 20))) == 20
    assert said == [("the key is refused; second answers from here on", 0.0)]
    calls = first.calls
    model.complete(REQUEST)
    assert first.calls == calls
    second.down = ModelUnusableError("no credit")
    with pytest.raises(ModelUnusableError, match="no credit"):
        model.complete(REQUEST)


def test_an_unusable_fallback_is_given_up_and_the_first_waited_for() -> None:
    clock, first, second = QuickClock(), Service(*[transient()] * 8), Service()
    second.down = ModelUnusableError("no credit")
    model = patient(first, clock, fallback=Named("second", second))
    assert model.complete(REQUEST).text == "answer"
    assert (first.calls, second.calls) == (9, 1)


@pytest.mark.parametrize(
    "error",
    [ContextTooLongError("too long"), BudgetExceeded("usd", 1, 1), ModelError("bad request")],
)
def test_what_no_other_try_can_mend_comes_out_at_once(error: Exception) -> None:
    clock, service = QuickClock(), Service(error)
    with pytest.raises(type(error)) as caught:
        patient(service, clock).complete(REQUEST)
    assert caught.value is error
    assert (service.calls, clock.waits) == (1, [])


def test_a_probe_that_ends_otherwise_leaves_the_next_one_free() -> None:
    clock, service = QuickClock(), Service(*[transient()] * 6, ContextTooLongError("too long"))
    model = patient(service, clock)
    with pytest.raises(ContextTooLongError):
        model.complete(REQUEST)
    assert model.complete(REQUEST).text == "answer"


ERRORS = st.sampled_from(
    [
        None,
        transient(),
        transient(30.0),
        transient(1e6),
        ContextTooLongError("too long"),
        ModelUnusableError("no key"),
        ModelError("cut off", billed=True),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ERRORS, max_size=40), st.lists(ERRORS, max_size=40), st.booleans())
def test_whatever_fails_every_request_ends_in_time(
    first: list[Exception | None], second: list[Exception | None], again: bool
) -> None:
    clock, services = QuickClock(), [Service(*first), Service(*second)]
    for service in services:
        service.down = transient() if again else None
    model = patient(services[0], clock, fallback=Named("second", services[1]))
    for number in range(5):
        begun, calls = clock.time, sum(service.calls for service in services)
        try:
            assert model.complete(replace(REQUEST, seed=number)).text == "answer"
        except TransientModelError as error:
            raise AssertionError("it was worth another try") from error
        except ModelError:
            pass
        assert clock.time - begun <= 2 * 3600 + 600
        assert 0 <= sum(service.calls for service in services) - calls < 100


@pytest.mark.parametrize("failures", [1, OPENS_AFTER])
def test_cancel_ends_every_wait(failures: int) -> None:
    clock, service = HandClock(), Service()
    service.down = transient(500.0 if failures == 1 else None)
    model = patient(service, clock)
    with ThreadPoolExecutor(failures) as threads:
        waiting: list[Future[object]] = [
            threads.submit(model.complete, REQUEST) for _ in range(failures)
        ]
        until(lambda: clock.sleepers == failures)
        model.cancel()
        for call in waiting:
            with pytest.raises(ModelError, match="cancelled"):
                call.result(timeout=5)
    calls = service.calls
    with pytest.raises(ModelError, match="cancelled"):
        model.complete(REQUEST)
    assert service.calls == calls


class Price:
    """USD per token in and out: a small model's."""

    def usd(self, usage: Usage) -> float:
        return (usage.tokens_in * 0.05 + usage.tokens_out * 0.25) / 1e6


def test_money_is_a_hard_cap_with_four_calls_in_flight(tmp_path: Path) -> None:
    cap, stopped = 0.05, list[float]()
    failing = iter(range(10**6))

    def answer(request: Request) -> Answer:
        number = next(failing)
        threading.Event().wait(0.0005)
        if number % 10 == 3:
            kind = "timeout" if number % 20 == 3 else "server"
            raise TransientModelError("failed", kind=kind, billed=number % 200 == 3)
        return "x" * min(1000 + 997 * number % 9000, 4 * request.max_tokens)

    path = tmp_path / "calls.jsonl"
    ledger = Ledger(lambda name: Price(), TokenEstimate(), usd=cap)
    with Journal(path, sync=False) as book:
        model = Patient(
            Booked(Named("m", answer), book, ledger, lambda: 0.0),
            fallback=None,
            clock=QuickClock(),
            seed=0,
            outage_seconds=3600.0,
            on_wait=lambda reason, seconds: None,
        )

        def hammer(worker: int) -> None:
            for number in range(10_000):
                request = Request("x" * 8000, REQUEST.messages, "draft", number, 4000, node=worker)
                try:
                    model.complete(request)
                except BudgetExceeded as error:
                    stopped.append(error.limit)
                    return

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(hammer, range(4)))
    spent, unknown = ledger.total.usd or 0.0, ledger.unknown_usd or 0.0
    assert stopped == [cap] * 4
    assert 0.8 * cap <= spent + unknown <= cap
    calls = list(read_calls(path))
    assert len(calls) == ledger.total.calls
    assert sum(call.usage.usd or 0.0 for call in calls) == pytest.approx(spent)
    assert sum(call.unknown is not None for call in calls) == ledger.unknown_calls
