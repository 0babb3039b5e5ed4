"""Retries, and waiting out an outage: what to do when a model's service fails for a while."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aide.clock import Clock
from aide.errors import ModelError, ModelUnusableError, TransientModelError
from aide.interfaces import Model, Reply, Request

OPENS_AFTER = 5
"""Failures in a row, over all threads, after which a service counts as out."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between the tries of one request; doubled each time."""

FIRST_PROBE, LONGEST_PROBE = 15.0, 300.0
"""Seconds between the probes of a service that is out; doubled each time."""

LONGEST_ASKED = 600.0
"""A service that asks for a longer wait, in seconds, counts as out."""

SAID_FROM = 10.0
"""Waits from so many seconds on are told."""

ROUNDS = 4
"""How many times over a request may fail, when outages come between its tries."""

NEARLY = 1e-3
"""Seconds that a wait may end early, by the rounding of clocks."""

Turn = Literal["call", "probe"]


class Circuit:
    """A circuit breaker: whether a service is worth calling. Safe in threads.

    Closed, everybody calls. After some failures in a row it opens: nobody calls, except for one
    probe at a time, at growing intervals. A success closes it. (Nygard, Release It!, 2007.)

    Args:
        clock: tells the time.
        outage_seconds: how long it may stay open.

    Attributes:
        over: True once a probe has failed after that time.
        reason: the latest failure.
    """

    def __init__(self, clock: Clock, outage_seconds: float) -> None:
        self._clock, self._outage = clock, outage_seconds
        self._lock = threading.Lock()
        self._failures = 0
        self._since: float | None = None
        self._interval, self._due = 0.0, 0.0
        self._probing = False
        self.over, self.reason = False, ""

    @property
    def is_open(self) -> bool:
        return self._since is not None

    def take(self) -> Turn | None:
        """The caller's turn to call, to be given back by `succeeded`, `failed` or `release`."""
        with self._lock:
            if self._since is None:
                return "call"
            if self._probing or self._clock.now() < self._due - NEARLY:
                return None
            self._probing = True
            return "probe"

    def due(self) -> float | None:
        """When the next probe may start; None while one is under way."""
        with self._lock:
            return None if self._probing else self._due

    def release(self, turn: Turn) -> None:
        """Give a turn back that has told nothing about the service."""
        with self._lock:
            self._probing = self._probing and turn != "probe"

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._since = 0, None
            self._probing = self.over = False

    def failed(self, turn: Turn, error: TransientModelError) -> float | None:
        """Count a failure.

        Args:
            turn: what `take` gave.
            error: says how long the service asks to wait.

        Returns:
            Seconds until the next probe, if this failure has opened the circuit or was a probe's.
        """
        asked = error.retry_after or 0.0
        with self._lock:
            self._failures += 1
            self.reason = str(error)
            if turn == "call" and self._since is not None:
                return None
            if self._since is None and self._failures < OPENS_AFTER and asked <= LONGEST_ASKED:
                return None
            return self._wait(asked)

    def _wait(self, asked: float) -> float:
        now = self._clock.now()
        opens = self._since is None
        self._since = now if self._since is None else self._since
        self._interval = FIRST_PROBE if opens else min(2 * self._interval, LONGEST_PROBE)
        end = self._since + self._outage
        self.over = now >= end - NEARLY
        self._probing = False
        pause = max(self._interval, min(asked, LONGEST_ASKED))
        if not self.over:
            # The last probe comes when the outage has lasted as long as it may.
            pause = min(pause, end - now)
        self._due = now + pause
        return pause


@dataclass(frozen=True, slots=True)
class _Line:
    model: Model
    circuit: Circuit


@dataclass(slots=True)
class _Tries:
    """Counts the failures of one request: in a row, and in all."""

    most: int
    row: int = 0
    total: int = 0

    def exhausted(self, out: bool) -> bool:
        """Count one more; those in a row begin anew where the service turned out to be out."""
        self.total += 1
        self.row = 0 if out else self.row + 1
        # What fails although the service is back each time must not be asked for ever.
        return self.row >= self.most or self.total >= ROUNDS * self.most


