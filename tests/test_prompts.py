"""The prompts' exact texts, and their size. To renew them: AIDE_TEST_UPDATE_GOLDEN=1 pytest."""

from __future__ import annotations

import ast
import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from aide.context import gather
from aide.interfaces import Context, Node, Operator, PromptLimits, Request, Scratch
from aide.llm.scripted import ScriptedModel
from aide.node import Action
from aide.operators.base import oneline, render, shorten
from aide.operators.debug import Debug
from aide.operators.draft import Draft
from aide.operators.forms import Advice, Change, Program, form_of
from aide.operators.improve import Improve
from aide.operators.merge import Merge
from aide.operators.summarize import advise
from aide.tree import Tree
from tests.trees import GOLDEN, LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

ROOT = GOLDEN.parents[1]
EACH: tuple[Operator, ...] = (Draft(), Debug(), Improve(), Merge())
OPERATORS = {each.name: each for each in EACH}
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


def full_context(*parents: Node, **changes: object) -> Context:
    """A context with something in every section."""
    tree = tree_of_a_morning()
    siblings, ancestors = (tree[4], tree[6]), (tree[4],)
    seen = Context(TASK, PREVIEW, PACKAGES, parents, siblings, ancestors, 5, {}, LIMITS, 3)
    seen = replace(
        seen,
        lessons="Scaling helped (+0.01).\nThe key has gaps.",
        scratch=Scratch(str, 3, 30),
        prompt=PromptLimits(sections={"siblings": 30}),
    )
    return replace(seen, **changes)  # type: ignore[arg-type]  # any field of a Context


def first_turn(operator: Operator, context: Context) -> str:
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "```python\n" + PROGRAM + "```"

    operator.propose(context, ScriptedModel(answer))
    return requests[0].messages[0].text


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


def test_golden_with_all_sections() -> None:
    tree = tree_of_a_morning()
    check("draft-full", first_turn(Draft(), full_context(siblings=(tree[3], tree[1]))))
    check("improve-full", first_turn(Improve(), full_context(tree[1])))
    check("debug-full", first_turn(Debug(), full_context(tree[5])))
    check("merge-full", first_turn(Merge(), full_context(tree[1], tree[6])))
    plain = full_context(tree[6], tree[3], siblings=(), lessons=" \n", scratch=None)
    check("merge", first_turn(Merge(), plain))


def test_golden_of_short_turns() -> None:
    check("again", render("again.j2", reason="block 2 matches 3 places"))
    one = Scratch(str, 1, 2.5)
    shown = [
        render("scratch.j2", scratch=one),
        render("scratch-result.j2", output="\na,b\n1,2\n", left=2),
        render("scratch-result.j2", output="x", left=1),
        render("scratch-result.j2", output="", left=0),
    ]
    check("scratch", "\n---\n".join(shown))


def test_golden_of_forms() -> None:
    forms = [form_of(answer) for answer in (Program, Change, Advice)]
    check("forms", "\n".join(f"{form.name}: {form.description}" for form in forms))


def test_golden_advice() -> None:
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "Try trees."

    advise(full_context(tree_of_a_morning()[1]), ScriptedModel(answer))
    advise(full_context(lessons="None yet."), ScriptedModel(answer))
    shown = [f"{each.system}\n\n{each.messages[0].text}" for each in requests]
    check("advice", "\n---\n".join(shown))


def test_every_template_has_its_golden_text() -> None:
    """A line of each template, the longest without a mark of the template language, is in one."""
    texts = "\n".join(path.read_text("utf-8") for path in GOLDEN.glob("*.txt"))
    for path in sorted((ROOT / "operators/prompts").glob("*.j2")):
        lines = [line for line in path.read_text("utf-8").split("\n") if not set("{}") & set(line)]
        if any(lines):
            assert max(lines, key=len) in texts, path.name
        else:
            assert path.name in ("parts.j2", "form.j2")


def test_a_missing_or_empty_part_leaves_no_heading_and_no_gap() -> None:
    shown = [path for name in ("system", *OPERATORS) for path in GOLDEN.glob(f"{name}*.txt")]
    assert len(shown) >= 9
    for path in shown:
        assert "\n\n\n" not in path.read_text("utf-8"), path.name
    assert "What was learned" not in (GOLDEN / "merge.txt").read_text("utf-8")


MOST_WORDS = 14
"""Of a string in an operator's code: reasons for an author are shorter, prompts are longer."""


def prompt_texts(source: str) -> list[str]:
    """The strings of a module that look like a prompt: long ones, ones of several lines, and any
    words that go into a request as they are. Docstrings do not count."""
    tree = ast.parse(source)
    found: list[str] = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            within = [w for a in (*each.args, *each.keywords) for w in _strings(a)]
            if each.func.id in ("Message", "Request", "Form"):
                found += [text for text in within if len(text.split()) > 2]
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            each.value.value = ""
    for text in _strings(tree):
        words, lines = len(text.split()), len(text.strip().split("\n"))
        if words > MOST_WORDS or (lines > 1 and words > 2):
            found.append(text)
    return found


def _strings(tree: ast.AST) -> list[str]:
    nodes = [each for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    joined = [each for each in ast.walk(tree) if isinstance(each, ast.JoinedStr)]
    return [each.value for each in nodes if isinstance(each.value, str)] + [
        " ".join(
            part.value
            for part in each.values
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        for each in joined
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "operators").glob("*.py")), ids=lambda p: p.stem)
def test_no_prompt_stands_in_code(path: Path) -> None:
    assert prompt_texts(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        'x = "' + "word " * (MOST_WORDS + 1) + '"',
        'x = f"' + "word {x} " * (MOST_WORDS + 1) + '"',
        'x = "Look at it.\\nThen answer."',
        'x = """Write a\nbetter program."""',
        'Message("user", "Write a program.")',
        'Request(system=f"You are an {x} expert", messages=())',
    ],
)
def test_a_prompt_in_code_would_be_found(source: str) -> None:
    assert prompt_texts(source)


def test_a_reason_in_code_is_no_prompt() -> None:
    assert prompt_texts('"""A docstring of many words.\n\n' + "w " * 50 + '"""') == []
    assert prompt_texts('raise ReplyError(f"block {n} has no text in its search part")') == []
    assert prompt_texts('Message("user", render("again.j2"))') == []


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
