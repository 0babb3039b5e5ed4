"""The prompts' exact texts, and their size. To renew them: AIDE_TEST_UPDATE_GOLDEN=1 pytest."""

from __future__ import annotations

import math
import os
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from aide.context import gather
from aide.interfaces import Context, Operator, Request
from aide.llm.scripted import ScriptedModel
from aide.node import Action
from aide.operators.base import oneline, render, shorten
from aide.operators.debug import Debug
from aide.operators.draft import Draft
from aide.operators.improve import Improve
from aide.tree import Tree
from tests.trees import GOLDEN, LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

OPERATORS: dict[str, Operator] = {each.name: each for each in (Draft(), Debug(), Improve())}
LOG = (
    "fold 0\n" * 40
    + "Traceback (most recent call last):\n"
    + '  File "solution.py", line 9, in <module>\n'
    + "    model.fit(train[features], train['gone'])\n"
    + "KeyError: 'gone'\n"
)


def tree_of_a_morning() -> Tree:
    tree = Tree(maximize=True)
    tree.add(node(1, value=0.8125, se=0.0123456, plan="Logistic regression.\n\nScaled."))
    tree.add(node(2, status="rejected", reason="it holds no program", plan=""))
    tree.add(node(3, value=0.75, se=math.nan, plan="Trees, " + "very " * 80 + "deep."))
    tree.add(node(4, "improve", (1,), plan="Use the key.", reason="KeyError: 'key'"))
    tree.add(node(5, "debug", (4,), plan="Mend it.", reason="KeyError: 'gone'", log=LOG))
    tree.add(node(6, "improve", (1,), value=0.825, plan="Smaller C."))
    return tree


def asked(tree: Tree, action: Action) -> Request:
    """The first request that an operator makes of a model."""
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "```python\n" + PROGRAM + "```"

    context = gather(
        tree, action, task_info=TASK, preview=PREVIEW, packages=PACKAGES, limits=LIMITS, seed=3
    )
    OPERATORS[action.operator].propose(context, ScriptedModel(answer))
    return requests[0]


def check(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("AIDE_TEST_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", "utf-8")
    assert text + "\n" == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("draft", Action("draft")),
        ("improve", Action("improve", (1,))),
        ("improve-first", Action("improve", (3,))),
        ("debug", Action("debug", (5,))),
        ("debug-first", Action("debug", (4,))),
    ],
)
def test_golden(name: str, action: Action) -> None:
    request = asked(tree_of_a_morning(), action)
    check(name, request.messages[0].text)
    check("system", request.system)


def test_golden_first_draft() -> None:
    check("draft-first", asked(Tree(maximize=True), Action("draft")).messages[0].text)


def test_golden_again() -> None:
    check("again", render("again.j2", reason="block 2 matches 3 places"))


def test_the_system_prompt_is_the_same_for_all_actions() -> None:
    tree = tree_of_a_morning()
    actions = [Action("draft"), Action("improve", (1,)), Action("debug", (5,))]
    assert len({asked(tree, action).system for action in actions}) == 1


def test_many_classes_are_cut() -> None:
    classes = tuple(f"c{number}" for number in range(100))
    task = TASK.__class__(**{name: getattr(TASK, name) for name in TASK.__slots__} | {
        "problem": "multiclass classification", "classes": classes, "predict": "label",
        "maximize": False,
    })  # fmt: skip
    text = render("system.j2", task=task, limits=LIMITS, packages=PACKAGES, preview=PREVIEW)
    assert "c28, c29, ... (100 in all)\n- Predict: the label itself\n" in text
    assert "(lower is better)" in text


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="reason"):
        render("again.j2")


def full(width: int) -> Tree:
    """Drafts, improvements of node 1, and a chain of debugs: as many of each, all wordy."""
    tree = Tree(maximize=True)
    wordy = partial(node, plan="p" * 990, reason="r" * 500, log="line\n" * 10_000)
    for node_id in range(1, 3 * width + 1):
        if node_id <= width:
            tree.add(wordy(node_id, value=0.512345))
        elif node_id <= 2 * width:
            tree.add(wordy(node_id, "improve", (1,)))
        else:
            tree.add(wordy(node_id, "debug", (node_id - 1,)))
    return tree


def test_prompts_do_not_grow_with_the_tree() -> None:
    def sizes(width: int) -> list[int]:
        tree = full(width)
        actions = [Action("draft"), Action("improve", (1,)), Action("debug", (3 * width,))]
        requests = [asked(tree, action) for action in actions]
        return [len(each.system) + len(each.messages[0].text) for each in requests]

    for small, large in zip(sizes(8), sizes(1000), strict=True):
        assert small <= large <= 1.05 * small


def test_oneline() -> None:
    assert oneline("a\n  b\tc ", 10) == "a b c"
    assert oneline("a b c", 5) == "a b c"
    assert oneline("abcdef", 5) == "abcd…"


@settings(deadline=None)
@given(st.text("ab\n", max_size=400), st.integers(20, 100))
def test_shorten_is_bounded_and_counts_what_it_leaves_out(text: str, n: int) -> None:
    short = shorten(text, n)
    if len(text) <= n:
        assert short == text
        return
    assert len(short) <= n + 40
    head, middle, tail = short.partition("… ")
    left_out, _, tail = tail.partition(" characters left out …\n")
    assert middle
    assert text.startswith(head.rstrip())
    assert text.endswith(tail)
    kept = len(text) - int(left_out.replace(",", ""))
    assert len(tail) <= kept <= n


def test_shorten_keeps_the_last_traceback_whole() -> None:
    trace = "Traceback (most recent call last):\n" + "  File a.py\n" * 8 + "ValueError: no\n"
    text = "start\n" + "Traceback (most recent call last):\nold\n" + "noise\n" * 100 + trace
    short = shorten(text, 200)
    assert short.endswith("left out …\n" + trace)
    assert short.startswith("start\n")


def test_shorten_keeps_the_end_of_a_traceback_that_is_too_long() -> None:
    trace = "Traceback (most recent call last):\n" + "  File a.py\n" * 100 + "ValueError: no\n"
    assert shorten("start\n" + trace, 300).endswith("  File a.py\nValueError: no\n")


def test_a_context_needs_no_tree() -> None:
    context = Context(TASK, PREVIEW, PACKAGES, (), (), (), 0, {}, LIMITS, 1)
    made = Draft().propose(context, ScriptedModel(["Plan.\n```python\n" + PROGRAM + "```"]))
    assert (made.plan, made.code, made.status) == ("Plan.", PROGRAM, "ok")
