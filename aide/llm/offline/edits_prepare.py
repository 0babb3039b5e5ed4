"""Edits of how columns reach a model: codes for categories, filling, scaling, reduction."""

from __future__ import annotations

from dataclasses import replace

from aide.llm.offline.edit import Edit, change_member
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Member, Recipe

_ENCODERS = {
    "ordinal": "Encode categories as ordinal codes, which trees split well and which stay narrow.",
    "onehot": "Encode categories one-hot, so that no order is made up.",
    "onehot-frequent": "Encode categories one-hot with the rare levels merged, for fewer and "
    "sturdier columns.",
    "target": "Encode categories by the cross-fitted mean of the target, which ranks their "
    "levels.",
    "native": "Let the boosting model split on categories natively instead of on codes.",
}
_IMPUTERS = {
    "median": "Fill gaps with the median, which is robust.",
    "mean": "Fill gaps with the mean.",
    "most_frequent": "Fill gaps with the most frequent value.",
    "constant": "Fill gaps with a constant far outside, so that trees can tell them apart.",
    "knn": "Fill gaps from the nearest complete rows, which keeps relations between columns.",
}
_SCALERS = {
    "none": "Leave the numbers unscaled, since they share one unit and their spread is signal.",
    "standard": "Scale the numbers to zero mean and unit variance, since distances depend on it.",
    "robust": "Scale the numbers by median and quartiles, so that outliers matter less.",
    "minmax": "Scale the numbers to the range from 0 to 1.",
    "quantile": "Map the numbers to a normal distribution by rank, which tames skew and outliers.",
    "power": "Make the numbers more normal with a power transform.",
}
_REDUCERS = {
    "pca": "Reduce the columns to the principal components with 95% of the variance.",
    "select": "Keep the half of the columns that relates most to the target, by an F-test.",
    "polynomial": "Add all pairwise interactions for the model, since its form has none.",
    "nystroem": "Map the columns into an approximate RBF kernel space, so that the linear model "
    "can bend.",
}


def _is_numeric(member: Member) -> bool:
    return FAMILIES[member.kind].numeric


def _encoder(name: str) -> Edit:
    def fits(member: Member) -> bool:
        return member.kind == "hgb" if name == "native" else True

    def applies(recipe: Recipe, facts: Facts) -> bool:
        member = next((m for m in recipe.members if fits(m)), None)
        ordinal = recipe.target == "ordinal" and name == "target"
        return bool(member) and member != _encoded(member, name) and not ordinal and _has(facts)

    def _has(facts: Facts) -> bool:
        return facts.has("category")

    return Edit(
        f"encode-{name}",
        "prepare",
        _ENCODERS[name],
        applies,
        lambda r: change_member(r, fits, lambda m: replace(m, encoder=name)),
    )


def _encoded(member: Member | None, name: str) -> Member | None:
    return replace(member, encoder=name) if member else None


def _imputer(name: str) -> Edit:
    return Edit(
        f"impute-{name}",
        "prepare",
        _IMPUTERS[name],
        lambda r, f: r.first.imputer != name and f.has("missing"),
        lambda r: r.with_first(replace(r.first, imputer=name)),
    )


def _scaler(name: str) -> Edit:
    def applies(recipe: Recipe, facts: Facts) -> bool:
        scaled = [m for m in recipe.members if _is_numeric(m)][:1]
        alike = name != "none" or facts.side > 0
        return bool(scaled) and scaled[0].scaler != name and facts.has("numeric") and alike

    return Edit(
        f"scale-{name}",
        "prepare",
        _SCALERS[name],
        applies,
        lambda r: change_member(r, _is_numeric, lambda m: replace(m, scaler=name)),
    )


def _reducer(name: str) -> Edit:
    def applies(recipe: Recipe, facts: Facts) -> bool:
        if recipe.first.reduce != "none" or recipe.first.encoder in ("native", "onehot-sparse"):
            return False
        if recipe.first.imputer == "none" and facts.has("missing"):
            return False
        linear = recipe.first.kind in ("linear", "elastic")
        return {
            "pca": facts.width >= 10,
            "select": facts.width >= 15,
            "polynomial": linear and facts.width <= 40,
            "nystroem": linear,
        }[name]

    return Edit(
        f"reduce-{name}",
        "prepare",
        _REDUCERS[name],
        applies,
        lambda r: r.with_first(replace(r.first, reduce=name)),
    )


PREPARE_EDITS = [
    *(_encoder(name) for name in _ENCODERS),
    *(_imputer(name) for name in _IMPUTERS),
    *(_scaler(name) for name in _SCALERS),
    *(_reducer(name) for name in _REDUCERS),
    Edit(
        "reduce-none",
        "prepare",
        "Take the column reduction out again, since it loses information.",
        lambda r, f: r.first.reduce != "none",
        lambda r: r.with_first(replace(r.first, reduce="none")),
    ),
]
