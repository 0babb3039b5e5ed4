"""How the labelled rows are divided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aide.errors import TaskError
from aide.tasks.spec import SplitName
from aide.tasks.split import Split, choose, holdout_sizes, make_split

Y = np.random.default_rng(0).choice(3, 500, p=[0.7, 0.28, 0.02])


def parts(split: Split) -> tuple[NDArray[Any], ...]:
    return split.visible, split.search, split.final


def whole(split: Split, rows: int) -> bool:
    """True if each row is in one part, all parts are ascending and none is empty."""
    together = np.concatenate(parts(split))
    ascending = all((np.diff(part) > 0).all() for part in parts(split))
    return ascending and min(map(len, parts(split))) > 0 and sorted(together) == list(range(rows))


@given(rows=st.integers(20, 400), classes=st.integers(2, 30), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_rows_are_in_one_part_each(rows: int, classes: int, seed: int) -> None:
    y = np.random.default_rng(seed).integers(0, classes, rows)
    sizes = holdout_sizes(rows, None)
    kinds: tuple[SplitName, ...] = ("random", "stratified")
    for kind in kinds:
        split = make_split(kind, sizes, y, (), seed)
        assert whole(split, rows)
        assert (len(split.search), len(split.final)) == sizes


@given(
    groups=st.lists(st.integers(0, 40), min_size=20, max_size=200).filter(
        lambda groups: len(set(groups)) >= 3
    ),
    seed=st.integers(0, 9),
)
@settings(max_examples=100, deadline=None)
def test_groups_stay_together(groups: list[int], seed: int) -> None:
    column = [f"g{group}" for group in groups]
    split = make_split(
        "group", holdout_sizes(len(column), None), np.zeros(len(column)), column, seed
    )
    assert whole(split, len(column))
    seen = [{column[row] for row in part} for part in parts(split)]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]


def test_many_groups_come_near_the_sizes() -> None:
    column = [str(k) for k in np.random.default_rng(0).integers(0, 80, 1000)]
    split = make_split("group", (200, 100), np.zeros(1000), column, 0)
    assert len(split.search) == pytest.approx(200, abs=15)
    assert len(split.final) == pytest.approx(100, abs=15)


def test_classes_have_their_share_in_each_part() -> None:
    split = make_split("stratified", (100, 50), Y, (), 0)
    for part in parts(split):
        assert np.mean(Y[part] == 1) == pytest.approx(np.mean(Y == 1), abs=0.02)


def test_rare_classes_do_not_stop_a_stratified_split() -> None:
    y = np.array([0] * 100 + [1] * 80 + [2] * 3 + [3] * 1)
    split = make_split("stratified", holdout_sizes(len(y), None), y, (), 0)
    assert split.kind == "stratified"
    assert whole(split, len(y))


def test_too_many_classes_are_divided_at_random() -> None:
    y = np.repeat(np.arange(100), 12)
    assert make_split("stratified", (200, 50), y, (), 0).kind == "random"


@pytest.mark.parametrize(
    "times",
    [
        [f"{k // 5:.1f}" for k in range(200)],
        [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in range(200)],
        [f"2024-01-{1 + k // 24:02d} {k % 24:02d}:30:00+02:00" for k in range(200)],
        [f"{1 + k // 28}/{1 + k % 28}/2024" for k in range(200)],
    ],
)
def test_the_last_rows_in_time_are_final(times: list[str]) -> None:
    order = np.random.default_rng(0).permutation(200)
    column = [times[k] for k in order]
    split = make_split("time", (40, 20), np.zeros(200), column, 0)
    assert whole(split, 200)
    visible, search, final = (order[part] for part in parts(split))
    assert visible.max() < search.min()
    assert search.max() < final.min()
    assert not {column[row] for row in split.visible} & {column[row] for row in split.search}
    assert 40 <= len(search) < 46
    assert 20 <= len(final) < 26


def test_the_seed_decides() -> None:
    first, again, other = (make_split("random", (100, 50), Y, (), seed) for seed in (0, 0, 1))
    assert np.array_equal(first.search, again.search)
    assert not np.array_equal(first.search, other.search)


@pytest.mark.parametrize(
    ("rows", "holdout", "sizes"),
    [
        (20, None, (5, 2)),
        (150, None, (37, 18)),
        (891, None, (178, 89)),
        (10**6, None, (50_000, 50_000)),
        (1000, 0.3, (300, 150)),
    ],
)
def test_sizes(rows: int, holdout: float | None, sizes: tuple[int, int]) -> None:
    assert holdout_sizes(rows, holdout) == sizes


@pytest.mark.parametrize(
    ("asked", "group", "time", "classes", "kind"),
    [
        (None, False, False, True, "stratified"),
        (None, False, False, False, "random"),
        (None, True, False, True, "group"),
        (None, False, True, True, "time"),
        ("time", True, True, False, "time"),
        ("random", True, True, True, "random"),
    ],
)
def test_the_kind(asked: str | None, group: bool, time: bool, classes: bool, kind: str) -> None:
    assert choose(cast("SplitName | None", asked), group, time, classes) == kind


@pytest.mark.parametrize(
    ("kind", "column", "message"),
    [
        ("group", ["a", "b"] * 20, "has 2 different values"),
        ("time", ["2024"] * 40, "too few different values"),
        ("time", ["1"] * 20 + ["2"] * 20, "too few different values"),
        ("time", ["soon"] * 40, "neither numbers nor dates"),
        ("time", ["2024-01-01"] * 39 + [""], "neither numbers nor dates"),
    ],
)
def test_what_cannot_be_divided(kind: str, column: Sequence[str], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        make_split(cast("SplitName", kind), (10, 5), np.zeros(40), column, 0)


def test_what_a_kind_needs() -> None:
    with pytest.raises(TaskError, match="needs a group column"):
        choose("group", False, True, True)
    with pytest.raises(TaskError, match="needs a time column"):
        choose("time", True, False, True)
    with pytest.raises(TaskError, match="needs classes"):
        choose("stratified", False, False, False)
    with pytest.raises(TaskError, match="19 rows: at least 20"):
        holdout_sizes(19, None)
    with pytest.raises(TaskError, match="leaves too few"):
        holdout_sizes(20, 0.1)
