"""OpenAI's Chat Completions, and the many servers that speak them. One attempt a call."""

from __future__ import annotations

import hashlib
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
    from openai import OpenAI

SERVICE = Service(
    provider="openai",
    url="https://api.openai.com/v1",
    path="/v1",
    key="OPENAI_API_KEY",
    base="OPENAI_BASE_URL",
)
CONNECT = 10.0
"""Seconds for a connection to be made."""

Stop: TypeAlias = Literal["end", "length", "refusal"]

_END: Stop = "end"
_REFUSAL: Stop = "refusal"
_STOPS: Mapping[str, Stop] = {
    "length": "length",
    "content_filter": "refusal",
}


class OpenAIModel:
    """A model behind OpenAI's protocol. Safe in threads; never retries, never prices.

    The system prompt comes first, for the automatic cache. A structured answer is asked for by
    its JSON schema; a server that refuses that is asked in plain text from then on.

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

    def _connect(self) -> OpenAI:
        try:
            import openai
        except ImportError as error:
            raise UnavailableError(
                "the model needs OpenAI's SDK: pip install 'aide-search[openai]'"
            ) from error
        client = openai.OpenAI(
            api_key=self._at.key,
            base_url=self._at.url,
            max_retries=0,
            timeout=openai.Timeout(self._seconds, connect=CONNECT),
            http_client=openai.DefaultHttpxClient(**self._at.transport),
        )
        if not self._at.own:
            # The SDK reads these from the environment; they are nobody else's business.
            client.organization = client.project = None
        return client

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
        if "choices" not in body:
            raise self._no_answer(body)
        return self._reply(body, request.form, self._clock.now() - start)

    def _send(self, body: Mapping[str, Any], form: Form | None) -> str:
        import openai

        try:
            answer: Any = self._client.chat.completions.with_raw_response.create(**body)
        except openai.APITimeoutError as error:
            raise timeout_failure(self._at, error.__cause__, self._seconds) from error
        except openai.APIConnectionError as error:
            raise connection_failure(self._at, error.__cause__) from error
        except openai.APIStatusError as error:
            if form is not None and refuses_forms(self._at, error.status_code, error.body):
                self._takes_forms = False
                raise without_forms(self._at) from error
            headers = error.response.headers
            raise status_failure(self._at, error.status_code, error.body, headers) from error
        except openai.OpenAIError as error:
            raise ModelError(f"{self.name} cannot be asked: {error}") from error
        return str(answer.http_response.text)

    def _body(self, request: Request, form: Form | None) -> dict[str, Any]:
        quirks = self._quirks
        turns = [{"role": message.role, "content": message.text} for message in request.messages]
        if request.system:
            turns.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": self._at.model,
            "messages": [turn | {"content": sendable(turn["content"])} for turn in turns],
            quirks.max_tokens: request.max_tokens,
        }
        if quirks.temperature is not None:
            body["temperature"] = quirks.temperature
        if quirks.seed:
            body["seed"] = request.seed
        if self._effort and quirks.effort:
            body["reasoning_effort"] = self._effort
        if self._at.own:
            # Requests with one head go to one machine there, where its cache is.
            head = hashlib.sha256(sendable(request.system).encode()).hexdigest()
            body["prompt_cache_key"] = head[:32]
        if form is not None:
            schema = {
                "name": form.name,
                "description": form.description,
                "schema": dict(form.schema),
                "strict": True,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _no_answer(self, body: Mapping[str, Any]) -> ModelError:
        """The error for a 200 without an answer; routers wrap other services' errors like that."""
        error = mapping(body.get("error"))
        if not error:
            return truncated(self._at, "it is no chat completion")
        status = count(error.get("code"))
        return status_failure(self._at, status if status >= 400 else 500, body, {})

    def _reply(self, body: Mapping[str, Any], form: Form | None, seconds: float) -> Reply:
        choice = next(iter(items(body["choices"])), {})
        message = mapping(choice.get("message"))
        refusal = text_of(message.get("refusal"))
        text = refusal or _text(message.get("content"))
        stop = _REFUSAL if refusal else _STOPS.get(text_of(choice.get("finish_reason")), _END)
        return Reply(
            text,
            text_of(body.get("model")) or self._at.model,
            _usage(mapping(body.get("usage"))),
            stop,
            seconds,
            object_in(text, form) if form is not None and stop == "end" else None,
        )


def _text(content: object) -> str:
    """The text of a message: some servers send it in parts, as it can be in a request."""
    parts = items(content)
    return "".join(text_of(part.get("text")) for part in parts) if parts else text_of(content)


def _usage(told: Mapping[str, Any]) -> Usage:
    details = mapping(told.get("prompt_tokens_details"))
    return Usage(
        calls=1,
        tokens_in=count(told.get("prompt_tokens")),
        tokens_out=count(told.get("completion_tokens")),
        tokens_cached=count(details.get("cached_tokens")),
        usd=None,
        tokens_written=count(details.get("cache_write_tokens")),
    )
