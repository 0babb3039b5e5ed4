"""Each operator's requests go to its own model."""

from __future__ import annotations

import pytest

from aide.errors import ModelError
from aide.interfaces import Message, Request
from aide.llm.scripted import ScriptedModel
from aide.routes import Routes


def request(operator: str) -> Request:
    return Request("", (Message("user", "hello"),), operator, 1)


def test_an_operator_has_its_own_model_and_the_others_the_default() -> None:
    model = Routes(ScriptedModel(["default"], cycle=True), {"debug": ScriptedModel(["debugger"])})
    assert model.name == "scripted"
    answers = [model.complete(request(name)).text for name in ("draft", "debug", "improve")]
    assert answers == ["default", "debugger", "default"]
    # Its errors are its own too: nothing else stands in.
    with pytest.raises(ModelError, match="at its end"):
        model.complete(request("debug"))
