"""What a submission can be like, good and bad."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import InvalidSubmission, TaskError
from aide.tasks.form import Form, class_columns
from aide.tasks.keys import Positions
from aide.tasks.submission import read_submission

IDS = Positions(["10", "11", "12"])
LABEL = Form(("id", "y"), "label", Positions(["0", "1"]))
COLOUR = Form(("id", "y"), "label", Positions(["blue", "red"]))
VALUE = Form(("id", "y"), "value")
PRICE = Form(("id", "y"), "value", least=0.0)
CHANCE = Form(("id", "y"), "probability", Positions(["0", "1"]))
CLASSES = Form(("id", "c", "a", "b"), "probability", Positions(["a", "b", "c"]), (2, 0, 1), True)
RANKED = Form(("id", "c", "a", "b"), "probability", Positions(["a", "b", "c"]), (2, 0, 1))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out") / "submission.csv"


def refused(path: Path, form: Form, content: str | bytes) -> str:
    """The message for a submission that must be refused."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidSubmission) as got:
        read_submission(path, form, IDS)
    assert "\n" not in str(got.value)
    return str(got.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "submission.csv is empty"),
        (b"\x93NUMPY\0\0\1", "binary data"),
        ("id,y\n", "there are no rows: 3 are needed, one for each of input/test.csv"),
        ("id\n10\n", "missing columns: y; the columns have to be: id, y"),
        ("id,y,z\n10,1,2\n", "columns too many: z; the columns have to be: id, y"),
        (",id,y\n0,10,1\n", "columns too many: ; the columns"),
        (
            "id,Y\n10,1\n",
            "the column 'y' is missing, and 'Y' is none; the columns have to be: id, y",
        ),
        ("id,y\n10,1\n11,1,5\n", "line 3 of submission.csv has 3 cells, but its header has 2"),
        ("id,y\n10,1\n", "2 of input/test.csv have no row, such as 11"),
        ("id,y\n10,1\n11,1\n12,1\n13,1\n", "1 are not among those of input/test.csv, such as 13"),
        ("id,y\n10,1\n11,1\n12,1\n10.0,1\n", "1 are there more than once, such as 10.0"),
        ("id,y\n10,1\n10,1\n9,1\n", "9; 1 are there more than once, such as 10; 2 of input"),
        ("id,y\n10,1\n11,\n12,nan\n", "is missing in the column 'y' of id 11, and 1 more"),
        (
            "id,y\n10,1\n11,2\n12,0\n",
            "'2' is no known class in the column 'y' of id 11; the classes are: 0, 1",
        ),
        ("id,y\n10,1\n11,0.7\n12,0\n", "'0.7' is no known class"),
    ],
)
def test_bad_labels(path: Path, content: str | bytes, message: str) -> None:
    assert message in refused(path, LABEL, content)


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        (
            VALUE,
            "id,y\n10,1\n11,high\n12,3\n",
            "a number is needed, not 'high' in the column 'y' of id 11",
        ),
        (VALUE, "id,y\n10,1\n11,-inf\n12,3\n", "is not finite: '-inf' in the column 'y' of id 11"),
        (VALUE, "id,y\n10,1e999\n11,1\n12,3\n", "is not finite: '1e999'"),
        (VALUE, "id,y\n10,1\n11,NaN\n12,3\n", "is missing in the column 'y' of id 11"),
        (
            PRICE,
            "id,y\n10,1\n11,-2.5\n12,3\n",
            "at least 0, but the prediction is -2.5 in the column 'y' of id 11",
        ),
        (
            CHANCE,
            "id,y\n10,0\n11,1.2\n12,1\n",
            "between 0 and 1, but it is 1.2 in the column 'y' of id 11",
        ),
        (CHANCE, "id,y\n10,no\n11,1\n12,1\n", "a number is needed, not 'no'"),
        (
            CLASSES,
            "id,a,b,c\n10,1,0,0\n11,1,1,0\n12,0,0,1\n",
            "the probabilities of id 11 sum to 2, not to 1",
        ),
        (
            CLASSES,
            "id,a,b,c\n10,1,0,0\n11,0,0,0\n12,0,0,1\n",
            "the probabilities of id 11 sum to 0",
        ),
        (
            CLASSES,
            "id,a,b,c\n10,1,0,0\n11,1,0,-0.1\n12,0,0,1\n",
            "is -0.1 in the column 'c' of id 11",
        ),
    ],
)
def test_bad_numbers(path: Path, form: Form, content: str, message: str) -> None:
    assert message in refused(path, form, content)


