"""Asking for code: refusals, near copies, scratch runs, merges and advice."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aide.interfaces import Context, Node, PromptLimits, Scratch
from aide.llm.offline import OfflineModel
from aide.llm.scripted import Answer, ScriptedModel
from aide.operators.check import normalised_hash
from aide.operators.draft import Draft
from aide.operators.improve import Improve
from aide.operators.merge import Merge
from aide.operators.reply import read_program, snippet_in
from aide.operators.summarize import advise
from tests.asked import Asked
from tests.trees import LIMITS, PACKAGES, PREVIEW, PROGRAM, TASK, node

FENCED = f"A plan.\n\n```python\n{PROGRAM}```\n"
OTHER = FENCED.replace("LogisticRegression(C=1.0)", "RandomForestClassifier(random_state=0)")
OTHER = OTHER.replace("sklearn.linear_model import LogisticRegression",
                      "sklearn.ensemble import RandomForestClassifier")  # fmt: skip
NEAR = FENCED.replace("model", "fitted").replace("C=1.0", "C=0.3")


def context(*parents: Node, siblings: tuple[Node, ...] = ()) -> Context:
    return Context(TASK, PREVIEW, PACKAGES, parents, siblings, (), 0, {}, LIMITS, 5)


def test_a_second_refusal_is_the_last() -> None:
    asked = Asked(("I cannot.", "refusal"), ("I still cannot.", "refusal"))
    candidate = Draft().propose(context(), asked.model)
    assert (candidate.status, candidate.usage.calls) == ("rejected", 2)
    assert candidate.problem.startswith("it is a refusal")
    asked = Asked(("I cannot.", "refusal"), "well", FENCED)
    assert Draft().propose(context(), asked.model).status == "ok"


def test_a_near_copy_is_asked_for_again_and_another_draft_is_taken() -> None:
    asked = Asked(NEAR, OTHER)
    candidate = Draft().propose(context(siblings=(node(7), node(8, code=""))), asked.model)
    assert (candidate.status, candidate.flags, candidate.usage.calls) == ("ok", (), 2)
    assert "RandomForestClassifier" in candidate.code
    assert "it is nearly the program of node 7 (" in asked.last
    assert "take another approach" in asked.last


def test_a_near_copy_is_kept_if_nothing_better_comes() -> None:
    siblings = (node(7),)
    asked = Asked(NEAR, "nothing", FENCED.replace("C=1.0", "C=0.7"))
    candidate = Draft().propose(context(siblings=siblings), asked.model)
    assert (candidate.status, candidate.flags) == ("ok", ("near-copy",))
    assert "C=0.7" in candidate.code
    asked = Asked(NEAR, "nothing", "nothing")
    candidate = Draft().propose(context(siblings=siblings), asked.model)
    assert (candidate.status, candidate.flags) == ("ok", ("near-copy",))
    known = {normalised_hash(PROGRAM): 7}
    seen = replace(context(siblings=siblings), known=known)
    assert Draft().propose(seen, Asked(FENCED, FENCED, FENCED).model).status == "duplicate"


def test_a_change_may_be_near_its_parent() -> None:
    near = Asked(NEAR)
    assert Improve().propose(context(node(1, value=0.5)), near.model).flags == ("rewrite",)


def runner(folder: Path) -> Scratch:
    """Runs snippets in a process of their own, as a sandbox would."""

    def run(code: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            cwd=folder, capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        return ran.stdout + ran.stderr

    return Scratch(run, runs=2, seconds=20)


def snippet(code: str) -> str:
    return f"Let me look.\n\n```python scratch\n{code}\n```\n"


def test_snippets_run_before_the_answer(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    seen = replace(context(), scratch=runner(tmp_path))
    asked = Asked(snippet("print(open('data.csv').read())"), snippet("1 / 0"), FENCED)
    candidate = Draft().propose(seen, asked.model)
    assert (candidate.status, candidate.flags) == ("ok", ("scratch:2",))
    assert (candidate.plan, candidate.usage.calls) == ("A plan.", 3)
    first, second, third = asked.requests
    assert "# Trying something first" in first.messages[0].text
    assert first.form is None
    assert second.messages[-1].text.startswith("It printed:\n\n```text\na,b\n1,2\n```")
    assert "1 more run, or the answer" in second.messages[-1].text
    assert "ZeroDivisionError" in third.messages[-1].text
    assert "answer now" in third.messages[-1].text
    assert len({each.seed for each in asked.requests}) == 3


def test_no_more_snippets_run_than_allowed(tmp_path: Path) -> None:
    seen = replace(context(), scratch=runner(tmp_path))
    writes = snippet("open('log', 'a').write('x')")
    asked = Asked(*[writes] * 5)
    candidate = Draft().propose(seen, asked.model)
    assert (tmp_path / "log").read_text() == "xx"
    assert (candidate.status, candidate.flags) == ("rejected", ("scratch:2",))
    assert candidate.problem == "no scratch run is left; give the answer itself"
    assert candidate.usage.calls == len(asked.requests) == 5


def test_what_a_snippet_prints_is_bounded(tmp_path: Path) -> None:
    limits = PromptLimits(sections={"log": 100})
    seen = replace(context(), scratch=runner(tmp_path), prompt=limits)
    asked = Asked(snippet("print('line\\n' * 10_000)"), FENCED)
    Draft().propose(seen, asked.model)
    assert len(asked.last) < 500
    assert "characters left out" in asked.last


def test_without_scratch_nothing_is_offered_or_run() -> None:
    asked = Asked(snippet("print(1)"), snippet("print(1)") + FENCED)
    candidate = Draft().propose(context(), asked.model)
    assert "scratch" not in asked.requests[0].messages[0].text
    assert (candidate.status, candidate.code, candidate.flags) == ("ok", PROGRAM, ())
    assert "no scratch run is left" in asked.last


def test_the_snippet_of_a_reply() -> None:
    assert snippet_in(snippet("x = 1")) == "x = 1\n"
    assert snippet_in("```py  scratch\nx\n```") == "x\n"
    assert snippet_in("```python scratch\nx = 1") == "x = 1"
    for text in (FENCED, "scratch", "```python scratch\n\n```", "```scratch\nx\n```"):
        assert snippet_in(text) is None
    assert read_program(snippet("x = 1") + FENCED).code == PROGRAM


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("turned", [False, True])
def test_a_merge_changes_the_better_parent(maximize: bool, turned: bool) -> None:
    low, high = node(3, value=0.6), node(4, value=0.7, code=read_program(OTHER).code)
    better, other = (high, low) if maximize else (low, high)
    parents = (other, better) if turned else (better, other)
    line = next(line for line in better.code.split("\n") if line.startswith("model ="))
    edit = f"Both.\n<<<<<<< SEARCH\n{line}\n=======\n{line}  \nboth = 1\n>>>>>>> REPLACE\n"
    seen = replace(context(*parents), task=replace(TASK, maximize=maximize))
    asked = Asked(edit)
    candidate = Merge().propose(seen, asked.model)
    assert (candidate.status, candidate.plan, candidate.flags) == ("ok", "Both.", ())
    assert candidate.code == better.code.replace(line, f"{line}  \nboth = 1")
    prompt = asked.requests[0].messages[0].text
    assert prompt.index(f"# Solution {better.id}\nScore") < prompt.index(
        f"# Solution {other.id}\n"
    )
    assert f"copied exactly from solution {better.id}," in prompt


def test_a_merge_that_is_one_of_its_parents_is_a_duplicate() -> None:
    one, two = node(3, value=0.6), node(4, value=0.7, code=read_program(OTHER).code)
    known = {normalised_hash(each.code): each.id for each in (one, two)}
    asked = Asked(FENCED, FENCED, FENCED)
    candidate = Merge().propose(replace(context(one, two), known=known), asked.model)
    assert (candidate.status, candidate.problem[:19]) == ("duplicate", "duplicate of node 3")


def test_a_merge_needs_two_parents() -> None:
    with pytest.raises(ValueError):
        Merge().propose(context(node(3, value=0.6)), ScriptedModel([FENCED]))


def test_a_model_that_writes_programs_only_gives_no_advice() -> None:
    seen = replace(context(node(3, value=0.6)), lessons="Scaling helped.")
    text, usage = advise(seen, OfflineModel())
    assert (text, usage.calls) == ("", 1)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("Try target encoding.\n", "Try target encoding."),
        ('{"advice": "Stop\\nscaling \\u001b[31m trees."}', "Stop scaling [31m trees."),
        ('```json\n{"advice": "Stop."}\n```', "Stop."),
        ('{"advice": 3}', ""),
        ("w " * 400, "w " * 99 + "w…"),
        ("", ""),
        (FENCED, ""),
        (("Try", "length"), ""),
        (("No.", "refusal"), ""),
    ],
)
def test_advice_is_one_bounded_line(answer: Answer, line: str) -> None:
    asked = Asked(answer)
    seen = replace(context(node(3, value=0.6)), lessons="Scaling helped.\n" * 500, node=9)
    text, usage = advise(seen, asked.model)
    assert (text, usage.calls) == (line, 1)
    assert len(text) <= 200
    (request,) = asked.requests
    assert (request.operator, request.node) == ("summarize", 9)
    assert request.form is not None
    assert list(request.form.schema["properties"]) == ["advice"]
    assert request.chars < 3000
    assert PROGRAM not in request.messages[0].text
