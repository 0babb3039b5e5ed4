"""View folders: other files, several processes at once, what a solution can get hold of."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from aide.tasks.load import load
from tests.task_folders import HOUSES, breast_cancer, diabetes, iris_numbered, loaded, make, read

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")

PROGRAM = """
import sys
from aide.tasks.load import load
task = load(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for view in ("search", "smoke", "full"):
    print(task.view(view))
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path / "cache"))


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_two_processes_at_once(tmp_path: Path) -> None:
    built = breast_cancer(tmp_path / "task")
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(built.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    outputs = [run.communicate("go\n")[0].split() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1]
    parent = Path(outputs[0][0]).parent
    assert sorted(path.name for path in parent.iterdir()) == ["full", "search", "smoke"]


def test_many_threads_at_once(tmp_path: Path) -> None:
    task = load(str(diabetes(tmp_path / "task").folder))
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(lambda _: task.view("search"), range(16)))
        sample = views[0] / "sample_submission.csv"
        scores = list(pool.map(lambda _: task.grade(sample, "search"), range(16)))
    assert len(set(views)) == len(set(scores)) == 1


def test_a_view_is_made_once(tmp_path: Path) -> None:
    task = load(str(diabetes(tmp_path / "task").folder))
    first = (task.view("search") / "train.csv").stat()
    again = (load(str(tmp_path / "task")).view("search") / "train.csv").stat()
    assert (first.st_ino, first.st_mtime_ns) == (again.st_ino, again.st_mtime_ns)


def test_views_are_readable_under_a_strict_umask(tmp_path: Path) -> None:
    folder = make(tmp_path / "task", {"train.csv": HOUSES})
    make(folder / "images", {"1.png": PNG})
    old = os.umask(0o077)
    try:
        view = loaded(folder, target="price", metric="mae").view("search")
    finally:
        os.umask(old)
    for path in (view, view.parent, view.parent.parent, *view.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)


def test_other_files_are_shown_by_content(tmp_path: Path) -> None:
    folder = make(tmp_path / "task", {"train.csv": HOUSES, "towns.csv": ["town,size", "t1,5"]})
    make(folder / "images", {"1.png": PNG})
    make(folder / "images" / "deep", {"2.json": "{}"})
    outside = make(tmp_path / "outside", {"3.txt": "three"})
    (folder / "linked").symlink_to(outside)
    (folder / "images" / "loop").symlink_to(folder)
    (folder / "gone").symlink_to(tmp_path / "nothing")
    task = loaded(folder, target="price", metric="mae")
    shown = ["images/1.png", "images/deep/2.json", "linked/3.txt", "towns.csv"]
    own = ["sample_submission.csv", "test.csv", "train.csv"]
    for view in (task.view("search"), task.view("smoke"), task.view("full")):
        assert files(view) == sorted([*own, *shown])
        assert (view / "linked" / "3.txt").read_text() == "three"
        assert not any(path.is_symlink() for path in view.rglob("*"))
        for name in shown:
            assert not (view / name).samefile(folder / name)
    one, other = (task.view(view) / "images" / "1.png" for view in ("search", "full"))
    assert one.samefile(other)


def test_what_could_hold_labels_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make(
        tmp_path / "task",
        {
            "train.csv": HOUSES,
            "train.parquet": b"PAR1",
            "train.json": "[]",
            "folds.csv": ["Id;price;fold", "1;1000;0"],
            "folds.csv.gz": b"no gzip",
            "labels.tsv": ['"Id"\t"price"', "1\t1000"],
            "task.toml": "target = 'price'",
            "grade.py": "",
            "description.md": "The metric is MAE.",
            "prices.feather": b"",
            ".hidden": "",
            "notes.txt": "the price of a house",
        },
    )
    make(folder / "more", {"again.csv": HOUSES, "train.csv": HOUSES, "towns.csv": ["town"]})
    make(folder / "runs", {"journal.jsonl": "", "submission.txt": ""})
    make(folder / "__pycache__", {"grade.pyc": b""})
    with zipfile.ZipFile(folder / "houses.zip", "w") as archive:
        archive.write(folder / "train.csv", "train.csv")
    with caplog.at_level(logging.WARNING, logger="aide"):
        view = loaded(folder, metric="mae").view("search")
    own = ["sample_submission.csv", "test.csv", "train.csv"]
    assert files(view) == sorted([*own, "more/towns.csv", "notes.txt"])
    assert "7 files that may hold labels are not shown" in caplog.text
    for name in ("folds.csv", "houses.zip", "labels.tsv", "more/again.csv", "prices.feather"):
        assert name in caplog.text


def test_another_extra_file_makes_another_view(tmp_path: Path) -> None:
    folder = make(tmp_path / "task", {"train.csv": HOUSES, "towns.csv": ["town,size", "t1,5"]})
    first = loaded(folder, target="price", metric="mae").view("search")
    make(folder, {"towns.csv": ["town,size", "t1,6"]})
    second = loaded(folder, target="price", metric="mae").view("search")
    assert (first / "towns.csv").read_text() != (second / "towns.csv").read_text()


def test_the_sample_is_guessed_from_visible_rows_only(tmp_path: Path) -> None:
    task = loaded(make(tmp_path / "task", {"train.csv": HOUSES}), target="price", metric="mae")
    visible = [float(row[3]) for row in read(task.view("search") / "train.csv")[1]]
    everything = [float(row[3]) for row in read(task.view("full") / "train.csv")[1]]
    for view in (task.view("smoke"), task.view("search"), task.view("full")):
        guess = float(read(view / "sample_submission.csv")[1][0][1])
        assert guess == pytest.approx(np.mean(visible), rel=1e-5)
        assert guess != pytest.approx(np.mean(everything), rel=1e-5)


def test_holdouts_and_test_rows_are_mixed(tmp_path: Path) -> None:
    built = iris_numbered(tmp_path / "task")
    task = load(str(built.folder))
    rows = [tuple(row[1:]) for row in read(task.view("search") / "test.csv")[1]]
    real = {tuple(row) for row in read(built.folder / "test.csv")[1]}
    places = np.flatnonzero([row in real for row in rows])
    assert len(places) == len(real) + sum(rows.count(row) - 1 for row in set(rows) & real)
    assert np.mean(places) == pytest.approx(len(rows) / 2, rel=0.25)


def test_large_smoke_views_are_cut(tmp_path: Path) -> None:
    lines = ["a,kind", *(f"{k},{'rare' if k in (7, 77) else 'common'}" for k in range(3000))]
    task = loaded(make(tmp_path / "task", {"train.csv": lines}), target="kind", metric="f1")
    view = task.view("smoke")
    train = read(view / "train.csv")[1]
    assert len(train) == 300
    assert [int(row[1]) for row in train] == sorted(int(row[1]) for row in train)
    visible = {row[2] for row in read(task.view("search") / "train.csv")[1]}
    assert {row[2] for row in train} == visible
    assert len(read(view / "test.csv")[1]) == len(read(view / "sample_submission.csv")[1]) == 100
