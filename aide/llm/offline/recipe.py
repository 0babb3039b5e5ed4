"""A recipe: all choices behind one program, and its text form in the program's docstring."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from aide.llm.offline.families import FAMILIES, Params
from aide.llm.offline.features import FEATURES

ENCODERS = (
    "ordinal",
    "ordinal-strict",
    "onehot",
    "onehot-strict",
    "onehot-sparse",
    "onehot-frequent",
    "target",
    "native",
    "none",
)
IMPUTERS = ("none", "median", "mean", "most_frequent", "constant", "knn")
SCALERS = ("none", "standard", "robust", "minmax", "quantile", "power")
REDUCERS = ("none", "pca", "select", "polynomial", "nystroem")
SETTINGS: dict[str, tuple[str, ...]] = {
    "target": ("plain", "log1p", "sqrt", "standard", "quantile", "ordinal"),
    "decide": ("plain", "threshold", "priors", "cut-points"),
    "clip": ("none", "zero", "range"),
    "balance": ("none", "balanced"),
    "text": ("drop", "keep"),
    "dates": ("parsed", "as-read"),
    "columns": ("test", "train"),
    "output": ("sample", "scores", "codes", "named"),
    "combine": ("single", "average", "stack", "pick"),
}
NUMBERS = ("bags", "folds", "rows")


@dataclass(frozen=True, slots=True)
class Member:
    """One model with its own preprocessing.

    Attributes:
        kind: a key of `FAMILIES`.
        encoder, imputer, scaler, reduce: how columns reach the model.
        params: keyword arguments of the estimator.
    """

    kind: str
    encoder: str = "ordinal"
    imputer: str = "median"
    scaler: str = "none"
    reduce: str = "none"
    params: Params = ()

    def with_params(self, **values: str) -> Member:
        """The same member with some keyword arguments set."""
        return replace(self, params=tuple((dict(self.params) | values).items()))

    def number(self, name: str, default: float) -> float:
        """A numeric argument's value; the default where it is not set or no number."""
        try:
            return float(dict(self.params).get(name, default))
        except ValueError:
            return default


@dataclass(frozen=True, slots=True)
class Recipe:
    """All choices behind one program; what each setting may be is in `SETTINGS`.

    Attributes:
        members: the models, one to three.
        features: keys of `FEATURES`, in that table's order.
        target: the transform that the target is learned in.
        decide: how scores become labels.
        clip: what bounds the predicted values.
        balance: class weights.
        text: what happens to strings with many values.
        dates: whether dates are parsed before their parts are taken.
        columns: the file whose columns are the features.
        output: what is written, and under which names.
        combine: how the members become one model.
        bags: how many seeds are averaged.
        folds: of the program's own estimate; 1 is a single split.
        rows: the most training rows, 0 for all.
    """

    members: tuple[Member, ...]
    features: tuple[str, ...] = ()
    target: str = "plain"
    decide: str = "plain"
    clip: str = "none"
    balance: str = "none"
    text: str = "drop"
    dates: str = "parsed"
    columns: str = "test"
    output: str = "sample"
    combine: str = "single"
    bags: int = 1
    folds: int = 3
    rows: int = 0

    @property
    def first(self) -> Member:
        return self.members[0]

    @property
    def kinds(self) -> frozenset[str]:
        """The families of the members."""
        return frozenset(member.kind for member in self.members)

    def with_first(self, member: Member) -> Recipe:
        """The same recipe with another first member."""
        return replace(self, members=(member, *self.members[1:]))

    def with_features(self, *names: str) -> Recipe:
        """The same recipe with more features."""
        chosen = set(self.features) | set(names)
        return replace(self, features=tuple(name for name in FEATURES if name in chosen))

    def without_features(self, *names: str) -> Recipe:
        """The same recipe with fewer features."""
        return replace(self, features=tuple(n for n in self.features if n not in names))


def recipe_lines(recipe: Recipe) -> list[str]:
    """A recipe as the lines of a docstring."""
    settings = [f"{name}: {getattr(recipe, name)}" for name in SETTINGS]
    numbers = [f"{name}: {getattr(recipe, name)}" for name in NUMBERS]
    lines = [f"features: {', '.join(recipe.features) or 'as given'}"]
    lines += ["; ".join(settings[:4]), "; ".join(settings[4:8])]
    lines += ["; ".join([*settings[8:], *numbers])]
    for m in recipe.members:
        parts = f"encoder: {m.encoder}; imputer: {m.imputer}; scaler: {m.scaler}"
        line = f"model: {m.kind}; {parts}; reduce: {m.reduce}"
        if m.params:
            line += "; parameters: " + " | ".join(f"{k}={v}" for k, v in m.params)
        lines.append(line)
    return lines


def parse_recipe(code: str) -> Recipe | None:
    """The recipe in a program's docstring; None if there is none that can be read."""
    # The docstring is data here: a person may have edited it, so nothing in it is trusted.
    found = re.search(r'^Recipe:\n((?:    .*\n)+)"""', code, re.MULTILINE)
    if not found:
        return None
    members: list[Member] = []
    values: dict[str, str] = {}
    for line in found.group(1).splitlines():
        pairs = dict(_pair(part) for part in line.strip().split("; "))
        if "model" in pairs:
            members.append(_member(pairs))
        else:
            values |= pairs
    names = values.get("features", "")
    features = () if names == "as given" else tuple(names.split(", "))
    recipe = _recipe(tuple(members), features, values)
    return recipe if recipe and _is_sound(recipe) else None


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition(": ")
    return name, value


def _member(pairs: dict[str, str]) -> Member:
    given = pairs.get("parameters", "")
    params = [part.partition("=") for part in given.split(" | ")] if given else []
    return Member(
        pairs["model"],
        encoder=pairs.get("encoder", "?"),
        imputer=pairs.get("imputer", "?"),
        scaler=pairs.get("scaler", "?"),
        reduce=pairs.get("reduce", "?"),
        params=tuple((name, value) for name, _, value in params),
    )


def _recipe(
    members: tuple[Member, ...], features: tuple[str, ...], values: dict[str, str]
) -> Recipe | None:
    settings = {name: values.get(name, "?") for name in SETTINGS}
    numbers = {name: values.get(name, "?") for name in NUMBERS}
    if not all(number.isdecimal() for number in numbers.values()):
        return None
    bags, folds, rows = (int(number) for number in numbers.values())
    return Recipe(members, features, **settings, bags=bags, folds=folds, rows=rows)


def _is_sound(recipe: Recipe) -> bool:
    known = all(getattr(recipe, name) in values for name, values in SETTINGS.items())
    return (
        known
        and 1 <= len(recipe.members) == len(recipe.kinds)
        and recipe.bags > 0
        and recipe.folds > 0
        and set(recipe.features) <= set(FEATURES)
        and all(_is_sound_member(member) for member in recipe.members)
    )


def _is_sound_member(member: Member) -> bool:
    return (
        member.kind in FAMILIES
        and member.encoder in ENCODERS
        and member.imputer in IMPUTERS
        and member.scaler in SCALERS
        and member.reduce in REDUCERS
    )
