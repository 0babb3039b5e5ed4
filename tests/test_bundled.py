"""The bundled tasks: what their folders hold, that no label is in them, and how they are made."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from aide.errors import TaskError, UnavailableError
from aide.tasks.bundled import bundled_folder, bundled_tasks, hidden_labels, provenance
from aide.tasks.bundled.sources import ISLP
from aide.tasks.bundled.wheels import wheel_member

FILES = ["description.md", "sample_submission.csv", "task.toml", "test.csv", "train.csv"]
SHAPES = {
    "titanic": ((916, 12), (393, 11)),
    "ames": ((2051, 81), (879, 80)),
    "digits": ((1258, 66), (539, 65)),
    "bikeshare": ((6134, 13), (2511, 12)),
}
LOCAL = ("titanic", "digits")


@pytest.fixture(params=SHAPES)
def name(request: pytest.FixtureRequest) -> str:
    """A bundled task, made in the machine's own cache so that it is downloaded only once."""
    task = str(request.param)
    try:
        bundled_folder(task)
    except UnavailableError as error:
        if os.environ.get("AIDE_TEST_REQUIRE_DOWNLOADS"):
            raise
        pytest.skip(str(error))  # no network to fetch the data with
    return task


def tables(name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str, str]:
    """Train, test and hidden rows, the target and the id."""
    folder = bundled_folder(name)
    settings = tomllib.loads((folder / "task.toml").read_text())
    train, test = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "test.csv")
    hidden = pd.read_csv(hidden_labels(name))
    return train, test, hidden, settings["target"], settings["id"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_task_has_one_line_and_a_provenance() -> None:
    assert list(bundled_tasks()) == list(SHAPES)
    for task, line in bundled_tasks().items():
        assert 20 < len(line) < 99
        assert "\n" not in line
        assert "icence" in provenance(task) or "BSD" in provenance(task)


def test_the_folder_is_complete(name: str) -> None:
    folder = bundled_folder(name)
    assert [path.name for path in sorted(folder.iterdir())] == FILES
    train, test, hidden, target, id_column = tables(name)
    assert (train.shape, test.shape) == SHAPES[name]
    sample = pd.read_csv(folder / "sample_submission.csv")
    assert list(sample) == list(hidden) == [id_column, target]
    assert list(sample[id_column]) == list(hidden[id_column]) == list(test[id_column])
    assert set(train) - set(test) == {target}
    assert 0.25 < len(test) / (len(train) + len(test)) <= 0.301


def test_every_column_is_described(name: str) -> None:
    text = (bundled_folder(name) / "description.md").read_text()
    for column in map(str, tables(name)[0]):
        assert f"`{column}`" in text or column.startswith("pixel_")


def test_no_label_is_in_the_folder(name: str) -> None:
    train, test, hidden, target, _ = tables(name)
    assert hidden_labels(name).stat().st_mode & 0o077 == 0
    assert not hidden_labels(name).is_relative_to(bundled_folder(name))
    sample = pd.read_csv(bundled_folder(name) / "sample_submission.csv")
    assert sample[target].nunique() == 1
    for column in test.select_dtypes("number"):
        both = test[column].to_numpy(), hidden[target].to_numpy()
        assert not (both[0] == both[1]).all()
        assert column not in ("casual", "registered", "body", "boat")
    assert hidden[target].notna().all()
    assert train[target].notna().all()


def test_ids_say_nothing(name: str) -> None:
    train, test, hidden, target, id_column = tables(name)
    rows = pd.concat([train.assign(test=0), test.assign(test=1)])
    assert sorted(rows[id_column]) == list(range(1, len(rows) + 1))
    # Four standard errors of a correlation between things that have nothing to do with each other.
    bound = 4 / len(test) ** 0.5
    assert abs(rows[id_column].corr(rows["test"])) < bound
    assert abs(hidden[id_column].corr(hidden[target])) < bound
    assert abs(train[id_column].corr(train[target])) < bound


def test_titanic_and_digits_have_the_published_totals() -> None:
    train, _, hidden, target, _ = tables("titanic")
    assert train[target].sum() + hidden[target].sum() == 500
    assert abs(train[target].mean() - hidden[target].mean()) < 0.002
    train, _, hidden, target, _ = tables("digits")
    counts = train[target].value_counts() + hidden[target].value_counts()
    assert counts.sort_index().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.mark.parametrize("name", ["ames"], indirect=True)
def test_ames_keeps_its_gaps_and_whole_numbers(name: str) -> None:
    train, test, _, _, _ = tables(name)
    features = pd.concat([train[list(test)], test])
    assert features.isna().sum().sum() == 15_749
    first = (bundled_folder(name) / "train.csv").read_text().splitlines()[2]
    assert first.split(",")[5] == "55"


@pytest.mark.parametrize("name", ["bikeshare"], indirect=True)
def test_bikeshare_hides_whole_days_of_every_month(name: str) -> None:
    train, test, _, _, _ = tables(name)
    for frame in (train, test):
        date = pd.to_datetime(frame["datetime"], format="%Y-%m-%d %H:%M")
        assert date.dt.month.nunique() == 12
        assert (date.dt.day_of_year == frame["day"]).all()
        assert (date.dt.day_of_week == (frame["weekday"] - 1) % 7).all()
        assert date.is_unique
    assert not set(train["day"]) & set(test["day"])
    assert tomllib.loads((bundled_folder(name) / "task.toml").read_text())["group"] == "day"


@pytest.mark.parametrize("name", LOCAL)
def test_two_makes_give_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for cache in ("one", "two"):
        monkeypatch.setenv("AIDE_CACHE", str(tmp_path / cache))
        made.append((contents(bundled_folder(name)), hidden_labels(name).read_bytes()))
    assert made[0] == made[1]
    assert sorted(path.name for path in (tmp_path / "one" / "tasks").iterdir()) == [f"{name}-v1"]


def test_lost_labels_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    before = contents(bundled_folder("digits"))
    labels = hidden_labels("digits").read_bytes()
    hidden_labels("digits").unlink()
    assert hidden_labels("digits").read_bytes() == labels
    assert contents(bundled_folder("digits")) == before


def test_two_processes_at_once_make_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
from aide.tasks.bundled import bundled_folder
print("ready", flush=True)
input()
print(bundled_folder("titanic"))
"""
    env = {**os.environ, "AIDE_CACHE": str(tmp_path), "PYTHONPATH": str(Path.cwd())}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    printed = {process.communicate(timeout=60)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0]
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    assert printed == {str(bundled_folder("titanic"))}
    assert sorted(contents(bundled_folder("titanic"))) == FILES
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["titanic-v1"]


def test_an_unknown_task_names_the_known_ones() -> None:
    for function in (bundled_folder, hidden_labels, provenance):
        with pytest.raises(TaskError, match="'titanik'; there are titanic, ames, digits, "):
            function("titanik")


def offline(monkeypatch: pytest.MonkeyPatch, wheels: Path, cache: Path) -> None:
    """Let pip look into one folder only."""
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("AIDE_CACHE", str(cache))


def test_no_network_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offline(monkeypatch, tmp_path / "wheels", tmp_path / "cache")
    with pytest.raises(
        UnavailableError, match=r"ISLP 0\.6\.0 could not be fetched .* \(titanic, digits\)"
    ):
        bundled_folder("bikeshare")
    assert list((tmp_path / "cache" / "tasks").iterdir()) == []


def test_another_wheel_than_the_known_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline(monkeypatch, tmp_path / "wheels", tmp_path / "cache")
    about = "ISLP-0.6.0.dist-info"
    with zipfile.ZipFile(tmp_path / "wheels" / "ISLP-0.6.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("ISLP/data/Bikeshare.csv", "bikers\n1\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: ISLP\nVersion: 0.6.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    with pytest.raises(UnavailableError, match="its SHA-256 is "):
        wheel_member(ISLP, "ISLP/data/Bikeshare.csv")
