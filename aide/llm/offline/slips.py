"""Mistakes that a hasty author makes by not looking at the data; each shows only at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from aide.llm.offline.edit import Edit
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Member, Recipe


@dataclass(frozen=True, slots=True)
class Slip:
    """A mistake as a change of a recipe.

    Attributes:
        weight: how often it happens, against the others.
        bites: True if the program fails for it on the task's data.
        apply: the recipe with the mistake.
        groups: the kinds of edit that it comes with; a draft may hold any.
    """

    weight: float
    bites: Callable[[Recipe, Facts], bool]
    apply: Callable[[Recipe], Recipe]
    groups: frozenset[str]


def _last(recipe: Recipe, change: Callable[[Member], Member]) -> Recipe:
    """The last member is the one that was just written; see `edit_slip`."""
    return replace(recipe, members=(*recipe.members[:-1], change(recipe.members[-1])))


def _coded(name: str) -> Callable[[Recipe], Recipe]:
    """All strings are coded alike, whatever they hold."""
    text = "drop" if name == "onehot-sparse" else "keep"
    return lambda r: replace(_last(r, lambda m: replace(m, encoder=name)), text=text)


def _wrong_keyword(recipe: Recipe) -> Recipe:
    name, value = FAMILIES[recipe.members[-1].kind].wrong
    return _last(recipe, lambda member: member.with_params(**{name: value}))


def _needs_filling(recipe: Recipe, facts: Facts) -> bool:
    gaps = any(c.missing for c in facts.numeric)
    return gaps and not FAMILIES[recipe.members[-1].kind].takes_nan


def _has_rare_levels(recipe: Recipe, facts: Facts) -> bool:
    """A level that few rows have is likely to be unseen in some fold; texts and dates are."""
    if facts.has("text") or facts.has("date"):
        return True
    return sum(c.unique > 5 for c in facts.features if c.kind == "category") > 3


def _codes_rare_levels(recipe: Recipe, facts: Facts) -> bool:
    """As above, where one column a level is a matter of course and not yet a wall."""
    numeric = FAMILIES[recipe.members[-1].kind].numeric
    return numeric and facts.rows < 5000 and _has_rare_levels(recipe, facts)


def _ranks_rare_levels(recipe: Recipe, facts: Facts) -> bool:
    return not FAMILIES[recipe.members[-1].kind].numeric and _has_rare_levels(recipe, facts)


def _needs_dense(recipe: Recipe, facts: Facts) -> bool:
    return facts.has("category") and recipe.members[-1].kind in ("hgb", "gp", "bayes")


def _takes_parts_of_dates(recipe: Recipe, facts: Facts) -> bool:
    return facts.has("date") and any(name.startswith("date-") for name in recipe.features)


def _may_go_below_zero(recipe: Recipe, facts: Facts) -> bool:
    """Trees that are averaged stay within the target's range; the others need not."""
    averages = recipe.kinds <= {"forest", "extra", "tree", "knn"}
    return facts.metric == "rmsle" and recipe.target == "plain" and not averages


def _can_be_negative(recipe: Recipe, facts: Facts) -> bool:
    target = facts.target_column
    return facts.is_regression and target is not None and target.low < -1


_MODEL = frozenset({"model", "ensemble"})
_ANY = frozenset[str]()

SLIPS: dict[str, Slip] = {
    "gaps-left": Slip(
        4.0,
        _needs_filling,
        lambda r: _last(r, lambda m: replace(m, imputer="none")),
        _MODEL,
    ),
    "strict-codes": Slip(3.0, _codes_rare_levels, _coded("onehot-strict"), _MODEL | {"prepare"}),
    "strict-ordinals": Slip(
        2.0, _ranks_rare_levels, _coded("ordinal-strict"), _MODEL | {"prepare"}
    ),
    "strings-left": Slip(
        2.0, lambda r, f: f.has("category"), _coded("none"), _MODEL | {"feature"}
    ),
    "sparse-codes": Slip(2.0, _needs_dense, _coded("onehot-sparse"), _MODEL | {"prepare"}),
    "wrong-keyword": Slip(
        1.5,
        lambda r, f: bool(FAMILIES[r.members[-1].kind].wrong[0]),
        _wrong_keyword,
        _MODEL | {"parameter"},
    ),
    "train-columns": Slip(
        1.0, lambda r, f: True, lambda r: replace(r, columns="train"), frozenset({"feature"})
    ),
    "dates-as-read": Slip(
        3.0,
        _takes_parts_of_dates,
        lambda r: replace(r, dates="as-read"),
        frozenset({"feature"}),
    ),
    "log-of-negatives": Slip(
        3.0, _can_be_negative, lambda r: replace(r, target="log1p"), frozenset({"target"})
    ),
    "scores-for-labels": Slip(
        1.0,
        lambda r, f: f.predict == "label" and _all_have_probabilities(r),
        lambda r: replace(r, output="scores"),
        frozenset({"target"}),
    ),
    "codes-for-labels": Slip(
        1.5,
        lambda r, f: f.predict == "label" and not f.numeric_classes,
        lambda r: replace(r, output="codes"),
        frozenset({"target"}),
    ),
    "own-column-name": Slip(
        1.0,
        lambda r, f: len(f.columns) == 2,
        lambda r: replace(r, output="named"),
        frozenset({"target"}),
    ),
    "negative-values": Slip(
        3.0,
        _may_go_below_zero,
        lambda r: replace(r, clip="none"),
        _ANY,
    ),
}


def _all_have_probabilities(recipe: Recipe) -> bool:
    return recipe.target != "ordinal"


def draft_slip(recipe: Recipe, facts: Facts, share: float, rng: Random) -> Recipe:
    """The recipe, with a mistake in the given share of cases."""
    return _maybe(recipe, list(SLIPS.values()), facts, share, rng)


def edit_slip(recipe: Recipe, edit: Edit, facts: Facts, share: float, rng: Random) -> Recipe:
    """The recipe after an edit, with a mistake that comes with such edits, in a share of cases."""
    fitting = [slip for slip in SLIPS.values() if edit.group in slip.groups]
    if edit.group != "model":
        return _maybe(recipe, fitting, facts, share, rng)
    # An edit of this group replaces the first member, where the others add or change the last.
    first, *others = recipe.members
    turned = _maybe(replace(recipe, members=(*others, first)), fitting, facts, share, rng)
    *others, first = turned.members
    return replace(turned, members=(first, *others))


def _maybe(recipe: Recipe, slips: list[Slip], facts: Facts, share: float, rng: Random) -> Recipe:
    hasty = rng.random() < share
    biting = [slip for slip in slips if slip.bites(recipe, facts)]
    if not hasty or not biting:
        return recipe
    return rng.choices(biting, [slip.weight for slip in biting])[0].apply(recipe)
