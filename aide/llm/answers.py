"""Reading what providers answer, whatever a server makes of its protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from aide.interfaces import Form

_FENCE = re.compile(r"^```json[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_CALL = re.compile(r"\s*<tool_call>(.*)</tool_call>\s*", re.DOTALL)


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or None; raw line ends in its texts are let pass."""
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def object_in(text: str, form: Form) -> Mapping[str, Any] | None:
    """The answer to a form in a plain text: all of it, or its one ```json fence.

    Servers that cannot hold a model to a form hand its tool call on as text; it is opened. An
    object without all that the form requires is part of a plain answer, and not taken.
    """
    call, fences = _CALL.fullmatch(text), _FENCE.findall(text)
    whole = json_object(call[1] if call else text)
    found = json_object(fences[0]) if whole is None and len(fences) == 1 else whole
    required = frozenset(form.schema.get("required", ()))
    for data in (found, _arguments(found)):
        if data and required <= data.keys():
            return data
    return None


def _arguments(call: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What a tool call that is written out hands to the tool."""
    if call is None or "name" not in call:
        return None
    keys = ("arguments", "parameters", "input")
    given = next((call[key] for key in keys if key in call), None)
    return json_object(given) if isinstance(given, str) else mapping(given)


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object of JSON, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list of JSON; none if it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def count(value: object) -> int:
    """A number of tokens; 0 if it is missing or none."""
    return max(0, value) if isinstance(value, int) else 0


def text_of(value: object) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def sendable(text: str) -> str:
    """The text without what UTF-8 cannot carry, such as half a pair of surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
