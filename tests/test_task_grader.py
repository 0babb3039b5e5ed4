"""Tasks with a `grade.py` of their own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from aide.errors import InvalidSubmission, TaskError
from aide.tasks.task import FolderTask
from tests.task_folders import HOUSES, REAL, WINES, loaded, make, read, write

ACCURACY = """
def grade(submission, answers):
    assert list(submission.columns) == ["Id", "sort"], submission.columns
    assert list(answers.columns) == ["Id", "sort"], answers.columns
    assert (submission["Id"] == answers["Id"]).all()
    return (submission["sort"] == answers["sort"]).mean()
"""

STRICT = """
class Refused(ValueError):
    pass

def grade(submission, answers):
    if (submission["price"] > 1e6).any():
        raise Refused("no house costs a million")
    if (submission["price"] < 0).any():
        return 1 / 0
    if (submission["price"] == 0).any():
        return float("inf")
    if (submission["price"] == 1).any():
        return "cheap"
    return (submission["price"] - answers["price"]).abs().mean()
"""

TWO = """
def grade(submission, answers):
    rooms = (submission["rooms"] == answers["rooms"]).mean()
    return float(rooms + (submission["price"] - answers["price"]).abs().mean())
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path / "cache"))


def graded(folder: Path, program: str, train: list[str], **given: Any) -> FolderTask:
    files: dict[str, str | list[str] | bytes] = {"train.csv": train, "grade.py": program}
    return loaded(make(folder, files), **({"maximize": True} | given))


def predicted(task: FolderTask, path: Path, cell: str) -> Path:
    """A submission with the same prediction for all rows."""
    header, rows = read(task.view("search") / "sample_submission.csv")
    return write(path, header, [[row[0], cell] for row in rows])


def test_labels_are_graded_as_they_stand(tmp_path: Path) -> None:
    task = graded(tmp_path / "task", ACCURACY, WINES, target="sort")
    assert (task.info.metric, task.info.maximize) == ("grade.py", True)
    assert (task.info.problem, task.info.predict) == ("binary classification", "label")
    assert "by the task's own grade.py" in task.info.evaluation
    score = task.grade(predicted(task, tmp_path / "r.csv", "r"), "search")
    other = task.grade(predicted(task, tmp_path / "s.csv", "s"), "search")
    assert score.value + other.value == pytest.approx(1)
    assert math.isnan(score.se)
    assert score.rows == 15


def test_whose_fault_it_is(tmp_path: Path) -> None:
    task = graded(tmp_path / "task", STRICT, HOUSES, target="price", maximize=False)
    path = tmp_path / "out.csv"
    assert task.grade(predicted(task, path, "30000"), "final").value > 1000
    with pytest.raises(InvalidSubmission, match=r"refuses the submission: no house costs a mil"):
        task.grade(predicted(task, path, "2000000"), "final")
    for cell, message in (
        ("-1", r"grade\.py failed: ZeroDivisionError: division by zero"),
        ("0", "returned inf, which is no finite number"),
        ("1", "returned 'cheap', which is no number"),
    ):
        with pytest.raises(TaskError, match=message):
            task.grade(predicted(task, path, cell), "search")
    with pytest.raises(InvalidSubmission, match="a number is needed"):
        task.grade(predicted(task, path, "dear"), "final")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("def grade(:", r"grade\.py cannot be imported: SyntaxError"),
        ("import no_such_package", r"cannot be imported: ModuleNotFoundError"),
        ("def score(a, b): return 1", r"has no function grade\(submission, answers\)"),
        ("def grade(a): return 1", r"failed: TypeError"),
        ("def grade(a, b): return b['prize'].mean()", r"failed: KeyError: 'prize'"),
        ("def grade(a, b): raise ValueError('never')", r"its own sample submission: .*: never"),
    ],
)
def test_a_broken_grader_shows_at_once(tmp_path: Path, program: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        graded(tmp_path / "task", program, HOUSES, target="price")


def test_probabilities_are_told_from_the_sample(tmp_path: Path) -> None:
    folder = make(
        tmp_path / "task",
        {
            "test.csv": ["Id,acid", "1001,1", "1002,3"],
            "sample_submission.csv": ["Id,sort", "1001,0.5", "1002,0.5"],
        },
    )
    program = "def grade(a, b): return float(((a['sort'] > 0.5) == (b['sort'] == 's')).mean())"
    task = graded(folder, program, WINES)
    assert task.info.predict == "probability"
    with pytest.raises(InvalidSubmission, match="between 0 and 1"):
        task.grade(predicted(task, tmp_path / "out.csv", "2"), "search")


def test_several_targets(tmp_path: Path) -> None:
    folder = make(
        tmp_path / "task",
        {
            "test.csv": ["Id,town", "1001,t1", "1002,t2"],
            "sample_submission.csv": ["Id,price,rooms", "1002,1,2", "1001,1,2"],
        },
    )
    task = graded(folder, TWO, HOUSES, maximize=False)
    assert (task.info.target, task.info.columns) == ("price", ("Id", "price", "rooms"))
    assert read(task.view("search") / "test.csv")[0] == ["Id", "town"]
    sample = task.view("search") / "sample_submission.csv"
    assert task.grade(sample, "search").rows == 15
    assert task.submission(sample, "search").split() == ["Id,price,rooms", "1002,1,2", "1001,1,2"]


def test_hidden_labels_go_to_the_grader(tmp_path: Path) -> None:
    folder = make(tmp_path / "task", {"test.csv": REAL})
    task = graded(folder, STRICT, HOUSES, maximize=False)
    labels = write(tmp_path / "labels.csv", ["price", "Id"], [["5", "1003"], ["7", "1001"]])
    path = write(
        tmp_path / "out.csv", ["Id", "price"], [[line.split(",")[0], "6"] for line in REAL[1:]]
    )
    assert task.grade_hidden(path, labels).value == 1


def test_a_metric_in_the_call_wins_over_the_grader(tmp_path: Path) -> None:
    task = graded(tmp_path / "task", "not python", HOUSES, target="price", metric="r2")
    assert task.info.metric == "r2"
