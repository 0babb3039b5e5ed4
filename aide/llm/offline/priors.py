"""How useful an edit tends to be, as an expert would guess from the task and the program."""

from __future__ import annotations

from collections.abc import Callable

from aide.llm.offline.edit import Edit
from aide.llm.offline.facts import Facts
from aide.llm.offline.families import FAMILIES
from aide.llm.offline.recipe import Recipe

_GROUPS = {
    "feature": 1.0,
    "prepare": 0.5,
    "model": 0.6,
    "ensemble": 0.7,
    "parameter": 0.8,
    "target": 0.7,
}
WEIGHTS = {
    "titles": 5.0,
    "group-size": 3.0,
    "first-letter": 2.0,
    "text-shape": 1.5,
    "words": 1.5,
    "date-parts": 5.0,
    "date-hour": 5.0,
    "date-weekend": 2.5,
    "date-elapsed": 2.0,
    "quality-scale": 2.0,
    "name-sums": 0.5,
    "log-skewed": 0.3,
    "drop-constant": 0.4,
    "rare-levels": 0.5,
    "missing-flags": 0.7,
    "year-gaps": 1.5,
    "numbers-as-levels": 0.5,
    "missing-count": 0.4,
    "clip-outliers": 0.5,
    "squares": 0.4,
    "bins": 0.4,
    "clusters": 0.5,
    "row-statistics": 0.4,
    "drop-correlated": 0.4,
    "pixel-blur": 1.5,
    "use-bayes": 0.1,
    "use-tree": 0.1,
    "use-elastic": 0.2,
    "use-knn": 0.3,
    "use-linear": 0.4,
    "use-mlp": 0.4,
    "use-gp": 0.1,
    "use-hgb": 1.5,
    "use-lightgbm": 1.5,
    "use-gbm": 1.0,
    "use-extra": 1.0,
    "average-gp": 0.1,
    "learn-slower": 2.0,
    "learn-much-slower": 2.0,
    "fewer-columns": 1.5,
    "smaller-leaves": 0.5,
    "more-trees": 1.0,
    "target-standard": 0.3,
    "target-quantile": 0.3,
    "target-plain": 0.1,
    "target-sqrt": 0.7,
    "clip-to-range": 0.4,
    "five-folds": 0.03,
    "balance-classes": 0.2,
    "drop-strings": 0.5,
    "keep-strings": 0.4,
    "impute-constant": 0.6,
    "scale-minmax": 0.5,
    "scale-power": 0.7,
    "reduce-pca": 0.5,
    "drop-first": 0.5,
    "drop-last": 0.3,
    "average-again": 0.4,
    "plain-decision": 0.3,
    "pick-linear": 0.4,
    "pick-forest": 0.4,
    "pick-hgb": 0.6,
}


def _counts_by_ratio(recipe: Recipe, facts: Facts) -> bool:
    return facts.metric in ("rmsle", "mape")


def _is_skewed(recipe: Recipe, facts: Facts) -> bool:
    """A wide, positive range: a logarithm is worth a try."""
    column = facts.target_column
    return column is not None and column.low >= 0 and column.high > 20 * max(column.low, 1.0)


def _is_image(recipe: Recipe, facts: Facts) -> bool:
    return facts.side > 0


def _is_weak(recipe: Recipe, facts: Facts) -> bool:
    weak = {"tree", "knn", "bayes", "elastic"} | (set() if facts.side else {"linear"})
    return len(recipe.members) == 1 and recipe.first.kind in weak


def _is_strong(recipe: Recipe, facts: Facts) -> bool:
    return bool(recipe.kinds & {"hgb", "lightgbm", "gbm", "extra", "forest", "svm"})


def _measures(recipe: Recipe, facts: Facts) -> bool:
    """The first model weighs columns or distances, so that their scale matters."""
    return FAMILIES[recipe.first.kind].numeric and not facts.side


def _has_small_data(recipe: Recipe, facts: Facts) -> bool:
    return 0 < facts.rows < 3000


def _has_many_rows(recipe: Recipe, facts: Facts) -> bool:
    return facts.rows > 4000


def _boosts(recipe: Recipe, facts: Facts) -> bool:
    return bool(recipe.kinds & {"hgb", "lightgbm", "gbm"})


def _is_wide_and_mixed(recipe: Recipe, facts: Facts) -> bool:
    return facts.number_of("category") >= 10


def _balanced_metric(recipe: Recipe, facts: Facts) -> bool:
    return facts.metric in ("balanced_accuracy", "f1_macro", "f1", "mcc", "qwk")


def _has_clock(recipe: Recipe, facts: Facts) -> bool:
    return facts.has("time")


Case = tuple[Callable[[Recipe, Facts], bool], dict[str, float]]
CASES: tuple[Case, ...] = (
    (_has_clock, {"date-hour": 4.0, "date-weekend": 1.5, "date-cycles": 1.2}),
    (_counts_by_ratio, {"target-log1p": 12.0, "target-sqrt": 1.5}),
    (_is_skewed, {"target-log1p": 2.0}),
    (
        _is_image,
        {
            "use-svm": 2.0,
            "use-svm-pixels": 8.0,
            "average-svm-pixels": 6.0,
            "average-knn-pixels": 2.0,
            "average-mlp-pixels": 2.0,
            "log-skewed": 0.3,
            "ratios": 0.2,
            "products": 0.2,
            "scale-none": 4.0,
            "average-svm": 1.5,
            "weaker-penalty": 3.0,
            "use-extra": 2.0,
            "average-extra": 1.5,
            "pixel-gradients": 1.2,
            "reduce-pca": 1.5,
        },
    ),
    (_is_weak, {"use-hgb": 4.0, "use-lightgbm": 4.0, "use-gbm": 4.0, "use-extra": 4.0}),
    (_is_weak, {"use-svm": 2.0, "use-forest": 2.0}),
    (
        _is_strong,
        {"use-linear": 0.2, "use-knn": 0.3, "use-forest": 0.4, "use-mlp": 0.4},
    ),
    (_has_many_rows, {"learn-much-slower": 2.0, "larger-trees": 3.0, "more-rounds": 3.0}),
    (_has_many_rows, {"use-hgb": 3.0, "use-lightgbm": 3.0, "smaller-trees": 0.3}),
    (_has_small_data, {"smaller-trees": 2.0, "larger-leaves": 1.5, "more-rounds": 0.3}),
    (_has_small_data, {"larger-trees": 0.2, "average-svm": 2.0, "average-linear": 2.0}),
    (_measures, {"log-skewed": 5.0, "numbers-as-levels": 2.0, "ratios": 1.5}),
    (_is_wide_and_mixed, {"name-sums": 4.0, "reduce-select": 0.5}),
    (_is_wide_and_mixed, {"average-linear": 4.0, "average-elastic": 2.0, "log-skewed": 2.0}),
    (_boosts, {"average-extra": 1.5, "more-seeds": 1.2, "scale-none": 0.2}),
    (_balanced_metric, {"tune-threshold": 5.0, "tune-priors": 5.0, "balance-classes": 6.0}),
    (_balanced_metric, {"ordinal-target": 5.0, "cut-points": 8.0}),
)


def prior(edit: Edit, recipe: Recipe, facts: Facts) -> float:
    """How promising an edit is, above 0; only the ratio of two of them means something."""
    weight = _GROUPS[edit.group] * WEIGHTS.get(edit.name, 1.0)
    for case, factors in CASES:
        if edit.name in factors and case(recipe, facts):
            weight *= factors[edit.name]
    return weight
