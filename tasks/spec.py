"""What a task's owner says about it: `task.toml`, overridden by the caller."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aide.errors import TaskError

SplitName = Literal["random", "stratified", "group", "time"]
GOAL_FILES = ("description.md", "goal.md", "README.md")
FILE = "task.toml"


class Spec(BaseModel):
    """The settings of a task; None where nothing was said and it is inferred.

    Attributes:
        name: of the task.
        goal: the task in prose.
        metric: a known metric's name, or "grade.py".
        maximize: the direction of the metric; needed with a `grade.py`.
        target, id, group, time: columns of train.csv.
        split: how the holdouts are chosen.
        holdout: the search holdout's part of the labelled rows; the final one is half of it.
        seconds: the time that one run of a solution may take.
        needs_gpu: True if solutions should have a graphics processor.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str | None = None
    goal: str | None = None
    metric: str | None = None
    maximize: bool | None = None
    target: str | None = None
    id: str | None = None
    group: str | None = None
    time: str | None = None
    split: SplitName | None = None
    holdout: float | None = Field(default=None, gt=0, lt=0.5)
    seconds: float | None = Field(default=None, gt=0)
    needs_gpu: bool = False


def read_spec(folder: Path, given: Mapping[str, object]) -> Spec:
    """The settings in a folder's `task.toml`, if there is one, with those given on top.

    Args:
        folder: the task's folder.
        given: setting to value; None means not given.

    Raises:
        TaskError: the file is no TOML, a key is unknown or a value does not fit.
    """
    told = _read(folder / FILE) | {key: value for key, value in given.items() if value is not None}
    try:
        return Spec.model_validate(told)
    except ValidationError as error:
        raise TaskError(_sentence(error, given)) from error


def _read(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error


def _sentence(error: ValidationError, given: Mapping[str, object]) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{FILE} has an unknown key {key!r}; known are: {', '.join(Spec.model_fields)}"
    place = "the setting" if given.get(key) is not None else f"{FILE}:"
    message = first["msg"]
    return f"{place} {key} = {first['input']!r} cannot be used: {message[0].lower()}{message[1:]}"


def read_goal(folder: Path, spec: Spec) -> str:
    """The task in prose: as given, else out of the folder's description; "" if there is none.

    Raises:
        TaskError: the description is no UTF-8 text.
    """
    if spec.goal:
        return spec.goal
    for name in GOAL_FILES:
        path = folder / name
        if path.is_file():
            try:
                return path.read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise TaskError(f"{path} cannot be read as UTF-8 text: {error}") from error
    return ""
