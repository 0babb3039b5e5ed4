"""The threads of a search: some ask models, some run programs, one takes in what they bring."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class Crew:
    """Two pools of threads, whose results are taken in by the thread that owns the crew.

    Args:
        runners: how many programs may run at once.
        writers: how many models may be asked at once.
    """

    def __init__(self, runners: int, writers: int) -> None:
        self._size = runners
        self._runners = ThreadPoolExecutor(runners, "aide-run")
        self._writers = ThreadPoolExecutor(writers, "aide-write")
        self._under_way: dict[Future[Any], Callable[[Future[Any]], None]] = {}
        self._running = 0

    @property
    def may_run(self) -> bool:
        """True if one more program would not have to wait for a thread."""
        return self._running < self._size

    def run(self, task: Callable[[], T], then: Callable[[Future[T]], None]) -> None:
        """Run a program; `then` is called with the result by `take`."""

        def ended(future: Future[T]) -> None:
            self._running -= 1
            then(future)

        self._running += 1
        self._start(self._runners, task, ended)

    def write(self, task: Callable[[], T], then: Callable[[Future[T]], None]) -> None:
        """Ask a model; `then` is called with the result by `take`."""
        self._start(self._writers, task, then)

    def _start(
        self, pool: Executor, task: Callable[[], T], then: Callable[[Future[T]], None]
    ) -> None:
        self._under_way[pool.submit(task)] = then

    def take(self) -> None:
        """Wait for something to end, and take in all that has."""
        done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        # In the order of their start, so that what is ready together is taken the same way.
        for future in [future for future in self._under_way if future in done]:
            self._under_way.pop(future)(future)

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all threads; whoever is in a hurry has ended their work before."""
        self._writers.shutdown(cancel_futures=True)
        self._runners.shutdown(cancel_futures=True)
