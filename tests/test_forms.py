"""Structured answers: the shape that is asked for, and what is made of what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from aide.errors import ReplyError
from aide.interfaces import Context, Reply, Request, Usage
from aide.llm.scripted import ScriptedModel
from aide.operators.draft import Draft
from aide.operators.forms import Advice, Change, Program, form_of, object_in, validated
from aide.operators.improve import Improve
from aide.operators.reply import change_in, plan_in, program_in
from tests.trees import LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

OLD = "model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))"
NEW = OLD.replace("1.0", "0.1")
EDITED = PROGRAM.replace(OLD, NEW)
EDIT = {"search": OLD, "replace": NEW}
CHANGE = {"plan": "Regularise.", "edits": [EDIT], "code": ""}
WHOLE = {"plan": "A plan.", "code": PROGRAM}


class Structured:
    """A model that answers in the form it is asked for: its script's lines are JSON objects.

    A line that is not JSON is an answer in plain text, as of a model that could not call a tool.
    """

    name = "structured"

    def __init__(self, *lines: str) -> None:
        self._model, self.requests = ScriptedModel(lines), list[Request]()

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        reply = self._model.complete(request)
        try:
            data = json.loads(reply.text)
        except ValueError:
            return reply
        return Reply(reply.text, reply.model, reply.usage, data=data)


def structured(data: Mapping[str, Any]) -> Reply:
    return Reply(json.dumps(data), "m", Usage(calls=1), data=data)


def plain(text: str) -> Reply:
    return Reply(text, "m", Usage(calls=1))


def context(*values: float) -> Context:
    parents = tuple(node(n, value=value) for n, value in enumerate(values, 1))
    return Context(TASK, PREVIEW, PACKAGES, parents, (), (), 0, {}, LIMITS, 5)


def parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas within it."""
    yield schema
    for inner in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        yield from parts(inner)


@pytest.mark.parametrize("answer", [Program, Change, Advice])
def test_a_schema_is_strict(answer: type[Program]) -> None:
    form = form_of(answer)
    assert form.description
    assert "$" not in json.dumps(form.schema)
    for part in parts(form.schema):
        assert set(part) <= {"type", "properties", "required", "additionalProperties", "items"}
        if part["type"] == "object":
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False
    assert form.schema["required"] == list(answer.model_fields)


def test_structured_answers_become_programs() -> None:
    written = program_in(structured(WHOLE))
    assert (written.plan, written.code, written.flags) == ("A plan.", PROGRAM, ())
    fenced = {"plan": "A plan.", "code": f"```python\n{PROGRAM}```"}
    assert program_in(structured(fenced)) == written
    written = change_in(structured(CHANGE), PROGRAM)
    assert (written.plan, written.code, written.flags) == ("Regularise.", EDITED, ())
    whole = {"plan": "Anew.", "edits": [], "code": EDITED.strip().replace("\n", "\r\n")}
    assert change_in(structured(whole), PROGRAM).code == EDITED
    assert change_in(structured(whole), PROGRAM).flags == ("rewrite",)


