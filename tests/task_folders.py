"""Small real tasks, written as Kaggle-style folders out of scikit-learn's data sets."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from aide.tasks.load import load
from aide.tasks.task import FolderTask

Row = list[str]

N = 60
HOUSES = ["Id,rooms,town,price", *(f"{k},{k % 5},t{k % 3},{k * 1000}" for k in range(1, N + 1))]
WINES = ["Id,acid,sort", *(f"{k},{k / 7:.3f},{'rs'[k % 2]}" for k in range(1, N + 1))]
REAL = ["Id,rooms,town", *(f"{k},{k % 5},t{k % 3}" for k in range(1001, 1011))]

GRADER = """
import numpy as np

def grade(submission, answers):
    assert list(submission["id"]) == list(answers["id"])
    if (submission["target"] < 0).any():
        raise ValueError("the target is never negative")
    return float(np.abs(submission["target"] - answers["target"]).max())
"""


@dataclass
class Built:
    """A task's folder, and what nobody else knows about it.

    Attributes:
        folder: the folder.
        target: the target column.
        truth: the label of each row, labelled or not, by the row's cells in test.csv without a
            made up id.
        labels: a CSV with the ids and labels of the real test set, or None.
        numbered: True if the views' ids are made up.
    """

    folder: Path
    target: str
    truth: dict[tuple[str, ...], str]
    labels: Path | None
    numbered: bool = False


def read(path: Path, delimiter: str = ",") -> tuple[Row, list[Row]]:
    """A CSV's header and rows, as text."""
    with path.open(encoding="utf-8", newline="") as text:
        header, *rows = list(csv.reader(text, delimiter=delimiter))
    return header, rows


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """Write a CSV from text."""
    with path.open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([header, *rows])
    return path


def make(folder: Path, files: Mapping[str, str | list[str] | bytes]) -> Path:
    """Write a folder's files: text, lines or bytes."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        if isinstance(content, list):
            content = "\n".join([*content, ""])
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def loaded(folder: Path, **given: Any) -> FolderTask:
    """Load a folder, whatever its name."""
    return load(f"{folder}/", **given)


def _frame(name: str, target: str, rows: int = 400) -> pd.DataFrame:
    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    frame: pd.DataFrame = bunch.frame.rename(columns={"target": target})
    if "target_names" in bunch and target != "target":
        frame[target] = [str(bunch.target_names[k]) for k in frame[target]]
    picked = frame.sample(n=min(rows, len(frame)), random_state=1)
    return picked.reset_index(drop=True)


def _write(
    folder: Path,
    frame: pd.DataFrame,
    target: str,
    *,
    test_rows: int,
    sample: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    toml: str = "",
    ids: Callable[[int], str] | None = str,
    hidden: Sequence[str] = (),
    **csv_format: Any,
) -> Built:
    folder.mkdir(parents=True)
    if ids is not None:
        frame.insert(0, "id", [ids(k) for k in range(len(frame))])
    test, train = frame.iloc[:test_rows], frame.iloc[test_rows:]
    train.to_csv(folder / "train.csv", index=False, **csv_format)
    labels = None
    if test_rows:
        test.drop(columns=[target, *hidden]).to_csv(folder / "test.csv", index=False, **csv_format)
        labels = folder.with_suffix(".labels.csv")
        numbered = test.assign(id=range(len(test))) if ids is None else test
        numbered[["id", target]].to_csv(labels, index=False)
    if sample is not None:
        sample(test).to_csv(folder / "sample_submission.csv", index=False)
    (folder / "task.toml").write_text(toml)
    return Built(folder, target, _truth(frame, target, hidden), labels, numbered=ids is None)


def _truth(frame: pd.DataFrame, target: str, hidden: Sequence[str]) -> dict[tuple[str, ...], str]:
    features = frame.drop(columns=[target, *hidden]).to_csv(index=False)
    rows = list(csv.reader(features.splitlines()))[1:]
    return dict(zip(map(tuple, rows), map(str, frame[target]), strict=True))


def breast_cancer(folder: Path) -> Built:
    frame = _frame("breast_cancer", "diagnosis")
    return _write(
        folder,
        frame,
        "diagnosis",
        test_rows=100,
        sample=lambda test: test[["id"]].assign(diagnosis=0.5)[::-1],
        toml="metric = 'auc'",
        ids=lambda k: f"{k * 7919 % 10007:05d}",
    )


def iris(folder: Path) -> Built:
    toml = "metric = 'f1'\ntarget = 'species'"
    return _write(folder, _frame("iris", "species"), "species", test_rows=0, toml=toml, ids=None)


def wine(folder: Path) -> Built:
    frame = _frame("wine", "cultivar")

    def sample(test: pd.DataFrame) -> pd.DataFrame:
        return test[["id"]].assign(p_class_2=0.2, p_class_0=0.4, p_class_1=0.4)

    return _write(
        folder,
        frame,
        "cultivar",
        test_rows=40,
        sample=sample,
        toml="metric = 'logloss'",
        ids=lambda k: f'wine {k}, cellar "{k % 7}"',
    )


def diabetes(folder: Path) -> Built:
    frame = _frame("diabetes", "target")
    return _write(folder, frame, "target", test_rows=90, toml="metric = 'rmse'")


def diabetes_by_time(folder: Path) -> Built:
    frame = _frame("diabetes", "target")
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)) // 4, "D")
    frame.insert(3, "day", pd.Series(days).dt.strftime("%Y-%m-%d"))
    frame = frame.sample(frac=1, random_state=0)
    toml = "metric = 'MAE'\ntarget = 'target'\ntime = 'day'"
    return _write(folder, frame, "target", test_rows=60, toml=toml, sep=";", encoding="utf-16")


def cancer_by_group(folder: Path) -> Built:
    frame = _frame("breast_cancer", "target").iloc[:, -12:]
    frame.insert(0, "patient", np.random.default_rng(0).integers(0, 60, len(frame)))
    toml = "metric = 'balanced accuracy'\ngroup = 'patient'"
    toml += "\ntarget = 'target'"
    return _write(folder, frame, "target", test_rows=80, toml=toml, hidden=["worst area"])


def diabetes_own_grader(folder: Path) -> Built:
    frame = _frame("diabetes", "target", 200)
    built = _write(folder, frame, "target", test_rows=50, toml="maximize = false")
    (folder / "grade.py").write_text(GRADER)
    return built


def iris_numbered(folder: Path) -> Built:
    """As image tasks have it: no ids in train and test, row numbers in the sample."""

    def sample(test: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"id": range(len(test)), "target": 0})

    toml = "metric = 'accuracy'"
    return _write(
        folder,
        _frame("iris", "target"),
        "target",
        test_rows=30,
        sample=sample,
        toml=toml,
        ids=None,
    )


BUILDERS: dict[str, Callable[[Path], Built]] = {
    function.__name__: function
    for function in (
        breast_cancer,
        iris,
        wine,
        diabetes,
        diabetes_by_time,
        cancer_by_group,
        diabetes_own_grader,
        iris_numbered,
    )
}
