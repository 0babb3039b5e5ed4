"""Recipes to try the offline model's edits on, small enough to run at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aide.llm.offline.drafts import available, plain_recipe
from aide.llm.offline.edit import Edit
from aide.llm.offline.edits import EDITS
from aide.llm.offline.facts import Facts
from aide.llm.offline.recipe import Recipe

SMALL = {
    "hgb": {"max_iter": "10"},
    "forest": {"n_estimators": "10"},
    "extra": {"n_estimators": "10"},
    "gbm": {"n_estimators": "10"},
    "mlp": {"max_iter": "20"},
}
KINDS = ("linear", "hgb", "forest", "svm", "knn", "tree", "extra", "gbm", "elastic", "mlp")
TASKS = ("shop", "titanic", "grades", "flowers", "digits", "shifted")


def small(kind: str, facts: Facts) -> Recipe:
    """A plain recipe with a quick model and a single split."""
    recipe = replace(plain_recipe(kind, facts), folds=1)
    return recipe.with_first(recipe.first.with_params(**SMALL.get(kind, {})))


def bases(facts: Facts) -> Iterator[Recipe]:
    """Recipes of every kind, and some with a setting that an edit needs."""
    for kind in KINDS:
        if available(kind, facts):
            yield small(kind, facts)
    forest = small("forest", facts)
    both = EDITS["average-linear"].apply(forest)
    yield from (both, replace(both, combine="stack"), replace(forest, text="keep"))
    yield forest.with_first(replace(forest.first, encoder="onehot"))
    yield forest.with_first(replace(forest.first, reduce="pca"))
    linear = small("linear", facts)
    yield linear.with_first(replace(linear.first, scaler="minmax"))
    if facts.is_regression:
        yield replace(forest, target="standard")
    else:
        yield replace(forest, balance="balanced")
        decide = "threshold" if facts.class_count == 2 else "priors"
        if facts.predict == "label":
            yield replace(forest, decide=decide)
        if facts.metric == "qwk":
            yield replace(forest, target="ordinal")


def changes(edit: Edit, recipe: Recipe, facts: Facts) -> bool:
    """True if an edit means something for a recipe."""
    return edit.applies(recipe, facts) and edit.apply(recipe) != recipe


def base_for(edit: Edit, facts: Facts) -> Recipe | None:
    """The first recipe that an edit changes."""
    return next((recipe for recipe in bases(facts) if changes(edit, recipe, facts)), None)
