"""Seats made ahead: supervisors that have loaded the usual libraries and wait for a program.

To load them takes the processor that programs need, so it is done while there is less to run than
may run at once: between a run's end and the next one's start, while a model thinks.

A program's processor time is its own alone; its peak memory counts what was loaded ahead, as it
would if it had loaded that itself.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from aide.errors import AideError
from aide.interfaces import Job, Limits
from aide.sandboxes.seat import Seat

log = logging.getLogger("aide")
MODULES = (
    "numpy",
    "pandas",
    "scipy.stats",
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.impute",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
    "lightgbm",
)
"""What is loaded ahead, where it is installed; scikit-learn's rarer parts load fast by then."""
AT_ONCE = 2
KEPT_KEYS = 2
IDLE_SECONDS = 600.0
SEAT_MB = 160
"""The memory of a seat that waits, the first one's; later ones share some with it."""
SPARE = 1.5
"""So many times the memory of a seat has to be free for one to be made."""
LEAST_MB = 4 * SEAT_MB
"""With less memory of its own, a program would miss what the libraries take."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a seat fits: one input folder, and all limits but those that are told with the job."""

    folder: tuple[str, int, int]
    limits: Limits

    @classmethod
    def of(cls, view: Path, limits: Limits) -> Key:
        """Raises OSError if there is no such folder."""
        found = view.stat()
        # A folder made anew under an old name is not the one that an old seat shows.
        folder = (str(view.absolute()), found.st_dev, found.st_ino)
        return cls(folder, replace(limits, seconds=0.0, output_bytes=0))


@dataclass(slots=True)
class Shelf:
    """The seats of one key: how many there are to be, are being made, and wait, oldest first."""

    view: Path
    limits: Limits
    count: int
    making: int = 0
    seats: deque[Seat] = field(default_factory=deque)

    @property
    def missing(self) -> int:
        return self.count - self.making - len(self.seats)


