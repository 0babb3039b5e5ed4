"""The ledger's caps hold with any number of calls in flight, and its sums agree."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import BudgetExceeded, ConfigError, ModelError
from aide.ledger import FLOOR, Ledger
from aide.node import Usage
from aide.records import Message, Request
from aide.tokens import TokenEstimate


@dataclass(frozen=True)
class Price:
    """USD per million tokens in, out and written to a cache."""

    into: float = 3.0
    out: float = 15.0
    written: float = 3.75

    def usd(self, usage: Usage) -> float:
        plain = usage.tokens_in - usage.tokens_written
        tokens = plain * self.into + usage.tokens_written * self.written
        return (tokens + usage.tokens_out * self.out) / 1e6


def ledger(price: Price | None = Price(), **caps: float | int | None) -> Ledger:
    return Ledger(lambda model: price, TokenEstimate(), **caps)  # type: ignore[arg-type]  # usd is a float, tokens an int


def request(chars: int = 3000, max_tokens: int = 4000, node: int = 1) -> Request:
    return Request("", (Message("user", "x" * chars),), "draft", 0, max_tokens, node)


CALLS = st.lists(
    st.tuples(
        st.integers(0, 9000),
        st.integers(1, 9000),
        st.floats(0, 1),
        st.sampled_from(["settle", "settle", "settle", "lose", "free"]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(CALLS, st.floats(0.001, 0.6), st.integers(1000, 100_000), st.integers(1, 8))
def test_the_caps_hold_in_threads_and_the_sums_agree(
    calls: list[tuple[int, int, float, str]], usd: float, tokens: int, width: int
) -> None:
    book = ledger(usd=usd, tokens=tokens)
    charged: dict[int, Usage] = {}
    lock = threading.Lock()
    made: list[tuple[str, Usage | None]] = []
    refused: list[BudgetExceeded] = []

    def work(call: tuple[int, int, float, str]) -> None:
        chars, most, share, end = call
        try:
            one = book.reserve("m", request(chars, most, node=chars % 3))
        except BudgetExceeded as error:
            refused.append(error)
            return
        assert min(FLOOR, most) <= one.max_tokens <= most
        used = Usage(1, int(one.worst.tokens_in * share), int(one.max_tokens * share))
        with lock:
            charged[one.number] = one.worst
            check()
            # Before the ledger is told, so that it never has less room than is reckoned here.
            charged[one.number] = {"settle": used, "lose": one.worst, "free": Usage()}[end]
        if end == "settle":
            made.append((end, book.settle(one, used)))
        else:
            getattr(book, end)(one)
            made.append((end, None))

    def check() -> None:
        every = charged.values()
        assert sum(use.tokens_in + use.tokens_out for use in every) <= tokens
        money = [use.usd or Price().usd(use) for use in every]
        assert sum(money) <= usd + 1e-9

    with ThreadPoolExecutor(width) as threads:
        list(threads.map(work, calls))
    total = book.total
    assert len(made) + len(refused) == len(calls)
    assert total.calls == len(made)
    assert total.tokens_in + total.tokens_out + book.unknown_tokens <= tokens
    assert (total.usd or 0.0) + (book.unknown_usd or 0.0) <= usd + 1e-9
    assert book.unknown_calls == sum(end == "lose" for end, _ in made)
    priced = [usage.usd or 0.0 for _, usage in made if usage is not None]
    assert total.usd == pytest.approx(sum(priced))
    for sums in (book.by_node, book.by_operator, book.by_model):
        parts = reduce(add, sums.values(), Usage())
        assert replace(parts, usd=None) == replace(total, usd=None)
        assert parts.usd == pytest.approx(total.usd)


def test_an_answer_is_shortened_to_what_can_be_afforded() -> None:
    book = ledger(tokens=8000)
    one = book.reserve("m", request(3000, 8000))
    assert FLOOR < one.max_tokens < 8000
    assert one.worst.tokens_in + one.max_tokens == 8000
    book.free(one)
    money = ledger(usd=0.05)
    two = money.reserve("m", request(3000, 8000))
    assert FLOOR < two.max_tokens < 8000
    assert 0.0499 <= (two.worst.usd or 0.0) <= 0.05


def test_a_prompt_may_be_written_to_a_cache_at_a_higher_price() -> None:
    one = ledger().reserve("m", request(3000, 1000))
    assert one.worst.usd == pytest.approx((one.worst.tokens_in * 3.75 + 1000 * 15) / 1e6)


def test_no_room_for_even_a_short_answer_is_the_end() -> None:
    book = ledger(tokens=3000)
    book.settle(book.reserve("m", request(10, 300)), Usage(1, 1000, 300))
    with pytest.raises(BudgetExceeded) as caught:
        book.reserve("m", request(3000))
    assert (caught.value.kind, caught.value.value, caught.value.limit) == ("tokens", 1300, 3000)
    with pytest.raises(BudgetExceeded, match="usd"):
        ledger(usd=0.001).reserve("m", request())


def test_a_call_waits_for_those_in_flight() -> None:
    book = ledger(tokens=10_000)
    first = book.reserve("m", request(3000, 4000))
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(book.reserve, "m", request(3000, 4000))
        with pytest.raises(TimeoutError):
            second.result(timeout=0.05)
        book.settle(first, Usage(1, 900, 100))
        assert second.result(timeout=5).max_tokens == 4000


def test_waiting_for_what_cannot_come_is_not_begun() -> None:
    book = ledger(tokens=10_000)
    book.lose(book.reserve("m", request(3000, 5000)))
    book.reserve("m", request(10, 1000))
    with pytest.raises(BudgetExceeded):
        book.reserve("m", request(3000))


def test_a_wait_can_be_cancelled() -> None:
    book = ledger(tokens=6000)
    book.reserve("m", request(3000, 3000))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(book.reserve, "m", request(300, 3000))
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.05)
        book.cancel()
        with pytest.raises(ModelError, match="cancelled"):
            waiting.result(timeout=5)


def test_a_lost_call_stays_counted_against_the_caps_and_apart() -> None:
    book = ledger(tokens=20_000)
    one = book.reserve("m", request(3000, 4000))
    worst = book.lose(one)
    assert (book.unknown_calls, book.unknown_tokens) == (1, 2600 + 4000)
    assert book.unknown_usd == worst.usd
    assert book.total == Usage(calls=1)
    assert book.by_node == {1: Usage(calls=1)}


def test_an_unknown_price_is_said_and_never_guessed() -> None:
    book = ledger(None, tokens=100_000)
    assert book.settle(book.reserve("m", request()), Usage(1, 900, 100)).usd is None
    assert book.total == Usage(1, 900, 100, usd=None)
    book.check_priced(["m"])
    capped = ledger(None, usd=1.0)
    with pytest.raises(ConfigError, match=r"price of m is not known.*--prices"):
        capped.check_priced(["m"])
    with pytest.raises(ConfigError):
        capped.reserve("m", request())
    ledger(usd=1.0).check_priced(["m"])


@dataclass(frozen=True)
class Line:
    """A line of the book of calls, as the ledger reads it."""

    usage: Usage
    unknown: Usage | None = None
    model: str = "m"
    operator: str = "draft"
    node: int = 1
    size: int = 3000


def test_a_resumed_run_knows_what_it_has_spent() -> None:
    book, again = ledger(usd=1.0), ledger(usd=1.0)
    lines = [
        Line(book.settle(book.reserve("m", request()), Usage(1, 900, 100))),
        Line(book.free(book.reserve("m", request()))),
        Line(Usage(calls=1), book.lose(book.reserve("m", request()))),
    ]
    for line in lines:
        again.restore(line)
    for name in ("total", "by_operator", "by_node", "by_model", "unknown_calls", "unknown_usd"):
        assert getattr(again, name) == getattr(book, name)
    # What a prompt's size means was learned too: both bound the next prompt alike.
    assert again.reserve("m", request()).worst == book.reserve("m", request()).worst


def test_a_price_that_has_become_known_is_used_for_what_was_spent() -> None:
    book = ledger()
    book.restore(Line(Usage(1, 1000, 100, usd=None)))
    assert book.total.usd == pytest.approx(0.0045)


def test_the_forecast_goes_by_the_pace_per_node() -> None:
    book = ledger()
    assert book.forecast(0, 10) is None
    book.settle(book.reserve("m", request()), Usage(1, 900, 100, 300))
    expected = book.forecast(2, 10)
    assert expected is not None
    assert replace(expected, usd=None) == Usage(5, 4500, 500, 1500, None)
    assert expected.usd == pytest.approx(0.021)
    assert book.forecast(20, 10) == book.total
