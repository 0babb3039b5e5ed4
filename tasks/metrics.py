"""The metrics by name: direction, what they need, and their value.

Truth and prediction are arrays of n rows. A classification's truth is the class as an integer
from 0, in the order of `TaskInfo.classes`. A prediction is such integers ("label"), floats of
shape (n,) for the positive class of two or (n, classes) for more ("probability"), or floats of
shape (n,) ("value").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aide.errors import TaskError

Array = NDArray[Any]
Predict = Literal["label", "probability", "value"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A way to grade.

    Attributes:
        name: what it is called everywhere.
        maximize: True if a larger value is better.
        predict: what it needs from a solution.
        value: truth, prediction and the number of classes to the metric's value.
    """

    name: str
    maximize: bool
    predict: Predict
    value: Callable[[Array, Array, int], float]


def _sk(name: str) -> Callable[..., float]:
    """scikit-learn's function of a name; imported here, since that takes seconds."""
    from sklearn import metrics

    function: Callable[..., float] = getattr(metrics, name)
    return function


def _rows(name: str, y: Array, p: Array, classes: int, **options: Any) -> float:
    """A metric that takes truth and prediction row by row."""
    return float(_sk(name)(y, p, **options))


def _balanced_accuracy(y: Array, p: Array, classes: int) -> float:
    # scikit-learn's function of this name is the same, but warns of labels that no row has.
    recall = _sk("recall_score")(y, p, labels=np.unique(y), average="macro", zero_division=0.0)
    return float(recall)


def _kappa(y: Array, p: Array, classes: int) -> float:
    # All rows in one class, rightly, leave no agreement by chance to correct for: 0 / 0.
    if np.array_equal(y, p):
        return 1.0
    return float(_sk("cohen_kappa_score")(y, p, labels=range(classes), weights="quadratic"))


def _one_against_rest(name: str, y: Array, p: Array, classes: int) -> float:
    """The mean over the classes that are there; for two classes, that of the positive one."""
    function = _sk(name)
    there = [k for k in range(classes) if 0 < np.count_nonzero(y == k) < len(y)]
    if not there:
        return float("nan")
    if p.ndim == 1:
        return float(function(y == classes - 1, p))
    return float(np.mean([function(y == k, p[:, k]) for k in there]))


def _log_loss(y: Array, p: Array, classes: int) -> float:
    return float(_sk("log_loss")(y, p, labels=list(range(classes))))


def _known() -> dict[str, Metric]:
    f1 = partial(_rows, "f1_score", zero_division=0.0)
    labels: dict[str, Callable[[Array, Array, int], float]] = {
        "accuracy": partial(_rows, "accuracy_score"),
        "f1_macro": partial(f1, average="macro"),
        "f1_weighted": partial(f1, average="weighted"),
        "mcc": partial(_rows, "matthews_corrcoef"),
    }
    ranks = {"average_precision": "average_precision_score", "roc_auc": "roc_auc_score"}
    losses = {
        "mae": "mean_absolute_error",
        "mape": "mean_absolute_percentage_error",
        "median_absolute_error": "median_absolute_error",
        "rmse": "root_mean_squared_error",
        "rmsle": "root_mean_squared_log_error",
    }
    metrics = [Metric(n, True, "label", value) for n, value in labels.items()]
    metrics += [
        Metric(n, True, "probability", partial(_one_against_rest, f)) for n, f in ranks.items()
    ]
    metrics += [Metric(n, False, "value", partial(_rows, f)) for n, f in losses.items()]
    metrics += [
        Metric("balanced_accuracy", True, "label", _balanced_accuracy),
        Metric("log_loss", False, "probability", _log_loss),
        Metric("qwk", True, "label", _kappa),
        Metric("r2", True, "value", partial(_rows, "r2_score")),
    ]
    return {metric.name: metric for metric in sorted(metrics, key=lambda metric: metric.name)}


METRICS: Mapping[str, Metric] = _known()

ALIASES: Mapping[str, str] = {
    "acc": "accuracy",
    "ap": "average_precision",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "bce": "log_loss",
    "cross_entropy": "log_loss",
    "f1": "f1_macro",
    "f1_score": "f1_macro",
    "logloss": "log_loss",
    "macro_f1": "f1_macro",
    "matthews_corrcoef": "mcc",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "medae": "median_absolute_error",
    "pr_auc": "average_precision",
    "quadratic_weighted_kappa": "qwk",
    "r2_score": "r2",
    "roc_auc_score": "roc_auc",
    "root_mean_squared_error": "rmse",
    "root_mean_squared_log_error": "rmsle",
    "root_mean_squared_logarithmic_error": "rmsle",
    "weighted_f1": "f1_weighted",
}

IN_PROSE: Mapping[str, str] = {
    "accuracy": r"(?<!balanced )accuracy",
    "average_precision": r"average precision(?! at| @)",
    "balanced_accuracy": r"balanced accuracy",
    "f1_macro": r"macro[- ](averaged )?f1|f1[- ]macro|macro f1",
    "f1_weighted": r"weighted[- ](averaged )?f1|f1[- ]weighted",
    "log_loss": r"log[- ]?loss|logarithmic loss|cross[- ]entropy",
    "mae": r"mae|(?<!median )mean absolute error",
    "mape": r"mape|mean absolute percentage error",
    "mcc": r"mcc|matthews? correlation",
    "median_absolute_error": r"median absolute error",
    "qwk": r"qwk|quadratic(ally)?[- ]weighted[- ]kappa",
    "r2": r"r2|r\^2|r²|coefficient of determination",
    "rmse": r"rmse|root[- ]mean[- ]squared?[- ](?!log)(error|deviation)",
    "rmsle": r"rmsle|root[- ]mean[- ]squared?[- ]log(arithmic)?[- ]error",
    "roc_auc": r"auroc|roc[- ]?auc|auc|area under the (roc|receiver)",
}


def find_metric(name: str) -> Metric:
    """The metric of a name or an alias, in any spelling of case, blanks and hyphens.

    Raises:
        TaskError: there is none; the message lists the names.
    """
    plain = re.sub(r"[\s-]+", "_", name.strip().lower())
    plain = ALIASES.get(plain, plain)
    if plain in METRICS:
        return METRICS[plain]
    close = get_close_matches(plain, [*METRICS, *ALIASES], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise TaskError(f"there is no metric {name!r}{hint} Known: {', '.join(METRICS)}")


def mentioned(text: str) -> list[str]:
    """The metrics that a text names, by name: in its lines about scoring, else anywhere."""
    lines = text.lower().replace("_", " ").splitlines()
    about = [line for line in lines if re.search(r"metric|evaluat|scor|graded", line)]
    return _in("\n".join(about)) or _in("\n".join(lines))


def _in(text: str) -> list[str]:
    found = [n for n, p in IN_PROSE.items() if re.search(rf"(?<![a-z0-9])({p})(?![a-z0-9])", text)]
    # "RMSE between the logarithms" is another metric than RMSE, and no pattern is safe here.
    if "rmse" in found and re.search(r"\blog", text) and "log_loss" not in found:
        return sorted({*found, "rmsle"})
    return found


def evaluate(metric: Metric, y: Array, p: Array, classes: int) -> float:
    """A metric's value; NaN where it is not defined on these rows.

    Args:
        y: truth, shape (n,).
        p: prediction, as the module says.
        classes: how many classes there are; 0 for a regression.
    """
    with np.errstate(all="ignore"):
        return metric.value(y, p, classes)
