"""Choosing one atomic change of a program, in view of what was tried on it."""

from __future__ import annotations

from random import Random

from aide.llm.offline.cost import allowed_seconds, seconds
from aide.llm.offline.edit import Edit
from aide.llm.offline.edits import EDITS
from aide.llm.offline.facts import Facts
from aide.llm.offline.priors import prior
from aide.llm.offline.prompt import Attempt, Question
from aide.llm.offline.recipe import Recipe


def choose_edit(recipe: Recipe, question: Question, rng: Random) -> Edit | None:
    """An edit that applies, is affordable and was not tried yet; None if none is left."""
    facts = question.facts
    tried = _tried(question)
    options = [
        edit
        for edit in EDITS.values()
        if edit.name not in tried
        and edit.applies(recipe, facts)
        and edit.apply(recipe) != recipe
        and seconds(edit.apply(recipe), facts) < allowed_seconds(facts)
    ]
    if not options:
        return None
    experience = _experience(question)
    weights = [
        (prior(edit, recipe, facts) * experience.get(edit.group, 1.0)) ** _sharpness(question)
        for edit in options
    ]
    return rng.choices(options, weights)[0]


def _sharpness(question: Question) -> float:
    """Simple changes follow the prior closely; a bold one may be something rarer."""
    return (1.3, 1.0, 0.7)[question.ambition]


def _tried(question: Question) -> set[str]:
    """The edits whose plans stand in the attempts or in answers that could not be used."""
    texts = [attempt.plan for attempt in question.attempts] + list(question.answers)
    return {
        edit.name
        for edit in EDITS.values()
        if any(text.startswith(edit.plan[:100]) for text in texts)
    }


def _experience(question: Question) -> dict[str, float]:
    """A factor for each group of edits: those that helped count more, those that hurt less."""
    parent = question.solutions[0].score
    factors: dict[str, float] = {}
    for attempt in question.attempts:
        edit = next((e for e in EDITS.values() if attempt.plan.startswith(e.plan[:100])), None)
        if edit is not None:
            gain = _gain(attempt, parent, question.facts)
            factors[edit.group] = factors.get(edit.group, 1.0) * gain
    return {group: min(max(factor, 0.4), 2.0) for group, factor in factors.items()}


def _gain(attempt: Attempt, parent: float | None, facts: Facts) -> float:
    if attempt.score is None:
        return 0.7
    if parent is None or attempt.score == parent:
        return 0.9
    return 1.2 if (attempt.score > parent) == facts.maximize else 0.85
