"""What a submission looks like: told from the sample, the target and the metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aide.errors import TaskError
from aide.tasks.columns import Columns, Files, listed
from aide.tasks.keys import Positions, number
from aide.tasks.metrics import Metric, Predict
from aide.tasks.target import Target


@dataclass(frozen=True, slots=True)
class Form:
    """What a submission looks like.

    Attributes:
        columns: the id, then what is predicted.
        predict: what the predictions are; "anything" where only a `grade.py` knows.
        labels: the classes; None for a regression.
        order: the class of each column where there is one a class, else ().
        normalized: True if the probabilities of a row must sum to 1, as log_loss needs it.
        least: the smallest value that the metric can use, or None.
    """

    columns: tuple[str, ...]
    predict: Literal["label", "probability", "value", "anything"]
    labels: Positions | None = None
    order: tuple[int, ...] = ()
    normalized: bool = False
    least: float | None = None


def make_form(columns: Columns, metric: Metric, target: Target) -> Form:
    """The form for a known metric: the sample's columns, or id and target if there is none.

    Raises:
        TaskError: the sample's columns do not fit the metric.
    """
    header = columns.submission
    least = 0.0 if metric.name == "rmsle" else None
    several = metric.predict == "probability" and target.labels is not None
    if not header and several and len(target.classes) > 2:
        header = (columns.id, *target.classes)
    elif not header:
        header = (columns.id, target.column)
    if several and target.labels and (len(header) > 2 or len(target.classes) > 2):
        order = class_columns(header[1:], target.labels)
        return Form(header, "probability", target.labels, order, metric.name == "log_loss")
    if len(header) > 2:
        raise TaskError(
            f"the sample submission has several columns to predict ({listed(header[1:])}), which "
            f"{metric.name} cannot grade: only a grade.py can"
        )
    return Form(header, metric.predict, target.labels, least=least)


def make_free_form(columns: Columns, target: Target, cells: Sequence[str]) -> Form:
    """The form for a task's own grader.

    Args:
        columns, target: of the task.
        cells: the predicted cells of the sample's first row; empty without a sample. Fractions
            where the target has classes mean probabilities.
    """
    header = columns.submission or (columns.id, target.column)
    if len(columns.targets) > 1 or len(header) > 2:
        try:
            order = class_columns(header[1:], target.labels) if target.labels else ()
        except TaskError:
            order = ()
        return Form(header, "probability" if order else "anything", target.labels, order)
    if target.labels is None:
        return Form(header, "value")
    known = not cells or target.labels.find(cells[0]) is not None
    predict: Predict = "label" if known or number(cells[0]) is None else "probability"
    return Form(header, predict, target.labels)


def class_columns(columns: Sequence[str], labels: Positions) -> tuple[int, ...]:
    """The class that each of some columns is for: named like it, or like it after a prefix.

    Raises:
        TaskError: there is no such reading.
    """
    for length in range(len(columns[0])):
        prefix = columns[0][:length]
        found = [labels.find(name.removeprefix(prefix)) for name in columns]
        if None not in found and len(set(found)) == len(labels):
            return tuple(place for place in found if place is not None)
    raise TaskError(
        f"the sample submission's columns {listed(columns)} are not the classes "
        f"{listed(labels.texts)}, one column each"
    )


def first_cells(files: Files) -> list[str]:
    """The predicted cells of the sample submission's first row; [] if there is none."""
    row = next(files.sample.rows(), []) if files.sample else []
    return row[1:]
