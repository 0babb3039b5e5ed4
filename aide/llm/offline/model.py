"""The offline model: answers a prompt as a language model would, by rules instead."""

from __future__ import annotations

from random import Random

from aide.interfaces import Reply, Request, Usage
from aide.llm.offline.blocks import change_blocks
from aide.llm.offline.changes import choose_edit
from aide.llm.offline.drafts import draft, draft_plan
from aide.llm.offline.fixes import fix
from aide.llm.offline.merge import merge
from aide.llm.offline.prompt import Question, Solution, read_question
from aide.llm.offline.recipe import Recipe, parse_recipe
from aide.llm.offline.render import render
from aide.llm.offline.slips import draft_slip, edit_slip

DRAFT_SLIPS = 0.32
EDIT_SLIPS = 0.16


class OfflineModel:
    """A rule-based author of scikit-learn programs. Holds no state; needs no key, no network.

    The same request with the same seed gives the same answer. All that it knows is in the
    request's text. It is hasty now and then, and its programs fail then as a person's would.
    """

    name = "offline"

    def complete(self, request: Request) -> Reply:
        """Answer a prompt of the operators: a program, or a change of one."""
        question = read_question(request)
        rng = Random(f"{question.seed}/{len(question.answers)}/{request.messages[0].text}")
        answers = {"draft": _draft, "improve": _improve, "debug": _debug, "merge": _merge}
        text = answers[question.kind](question, rng)
        return Reply(text=text, model=self.name, usage=Usage(calls=1, usd=0.0))


def _draft(question: Question, rng: Random) -> str:
    facts = question.facts
    recipe = draft(facts, question.attempts, question.ambition, rng)
    # After a refusal the author is more careful, and any change makes another program.
    share = 0.0 if question.answers else DRAFT_SLIPS
    hasty = draft_slip(recipe, facts, share, rng)
    return _program(draft_plan(hasty), hasty, question)


def _improve(question: Question, rng: Random) -> str:
    parent = question.solutions[0]
    recipe = parse_recipe(parent.code)
    if recipe is None:
        return _draft(question, rng)
    edit = choose_edit(recipe, question, rng)
    if edit is None:
        return _draft(question, rng)
    changed = edit_slip(edit.apply(recipe), edit, question.facts, EDIT_SLIPS, rng)
    return _change(edit.plan, parent, recipe, changed, question)


def _debug(question: Question, rng: Random) -> str:
    parent = question.solutions[0]
    recipe = parse_recipe(parent.code)
    if recipe is None:
        return _draft(question, rng)
    plan, better = fix(recipe, question.facts, question.log, len(question.answers))
    return _change(plan, parent, recipe, better, question)


def _merge(question: Question, rng: Random) -> str:
    recipes = [parse_recipe(solution.code) for solution in question.solutions[:2]]
    first, second = recipes
    if first is None or second is None:
        return _draft(question, rng)
    plan, merged = merge(first, second, question, rng)
    return _change(plan, question.solutions[0], first, merged, question)


def _program(plan: str, recipe: Recipe, question: Question) -> str:
    return f"{plan}\n\n```python\n{render(recipe, question.facts)}```\n"


def _change(plan: str, parent: Solution, old: Recipe, new: Recipe, question: Question) -> str:
    """The change as blocks if the parent still is what the author wrote, else a whole program."""
    blocks = None
    # What others changed in the program is not in the recipe, so blocks might undo it by halves.
    if parent.code.strip() == render(old, question.facts).strip():
        blocks = change_blocks(parent.code, render(new, question.facts))
    return f"{plan}\n\n{blocks}\n" if blocks else _program(plan, new, question)
