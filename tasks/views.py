"""The folders that solutions see as `input/`: which rows they hold, and how they are made.

test.csv of the search view mixes both holdouts and the real test rows in an order drawn by seed.
Ids stay as they are, since they may name files. So where the data's own ids tell labelled rows
from test rows, as Kaggle's row numbers do, a program can tell the holdouts from the real test
rows; it cannot tell the two holdouts apart, and their labels are in no view that is graded.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aide.cache import cache_folder
from aide.errors import StorageError, TaskError
from aide.interfaces import View
from aide.tasks.columns import Columns, Files
from aide.tasks.data import Data
from aide.tasks.split import Split
from aide.tasks.table import RowWriter, Table, write_rows
from aide.tasks.target import Target

Array = NDArray[Any]
SMOKE_TRAIN, SMOKE_TEST = 300, 100


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a view, as `Data` counts them.

    Attributes:
        train: rows of train.csv, ascending.
        test: rows of test.csv, in order.
    """

    train: Array
    test: Array


def view_rows(split: Split, target: Target, real: int, seed: int) -> Mapping[View, Rows]:
    """Which rows each view holds.

    Args:
        split: the labelled rows divided.
        target: their target.
        real: the number of rows of test.csv; with 0 of them the full view's test.csv holds the
            holdouts, so that a program has something to predict.
        seed: of the order.
    """
    rng = np.random.default_rng(seed)
    labelled = len(target.y)
    of_test = np.arange(labelled, labelled + real)
    test = rng.permutation(np.concatenate((split.search, split.final, of_test)))
    return {
        "smoke": Rows(_sample(split.visible, target, rng), test[:SMOKE_TEST]),
        "search": Rows(split.visible, test),
        "full": Rows(np.arange(labelled), of_test if real else test),
    }


def _sample(visible: Array, target: Target, rng: np.random.Generator) -> Array:
    """At most 300 visible rows, at random, but with a row of each class where they suffice."""
    rows = rng.permutation(visible)
    if target.classes:
        first = np.unique(target.y[rows], return_index=True)[1]
        rows = np.concatenate((rows[first], np.delete(rows, first)))
    return np.sort(rows[:SMOKE_TRAIN])


def guess(target: Target, visible: Array, predict: str, order: Sequence[int]) -> list[str]:
    """The predicted cells of one row of a view's sample submission, the same for all rows.

    Args:
        target: the target.
        visible: the rows that may be used for it.
        predict: a form's.
        order: the class of each column, if there is one a class.
    """
    y = target.y[visible]
    if predict == "value":
        return [f"{y.mean():.6g}"]
    shares = np.bincount(y, minlength=len(target.classes)) / len(y)
    if predict == "label":
        return [target.classes[int(shares.argmax())]]
    return [f"{shares[k]:.6f}" for k in order] if order else [f"{shares[-1]:.6f}"]


def write_view(
    to: Path, rows: Rows, files: Files, columns: Columns, data: Data, sample: tuple[list[str], ...]
) -> None:
    """Write train.csv, test.csv and sample_submission.csv of a view.

    Args:
        to: the folder, which is there.
        rows: the view's rows.
        files, columns, data: of the task.
        sample: the header and one row's predicted cells of the sample submission.

    Raises:
        OSError: a file cannot be written.
        TaskError: a table cannot be read any more.
    """
    made_up = [columns.id] if columns.numbered else []
    train = _chosen(files.train, files.train.header, rows.train, data, 0, columns.numbered)
    write_rows(to / "train.csv", [*made_up, *files.train.header], train)
    _write_test(to / "test.csv", rows.test, files, columns, data)
    header, cells = sample
    write_rows(
        to / "sample_submission.csv", header, ([data.ids[row], *cells] for row in rows.test)
    )


def _chosen(
    table: Table, header: Sequence[str], rows: Array, data: Data, first: int, numbered: bool
) -> Iterator[list[str]]:
    """Some columns of some rows of a table, in the table's order.

    Args:
        table: train.csv or test.csv.
        header: the columns.
        rows: the wanted rows, as `Data` counts them.
        data: of the task.
        first: what the table's first row counts as.
        numbered: True to put the rows' made up ids first.
    """
    last = data.labelled if first == 0 else len(data.ids)
    wanted = np.zeros(last - first, dtype=bool)
    wanted[rows - first] = True
    places = [table.header.index(name) for name in header]
    row = first - 1
    for row, cells in enumerate(table.rows(), start=first):
        if row < last and wanted[row - first]:
            kept = [cells[place] for place in places]
            yield [data.ids[row], *kept] if numbered else kept
    if row != last - 1:
        raise TaskError(f"{table.path.name} was changed while it was in use")


def _write_test(path: Path, test: Array, files: Files, columns: Columns, data: Data) -> None:
    lines: list[str] = []
    writer = RowWriter(lines.append)
    writer.add([columns.id, *columns.features] if columns.numbered else columns.features)
    for table, first, last in (
        (files.train, 0, data.labelled),
        (files.test, data.labelled, len(data.ids)),
    ):
        part = test[(test >= first) & (test < last)]
        if table is not None and len(part):
            chosen = _chosen(table, columns.features, part, data, first, columns.numbered)
            for cells in chosen:
                writer.add(cells)
    header, *body = lines
    place = dict(zip(np.sort(test).tolist(), body, strict=True))
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write(header)
        out.writelines(place[row] for row in test.tolist())
    path.chmod(0o644)


def made_once(fingerprint: str, name: str, make: Callable[[Path], None]) -> Path:
    """A folder below the task's views, made whole or not at all, by whoever comes first.

    Args:
        fingerprint: the task's.
        name: of the folder.
        make: fills a folder.

    Raises:
        StorageError: the cache cannot be written.
    """
    try:
        parent = cache_folder("views", fingerprint)
        final = parent / name
        if final.is_dir():
            return final
        for folder in (parent, parent.parent):
            folder.chmod(0o755)
        _make(final, make)
    except OSError as error:
        raise StorageError(
            f"the data for the solutions cannot be written to {error.filename or 'the cache'}: "
            f"{error.strerror}; free some space or set AIDE_CACHE to another folder"
        ) from error
    return final


def _make(final: Path, make: Callable[[Path], None]) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        make(temporary)
        temporary.chmod(0o755)
        try:
            temporary.rename(final)
        except OSError:
            # Another process was first; what it made is the same.
            if not final.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
