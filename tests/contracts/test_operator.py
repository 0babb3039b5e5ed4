"""What holds for every operator. A new one is one more line in OPERATORS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from aide.errors import ModelError
from aide.interfaces import Context, Model, Operator, PromptLimits, Request
from aide.llm.offline import OfflineModel
from aide.llm.scripted import ScriptedModel
from aide.operators.check import check, normalised_hash
from aide.operators.debug import Debug
from aide.operators.draft import Draft
from aide.operators.improve import Improve
from aide.operators.merge import Merge
from tests.trees import LIMITS, PACKAGES, PREVIEW, TASK, node

LESSON = "Scaling helped."
Case = tuple[Operator, Context]


def seen(*parents: int) -> Context:
    """A context over nodes that the offline model wrote: 1 and 3 work, 2 failed."""
    first, other = (
        Draft().propose(
            Context(TASK, PREVIEW, PACKAGES, (), (), (), 0, {}, LIMITS, seed), OfflineModel()
        )
        for seed in (1, 3)
    )
    reason = "ValueError: could not convert string to float: 'north'"
    nodes = {
        1: node(1, value=0.8, code=first.code, plan=first.plan),
        2: node(2, code=first.code, reason=reason, log=f"Traceback\n{reason}\n"),
        3: node(3, value=0.7, code=other.code, plan=other.plan),
    }
    chosen = tuple(nodes[parent] for parent in parents)
    known = {normalised_hash(first.code): 1, normalised_hash(other.code): 3}
    return Context(
        TASK, PREVIEW, PACKAGES, chosen, (), (), 0, known, LIMITS, 8, node=9, lessons=LESSON
    )


OPERATORS: dict[str, Callable[[], Case]] = {
    "draft": lambda: (Draft(), seen()),
    "debug": lambda: (Debug(), seen(2)),
    "improve": lambda: (Improve(), seen(1)),
    "merge": lambda: (Merge(), seen(3, 1)),
}
MODELS: dict[str, Callable[[], Model]] = {
    "offline": OfflineModel,
}

pytestmark = pytest.mark.parametrize("make", OPERATORS.values(), ids=OPERATORS.keys())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_candidate_that_may_run_is_new_and_checked(
    make: Callable[[], Case], model: Callable[[], Model]
) -> None:
    operator, context = make()
    candidate = operator.propose(context, model())
    assert (candidate.status, candidate.problem) == ("ok", "")
    check(candidate.code)
    assert normalised_hash(candidate.code) not in context.known
    assert candidate.plan
    assert 1 <= candidate.usage.calls <= 3
    # A model that keeps to the format changes a parent by blocks that fit it.
    assert "rewrite" not in candidate.flags


def test_the_same_context_asks_the_same(make: Callable[[], Case]) -> None:
    operator, context = make()
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "no"

    operator.propose(context, ScriptedModel(answer))
    operator.propose(context, ScriptedModel(answer))
    assert requests[:3] == requests[3:]
    assert {request.operator for request in requests} == {operator.name}
    assert {request.node for request in requests} == {9}


def test_a_request_holds_what_the_operator_sees(make: Callable[[], Case]) -> None:
    """Every parent's whole code, what was learned, and a strict form, within the limit."""
    operator, context = make()
    limits = PromptLimits(tokens=4000, reply=777)
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "no"

    long = replace(context, lessons=f"{LESSON}\n" * 300, prompt=limits)
    operator.propose(long, ScriptedModel(answer))
    for request in requests:
        assert request.chars <= limits.tokens * limits.chars_per_token
        assert all(parent.code in request.messages[0].text for parent in context.parents)
        assert LESSON in request.messages[0].text
        assert request.max_tokens == 777
        assert request.form is not None
        assert request.form.schema["additionalProperties"] is False
        assert request.form.schema["required"] == list(request.form.schema["properties"])


def test_useless_answers_are_a_result_after_a_bounded_number(make: Callable[[], Case]) -> None:
    operator, context = make()
    candidate = operator.propose(context, ScriptedModel(["no", "", "```\n```"], cycle=True))
    assert candidate.status == "rejected"
    assert candidate.problem
    assert candidate.code == ""
    assert candidate.usage.calls == 3


def test_a_model_that_fails_is_an_exception(make: Callable[[], Case]) -> None:
    operator, context = make()
    with pytest.raises(ModelError):
        operator.propose(context, ScriptedModel([]))
