"""Ids and labels compare by value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.tasks.keys import Keys, Positions, number

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, unique=True))
@settings(deadline=None)
def test_whole_numbers_are_found_in_any_spelling(values: list[int]) -> None:
    positions = Positions([str(value) for value in values])
    for place, value in enumerate(values):
        for spelling in (str(value), f" {value} ", f"{value}.0", repr(float(value))):
            assert positions.find(spelling) == place


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, unique=True))
@settings(deadline=None)
def test_floats_are_found_as_python_writes_them(values: list[float]) -> None:
    positions = Positions([repr(value) for value in values])
    assert [positions.find(f"{value!r} ") for value in values] == list(range(len(values)))


@given(st.lists(TEXT, min_size=1, unique_by=str.strip))
@settings(deadline=None)
def test_texts_are_found_where_they_stand(texts: list[str]) -> None:
    positions = Positions(texts, Keys(texts, distinct=True))
    assert [positions.find(text) for text in texts] == list(range(len(texts)))


@given(TEXT)
@settings(deadline=None)
def test_number_is_finite_or_none(text: str) -> None:
    value = number(text)
    assert value is None or abs(value) < float("inf")


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "1e999", "", "1,5", "0x10", "9" * 5000]
)
def test_what_is_no_finite_number(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("labels", "text", "place"),
    [
        (["False", "True"], "True", 1),
        (["False", "True"], "true", 1),
        (["False", "True"], "1.0", 1),
        (["False", "True"], "0", 0),
        (["0", "1"], "True", 1),
        (["0", "1"], "False", 0),
        (["1", "2"], "True", None),
        (["0", "1", "2"], "True", None),
        (["no", "yes"], "Yes", None),
        (["no", "yes"], " yes", 1),
        (["0.0", "1.0"], "1", 1),
        (["true", "maybe"], "1", None),
    ],
)
def test_labels(labels: list[str], text: str, place: int | None) -> None:
    assert Positions(labels).find(text) == place


def test_ids_that_are_one_number_twice_compare_as_text() -> None:
    ids = ["7", "007", "8"]
    positions = Positions(ids, Keys(ids, distinct=True))
    assert [positions.find(text) for text in (*ids, "8.0")] == [0, 1, 2, None]


def test_large_ids_are_exact() -> None:
    ids = [str(2**63 + k) for k in range(3)]
    assert [Positions(ids).find(f"{text} ") for text in ids] == [0, 1, 2]
