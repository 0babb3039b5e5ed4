"""What both SDKs send to a real server on loopback: forms, parameters, keys, conversations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aide.errors import ContextTooLongError, ModelUnusableError, TransientModelError
from aide.interfaces import Message, Request
from aide.llm.openai import OpenAIModel
from benchmarks.loopback import Loopback
from benchmarks.protocols import Protocol
from tests.provider_models import (
    FORM,
    MAKERS,
    REQUEST,
    VARIABLES,
    Bench,
    echo,
    model_of,
    open_bench,
    thought,
    url,
)

ROOT = Path(__file__).parents[1]
both = pytest.mark.parametrize("provider", ["anthropic", "openai"])
# One process imports the SDKs, which takes seconds.
pytestmark = pytest.mark.xdist_group("sdk")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as opened:
        yield opened


@both
def test_a_form_is_asked_for_and_its_data_come_back(bench: Bench, provider: Protocol) -> None:
    reply = bench.begin(provider, thought).complete(replace(REQUEST, form=FORM))
    body = bench.service.bodies[-1]
    assert reply.data == {"plan": "mean", "code": "print('ä')"}
    assert json.loads(reply.text) == reply.data
    if provider == "anthropic":
        [tool] = body["tools"]
        assert (tool["name"], tool["strict"]) == ("program", True)
        assert tool["input_schema"] == FORM.schema
        assert (body["tool_choice"]["type"], body["tool_choice"]["name"]) == ("tool", "program")
    else:
        assert body["response_format"]["json_schema"]["schema"] == FORM.schema
        assert body["response_format"]["json_schema"]["strict"] is True


@both
def test_a_structured_answer_that_was_cut_has_no_data(bench: Bench, provider: Protocol) -> None:
    model = bench.begin(provider, thought)
    reply = model.complete(replace(REQUEST, form=FORM, max_tokens=4))
    assert (reply.stop, reply.data) == ("length", None)


ANSWER = {"plan": "a", "code": "b"}
JSON = json.dumps(ANSWER)
PLAIN: list[tuple[str, Any]] = [
    (JSON, ANSWER),
    (f"Here:\n```json\n{JSON}\n```\nDone.", ANSWER),
    ('{"plan": "a", "code": "x = 1\ny = 2"}', {"plan": "a", "code": "x = 1\ny = 2"}),
    # Tool calls of servers that do not hold their models to the tool.
    (f'{{"name": "program", "arguments": {JSON}}}', ANSWER),
    (f'```json\n{{"name": "program", "parameters": {JSON}}}\n```', ANSWER),
    (json.dumps({"name": "program", "arguments": JSON}), ANSWER),
    (f'<tool_call>\n{{"name": "program", "arguments": {JSON}}}\n</tool_call>', ANSWER),
    # What is no answer to the form is left to be read as text.
    ('{"name": "program", "arguments": [1]}', None),
    ('{"name": "program"}', None),
    ('{"plan": "a"}', None),
    ('A plan.\n```python\nx = {}\n```\n```json\n{"accuracy": 0.8}\n```', None),
    (f"```json\n{JSON}\n```\n```json\n{JSON}\n```", None),
    ("```json\n{'a': 1}\n```", None),
    ("[1, 2]", None),
    ("[" * 100_000, None),
]


@both
@pytest.mark.parametrize(("text", "data"), PLAIN)
def test_a_form_that_is_answered_in_plain_text(
    bench: Bench, provider: Protocol, text: str, data: Any
) -> None:
    model = bench.begin(provider, lambda _: text)
    reply = model.complete(replace(REQUEST, form=FORM, max_tokens=50_000))
    assert (reply.text, reply.data) == (text, data)
    assert model.complete(replace(REQUEST, max_tokens=50_000)).data is None


@both
def test_a_server_without_structured_answers_is_asked_in_plain_text(provider: Protocol) -> None:
    asked = replace(REQUEST, form=FORM)
    with Loopback(lambda _: JSON, forms=False) as service:
        model = model_of(provider, service)
        with pytest.raises(TransientModelError) as caught:
            model.complete(asked)
        assert (caught.value.kind, caught.value.retry_after) == ("server", 0.0)
        assert not caught.value.billed
        for _ in range(2):
            assert model.complete(asked).data == ANSWER
        assert service.requests[provider] == 3
        assert not {"tools", "tool_choice", "response_format"} & set(service.bodies[-1])


@both
def test_a_form_does_not_hide_what_else_is_wrong(bench: Bench, provider: Protocol) -> None:
    model = bench.begin(provider, thought, {0: "context", 1: "credit", 2: "401", 3: "500"})
    asked = replace(REQUEST, form=FORM)
    for kind in (ContextTooLongError, ModelUnusableError, ModelUnusableError, TransientModelError):
        with pytest.raises(kind):
            model.complete(asked)
    assert model.complete(asked).data is not None


def sent(bench: Bench, provider: Protocol, name: str, effort: str | None = "low") -> Any:
    """The body of a request as the service saw it."""
    bench.begin(provider, echo)
    model_of(provider, bench.service, name, effort=effort).complete(replace(REQUEST, form=FORM))
    return bench.service.bodies[-1]


@pytest.mark.parametrize(
    ("provider", "name", "there"),
    [
        ("openai", "qwen", {"temperature": 0.7, "seed": 7, "max_tokens": 8192}),
        ("openai", "gpt-6.2-sol", {"reasoning_effort": "low", "max_completion_tokens": 8192}),
        ("openai", "openai/gpt-6-luna", {"reasoning_effort": "low"}),
        ("openai", "gpt-4.1-mini", {"seed": 7, "max_completion_tokens": 8192}),
        ("anthropic", "qwen", {"max_tokens": 8192}),
        ("anthropic", "claude-haiku-4-5-20251001", {"max_tokens": 8192}),
        (
            "anthropic",
            "claude-opus-5-5",
            {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}},
        ),
    ],
)
def test_a_model_gets_only_the_parameters_that_it_takes(
    bench: Bench, provider: Protocol, name: str, there: dict[str, Any]
) -> None:
    body = sent(bench, provider, name)
    assert there.items() <= body.items()
    optional = {"temperature", "seed", "reasoning_effort", "output_config", "thinking"}
    assert optional & set(body) == optional & set(there)
    assert ("max_tokens" in body) != ("max_completion_tokens" in body)
    # Only OpenAI's own service is told where its cache for this prompt is.
    assert "prompt_cache_key" not in body


def test_a_model_that_always_thinks_chooses_its_tool_itself(bench: Bench) -> None:
    assert sent(bench, "anthropic", "claude-opus-5-5")["tool_choice"]["type"] == "auto"
    assert sent(bench, "anthropic", "claude-haiku-4-5")["tool_choice"]["type"] == "tool"


@both
def test_no_effort_is_sent_if_none_is_given(bench: Bench, provider: Protocol) -> None:
    name = "gpt-6.2-sol" if provider == "openai" else "claude-opus-5-5"
    assert not {"reasoning_effort", "output_config"} & set(sent(bench, provider, name, None))


@both
def test_the_whole_conversation_is_sent(bench: Bench, provider: Protocol) -> None:
    def recite(request: Request) -> str:
        return json.dumps([request.system, *map(str, request.messages)])

    turns = (Message("user", "a"), Message("assistant", "b\ud800"), Message("user", "ü"))
    reply = bench.begin(provider, recite).complete(replace(REQUEST, messages=turns))
    seen = (turns[0], Message("assistant", "b?"), turns[2])
    assert json.loads(reply.text) == [REQUEST.system, *map(str, seen)]


@both
def test_base_url_and_key_come_from_the_environment(
    provider: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "somebody")
    with Loopback(echo) as service:
        base = url(provider, service)
        MAKERS[provider](f"qwen@{base}").complete(REQUEST)
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", base + "/")
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "a-secret")
        model = MAKERS[provider]("qwen")
        model.complete(REQUEST)
        bare, keyed = service.headers
    assert model.name == f"{provider}:qwen@{base}"
    assert (bare["authorization"], keyed["authorization"]) == ("Bearer none", "Bearer a-secret")
    assert "openai-organization" not in keyed


def test_openai_s_own_service_is_told_which_cache_a_head_is_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    # That service cannot be reached from here, so the body is looked at before it is sent.
    model = OpenAIModel("gpt-6-luna")
    asked = [REQUEST, replace(REQUEST, seed=8), replace(REQUEST, system="another")]
    first, second, other = (model._body(one, None)["prompt_cache_key"] for one in asked)
    assert first == second != other
    assert len(first) == 32


@both
def test_a_proxy_is_not_asked_about_this_machine(
    provider: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Loopback(echo) as service:
        assert model_of(provider, service).complete(REQUEST).text == "You said Write one."


def test_a_missing_sdk_is_said_with_its_command(tmp_path: Path) -> None:
    for provider in MAKERS:
        (tmp_path / f"{provider}.py").write_text("raise ModuleNotFoundError('not installed')\n")
    program = (
        "from aide.errors import UnavailableError\n"
        "from aide.llm import MODELS\n"
        "from aide.registry import find\n"
        "for name in ('anthropic', 'openai'):\n"
        "    try: find('model', name, MODELS)('qwen@http://127.0.0.1:9')\n"
        "    except UnavailableError as error: print(error)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": "", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    said = result.stdout.splitlines()
    assert len(said) == 2
    for line, name in zip(said, MAKERS, strict=True):
        assert f"pip install 'aide-search[{name}]'" in line
