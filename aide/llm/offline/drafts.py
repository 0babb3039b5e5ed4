"""Starting points: simple recipes that differ in the kind of model."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from aide.llm.offline.cost import allowed_seconds, seconds
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.prompt import Attempt
from aide.llm.offline.recipe import Member, Recipe

_SIMPLE = {
    "linear": 3.0,
    "forest": 3.0,
    "hgb": 2.0,
    "knn": 2.0,
    "tree": 2.0,
    "bayes": 1.0,
    "elastic": 1.0,
}
_MODERATE = {
    "forest": 2.0,
    "extra": 2.0,
    "hgb": 3.0,
    "lightgbm": 2.0,
    "gbm": 2.0,
    "svm": 2.0,
    "linear": 1.0,
}
_AMBITIOUS = {
    "hgb": 3.0,
    "lightgbm": 3.0,
    "gbm": 2.0,
    "extra": 2.0,
    "svm": 2.0,
    "mlp": 2.0,
    "gp": 0.5,
}


def member_for(kind: str) -> Member:
    """A model with the preprocessing that suits its kind."""
    if FAMILIES[kind].numeric:
        return Member(kind, "onehot", "median", "standard")
    boosts = kind in ("hgb", "lightgbm")
    return Member(kind, "ordinal", "none" if boosts else "median")


def available(kind: str, facts: Facts) -> bool:
    """True if a kind of model exists for the problem and is installed."""
    family = FAMILIES[kind]
    name = family.regressor if facts.is_regression else family.classifier
    installed = family.package == "scikit-learn" or family.package in facts.packages
    return bool(name) and installed


def plain_recipe(kind: str, facts: Facts) -> Recipe:
    """One model of a kind on the columns as they are, nothing tuned."""
    recipe = Recipe((member_for(kind),), folds=1 if facts.rows > 4000 else 3)
    if facts.is_regression:
        if kind in ("svm", "mlp", "elastic"):
            recipe = replace(recipe, target="standard")
        if facts.metric == "rmsle":
            recipe = replace(recipe, clip="zero")
    plain = facts.number_of("int", "float", "bool", "category")
    return recipe if plain else with_bare_minimum(recipe, facts)


def with_bare_minimum(recipe: Recipe, facts: Facts) -> Recipe:
    """The recipe with columns out of texts and dates, which it would leave out otherwise."""
    names = ["words", "text-shape"] if facts.has("text") else []
    return recipe.with_features(*names, *(["date-parts"] if facts.has("date") else []))


def draft(facts: Facts, attempts: tuple[Attempt, ...], ambition: int, rng: Random) -> Recipe:
    """A starting point of a kind that no draft so far uses, if there is one."""
    weights = (_SIMPLE, _MODERATE, _AMBITIOUS)[ambition]
    usable = {kind: weight for kind, weight in weights.items() if available(kind, facts)}
    usable = {k: w for k, w in usable.items() if _is_quick(plain_recipe(k, facts), facts)}
    tried = " ".join(attempt.plan.lower() for attempt in attempts)
    new = {k: w for k, w in usable.items() if FAMILIES[k].title.lower() not in tried}
    others = [k for k in FAMILIES if FAMILIES[k].title.lower() not in tried]
    others = [k for k in others if available(k, facts) and k != "gp"]
    choice = new or dict.fromkeys(others, 1.0) or usable or {"linear": 1.0}
    kind = rng.choices(list(choice), list(choice.values()))[0]
    recipe = plain_recipe(kind, facts)
    return _with_features(recipe, facts, ambition, rng)


def _is_quick(recipe: Recipe, facts: Facts) -> bool:
    return seconds(recipe, facts) < allowed_seconds(facts) / 2


def _with_features(recipe: Recipe, facts: Facts, ambition: int, rng: Random) -> Recipe:
    """A first draft takes the columns as they are; a later one adds an obvious feature."""
    if ambition == 0 and rng.random() < 0.8:
        return recipe
    obvious = {"date": ["date-parts"], "text": ["text-shape", "first-letter"]}
    obvious |= {"missing": ["missing-count"], "numerics": ["row-statistics"]}
    names = [rng.choice(names) for trait, names in obvious.items() if facts.has(trait)]
    return recipe.with_features(*names[:1]) if names else recipe


def draft_plan(recipe: Recipe) -> str:
    """What a draft does, in a few sentences."""
    member = recipe.first
    encoder = {"ordinal": "ordinal codes", "native": "native categories", "none": "left as is"}
    coded = encoder.get(member.encoder.split("-")[0], member.encoder.split("-")[0] + " codes")
    gaps = "left to the model" if member.imputer == "none" else f"filled ({member.imputer})"
    text = f"A first solution with {FAMILIES[member.kind].title}: "
    text += f"categories {'as ' if coded != 'left as is' else ''}{coded}, gaps {gaps}"
    text += f", numbers scaled ({member.scaler}). " if member.scaler != "none" else ". "
    if recipe.features:
        text += f"It adds {' and '.join(name.replace('-', ' ') for name in recipe.features)}. "
    if recipe.target != "plain":
        text += f"The target is learned on a {recipe.target} scale. "
    check = "a single split" if recipe.folds == 1 else f"{recipe.folds} folds"
    return text + f"It estimates its own score on {check}."
