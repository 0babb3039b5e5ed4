"""The offline model reads the operators' prompts and answers as a language model would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from aide.interfaces import Message, Reply, Request
from aide.llm.offline import OfflineModel
from aide.llm.offline.drafts import plain_recipe
from aide.llm.offline.edits import EDITS
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Recipe, parse_recipe
from aide.llm.offline.render import render
from aide.node import Action, Candidate, Node, Outcome, Score
from aide.operators.base import render as render_prompt
from aide.operators.reply import plan_of, read_change, read_program
from tests.offline_tasks import facts, system

PARTS = "{% import 'parts.j2' as parts %}"


def ask(text: str, name: str = "shop", seed: int = 1, *more: Message, packages: str = "") -> Reply:
    head = system(name, packages)
    request = Request(head, (Message("user", text), *more), "any", seed)
    return OfflineModel().complete(request)


def draft_prompt(siblings: Sequence[Node] = (), children: int = 0) -> str:
    return render_prompt("draft.j2", siblings=siblings, children=children)


def improve_prompt(parent: Node, siblings: Sequence[Node] = (), children: int = 0) -> str:
    return render_prompt("improve.j2", parent=parent, siblings=siblings, children=children)


def node(code: str, plan: str = "A plan.", value: float | None = 0.5, number: int = 1) -> Node:
    score = None if value is None else Score(value, 0.01, 100)
    outcome = Outcome("ok" if score else "error", score, reason="" if score else "ValueError: x")
    return Node(number, Action("draft"), Candidate(plan, code), outcome)


def recipe_of(code: str) -> Recipe:
    recipe = parse_recipe(code)
    assert recipe is not None
    return recipe


def test_the_facts_of_a_prompt_are_read() -> None:
    known = facts("shop")
    assert (known.problem, known.metric, known.maximize) == ("regression", "rmsle", False)
    assert (known.id, known.target, known.predict) == ("id", "sales", "value")
    assert known.columns == ("id", "sales")
    assert known.seconds == 120
    assert known.packages == {"numpy", "pandas", "scikit-learn", "scipy"}
    assert known.rows > 100
    assert known.width == 12
    assert [c.name for c in known.features if c.missing] == ["yard_area", "floors"]
    assert known.has("years")
    assert known.has("scale")
    assert known.has("time")
    assert known.has("text")
    assert not known.has("pixels")
    assert known.target_column is not None
    assert known.target_column.low >= 0


def test_images_classes_and_names_of_probabilities_are_read() -> None:
    digits, iris, tumours = facts("digits"), facts("iris"), facts("tumours")
    assert digits.side == 8
    assert digits.class_count == 10
    assert digits.numeric_classes
    assert iris.classes == ("setosa", "versicolor", "virginica")
    assert iris.columns[1:] == iris.classes
    assert iris.predict == "probability"
    assert tumours.positive == "1"
    assert tumours.maximize


@pytest.mark.parametrize("name", ["shop", "titanic", "digits", "grades", "iris"])
def test_drafts_differ_in_their_model(name: str) -> None:
    siblings: list[Node] = []
    for number in range(6):
        reply = ask(draft_prompt(siblings[-10:], number), name, seed=number)
        written = read_program(reply.text)
        siblings.append(node(written.code, written.plan, 0.5, number + 1))
    kinds = [recipe_of(sibling.code).first.kind for sibling in siblings]
    assert len(set(kinds)) == 6


def test_some_drafts_fail_and_most_work() -> None:
    for name in ("titanic", "shop"):
        replies = [ask(draft_prompt(), name, seed) for seed in range(300)]
        recipes = [recipe_of(read_program(reply.text).code) for reply in replies]
        plain = [
            replace(plain_recipe(recipe.first.kind, facts(name)), features=recipe.features)
            for recipe in recipes
        ]
        slips = sum(a != b for a, b in zip(recipes, plain, strict=True))
        assert 0.25 < slips / 300 < 0.4


def test_the_same_request_has_the_same_answer_and_another_seed_another() -> None:
    prompt = draft_prompt()
    assert ask(prompt).text == ask(prompt).text
    assert len({ask(prompt, seed=seed).text for seed in range(10)}) > 3


def test_an_answer_costs_one_call_and_nothing_else() -> None:
    reply = ask(draft_prompt())
    assert reply.usage.calls == 1
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.usd) == (0, 0, 0.0)
    assert (reply.stop, reply.model, OfflineModel().name) == ("end", "offline", "offline")


def test_an_improvement_is_one_known_edit_in_blocks() -> None:
    known = facts("shop")
    parent = node(render(plain_recipe("hgb", known), known))
    for seed in range(30):
        reply = ask(improve_prompt(parent), seed=seed)
        written = read_change(reply.text, parent.code)
        assert "```" not in reply.text
        assert not written.flags
        assert written.plan in {edit.plan for edit in EDITS.values()}
        recipe_of(written.code)


def test_changes_that_were_tried_are_not_made_again() -> None:
    known = facts("shop")
    parent = node(render(plain_recipe("hgb", known), known))
    siblings: list[Node] = []
    for number in range(40):
        reply = ask(improve_prompt(parent, siblings, number), seed=number)
        plan = plan_of(reply.text)
        assert plan not in {sibling.plan for sibling in siblings}
        value = 0.6 if number % 3 else None
        siblings.append(node(f"print({number})", plan, value, number + 2))


def test_what_suits_the_data_comes_first() -> None:
    known = facts("shop")
    parent = node(render(plain_recipe("hgb", known), known))
    plans = Counter(plan_of(ask(improve_prompt(parent), seed=seed).text) for seed in range(200))
    likely = {EDITS[name].plan for name in ("target-log1p", "date-hour", "date-parts")}
    assert likely <= {plan for plan, _ in plans.most_common(5)}


def test_a_refused_answer_is_followed_by_another() -> None:
    known = facts("titanic")
    again = Message("user", render_prompt("again.j2", reason="duplicate of node 3"))
    prompt = draft_prompt()
    first = ask(prompt, "titanic")
    second = ask(prompt, "titanic", 1, Message("assistant", first.text), again)
    assert recipe_of(read_program(first.text).code) != recipe_of(read_program(second.text).code)
    prompt = improve_prompt(node(render(plain_recipe("forest", known), known)))
    first = ask(prompt, "titanic")
    second = ask(prompt, "titanic", 1, Message("assistant", first.text), again)
    assert plan_of(first.text) != plan_of(second.text)


def test_a_program_that_it_did_not_write_is_rewritten() -> None:
    foreign = "import pandas as pd\nprint(pd.read_csv('input/train.csv'))\n"
    written = read_change(ask(improve_prompt(node(foreign))).text, foreign)
    assert "rewrite" in written.flags
    recipe_of(written.code)


def test_its_own_program_with_a_change_of_others_is_rewritten_too() -> None:
    known = facts("shop")
    code = render(plain_recipe("linear", known), known).replace("SEED = 0", "SEED = 7")
    written = read_change(ask(improve_prompt(node(code))).text, code)
    assert "SEED = 0" in written.code
    assert "rewrite" in written.flags


def test_two_solutions_are_merged() -> None:
    known = facts("shop")
    first = plain_recipe("hgb", known).with_features("date-parts")
    second = plain_recipe("linear", known).with_features("year-gaps")
    shown = [
        render_prompt("improve.j2", parent=node(render(r, known), "", value, n), siblings=(),
                      children=0)
        for n, (r, value) in enumerate([(first, 0.4), (second, 0.3)], 1)
    ]  # fmt: skip
    written = read_change(ask("\n\n".join(shown)).text, render(first, known))
    merged = recipe_of(written.code)
    assert {"date-parts", "year-gaps"} <= set(merged.features)
    assert merged.first.kind == "linear"


def test_lightgbm_is_used_only_where_it_is_installed() -> None:
    title = FAMILIES["lightgbm"].title
    for packages, expected in (("", False), ("lightgbm", True)):
        replies = [
            ask(draft_prompt(children=3), seed=seed, packages=packages) for seed in range(60)
        ]
        assert any(title in reply.text for reply in replies) is expected


def test_a_prompt_without_facts_still_gets_a_program() -> None:
    request = Request("You write programs.", (Message("user", "Write one."),), "draft", 0)
    assert "def main" in read_program(OfflineModel().complete(request).text).code
