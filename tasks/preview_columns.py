"""Describes a table's columns, one line each, or one line for a run of columns that are alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

CATEGORY_VALUES = 30
LISTED_VALUES = 12
_WIDE = 60
_RUN = 3
_SAMPLE = 200
_MAYBE_DATE = re.compile(r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{4}-\d\d\b|[A-Za-z]{3,9} \d)")
_DAYS = ("%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%b %d, %Y", "%B %d, %Y")
_DATE_FORMATS = ("ISO8601", *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")))
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
_NUMBERS = ("int", "float")


@dataclass(frozen=True, slots=True)
class Column:
    """One column in the words of a preview.

    Attributes:
        name: its name.
        kind: "int", "float", "bool", "category", "text", "date" or "constant".
        missing: the share of empty cells, 0 to 1.
        unique: how many different values there are.
        low, high: the range of a number or a date; None otherwise.
        values: the values of a category, a bool or a constant, the most frequent first.
        length: a text's mean number of characters.
    """

    name: str
    kind: str
    missing: float = 0.0
    unique: int = 0
    low: Any = None
    high: Any = None
    values: tuple[str, ...] = ()
    length: float = 0.0

    def line(self, listed: int, target: str) -> str:
        """The column's line; `listed` bounds how much of its values is shown."""
        parts = [self.kind]
        if self.missing:
            parts.append(_percent(self.missing) + " missing")
        parts.append(f"{self.unique} unique")
        text = ", ".join(parts) + self._tail(listed)
        return f"- {oneline(self.name, 80)}: {text}" + " (target)" * (self.name == target)

    def _tail(self, listed: int) -> str:
        if self.low is not None:
            return f", {number(self.low)} to {number(self.high)}"
        if not listed or not self.values or self.kind == "bool":
            return ""
        if self.kind == "text":
            example = oneline(self.values[0], 10 + 4 * listed)
            return f', {self.length:.0f} characters on average, such as "{example}"'
        shown = sorted(oneline(value, 40) for value in self.values[:listed])
        return ": " + ", ".join(shown) + ", ..." * (self.unique > len(shown))


def describe(frame: pd.DataFrame) -> list[Column]:
    """Every column of a table, in order."""
    return [_column(str(name), series) for name, series in frame.items()]


def _column(name: str, series: pd.Series[Any]) -> Column:
    if series.dtype.kind in "iuf":
        return _numeric(name, series.to_numpy())
    missing = float(series.isna().mean()) if len(series) else 0.0
    if series.dtype == bool:
        return _categorical(name, "bool", missing, series)
    present = series.dropna()
    if series.dtype == object and present.map(lambda value: isinstance(value, bool)).all():
        return _categorical(name, "bool", missing, present)
    return _textual(name, missing, present.astype(str))


def _numeric(name: str, values: np.ndarray[Any, Any]) -> Column:
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    missing = 1 - len(present) / max(1, len(values))
    known = np.unique(present)
    finite = known[np.isfinite(known)]
    if len(finite) == 0 or (len(known) == 1 and not missing):
        shown = tuple(number(value) for value in finite.tolist())
        return Column(name, "constant", missing, len(known), values=shown)
    low, high = finite[0].item(), finite[-1].item()
    # Gaps make pandas read whole numbers as floats; they are ints to whoever uses the column.
    whole = isinstance(low, int) or bool(
        (finite == np.floor(finite)).all() and max(-low, high) < 2**53
    )
    if whole:
        return Column(name, "int", missing, len(known), int(low), int(high))
    return Column(name, "float", missing, len(known), low, high)


def _categorical(name: str, kind: str, missing: float, present: pd.Series[Any]) -> Column:
    counts = present.astype(str).value_counts()
    if len(counts) == 0 or (len(counts) == 1 and not missing):
        kind = "constant"
    values = tuple(str(value) for value in counts.index[:LISTED_VALUES])
    return Column(name, kind, missing, len(counts), values=values)


def _textual(name: str, missing: float, present: pd.Series[str]) -> Column:
    unique = pd.Series(present.unique())
    dates = _dates(unique)
    if dates is not None and len(unique) > 1:
        return Column(name, "date", missing, len(unique), dates.min(), dates.max())
    if len(unique) <= CATEGORY_VALUES:
        return _categorical(name, "category", missing, present)
    length = float(present.str.len().mean())
    return Column(name, "text", missing, len(unique), values=(unique.iloc[0],), length=length)


