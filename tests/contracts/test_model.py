"""What holds for every model. A new one is one more line in MODELS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from aide.interfaces import Context, Message, Model, Reply, Request
from aide.llm.offline import OfflineModel
from aide.llm.scripted import ScriptedModel
from aide.operators.base import render, system_prompt
from benchmarks.loopback import Loopback
from tests.provider_models import model_of
from tests.trees import LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

ANSWER = f"A plan.\n```python\n{PROGRAM}```\n"
_services: list[Loopback] = []

MODELS: dict[str, Callable[[], Model]] = {
    "offline": OfflineModel,
    "scripted": lambda: ScriptedModel([ANSWER], cycle=True),
    "anthropic": lambda: model_of("anthropic", _services[0]),
    "openai": lambda: model_of("openai", _services[0]),
}
SDK = pytest.mark.xdist_group("sdk")

pytestmark = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[SDK] if name in ("anthropic", "openai") else [])
        for name, make in MODELS.items()
    ],
)


@pytest.fixture(autouse=True, scope="module")
def _service() -> Iterator[None]:
    """What the providers' models talk to."""
    with Loopback(lambda _: ANSWER) as service:
        _services.append(service)
        yield
        _services.clear()


def requests() -> list[Request]:
    """One request of each operator, and a conversation that goes on."""
    context = Context(TASK, PREVIEW, PACKAGES, (), (), (), 0, {}, LIMITS, 1)
    system = system_prompt(context)
    works, failed = node(1, value=0.8), node(2, reason="KeyError: 'a'", log="KeyError: 'a'\n")
    prompts = {
        "draft": render("draft.j2", siblings=(works, failed), children=2),
        "improve": render("improve.j2", parent=works, siblings=(), children=0),
        "debug": render("debug.j2", parent=failed, ancestors=(), log_chars=6000),
    }
    made = [
        Request(system, (Message("user", prompt),), operator, 5)
        for operator, prompt in prompts.items()
    ]
    draft = made[0]
    said = Message("assistant", "I do not know.")
    again = Message("user", render("again.j2", reason="it holds no program"))
    return [*made, Request(system, (*draft.messages, said, again), "draft", 6)]


def is_sound(reply: Reply) -> bool:
    used = reply.usage
    counts = (used.tokens_in, used.tokens_out, used.tokens_cached)
    return (
        bool(reply.text.strip())
        and bool(reply.model)
        and used.calls == 1
        and all(count >= 0 for count in counts)
        and (used.usd is None or used.usd >= 0)
        and reply.stop in ("end", "length", "refusal")
        and reply.seconds >= 0
    )


def test_it_has_a_name(make: Callable[[], Model]) -> None:
    assert make().name.strip()
    assert make().name == make().name


def test_every_operator_is_answered(make: Callable[[], Model]) -> None:
    model = make()
    for request in requests():
        assert is_sound(model.complete(request))


def test_a_request_is_not_changed(make: Callable[[], Model]) -> None:
    asked = requests()
    model = make()
    for request in asked:
        model.complete(request)
    assert asked == requests()


def test_it_answers_in_threads(make: Callable[[], Model]) -> None:
    model, asked = make(), requests()
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(model.complete, asked * 4))
    alone = [make().complete(request) for request in asked] * 4
    assert [reply.text for reply in together] == [reply.text for reply in alone]
