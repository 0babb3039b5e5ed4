"""Structured answers: their shape for a model, and reading what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from aide.errors import ReplyError
from aide.interfaces import Form
from aide.operators.base import oneline, render

_JSON_FENCE = re.compile(r"^ {0,3}```[ \t]*json[ \t]*\n(.*?)^ {0,3}```[ \t]*$", re.M | re.S | re.I)
_TAG = re.compile(r"</?tool_call>")
_DROPPED = frozenset({"title", "description", "default"})
_REASONS = 3
_REASON_CHARS = 400


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Program(_Answer):
    """A whole program with its plan."""

    plan: str
    code: str


class Edit(_Answer):
    """One search/replace block."""

    search: str
    replace: str


class Change(_Answer):
    """A change of a solution: blocks, or a whole program in their place."""

    plan: str
    edits: list[Edit]
    code: str


class Advice(_Answer):
    """One line of advice."""

    advice: str


_SomeAnswer = TypeVar("_SomeAnswer", bound=_Answer)


@lru_cache
def form_of(answer: type[_Answer]) -> Form:
    """The form of an answer: a strict JSON schema without references, titles and defaults."""
    schema = answer.model_json_schema()
    name = answer.__name__.lower()
    return Form(name, render("form.j2", name=name), _strict(schema, schema.get("$defs", {})))


def _strict(schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _strict(named[schema["$ref"].rpartition("/")[2]], named)
    made = {key: value for key, value in schema.items() if key not in _DROPPED | {"$defs"}}
    if "items" in made:
        made["items"] = _strict(made["items"], named)
    if "properties" in made:
        fields = made["properties"].items()
        made["properties"] = {field: _strict(value, named) for field, value in fields}
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


def validated(answer: type[_SomeAnswer], data: Mapping[str, Any]) -> _SomeAnswer:
    """A structured answer that has all its fields.

    Raises:
        ReplyError: it does not; the message names the first three faults.
    """
    # A lone surrogate, which JSON can hold, could not be written to any file.
    clean = json.loads(json.dumps(dict(data), ensure_ascii=False).encode("utf-8", "replace"))
    try:
        return answer.model_validate(clean)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].lower()}"
            for fault in error.errors()[:_REASONS]
        ]
        said = oneline("; ".join(faults), _REASON_CHARS)
        raise ReplyError(f"its fields are not those of the form: {said}") from error


def object_in(text: str, answer: type[_Answer]) -> Mapping[str, Any] | None:
    """A structured answer that a model wrote as text: a JSON object, bare, in a fence or in a
    tool call that is written out.

    Returns:
        The object, with empty text and lists for fields that it lacks; None if there is no object
        that has a field of the form besides the plan.
    """
    fenced = _JSON_FENCE.search(text)
    found = _arguments(_parsed(fenced[1] if fenced else _TAG.sub("", text)))
    fields = answer.model_fields
    if found is None or not (found.keys() & fields.keys() - {"plan"}):
        return None
    # What was not held to the form may well leave out a field that has nothing to say.
    empty = {name: [] if name == "edits" else "" for name in fields}
    return empty | {name: value for name, value in found.items() if name in fields}


def _arguments(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a tool call hands to its tool; an object that is no call stays as it is."""
    given = (found or {}).get("arguments")
    given = _parsed(given) if isinstance(given, str) else given
    return given if isinstance(given, dict) else found


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        # Not strict: small models write a program's line ends as they are.
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
