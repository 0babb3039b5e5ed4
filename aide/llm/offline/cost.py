"""How long a recipe's program takes, roughly: an author's sense of what is too slow."""

from __future__ import annotations

from math import log2

from aide.llm.offline.facts import Facts
from aide.llm.offline.recipe import Member, Recipe


def seconds(recipe: Recipe, facts: Facts) -> float:
    """Estimated run time on one processor, in seconds; right within a factor of about three."""
    rows = min(facts.rows or 1000, recipe.rows or 10**9)
    width = _width(recipe, facts)
    fits = recipe.bags * (1 + recipe.folds * (0.7 if recipe.folds > 1 else 0.75))
    fits *= {"single": 1.0, "average": 1.0, "stack": 4.0, "pick": 3.0}[recipe.combine]
    if recipe.decide != "plain":
        fits *= 1.7
    one = sum(_member(member, rows, width, recipe, facts) for member in recipe.members)
    text = 2e-3 * rows if {"words", "characters"} & set(recipe.features) else 0.0
    return 1.5 + text + fits * one


def allowed_seconds(facts: Facts) -> float:
    """The longest estimate that an author accepts: far below the limit, since it is rough."""
    return min(60.0, facts.seconds / 6)


def _width(recipe: Recipe, facts: Facts) -> float:
    width = float(facts.width or 20)
    more = {"pixel-gradients": 1.8, "pixel-blur": 1.0, "level-pairs": 0.3, "missing-flags": 0.2}
    return width * (1 + sum(more.get(name, 0.05) for name in recipe.features))


def _member(member: Member, rows: int, width: float, recipe: Recipe, facts: Facts) -> float:
    soft_fits = 4 if facts.predict == "probability" or len(recipe.members) > 1 else 1
    groups = facts.class_count if facts.class_count > 2 else 1
    if member.encoder.startswith("onehot"):
        width += 6.0 * facts.number_of("category")
        if recipe.text == "keep":
            many = [c.unique for c in facts.features if c.kind in ("text", "date")]
            width += sum(many)
    if member.reduce == "polynomial":
        width += width * width / 2
    steps = {
        "hgb": lambda: _trees(member, "max_iter", 100, 2e-3 + rows * width * 2e-8) * groups,
        "lightgbm": lambda: (
            _trees(member, "n_estimators", 100, 1e-3 + rows * width * 1e-8) * groups
        ),
        "gbm": lambda: _trees(member, "n_estimators", 100, rows * width * 1.2e-7) * groups,
        "forest": lambda: _trees(member, "n_estimators", 100, _deep(rows, width, facts)),
        "extra": lambda: _trees(member, "n_estimators", 100, _deep(rows, width, facts) * 0.6),
        "tree": lambda: rows * width * 1e-6,
        "linear": lambda: rows * width * groups * (1e-7 if facts.is_regression else 3e-6),
        "elastic": lambda: rows * width * groups * 4e-6,
        "svm": lambda: rows * rows * width * 1.5e-9 * soft_fits,
        "knn": lambda: rows * rows * width * 2e-10,
        "mlp": lambda: rows * (2.0 + width / 20) * 4e-4 * (member.number("max_iter", 200) / 200),
        "gp": lambda: rows**3 * 6e-9 * groups,
        "bayes": lambda: rows * width * 1e-7,
    }
    impute = rows * rows * width * 4e-9 if member.imputer == "knn" else 0.0
    return float(steps[member.kind]()) + impute


def _trees(member: Member, name: str, default: int, each: float) -> float:
    return member.number(name, default) * each


def _deep(rows: int, width: float, facts: Facts) -> float:
    tried = width if facts.is_regression else width**0.5
    return 1e-3 + rows * log2(max(rows, 2)) * tried * 4e-8
