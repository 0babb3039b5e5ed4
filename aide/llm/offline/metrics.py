"""The metrics as the programs compute them on their own held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

from aide.llm.offline.facts import Facts


@dataclass(frozen=True, slots=True)
class Metric:
    """How a program scores itself.

    Attributes:
        title: the name it prints.
        expression: Python over `y` and `answer`: class numbers, probabilities (rows x classes)
            or values.
        maximize: the direction.
    """

    title: str
    expression: str
    maximize: bool = True


_LABEL = {
    "accuracy": "accuracy_score(y, answer)",
    "balanced_accuracy": "balanced_accuracy_score(y, answer)",
    "f1_macro": 'f1_score(y, answer, average="macro")',
    "f1_weighted": 'f1_score(y, answer, average="weighted")',
    "f1": "f1_score(y, answer)",
    "qwk": 'cohen_kappa_score(y, answer, weights="quadratic")',
    "mcc": "matthews_corrcoef(y, answer)",
}
_PROBABILITY = {
    "roc_auc": "roc_auc_score(y, answer[:, 1])",
    "average_precision": "average_precision_score(y, answer[:, 1])",
    "log_loss": "log_loss(y, answer, labels=np.arange(answer.shape[1]))",
}
_VALUE = {
    "rmse": "root_mean_squared_error(y, answer)",
    "rmsle": "root_mean_squared_log_error(y, answer)",
    "mae": "mean_absolute_error(y, answer)",
    "mape": "mean_absolute_percentage_error(y, answer)",
    "r2": "r2_score(y, answer)",
    "median_absolute_error": "median_absolute_error(y, answer)",
}
_FALLBACK = {"label": "accuracy", "probability": "log_loss", "value": "rmse"}
_LOWER = ("log_loss", "rmse", "rmsle", "mae", "mape", "median_absolute_error")


def metric_of(facts: Facts) -> Metric:
    """The task's metric; where it is an unknown one, a usual one for what is predicted."""
    known = {"label": _LABEL, "probability": _PROBABILITY, "value": _VALUE}[facts.predict]
    name = facts.metric if facts.metric in known else _FALLBACK[facts.predict]
    expression = known[name]
    if name == "roc_auc" and facts.class_count > 2:
        expression = 'roc_auc_score(y, answer, multi_class="ovr")'
    return Metric(name, expression, name not in _LOWER)
