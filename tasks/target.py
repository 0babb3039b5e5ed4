"""The target column: what kind of problem it poses, its classes, its values as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aide.errors import TaskError
from aide.interfaces import Problem
from aide.tasks.keys import Keys, Positions, number

Array = NDArray[Any]
Predict = Literal["label", "probability", "value"]

MISSING = frozenset(
    [
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    ]
)
"""The texts that a data frame reads as missing: a solution could not tell such a class."""

FEW_VALUES = 20


@dataclass(frozen=True, slots=True)
class Target:
    """The target's values on the labelled rows.

    Attributes:
        column: its name.
        problem: what kind of problem it poses.
        classes: the labels as the data write them: numbers by value, else by alphabet, false
            before true; () for a regression.
        y: shape (rows,): the class as an integer from 0, or the value as a float.
        labels: finds a label's class by value; None for a regression.
    """

    column: str
    problem: Problem
    classes: tuple[str, ...]
    y: Array
    labels: Positions | None

    def encode(self, texts: Sequence[str], where: str) -> Array:
        """Other labels of the same target as `y` has them.

        Args:
            texts: the labels.
            where: the file's name, for the message.

        Raises:
            TaskError: one is missing, no number or no known class.
        """
        require_labels(texts, self.column, where)
        if self.labels is None:
            return _numbers(texts, self.column, where)
        codes = [self.labels.find(text) for text in texts]
        if None in codes:
            bad = texts[codes.index(None)]
            raise TaskError(f"{where} has a label that train.csv has not: {bad!r}")
        return np.array(codes, dtype=np.intp)


def require_labels(texts: Sequence[str], column: str, where: str) -> None:
    """Raise TaskError if a label is missing."""
    missing = sum(text.strip() in MISSING for text in texts)
    if missing:
        raise TaskError(
            f"{missing} of {len(texts)} rows of {where} have no label in {column!r} (empty, or a "
            "word such as NA that is read as missing): leave them out or label them"
        )


def make_target(column: str, texts: Sequence[str], predict: Predict | None) -> Target:
    """Read the target of the labelled rows.

    Args:
        column: its name.
        texts: its values.
        predict: what the metric needs, which decides the kind of problem; None to tell it from
            the values.

    Raises:
        TaskError: labels are missing, all the same, or do not fit the metric.
    """
    require_labels(texts, column, "train.csv")
    if predict is None:
        predict = "label" if _has_classes(texts) else "value"
    if predict == "value":
        y = _numbers(texts, column, "train.csv")
        if np.all(y == y[0]):
            raise TaskError(f"all rows have the same value in the target {column!r}: {texts[0]}")
        return Target(column, "regression", (), y, None)
    return _classification(column, texts)


def _classification(column: str, texts: Sequence[str]) -> Target:
    keys = Keys(texts)
    first: dict[Hashable, str] = {}
    for text in texts:
        first.setdefault(keys.key(text), text.strip())
    # All keys are numbers or all are texts, which the type does not say.
    classes = tuple(first[key] for key in sorted(first))  # type: ignore[type-var]  # keys of one kind
    if len(classes) == 1:
        raise TaskError(f"all rows have the same label in the target {column!r}: {classes[0]}")
    if len(classes) > max(FEW_VALUES, len(texts) / 2) or _is_continuous(keys, first):
        raise TaskError(
            f"the metric needs classes, but the target {column!r} has {len(classes)} different "
            f"values in {len(texts)} rows, such as {texts[0]}: choose another metric or target"
        )
    labels = Positions(classes, keys)
    y = np.array([labels.find(text) for text in texts], dtype=np.intp)
    kind: Problem = "binary classification" if len(classes) == 2 else "multiclass classification"
    return Target(column, kind, classes, y, labels)


def _is_continuous(keys: Keys, values: dict[Hashable, str]) -> bool:
    fractions = any(isinstance(v, float) and not v.is_integer() for v in values)
    return keys.numeric and fractions and len(values) > FEW_VALUES


def _has_classes(texts: Sequence[str]) -> bool:
    known = Counter(texts)
    values = [number(text) for text in known]
    if None in values:
        return True
    return len(known) <= FEW_VALUES and all(v == int(v) for v in values if v is not None)


def _numbers(texts: Sequence[str], column: str, where: str) -> Array:
    try:
        y = np.array(texts, dtype=object).astype(np.float64)
    except ValueError:
        y = np.array([np.nan if number(text) is None else number(text) for text in texts], float)
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise TaskError(
            f"the metric needs numbers, but the target {column!r} holds {texts[bad[0]]!r} in "
            f"{where}: choose another metric or target"
        )
    return y
