"""Tasks that cannot be used say why in one sentence; what can be inferred is."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aide.errors import AideError, StorageError, TaskError
from aide.tasks.load import load
from tests.task_folders import (
    HOUSES,
    REAL,
    breast_cancer,
    diabetes,
    iris,
    loaded,
    make,
    read,
    wine,
    write,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path / "cache"))


def test_a_missing_folder_and_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="there is no folder"):
        load(str(tmp_path / "nowhere"))
    with pytest.raises(
        TaskError, match=r"no task 'titanik'; did you mean 'titanic'\? Bundled are: "
    ):
        load("titanik")
    with pytest.raises(TaskError, match="or give a folder with a"):
        load("nothing-like-it")


def test_a_bundled_name_and_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "digits", {"train.csv": HOUSES})
    make(tmp_path / "houses", {"train.csv": HOUSES})
    assert load("digits").info.metric == "accuracy"
    for source in ("./digits", "houses"):
        assert load(source, target="price", metric="mae").info.metric == "mae"


def test_bundled_hidden_labels_grade(tmp_path: Path) -> None:
    task = load("digits")
    path = tmp_path / "submission.csv"
    path.write_text(task.submission(task.view("full") / "sample_submission.csv", "full"))
    assert task.grade_hidden(path, None).value == pytest.approx(0.1, abs=0.03)


def test_a_bare_folder_is_inferred(tmp_path: Path) -> None:
    folder = make(tmp_path / "My houses!", {"train.csv": HOUSES, "test.csv": REAL})
    (folder / "README.md").write_text("# Houses\n\nEvaluation: root mean squared error.\n")
    info = loaded(folder).info
    assert (info.name, info.target, info.id, info.metric) == ("My-houses", "price", "Id", "rmse")
    assert (info.problem, info.predict, info.columns) == ("regression", "value", ("Id", "price"))
    assert info.goal.startswith("# Houses")
    assert info.evaluation == "search holdout, 15 rows"


def test_what_is_given_wins_over_the_file(tmp_path: Path) -> None:
    toml = (
        "metric = 'rmse'\ntarget = 'price'\ngoal = 'x'\nseconds = 30\nneeds_gpu = true\nname = 'n'"
    )
    folder = make(tmp_path / "task", {"train.csv": HOUSES, "task.toml": toml})
    task = loaded(folder, metric="accuracy", target="town", goal="Guess the town.")
    assert (task.info.metric, task.info.target) == ("accuracy", "town")
    assert (task.info.goal, task.info.name) == ("Guess the town.", "n")
    assert (task.seconds, task.needs_gpu) == (30, True)
    assert task.info.classes == ("t0", "t1", "t2")
    assert loaded(folder).info.goal == "x"


def test_no_description_gives_a_plain_goal(tmp_path: Path) -> None:
    folder = make(tmp_path / "task", {"train.csv": HOUSES})
    assert loaded(folder, metric="mae", target="price").info.goal == "Predict the column `price`."


def test_an_id_like_column_that_repeats_is_no_id(tmp_path: Path) -> None:
    rows = ["user_id,age,spent", *(f"{k % 9},{k},{k * 3}" for k in range(40))]
    task = loaded(make(tmp_path / "task", {"train.csv": rows}), target="spent", metric="r2")
    assert task.info.id == "id"
    header, view = read(task.view("search") / "train.csv")
    assert header == ["id", "user_id", "age", "spent"]
    assert view[0][1:] in [row.split(",") for row in rows]


def test_made_up_ids_do_not_tell_where_a_row_is_from(tmp_path: Path) -> None:
    train = [line.partition(",")[2] for line in HOUSES]
    real = [line.partition(",")[2] for line in REAL]
    folder = make(tmp_path / "task", {"train.csv": train, "test.csv": real})
    task = loaded(folder, metric="mae")
    ids = [int(row[0]) for row in read(task.view("full") / "test.csv")[1]]
    assert max(ids) - min(ids) > 15
    assert sorted(ids) != ids


def test_columns_that_only_train_has_stay_out_of_test(tmp_path: Path) -> None:
    rows = ["Id,rooms,sold,price", *(f"{k},{k % 5},{k * 999},{k * 1000}" for k in range(40))]
    test = ["Id,rooms", "100,1", "101,2"]
    folder = make(tmp_path / "task", {"train.csv": rows, "test.csv": test})
    task = loaded(folder, target="price", metric="mae")
    assert read(task.view("search") / "test.csv")[0] == ["Id", "rooms"]
    assert read(task.view("search") / "train.csv")[0] == ["Id", "rooms", "sold", "price"]


def test_a_target_that_test_has_too_is_taken_out(tmp_path: Path) -> None:
    test = [f"{line},0" if k else f"{line},price" for k, line in enumerate(REAL)]
    folder = make(tmp_path / "task", {"train.csv": HOUSES, "test.csv": test})
    task = loaded(folder, target="price", metric="mae")
    assert "price" not in read(task.view("full") / "test.csv")[0]


@pytest.mark.parametrize("name", ["sampleSubmission.csv", "sample_submission.csv.gz"])
def test_other_names_of_the_sample_and_gzip(tmp_path: Path, name: str) -> None:
    def packed(lines: list[str]) -> bytes:
        return gzip.compress("\n".join(lines).encode(), mtime=0)

    sample = ["Id,price", *(f"{k},0" for k in range(1010, 1000, -1))]
    files: dict[str, Any] = {"train.csv.gz": packed(HOUSES), "test.csv.gz": packed(REAL)}
    files[name] = packed(sample) if name.endswith("gz") else sample
    task = loaded(make(tmp_path / "task", files), metric="mae")
    folder = task.view("full")
    assert sorted(path.name for path in folder.iterdir())[0] == "sample_submission.csv"
    text = task.submission(folder / "sample_submission.csv", "full")
    ids = [line.split(",")[0] for line in text.splitlines()]
    assert ids == ["Id", *map(str, range(1010, 1000, -1))]


def test_a_sample_with_some_of_the_test_rows(tmp_path: Path) -> None:
    sample = ["Id,price", "1003,0", "1001,0"]
    files = {"train.csv": HOUSES, "test.csv": REAL, "sample_submission.csv": sample}
    task = loaded(make(tmp_path / "task", files), metric="mae")
    text = task.submission(task.view("search") / "sample_submission.csv", "search")
    assert [line.split(",")[0] for line in text.splitlines()] == ["Id", "1003", "1001"]


def test_hidden_labels_that_do_not_fit(tmp_path: Path) -> None:
    built = diabetes(tmp_path / "task")
    task = load(str(built.folder))
    path = tmp_path / "full.csv"
    path.write_text(task.submission(task.view("full") / "sample_submission.csv", "full"))
    assert built.labels is not None
    header, rows = read(built.labels)
    half = write(tmp_path / "half.csv", header, rows[:40])
    assert task.grade_hidden(path, half).rows == 40
    for content, message in (
        (["id,y", "0,1"], "has no column 'target'"),
        (["id,target", "x,1"], "ids that are not in the test set"),
        (["id,target", "0,1", "0,1"], "has ids twice"),
        (["id,target", "0,"], "have no label"),
        (["id,target"], "a header, but no rows"),
    ):
        (tmp_path / "labels.csv").write_text("\n".join(content))
        with pytest.raises(TaskError, match=message):
            task.grade_hidden(path, tmp_path / "labels.csv")
    with pytest.raises(TaskError, match="no labels of the test set"):
        task.grade_hidden(path, None)


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load(str(iris(tmp_path / "task").folder))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(
        StorageError, match=r"cannot be written to .*; free some space or set AIDE_"
    ):
        task.view("search")


def test_a_table_that_changes_under_way(tmp_path: Path) -> None:
    task = load(str(wine(tmp_path / "task").folder))
    header, rows = read(tmp_path / "task" / "train.csv")
    write(tmp_path / "task" / "train.csv", header, rows[:-1])
    with pytest.raises(AideError, match=r"train\.csv was changed while it was in use"):
        task.view("search")


def test_fingerprints_tell_data_and_settings_apart(tmp_path: Path) -> None:
    built = breast_cancer(tmp_path / "task")
    first = load(str(built.folder)).fingerprint
    assert load(str(built.folder), goal="Another text.").fingerprint == first
    assert load(str(built.folder), metric="log_loss").fingerprint != first
    assert load(str(built.folder), holdout=0.3).fingerprint != first
    (built.folder / "scan.txt").write_text("more")
    assert load(str(built.folder)).fingerprint != first


def test_loading_prints_nothing(tmp_path: Path) -> None:
    built = iris(tmp_path / "task")
    program = "import sys; from aide.tasks.load import load; load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(built.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
