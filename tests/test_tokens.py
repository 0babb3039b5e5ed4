"""Token estimates are learned from what services count, whatever the order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.records import Form, Message, Request
from aide.tokens import OVERHEAD, TokenEstimate, extra_bytes, size

SEEN = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 200_000), st.integers(0, 90_000)), max_size=30
)


def learned(observations: list[tuple[str, int, int]]) -> TokenEstimate:
    estimate = TokenEstimate()
    for observation in observations:
        estimate.observe(*observation)
    return estimate


def answers(estimate: TokenEstimate) -> list[float]:
    return [
        answer
        for model in ("a", "b", "c", "")
        for answer in (
            estimate.tokens(model, 12_345),
            estimate.most(model, 12_345),
            estimate.chars_per_token(model),
        )
    ]


@settings(max_examples=40, deadline=None)
@given(SEEN, st.randoms(use_true_random=False))
def test_the_order_leaves_no_trace(seen: list[tuple[str, int, int]], source: object) -> None:
    shuffled = list(seen)
    source.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert answers(learned(seen)) == answers(learned(shuffled))


@settings(max_examples=40, deadline=None)
@given(SEEN)
def test_what_was_seen_is_within_the_bound(seen: list[tuple[str, int, int]]) -> None:
    estimate = learned(seen)
    for model, chars, tokens in seen:
        if chars >= 1000 and tokens > 0:
            assert tokens <= estimate.most(model, chars)
            assert estimate.chars_per_token() <= estimate.chars_per_token(model)
            assert estimate.chars_per_token(model) <= max(0.1, chars / tokens)


def test_before_anything_was_seen_it_is_careful() -> None:
    estimate = TokenEstimate()
    assert estimate.chars_per_token() == 3.0
    assert estimate.tokens("new", 3000) == 1000
    assert estimate.most("new", 3000) == 2000 + OVERHEAD


def test_estimates_follow_the_model() -> None:
    estimate = learned([("a", 4000, 1000), ("a", 8000, 2500), ("b", 2000, 1000)])
    assert estimate.tokens("a", 12_000) == 3500
    assert estimate.chars_per_token("a") == 3.2
    assert estimate.chars_per_token() == 2.0
    assert estimate.most("a", 3200) == 1250 + OVERHEAD


def test_cuts_do_not_move_with_each_small_change() -> None:
    assert learned([("a", 3990, 1000)]).chars_per_token() == 3.9
    assert learned([("a", 3990, 1000), ("a", 3910, 1000)]).chars_per_token() == 3.9


@pytest.mark.parametrize(("chars", "tokens"), [(20, 400), (5000, 0)])
def test_what_tells_nothing_is_left_out(chars: int, tokens: int) -> None:
    assert answers(learned([("a", chars, tokens)])) == answers(TokenEstimate())


def test_threads_lose_nothing() -> None:
    estimate = TokenEstimate()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: estimate.observe("a", 1000 + n, 500), range(2000)))
    assert estimate.tokens("a", sum(range(1000, 3000))) == 500 * 2000


def test_the_size_holds_the_form_too() -> None:
    plain = Request("sys", (Message("user", "héllo 😀"),), "draft", 0)
    form = Form("f", "what", {"type": "object"})
    assert size(plain) == 3 + 7
    assert size(Request("sys", plain.messages, "draft", 0, form=form)) == 10 + 1 + 4 + 18
    assert extra_bytes(plain) == 1 + 3
    assert extra_bytes(Request("\ud800", (), "draft", 0)) == 2
