"""What a prompt says about the task and its data, read back into one record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from typing import Literal

Predict = Literal["label", "probability", "value"]
_COLUMN = re.compile(
    r"^- (?P<name>.+?): (?:(?P<run>\d+) columns, )?"
    r"(?P<kind>int|float|bool|category|text|date|constant)\b(?P<rest>.*)$"
)
_SCALE = ("ex", "gd", "ta", "fa", "excellent", "good", "average", "fair", "poor")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of train.csv, or a run of like-named ones.

    Attributes:
        name: its name; of a run, the first one's.
        kind: as the preview calls it.
        count: how many columns it stands for.
        unique: how many values it has; 0 if the preview does not say.
        missing: True if some values are missing.
        low, high: the range of a numeric column; NaN where there is none.
        examples: values that the preview lists.
    """

    name: str
    kind: str
    count: int = 1
    unique: int = 0
    missing: bool = False
    low: float = float("nan")
    high: float = float("nan")
    examples: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """A task as its prompt describes it.

    Attributes:
        problem: "binary classification", "multiclass classification" or "regression".
        metric, maximize: what is measured, and its direction.
        target, id: column names.
        predict: what the submission holds.
        positive: the label whose probability is asked for; "" unless there is one.
        columns: the submission's columns.
        classes: the labels, as far as the prompt lists them.
        class_count: how many there are.
        seconds, memory_mb: limits of one run.
        packages: what is installed.
        rows: in train.csv; 0 if the preview does not say.
        features: the columns of train.csv but id and target.
        target_column: the target, if the preview describes it.
        has_clock: the dates hold a time of day.
    """

    problem: str
    metric: str
    maximize: bool
    target: str
    id: str
    predict: Predict
    positive: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    class_count: int
    seconds: float
    memory_mb: float
    packages: frozenset[str]
    rows: int
    features: tuple[Column, ...]
    target_column: Column | None = None
    has_clock: bool = False

    @property
    def is_regression(self) -> bool:
        return self.problem == "regression"

    def number_of(self, *kinds: str) -> int:
        """How many feature columns are of these kinds."""
        return sum(column.count for column in self.features if column.kind in kinds)

    @property
    def width(self) -> int:
        """How many feature columns there are."""
        return sum(column.count for column in self.features)

    @property
    def numeric(self) -> tuple[Column, ...]:
        return tuple(c for c in self.features if c.kind in ("int", "float"))

    @property
    def side(self) -> int:
        """The side of the square image that a run of numbered columns holds; 0 if none does."""
        for column in self.features:
            side = isqrt(column.count)
            if side >= 5 and side * side == column.count and column.kind in ("int", "float"):
                return side
        return 0

    @property
    def numeric_classes(self) -> bool:
        """True if all labels are numbers, so that they have an order."""
        return bool(self.classes) and all(_number(label) is not None for label in self.classes)

    def has(self, trait: str) -> bool:
        """True if the data have a trait that a feature or a mistake depends on."""
        kinds = {
            "category": self.number_of("category", "bool") > 0,
            "categories": self.number_of("category", "bool") > 1,
            "text": self.number_of("text") > 0,
            "strings": self.number_of("text", "category", "date") > 0,
            "date": self.number_of("date") > 0,
            "time": self.number_of("date") > 0 and self.has_clock,
            "numeric": self.number_of("int", "float") > 0,
            "numerics": self.number_of("int", "float") > 1,
            "missing": any(column.missing for column in self.features),
            "pixels": self.side > 0,
        }
        if trait in kinds:
            return kinds[trait]
        if trait == "counts":
            return any(c.kind == "int" and 2 < c.unique <= 30 for c in self.numeric)
        if trait == "years":
            return sum(c.count for c in self.numeric if 1700 < c.low < c.high < 2200) > 1
        if trait == "scale":
            return any(_is_scale(c.examples) for c in self.features if c.kind == "category")
        return trait == "any"


