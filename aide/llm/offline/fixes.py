"""From what a failed run says to a change of its recipe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from aide.llm.offline.drafts import member_for, plain_recipe, with_bare_minimum
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.features import FEATURES
from aide.llm.offline.recipe import Member, Recipe


@dataclass(frozen=True, slots=True)
class Fix:
    """What a message means and what helps.

    Attributes:
        pattern: found in the log, ignoring case.
        plan: one sentence for the answer.
        apply: the corrected recipe; the same one if this is not the cause.
    """

    pattern: str
    plan: str
    apply: Callable[[Recipe, Facts, re.Match[str]], Recipe]


def _each(recipe: Recipe, change: Callable[[Member], Member]) -> Recipe:
    return replace(recipe, members=tuple(change(member) for member in recipe.members))


def _fill(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    def filled(member: Member) -> Member:
        needs = not FAMILIES[member.kind].takes_nan or member.reduce != "none"
        return replace(member, imputer="median") if needs and member.imputer == "none" else member

    return _each(recipe, filled)


def _tolerate(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    wide = recipe.text == "keep"
    better = {"onehot-strict": "onehot-frequent" if wide else "onehot"}
    better["ordinal-strict"] = "ordinal"
    return _each(recipe, lambda m: replace(m, encoder=better.get(m.encoder, m.encoder)))


def _encode(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    def encoded(member: Member) -> Member:
        return (
            replace(member, encoder=_usual_encoder(member)) if member.encoder == "none" else member
        )

    # A text that is kept becomes one column for each of its values.
    return replace(_each(recipe, encoded), text="drop")


def _usual_encoder(member: Member) -> str:
    return "onehot" if FAMILIES[member.kind].numeric else "ordinal"


def _densify(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    return _each(
        recipe, lambda m: replace(m, encoder="onehot") if m.encoder == "onehot-sparse" else m
    )


def _drop_keyword(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    name = found.group(1)

    def dropped(member: Member) -> Member:
        return replace(member, params=tuple(p for p in member.params if p[0] != name))

    return _each(recipe, dropped)


def _write_as_asked(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    clip = "zero" if facts.metric == "rmsle" and recipe.clip == "none" else recipe.clip
    return replace(recipe, output="sample", clip=clip)


def _never_negative(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    return replace(recipe, clip="zero") if recipe.clip == "none" else recipe


def _plain_target(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    target = "standard" if recipe.target in ("log1p", "sqrt") else recipe.target
    return replace(recipe, target=target)


def _faster(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    """One cheap thing less at a time: seeds, models, folds, then another model, then rows."""
    if recipe.bags > 1:
        return replace(recipe, bags=1)
    if len(recipe.members) > 1:
        return replace(recipe, members=recipe.members[:1], combine="single")
    if recipe.first.kind not in ("hgb", "linear"):
        return recipe.with_first(member_for("hgb"))
    if recipe.folds > 1 or recipe.decide != "plain" or recipe.features:
        return replace(recipe, folds=1, decide="plain", features=())
    rows = (recipe.rows or facts.rows or 20_000) // 4
    return replace(recipe.with_first(member_for("linear")), rows=max(rows, 200))


def _without_function(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    """A feature whose function is in the traceback is left out."""
    return recipe.without_features(found.group(1).replace("_", "-"))


def _few_rows(recipe: Recipe, facts: Facts, found: re.Match[str]) -> Recipe:
    first = member_for("forest") if recipe.first.kind == "svm" else recipe.first
    return replace(recipe, members=(first,), combine="single", decide="plain", folds=1)


_FUNCTIONS = "|".join(name.replace("-", "_") for name in FEATURES)

FIXES: dict[str, Fix] = {
    "timeout": Fix(
        r"^Status: timeout", "Make the program faster, since it ran out of time.", _faster
    ),
    "memory": Fix(
        r"^Status: out-of-memory|MemoryError",
        "Make the program smaller, since it ran out of memory.",
        _faster,
    ),
    "keyword": Fix(
        r"unexpected keyword argument '(\w+)'",
        "Take out the keyword argument that the estimator does not have.",
        _drop_keyword,
    ),
    "target": Fix(
        r"Input y contains (?:NaN|infinity)",
        "Learn the target without the logarithm, since it can be negative.",
        _plain_target,
    ),
    "gaps": Fix(
        r"contains NaN|NaN, infinity",
        "Fill the gaps before the model sees them, since it does not take missing values.",
        _fill,
    ),
    "levels": Fix(
        r"Found unknown categories",
        "Let the encoder pass over levels that it did not see in training.",
        _tolerate,
    ),
    "strings": Fix(
        r"could not convert string|Cannot use \w+ strategy with non-numeric",
        "Encode the categories and leave texts out, since the model takes numbers only.",
        _encode,
    ),
    "sparse": Fix(
        r"sparse|dense data is required",
        "Make the one-hot columns dense, since the model does not take a sparse matrix.",
        _densify,
    ),
    "dates": Fix(
        r"Can only use \.dt accessor",
        "Parse the dates before their parts are taken.",
        lambda r, f, found: replace(r, dates="parsed"),
    ),
    "columns": Fix(
        r"not in index|KeyError|not found in axis",
        "Take the columns from the test file, which does not have the target.",
        lambda r, f, found: replace(r, columns="test"),
    ),
    "negative": Fix(
        r"Logarithmic Error cannot|(?:be|is|are) negative|negative value|below (?:0|zero)",
        "Keep the predictions at zero or above, since the metric takes a logarithm.",
        _never_negative,
    ),
    "output": Fix(
        r"^Status: invalid-output",
        "Write the submission as the sample has it: its columns, and values of its kind.",
        _write_as_asked,
    ),
    "nothing-left": Fix(
        r"0 feature\(s\)|at least one array or dtype is required|No objects to concatenate",
        "Make columns out of the texts and dates, since no other column is left.",
        lambda r, f, found: with_bare_minimum(r, f),
    ),
    "few-rows": Fix(
        r"least populated class|n_splits|cross-validation but provided less",
        "Do without inner folds, since a class has too few rows for them.",
        _few_rows,
    ),
    "feature": Fix(
        rf"in ({_FUNCTIONS})\n",
        "Leave out the feature whose function failed.",
        _without_function,
    ),
}


def fix(recipe: Recipe, facts: Facts, log: str, tries: int) -> tuple[str, Recipe]:
    """A correction for a failed run: one sentence on it, and the corrected recipe.

    Args:
        tries: how many answers to this failure were refused; each takes the next best idea.
    """
    ideas: list[tuple[str, Recipe]] = []
    for known in FIXES.values():
        found = re.search(known.pattern, log, re.IGNORECASE | re.MULTILINE)
        if found:
            ideas.append((known.plan, known.apply(recipe, facts, found)))
    plain = plain_recipe(recipe.first.kind, facts)
    ideas.append(("Go back to plain preprocessing of the columns with the same model.", plain))
    for kind in ("forest", "tree", "linear"):
        title = FAMILIES[kind].title
        plan = f"Use {title} with plain preprocessing, which is certain to run."
        ideas.append((plan, plain_recipe(kind, facts)))
    new = [(plan, better) for plan, better in ideas if better != recipe]
    return new[min(tries, len(new) - 1)]
