"""Edits of what is learned and how it becomes the answer."""

from __future__ import annotations

from dataclasses import replace

from aide.llm.offline.edit import Edit
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Recipe

RANK_METRICS = ("roc_auc", "average_precision")


def _positive(facts: Facts) -> bool:
    """A target that is known not to be negative."""
    column = facts.target_column
    return facts.metric == "rmsle" or (column is not None and column.low >= 0)


def _scale(name: str, plan: str) -> Edit:
    def applies(recipe: Recipe, facts: Facts) -> bool:
        suits = _positive(facts) or name not in ("log1p", "sqrt")
        return facts.is_regression and recipe.target != name and suits and not _linked(recipe)

    return Edit(f"target-{name}", "target", plan, applies, lambda r: replace(r, target=name))


def _linked(recipe: Recipe) -> bool:
    """A Poisson loss has a log link already, and takes no negative target."""
    return any("poisson" in value for m in recipe.members for _, value in m.params)


def _decides(recipe: Recipe, facts: Facts) -> bool:
    return facts.predict == "label" and recipe.target != "ordinal" and recipe.decide == "plain"


TARGET_EDITS = [
    _scale("log1p", "Learn the logarithm of the target, since errors count by ratio or it is "
           "skewed."),
    _scale("sqrt", "Learn the square root of the target, a milder step against skew."),
    _scale("standard", "Learn the target at zero mean and unit variance."),
    _scale("quantile", "Learn the target by its normal rank, which ignores outliers."),
    _scale("plain", "Learn the target as it is, without a transform."),
    Edit(
        "ordinal-target",
        "target",
        "Predict the label as a number and round it, since the labels have an order.",
        lambda r, f: not f.is_regression
        and f.predict == "label"
        and f.class_count > 2
        and f.numeric_classes
        and r.target == "plain"
        and r.decide == "plain"
        and r.balance == "none"
        and not _classifies_only(r)
        and f.metric == "qwk",
        lambda r: replace(r, target="ordinal"),
    ),
    Edit(
        "cut-points",
        "target",
        "Choose the cut points between neighbouring labels out of fold, instead of rounding.",
        lambda r, f: r.target == "ordinal" and r.decide == "plain",
        lambda r: replace(r, decide="cut-points"),
    ),
    Edit(
        "clip-to-range",
        "target",
        "Keep the predictions within the range of the training target.",
        lambda r, f: f.is_regression and r.clip != "range",
        lambda r: replace(r, clip="range"),
    ),
    Edit(
        "balance-classes",
        "target",
        "Weigh the classes by how rare they are, so that the small ones count.",
        lambda r, f: not f.is_regression
        and r.balance == "none"
        and r.target != "ordinal"
        and any(FAMILIES[kind].balances for kind in r.kinds),
        lambda r: replace(r, balance="balanced"),
    ),
    Edit(
        "unbalance-classes",
        "target",
        "Take the class weights out again, since they distort the probabilities.",
        lambda r, f: r.balance == "balanced",
        lambda r: replace(r, balance="none"),
    ),
    Edit(
        "tune-threshold",
        "target",
        "Choose the cut on the probability out of fold, instead of one half.",
        lambda r, f: _decides(r, f) and f.class_count == 2,
        lambda r: replace(r, decide="threshold"),
    ),
    Edit(
        "tune-priors",
        "target",
        "Weigh the class probabilities by rarity, with the weight chosen out of fold.",
        lambda r, f: _decides(r, f) and f.class_count > 2,
        lambda r: replace(r, decide="priors"),
    ),
    Edit(
        "plain-decision",
        "target",
        "Take the most probable label again, since the tuned cut may be noise.",
        lambda r, f: r.decide != "plain",
        lambda r: replace(r, decide="plain"),
    ),
    Edit(
        "five-folds",
        "target",
        "Estimate the score on five folds, for a steadier picture of what helps.",
        lambda r, f: r.folds < 5,
        lambda r: replace(r, folds=5),
    ),
]  # fmt: skip


def _classifies_only(recipe: Recipe) -> bool:
    return any(not FAMILIES[kind].regressor for kind in recipe.kinds) or any(
        name in ("C", "criterion") or value == "None" or m.encoder == "target"
        for m in recipe.members
        for name, value in (m.params or (("", ""),))
    )