def _dates(unique: pd.Series[str]) -> pd.Series[Any] | None:
    """The values as dates, if at least 95% of a sample are; None if not."""
    sample = unique.iloc[:: max(1, len(unique) // _SAMPLE)]
    if not len(sample) or sample.str.match(_MAYBE_DATE).mean() < 0.95:
        return None
    for style in _DATE_FORMATS:
        if pd.to_datetime(sample, format=style, errors="coerce", utc=True).notna().mean() >= 0.95:
            return pd.to_datetime(unique, format=style, errors="coerce", utc=True).dropna()
    return None


def column_lines(columns: Sequence[Column], target: str, room: int) -> list[str]:
    """The columns' lines in at most `room` characters, with less detail where needed.

    What still does not fit is counted by kind in the last line; the target is always shown.
    """
    groups = _folded(columns, target) if len(columns) > _WIDE else [[c] for c in columns]
    for listed in (LISTED_VALUES, 6, 3, 0):
        lines = [_group_line(group, listed, target) for group in groups]
        if sum(map(len, lines)) + len(lines) <= room:
            return lines
    return _cut(groups, lines, target, room)


def _cut(groups: list[list[Column]], lines: list[str], target: str, room: int) -> list[str]:
    """As many lines as there is room for, then what was left out."""
    targets = [i for i, group in enumerate(groups) if group[0].name == target]
    left = room - 120 - sum(len(lines[i]) + 1 for i in targets)
    kept = set(targets)
    for i, line in enumerate(lines):
        if i not in kept and len(line) < left:
            kept.add(i)
            left -= len(line) + 1
        elif i not in kept:
            break
    out = [column for i, group in enumerate(groups) if i not in kept for column in group]
    kinds = Counter(column.kind for column in out).most_common()
    summary = ", ".join(f"{count} {kind}" for kind, count in kinds)
    return [lines[i] for i in sorted(kept)] + [f"- ... and {len(out)} more columns: {summary}"]


def _folded(columns: Sequence[Column], target: str) -> list[list[Column]]:
    """Runs of columns of one kind whose names differ in a number only; the rest one by one."""
    groups: list[list[Column]] = []
    key: object = None
    for column in columns:
        match = _NUMBERED.fullmatch(column.name)
        new = (match[1], match[3], _family(column)) if match and column.name != target else None
        if new is not None and new == key:
            groups[-1].append(column)
        else:
            groups.append([column])
        key = new
    return [part for group in groups for part in _unfolded(group)]


def _unfolded(group: list[Column]) -> list[list[Column]]:
    return [group] if len(group) >= _RUN else [[column] for column in group]


def _family(column: Column) -> str:
    """What may be folded together: all numbers, a constant one too; else the very kind."""
    if column.kind == "constant":
        return "number" if not column.values or _is_number(column.values[0]) else "constant"
    return "number" if column.kind in _NUMBERS else column.kind


def _group_line(group: list[Column], listed: int, target: str) -> str:
    if len(group) == 1:
        return group[0].line(listed, target)
    kinds = {column.kind for column in group}
    kind = next((kind for kind in ("float", "int") if kind in kinds), group[0].kind)
    parts = [f"{len(group)} columns", kind]
    if worst := max(column.missing for column in group):
        parts.append(f"up to {_percent(worst)} missing")
    ends = [column for column in group if column.low is not None]
    constant = [
        float(c.values[0]) for c in group if c.low is None and kind in _NUMBERS and c.values
    ]
    if ends:
        low = min([column.low for column in ends] + constant)
        high = max([column.high for column in ends] + constant)
        parts.append(f"{number(low)} to {number(high)}")
    return f"- {oneline(group[0].name, 80)} ... {oneline(group[-1].name, 80)}: {', '.join(parts)}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _percent(share: float) -> str:
    if share < 0.005:
        return "<1%"
    return "100%" if share == 1 else f"{min(99, round(100 * share))}%"


def number(value: Any) -> str:
    """A number in full if it is whole and not huge, else to six digits; a date as its day."""
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d")
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.6g}"


def oneline(text: str, length: int) -> str:
    """The text on one line, cut to a length."""
    flat = " ".join(text.split()) if any(c.isspace() for c in text) else text
    flat = "".join(c if c.isprintable() else "?" for c in flat[: length + 1])
    return flat if len(flat) <= length else flat[: length - 3].rstrip() + "..."
