"""Edits of the model: another kind, several kinds together, more seeds."""

from __future__ import annotations

from dataclasses import replace

from aide.llm.offline.drafts import available, member_for
from aide.llm.offline.edit import Edit
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Member, Recipe

_WHY = {
    "hgb": "which handles mixed columns and gaps well",
    "lightgbm": "which grows leaf by leaf and is quick",
    "gbm": "whose small exact trees do well on few rows",
    "forest": "which is robust without tuning",
    "extra": "whose random splits lower the variance",
    "tree": "which is easy to read",
    "linear": "which extrapolates and rarely overfits",
    "elastic": "which drops weak columns by itself",
    "svm": "which draws smooth borders between close classes",
    "knn": "which follows local structure",
    "mlp": "which learns its own features",
    "gp": "which is at its best on few, smooth rows",
    "bayes": "which needs little data",
}


def usable(kind: str, recipe: Recipe, facts: Facts) -> bool:
    """True if a kind of model can join a recipe for a task: it exists, and is not in it yet."""
    numbers = facts.is_regression or recipe.target == "ordinal"
    if numbers and not FAMILIES[kind].regressor:
        return False
    return kind not in recipe.kinds and available(kind, facts)


def _member(kind: str, recipe: Recipe) -> Member:
    """A new model that sees pixels as its predecessor does, and else as it likes best."""
    member = member_for(kind)
    same = FAMILIES[kind].numeric and FAMILIES[recipe.first.kind].numeric
    return replace(member, scaler=recipe.first.scaler) if same else member


def _swap(kind: str) -> Edit:
    def apply(recipe: Recipe) -> Recipe:
        return recipe.with_first(_member(kind, recipe))

    return Edit(
        f"use-{kind}",
        "model",
        f"Replace the first model by {FAMILIES[kind].title}, {_WHY[kind]}.",
        lambda r, f: usable(kind, r, f),
        apply,
    )


def _add(kind: str) -> Edit:
    def applies(recipe: Recipe, facts: Facts) -> bool:
        return usable(kind, recipe, facts) and len(recipe.members) < 3 and _mixes(recipe)

    def apply(recipe: Recipe) -> Recipe:
        combine = "average" if recipe.combine == "single" else recipe.combine
        return replace(recipe, members=(*recipe.members, _member(kind, recipe)), combine=combine)

    return Edit(
        f"average-{kind}",
        "ensemble",
        f"Average with {FAMILIES[kind].title}, {_WHY[kind]}, since its errors differ.",
        applies,
        apply,
    )


def _mixes(recipe: Recipe) -> bool:
    return recipe.combine in ("single", "average", "stack")


def _pick(kind: str) -> Edit:
    def apply(recipe: Recipe) -> Recipe:
        members = (*recipe.members, _member(kind, recipe))
        return replace(recipe, members=members, combine="pick")

    return Edit(
        f"pick-{kind}",
        "ensemble",
        f"Let a small cross-validation pick the better of this model and {FAMILIES[kind].title}.",
        lambda r, f: usable(kind, r, f) and r.combine == "single",
        apply,
    )


def _raw(kind: str, adds: bool) -> Edit:
    """A model on unscaled pixels: they share one unit, and the empty border should stay small."""
    member = replace(member_for(kind), scaler="none")

    def applies(recipe: Recipe, facts: Facts) -> bool:
        room = _mixes(recipe) and len(recipe.members) < 3 if adds else True
        return facts.side > 0 and room and usable(kind, recipe, facts)

    def apply(recipe: Recipe) -> Recipe:
        if not adds:
            return recipe.with_first(member)
        combine = "average" if recipe.combine == "single" else recipe.combine
        return replace(recipe, members=(*recipe.members, member), combine=combine)

    title = FAMILIES[kind].title
    verb = "Average with" if adds else "Replace the first model by"
    return Edit(
        f"{'average' if adds else 'use'}-{kind}-pixels",
        "ensemble" if adds else "model",
        f"{verb} {title} on the pixels as they are, since their common scale is signal.",
        applies,
        apply,
    )


MODEL_EDITS = [
    *(_raw(kind, adds) for kind in ("svm", "knn", "mlp") for adds in (False, True)),
    *(_swap(kind) for kind in FAMILIES),
    *(_add(kind) for kind in FAMILIES if kind not in ("tree", "bayes")),
    *(_pick(kind) for kind in ("linear", "forest", "hgb")),
    Edit(
        "stack",
        "ensemble",
        "Stack the models instead of averaging them, so that the better one weighs more.",
        lambda r, f: r.combine == "average",
        lambda r: replace(r, combine="stack"),
    ),
    Edit(
        "average-again",
        "ensemble",
        "Average the models plainly, which is more robust on few rows.",
        lambda r, f: r.combine in ("stack", "pick"),
        lambda r: replace(r, combine="average"),
    ),
    Edit(
        "drop-first",
        "ensemble",
        "Drop the first of the models, in case it holds the others back.",
        lambda r, f: len(r.members) > 1,
        lambda r: _without(r, 0),
    ),
    Edit(
        "drop-last",
        "ensemble",
        "Drop the last of the models, in case it holds the others back.",
        lambda r, f: len(r.members) > 1,
        lambda r: _without(r, len(r.members) - 1),
    ),
    Edit(
        "more-seeds",
        "ensemble",
        "Average the model over five seeds, which lowers its variance.",
        lambda r, f: r.bags == 1 and any(FAMILIES[kind].seeded for kind in r.kinds),
        lambda r: replace(r, bags=5),
    ),
]


def _without(recipe: Recipe, place: int) -> Recipe:
    members = recipe.members[:place] + recipe.members[place + 1 :]
    combine = "single" if len(members) == 1 else recipe.combine
    return replace(recipe, members=members, combine=combine)
