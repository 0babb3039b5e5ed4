"""The offline model's edits: each is one change, said in blocks that fit, and it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.llm.offline.blocks import change_blocks
from aide.llm.offline.edits import EDITS
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.features import FEATURES
from aide.llm.offline.priors import CASES, WEIGHTS, prior
from aide.llm.offline.recipe import Recipe, parse_recipe
from aide.llm.offline.render import render
from aide.operators import edits as operator_edits
from aide.operators.check import check
from tests.offline_recipes import KINDS, TASKS, base_for, bases, changes, small
from tests.offline_tasks import facts, run_programs, task


def applied(old: str, new: str) -> str:
    """The old program with the offline model's blocks applied by the operators."""
    text = change_blocks(old, new)
    return operator_edits.apply(old, operator_edits.parse(text)) if text else new


def test_there_are_many_edits_with_names_and_plans_of_their_own() -> None:
    assert len(EDITS) >= 100
    plans = {edit.plan[:100] for edit in EDITS.values()}
    assert len(plans) == len(EDITS)
    assert all(edit.plan.endswith(".") and len(edit.plan) < 160 for edit in EDITS.values())


def test_priors_are_about_edits_that_exist() -> None:
    assert set(WEIGHTS) <= set(EDITS)
    assert {name for _, factors in CASES for name in factors} <= set(EDITS)


def test_every_feature_has_an_edit() -> None:
    assert set(FEATURES) <= set(EDITS)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_blocks_that_give_the_new_program(name: str) -> None:
    edit = EDITS[name]
    tried = 0
    for task_name in TASKS:
        known = facts(task_name)
        recipe = base_for(edit, known)
        if recipe is None:
            continue
        old, new = render(recipe, known), render(edit.apply(recipe), known)
        assert applied(old, new) == new
        assert change_blocks(old, new) is not None
        assert parse_recipe(new) == edit.apply(recipe)
        assert prior(edit, recipe, known) > 0
        tried += 1
    assert tried or FAMILIES["lightgbm"].title in edit.plan or name == "absolute-loss"


def test_blocks_of_a_change_that_leaves_little_are_not_given() -> None:
    known = facts("shop")
    assert change_blocks("a = 1\nb = 2\n", "c = 3\nd = 4\n") is None
    program = render(small("linear", known), known)
    assert change_blocks(program, program) is None


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_chain_of_edits_gives_programs_that_parse(data: st.DataObject) -> None:
    known = facts(data.draw(st.sampled_from(TASKS)))
    recipe = data.draw(st.sampled_from(list(bases(known))))
    for _ in range(data.draw(st.integers(1, 8))):
        fitting = [edit for edit in EDITS.values() if changes(edit, recipe, known)]
        changed = data.draw(st.sampled_from(fitting)).apply(recipe)
        old, new = render(recipe, known), render(changed, known)
        assert applied(old, new) == new
        recipe = changed
    check(new)
    assert parse_recipe(new) == recipe
    assert max(map(len, new.split('"""', 2)[2].splitlines())) <= 140


def packed(known: Facts) -> list[Recipe]:
    """Recipes that hold many edits each: all that go together, model by model."""
    recipes = []
    left = list(EDITS.values())
    for kind in (*KINDS, *KINDS, *KINDS):
        recipe = small(kind, known)
        done: list[str] = []
        for edit in list(left):
            together = all(EDITS[name].apply(edit.apply(recipe)) == edit.apply(recipe)
                           for name in done)  # fmt: skip
            cheap = edit.name not in ("learn-much-slower", "more-trees", "five-folds")
            single = edit.group in ("model", "ensemble", "prepare")
            if changes(edit, recipe, known) and together and cheap and len(done) < 12:
                recipe = edit.apply(recipe)
                done.append(edit.name)
                left.remove(edit)
                if single:
                    break
        recipes += [recipe] if done else []
    return recipes


@pytest.mark.parametrize(
    ("name", "count"),
    [("shop", 12), ("titanic", 4), ("grades", 4), ("flowers", 2), ("iris", 3), ("tumours", 2)],
)
def test_recipes_of_many_edits_run_and_are_graded(name: str, count: int, tmp_path: Path) -> None:
    known = facts(name)
    recipes = packed(known)[:count]
    runs = run_programs([(name, render(recipe, known)) for recipe in recipes], tmp_path)
    for recipe, ran in zip(recipes, runs, strict=True):
        assert ran.ok, f"{recipe}\n{ran.log}"
        assert task(name).grade(ran.submission, "search").rows > 10
        assert "out of fold" in ran.log


def homes() -> dict[str, list[str]]:
    """Each edit by the first task that it fits: what runs there is not run again elsewhere."""
    found: dict[str, list[str]] = {name: [] for name in TASKS}
    for edit in EDITS.values():
        home = next((name for name in TASKS if base_for(edit, facts(name)) is not None), None)
        if home is not None:
            found[home].append(edit.name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_edit_runs_by_itself(name: str, tmp_path: Path) -> None:
    known = facts(name)
    found = {edit: base_for(EDITS[edit], known) for edit in homes()[name]}
    pairs = [(edit, recipe) for edit, recipe in found.items() if recipe is not None]
    programs = [(name, render(EDITS[edit].apply(recipe), known)) for edit, recipe in pairs]
    for (edit, _), ran in zip(pairs, run_programs(programs, tmp_path), strict=True):
        assert ran.ok, f"{edit}\n{ran.log}"
        assert task(name).grade(ran.submission, "search").rows > 10


def test_nearly_every_edit_has_a_home() -> None:
    assert sum(map(len, homes().values())) >= len(EDITS) - 5
