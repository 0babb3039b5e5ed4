"""What of a task's tables is kept in memory: ids, targets, and the column to divide by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aide.errors import TaskError
from aide.tasks.columns import Columns, Files
from aide.tasks.keys import Keys, Positions
from aide.tasks.spec import Spec
from aide.tasks.table import Table


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

    def positions(self, rows: Sequence[int]) -> Positions:
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
    real, real_ids = _real(files.sample, labelled, test_ids)
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


def _real(
    sample: Table | None, labelled: int, test_ids: Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    rows = tuple(range(labelled, labelled + len(test_ids)))
    if sample is None or not test_ids:
        return rows, tuple(test_ids)
    sample_ids = tuple(_columns(sample, [sample.header[0]])[sample.header[0]])
    found = Positions(test_ids, Keys(test_ids, distinct=True))
    places = [found.find(text) for text in sample_ids]
    known = [place for place in places if place is not None]
    if len(known) == len(set(known)) == len(sample_ids):
        return tuple(rows[place] for place in known), sample_ids
    return _by_order(sample, rows, sample_ids, places)


def _by_order(
    sample: Table, rows: tuple[int, ...], ids: tuple[str, ...], places: Sequence[int | None]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    raise NotImplementedError


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
