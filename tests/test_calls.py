"""The book of calls holds every call, the failed ones too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aide.calls import RecordedModel
from aide.errors import ModelError
from aide.interfaces import Message, Request
from aide.journal import Journal
from aide.llm.scripted import ScriptedModel

REQUEST = Request("system", (Message("user", "über 😀"),), "draft", 1)


def test_a_call_and_a_failure_are_both_written(tmp_path: Path) -> None:
    times = iter([10.0, 12.5, 20.0, 21.0])
    path = tmp_path / "calls.jsonl"
    with Journal(path, sync=False) as book:
        model = RecordedModel(ScriptedModel(["answer"]), book, clock=lambda: next(times))
        assert model.complete(REQUEST).text == "answer"
        with pytest.raises(ModelError):
            model.complete(REQUEST)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first["request"]["messages"] == [{"role": "user", "text": "über 😀"}]
    assert (first["reply"]["text"], first["seconds"]) == ("answer", 2.5)
    assert (second["seconds"], "end" in second["error"]) == (1.0, True)
