"""Predictions made into a score: by a metric, or by a task's own `grade.py`."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aide.errors import InvalidSubmission, TaskError
from aide.node import Score
from aide.tasks.bootstrap import standard_error
from aide.tasks.keys import number
from aide.tasks.metrics import Metric, evaluate
from aide.tasks.table import to_text
from aide.tasks.target import Target

Array = NDArray[Any]


def check_fit(metric: Metric, target: Target) -> None:
    """Raise TaskError if a metric is not defined on a target's values."""
    lowest = target.y.min()
    if metric.name == "rmsle" and lowest < 0:
        raise TaskError(
            f"the metric rmsle needs labels of 0 or more, but {target.column!r} goes down to "
            f"{lowest:g}: choose another, such as rmse"
        )
    if metric.name == "mape" and np.any(target.y == 0):
        raise TaskError(f"the metric mape divides by the labels, but {target.column!r} has zeros")
    if metric.name == "qwk" and None in [number(text) for text in target.classes]:
        raise TaskError(
            f"the metric qwk needs classes in an order, but those of {target.column!r} are no "
            f"numbers, such as {target.classes[0]!r}"
        )


def check_part(metric: Metric, y: Array, part: str) -> None:
    """Raise TaskError if a metric cannot be computed on a holdout's rows."""
    if metric.name in ("average_precision", "roc_auc") and np.all(y == y[0]):
        raise TaskError(
            f"the {part} holdout has rows of one class only, on which {metric.name} is not "
            "defined: divide the rows in another way (split) or hold out more (holdout)"
        )


def score(metric: Metric, y: Array, p: Array, classes: int, seed: int = 0) -> Score:
    """A metric's value with its standard error.

    Args:
        metric: the metric.
        y, p, classes: truth, prediction and number of classes, as `metrics` says.
        seed: of the bootstrap.

    Raises:
        InvalidSubmission: the predictions are so far off that the value is no finite number.
    """
    value = evaluate(metric, y, p, classes)
    if not math.isfinite(value):
        raise InvalidSubmission(f"the predictions are so far off that {metric.name} is {value}")
    return Score(value, standard_error(metric.name, y, p, classes, seed), len(y))


class Grader:
    """A task's own `grade.py`, run on the host: `grade(submission, answers) -> float`.

    Both are data frames with the same ids in the same order. The task's owner is trusted, as the
    owner of the machine is; a solution never runs here.

    Args:
        path: the file.
        maximize: True if a larger value is better.

    Raises:
        TaskError: it cannot be imported or holds no `grade`.
    """

    name = "grade.py"
    predict = None

    def __init__(self, path: Path, maximize: bool) -> None:
        self.path, self.maximize = path, maximize
        self._lock = Lock()
        self._grade = self._load()

    def _load(self) -> Callable[[pd.DataFrame, pd.DataFrame], Any]:
        found = importlib.util.spec_from_file_location("aide_task_grader", self.path)
        if found is None or found.loader is None:
            raise TaskError(f"{self.path} cannot be imported")
        module = importlib.util.module_from_spec(found)
        try:
            found.loader.exec_module(module)
        except Exception as error:  # the user's own code may raise anything
            raise TaskError(f"{self.path} cannot be imported: {_said(error)}") from error
        grade: Callable[..., Any] | None = getattr(module, "grade", None)
        if not callable(grade):
            raise TaskError(f"{self.path} has no function grade(submission, answers)")
        return grade

    def score(
        self, header: Sequence[str], rows: list[list[str]], answers: dict[str, list[str]]
    ) -> Score:
        """Grade some rows; the standard error is not known.

        Args:
            header: the submission's columns.
            rows: the submission's rows.
            answers: ids and targets by column, in the same order.

        Raises:
            InvalidSubmission: the grader raised ValueError, its way to refuse a submission.
            TaskError: the grader failed, or returned no finite number.
        """
        submission = _frame(header, rows)
        truth = _frame(list(answers), [list(row) for row in zip(*answers.values(), strict=True)])
        try:
            with self._lock:
                value = self._grade(submission, truth)
        except ValueError as error:
            raise InvalidSubmission(f"grade.py refuses the submission: {error}") from error
        except Exception as error:  # the user's own code may raise anything
            raise TaskError(f"{self.path} failed: {_said(error)}") from error
        try:
            result = float(value)
        except (TypeError, ValueError) as error:
            raise TaskError(f"{self.path} returned {value!r}, which is no number") from error
        if not math.isfinite(result):
            raise TaskError(f"{self.path} returned {result}, which is no finite number")
        return Score(result, float("nan"), len(rows))


def _frame(header: Sequence[str], rows: list[list[str]]) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(to_text(header, rows)), low_memory=False)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
