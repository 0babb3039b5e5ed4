"""The two protocols of language models as a server sees them: requests read, answers written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from aide.interfaces import Form, Message, Reply, Request, Usage

Protocol = Literal["anthropic", "openai"]
CHARS_PER_TOKEN = 4
MOST = 8192
"""The longest answer, in tokens, if a request does not say."""

_STOPS: Mapping[Protocol, Mapping[str, str]] = {
    "anthropic": {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"},
    "openai": {"end": "stop", "length": "length", "refusal": "content_filter"},
}
ERRORS: Mapping[str, tuple[int, str, str]] = {
    "400": (400, "invalid_request_error", "this field is not known"),
    "401": (401, "authentication_error", "the key is not valid"),
    "402": (402, "billing_error", "payment is required"),
    "404": (404, "not_found_error", "there is no such model"),
    "429": (429, "rate_limit_error", "too many requests in this minute"),
    "500": (500, "api_error", "an internal error"),
    "503": (503, "unavailable_error", "the model is being loaded"),
    "529": (529, "overloaded_error", "overloaded"),
    "no-form": (400, "invalid_request_error", "structured answers cannot be had here"),
}
"""A fault's name to status, type and message. "context" and "credit" differ by protocol."""


def tokens(text: str) -> int:
    """The tokens of a text by this server's rule: a quarter of the characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def request_of(protocol: Protocol, body: Mapping[str, Any]) -> Request:
    """The request as the models of this project have it; the operator is not known, so ""."""
    turns = [(turn["role"], _text(turn["content"])) for turn in body["messages"]]
    system = _text(body.get("system", ""))
    if protocol == "openai":
        system = "".join(text for role, text in turns if role == "system")
    messages = tuple(Message(role, text) for role, text in turns if role != "system")
    longest = body.get("max_tokens") or body.get("max_completion_tokens") or MOST
    return Request(system, messages, "", int(body.get("seed", 0)), int(longest), form=_form(body))


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content)


def _form(body: Mapping[str, Any]) -> Form | None:
    if body.get("tools"):
        tool = body["tools"][0]
        return Form(tool["name"], tool["description"], tool["input_schema"])
    schema = body.get("response_format", {}).get("json_schema")
    return Form(schema["name"], schema["description"], schema["schema"]) if schema else None


@dataclass(frozen=True)
class Answer:
    """What a server sends for one request, and what it says that it used."""

    body: Mapping[str, Any]
    usage: Usage


def answer(
    protocol: Protocol, request: Request, reply: Reply, cached: int, marked: bool
) -> Answer:
    """A reply in the words of a protocol.

    Args:
        protocol: which.
        request: what was asked.
        reply: text, data and stop count; its own usage does not.
        cached: how many tokens of the prompt came from the cache.
        marked: whether the head of the prompt is to be written to the cache if it is not there.
    """
    structured = request.form is not None and reply.data is not None
    text = json.dumps(reply.data) if structured else reply.text
    stop, most = reply.stop, request.max_tokens * CHARS_PER_TOKEN
    if len(text) > most:
        text, stop, structured = text[:most], "length", False
    written = tokens(request.system) if marked and not cached else 0
    asked = tokens(request.system) + sum(tokens(turn.text) for turn in request.messages)
    usage = Usage(1, asked, tokens(text), cached, None, written)
    shown = replace(reply, text=text, stop=stop, data=reply.data if structured else None)
    build = _anthropic if protocol == "anthropic" else _openai
    return Answer(build(shown, request.form, usage), usage)


def _anthropic(reply: Reply, form: Form | None, usage: Usage) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    stop = _STOPS["anthropic"][reply.stop]
    if reply.data is not None and form is not None:
        call = {"type": "tool_use", "id": "toolu_1", "name": form.name, "input": reply.data}
        content, stop = [{"type": "text", "text": "As asked."}, call], "tool_use"
    elif reply.text:
        content = [{"type": "text", "text": reply.text}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.tokens_in - usage.tokens_cached - usage.tokens_written,
            "cache_creation_input_tokens": usage.tokens_written,
            "cache_read_input_tokens": usage.tokens_cached,
            "output_tokens": usage.tokens_out,
        },
    }


def _openai(reply: Reply, form: Form | None, usage: Usage) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.stop == "refusal":
        message |= {"content": None, "refusal": reply.text or None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [
            {"index": 0, "finish_reason": _STOPS["openai"][reply.stop], "message": message}
        ],
        "usage": {
            "prompt_tokens": usage.tokens_in,
            "completion_tokens": usage.tokens_out,
            "total_tokens": usage.tokens_in + usage.tokens_out,
            "prompt_tokens_details": {"cached_tokens": usage.tokens_cached},
        },
    }


def error(protocol: Protocol, fault: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a fault, in the words of a protocol."""
    status, kind, said = _error(protocol, fault)
    if protocol == "anthropic":
        return status, {"type": "error", "error": {"type": kind, "message": said}}
    return status, {"error": {"message": said, "type": kind, "param": None, "code": kind}}


def _error(protocol: Protocol, fault: str) -> tuple[int, str, str]:
    if fault == "context" and protocol == "anthropic":
        return 400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    if fault == "context":
        return 400, "context_length_exceeded", "this exceeds the model's context length"
    if fault == "credit" and protocol == "anthropic":
        return 400, "invalid_request_error", "your credit balance is too low"
    if fault == "credit":
        return 429, "insufficient_quota", "you have used up what you paid for"
    return ERRORS[fault]
