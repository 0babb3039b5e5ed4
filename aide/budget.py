"""What a run may use, and what it has used. Time comes from here and from nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable

from aide.errors import BudgetExceeded

Clock = Callable[[], float]
"""Seconds on a clock that never goes back."""

HOUR = 3600.0
SHARE = 0.25
"""What part of the time that is left one solution may take, so that a slow one leaves the rest."""
LEAST_SECONDS = 60.0
"""What one solution may take all the same, as long as there is as much left."""


class Budget:
    """Steps and hours of a run.

    Args:
        steps: how many nodes may be finished.
        hours: how long the run may be at work, all its sessions together; None for no limit.
        spent: seconds used in earlier sessions.
        clock: seconds; passed in by tests.
    """

    def __init__(
        self,
        steps: int,
        hours: float | None = None,
        *,
        spent: float = 0.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self.steps, self.hours = steps, hours
        self._spent, self._clock = spent, clock
        self._start = clock()
        self._longest = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds that the run has been at work, earlier sessions included."""
        return self._spent + self._clock() - self._start

    @property
    def left(self) -> float:
        """Seconds left for the search, the reserve taken off; infinite without a limit."""
        return self.left_to_finish - self.reserve

    @property
    def left_to_finish(self) -> float:
        """Seconds left in all; infinite without a limit."""
        return float("inf") if self.hours is None else self.hours * HOUR - self.elapsed

    @property
    def reserve(self) -> float:
        """Seconds kept to finish: a run on all the rows takes longer than any so far."""
        if self.hours is None:
            return 0.0
        return min(0.2 * self.hours * HOUR, 1.5 * self._longest + 2.0)

    def saw(self, seconds: float) -> None:
        """Learn how long a run of a solution took, for the reserve and the forecast."""
        self._longest = max(self._longest, seconds)

    def check(self, finished: int) -> None:
        """Raise BudgetExceeded if no further node may be started."""
        if finished >= self.steps:
            raise BudgetExceeded("steps", finished, self.steps)
        if self.hours is not None and self.left <= 0:
            raise BudgetExceeded("hours", round(self.elapsed / HOUR, 3), self.hours)

    def run_limit(self, seconds: float) -> float:
        """The wall time, in seconds, that the next solution may have.

        Its own limit, but no more than a quarter of what is left or a minute, whichever is
        longer, and never more than what is left.

        Args:
            seconds: its own limit.
        """
        share = max(LEAST_SECONDS, SHARE * self.left)
        return max(1.0, min(seconds, share, self.left))

    def forecast(self, finished: int) -> float | None:
        """Seconds until the budget ends, by the pace so far; None before the first node."""
        by_steps = None
        if finished:
            by_steps = self.elapsed / finished * (self.steps - finished)
        if self.hours is None:
            return by_steps
        by_time = max(0.0, self.left_to_finish)
        return by_time if by_steps is None else min(by_steps, by_time)
