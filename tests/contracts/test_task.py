"""What holds for every task: `aide.interfaces.Task`, over small real tasks of each kind."""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from aide.errors import InvalidSubmission
from aide.interfaces import Part, Task, View
from aide.tasks.load import load
from tests.task_folders import BUILDERS, Built, Row, read, write

VIEWS: tuple[View, ...] = ("smoke", "search", "full")
PARTS: tuple[Part, ...] = ("search", "final")
PERFECT = {"roc_auc": 1, "f1_macro": 1, "accuracy": 1, "balanced_accuracy": 1}


@dataclass
class Case:
    built: Built
    task: Task
    cache: Path

    @property
    def source(self) -> tuple[Row, list[Row]]:
        """The original train.csv."""
        path = self.built.folder / "train.csv"
        if path.read_bytes().startswith(b"\xff\xfe"):
            plain = self.cache / "train.utf8.csv"
            plain.write_text(path.read_text("utf-16"), "utf-8")
            return read(plain, ";")
        return read(path)

    def truth(self, row: Row) -> str:
        """The label of a row of a view's test.csv."""
        return self.built.truth[tuple(row[1:] if self.built.numbered else row)]

    def cells(self, label: str) -> Row:
        """What a perfect solution predicts for a label."""
        info = self.task.info
        if info.predict != "probability":
            return [label]
        if len(info.columns) == 2:
            return [str(float(label == info.classes[-1]))]
        return [str(float(column.endswith(label))) for column in info.columns[1:]]

    def perfect(self, view: View) -> tuple[Row, list[Row]]:
        """A perfect submission for a view: header and rows."""
        header, rows = read(self.task.view(view) / "test.csv")
        place = header.index(self.task.info.id)
        columns = list(self.task.info.columns)
        return columns, [[row[place], *self.cells(self.truth(row))] for row in rows]