class Patient:
    """A model that is asked again while its service fails for a while. Safe in threads.

    Args:
        model: the model that answers; each call of it is one attempt.
        fallback: answers while the first one is out, and for good if that can never be used.
        clock: tells the time and waits.
        seed: of the jitter.
        outage_seconds: how long to wait for a service that is out.
        tries: attempts at one request while the service answers others.
        on_wait: told the reason and the seconds of each longer wait.
    """

    def __init__(
        self,
        model: Model,
        *,
        fallback: Model | None,
        clock: Clock,
        seed: int,
        outage_seconds: float,
        tries: int = 6,
        on_wait: Callable[[str, float], None],
    ) -> None:
        self.name = model.name
        self._clock, self._seed, self._outage = clock, seed, outage_seconds
        self._tries, self._on_wait = tries, on_wait
        models = [model] if fallback is None else [model, fallback]
        self._lines = [_Line(each, Circuit(clock, outage_seconds)) for each in models]
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._changed = threading.Event()

    def complete(self, request: Request) -> Reply:
        """Answer, however long it takes within the limits.

        Raises:
            ModelError: the service is out for too long, the request failed too often, or it was
                cancelled; else as the model raises, where another try is of no use.
        """
        tries = _Tries(self._tries)
        while True:
            # Fetched before the circuits are looked at, so that no change of theirs is missed.
            changed = self._changed
            if self._cancelled.is_set():
                raise ModelError("cancelled")
            taken = self._take()
            if taken is None:
                self._wait(changed)
                continue
            line, turn = taken
            try:
                return self._attempt(line, turn, request)
            except TransientModelError as error:
                if turn == "call":
                    self._failed(line, request, tries, error)
            except ModelUnusableError as error:
                if not self._retire(line, error):
                    raise

    def cancel(self) -> None:
        """End every wait soon, from any thread; later calls fail at once."""
        self._cancelled.set()
        self._notify()

    def _take(self) -> tuple[_Line, Turn] | None:
        """The first model that is to be called now, or None if all are out."""
        for line in self._lines:
            turn = line.circuit.take()
            if turn is not None:
                return line, turn
        return None

    def _attempt(self, line: _Line, turn: Turn, request: Request) -> Reply:
        circuit = line.circuit
        try:
            reply = line.model.complete(request)
        except TransientModelError as error:
            pause = circuit.failed(turn, error)
            if pause is not None:
                self._tell_out(line, error, pause)
            raise
        except BaseException:  # raised again: the turn is given back whatever it was
            circuit.release(turn)
            raise
        else:
            circuit.succeeded()
            return reply
        finally:
            self._notify()

    def _failed(
        self, line: _Line, request: Request, tries: _Tries, error: TransientModelError
    ) -> None:
        """Pause before the next try, unless there is to be none or the service is out."""
        if tries.exhausted(line.circuit.is_open):
            raise ModelError(
                f"{line.model.name} failed {tries.total} times at one request: {error}"
            ) from error
        if line.circuit.is_open:
            return
        source = random.Random(f"{self._seed}/{request.node}/{request.seed}/{tries.total}")
        pause = min(FIRST_PAUSE * 2.0 ** (tries.row - 1), LONGEST_PAUSE)
        # Without jitter, all that failed together would come back together.
        pause = max(pause * source.uniform(0.5, 1.0), error.retry_after or 0.0)
        if pause >= SAID_FROM:
            self._on_wait(f"{line.model.name} is to be asked again later ({error})", pause)
        self._clock.sleep(pause, self._cancelled)

    def _wait(self, changed: threading.Event) -> None:
        """Wait until a probe may start, or until another thread's probe has ended.

        Raises:
            ModelError: all models have been out for too long.
        """
        circuits = [line.circuit for line in self._lines]
        if all(circuit.over for circuit in circuits):
            names = " and ".join(line.model.name for line in self._lines)
            raise ModelError(
                f"{names} gave no answer for {self._outage / 3600:.3g} h ({circuits[0].reason}); "
                "resume the run when the service is back"
            )
        dues = [due for circuit in circuits if (due := circuit.due()) is not None]
        if dues:
            self._clock.sleep(min(dues) - self._clock.now(), changed)
        else:
            changed.wait()

    def _retire(self, line: _Line, error: ModelUnusableError) -> bool:
        """Go on without a model for good; False if there is no other one."""
        with self._lock:
            others = [each for each in self._lines if each is not line]
            first = bool(others) and line in self._lines
            self._lines = others or self._lines
        if first:
            self._on_wait(f"{error}; {others[0].model.name} answers from here on", 0.0)
        return bool(others)

    def _tell_out(self, line: _Line, error: TransientModelError, pause: float) -> None:
        reason = f"{line.model.name} is out ({error})"
        for other in self._lines:
            if not other.circuit.is_open:
                reason, pause = f"{reason}; {other.model.name} stands in", 0.0
        self._on_wait(reason, pause)

    def _notify(self) -> None:
        """Wake whoever waits for a circuit to change."""
        with self._lock:
            changed, self._changed = self._changed, threading.Event()
        changed.set()