def test_a_huge_file_is_refused_unread(path: Path) -> None:
    with path.open("wb") as out:
        out.truncate(10**9)
    with pytest.raises(InvalidSubmission, match="far too large: 1,000,000,000 bytes"):
        read_submission(path, LABEL, IDS)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "submission.csv", tmp_path):
        with pytest.raises(InvalidSubmission, match="there is no "):
            read_submission(path, LABEL, IDS)


@pytest.mark.parametrize(
    ("form", "content", "values"),
    [
        (LABEL, "id,y\n12,1.0\n10,True\n11,0\n", [1, 0, 1]),
        (COLOUR, "y;id\nred;10\nblue;11\n red;12\n", [1, 0, 1]),
        (VALUE, "id,y\r\n10.0,1e3\r\n11,-2\r\n12, 3.5\r\n", [1000, -2, 3.5]),
        (CHANCE, "\ufeffid,y\n10,0\n11,1\n12,1e-3\n", [0, 1, 0.001]),
    ],
)
def test_good_ones(path: Path, form: Form, content: str, values: list[float]) -> None:
    path.write_text(content, "utf-8")
    assert read_submission(path, form, IDS).values.tolist() == values


def test_class_columns_come_in_the_order_of_the_classes(path: Path) -> None:
    path.write_text("id,a,b,c\n10,1,0,0\n11,0,0.5,0.5\n12,0.3,0.301,0.4\n")
    got = read_submission(path, CLASSES, IDS)
    assert got.cells[2] == ["0.4", "0.3", "0.301"]
    assert got.values[:2].tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    assert got.values.sum(axis=1) == pytest.approx(np.ones(3))
    assert read_submission(path, RANKED, IDS).values[2].tolist() == [0.3, 0.301, 0.4]


@given(st.permutations(range(8)), st.data())
@settings(deadline=None)
def test_any_order_of_rows_reads_the_same(
    path: Path, order: list[int], data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.floats(-1e9, 1e9), min_size=8, max_size=8))
    path.write_text("id,y\n" + "".join(f"r{k},{values[k]!r}\n" for k in order))
    ids = Positions([f"r{k}" for k in range(8)])
    assert read_submission(path, VALUE, ids).values.tolist() == values


@given(st.binary(max_size=80))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(path: Path, content: bytes) -> None:
    path.write_bytes(b"id,y\n" + content)
    with pytest.raises(InvalidSubmission):
        read_submission(path, LABEL, Positions([f"no such id {k}" for k in range(3)]))


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        (["b", "a", "c"], (1, 0, 2)),
        (["class_a", "class_b", "class_c"], (0, 1, 2)),
        (["Status_c", "Status_a", "Status_b"], (2, 0, 1)),
    ],
)
def test_columns_are_matched_to_classes(columns: list[str], order: tuple[int, ...]) -> None:
    assert class_columns(columns, Positions(["a", "b", "c"])) == order


def test_columns_are_matched_to_numbers() -> None:
    classes = Positions([str(k) for k in range(12)])
    assert class_columns([f"p_{k}" for k in range(12)], classes) == tuple(range(12))
    assert class_columns(["class_2", "class_1"], Positions(["class_1", "class_2"])) == (1, 0)
    assert class_columns(["p_class_2", "p_class_1"], Positions(["class_1", "class_2"])) == (1, 0)


def test_columns_that_are_no_classes() -> None:
    for columns in (["a", "b"], ["a", "b", "d"], ["a", "b", "b"]):
        with pytest.raises(TaskError, match="are not the classes a, b, c, one column each"):
            class_columns(columns, Positions(["a", "b", "c"]))
