"""Standard errors of metrics by bootstrap over the rows.

Rows are drawn with replacement, as often as there are rows, and the metric is computed anew; the
standard error is the standard deviation of these values. For metrics that are means over rows
this has a closed form. The others are vectorised over the draws: by confusion tables for labels,
by sorted ranks for probabilities. A draw on which a metric is not defined is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
DRAWS = 200
CELLS = 2_000_000
DRAWN = 50_000
TINY = float(np.finfo(np.float64).eps)


def standard_error(name: str, y: Array, p: Array, classes: int, seed: int = 0) -> float:
    """The standard error of a metric's value; NaN where it cannot be estimated.

    Args:
        name: a metric's name; NaN for one that is not known here.
        y, p, classes: as for `metrics.evaluate`.
        seed: of the draws.
    """
    if len(y) < 2:
        return float("nan")
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        if name in LOSSES:
            return _of_mean(LOSSES[name](y, p))
        if name in ROOTS:
            losses = ROOTS[name](y, p)
            root = float(np.sqrt(losses.mean()))
            return _of_mean(losses) / (2 * root) if root > 0 else 0.0
        if name in TABLES:
            return _spread(_draw_tables(TABLES[name], y, p, classes, rng))
        if name in RANKS:
            return _spread(_draw_ranks(RANKS[name], y, p, classes, rng))
        if name in ROWS:
            draws = [ROWS[name](y, p, rows) for rows in _rows(len(y), rng)]
            return _spread(np.concatenate(draws))
    return float("nan")


def _of_mean(losses: Array) -> float:
    return float(np.std(losses, ddof=1) / np.sqrt(len(losses)))


def _spread(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _mean(values: Array, axis: int) -> Floats:
    """The mean of what is defined; NaN, without a warning, where nothing is."""
    defined = np.isfinite(values)
    return np.asarray(np.where(defined, values, 0.0).sum(axis=axis) / defined.sum(axis=axis))


def _log_loss(y: Array, p: Array) -> Floats:
    of_truth = np.where(y == 1, p, 1 - p) if p.ndim == 1 else p[np.arange(len(y)), y]
    return np.asarray(-np.log(np.clip(of_truth, TINY, 1 - TINY)))


def _percentage(y: Array, p: Array) -> Floats:
    return np.asarray(np.abs(y - p) / np.maximum(np.abs(y), TINY))


LOSSES: dict[str, Callable[[Array, Array], Array]] = {
    "accuracy": lambda y, p: (y == p).astype(float),
    "log_loss": _log_loss,
    "mae": lambda y, p: np.abs(y - p),
    "mape": _percentage,
}
"""Metrics that are the mean of a loss over rows: truth and prediction to losses, shape (n,)."""

ROOTS: dict[str, Callable[[Array, Array], Array]] = {
    "rmse": lambda y, p: (y - p) ** 2,
    "rmsle": lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2,
}
"""Metrics that are the root of such a mean."""


def _rows(n: int, rng: np.random.Generator) -> Iterator[Array]:
    """The draws as row numbers, shape (some, n), in blocks that fit into a processor's cache."""
    block = max(1, min(DRAWS, DRAWN // n))
    for start in range(0, DRAWS, block):
        yield rng.integers(0, n, (min(block, DRAWS - start), n))


def _counts(rows: Array) -> Array:
    """How often each row was drawn, shape as `rows`."""
    draws, n = rows.shape
    flat = rows + n * np.arange(draws)[:, None]
    return np.bincount(flat.ravel(), minlength=draws * n).reshape(draws, n)


def _r2(y: Array, p: Array, rows: Array) -> Floats:
    centred = y - y.mean()
    counts = _counts(rows).astype(float)
    total = counts @ centred**2 - (counts @ centred) ** 2 / len(y)
    return np.asarray(1 - (counts @ (y - p) ** 2) / total)


def _median(y: Array, p: Array, rows: Array) -> Floats:
    return np.asarray(np.median(np.abs(y - p)[rows], axis=1))


ROWS: dict[str, Callable[[Array, Array, Array], Floats]] = {
    "median_absolute_error": _median,
    "r2": _r2,
}
"""Truth, prediction and drawn rows, shape (draws, n), to values, shape (draws,)."""


def confusion(y: Array, p: Array, classes: int) -> Array:
    """How many rows of each class were given each label, shape (classes, classes)."""
    return np.bincount(y * classes + p, minlength=classes**2).reshape(classes, classes)


def _draw_tables(
    metric: Callable[[Array], Floats], y: Array, p: Array, classes: int, rng: np.random.Generator
) -> Floats:
    cells = confusion(y, p, classes).ravel()
    block = max(1, CELLS // len(cells))
    values = []
    for start in range(0, DRAWS, block):
        size = min(block, DRAWS - start)
        draws = rng.multinomial(len(y), cells / len(y), size=size)
        values.append(metric(draws.reshape(size, classes, classes)))
    return np.concatenate(values)


def _parts(tables: Array) -> tuple[Array, Array, Array]:
    """Right ones, truths and predictions by class, each of shape (draws, classes)."""
    right = np.diagonal(tables, axis1=1, axis2=2).astype(float)
    return right, tables.sum(axis=2).astype(float), tables.sum(axis=1).astype(float)


def _balanced_accuracy(tables: Array) -> Floats:
    right, truths, _ = _parts(tables)
    return _mean(right / np.where(truths > 0, truths, np.nan), axis=1)


def _f1(tables: Array) -> tuple[Array, Array]:
    right, truths, predicted = _parts(tables)
    both = truths + predicted
    return 2 * right / np.where(both > 0, both, np.nan), truths


def _f1_macro(tables: Array) -> Floats:
    return _mean(_f1(tables)[0], axis=1)


def _f1_weighted(tables: Array) -> Floats:
    f1, truths = _f1(tables)
    return np.asarray(np.nansum(f1 * truths, axis=1) / truths.sum(axis=1))


def _qwk(tables: Array) -> Floats:
    _, truths, predicted = _parts(tables)
    place = np.arange(tables.shape[1])
    weights = (place[:, None] - place) ** 2
    by_chance = np.einsum("bi,ij,bj->b", truths, weights, predicted) / truths.sum(axis=1)
    return np.asarray(1 - np.einsum("bij,ij->b", tables, weights) / by_chance)


def _mcc(tables: Array) -> Floats:
    right, truths, predicted = _parts(tables)
    n = truths.sum(axis=1)
    top = right.sum(axis=1) * n - (truths * predicted).sum(axis=1)
    below = (n**2 - (truths**2).sum(axis=1)) * (n**2 - (predicted**2).sum(axis=1))
    return np.where(below > 0, top / np.sqrt(below), 0.0)


TABLES: dict[str, Callable[[Array], Floats]] = {
    "balanced_accuracy": _balanced_accuracy,
    "f1_macro": _f1_macro,
    "f1_weighted": _f1_weighted,
    "mcc": _mcc,
    "qwk": _qwk,
}
"""Confusion tables, shape (draws, classes, classes), to values, shape (draws,)."""


def _draw_ranks(
    metric: Callable[[Array, Array, Array], Floats],
    y: Array,
    p: Array,
    classes: int,
    rng: np.random.Generator,
) -> Floats:
    columns = p[:, None] if p.ndim == 1 else p
    labels = [classes - 1] if p.ndim == 1 else [k for k in range(classes) if (y == k).any()]
    orders = [np.argsort(-columns[:, k if p.ndim > 1 else 0], kind="stable") for k in labels]
    values = []
    for rows in _rows(len(y), rng):
        counts = _counts(rows)
        by_class = [
            metric(counts[:, order], y[order] == k, columns[order, k if p.ndim > 1 else 0])
            for k, order in zip(labels, orders, strict=True)
        ]
        values.append(_mean(np.array(by_class), axis=0))
    return np.concatenate(values)


def _ties(scores: Array) -> tuple[Array, Array]:
    """For each of some sorted scores, where its run of equal scores starts and where it ends."""
    edges = np.flatnonzero(np.diff(scores)) + 1
    starts, ends = np.concatenate(([0], edges)), np.concatenate((edges, [len(scores)]))
    lengths = ends - starts
    return np.repeat(starts, lengths), np.repeat(ends, lengths)


def _running(counts: Array) -> Array:
    """Sums of all rows before each, with the sum of all at the end, shape (draws, n + 1)."""
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1))
    np.cumsum(counts, axis=1, out=sums[:, 1:])
    return sums


def _roc_auc(counts: Array, positive: Array, scores: Array) -> Floats:
    starts, ends = _ties(scores)
    negatives = _running(counts * ~positive)
    above = (negatives[:, starts[positive]] + negatives[:, ends[positive]]) / 2
    hits = counts[:, positive]
    total = negatives[:, -1]
    return np.asarray(1 - (hits * above).sum(axis=1) / (hits.sum(axis=1) * total))


def _average_precision(counts: Array, positive: Array, scores: Array) -> Floats:
    ends = _ties(scores)[1][positive]
    hits = counts[:, positive]
    precision = _running(counts * positive)[:, ends] / np.maximum(_running(counts)[:, ends], 1)
    return np.asarray((hits * precision).sum(axis=1) / hits.sum(axis=1))


RANKS: dict[str, Callable[[Array, Array, Array], Floats]] = {
    "average_precision": _average_precision,
    "roc_auc": _roc_auc,
}
"""Counts, shape (draws, n), whether positive and scores, shape (n,), sorted by falling score, to
values, shape (draws,)."""