class Pool:
    """Keeps seats for the two keys that were asked for last. May be used from many threads.

    Args:
        make: launches a supervisor for an input folder with limits, and does not wait for it.
        idle: seconds after which a seat is thrown away, until the next run's end, so that a model
            that is out for hours holds no memory.
        seat_mb: the memory of a seat that waits, in MiB.
    """

    def __init__(
        self,
        make: Callable[[Path, Limits], Seat],
        *,
        idle: float = IDLE_SECONDS,
        seat_mb: int = SEAT_MB,
    ) -> None:
        self._make, self._idle, self._seat_mb = make, idle, seat_mb
        self._changed = threading.Condition()
        self._shelves: dict[Key, Shelf] = {}
        self._starting: set[Seat] = set()
        self._makers: list[threading.Thread] = []
        self._busy = 0
        self._resting = self._closed = self._told = False

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        """Have so many seats for a folder and limits, soon; returns at once, never raises.

        Args:
            view: the input folder.
            limits: the most that each of the jobs may use.
            count: how many may run at once; 0 for no seats any more.
        """
        dropped: list[Seat] = []
        with self._changed, contextlib.suppress(OSError):
            key = Key.of(view, limits)
            if self._closed or limits.gpus:
                return
            if limits.memory_mb < LEAST_MB:
                self._tell(f"{limits.memory_mb} MiB for each leave no room for them")
                return
            shelf = self._shelves.pop(key, None)
            if shelf is None or shelf.limits.seconds < limits.seconds:
                dropped += shelf.seats if shelf else ()
                shelf = Shelf(view, limits, count)
            shelf.count = count
            self._shelves[key] = shelf
            while len(shelf.seats) > count:
                dropped.append(shelf.seats.popleft())
            while len(self._shelves) > KEPT_KEYS:
                dropped += self._shelves.pop(next(iter(self._shelves))).seats
            self._wake()
        for seat in dropped:
            seat.close()

    @contextlib.contextmanager
    def taken(self, job: Job) -> Iterator[Seat | None]:
        """While a job runs: a seat for it, its own from now on, or None if none fits and works."""
        with self._changed:
            self._busy += 1
        try:
            yield self._take(job)
        finally:
            with self._changed:
                self._busy -= 1
                self._wake()

    def wait(self, seconds: float) -> bool:
        """Wait until all seats are there; False if they are not in that time, or will not be."""
        with self._changed:
            self._changed.wait_for(lambda: self._resting or self._full(), seconds)
            return self._full()

    def idle(self) -> list[int]:
        """The process ids of the supervisors that wait."""
        with self._changed:
            return [seat.pid for shelf in self._shelves.values() for seat in shelf.seats]

    def close(self) -> None:
        """End all seats. Safe to call twice."""
        with self._changed:
            self._closed = True
            starting = list(self._starting)
            seats = [seat for shelf in self._shelves.values() for seat in shelf.seats]
            self._shelves.clear()
            self._changed.notify_all()
        for seat in starting:
            with contextlib.suppress(AideError):
                seat.handle.kill()
        for seat in seats:
            seat.close()
        for maker in self._makers:
            maker.join()

    def _take(self, job: Job) -> Seat | None:
        key = Key.of(job.input, job.limits)
        while True:
            with self._changed:
                shelf = self._shelves.get(key)
                if shelf is None or not shelf.seats or shelf.limits.seconds < job.limits.seconds:
                    return None
                seat = shelf.seats.popleft()
            if seat.works:
                return seat
            seat.close()

    def _wake(self) -> None:
        """Let the makers look for what there is to do."""
        self._resting = False
        while self._shelves and len(self._makers) < AT_ONCE:
            maker = threading.Thread(target=self._work, name="aide-warm", daemon=True)
            self._makers.append(maker)
            maker.start()
        self._changed.notify_all()

    def _rest(self) -> None:
        """Make no more until a run ends or some are asked for."""
        self._resting = True
        self._changed.notify_all()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task()

    def _next(self) -> Callable[[], None] | None:
        """Wait for something to do; None at the end."""
        with self._changed:
            while not self._closed:
                if seat := self._stale():
                    return seat.close
                if shelf := self._lacking():
                    shelf.making += 1
                    return partial(self._fill, shelf)
                self._changed.wait(self._until_stale())
        return None

    def _fill(self, shelf: Shelf) -> None:
        """Make a seat, and put it on its shelf if that is still there."""
        seat, ready = None, False
        try:
            seat = self._make(shelf.view, shelf.limits)
            with self._changed:
                self._starting.add(seat)
                ready = not self._closed
            if ready:
                seat.wait()
        except (AideError, OSError) as error:
            # A run that starts cold will meet it too, and say so.
            log.debug("a sandbox could not be got ready: %s", error)
            ready = False
        with self._changed:
            shelf.making -= 1
            self._starting.discard(seat)
            if not ready:
                self._rest()
            wanted = any(shelf is other for other in self._shelves.values())
            if seat is not None and ready and wanted:
                shelf.seats.append(seat)
                seat = None
            self._changed.notify_all()
        if seat is not None:
            seat.close()

    def _lacking(self) -> Shelf | None:
        """Where a seat is to be made now."""
        shelves = self._shelves.values()
        if self._resting or self._busy >= max((shelf.count for shelf in shelves), default=0):
            return None
        # Of equals the last: it was asked for last, so it is used first.
        shelf = max(reversed(shelves), key=lambda shelf: shelf.missing)
        if shelf.missing <= 0:
            return None
        free = _free_mb()
        if free < SPARE * self._seat_mb * (1 + sum(shelf.making for shelf in shelves)):
            self._rest()
            if not any(shelf.seats for shelf in shelves):
                self._tell(f"{free} MiB of free memory leave no room for that")
            return None
        return shelf

    def _stale(self) -> Seat | None:
        """A seat that has waited for too long, taken from its shelf."""
        for shelf in self._shelves.values():
            if shelf.seats and shelf.seats[0].waiting >= self._idle:
                self._rest()
                return shelf.seats.popleft()
        return None

    def _until_stale(self) -> float | None:
        """Seconds until there is one; None if none waits."""
        oldest = [shelf.seats[0].waiting for shelf in self._shelves.values() if shelf.seats]
        return max(0.0, self._idle - max(oldest)) if oldest else None

    def _full(self) -> bool:
        return all(len(shelf.seats) >= shelf.count for shelf in self._shelves.values())

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            log.info("Sandboxes are not started ahead, with the libraries loaded: %s", reason)


def _free_mb() -> int:
    """The memory that new processes of this machine could have, in MiB."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))
