"""The budget, on a clock of the test's own."""

from __future__ import annotations

import math

import pytest

from aide.budget import Budget
from aide.errors import BudgetExceeded


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_steps_are_a_limit() -> None:
    budget = Budget(3)
    budget.check(2)
    with pytest.raises(BudgetExceeded) as caught:
        budget.check(3)
    assert (caught.value.kind, caught.value.value, caught.value.limit) == ("steps", 3, 3)


def test_hours_count_earlier_sessions_and_keep_a_reserve() -> None:
    clock = Clock()
    budget = Budget(100, 1.0, spent=1800, clock=clock)
    budget.saw(60)
    assert budget.elapsed == 1800
    assert budget.reserve == 92
    clock.now += 1700
    budget.check(5)
    assert budget.run_limit(600) == pytest.approx(8)
    clock.now += 10
    with pytest.raises(BudgetExceeded, match="hours"):
        budget.check(5)
    assert budget.left_to_finish == pytest.approx(90)


def test_the_reserve_is_at_most_a_fifth() -> None:
    budget = Budget(10, 1.0, clock=Clock())
    budget.saw(3000)
    assert budget.reserve == 720


def test_without_hours_there_is_no_end_of_time() -> None:
    budget = Budget(10, clock=Clock())
    assert math.isinf(budget.left)
    assert budget.run_limit(600) == 600
    assert budget.forecast(0) is None


def test_the_forecast_goes_by_the_pace_or_by_the_hours() -> None:
    clock = Clock()
    budget = Budget(10, 1.0, clock=clock)
    clock.now += 100
    assert budget.forecast(5) == pytest.approx(100)
    assert budget.forecast(0) == pytest.approx(3500)
    clock.now += 3400
    assert budget.forecast(5) == pytest.approx(100)


def test_one_solution_may_take_a_quarter_of_the_time_that_is_left() -> None:
    clock = Clock()
    budget = Budget(100, 2.0, clock=clock)
    assert budget.run_limit(600) == 600
    assert budget.run_limit(7000) == pytest.approx((7200 - 2) / 4)
    clock.now += 6000
    assert budget.run_limit(600) == pytest.approx((1200 - 2) / 4)


def test_one_solution_may_take_a_minute_while_there_is_one() -> None:
    clock = Clock()
    budget = Budget(100, 1.0, clock=clock)
    clock.now += 3600 - 102
    assert budget.run_limit(600) == 60
    assert budget.run_limit(20) == 20
    clock.now += 60
    assert budget.run_limit(600) == pytest.approx(40)
    clock.now += 1000
    assert budget.run_limit(600) == 1
