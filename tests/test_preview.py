"""The preview of a solution's input folder: its exact format, its bounds, and odd data."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.interfaces import TaskInfo
from aide.tasks.bundled import bundled_folder
from aide.tasks.preview import preview

TRAIN = """\
id,target,age,sex,name,when,flag,same,note
1,no,22,male,"Braund, Mr. Owen Harris",2011-01-01 05:00,True,x,
2,yes,38.5,female,Cumings Mrs. John,2011-03-01 06:00,False,x,
3,yes,,female,Heikkinen Miss. Laina,2011-02-01 07:00,True,x,a
4,no,35,male,"A name that has far more than forty characters, really",2011-12-31 00:00,True,x,
"""

EXPECTED = """\
input/train.csv: 4 rows, 9 columns
input/test.csv: 2 rows, 3 columns
input/sample_submission.csv: 1 rows, columns id, target

Columns of input/train.csv:
- id: int, 4 unique, 1 to 4
- target: category, 2 unique: no, yes (target)
- age: float, 25% missing, 3 unique, 22 to 38.5
- sex: category, 2 unique: female, male
- name: category, 4 unique: A name that has far more than forty c..., Braund, Mr. Owen Harris, \
Cumings Mrs. John, Heikkinen Miss. Laina
- when: date, 4 unique, 2011-01-01 to 2011-12-31
- flag: bool, 2 unique
- same: constant, 1 unique: x
- note: category, 75% missing, 1 unique: a
Only in input/train.csv: target, name, when, flag, same, note
First rows of input/train.csv:
id,target,age,sex,name,when,flag,same,note
1,no,22,male,"Braund, Mr. Owen Harris",2011-01-01 05:00,True,x,
2,yes,38.5,female,Cumings Mrs. John,2011-03-01 06:00,False,x,
3,yes,,female,Heikkinen Miss. Laina,2011-02-01 07:00,True,x,a

