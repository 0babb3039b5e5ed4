"""The models of both providers in front of a service on loopback, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from aide.interfaces import Form, Message, Model, Reply, Request, Usage
from aide.llm.anthropic import AnthropicModel
from aide.llm.openai import OpenAIModel
from benchmarks.loopback import Brain, Loopback
from benchmarks.wire import Exchange, Server

SECONDS = 5.0
NAMES = {"anthropic": "qwen", "openai": "gpt-qwen"}
"""Models that are held to a form behind a base URL."""
FORM = Form(
    "program",
    "a program",
    {
        "type": "object",
        "properties": {"plan": {"type": "string"}, "code": {"type": "string"}},
        "required": ["plan", "code"],
        "additionalProperties": False,
    },
)
REQUEST = Request("You write programs. " * 20, (Message("user", "Write one."),), "draft", 7)
VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORG_ID",
)


class Maker(Protocol):
    def __call__(
        self, argument: str, *, effort: str | None = None, seconds: float = 600
    ) -> Model: ...


MAKERS: Mapping[str, Maker] = {"anthropic": AnthropicModel, "openai": OpenAIModel}


def url(provider: str, service: Loopback) -> str:
    return service.anthropic_url if provider == "anthropic" else service.openai_url


def model_of(
    provider: str,
    service: Loopback,
    name: str = "",
    *,
    effort: str | None = None,
    seconds: float = SECONDS,
) -> Model:
    """A provider's model, behind a service."""
    argument = f"{name or NAMES[provider]}@{url(provider, service)}"
    return MAKERS[provider](argument, effort=effort, seconds=seconds)


@contextmanager
def answering(provider: str, status: int, body: bytes, **headers: str) -> Iterator[Model]:
    """A provider's model, behind a server that gives one answer to everything."""

    def handle(exchange: Exchange, _: dict[str, Any]) -> None:
        exchange.send(status, body, **headers)

    wait: Callable[[float], bool] = threading.Event().wait
    server = Server(("127.0.0.1", 0), handle, wait)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield MAKERS[provider](f"qwen@http://127.0.0.1:{server.server_port}", seconds=SECONDS)
    finally:
        server.shutdown()
        server.server_close()
        server.cut()


@dataclass
class Bench:
    """One service for many tests, and the model of each provider in front of it."""

    service: Loopback
    models: Mapping[str, Model]

    def begin(self, provider: str, brain: Brain, *args: Any, **named: Any) -> Model:
        """The service as new; the arguments are those of `Loopback.begin`."""
        self.service.begin(brain, *args, **named)
        return self.models[provider]


@contextmanager
def open_bench() -> Iterator[Bench]:
    with Loopback(echo) as service:
        yield Bench(service, {provider: model_of(provider, service) for provider in MAKERS})


def echo(request: Request) -> str:
    return f"You said {request.messages[-1].text}"


def thought(request: Request) -> Reply:
    """An answer that is structured if that was asked for."""
    data = {"plan": "mean", "code": "print('ä')"}
    return Reply("in words", "brain", Usage(), data=data if request.form else None)
