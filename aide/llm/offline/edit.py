"""One atomic change of a recipe: the record that the tables of edits are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from aide.llm.offline.facts import Facts
from aide.llm.offline.recipe import Member, Recipe

Group = Literal["feature", "prepare", "model", "ensemble", "parameter", "target"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one thing.

    Attributes:
        name: unique among the edits.
        group: what kind of thing it changes.
        plan: one sentence that says what changes and why; unique, and the same each time.
        applies: True if the change means something for a recipe and a task.
        apply: the changed recipe.
    """

    name: str
    group: Group
    plan: str
    applies: Callable[[Recipe, Facts], bool]
    apply: Callable[[Recipe], Recipe]


def change_member(
    recipe: Recipe, fits: Callable[[Member], bool], change: Callable[[Member], Member]
) -> Recipe:
    """The recipe with its first fitting member changed; the recipe itself if none fits."""
    members = list(recipe.members)
    place = next((i for i, member in enumerate(members) if fits(member)), None)
    if place is None:
        return recipe
    members[place] = change(members[place])
    return replace(recipe, members=tuple(members))
