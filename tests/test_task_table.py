"""CSV files of every kind, read and written without a change to any cell."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import InvalidSubmission, TaskError
from aide.tasks.table import open_table, to_text, write_rows

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=5))
@settings(deadline=None)
def test_every_cell_survives(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    path = folder / "any.csv"
    write_rows(path, ("a", "b", "c"), rows)
    table = open_table(path, TaskError)
    assert table.header == ("a", "b", "c")
    assert list(map(tuple, table.rows())) == rows
    assert to_text(("a", "b", "c"), rows) == path.read_bytes().decode()


def test_line_ends_in_cells_survive(folder: Path) -> None:
    path = folder / "ends.csv"
    rows = [["\r", "a\rb"], ["\n", "\r\n"]]
    write_rows(path, ["a", "b"], rows)
    assert list(open_table(path, TaskError).rows()) == rows


def test_numbers_are_not_reformatted(folder: Path) -> None:
    cells = ["0.10000000000000001", "1e5", "007", "1.50", "-0", ""]
    path = folder / "numbers.csv"
    write_rows(path, [f"c{k}" for k in range(6)], [cells])
    assert list(open_table(path, TaskError).rows()) == [cells]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_dialects(folder: Path, encoding: str, delimiter: str, end: str) -> None:
    path = folder / "dialect.csv"
    lines = [delimiter.join(row) for row in (["id", "naïve"], ["1", "Zoë"], ["", "ü"])]
    path.write_bytes(end.join(lines).encode(encoding))
    table = open_table(path, TaskError)
    assert table.header == ("id", "naïve")
    assert list(table.rows()) == [["1", "Zoë"], ["", "ü"]]


def test_gzip_and_blank_lines(folder: Path) -> None:
    path = folder / "train.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n\n1,2\n\n3,4\n"))
    assert open_table(path, TaskError).columns(["b"]) == {"b": ["2", "4"]}
    assert open_table(path, TaskError).count() == 2


def test_long_cells_are_read(folder: Path) -> None:
    path = folder / "long.csv"
    pd.DataFrame({"text": ["x" * 300_000], "y": [1]}).to_csv(path, index=False)
    assert open_table(path, TaskError).columns(["y"]) == {"y": ["1"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "odd.csv is empty"),
        (b"\n\n", "odd.csv is empty"),
        (b"\x89PNG\r\n\0\0", "binary data"),
        (b"a,b,a\n1,2,3\n", "has the column 'a' twice"),
    ],
)
def test_what_has_no_header(folder: Path, content: bytes, message: str) -> None:
    path = folder / "odd.csv"
    path.write_bytes(content)
    for fault in (TaskError, InvalidSubmission):
        with pytest.raises(fault, match=message):
            open_table(path, fault)


def test_a_ragged_row_is_named_by_its_line(folder: Path) -> None:
    path = folder / "ragged.csv"
    path.write_text('a,b\n1,"x\ny"\n1,2,3\n')
    with pytest.raises(
        TaskError, match=r"line 4 of ragged\.csv has 3 cells, but its header has 2"
    ):
        list(open_table(path, TaskError).rows())


def test_a_cut_off_gzip_is_a_fault(folder: Path) -> None:
    path = folder / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-20])
    with pytest.raises(TaskError, match=r"cut\.csv\.gz cannot be read as CSV"):
        open_table(path, TaskError)


def test_a_missing_file_is_a_fault(folder: Path) -> None:
    with pytest.raises(TaskError, match=r"none\.csv cannot be read as CSV: No such file"):
        open_table(folder / "none.csv", TaskError)
