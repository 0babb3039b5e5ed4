"""What of a task's tables is kept in memory: ids, targets, and the column to divide by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aide.errors import TaskError
from aide.tasks.columns import Columns, Files
from aide.tasks.keys import Keys, Positions
from aide.tasks.spec import Spec
from aide.tasks.table import Table

Real = tuple[tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Data:
    """The labelled rows of train.csv and the rows of test.csv, in the files' order.

    Rows are counted through: labelled ones from 0, then those of test.csv.

    Attributes:
        labelled: the number of labelled rows.
        ids: the ids that the views use, of all rows, all different.
        keys: how ids compare.
        answers: targets of the labelled rows, by column.
        by: the group or the time of each labelled row, by setting ("group", "time").
        real: the rows of test.csv that a submission is made of, in the sample's order.
        real_ids: their ids in the sample.
    """

    labelled: int
    ids: tuple[str, ...]
    keys: Keys
    answers: Mapping[str, list[str]]
    by: Mapping[str, list[str]]
    real: tuple[int, ...]
    real_ids: tuple[str, ...]

    def positions(self, rows: Iterable[int]) -> Positions:
        """The ids of some rows, to be found by value."""
        return Positions([self.ids[row] for row in rows], self.keys)


def read_data(files: Files, columns: Columns, spec: Spec, seed: int) -> Data:
    """Read the tables' columns that the host needs, in one pass over each table.

    Args:
        files: the tables.
        columns: what their columns are.
        spec: names the group and the time column.
        seed: of the made up ids, where the data have none.

    Raises:
        TaskError: a table has no rows or broken ones, an id is there twice, or the sample's ids
            are not those of test.csv.
    """
    own_id = [] if columns.numbered else [columns.id]
    by = {key: name for key in ("group", "time") if (name := getattr(spec, key)) is not None}
    train = _columns(files.train, [*columns.targets, *own_id, *by.values()])
    labelled = len(train[columns.target])
    test_ids = _test_ids(files.test, columns)
    real, real_ids = _real(files, columns, labelled, test_ids)
    if columns.numbered:
        # Shuffled over all rows, so that a made up id does not tell where its row is from.
        numbers = np.random.default_rng(seed).permutation(labelled + len(test_ids))
        ids = tuple(str(number) for number in numbers)
    else:
        ids = (*train[columns.id], *test_ids)
    _check_ids(ids, columns.id, labelled)
    return Data(
        labelled,
        ids,
        Keys(ids, distinct=True),
        {name: train[name] for name in columns.targets},
        {key: train[name] for key, name in by.items()},
        real,
        real_ids,
    )


def _columns(table: Table, names: Sequence[str]) -> dict[str, list[str]]:
    columns = table.columns(list(dict.fromkeys(names)))
    if not all(columns.values()):
        raise TaskError(f"{table.path.name} has a header, but no rows")
    return columns


def _test_ids(test: Table | None, columns: Columns) -> list[str]:
    """The ids in test.csv; row numbers if it has none."""
    if test is None:
        return []
    if columns.id in test.header:
        return _columns(test, [columns.id])[columns.id]
    rows = test.count()
    if not rows:
        raise TaskError(f"{test.path.name} has a header, but no rows")
    return [str(row) for row in range(rows)]


def _real(files: Files, columns: Columns, labelled: int, test_ids: Sequence[str]) -> Real:
    """The rows that a submission is made of, and their ids, in the sample's order."""
    rows = tuple(range(labelled, labelled + len(test_ids)))
    if files.sample is None or files.test is None:
        return rows, tuple(test_ids)
    name = files.sample.path.name
    ids = tuple(_columns(files.sample, [files.sample.header[0]])[files.sample.header[0]])
    if len(set(ids)) < len(ids):
        raise TaskError(f"{name} has an id twice")
    if columns.id not in files.test.header:
        if len(ids) != len(rows):
            raise TaskError(f"{name} has {len(ids)} rows, but test.csv has {len(rows)}")
        return rows, ids
    found = Positions(test_ids, Keys(test_ids, distinct=True))
    places = [found.find(text) for text in ids]
    if None in places:
        raise TaskError(f"{name} has an id that test.csv has not: {ids[places.index(None)]}")
    return tuple(rows[place] for place in places if place is not None), ids


def _check_ids(ids: Sequence[str], column: str, labelled: int) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: dict[str, int] = {}
    for row, text in enumerate(ids):
        if text in seen:
            files = sorted(
                {"train.csv" if r < labelled else "test.csv" for r in (seen[text], row)}
            )
            raise TaskError(
                f"the id {text!r} in the column {column!r} is there twice, in "
                f"{' and '.join(reversed(files))}: ids must be different over both files"
            )
        seen[text] = row
