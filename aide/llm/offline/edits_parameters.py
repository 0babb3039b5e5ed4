"""Edits of one model's parameters."""

from __future__ import annotations

from dataclasses import dataclass, field

from aide.llm.offline.edit import Edit, change_member
from aide.llm.offline.facts import Facts
from aide.llm.offline.recipe import Member, Recipe


@dataclass(frozen=True, slots=True)
class _Tuning:
    """Keyword arguments by the kind of model that they are for."""

    plan: str
    values: dict[str, dict[str, str]]
    only: str = ""
    metrics: tuple[str, ...] = field(default=())


_TUNINGS = {
    "learn-slower": _Tuning(
        "Halve the learning rate with more rounds, since slower boosting generalises better.",
        {
            "hgb": {"learning_rate": "0.05", "max_iter": "250"},
            "lightgbm": {"learning_rate": "0.05", "n_estimators": "250"},
            "gbm": {"learning_rate": "0.05", "n_estimators": "200"},
        },
    ),
    "learn-much-slower": _Tuning(
        "Learn in many small steps of 0.03, which squeezes out a little more.",
        {
            "hgb": {"learning_rate": "0.03", "max_iter": "600"},
            "lightgbm": {"learning_rate": "0.03", "n_estimators": "600"},
            "gbm": {"learning_rate": "0.03", "n_estimators": "500"},
        },
    ),
    "more-rounds": _Tuning(
        "Boost for 400 rounds at the usual rate, in case the model still underfits.",
        {
            "hgb": {"max_iter": "400"},
            "lightgbm": {"n_estimators": "400"},
            "gbm": {"n_estimators": "400"},
        },
    ),
    "smaller-trees": _Tuning(
        "Make each tree smaller, against overfitting.",
        {
            "hgb": {"max_leaf_nodes": "8"},
            "lightgbm": {"num_leaves": "8"},
            "gbm": {"max_depth": "2"},
            "forest": {"max_depth": "8"},
            "extra": {"max_depth": "10"},
            "tree": {"max_depth": "5"},
        },
    ),
    "larger-trees": _Tuning(
        "Make each tree larger, to let more columns act together.",
        {
            "hgb": {"max_leaf_nodes": "63"},
            "lightgbm": {"num_leaves": "63"},
            "gbm": {"max_depth": "5"},
        },
    ),
    "larger-leaves": _Tuning(
        "Ask for more rows in each leaf, which smooths the predictions.",
        {
            "hgb": {"min_samples_leaf": "40"},
            "lightgbm": {"min_child_samples": "40"},
            "gbm": {"min_samples_leaf": "10"},
            "forest": {"min_samples_leaf": "3"},
            "extra": {"min_samples_leaf": "3"},
            "tree": {"min_samples_leaf": "15"},
        },
    ),
    "smaller-leaves": _Tuning(
        "Allow leaves with few rows, so that rare cases can be told apart.",
        {"hgb": {"min_samples_leaf": "5"}, "lightgbm": {"min_child_samples": "5"}},
    ),
    "leaf-penalty": _Tuning(
        "Add an L2 penalty on the leaves, a mild regularisation.",
        {"hgb": {"l2_regularization": "5.0"}, "lightgbm": {"reg_lambda": "5.0"}},
    ),
    "fewer-columns": _Tuning(
        "Offer only a part of the columns to each split, so that the trees differ more.",
        {
            "hgb": {"max_features": "0.4"},
            "lightgbm": {"colsample_bytree": "0.4"},
            "gbm": {"max_features": "0.4"},
            "forest": {"max_features": "0.4"},
            "extra": {"max_features": "0.4"},
        },
    ),
    "fewer-rows": _Tuning(
        "Grow each tree on a random part of the rows, which is cheaper and less prone to overfit.",
        {
            "lightgbm": {"subsample": "0.7", "subsample_freq": "1"},
            "gbm": {"subsample": "0.6"},
            "forest": {"max_samples": "0.7"},
        },
    ),
    "more-trees": _Tuning(
        "Grow 400 trees, for a steadier average.",
        {"forest": {"n_estimators": "400"}, "extra": {"n_estimators": "400"}},
    ),
    "all-columns": _Tuning(
        "Offer all columns to each split, since only a few of them matter.",
        {"forest": {"max_features": "None"}, "extra": {"max_features": "None"}},
        only="classification",
    ),
    "entropy": _Tuning(
        "Split by entropy instead of Gini, a slightly different view on purity.",
        {kind: {"criterion": '"entropy"'} for kind in ("forest", "extra", "tree")},
        only="classification",
    ),
    "weaker-penalty": _Tuning(
        "Regularise less, in case the model underfits.",
        {"linear": {"C": "10.0"}, "svm": {"C": "10.0"}},
        only="classification",
    ),
    "stronger-penalty": _Tuning(
        "Regularise more, since there are many columns for so few rows.",
        {"linear": {"C": "0.1"}, "svm": {"C": "0.3"}, "elastic": {"alpha": "0.001"}},
        only="classification",
    ),
    "strong-ridge": _Tuning(
        "Shrink the coefficients ten times more, since many columns are related.",
        {"linear": {"alpha": "10.0"}, "elastic": {"alpha": "0.1"}},
        only="regression",
    ),
    "light-lasso": _Tuning(
        "Penalise very little, so that only useless columns go.",
        {"elastic": {"alpha": "0.001"}},
        only="regression",
    ),
    "larger-cost": _Tuning(
        "Raise the cost of errors, since the fit is too smooth.",
        {"svm": {"C": "10.0", "epsilon": "0.05"}},
        only="regression",
    ),
    "narrow-kernel": _Tuning(
        "Narrow the kernel, so that the borders can be finer.",
        {"svm": {"gamma": "0.1"}},
    ),
    "wide-kernel": _Tuning(
        "Widen the kernel, for smoother borders.",
        {"svm": {"gamma": "0.01"}},
    ),
    "fewer-neighbours": _Tuning(
        "Ask only three neighbours, since close rows are alike.",
        {"knn": {"n_neighbors": "3"}},
    ),
    "more-neighbours": _Tuning(
        "Ask 15 neighbours, since single rows are noisy.",
        {"knn": {"n_neighbors": "15"}},
    ),
    "distance-weights": _Tuning(
        "Weigh the neighbours by their distance.",
        {"knn": {"weights": '"distance"'}},
    ),
    "wider-network": _Tuning(
        "Give the network two layers, 128 and 64 wide.",
        {"mlp": {"hidden_layer_sizes": "(128, 64)"}},
    ),
    "weight-decay": _Tuning(
        "Decay the network's weights more, against overfitting.",
        {"mlp": {"alpha": "0.1"}},
    ),
    "stop-early": _Tuning(
        "Stop the training when a held-out part no longer improves.",
        {
            "mlp": {"early_stopping": "True"},
            "hgb": {"early_stopping": "True", "max_iter": "500"},
        },
    ),
    "poisson-loss": _Tuning(
        "Learn with a Poisson loss, since the target is a count.",
        {"hgb": {"loss": '"poisson"'}, "lightgbm": {"objective": '"poisson"'}},
        only="counts",
    ),
    "absolute-loss": _Tuning(
        "Learn the median with an absolute loss, which is what the metric asks for.",
        {
            "hgb": {"loss": '"absolute_error"'},
            "lightgbm": {"objective": '"mae"'},
            "gbm": {"loss": '"absolute_error"'},
        },
        only="regression",
        metrics=("mae", "mape", "median_absolute_error"),
    ),
}


def _edit(name: str, tuning: _Tuning) -> Edit:
    def fits(member: Member) -> bool:
        return member.kind in tuning.values

    def change(member: Member) -> Member:
        return member.with_params(**tuning.values[member.kind])

    def applies(recipe: Recipe, facts: Facts) -> bool:
        member = next((m for m in recipe.members if fits(m)), None)
        return member is not None and change(member) != member and _suits(tuning, recipe, facts)

    plan = tuning.plan
    return Edit(name, "parameter", plan, applies, lambda r: change_member(r, fits, change))


def _suits(tuning: _Tuning, recipe: Recipe, facts: Facts) -> bool:
    numbers = facts.is_regression or recipe.target == "ordinal"
    if tuning.metrics and facts.metric not in tuning.metrics:
        return False
    if tuning.only == "classification":
        return not numbers
    if tuning.only == "counts":
        target = facts.target_column
        whole = target is not None and target.kind == "int" and target.low >= 0
        return facts.is_regression and recipe.target == "plain" and whole
    return numbers or not tuning.only


PARAMETER_EDITS = [_edit(name, tuning) for name, tuning in _TUNINGS.items()]
