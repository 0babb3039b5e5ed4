"""A candidate's submission checked and read; each fault has a message of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aide.errors import InvalidSubmission
from aide.tasks.columns import listed
from aide.tasks.form import Form
from aide.tasks.keys import Positions
from aide.tasks.table import Table, open_table
from aide.tasks.target import MISSING

Array = NDArray[Any]
BYTES_A_CELL = 4096
SUM_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission's rows in the order of the ids that were asked for.

    Attributes:
        cells: what is predicted, as it was written, in the order of the form's columns.
        values: the same for a metric: see `metrics`; shape (rows,) or (rows, classes).
    """

    cells: list[list[str]]
    values: Array


def read_submission(
    path: Path, form: Form, ids: Positions, of: str = "input/test.csv"
) -> Submission:
    """Read a submission and check it in full.

    Args:
        path: a CSV file.
        form: what it has to look like.
        ids: the ids that it has to hold, each once, in any order.
        of: where these ids are from, for the message.

    Raises:
        InvalidSubmission: it breaks the form; the message names the first fault found.
    """
    if not path.is_file():
        raise InvalidSubmission(f"there is no {path.name}")
    if path.stat().st_size > BYTES_A_CELL * len(form.columns) * (len(ids) + 1):
        raise InvalidSubmission(f"{path.name} is far too large: {path.stat().st_size:,} bytes")
    table = open_table(path, InvalidSubmission)
    _check_columns(table, form)
    cells = _align(table, form, ids, of)
    return Submission(cells, _values(cells, form, ids))


def _check_columns(table: Table, form: Form) -> None:
    missing = [c for c in form.columns if c not in table.header]
    extra = [c for c in table.header if c not in form.columns]
    wanted = f"; the columns have to be: {listed(form.columns)}"
    if missing and extra:
        raise InvalidSubmission(
            f"the column {missing[0]!r} is missing, and {extra[0]!r} is none{wanted}"
        )
    if missing:
        raise InvalidSubmission(f"missing columns: {listed(missing)}{wanted}")
    if extra:
        raise InvalidSubmission(f"columns too many: {listed(extra)}{wanted}")


def _align(table: Table, form: Form, ids: Positions, of: str) -> list[list[str]]:
    """The predicted cells in the order of the ids."""
    id_place, *places = (table.header.index(column) for column in form.columns)
    aligned: list[list[str] | None] = [None] * len(ids)
    unknown: list[str] = []
    twice: list[str] = []
    for row in table.rows():
        place = ids.find(row[id_place])
        if place is None:
            unknown.append(row[id_place])
        elif aligned[place] is not None:
            twice.append(row[id_place])
        else:
            aligned[place] = [row[k] for k in places]
    missing = [text for text, cells in zip(ids.texts, aligned, strict=True) if cells is None]
    _check_ids(form.columns[0], of, len(ids), {"unknown": unknown, "twice": twice, "no": missing})
    return [cells for cells in aligned if cells is not None]


def _check_ids(column: str, of: str, wanted: int, faults: dict[str, list[str]]) -> None:
    if len(faults["no"]) == wanted and not faults["unknown"]:
        raise InvalidSubmission(f"there are no rows: {wanted} are needed, one for each of {of}")
    words = {
        "unknown": f"are not among those of {of}",
        "twice": "are there more than once",
        "no": f"of {of} have no row",
    }
    found = [f"{len(ids)} {words[kind]}, such as {ids[0]}" for kind, ids in faults.items() if ids]
    if found:
        raise InvalidSubmission(f"wrong ids in the column {column!r}: {'; '.join(found)}")


def _values(cells: list[list[str]], form: Form, ids: Positions) -> Array:
    _check_missing(cells, form, ids)
    if form.predict == "anything":
        return np.array(cells, dtype=object)
    if form.predict == "label":
        return _labels(cells, form, ids)
    numbers = _numbers(cells, form, ids)
    if form.predict == "probability":
        return _probabilities(numbers, form, ids)
    if form.least is not None and numbers.min() < form.least:
        row = int(numbers[:, 0].argmin())
        raise InvalidSubmission(
            f"the metric needs values of at least {form.least:g}, but the prediction is "
            f"{numbers[row, 0]:g}{_at(form, ids, row)}"
        )
    return numbers[:, 0]


def _check_missing(cells: list[list[str]], form: Form, ids: Positions) -> None:
    places = [
        (row, column)
        for row, line in enumerate(cells)
        for column, text in enumerate(line)
        if text.strip() in MISSING
    ]
    if places:
        count = f", and {len(places) - 1} more" if len(places) > 1 else ""
        raise InvalidSubmission(f"the prediction is missing{_at(form, ids, *places[0])}{count}")


def _at(form: Form, ids: Positions, row: int, column: int = 0) -> str:
    return f" in the column {form.columns[column + 1]!r} of id {ids.texts[row]}"


def _labels(cells: list[list[str]], form: Form, ids: Positions) -> Array:
    assert form.labels is not None
    codes = [form.labels.find(line[0]) for line in cells]
    if None in codes:
        row = codes.index(None)
        raise InvalidSubmission(
            f"{cells[row][0]!r} is no known class{_at(form, ids, row)}; the classes are: "
            f"{listed(form.labels.texts)}"
        )
    return np.array(codes, dtype=np.intp)


def _numbers(cells: list[list[str]], form: Form, ids: Positions) -> Array:
    try:
        numbers = np.array(cells, dtype=object).astype(np.float64)
    except ValueError as error:
        row, column = next(_not_numbers(cells))
        raise InvalidSubmission(
            f"a number is needed, not {cells[row][column]!r}{_at(form, ids, row, column)}"
        ) from error
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        raise InvalidSubmission(
            f"the prediction is not finite: {cells[row][column]!r}{_at(form, ids, row, column)}"
        )
    return numbers


def _not_numbers(cells: list[list[str]]) -> Iterator[tuple[int, int]]:
    for row, line in enumerate(cells):
        for column, text in enumerate(line):
            try:
                float(text)
            except ValueError:
                yield row, column


def _probabilities(numbers: Array, form: Form, ids: Positions) -> Array:
    outside = np.argwhere((numbers < 0) | (numbers > 1))
    if len(outside):
        row, column = outside[0]
        raise InvalidSubmission(
            f"a probability must lie between 0 and 1, but it is {numbers[row, column]:g}"
            f"{_at(form, ids, row, column)}"
        )
    if not form.order:
        return numbers[:, 0]
    sums = numbers.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if form.normalized and abs(sums[worst] - 1) > SUM_TOLERANCE:
        raise InvalidSubmission(
            f"the probabilities of id {ids.texts[worst]} sum to {sums[worst]:g}, not to 1"
        )
    if form.normalized:
        numbers = numbers / sums[:, None]
    by_class = numbers[:, np.argsort(form.order)]
    return by_class[:, 1] if len(form.order) == 2 else by_class
