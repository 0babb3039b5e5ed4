"""Both SDKs against a real server on loopback: what fails, what comes, what it used."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from aide.errors import (
    ContextTooLongError,
    ModelError,
    ModelUnusableError,
    TransientModelError,
)
from aide.interfaces import Message, Request, Usage
from benchmarks.loopback import Loopback, seeded
from benchmarks.protocols import Protocol
from tests.provider_models import (
    FORM,
    REQUEST,
    VARIABLES,
    Bench,
    answering,
    echo,
    model_of,
    open_bench,
)

both = pytest.mark.parametrize("provider", ["anthropic", "openai"])
# One process imports the SDKs, which takes seconds.
pytestmark = pytest.mark.xdist_group("sdk")

TRANSIENT, UNUSABLE = TransientModelError, ModelUnusableError
FAILURES: Mapping[str, tuple[type[ModelError], str, float | None, bool]] = {
    "400": (ModelError, "", None, False),
    "401": (UNUSABLE, "", None, False),
    "402": (UNUSABLE, "", None, False),
    "404": (UNUSABLE, "", None, False),
    "429": (TRANSIENT, "rate-limit", None, False),
    "429-after": (TRANSIENT, "rate-limit", 1.0, False),
    "500": (TRANSIENT, "server", None, False),
    "503": (TRANSIENT, "overloaded", None, False),
    "529": (TRANSIENT, "overloaded", None, False),
    "context": (ContextTooLongError, "", None, False),
    "credit": (UNUSABLE, "", None, False),
    "timeout": (TRANSIENT, "timeout", None, True),
    "drop": (TRANSIENT, "connection", None, True),
    "truncated": (TRANSIENT, "truncated", None, True),
    "garbage": (TRANSIENT, "truncated", None, True),
}


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as opened:
        yield opened


@both
@pytest.mark.parametrize("fault", FAILURES)
def test_each_failure_is_told_apart_and_not_retried(
    bench: Bench, provider: Protocol, fault: str
) -> None:
    kind, name, wait, billed = FAILURES[fault]
    model, service = bench.begin(provider, echo, {0: fault}), bench.service
    if fault == "timeout":
        model = model_of(provider, service, seconds=0.2)
    with pytest.raises(kind) as caught:
        model.complete(REQUEST)
    assert type(caught.value) is kind
    assert service.requests[provider] == 1
    assert service.undelivered[provider].calls == billed == caught.value.billed
    assert service.delivered[provider].calls == 0
    assert model.complete(REQUEST).text == "You said Write one."
    if isinstance(caught.value, TransientModelError):
        assert (caught.value.kind, caught.value.retry_after) == (name, wait)
    assert model.name in str(caught.value)
    assert "\n" not in str(caught.value)


@both
def test_useless_replies_are_replies_and_counted(bench: Bench, provider: Protocol) -> None:
    model = bench.begin(provider, echo, {0: "empty", 1: "refusal", 2: "length"})
    replies = [model.complete(REQUEST) for _ in range(3)]
    assert [reply.stop for reply in replies] == ["end", "refusal", "length"]
    assert (replies[0].text, replies[2].text) == ("", "You said ")
    told = sum((reply.usage for reply in replies), Usage(usd=None))
    assert told == bench.service.delivered[provider]


@both
def test_an_outage_is_a_connection_that_fails_unbilled(provider: Protocol) -> None:
    with Loopback(echo) as service:
        model = model_of(provider, service)
        model.complete(REQUEST)
        service.close_port()
        for _ in range(2):
            with pytest.raises(TransientModelError) as caught:
                model.complete(REQUEST)
        assert (caught.value.kind, caught.value.billed) == ("connection", False)
        service.open_port()
        assert model.complete(REQUEST).text == "You said Write one."


@both
def test_an_answer_that_drips_for_ever_ends_with_the_service(provider: Protocol) -> None:
    caught: list[ModelError] = []

    def ask() -> None:
        try:
            model.complete(REQUEST)
        except ModelError as error:
            caught.append(error)

    with Loopback(echo, {0: "slow-drip"}) as service:
        model = model_of(provider, service, seconds=0.3)
        thread = threading.Thread(target=ask)
        thread.start()
        # Each byte comes in time, so that the time-out of a silence does not end this.
        thread.join(0.6)
        assert thread.is_alive()
    thread.join(5)
    assert [(error.billed, type(error)) for error in caught] == [(True, TransientModelError)]


@both
def test_usage_agrees_with_the_service_to_the_token(bench: Bench, provider: Protocol) -> None:
    model, service = bench.begin(provider, echo), bench.service
    asked = [
        replace(REQUEST, messages=(Message("user", f"{n} ä😀 {'x' * n}"),)) for n in range(40)
    ]
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(model.complete, asked))
    told = sum((reply.usage for reply in replies), Usage(usd=None))
    assert told == service.delivered[provider]
    assert told.calls == 40
    assert [reply.text for reply in replies] == [echo(request) for request in asked]
    assert sorted(service.prompts) == sorted(request.chars for request in asked)


@both
def test_the_head_comes_from_the_cache_the_second_time(bench: Bench, provider: Protocol) -> None:
    model = bench.begin(provider, echo)
    first, second = (model.complete(REQUEST).usage for _ in range(2))
    head = -(-len(REQUEST.system) // 4)
    assert (first.tokens_cached, second.tokens_cached) == (0, head)
    # Only Anthropic's protocol says what is written, and only where the head is marked.
    written = head if provider == "anthropic" else 0
    assert (first.tokens_written, second.tokens_written) == (written, 0)
    assert first.tokens_in == second.tokens_in == head + 3


@both
def test_usage_that_is_not_told_is_not_guessed(bench: Bench, provider: Protocol) -> None:
    model = bench.begin(provider, echo, tells=False)
    assert model.complete(REQUEST).usage == Usage(calls=1, usd=None)


ODD: list[tuple[Protocol, bytes, str]] = [
    ("openai", b'{"choices": []}', ""),
    ("openai", b'{"choices": [{"message": {"content": null}}], "usage": null}', ""),
    ("openai", b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]}', "a"),
    ("openai", b'{"choices": "none", "usage": {"prompt_tokens": "many"}}', ""),
    ("anthropic", b'{"content": null}', ""),
    ("anthropic", b'{"content": [{"type": "thinking", "thinking": "?"}], "usage": []}', ""),
    ("anthropic", b'{"content": [{"type": "text", "text": "a"}, {"type": "text"}, 1]}', "a"),
]


@pytest.mark.parametrize(("provider", "body", "text"), ODD)
def test_an_odd_answer_is_read_as_far_as_it_goes(provider: str, body: bytes, text: str) -> None:
    with answering(provider, 200, body) as model:
        reply = model.complete(replace(REQUEST, form=FORM))
    assert (reply.text, reply.data, reply.usage.tokens_in) == (text, None, 0)
    assert reply.model == "qwen"


@both
@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"choi', b"\xff\xfe", b'{"id": 1}'])
def test_a_200_without_an_answer_is_a_truncated_one(provider: str, body: bytes) -> None:
    with answering(provider, 200, body) as model, pytest.raises(TransientModelError) as caught:
        model.complete(REQUEST)
    assert (caught.value.kind, caught.value.billed) == ("truncated", True)


def test_a_tool_call_that_was_cut_has_no_data() -> None:
    body = (
        b'{"stop_reason": "max_tokens", "content": '
        b'[{"type": "tool_use", "name": "program", "input": {"plan": "a", "code": "import"}}]}'
    )
    with answering("anthropic", 200, body) as model:
        reply = model.complete(replace(REQUEST, form=FORM))
    assert (reply.stop, reply.data) == ("length", None)
    assert "import" in reply.text


def test_a_router_that_wraps_an_error_in_a_200() -> None:
    body = b'{"error": {"code": 429, "message": "slow down"}}'
    with answering("openai", 200, body) as model, pytest.raises(TransientModelError) as caught:
        model.complete(REQUEST)
    assert caught.value.kind == "rate-limit"


@both
def test_an_error_page_is_told_in_bounded_words(provider: str) -> None:
    page = b"<html>" + b"bad gateway\n" * 500
    with answering(provider, 502, page) as model, pytest.raises(TransientModelError) as caught:
        model.complete(REQUEST)
    assert caught.value.kind == "server"
    assert "bad gateway" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_service_s_faults_are_seeded_and_its_own_errors_come_out() -> None:
    kinds = ("429", "drop")
    once, again, other = (
        [seeded(seed, 0.1, kinds)(number) for number in range(2000)] for seed in (1, 1, 2)
    )
    assert once == again != other
    assert all(150 < 2000 - faults.count(None) < 250 for faults in (once, other))
    assert {*once} == {None, *kinds}

    def broken(_: Request) -> str:
        raise LookupError("the brain is broken")

    service = Loopback(broken)
    with pytest.raises(LookupError), service, pytest.raises(TransientModelError):
        model_of("openai", service).complete(REQUEST)


@both
def test_an_answer_is_no_longer_than_was_asked_for(bench: Bench, provider: Protocol) -> None:
    reply = bench.begin(provider, echo).complete(replace(REQUEST, max_tokens=2))
    assert (reply.text, reply.stop, reply.usage.tokens_out) == ("You said", "length", 2)