Other files:
- notes.txt: 5 bytes"""


def info(target: str = "target") -> TaskInfo:
    return TaskInfo(
        name="x",
        goal="goal",
        metric="accuracy",
        maximize=True,
        problem="binary classification",
        target=target,
        id="id",
        predict="label",
        columns=("id", target),
        classes=("no", "yes"),
        evaluation="search holdout",
    )


def of_train(folder: Path, data: str | bytes, target: str = "target", limit: int = 6000) -> str:
    raw = data.encode() if isinstance(data, str) else data
    (folder / "train.csv").write_bytes(raw)
    return preview(folder, info(target), limit=limit)


def line_of(text: str, column: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"- {column}: "))


def test_the_format_is_exact(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,age,sex\n5,1,male\n6,2,male\n")
    (tmp_path / "sample_submission.csv").write_text("id,target\n5,no\n")
    (tmp_path / "notes.txt").write_text("hello")
    assert of_train(tmp_path, TRAIN) == EXPECTED


def test_the_titanic_is_described_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    text = preview(bundled_folder("titanic"), info("Survived"))
    assert text.startswith("input/train.csv: 916 rows, 12 columns\ninput/test.csv: 393 rows, 11 ")
    assert "- Survived: int, 2 unique, 0 to 1 (target)\n" in text
    assert "- Age: float, 22% missing, 94 unique, 0.1667 to 80\n" in text
    assert line_of(text, "Name").startswith("- Name: text, 916 unique, 27 characters on average,")
    assert "Only in input/train.csv: Survived\n" in text


def test_pixels_are_folded_with_the_constant_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    text = preview(bundled_folder("digits"), info("digit"))
    assert "- pixel_0 ... pixel_63: 64 columns, int, 0 to 16\n" in text
    assert "- digit: int, 10 unique, 0 to 9 (target)\n" in text


def test_a_narrow_table_is_not_folded(tmp_path: Path) -> None:
    text = of_train(tmp_path, "x1,x2,x3,x4,target\n" + "1,2,3,4,5\n" * 3 + "2,3,4,5,6\n")
    assert "- x3: int, 2 unique, 3 to 4\n" in text


def test_20000_columns_fit(tmp_path: Path) -> None:
    names = ",".join(f"gene{i}" for i in range(20_000))
    row = ",".join(f"{i / 7:.3f}" for i in range(20_000))
    text = of_train(tmp_path, f"id,{names},target\n1,{row},0\n2,{row[::-1]},1\n3,{row},0\n")
    assert "input/train.csv: 3 rows, 20002 columns" in text
    assert re.search(r"^- gene0 \.\.\. gene19999: 20000 columns, float, ", text, re.M)
    assert line_of(text, "target") == "- target: int, 2 unique, 0 to 1 (target)"


def test_columns_that_do_not_fit_are_counted_and_the_target_stays(tmp_path: Path) -> None:
    names = [f"{chr(97 + i % 26)}{'xyz'[i % 3]}{i}{'pq'[i % 2]}" for i in range(999)]
    rows = [[str(r * i) if i % 2 else "abc"[r] for i in range(999)] for r in range(3)]
    lines = [
        ",".join([*names, "target"]),
        *(",".join([*row, str(i)]) for i, row in enumerate(rows)),
    ]
    text = of_train(tmp_path, "\n".join(lines))
    assert len(text) <= 6000
    assert "(target)" in text
    last = re.search(r"^- \.\.\. and (\d+) more columns: (\d+) (\w+), (\d+) (\w+)$", text, re.M)
    assert last is not None
    shown = len(re.findall(r"^- [^.\n]*: ", text, re.M))
    assert int(last[1]) == int(last[2]) + int(last[4]) == 1000 - shown
    assert {last[3], last[5]} == {"int", "category"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = of_train(tmp_path, "id,größe,target\n1,é,0\n2,ü,1\n".encode(encoding))
    assert "- größe: category, 2 unique: é, ü\n" in text
    assert "- id: int, 2 unique, 1 to 2\n" in text
    assert ("encoding" in text.partition("\n")[0]) == (encoding in ("utf-16", "latin-1"))


def test_another_separator_is_named(tmp_path: Path) -> None:
    text = of_train(tmp_path, 'id;"a,b,c,d";target\n1;2,5;x\n2;3,5;y\n')
    assert text.startswith("input/train.csv: 2 rows, 3 columns (separator ;)\n")


def test_rows_with_line_breaks_in_cells_are_counted_once(tmp_path: Path) -> None:
    rows = "".join(f'{i},"line one\nline two, {i}",{i % 2}\n' for i in range(40))
    text = of_train(tmp_path, "id,words,target\n" + rows)
    assert text.startswith("input/train.csv: 40 rows, 3 columns\n")
    assert 'such as "line one line two, 0"' in line_of(text, "words")


def test_kinds_at_their_borders(tmp_path: Path) -> None:
    names = ["big", "gap", "inf", "few", "many", "day", "code", "none", "nums"]
    rows: list[list[object]] = [[*names]]
    for i in range(62):
        numbers = [2**53 + i, i or "", "inf" if i else 1.5]
        texts = [f"v{i % 30}", f"w{i % 31}", f"{i % 28 + 1}.03.2020", f"{i}-{i}"]
        rows.append([*numbers, *texts, "", f"{i % 2}.0"])
    with (tmp_path / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    text = preview(tmp_path, info())
    assert line_of(text, "big") == f"- big: int, 62 unique, {2**53} to {2**53 + 61}"
    assert line_of(text, "gap") == "- gap: int, 2% missing, 61 unique, 1 to 61"
    assert line_of(text, "inf") == "- inf: float, 2 unique, 1.5 to 1.5"
    assert line_of(text, "few").startswith("- few: category, 30 unique: v0, v1, ")
    assert line_of(text, "few").endswith(", ...")
    assert line_of(text, "many").startswith("- many: text, 31 unique, ")
    assert line_of(text, "day") == "- day: date, 28 unique, 2020-03-01 to 2020-03-28"
    assert line_of(text, "code").startswith("- code: text, 62 unique, ")
    assert line_of(text, "none") == "- none: constant, 100% missing, 0 unique"
    assert line_of(text, "nums") == "- nums: int, 2 unique, 0 to 1"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\0" * 50, "binary"),
        (b"id,target\n", "0 rows, 2 columns"),
        (b"id,target\n1,2\n1,2,3,4\n5,6\n", "3 rows, 2 columns (1 with too many cells)"),
        (b'id,target\n1,"never closed\n2,3\n', "rows, 2 columns"),
    ],
)
def test_a_broken_file_is_described(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in of_train(tmp_path, data).partition("\n")[0]


def test_an_absent_or_empty_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        assert preview(folder, info()).startswith("input/train.csv: missing\n")


NAME = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), max_size=20)
TEXT = st.text(max_size=300).map(lambda text: text.encode("utf-8", errors="replace"))


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=300), TEXT), NAME, st.integers(0, 3000))
def test_any_bytes_are_described_within_the_limit(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str, limit: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    other = folder / (f"{name[:20]}.json"[-60:] if limit % 2 else "other.csv")
    for path in (folder / "train.csv", folder / "test.csv", other):
        path.write_bytes(data if path.name != "test.csv" else b"id,\n" + data)
    try:
        assert len(preview(folder, info(), limit=limit)) <= limit
    finally:
        other.unlink()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(max_size=12), min_size=2, max_size=6), min_size=1, max_size=30))
def test_any_table_is_described(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "table" / "train.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(rows)
    text = preview(path.parent, info())
    assert len(text) <= 6000
    assert "input/test.csv: missing" in text


def test_a_big_file_is_counted_and_seen_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "train.csv").open("w") as file:
        file.write("id,target,words\n")
        file.writelines(f"{i},{i % 2},some more text here {i}\n" for i in range(300_000))
    text = preview(tmp_path, info())
    found = re.match(r"input/train.csv: 300000 rows, 3 columns \(described from (\d+) of ", text)
    assert found is not None
    assert int(found[1]) < 300_000
    high = re.search(r"0 to (\d+)$", line_of(text, "id"))
    assert high is not None
    assert int(high[1]) > 290_000


def test_a_huge_file_takes_little_memory(tmp_path: Path) -> None:
    big = tmp_path / "train.csv"
    row = '{i},{y},{x:.4f},category{c},"some text, number {i}"\n'
    block = "".join(row.format(i=i, y=i % 2, x=i * 0.37, c=i % 5) for i in range(20_000))
    with big.open("w") as file:
        file.write("id,target,price,kind,words\n")
        for _ in range(150):
            file.write(block)
    assert big.stat().st_size > 140_000_000
    program = """
import resource, sys
from pathlib import Path
from tests.test_preview import info, preview
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
text = preview(Path(sys.argv[1]), info())
print(text.partition("\\n")[0], peak() - before, sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    big.unlink()
    shape, megabytes = done.stdout.split("\n")[:2]
    assert shape.startswith("input/train.csv: 3000000 rows, 5 columns")
    assert int(megabytes) < 150
