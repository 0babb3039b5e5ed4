"""Where a model is, what a failure means, and what waits are asked for: no network needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from aide.errors import (
    AideError,
    ConfigError,
    ContextTooLongError,
    ModelError,
    ModelUnusableError,
    TransientModelError,
)
from aide.llm.endpoint import Endpoint, Service, endpoint
from aide.llm.failures import retry_after, status_failure
from tests.provider_models import VARIABLES

ANTHROPIC = Service(
    "anthropic", "https://api.a.test", "", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
)
OPENAI = Service("openai", "https://o.test/v1", "/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL")
AT = Endpoint(OPENAI, "qwen", "http://127.0.0.1:9/v1", "none")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("service", "argument", "model", "url"),
    [
        (OPENAI, "qwen@http://h:1/v1/", "qwen", "http://h:1/v1"),
        (OPENAI, "qwen@http://h:1", "qwen", "http://h:1/v1"),
        (OPENAI, "qwen@http://h:1/api/v3", "qwen", "http://h:1/api/v3"),
        (OPENAI, "a/b:free@https://h/api/v1", "a/b:free", "https://h/api/v1"),
        (OPENAI, "m@http://[::1]:8080/v1", "m", "http://[::1]:8080/v1"),
        (ANTHROPIC, "qwen@http://h:1/v1", "qwen", "http://h:1"),
        (ANTHROPIC, "m@2025@http://h:1/", "m@2025", "http://h:1"),
    ],
)
def test_a_model_and_its_base_url(service: Service, argument: str, model: str, url: str) -> None:
    at = endpoint(service, argument)
    assert (at.model, at.url, at.own) == (model, url, False)
    assert at.name == f"{service.provider}:{model}@{url}"


def test_the_own_service_needs_a_key_and_its_name_has_no_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModelUnusableError, match="set OPENAI_API_KEY"):
        endpoint(OPENAI, "gpt-6-luna")
    monkeypatch.setenv("OPENAI_API_KEY", " a-secret\n")
    at = endpoint(OPENAI, "gpt-6-luna")
    assert (at.name, at.url, at.key) == ("openai:gpt-6-luna", OPENAI.url, "a-secret")
    assert "a-secret" not in repr(at)
    monkeypatch.setenv("OPENAI_API_KEY", "a-sécret")
    with pytest.raises(ModelUnusableError, match="OPENAI_API_KEY holds"):
        endpoint(OPENAI, "gpt-6-luna")


def test_a_password_in_the_url_does_not_get_into_the_books() -> None:
    at = endpoint(OPENAI, "m@http://user:word@h:1/v1")
    assert at.name == "openai:m@http://h:1/v1"


@pytest.mark.parametrize(
    "argument",
    [
        "",
        "  ",
        "@http://h:1",
        "m@localhost:8080",
        "m@h/v1",
        "m@http://",
        "m@http://h:x",
        "m@http://a b",
    ],
)
def test_what_is_no_model_or_url_is_said_in_one_sentence(argument: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint(OPENAI, argument)
    assert "\n" not in str(caught.value)


def test_this_machine_is_known_by_its_names() -> None:
    for host in ("localhost", "127.0.0.1", "127.8.8.8", "[::1]"):
        assert endpoint(OPENAI, f"m@http://{host}:1").transport["trust_env"] is False
    assert endpoint(OPENAI, "m@https://router.test").transport == {
        "trust_env": True,
        "verify": True,
        "follow_redirects": False,
    }


WORDINGS: list[tuple[type[AideError], int, object]] = [
    (ContextTooLongError, 400, {"error": {"type": "exceed_context_size_error", "message": "x"}}),
    (ContextTooLongError, 400, {"message": "x", "code": "context_length_exceeded"}),
    (ContextTooLongError, 400, {"error": {"message": "prompt is too long: 2 > 1 maximum"}}),
    (ContextTooLongError, 400, {"message": "This model's maximum context length is 2048 tokens."}),
    (ContextTooLongError, 400, "input length and `max_tokens` exceed context limit: 3 > 2"),
    (ContextTooLongError, 413, None),
    (ModelUnusableError, 400, {"error": {"message": "Your credit balance is too low to go on."}}),
    (ModelUnusableError, 429, {"code": "insufficient_quota", "message": "x"}),
    (ModelUnusableError, 402, {"error": {"message": "Insufficient credits"}}),
    (ModelUnusableError, 401, ""),
    (ModelUnusableError, 403, {"error": "forbidden"}),
    (ModelUnusableError, 404, {"message": "no such route"}),
    (ModelUnusableError, 400, {"message": "x/y is not a valid model ID"}),
    (ModelUnusableError, 301, None),
    # A rate limit that speaks of plans and payment is one all the same.
    (TransientModelError, 429, {"message": "Rate limit reached; see billing to add a payment."}),
    (TransientModelError, 429, {"message": "You exceeded your current quota, retry in 8 s."}),
    (TransientModelError, 408, None),
    (TransientModelError, 409, None),
    (TransientModelError, 500, {"error": {"message": "context length unknown"}}),
    (TransientModelError, 524, "<html>"),
    (ModelError, 422, {"detail": "seed: not a number"}),
    (ModelError, 400, {"error": [{"message": ["odd"]}]}),
]


@pytest.mark.parametrize(("kind", "status", "body"), WORDINGS)
def test_what_servers_say_is_understood(kind: type[AideError], status: int, body: object) -> None:
    error = status_failure(AT, status, body, {})
    assert type(error) is kind
    assert str(status) in str(error)


def test_only_a_gateway_that_gave_up_may_have_been_billed() -> None:
    billed = [status for status in (408, 429, 500, 502, 503, 504, 524, 529)
              if status_failure(AT, status, None, {}).billed]  # fmt: skip
    assert billed == [504, 524]


def test_a_long_message_is_cut_to_one_line() -> None:
    error = status_failure(AT, 500, {"message": "very\nlong " * 500}, {})
    assert len(str(error)) < 450
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_waits_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_waits_until_a_date_count_from_the_service_s_own_clock() -> None:
    now = datetime(2020, 1, 1, tzinfo=UTC)
    until = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": until, "date": format_datetime(now)}) == 90.0
    # Without that clock ours counts, and the date is long past.
    assert retry_after({"retry-after": until}) == 0.0