def read_facts(system: str) -> Facts:
    """The facts in a prompt's stable head; what it does not say gets a neutral value."""
    columns = _columns(system)
    target = _line(system, "Target column")
    id_name = _line(system, "Id column")
    metric, _, direction = _line(system, "Metric").partition(" (")
    listed = _line(system, "Classes")
    in_all = re.search(r", \.\.\. \((\d+) in all\)$", listed)
    classes = tuple(re.sub(r", \.\.\. \(.*$", "", listed).split(", ")) if listed else ()
    asked = _line(system, "Predict")
    positive = re.match(r"the probability of class (.*)", asked)
    installed = re.search(r"^Python's standard library, and: (.*)$", system, re.MULTILINE)
    packages = re.findall(r"([A-Za-z][\w.-]*) \d", installed.group(1)) if installed else []
    return Facts(
        problem=_line(system, "Problem") or "regression",
        metric=metric,
        maximize=direction.startswith("higher"),
        target=target,
        id=id_name,
        predict=_predict(asked),
        positive=positive.group(1) if positive else "",
        columns=tuple(_line(system, "Submission columns").split(", ")),
        classes=classes,
        class_count=int(in_all.group(1)) if in_all else len(classes),
        seconds=_first(r"must end within (\d+) seconds", system, 600.0),
        memory_mb=_first(r"with (\d+) MiB of memory", system, 4096.0),
        packages=frozenset(name.lower() for name in packages),
        rows=int(_first(r"^input/train\.csv: (?:about )?([\d,]+) rows", system, 0.0)),
        features=tuple(c for c in columns if c.name not in (target, id_name)),
        target_column=next((c for c in columns if c.name == target), None),
        has_clock=bool(re.search(r"\d{4}-\d\d?-\d\d?[ T]\d\d?:\d\d", system)),
    )


def _predict(asked: str) -> Predict:
    if asked.startswith("the label"):
        return "label"
    return "value" if asked.startswith("the value") else "probability"


def _line(text: str, name: str) -> str:
    found = re.search(rf"^- {name}: (.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def _first(pattern: str, text: str, default: float) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    return float(found.group(1).replace(",", "")) if found else default


def _columns(text: str) -> list[Column]:
    start = text.find("Columns of input/train.csv:")
    if start < 0:
        return []
    columns = []
    for line in text[start:].splitlines()[1:]:
        # A preview may be cut short, so the list ends where its form does.
        if not line.startswith("- "):
            break
        columns += _rest_of_columns(line) or _column(line)
    return _join_runs(columns)


def _column(line: str) -> list[Column]:
    found = _COLUMN.match(line)
    if not found:
        return []
    rest = found["rest"]
    unique = re.search(r"([\d,]+) unique", rest)
    span = re.search(r", (-?[\d.e+]+) to (-?[\d.e+]+)", rest)
    low, high = (_number(span.group(1)), _number(span.group(2))) if span else (None, None)
    nan = float("nan")
    return [
        Column(
            name=found["name"].split(" ... ")[0],
            kind=found["kind"],
            count=int(found["run"] or 1),
            unique=int(unique.group(1).replace(",", "")) if unique else 0,
            missing="% missing" in rest,
            low=nan if low is None else low,
            high=nan if high is None else high,
            examples=rest,
        )
    ]


def _rest_of_columns(line: str) -> list[Column]:
    if not re.match(r"- \.\.\. and [\d,]+ more columns: ", line):
        return []
    counts = re.findall(r"(\d+) (int|float|bool|category|text|date|constant)", line)
    return [Column(f"... {kind}", kind, count=int(count)) for count, kind in counts]


def _join_runs(columns: list[Column]) -> list[Column]:
    """Numbered columns are one run, though the preview may list them in pieces."""
    runs: dict[str, list[Column]] = {}
    for column in columns:
        prefix = re.sub(r"\d+$", "", column.name)
        numbered = prefix != column.name and column.kind in ("int", "float", "constant")
        runs.setdefault(prefix + "#" if numbered else column.name, []).append(column)
    joined = []
    for run in runs.values():
        count = sum(column.count for column in run)
        joined += run if count < 16 or len(run) == 1 else [_run(run, count)]
    return joined


def _run(run: list[Column], count: int) -> Column:
    kind = "float" if any(c.kind == "float" for c in run) else "int"
    known = [c for c in run if c.low <= c.high] or run
    low, high = min(c.low for c in known), max(c.high for c in known)
    return Column(run[0].name, kind, count, 0, any(c.missing for c in run), low, high)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_scale(examples: str) -> bool:
    levels = {level.strip().lower() for level in examples.rpartition(": ")[2].split(",")}
    return len(levels & set(_SCALE)) >= 3
