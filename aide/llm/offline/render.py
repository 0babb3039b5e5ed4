"""A recipe as a program: the same recipe and facts always give the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.features import FEATURES
from aide.llm.offline.imports import import_lines
from aide.llm.offline.metrics import metric_of
from aide.llm.offline.recipe import Member, Recipe, recipe_lines

_IMPUTE = {
    "none": [],
    "median": ['SimpleImputer(strategy="median", keep_empty_features=True)'],
    "mean": ['SimpleImputer(strategy="mean", keep_empty_features=True)'],
    "most_frequent": ['SimpleImputer(strategy="most_frequent", keep_empty_features=True)'],
    "constant": ['SimpleImputer(strategy="constant", fill_value=-999.0)'],
    "knn": ["KNNImputer(n_neighbors=7, keep_empty_features=True)"],
}
_SCALE = {
    "none": [],
    "standard": ["StandardScaler()"],
    "robust": ["RobustScaler()"],
    "minmax": ["MinMaxScaler()"],
    "quantile": [
        'QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=seed)'
    ],
    "power": ["PowerTransformer()"],
}
_TOLERANT = 'handle_unknown="use_encoded_value", unknown_value=-1'
_ENCODE = {
    "ordinal": f"OrdinalEncoder({_TOLERANT})",
    "ordinal-strict": "OrdinalEncoder()",
    "onehot": 'OneHotEncoder(handle_unknown="ignore", sparse_output=False)',
    "onehot-strict": "OneHotEncoder(sparse_output=False)",
    "onehot-sparse": 'OneHotEncoder(handle_unknown="ignore")',
    "onehot-frequent": 'OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10, '
    "sparse_output=False)",
    "native": f"OrdinalEncoder({_TOLERANT}, max_categories=200)",
    "none": '"passthrough"',
}


def works_with_numbers(recipe: Recipe, facts: Facts) -> bool:
    """True if the models are regressors: of values, or of labels that have an order."""
    return facts.is_regression or recipe.target == "ordinal"


def gives_probabilities(recipe: Recipe, facts: Facts) -> bool:
    """True if the program works with probabilities rather than with labels or values."""
    if works_with_numbers(recipe, facts):
        return False
    asked = facts.predict == "probability" or recipe.output == "scores"
    return asked or recipe.decide != "plain" or recipe.bags > 1


def render(recipe: Recipe, facts: Facts) -> str:
    """The program for a recipe, ending with a newline."""
    adds = [name for name in recipe.features if FEATURES[name].role == "adds"]
    regresses = works_with_numbers(recipe, facts)
    soft = gives_probabilities(recipe, facts)
    labels = "probabilities" if soft else "labels"
    values: dict[str, object] = {
        "recipe": recipe,
        "facts": facts,
        "title": _title(recipe),
        "lines": recipe_lines(recipe),
        "members": [_member(member, recipe, facts) for member in recipe.members],
        "adds": _names(adds),
        "changes": _names([n for n in recipe.features if FEATURES[n].role == "changes"]),
        "drops": _names([n for n in recipe.features if FEATURES[n].role == "drops"]),
        "strong": any(FEATURES[name].strong for name in recipe.features),
        "pixels": any(FEATURES[name].needs == "pixels" for name in recipe.features),
        "regresses": regresses,
        "soft": soft,
        "answer": ("values" if regresses else labels).capitalize(),
        "splitter": "KFold" if regresses else "StratifiedKFold",
        "scoring": ', scoring="neg_log_loss"' if soft else "",
        "decided": "decide(answer)" if recipe.decide == "plain" else "decide(answer, cut)",
        "metric": metric_of(facts),
    }
    return _program(values)


def _program(values: Mapping[str, object]) -> str:
    template = _environment().get_template("solution.py.j2")
    body = template.render(**values, imports="")
    text = template.render(**values, imports="\n".join(import_lines(body)))
    # The templates are spaced loosely; an edit's blocks must not hold blank lines that moved.
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return re.sub(r"\n{2,}(?=def |class |SCALE |if __name__)", "\n\n\n", text).strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("aide.llm.offline"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["py"] = _literal
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return environment


def _literal(text: str) -> str:
    """Python text of a string, in double quotes; JSON's strings are Python's too."""
    return json.dumps(text, ensure_ascii=False)


def _names(features: list[str]) -> list[str]:
    return [name.replace("-", "_") for name in features]


def _title(recipe: Recipe) -> str:
    titles = [FAMILIES[member.kind].title for member in recipe.members]
    joined = {"average": "The average of ", "stack": "A stack of ", "pick": "The better of "}
    text = joined.get(recipe.combine, "") + " and ".join(titles)
    return text[:1].upper() + text[1:] + "."


def _member(member: Member, recipe: Recipe, facts: Facts) -> dict[str, object]:
    """What the template needs to write a member's function."""
    family = FAMILIES[member.kind]
    regresses = works_with_numbers(recipe, facts)
    estimator = family.regressor if regresses else family.classifier
    mixes = gives_probabilities(recipe, facts) or recipe.combine == "average"
    steps = _IMPUTE[member.imputer] + _SCALE[member.scaler]
    return {
        "title": family.title,
        "function": family.function,
        "numeric_steps": steps or ['"passthrough"'],
        "encoder": _encoder(member, regresses),
        "native": member.encoder == "native",
        "sparse": member.encoder == "onehot-sparse",
        "estimator": estimator,
        "arguments": _arguments(member, recipe, regresses),
        "calibrated": estimator == "SVC" and mixes,
        "reduce_steps": _reduce(member, regresses),
    }


def _encoder(member: Member, regresses: bool) -> str:
    if member.encoder != "target":
        return _ENCODE[member.encoder]
    kind = 'target_type="continuous", ' if regresses else ""
    return f"TargetEncoder({kind}random_state=seed)"


def _arguments(member: Member, recipe: Recipe, regresses: bool) -> list[str]:
    family = FAMILIES[member.kind]
    values = dict(family.fixed_regressor if regresses else family.fixed_classifier)
    values |= dict(member.params)
    if family.balances and not regresses and recipe.balance == "balanced":
        values["class_weight"] = '"balanced"'
    if member.encoder == "native":
        values["categorical_features"] = "is_level"
    if family.seeded:
        values["random_state"] = "seed"
    return [f"{name}={value}" for name, value in values.items()]


def _reduce(member: Member, regresses: bool) -> list[str]:
    select = "f_regression" if regresses else "f_classif"
    return {
        "none": [],
        "pca": ["PCA(0.95, random_state=seed)"],
        "select": [f"SelectPercentile({select}, percentile=50)"],
        "polynomial": ["PolynomialFeatures(2, interaction_only=True, include_bias=False)"],
        "nystroem": ["Nystroem(n_components=300, random_state=seed)"],
    }[member.reduce]
