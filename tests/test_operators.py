"""Operators over a scripted model: what they take, what they ask for again, what they give up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import ConfigError, ModelError
from aide.interfaces import Candidate, Context, Message, Operator, Request
from aide.llm.scripted import Answer, ScriptedModel
from aide.node import Node
from aide.operators import OPERATORS
from aide.operators.check import normalised_hash
from aide.operators.debug import Debug
from aide.operators.dialogue import seed_of
from aide.operators.draft import Draft
from aide.operators.improve import Improve
from aide.operators.reply import plan_of, read_change, read_program
from aide.registry import find
from tests.asked import Asked
from tests.trees import LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

FENCED = f"A plan.\n\n```python\n{PROGRAM}```\n"
EDIT = (
    "Regularise more.\n\n<<<<<<< SEARCH\n"
    "model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0))\n=======\n"
    "model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))\n>>>>>>> REPLACE\n"
)
EDITED = PROGRAM.replace("C=1.0", "C=0.1")


def seen(*parents: Node, known: Mapping[str, int] | None = None) -> Context:
    return Context(TASK, PREVIEW, PACKAGES, parents, (), (), 0, known or {}, LIMITS, 5)


PARENT = node(1, value=0.8)


def test_the_table_names_the_classes() -> None:
    for name in OPERATORS:
        assert find("operator", name, OPERATORS)().name == name


def test_a_good_draft_takes_one_call() -> None:
    asked = Asked(FENCED)
    candidate = asked.propose(Draft(), seen())
    assert candidate == Candidate("A plan.", PROGRAM, usage=candidate.usage)
    assert candidate.usage.calls == 1
    assert asked.requests[0].operator == "draft"


@pytest.mark.parametrize("operator", [Improve(), Debug()])
def test_an_edit_changes_the_parent(operator: Operator) -> None:
    candidate = Asked(EDIT).propose(operator, seen(PARENT))
    assert (candidate.plan, candidate.code) == ("Regularise more.", EDITED)
    assert (candidate.status, candidate.flags) == ("ok", ())


@pytest.mark.parametrize("operator", [Improve(), Debug()])
def test_a_whole_program_is_a_rewrite(operator: Operator) -> None:
    candidate = Asked(FENCED.replace("C=1.0", "C=2.0")).propose(operator, seen(PARENT))
    assert candidate.status == "ok"
    assert candidate.flags == ("rewrite",)


def test_an_edit_of_most_lines_is_a_rewrite() -> None:
    lines = PROGRAM.split("\n")
    search, replacement = "\n".join(lines[6:13]), "\n".join(f"x{n} = {n}" for n in range(20))
    text = (
        f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n"
        'open("working/submission.csv", "w")\n>>>>>>> REPLACE'
    )
    assert read_change(text, PROGRAM).flags == ("rewrite",)


BROKEN = FENCED.replace("model.fit(", "model.fit((")


@pytest.mark.parametrize(
    ("operator", "bad", "reason"),
    [
        (Draft(), "I would use trees.", "it holds no program in a ```python block"),
        (Draft(), "", "it holds no program in a ```python block"),
        (Draft(), "Sorry", "it holds no program in a ```python block"),
        (Draft(), "```python\nimport a\n", "submission.csv"),
        (Draft(), "```python\nimport (\n", "the fenced block is not closed"),
        (Draft(), BROKEN, "line 11: '(' was never closed: `model.fit((train"),
        (Draft(), (FENCED, "length"), "it was cut off at the length limit"),
        (Draft(), (FENCED, "refusal"), "it is a refusal"),
        (Draft(), FENCED.replace("g/submission.csv", "g/output.csv"), "never writes working/sub"),
        (Draft(), FENCED.replace("import pandas", "x = '\0'\nimport pandas"), "a NUL character"),
        (Improve(), EDIT.replace("C=1.0", "C=3.0"), "block 1 is not in the solution"),
        (Improve(), EDIT.replace("C=0.1", "C=1.0"), "the blocks change nothing"),
        (Improve(), EDIT.replace("=======\n", ""), "block 1 needs one line '======='"),
        (Improve(), "Use trees.", "it holds no search/replace block and no whole program"),
        (Debug(), EDIT.replace("0.1))", "0.1)"), "line 10: '(' was never closed"),
    ],
)
def test_a_bad_answer_is_asked_for_again_with_the_reason(
    operator: Operator, bad: Answer, reason: str
) -> None:
    good = FENCED if isinstance(operator, Draft) else EDIT
    context = seen() if isinstance(operator, Draft) else seen(PARENT)
    asked = Asked(bad, good)
    candidate = asked.propose(operator, context)
    assert (candidate.status, candidate.problem) == ("ok", "")
    assert candidate.usage.calls == 2
    first, second = asked.requests
    assert second.system == first.system
    assert second.messages[:1] == first.messages
    said, again = second.messages[1:]
    text = bad if isinstance(bad, str) else bad[0]
    assert said == Message("assistant", text.strip() or "(no answer)")
    assert again.role == "user"
    assert again.text.startswith("Your answer cannot be used: ")
    assert reason in again.text
    assert first.seed != second.seed


def test_it_gives_up_after_three_tries_with_the_last_code() -> None:
    asked = Asked(FENCED.replace("/sub", "/"), BROKEN, "no code", FENCED)
    candidate = asked.propose(Draft(), seen())
    assert candidate.status == "rejected"
    assert candidate.problem.startswith("line 11: '(' was never closed")
    assert "model.fit((" in candidate.code
    assert candidate.plan == "A plan."
    assert candidate.usage.calls == len(asked.requests) == 3
    assert candidate.usage.tokens_out > 2 * len(FENCED) // 4
    assert len({request.seed for request in asked.requests}) == 3


def test_without_any_code_there_is_the_last_reason() -> None:
    candidate = Asked("nothing", ("no", "refusal"), "My plan.").propose(Draft(), seen())
    assert (candidate.status, candidate.code) == ("rejected", "")
    assert candidate.problem == "it holds no program in a ```python block"
    assert candidate.plan == "My plan."


def test_a_copy_is_refused_and_then_a_duplicate() -> None:
    context = seen(known={normalised_hash(PROGRAM): 4})
    copy = FENCED.replace("import pandas as pd", "import pandas as pd  # tables\n\n")
    asked = Asked(copy, FENCED, copy)
    candidate = asked.propose(Draft(), context)
    assert candidate.status == "duplicate"
    assert candidate.problem.startswith("duplicate of node 4")
    assert "# tables" in candidate.code
    assert "duplicate of node 4" in asked.requests[1].messages[-1].text
    other = FENCED.replace("C=1.0", "C=2.0")
    assert Asked(copy, other).propose(Draft(), context).status == "ok"


def test_an_oversized_program_is_not_kept() -> None:
    large = FENCED.replace("C=1.0", f"C=1.0, note={'x' * 200_000!r}")
    candidate = Asked(large, large, large).propose(Draft(), seen())
    assert candidate.code == ""
    assert candidate.problem.startswith("the program has about 66,")
    assert "the most is 8,000; write it shorter" in candidate.problem


def test_a_model_that_fails_is_an_exception() -> None:
    with pytest.raises(ModelError, match="the script is at its end"):
        Draft().propose(seen(), ScriptedModel(["nothing"]))


def test_a_lone_surrogate_does_not_reach_a_file() -> None:
    asked = Asked("No \ud800.", "Plan \ud800.\n" + FENCED.replace('"""Log', '"""\ud800Log'))
    candidate = asked.propose(Draft(), seen())
    assert candidate.status == "ok"
    said = asked.requests[1].messages[1].text
    for text in (candidate.plan, candidate.code, said):
        assert text.encode().count(b"?") == 1


def test_seeds_differ_and_repeat() -> None:
    seeds = [seed_of(seed, attempt) for seed in range(100) for attempt in range(3)]
    assert len(set(seeds)) == 300
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seed_of(1, 2) == seeds[5]


@pytest.mark.parametrize(
    "text",
    [
        FENCED,
        FENCED.replace("\n", "\r\n"),
        FENCED.replace("```python", "``` Python"),
        FENCED.replace("```python", "```py"),
        FENCED.replace("```python", "```"),
        FENCED.removesuffix("```\n"),
        PROGRAM,
        FENCED + "\nInstall it with:\n```bash\n" + "pip install x\n" * 99 + "```\n",
        "A plan.\n```python\nimport one\n```\nor rather\n" + FENCED,
    ],
)
def test_the_program_of_a_reply(text: str) -> None:
    written = read_program(text)
    assert written.code == PROGRAM
    assert written.plan in ("A plan.", "")


def test_a_plan_is_bounded_and_printable() -> None:
    assert plan_of("One\x1b[31m two\0.\r\n\nThree.\n```python\nx\n```") == "One[31m two.\n\nThree."
    assert plan_of("Do it.\n<<<<<<< SEARCH\nx") == "Do it."
    assert len(plan_of("word " * 1000)) == 1000
    assert plan_of("word " * 1000).endswith("…")


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_reply_is_more_than_refused(text: str) -> None:
    """Whatever a model says, the outcome is a candidate."""
    candidate = Improve().propose(seen(PARENT), ScriptedModel([text, EDIT + text, text]))
    assert candidate.status in ("ok", "rejected")


def test_a_script_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(json.dumps("one") + "\n\n" + json.dumps({"text": "two", "stop": "length"}))
    request = Request("s", (Message("user", "q"),), "draft", 1)
    model = ScriptedModel.from_file(path)
    first, second = model.complete(request), model.complete(request)
    assert (first.text, first.stop, second.text, second.stop) == ("one", "end", "two", "length")
    with pytest.raises(ModelError, match="the script is at its end"):
        model.complete(request)
    assert ScriptedModel(str(path)).complete(request).text == "one"
    cycling = ScriptedModel.from_file(path, cycle=True)
    assert [cycling.complete(request).text for _ in range(3)] == ["one", "two", "one"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("one", "line 2: not JSON"),
        ("[1]", 'line 2: give a string or {"text": ..., "stop": ...}'),
        ('{"text": "a", "stop": "later"}', "line 2: stop has to be one of end, length, refusal"),
    ],
)
def test_a_bad_script_is_refused(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('"fine"\n' + line + "\n")
    with pytest.raises(ConfigError, match=reason):
        ScriptedModel.from_file(path)


def test_a_missing_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        ScriptedModel.from_file(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="give it as scripted:FILE"):
        ScriptedModel()


def test_threads_share_a_script() -> None:
    model = ScriptedModel([str(number) for number in range(500)])
    request = Request("s", (Message("user", "q"),), "draft", 1)
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda _: model.complete(request).text, range(500)))
    assert sorted(texts, key=int) == [str(number) for number in range(500)]


def test_the_parents_of_a_context_are_checked() -> None:
    with pytest.raises(ValueError):
        Improve().propose(replace(seen(PARENT), parents=()), ScriptedModel([EDIT]))
