"""The labelled rows divided once into visible train, search holdout and final holdout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aide.errors import TaskError
from aide.tasks.keys import number
from aide.tasks.spec import SplitName

Array = NDArray[Any]
FEWEST_ROWS = 20
RARE = 10
SEARCH, FINAL = 0.2, 0.1
FEWEST_SEARCH, FEWEST_FINAL = 100, 50
MOST = 50_000


@dataclass(frozen=True, slots=True)
class Split:
    """Row numbers of the labelled rows, ascending, each row in one part.

    Attributes:
        kind: how they were divided; random where there are too many classes to divide by.
        visible: the rows that a solution may train on.
        search: the rows whose score drives the search.
        final: the rows that the finalists alone are scored on.
    """

    kind: SplitName
    visible: Array
    search: Array
    final: Array


def holdout_sizes(rows: int, holdout: float | None) -> tuple[int, int]:
    """How many rows the search and the final holdout get.

    Args:
        rows: labelled rows.
        holdout: the search holdout's part; the final one gets half of it. By default 0.2 and 0.1,
            but more of a small table, where the score is noise otherwise, and at most 50,000.

    Raises:
        TaskError: there are too few rows to divide.
    """
    if rows < FEWEST_ROWS:
        raise TaskError(
            f"train.csv has {rows} rows: at least {FEWEST_ROWS} are needed to hold some out"
        )
    if holdout is not None:
        search, final = round(holdout * rows), round(holdout / 2 * rows)
        if final < 2:
            raise TaskError(f"holdout = {holdout:g} of {rows} rows leaves too few to grade on")
        return search, final
    search = max(round(SEARCH * rows), min(FEWEST_SEARCH, rows // 4))
    final = max(round(FINAL * rows), min(FEWEST_FINAL, rows // 8))
    return min(search, MOST), min(final, MOST)


def choose(split: SplitName | None, group: bool, time: bool, classification: bool) -> SplitName:
    """The way to divide: as asked for, else by group or time if one is named, else by class.

    Raises:
        TaskError: it was asked for, and what it needs is not there.
    """
    if split == "group" and not group:
        raise TaskError("split = 'group' needs a group column: name it with --group")
    if split == "time" and not time:
        raise TaskError("split = 'time' needs a time column: name it with --time")
    if split == "stratified" and not classification:
        raise TaskError("split = 'stratified' needs classes, and the target is a number")
    if split is not None:
        return split
    if group:
        return "group"
    if time:
        return "time"
    return "stratified" if classification else "random"


def make_split(
    kind: SplitName, sizes: tuple[int, int], y: Array, column: Sequence[str], seed: int
) -> Split:
    """Divide the rows.

    Args:
        kind: how.
        sizes: rows of the search and of the final holdout; groups and ties in time stay together,
            so that the real sizes may differ.
        y: the target, shape (rows,); classes as integers where `kind` is "stratified".
        column: the groups or times of the rows, for those kinds.
        seed: of the draw; the same one gives the same parts.

    Raises:
        TaskError: there are too few groups or times to divide by.
    """
    if kind == "group":
        parts = _by_group(column, sizes, seed)
    elif kind == "time":
        parts = _by_time(_times(column), sizes)
    else:
        strata = _strata(y, sizes) if kind == "stratified" else None
        kind = "random" if strata is None else "stratified"
        parts = _at_random(len(y), sizes, strata, seed)
    return Split(kind, *parts)


def _at_random(
    rows: int, sizes: tuple[int, int], strata: Array | None, seed: int
) -> tuple[Array, Array, Array]:
    # Imported here, since it takes seconds, and a task with a fault is refused before.
    from sklearn.model_selection import train_test_split

    search, final = sizes
    rest, last = train_test_split(
        np.arange(rows), test_size=final, stratify=strata, random_state=seed
    )
    among = None if strata is None else strata[rest]
    visible, first = train_test_split(rest, test_size=search, stratify=among, random_state=seed)
    return np.sort(visible), np.sort(first), np.sort(last)


def _strata(y: Array, sizes: tuple[int, int]) -> Array | None:
    """Classes to divide by, those with few rows as one; None if even so they are too many."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare = counts < RARE
    largest = int(np.argmax(counts))
    pool = len(classes) if counts[rare].sum() >= RARE else largest
    strata = np.where(rare[codes], pool, codes)
    return strata if len(np.unique(strata)) <= min(sizes) else None


def _by_group(
    groups: Sequence[str], sizes: tuple[int, int], seed: int
) -> tuple[Array, Array, Array]:
    names, codes, counts = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    if len(names) < 3:
        raise TaskError(
            f"the group column has {len(names)} different values: 3 or more are needed"
        )
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-counts[order], kind="stable")]
    wanted = np.array([len(groups) - sum(sizes), *sizes], dtype=float)
    part = _deal(order, counts, wanted, np.ones(3))
    if len(np.unique(part)) < 3:
        part = _deal(order, counts, wanted, wanted)
    visible, search, final = (np.flatnonzero(part[codes] == k) for k in range(3))
    return visible, search, final


def _deal(order: Array, counts: Array, wanted: Array, scale: Array) -> Array:
    """The part of each group: one after the other to the part that lacks the most.

    What is lacking counts in units of `scale`. In units of what is wanted, the first three groups
    go to three parts, so that none is left empty.
    """
    lacking, part = wanted.copy(), np.zeros(len(counts), dtype=np.intp)
    for place in order:
        part[place] = int(np.argmax(lacking / scale))
        lacking[part[place]] -= counts[place]
    return part


def _times(column: Sequence[str]) -> Array:
    values = [number(text) for text in column]
    if None not in values:
        return np.array(values, dtype=float)
    for layout in ("ISO8601", "mixed"):
        try:
            times = pd.to_datetime(pd.Series(column), format=layout, utc=True)
        except (ValueError, OverflowError):
            continue
        if not times.isna().any():
            return times.to_numpy()
    raise TaskError("the time column holds values that are neither numbers nor dates")


def _by_time(times: Array, sizes: tuple[int, int]) -> tuple[Array, Array, Array]:
    search, final = sizes
    ordered = np.sort(times)
    first_final = ordered[len(times) - final]
    earlier = ordered[ordered < first_final]
    if len(earlier) <= search:
        raise TaskError("the time column has too few different values to divide the rows by it")
    first_search = earlier[len(earlier) - search]
    visible = np.flatnonzero(times < first_search)
    if len(visible) == 0:
        raise TaskError("the time column has too few different values to divide the rows by it")
    between = (times >= first_search) & (times < first_final)
    return visible, np.flatnonzero(between), np.flatnonzero(times >= first_final)
