"""Services that fail as they are told to, and clocks that a test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable

from aide.clock import Clock
from aide.errors import TransientModelError
from aide.interfaces import Message, Model, Request
from aide.llm.scripted import Answer, ScriptedModel
from aide.patience import Patient

REQUEST = Request("", (Message("user", "hello"),), "draft", 1)


class QuickClock(Clock):
    """A clock on which every wait is over at once; remembers the waits."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float, wake: threading.Event) -> None:
        self.waits.append(seconds)
        self.time += seconds


class HandClock(Clock):
    """A clock that a test moves; who waits is woken by it."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._time = 0.0
        self.sleepers = 0

    def now(self) -> float:
        return self._time

    def move(self, seconds: float) -> None:
        with self._moved:
            self._time += seconds
            self._moved.notify_all()

    def sleep(self, seconds: float, wake: threading.Event) -> None:
        with self._moved:
            end = self._time + seconds
            self.sleepers += 1
            while self._time < end and not wake.is_set():
                # An event cannot wake a condition, hence the looking.
                self._moved.wait(0.005)
            self.sleepers -= 1


class Service:
    """Answers, or raises what it is told to; counts its calls."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.down: Exception | None = None
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Answer:
        with self.lock:
            self.calls += 1
            error = self.errors.pop(0) if self.errors else self.down
        if error is not None:
            raise error
        return "answer"

    def count(self) -> None:
        with self.lock:
            self.calls += 1

    def has_had(self, calls: int) -> bool:
        return self.calls >= calls


class Named:
    """A scripted model under a name of its own."""

    def __init__(self, name: str, service: Callable[[Request], Answer]) -> None:
        self.name = name
        self.complete = ScriptedModel(service).complete


def transient(retry_after: float | None = None) -> TransientModelError:
    return TransientModelError("overloaded", kind="overloaded", retry_after=retry_after)


def patient(
    service: Callable[[Request], Answer],
    clock: Clock,
    *,
    fallback: Model | None = None,
    outage: float = 3600.0,
    said: list[tuple[str, float]] | None = None,
    seed: int = 0,
) -> Patient:
    said = [] if said is None else said
    return Patient(
        Named("first", service),
        fallback=fallback,
        clock=clock,
        seed=seed,
        outage_seconds=outage,
        on_wait=lambda reason, seconds: said.append((reason, seconds)),
    )


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not come about in five seconds")