@pytest.fixture(scope="module", params=BUILDERS)
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    root = tmp_path_factory.mktemp("task")
    built = BUILDERS[request.param](root / request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIDE_CACHE", str(root / "cache"))
        yield Case(built, load(str(built.folder)), root)


def test_info_is_complete(case: Case) -> None:
    info = case.task.info
    assert info.name == case.built.folder.name
    assert info.target == case.built.target
    assert info.columns[0] == info.id
    assert (len(info.classes) == 0) == (info.problem == "regression")
    assert (len(info.classes) == 2) == (info.problem == "binary classification")
    assert "search holdout" in info.evaluation
    assert str(case.task.grade(_written(case, "search"), "search").rows) in info.evaluation


def _written(case: Case, view: View) -> Path:
    """A perfect submission's file."""
    return write(case.cache / f"perfect-{view}.csv", *case.perfect(view))


@pytest.mark.parametrize("view", VIEWS)
def test_views_have_the_same_files_and_columns(case: Case, view: View) -> None:
    folder, search = case.task.view(view), case.task.view("search")
    names = ["sample_submission.csv", "test.csv", "train.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert read(folder / name)[0] == read(search / name)[0]


@pytest.mark.parametrize("view", VIEWS)
def test_test_csv_holds_no_label(case: Case, view: View) -> None:
    header, rows = read(case.task.view(view) / "test.csv")
    assert case.built.target not in header
    assert case.truth(rows[0])
    assert {len(row) for row in rows} == {len(header)}
    sample = read(case.task.view(view) / "sample_submission.csv")
    assert len({tuple(row[1:]) for row in sample[1]}) == 1


def test_no_held_out_row_is_in_train(case: Case) -> None:
    train_header, train = read(case.task.view("search") / "train.csv")
    test_header, test = read(case.task.view("search") / "test.csv")
    assert case.built.target in train_header
    place, of_test = train_header.index(case.task.info.id), test_header.index(case.task.info.id)
    assert not {row[place] for row in train} & {row[of_test] for row in test}
    grades = [case.task.grade(_written(case, "search"), part).rows for part in PARTS]
    assert len(train) + sum(grades) == len(case.source[1])


def test_views_keep_every_cell_as_it_was(case: Case) -> None:
    header, source = case.source
    for view in VIEWS:
        got_header, got = read(case.task.view(view) / "train.csv")
        skip = 1 if case.built.numbered else 0
        assert got_header[skip:] == header
        originals = iter(source)
        # Each row is found in the rest of the original: same cells, same order.
        assert all(any(row[skip:] == original for original in originals) for row in got)


def test_full_view_shows_all_labelled_rows(case: Case) -> None:
    train = read(case.task.view("full") / "train.csv")[1]
    assert len(train) == len(case.source[1])
    test = read(case.task.view("full") / "test.csv")[1]
    held_out = sum(case.task.grade(_written(case, "search"), part).rows for part in PARTS)
    real = len(read(case.task.view("search") / "test.csv")[1]) - held_out
    assert len(test) == (real or held_out)


def test_smoke_view_is_small_and_has_every_class(case: Case) -> None:
    header, train = read(case.task.view("smoke") / "train.csv")
    assert len(train) <= 300
    assert len(read(case.task.view("smoke") / "test.csv")[1]) <= 100
    place = header.index(case.built.target)
    assert not case.task.info.classes or {row[place] for row in train} == set(
        case.task.info.classes
    )


def test_views_are_readable_by_others(case: Case) -> None:
    folder = case.task.view("search")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.parametrize("part", PARTS)
def test_perfect_beats_the_sample(case: Case, part: Part) -> None:
    info = case.task.info
    perfect = case.task.grade(_written(case, "search"), part)
    sample = case.task.grade(case.task.view("search") / "sample_submission.csv", part)
    assert perfect.value == pytest.approx(PERFECT.get(info.metric, 0), abs=1e-9)
    assert perfect.value > sample.value if info.maximize else perfect.value < sample.value
    assert math.isnan(sample.se) == (info.metric == "grade.py")


def test_a_wrong_row_shows_in_one_part_only(case: Case) -> None:
    header, rows = case.perfect("search")
    path = _written(case, "search")
    perfect = [case.task.grade(path, part).value for part in PARTS]
    wrong = next(row[1:] for row in rows if row[1:] != rows[0][1:])
    expected = {(True, False), (False, True)}
    for place in range(len(rows)):
        changed = [[row[0], *(wrong if k == place else row[1:])] for k, row in enumerate(rows)]
        write(path, header, changed)
        grades = [case.task.grade(path, part).value for part in PARTS]
        differs = tuple(a != b for a, b in zip(grades, perfect, strict=True))
        assert differs != (True, True)
        expected.discard(differs)
        if not expected:
            return
    raise AssertionError(f"no row changed one part alone: {expected}")


def test_the_order_of_rows_does_not_matter(case: Case) -> None:
    header, rows = read(case.task.view("search") / "sample_submission.csv")
    path = write(case.cache / "reversed.csv", header[::-1], [row[::-1] for row in rows[::-1]])
    sample = case.task.view("search") / "sample_submission.csv"
    # Compared as text: a standard error may be NaN, which equals nothing.
    assert str(case.task.grade(path, "search")) == str(case.task.grade(sample, "search"))


@pytest.mark.parametrize("view", VIEWS)
def test_submission_holds_the_real_test_rows(case: Case, view: View) -> None:
    text = case.task.submission(_written(case, view), view)
    path = case.cache / "submission.csv"
    path.write_text(text, "utf-8")
    header, rows = read(path)
    assert tuple(header) == case.task.info.columns
    expected = _real_ids(case)
    if expected is None:
        view_ids = [row[0] for row in case.perfect(view)[1]]
        assert [row[0] for row in rows] == view_ids
    elif view == "smoke":
        assert {row[0] for row in rows} <= set(expected)
    else:
        assert [row[0] for row in rows] == expected


def _real_ids(case: Case) -> list[str] | None:
    folder = case.built.folder
    if case.built.labels is None:
        return None
    sample = folder / "sample_submission.csv"
    return [row[0] for row in read(sample if sample.exists() else case.built.labels)[1]]


def test_hidden_labels_grade_the_submission(case: Case) -> None:
    if case.built.labels is None:
        pytest.skip("the task has no test set")  # there is nothing hidden to grade
    path = case.cache / "final.csv"
    path.write_text(case.task.submission(_written(case, "full"), "full"), "utf-8")
    score = case.task.grade_hidden(path, case.built.labels)
    assert score.value == pytest.approx(PERFECT.get(case.task.info.metric, 0), abs=1e-9)
    assert score.rows == len(read(case.built.labels)[1])


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_row_is_refused(case: Case, part: Part) -> None:
    header, rows = case.perfect("search")
    path = write(case.cache / "short.csv", header, rows[:-1])
    with pytest.raises(InvalidSubmission, match=r"1 of input/test\.csv have no row"):
        case.task.grade(path, part)
    with pytest.raises(InvalidSubmission):
        case.task.submission(path, "search")


def test_loading_again_gives_the_same_views(case: Case, tmp_path: Path) -> None:
    first = case.task.view("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIDE_CACHE", str(tmp_path))
        again = load(str(case.built.folder))
        assert again.fingerprint == case.task.fingerprint
        second = again.view("search")
    assert first != second
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_another_seed_gives_another_split(case: Case) -> None:
    other = cast(Task, load(str(case.built.folder), seed_of_split=1))
    assert other.fingerprint != case.task.fingerprint
    assert (other.view("search") / "test.csv").read_bytes() != (
        case.task.view("search") / "test.csv"
    ).read_bytes()


def test_preview_describes_the_data(case: Case) -> None:
    text = case.task.preview()
    assert len(text) <= 6000
    assert case.built.target in text
    assert text == case.task.preview()
