"""Describes the data that a solution sees as `input/`, short and in a fixed format.

The offline model parses the text: "input/NAME: N rows, M columns", "Columns of input/train.csv:"
with one "- NAME: KIND, ..." line a column, "First rows of input/train.csv:".
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from aide.interfaces import TaskInfo
from aide.tasks.preview_columns import column_lines, describe, oneline
from aide.tasks.preview_files import other_files
from aide.tasks.preview_table import Table, read_table

_TABLES = ("train.csv", "test.csv", "sample_submission.csv")
_CELL = 40
_COLUMNS = 20


def preview(folder: Path, info: TaskInfo, *, limit: int = 6000) -> str:
    """Describe a view's folder for a prompt. Odd data is described, never an error.

    Args:
        folder: the host folder that a solution sees as `input/`.
        info: the task; its target is marked.
        limit: the most characters.
    """
    tables: dict[str, Table] = {}
    head: list[str] = []
    for name in _TABLES:
        head.append(f"input/{name}: {_read(folder / name, tables)}")
    train, test = tables.get("train.csv"), tables.get("test.csv")
    tail = _differences(train, test) if train and test else []
    tail += _first_rows(train, limit // 4) if train else []
    others = other_files(folder, frozenset(_TABLES), limit // 4)
    tail += ["", "Other files:", *others] if others else []
    middle: list[str] = []
    if train:
        room = limit - sum(len(line) + 1 for line in (*head, *tail)) - 40
        lines = column_lines(describe(train.sample), info.target, room)
        middle = ["", "Columns of input/train.csv:", *lines]
    return "\n".join([*head, *middle, *tail])[:limit]


def _read(path: Path, tables: dict[str, Table]) -> str:
    """Put a file's table into `tables`, if it has one; say what it is."""
    try:
        table = read_table(path)
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "not readable"
    except ValueError as error:
        return str(error)
    tables[path.name] = table
    names = [oneline(str(name), 80) for name in table.sample.columns]
    shape = f"{'' if table.exact else 'about '}{table.rows} rows, "
    if path.name == "sample_submission.csv":
        return shape + "columns " + _names(names) + _remarks(table)
    return shape + f"{len(names)} columns" + _remarks(table)


def _remarks(table: Table) -> str:
    """What a program that reads the file must know, or the reader of the preview."""
    remarks = []
    if table.encoding not in ("utf-8", "utf-8-sig"):
        remarks.append(f"encoding {table.encoding}")
    if table.separator != ",":
        remarks.append("separator " + ("tab" if table.separator == "\t" else table.separator))
    if table.long:
        remarks.append(f"{table.long} with too many cells")
    if len(table.sample) < table.rows:
        remarks.append(f"described from {len(table.sample)} of them")
    return f" ({'; '.join(remarks)})" if remarks else ""


def _names(names: list[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _COLUMNS else ""
    return ", ".join(names[:_COLUMNS]) + more


def _differences(train: Table, test: Table) -> list[str]:
    lines = []
    for name, one, other in (("train", train, test), ("test", test, train)):
        there = set(other.sample.columns)
        only = [str(column) for column in one.sample.columns if column not in there]
        if only:
            names = [oneline(column, 80) for column in only]
            lines.append(f"Only in input/{name}.csv: {_names(names)}")
    return lines


def _first_rows(train: Table, room: int) -> list[str]:
    """Header and first rows as CSV, with fewer columns where the room is small."""
    width = min(_COLUMNS, len(train.head[0]) if train.head else 0)
    rows = [[oneline(cell, _CELL) for cell in row[:width]] for row in train.head]
    while width > 1 and sum(map(len, _csv(rows, width))) > room:
        width -= 1
    lines = _csv(rows, width)
    return ["First rows of input/train.csv:", *lines] if lines else []


def _csv(rows: list[list[str]], width: int) -> list[str]:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(row[:width] for row in rows if row)
    return text.getvalue().splitlines()
