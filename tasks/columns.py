"""Which column is what: found out from the headers of a Kaggle-style folder's files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aide.errors import TaskError
from aide.tasks.spec import Spec
from aide.tasks.table import Table, open_table

SAMPLES = ("sample_submission", "sampleSubmission", "SampleSubmission")
ID_LIKE = re.compile(r"(?i:id|index)|.*[_ ](?i:id)|.*[a-z]I[dD]")
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Files:
    """The tables of a task's folder."""

    train: Table
    test: Table | None
    sample: Table | None


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns are.

    Attributes:
        target: the column to predict.
        targets: all columns of train.csv that a submission predicts, the target first. More than
            one only with a `grade.py`.
        id: the id column; see `numbered`.
        numbered: True if the data have no such column, and the views get one that is made up.
        features: the columns of a view's test.csv, a made up id left out.
        submission: the header of the sample submission, or () if there is no sample.
    """

    target: str
    targets: tuple[str, ...]
    id: str
    numbered: bool
    features: tuple[str, ...]
    submission: tuple[str, ...]


def open_files(folder: Path) -> Files:
    """Open train.csv, and test.csv and sample_submission.csv if they are there.

    Raises:
        TaskError: the folder or train.csv is missing, or a header cannot be read.
    """
    if not folder.is_dir():
        raise TaskError(f"there is no folder {str(folder)!r}")
    train = _find(folder, ("train",))
    if train is None:
        raise TaskError(f"there is no train.csv in {str(folder)!r}: a task needs one")
    return Files(train, _find(folder, ("test",)), _find(folder, SAMPLES))


def _find(folder: Path, stems: Iterable[str]) -> Table | None:
    for stem in stems:
        for name in (f"{stem}.csv", f"{stem}.csv.gz"):
            if (folder / name).is_file():
                return open_table(folder / name, TaskError)
    return None


def find_columns(files: Files, spec: Spec) -> Columns:
    """Say what each column is: as told by the settings, else as the headers show.

    Raises:
        TaskError: a column that was named is not there, or the target is in doubt.
    """
    train = files.train.header
    for setting in ("target", "group", "time"):
        _require(train, getattr(spec, setting), setting)
    targets = _targets(files, spec)
    features = _features(files, targets)
    submission = files.sample.header if files.sample else ()
    if len(submission) == 1:
        raise TaskError(f"{_name(files.sample)} has one column only: it needs an id and a target")
    id_column, numbered = _id(files, spec, features)
    return Columns(targets[0], targets, id_column, numbered, features, submission)


def _require(header: Sequence[str], column: str | None, setting: str) -> None:
    if column is not None and column not in header:
        raise TaskError(
            f"the {setting} column {column!r} is not in train.csv; its columns are: "
            f"{listed(header)}"
        )


def _targets(files: Files, spec: Spec) -> tuple[str, ...]:
    train = files.train.header
    hidden = [c for c in train if files.test is None or c not in files.test.header]
    asked = [c for c in (files.sample.header[1:] if files.sample else ()) if c in train]
    predicted = [c for c in asked if c in hidden]
    if spec.target is not None:
        rest = [c for c in predicted if c != spec.target]
        return (spec.target, *rest)
    if predicted:
        return tuple(predicted)
    if files.test is not None and len(hidden) == 1:
        return (hidden[0],)
    if files.test is not None and hidden:
        raise TaskError(
            f"the target is in doubt: train.csv has {listed(hidden)}, and test.csv has not; "
            "name one with --target or in task.toml"
        )
    raise TaskError(
        "the target cannot be told from the files; name it with --target or in task.toml: "
        f"train.csv has the columns {listed(train)}"
    )


def _features(files: Files, targets: Sequence[str]) -> tuple[str, ...]:
    header = files.test.header if files.test else files.train.header
    extra = [c for c in header if c not in files.train.header]
    features = tuple(c for c in header if c not in targets and c not in extra)
    # An id that only test.csv has is the usual case of data whose train rows are not numbered.
    if extra and not (files.sample and extra == [files.sample.header[0]]):
        raise TaskError(f"test.csv has columns that train.csv has not: {listed(extra)}")
    if not features:
        raise TaskError("there is no column to predict from: train.csv has the target only")
    return features


def _id(files: Files, spec: Spec, features: Sequence[str]) -> tuple[str, bool]:
    """The id column's name, and whether it has to be made up."""
    _require(files.train.header, spec.id, "id")
    if spec.id is not None and spec.id not in features:
        raise TaskError(f"the id column {spec.id!r} is not in test.csv")
    if spec.id is not None:
        return spec.id, False
    if files.sample:
        name = files.sample.header[0]
        if name not in features and name in files.train.header:
            raise TaskError(f"the id column {name!r} is in train.csv, but not in test.csv")
        return name, name not in features
    if ID_LIKE.fullmatch(features[0]) and _all_differ(files, features[0]):
        return features[0], False
    taken = files.train.header
    return next(name for name in ("id", "row_id", "aide_row_id") if name not in taken), True


def _all_differ(files: Files, column: str) -> bool:
    tables = [table for table in (files.train, files.test) if table is not None]
    texts = [text for table in tables for text in table.columns([column])[column]]
    return len(set(texts)) == len(texts)


def listed(names: Sequence[str]) -> str:
    """Names for a message, at most 20 of them."""
    more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _name(table: Table | None) -> str:
    return table.path.name if table else "the sample"
