"""Metrics by name, their values, and their standard errors against a plain bootstrap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics as sk

from aide.errors import InvalidSubmission, TaskError
from aide.tasks import bootstrap
from aide.tasks.grading import score
from aide.tasks.metrics import ALIASES, IN_PROSE, METRICS, evaluate, find_metric, mentioned

Array = NDArray[Any]
CASES = [
    (name, classes)
    for name, metric in METRICS.items()
    for classes in ((0,) if metric.predict == "value" else (2, 4))
]


def noisy(predict: str, classes: int, n: int = 200, seed: int = 0) -> tuple[Array, Array]:
    """Truth and a prediction that is right in part, with ties."""
    rng = np.random.default_rng(seed)
    if predict == "value":
        values = rng.gamma(2, 10, n)
        return values, np.abs(values + rng.normal(0, 8, n)).round()
    shares = np.arange(1, classes + 1) / sum(range(1, classes + 1))
    y: Array = rng.choice(classes, n, p=shares)
    if predict == "label":
        return y, np.where(rng.random(n) < 0.6, y, rng.choice(classes, n))
    odds = np.exp(rng.normal(0, 1, (n, classes)) + np.eye(classes)[y]).round(1) + 0.1
    p = odds / odds.sum(axis=1, keepdims=True)
    return y, p[:, 1] if classes == 2 else p


@pytest.mark.parametrize(("name", "classes"), CASES)
def test_standard_error_is_that_of_a_bootstrap(name: str, classes: int) -> None:
    metric = METRICS[name]
    y, p = noisy(metric.predict, classes)
    rng = np.random.default_rng(1)
    draws = [rng.integers(0, len(y), len(y)) for _ in range(60)]
    plain = np.std([evaluate(metric, y[rows], p[rows], classes) for rows in draws], ddof=1)
    got = score(metric, y, p, classes)
    # Bootstraps of 60 and 200 draws are off by some 9% and 5%; this is 2.5 times both.
    assert got.se == pytest.approx(plain, rel=0.25)
    assert got.value == evaluate(metric, y, p, classes)
    assert got == score(metric, y, p, classes)
    assert got.rows == 200


@pytest.mark.parametrize(("name", "classes"), CASES)
def test_perfect_is_best(name: str, classes: int) -> None:
    metric = METRICS[name]
    y, p = noisy(metric.predict, classes)
    perfect = y if metric.predict != "probability" else np.eye(classes)[y]
    perfect = perfect[:, 1] if perfect.ndim == 2 and classes == 2 else perfect
    best = score(metric, y, perfect, classes)
    assert best.value == pytest.approx(1 if metric.maximize else 0, abs=1e-9)
    assert best.se == pytest.approx(0, abs=1e-9)
    assert (best.value > score(metric, y, p, classes).value) == metric.maximize


@pytest.mark.parametrize("name", bootstrap.TABLES)
@pytest.mark.parametrize("classes", [2, 4])
def test_tables_give_the_metric(name: str, classes: int) -> None:
    y, p = noisy("label", classes)
    table = bootstrap.confusion(y, p, classes)[None]
    value = bootstrap.TABLES[name](table)[0]
    assert value == pytest.approx(evaluate(METRICS[name], y, p, classes))


@pytest.mark.parametrize("name", bootstrap.RANKS)
def test_ranks_with_ties_give_the_weighted_metric(name: str) -> None:
    y, p = noisy("probability", 2)
    counts = np.random.default_rng(3).integers(0, 3, (4, len(y)))
    order = np.argsort(-p, kind="stable")
    values = bootstrap.RANKS[name](counts[:, order], y[order] == 1, p[order])
    function = {"roc_auc": sk.roc_auc_score, "average_precision": sk.average_precision_score}[name]
    expected = [function(y, p, sample_weight=weights) for weights in counts]
    assert values == pytest.approx(np.array(expected))


def test_draws_without_both_classes_are_left_out() -> None:
    y = np.array([1, *[0] * 9])
    p = np.linspace(1, 0, 10)
    assert score(METRICS["roc_auc"], y, p, 2).se == pytest.approx(0)
    p[0] = 0.5
    assert 0 < score(METRICS["roc_auc"], y, p, 2).se < 0.5


def test_classes_that_no_row_has_do_not_count() -> None:
    y, p = noisy("probability", 4)
    seen = y < 3
    expected = np.mean([sk.roc_auc_score(y[seen] == k, p[seen][:, k]) for k in range(3)])
    assert score(METRICS["roc_auc"], y[seen], p[seen], 4).value == pytest.approx(expected)
    labels = p.argmax(axis=1)
    got = score(METRICS["balanced_accuracy"], y[seen], labels[seen], 4)
    recalls = [np.mean(labels[y == k] == k) for k in range(3)]
    assert got.value == pytest.approx(np.mean(recalls))


def test_two_columns_of_probabilities_and_one_agree() -> None:
    y, p = noisy("probability", 2)
    both = np.column_stack((1 - p, p))
    for name in ("log_loss", "roc_auc"):
        assert evaluate(METRICS[name], y, both, 2) == pytest.approx(
            evaluate(METRICS[name], y, p, 2),
            rel=1e-3,  # 1 - p makes and breaks ties
        )


def test_all_in_one_class_has_a_kappa() -> None:
    y = np.ones(20, dtype=int)
    assert score(METRICS["qwk"], y, y, 3).value == 1
    assert score(METRICS["qwk"], y, y * 0, 3).value == 0


def test_one_row_has_no_standard_error() -> None:
    got = score(METRICS["mae"], np.array([1.0]), np.array([2.0]), 0)
    assert got.value == 1
    assert math.isnan(got.se)


def test_an_endless_error_is_refused() -> None:
    y = np.array([1.0, 2.0])
    with pytest.raises(InvalidSubmission, match="so far off that rmse is inf"):
        score(METRICS["rmse"], y, y * 1e300, 0)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("auc", "roc_auc"),
        ("ROC AUC", "roc_auc"),
        ("Log-Loss", "log_loss"),
        ("quadratic weighted kappa", "qwk"),
        ("F1", "f1_macro"),
        (" RMSE ", "rmse"),
    ],
)
def test_names_and_aliases(name: str, found: str) -> None:
    assert find_metric(name).name == found


def test_tables_of_names_are_of_known_metrics() -> None:
    assert set(ALIASES.values()) <= set(METRICS)
    assert set(IN_PROSE) == set(METRICS)
    kinds = (bootstrap.LOSSES, bootstrap.ROOTS, bootstrap.TABLES, bootstrap.RANKS, bootstrap.ROWS)
    assert sorted(name for kind in kinds for name in kind) == sorted(METRICS)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(TaskError, match=r"no metric 'acuracy'; did you mean 'accuracy'\?") as got:
        find_metric("acuracy")
    assert all(name in str(got.value) for name in METRICS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Submissions are evaluated on the area under the ROC curve.", ["roc_auc"]),
        ("Scored by ROC_AUC.", ["roc_auc"]),
        ("Predict the price.\n\n## Metric\nRoot-Mean-Squared-Error", ["rmse"]),
        ("The metric is RMSE between the logarithm of both.", ["rmse", "rmsle"]),
        ("Root mean squared logarithmic error is the metric", ["rmsle"]),
        (
            "Evaluated on balanced accuracy. Quality matters for the accuracy of x.",
            ["accuracy", "balanced_accuracy"],
        ),
        (
            "Graded by balanced accuracy.\nThe accuracy of the sensors is 1 mm.",
            ["balanced_accuracy"],
        ),
        ("The evaluation metric is multi-class log loss.", ["log_loss"]),
        ("Mean absolute error or RMSE is the metric.", ["mae", "rmse"]),
        ("Predict who survived the maelstrom.", []),
    ],
)
def test_metrics_in_prose(text: str, names: list[str]) -> None:
    assert mentioned(text) == names
