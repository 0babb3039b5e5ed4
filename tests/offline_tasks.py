"""Small real tasks for the offline model, and how its programs run on them."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn import datasets

from aide.interfaces import Limits, Task
from aide.llm.offline.facts import Facts, read_facts
from aide.operators.base import render
from aide.tasks.load import load

PACKAGES = {"numpy": "2.4.6", "pandas": "3.1.1", "scikit-learn": "1.9.1", "scipy": "1.17.1"}
LIMITS = Limits(seconds=120)
_FOLDERS = TemporaryDirectory(prefix="offline-")
atexit.register(_FOLDERS.cleanup)


@dataclass(frozen=True)
class Ran:
    """How a program ended."""

    ok: bool
    log: str
    submission: Path


def write_task(folder: Path, frame: pd.DataFrame, target: str, predict: str, metric: str) -> None:
    """A Kaggle-style folder; the last fifth of the rows is the test set."""
    folder.mkdir(parents=True)
    frame.insert(0, "id", np.arange(len(frame)) + 1000)
    cut = len(frame) * 4 // 5
    frame.iloc[:cut].to_csv(folder / "train.csv", index=False)
    frame.iloc[cut:].drop(columns=target).to_csv(folder / "test.csv", index=False)
    sample = frame.iloc[cut:][["id"]]
    names = [target]
    if predict == "classes":
        names = [str(label) for label in sorted(frame[target].unique())]
    for name in names:
        sample = sample.assign(**{name: 1 / len(names) if metric != "accuracy" else 0})
    sample.to_csv(folder / "sample_submission.csv", index=False)
    (folder / "task.toml").write_text(f'metric = "{metric}"\ntarget = "{target}"\nid = "id"\n')
    (folder / "description.md").write_text("Predict the target from the other columns.\n")


def shop(rows: int = 260) -> pd.DataFrame:
    """Sales by the hour, with dates, grades, years, gaps and skewed numbers."""
    rng = np.random.default_rng(0)
    date = pd.Timestamp("2021-01-04") + pd.to_timedelta(rng.integers(0, 24 * 500, rows), unit="h")
    quality = rng.choice(["Po", "Fa", "TA", "Gd", "Ex"], rows)
    hour = np.asarray(date.hour)
    sales = np.exp(1 + np.sin(hour / 24 * np.pi) * 4 + 0.3 * rng.normal(size=rows)).round()
    built = rng.integers(1900, 2000, rows)
    return pd.DataFrame(
        {
            "opened": date.strftime("%Y-%m-%d %H:%M"),
            "quality": quality,
            "district": rng.choice(list("ABCDEFGH"), rows),
            "kind": rng.choice(["food", "toys", "books", "tools", "plants", "music"], rows),
            "street": rng.choice(["main", "side", "back", "high", "low", "long"], rows),
            "owner_kind": rng.choice(["chain", "family", "state", "club", "firm"], rows),
            "built_year": built,
            "renewed_year": built + rng.integers(0, 50, rows),
            "hall_area": rng.lognormal(4, 1, rows).round(1),
            "yard_area": np.where(rng.random(rows) < 0.2, np.nan, rng.lognormal(3, 1, rows)),
            "floors": np.where(rng.random(rows) < 0.05, np.nan, rng.integers(1, 6, rows)),
            "code": [f"{rng.choice(['AB', 'CD'])} {n % 90}" for n in range(rows)],
            "sales": sales.astype(int),
        }
    )


def diabetes() -> pd.DataFrame:
    return pd.DataFrame(datasets.load_diabetes(as_frame=True).frame)


def shifted_diabetes() -> pd.DataFrame:
    """Diabetes progression around its mean, so that half of the values are negative."""
    frame = diabetes()
    return frame.assign(target=(frame["target"] - frame["target"].mean()).round(2))


def graded_diabetes() -> pd.DataFrame:
    frame = diabetes()
    return frame.assign(target=pd.qcut(frame["target"], 5, labels=False) + 1)


def named_iris() -> pd.DataFrame:
    data = datasets.load_iris(as_frame=True)
    kinds = np.array(["setosa", "versicolor", "virginica"])[data.target]
    frame = pd.DataFrame(data.data).assign(**{"kind of flower": kinds})
    return frame.sample(frac=1.0, random_state=0).reset_index(drop=True)


def letters() -> pd.DataFrame:
    """Short texts alone: about food, or about tools."""
    rng = np.random.default_rng(1)
    words = [["bread", "milk", "apple", "rice", "soup"], ["saw", "nail", "drill", "bolt", "pipe"]]
    kinds = rng.integers(0, 2, 200)
    texts = [" ".join([*rng.choice(words[kind], 4), f"no {n}"]) for n, kind in enumerate(kinds)]
    return pd.DataFrame({"text": texts, "kind": kinds})


def tumours() -> pd.DataFrame:
    return pd.DataFrame(datasets.load_breast_cancer(as_frame=True).frame)


FRAMES = {
    "shop": (shop, "sales", "value", "rmsle"),
    "shifted": (shifted_diabetes, "target", "value", "rmse"),
    "grades": (graded_diabetes, "target", "label", "qwk"),
    "iris": (named_iris, "kind of flower", "classes", "log_loss"),
    "flowers": (named_iris, "kind of flower", "label", "accuracy"),
    "letters": (letters, "kind", "label", "accuracy"),
    "tumours": (tumours, "target", "probability", "roc_auc"),
}


@cache
def task(name: str) -> Task:
    """A task by name: a bundled one that needs no download, or one of `FRAMES`."""
    if name in ("titanic", "digits"):
        return load(name)
    make, target, predict, metric = FRAMES[name]
    folder = Path(_FOLDERS.name) / name
    write_task(folder, make(), target, predict, metric)
    return load(str(folder))


@cache
def system(name: str, packages: str = "") -> str:
    """The stable head of the prompts for a task."""
    installed = PACKAGES | dict.fromkeys(packages.split(), "4.5.0")
    known = task(name)
    return render(
        "system.j2", task=known.info, limits=LIMITS, packages=installed, preview=known.preview()
    )


def facts(name: str) -> Facts:
    """A task as the offline model reads it."""
    return read_facts(system(name))


def run_programs(programs: Sequence[tuple[str, str]], folder: Path) -> list[Ran]:
    """Run programs on tasks' search views in one other Python.

    Args:
        programs: name of the task and code of each.
        folder: an empty folder for them.
    """
    places = []
    for number, (name, code) in enumerate(programs):
        place = folder / str(number)
        (place / "working").mkdir(parents=True)
        (place / "input").symlink_to(task(name).view("search"))
        (place / "solution.py").write_text(code)
        places.append(place)
    runner = Path(__file__).with_name("offline_runner.py")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, str(runner)],
        input="\n".join(map(str, places)),
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [_ran(place) for place in places]


def _ran(place: Path) -> Ran:
    log = (place / "log.txt").read_text()
    ok = (place / "status.txt").read_text() == "0"
    return Ran(ok, log, place / "working" / "submission.csv")
