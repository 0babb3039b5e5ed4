"""The offline model's mistakes fail as a person's would, and its debug answers correct them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aide.errors import InvalidSubmission
from aide.interfaces import Message, Request
from aide.llm.offline import OfflineModel
from aide.llm.offline.drafts import plain_recipe
from aide.llm.offline.fixes import fix
from aide.llm.offline.recipe import Recipe, parse_recipe
from aide.llm.offline.render import render
from aide.llm.offline.slips import SLIPS
from aide.node import Action, Candidate, Node, Outcome, Status
from aide.operators.base import render as render_prompt
from aide.operators.reply import read_change
from tests.offline_recipes import small
from tests.offline_tasks import Ran, facts, run_programs, system, task

MISTAKES = {
    "gaps-left": ("shop", "linear", (), "contains NaN"),
    "strict-codes": ("titanic", "linear", (), "Found unknown categories"),
    "strict-ordinals": ("titanic", "hgb", (), "Found unknown categories"),
    "strings-left": ("shop", "forest", (), "could not convert string to float"),
    "sparse-codes": ("shop", "hgb", (), "dense data is required"),
    "wrong-keyword": ("shop", "knn", (), "unexpected keyword argument 'k'"),
    "train-columns": ("flowers", "linear", (), "not in index"),
    "dates-as-read": ("shop", "hgb", ("date-parts",), "Can only use .dt accessor"),
    "log-of-negatives": ("shifted", "hgb", (), "contains NaN"),
    "scores-for-labels": ("titanic", "linear", (), ""),
    "codes-for-labels": ("flowers", "linear", (), ""),
    "own-column-name": ("shop", "hgb", (), ""),
    "negative-values": ("shop", "linear", ("date-cycles",), "Logarithmic Error cannot be used"),
}


def failed_node(code: str, ran: Ran, name: str) -> Node:
    """The program's node, as the engine would record it; it must have failed."""
    status: Status = "error"
    reason = ran.log.strip().splitlines()[-1]
    if ran.ok:
        status = "invalid-output"
        with pytest.raises(InvalidSubmission) as caught:
            task(name).grade(ran.submission, "search")
        reason = str(caught.value)
    outcome = Outcome(status, reason=reason, log=ran.log)
    return Node(3, Action("draft"), Candidate("A plan.", code), outcome)


def debugged(node: Node, name: str) -> str:
    """The program after the offline model's answer to the debug prompt."""
    prompt = render_prompt("debug.j2", parent=node, ancestors=(), log_chars=6000)
    request = Request(system(name), (Message("user", prompt),), "debug", 1)
    return read_change(OfflineModel().complete(request).text, node.code).code


def hasty(slip: str) -> tuple[str, Recipe]:
    """A task, and a recipe with the mistake."""
    name, kind, features, _ = MISTAKES[slip]
    recipe = small(kind, facts(name)).with_features(*features)
    assert SLIPS[slip].bites(recipe, facts(name))
    return name, SLIPS[slip].apply(recipe)


def test_all_mistakes_are_tested() -> None:
    assert set(MISTAKES) == set(SLIPS)


def test_mistakes_fail_and_debug_corrects_them(tmp_path: Path) -> None:
    cases = {slip: hasty(slip) for slip in SLIPS}
    programs = [(name, render(recipe, facts(name))) for name, recipe in cases.values()]
    runs = run_programs(programs, tmp_path / "failing")
    better = []
    for slip, (name, code), ran in zip(cases, programs, runs, strict=True):
        assert MISTAKES[slip][3] in ran.log, slip
        better.append((name, debugged(failed_node(code, ran, name), name)))
    for slip, (name, code), ran in zip(
        cases, better, run_programs(better, tmp_path / "better"), strict=True
    ):
        assert ran.ok, f"{slip}\n{ran.log}"
        task(name).grade(ran.submission, "search")
        kept = parse_recipe(code)
        assert kept is not None
        assert kept.kinds == cases[slip][1].kinds, "debug keeps the approach"


def test_a_mistake_is_a_setting_and_no_remark() -> None:
    for slip in SLIPS:
        name, recipe = hasty(slip)
        code = render(recipe, facts(name))
        assert parse_recipe(code) == recipe
        assert "#" not in code


@pytest.mark.parametrize("status", ["timeout", "out-of-memory"])
def test_a_limit_makes_the_program_cheaper_step_by_step(status: str) -> None:
    known = replace(facts("shop"), rows=50_000)
    recipe = replace(plain_recipe("mlp", known), bags=5).with_features("date-parts", "clusters")
    seen = []
    for _ in range(6):
        plan, recipe = fix(recipe, known, f"Status: {status}\n", 0)
        assert ("time" if status == "timeout" else "memory") in plan
        seen.append(recipe)
    assert seen[0].bags == 1
    assert 0 < seen[-1].rows < known.rows
    assert seen[-1].first.kind == "linear"
    assert len(set(seen)) == 6


def test_an_unknown_message_makes_the_program_plain() -> None:
    known = facts("shop")
    recipe = plain_recipe("mlp", known).with_features("date-parts")
    _, plain = fix(recipe, known, "Status: error. Segmentation fault", 0)
    assert plain == plain_recipe("mlp", known)
    _, other = fix(plain, known, "Status: error. Segmentation fault", 0)
    assert other.first.kind == "forest"


def test_a_feature_that_fails_is_left_out() -> None:
    known = facts("shop")
    recipe = plain_recipe("hgb", known).with_features("date-parts", "clusters")
    log = 'Status: error\n  File "solution.py", line 9, in clusters\n    return 1 / 0\n'
    _, better = fix(recipe, known, log, 0)
    assert better.features == ("date-parts",)