@pytest.mark.parametrize(
    ("search", "replace", "gives"),
    [
        (OLD + "\n", NEW + "\n", EDITED),
        (OLD + "\r\n", NEW, EDITED),
        (OLD + "\n", "", PROGRAM.replace(OLD + "\n", "")),
        (OLD, f"{NEW}\n\nx = 1", EDITED.replace(NEW, f"{NEW}\n\nx = 1")),
        (OLD + "\nmodel.fit(", "x", None),
        ("", "x = 1", None),
        (OLD, OLD, None),
    ],
)
def test_an_edit_is_whole_lines(search: str, replace: str, gives: str | None) -> None:
    data = structured(CHANGE | {"edits": [{"search": search, "replace": replace}]})
    if gives is None:
        with pytest.raises(ReplyError):
            change_in(data, PROGRAM)
    else:
        assert change_in(data, PROGRAM).code == gives


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"plan": "A."}, "edits: field required; code: field required"),
        (CHANGE | {"edits": "none"}, "edits: input should be a valid list"),
        (CHANGE | {"edits": [{"search": OLD}]}, "edits.0.replace: field required"),
        (CHANGE | {"more": 1}, "more: extra inputs are not permitted"),
        (CHANGE | {"code": 3}, "code: input should be a valid string"),
        (CHANGE | {"edits": []}, "it holds neither edits nor a whole program"),
        (CHANGE | {"edits": [EDIT, EDIT]}, "blocks 1 and 2 change the same lines"),
        ({"\ud800": "x" * 9000}, "plan: field required"),
    ],
)
def test_a_wrong_structure_is_asked_for_again(data: Mapping[str, Any], reason: str) -> None:
    """The one repair round; what comes then may be plain text too."""
    with pytest.raises(ReplyError, match=reason):
        change_in(structured(data), PROGRAM)
    for second in (json.dumps(CHANGE), f"A.\n```python\n{EDITED}```"):
        model = Structured(json.dumps(data), second)
        candidate = Improve().propose(context(0.5), model)
        assert (candidate.status, candidate.code) == ("ok", EDITED)
        assert reason in model.requests[1].messages[-1].text
        assert len(model.requests[1].messages[-1].text) < 700
        assert model.requests[1].messages[1].text == json.dumps(data)
        assert model.requests[1].form == model.requests[0].form == form_of(Change)


def test_a_draft_is_asked_for_by_its_form() -> None:
    model = Structured(json.dumps(WHOLE))
    candidate = Draft().propose(context(), model)
    assert (candidate.plan, candidate.code, candidate.status) == ("A plan.", PROGRAM, "ok")
    assert model.requests[0].form == form_of(Program)


def test_a_rejected_structure_keeps_its_plan() -> None:
    data = json.dumps({"plan": "Trees.", "code": "x = ("})
    candidate = Draft().propose(context(), Structured(data, data, data))
    assert (candidate.status, candidate.plan) == ("rejected", "Trees.")
    assert plan_in(structured({"plan": 3})) == ""
    assert plan_in(plain("Trees.\n```\n")) == "Trees."


def test_a_lone_surrogate_in_a_structure_does_not_reach_a_file() -> None:
    data = {"plan": "A \ud800.", "code": PROGRAM.replace("Log", "\ud800Log", 1)}
    for reply in (structured(data), plain(json.dumps(data))):
        written = program_in(reply)
        assert (written.plan + written.code).encode().count(b"?") == 2


LINES_AS_THEY_ARE = json.dumps(WHOLE).replace("\\n", "\n")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(WHOLE),
        "\n " + json.dumps(WHOLE, indent=2) + "\n",
        f"Here it is:\n\n```json\n{json.dumps(WHOLE)}\n```\nDone.",
        f"``` JSON\n{json.dumps(WHOLE, indent=1)}\n```",
        LINES_AS_THEY_ARE,
        json.dumps({"code": PROGRAM}),
        json.dumps(WHOLE | {"confidence": 0.9}),
        json.dumps({"name": "program", "arguments": WHOLE}),
        f"<tool_call>\n{json.dumps({'name': 'program', 'arguments': WHOLE})}\n</tool_call>",
        json.dumps({"name": "program", "arguments": json.dumps(WHOLE)}),
        f'```json\n{{"note": "no answer"}}\n```\n```python\n{PROGRAM}```',
    ],
)
def test_an_object_in_plain_text_is_read(text: str) -> None:
    assert program_in(plain(text)).code == PROGRAM


def test_a_change_as_an_object_in_plain_text_is_read() -> None:
    fenced = f"```json\n{json.dumps({'plan': 'A.', 'edits': [EDIT]})}\n```"
    assert change_in(plain(fenced), PROGRAM).code == EDITED
    assert change_in(plain(json.dumps(CHANGE)), PROGRAM).plan == "Regularise."


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[1]", '{"plan": "x"}', "{" * 5000, "```json\n[]\n```", '{"arguments": 1}'],
)
def test_other_text_is_no_object(text: str) -> None:
    assert object_in(text, Change) is None


def test_validated_names_at_most_three_faults() -> None:
    with pytest.raises(ReplyError) as caught:
        validated(Change, {str(number): 1 for number in range(50)})
    assert str(caught.value).count(";") == 2
