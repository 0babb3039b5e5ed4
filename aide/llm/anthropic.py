"""Anthropic's Messages, and other servers that speak their protocol. One attempt a call."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from aide.clock import Clock
from aide.errors import ModelError, UnavailableError
from aide.interfaces import Form, Reply, Request, Usage
from aide.llm.answers import count, items, json_object, mapping, object_in, sendable, text_of
from aide.llm.catalog import quirks
from aide.llm.endpoint import Service, endpoint
from aide.llm.failures import (
    connection_failure,
    refuses_forms,
    status_failure,
    timeout_failure,
    truncated,
    without_forms,
)

if TYPE_CHECKING:
    from anthropic import Anthropic

SERVICE = Service(
    provider="anthropic",
    url="https://api.anthropic.com",
    path="",
    key="ANTHROPIC_API_KEY",
    base="ANTHROPIC_BASE_URL",
)
CONNECT = 10.0
"""Seconds for a connection to be made."""

Stop: TypeAlias = Literal["end", "length", "refusal"]

_END: Stop = "end"
_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicModel:
    """A model behind Anthropic's protocol. Safe in threads; never retries, never prices.

    The system prompt is marked for the cache. A structured answer is asked for as the call of a
    strict tool; a server that refuses that is asked in plain text from then on.

    Args:
        argument: "MODEL" or "MODEL@BASE_URL"; see `aide.llm.endpoint.endpoint`.
        effort: how hard to think, for models that can be told.
        seconds: the longest silence that is waited through.

    Raises:
        ConfigError, ModelUnusableError: see `endpoint`.
        UnavailableError: the SDK is not installed.
    """

    def __init__(self, argument: str, *, effort: str | None = None, seconds: float = 600) -> None:
        self._at = endpoint(SERVICE, argument)
        self._quirks = quirks(SERVICE.provider, self._at.model_at)
        self._effort, self._seconds = effort, seconds
        self._takes_forms = self._quirks.structured != "text"
        self._clock = Clock()
        self._client = self._connect()
        # Models have no end of their own; this closes the connections with the last reference.
        weakref.finalize(self, self._client.close)

    @property
    def name(self) -> str:
        return self._at.name

    def _connect(self) -> Anthropic:
        try:
            import anthropic
        except ImportError as error:
            raise UnavailableError(
                "the model needs Anthropic's SDK: pip install 'aide-search[anthropic]'"
            ) from error
        return anthropic.Anthropic(
            api_key=self._at.key,
            base_url=self._at.url,
            max_retries=0,
            timeout=anthropic.Timeout(self._seconds, connect=CONNECT),
            open_telemetry=False,
            http_client=anthropic.DefaultHttpxClient(**self._at.transport),
        )

    def complete(self, request: Request) -> Reply:
        """Ask once.

        A server that leaves out the usage gives tokens 0: what is not told is not guessed.

        Raises:
            TransientModelError, ContextTooLongError, ModelUnusableError, ModelError: as
                `aide.llm.failures` tells them apart.
        """
        start = self._clock.now()
        form = request.form if self._takes_forms else None
        body = mapping(json_object(self._send(self._body(request, form), form)))
        if "content" not in body:
            raise truncated(self._at, "it is no message")
        return self._reply(body, request.form, self._clock.now() - start)

    def _send(self, body: Mapping[str, Any], form: Form | None) -> str:
        import anthropic

        try:
            answer: Any = self._client.messages.with_raw_response.create(
                **body,
                # Given with the call too: else the SDK refuses long answers that do not stream.
                timeout=anthropic.Timeout(self._seconds, connect=CONNECT),
            )
        except anthropic.APITimeoutError as error:
            raise timeout_failure(self._at, error.__cause__, self._seconds) from error
        except anthropic.APIConnectionError as error:
            raise connection_failure(self._at, error.__cause__) from error
        except anthropic.APIStatusError as error:
            if form is not None and refuses_forms(self._at, error.status_code, error.body):
                self._takes_forms = False
                raise without_forms(self._at) from error
            headers = error.response.headers
            raise status_failure(self._at, error.status_code, error.body, headers) from error
        except anthropic.AnthropicError as error:
            raise ModelError(f"{self.name} cannot be asked: {error}") from error
        return str(answer.http_response.text)

    def _body(self, request: Request, form: Form | None) -> dict[str, Any]:
        quirks = self._quirks
        body: dict[str, Any] = {
            "model": self._at.model,
            "max_tokens": request.max_tokens,
            "messages": [
                {"role": message.role, "content": sendable(message.text)}
                for message in request.messages
            ],
        }
        if request.system:
            head = {"type": "text", "text": sendable(request.system)}
            body["system"] = [head | {"cache_control": {"type": "ephemeral"}}]
        if quirks.thinking:
            body["thinking"] = {"type": quirks.thinking}
        if self._effort and quirks.effort:
            body["output_config"] = {"effort": self._effort}
        if form is not None:
            body["tools"] = [
                {
                    "name": form.name,
                    "description": form.description,
                    "input_schema": dict(form.schema),
                    "strict": True,
                }
            ]
            choice = {"type": "tool", "name": form.name} if quirks.forced else {"type": "auto"}
            body["tool_choice"] = choice | {"disable_parallel_tool_use": True}
        # Through extra_body, since the SDK's own methods no longer know these.
        if quirks.temperature is not None:
            body["extra_body"] = {"temperature": quirks.temperature}
        return body

    def _reply(self, body: Mapping[str, Any], form: Form | None, seconds: float) -> Reply:
        blocks = items(body["content"])
        text = "".join(text_of(block.get("text")) for block in blocks if _type(block) == "text")
        calls = [block.get("input") for block in blocks if _type(block) == "tool_use"]
        stop = _STOPS.get(text_of(body.get("stop_reason")), _END)
        data: Mapping[str, Any] | None = None
        if form is not None and calls:
            # An answer that was cut may hold a call with half of its input.
            data = mapping(calls[0]) or None
            text = json.dumps(calls[0], ensure_ascii=False)
        elif form is not None:
            data = object_in(text, form)
        return Reply(
            text,
            text_of(body.get("model")) or self._at.model,
            _usage(mapping(body.get("usage"))),
            stop,
            seconds,
            data if stop == "end" else None,
        )


def _type(block: Mapping[str, Any]) -> str:
    return text_of(block.get("type"))


def _usage(told: Mapping[str, Any]) -> Usage:
    """The usage as the books count it: the protocol's input leaves out the cache's tokens."""
    cached = count(told.get("cache_read_input_tokens"))
    written = count(told.get("cache_creation_input_tokens"))
    return Usage(
        calls=1,
        tokens_in=count(told.get("input_tokens")) + cached + written,
        tokens_out=count(told.get("output_tokens")),
        tokens_cached=cached,
        usd=None,
        tokens_written=written,
    )
