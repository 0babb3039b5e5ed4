"""Makes a bundled task's folder on first use, and keeps its hidden labels elsewhere.

The cache holds `tasks/NAME-vN` (what a search is given) and `hidden/NAME-vN.csv` (the test rows'
ids and targets, which it is not). Row order, ids and the hidden rows follow from a hash of the
row's number in the source, so that they are the same with every version of every library.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd

from aide.cache import cache_folder
from aide.errors import StorageError, TaskError
from aide.tasks.bundled import sources

_SEED = 20
_VERSION = 1
_HIDDEN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a task is made of its source.

    Attributes:
        load: the data; its first column is the target.
        id: name of the id column that is added.
        unit: for each row, the key of what is hidden or shown as a whole; None for the row.
        stratum: for each row, its class; every class has its share of hidden rows.
        fill: the sample submission's constant prediction.
    """

    load: Callable[[], pd.DataFrame]
    id: str
    fill: str
    unit: Callable[[pd.DataFrame], pd.Series[str]] | None = None
    stratum: Callable[[pd.DataFrame], pd.Series[str]] | None = None


_RECIPES: Mapping[str, _Recipe] = {
    "titanic": _Recipe(sources.titanic, "PassengerId", "0", stratum=lambda f: f["Survived"]),
    "ames": _Recipe(sources.ames, "Id", "150000"),
    "digits": _Recipe(sources.digits, "id", "0", stratum=lambda f: f["digit"]),
    # Whole days, a share of each month's: hours between known hours would be read off their
    # neighbours, and the last days of each month as one block make a score that swings with
    # where the block starts (0.27 to 0.37 for one model) and that no holdout can foretell.
    "bikeshare": _Recipe(
        sources.bikeshare,
        "id",
        "100",
        unit=lambda f: f["day"],
        stratum=lambda f: f["datetime"].str[:7],
    ),
}


def bundled_tasks() -> Mapping[str, str]:
    """The bundled tasks: name to one line about it."""
    return {name: _text(name, "md").partition("\n")[0].lstrip("# ") for name in _RECIPES}


def provenance(name: str) -> str:
    """Where a bundled task's data comes from and its licence, as markdown.

    Raises:
        TaskError: there is no such task.
    """
    _recipe(name)
    return _text(name, "md").partition("## Source and licence")[2].strip()


def bundled_folder(name: str) -> Path:
    """A bundled task's folder, in Kaggle's style; made on first use and never changed.

    Raises:
        TaskError: there is no such task.
        UnavailableError: its data is not at hand and cannot be fetched.
    """
    recipe = _recipe(name)
    folder = cache_folder("tasks") / _entry(name)
    if not folder.is_dir():
        _make(name, recipe, folder)
    return folder


def hidden_labels(name: str) -> Path:
    """A CSV with the id and the target of a bundled task's test rows, for the grader alone.

    Raises:
        TaskError: there is no such task.
        UnavailableError: its data is not at hand and cannot be fetched.
    """
    recipe = _recipe(name)
    labels = _labels(name)
    if not labels.is_file():
        _make(name, recipe, cache_folder("tasks") / _entry(name))
    return labels


def _recipe(name: str) -> _Recipe:
    if name not in _RECIPES:
        raise TaskError(
            f"there is no bundled task {name!r}; there are {', '.join(_RECIPES)}, or give the "
            "path of a folder of your own"
        )
    return _RECIPES[name]


def _entry(name: str) -> str:
    return f"{name}-v{_VERSION}"


def _labels(name: str) -> Path:
    return cache_folder("hidden") / f"{_entry(name)}.csv"


def _text(name: str, suffix: str) -> str:
    return files("aide.tasks.bundled").joinpath(f"{name}.{suffix}").read_text(encoding="utf-8")


def _make(name: str, recipe: _Recipe, folder: Path) -> None:
    """Write labels and folder beside their places, then move both in."""
    train, test = _split(name, recipe)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as scratch:
            # The labels come first: whoever sees the folder finds them in place.
            hidden = Path(scratch, "hidden.csv")
            _write(test[[recipe.id, str(train.columns[1])]], hidden)
            hidden.chmod(0o600)
            hidden.replace(_labels(name))
            draft = Path(scratch, "task")
            _fill(draft, name, recipe, train, test)
            _publish(draft, folder)
    except OSError as error:
        raise StorageError(
            f"the bundled task {name!r} cannot be written below {folder.parent} ({error}); "
            "make room there, or set AIDE_CACHE to another folder"
        ) from error


def _fill(
    folder: Path, name: str, recipe: _Recipe, train: pd.DataFrame, test: pd.DataFrame
) -> None:
    target = str(train.columns[1])
    folder.mkdir()
    _write(train, folder / "train.csv")
    _write(test.drop(columns=target), folder / "test.csv")
    sample = test[[recipe.id]].assign(**{target: recipe.fill})
    _write(sample, folder / "sample_submission.csv")
    (folder / "description.md").write_text(_text(name, "md"), encoding="utf-8")
    (folder / "task.toml").write_text(_text(name, "toml"), encoding="utf-8")


def _publish(draft: Path, folder: Path) -> None:
    """Rename a finished folder into place; another process that was faster made the same."""
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _write(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


def _split(name: str, recipe: _Recipe) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train and test rows in shuffled order, with ids that count them together from 1."""
    source = recipe.load()
    order = sorted(range(len(source)), key=lambda row: _draw(name, row))
    frame = source.iloc[order].reset_index(drop=True)
    frame.insert(0, recipe.id, range(1, len(frame) + 1))
    hidden = _hidden(name, recipe, frame)
    return frame[~hidden], frame[hidden]


def _hidden(name: str, recipe: _Recipe, frame: pd.DataFrame) -> pd.Series[bool]:
    """True for the rows of the test: the first share of each stratum's units, as drawn."""
    unit = recipe.unit(frame) if recipe.unit else frame[recipe.id]
    stratum = recipe.stratum(frame) if recipe.stratum else pd.Series("", index=frame.index)
    chosen: set[Hashable] = set()
    for _, units in unit.groupby(stratum):
        drawn = sorted(units.unique(), key=lambda key: _draw(f"{name} hidden", key))
        chosen.update(drawn[: round(_HIDDEN_SHARE * len(drawn))])
    return unit.isin(chosen)


def _draw(name: str, key: Hashable) -> bytes:
    return hashlib.sha256(f"{name} {_SEED} {key}".encode()).digest()
