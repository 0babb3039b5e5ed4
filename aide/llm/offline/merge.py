"""Two recipes made into one."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from aide.llm.offline.prompt import Question
from aide.llm.offline.recipe import Recipe


def merge(first: Recipe, second: Recipe, question: Question, rng: Random) -> tuple[str, Recipe]:
    """The better of two recipes with what the other has and it lacks: features, then a model.

    Returns:
        One sentence on it, and the merged recipe.
    """
    a, b = (solution.score for solution in question.solutions[:2])
    if a is not None and b is not None and (b > a) == question.facts.maximize and a != b:
        first, second = second, first
    merged = first.with_features(*second.features)
    others = [member for member in second.members if member.kind not in first.kinds]
    if others and len(first.members) < 3 and (merged == first or rng.random() < 0.7):
        combine = "average" if first.combine == "single" else first.combine
        members = (*first.members, rng.choice(others))
        merged = replace(merged, members=members, combine=combine)
        return "Average the models of both solutions, on the features of both.", merged
    return "Give the better solution the features of the other one too.", merged
