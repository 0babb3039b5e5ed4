"""Faults on a seeded schedule: a sandbox, a model and a file layer that fail, for tests.

The programs, answers and files beneath are real ones; what is added is that some calls fail, in
the ways in which such calls fail. With one worker a run meets the same faults each time; with
several it meets as many, and the threads decide who meets which.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aide.clock import Clock
from aide.errors import SandboxError, TransientModelError
from aide.interfaces import Execution, Job, Limits, Model, Reply, Request, Sandbox

TRANSIENT = ("rate-limit", "overloaded", "server", "timeout", "connection", "truncated")
"""How a call of a model fails and may succeed later."""
BILLED = ("timeout", "truncated")
BAD_REPLIES = ("garbage", "empty", "cut", "refusal")
"""How a model answers and has not answered."""
SANDBOX_FAULTS = ("before", "late", "after", "out", "output-truncated")
OUT_LOOKS = 3
"""How often a sandbox that is out says so before it is well again."""
LATE_SECONDS = 0.02


class Schedule:
    """Which calls fail: a share of them, fixed by a seed. Safe in threads.

    Args:
        seed: two schedules with the same seed let the same calls fail in the same ways.
        rate: the share of the calls that fail.

    Attributes:
        injected: how often each fault was given out, as "place: kind".
    """

    def __init__(self, seed: int, rate: float) -> None:
        self.seed, self.rate = seed, rate
        self.injected: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def draw(self, place: str, kinds: Sequence[str]) -> str | None:
        """How the next call at a place fails, or None if it does not.

        Args:
            place: what is called; the calls at each place are counted apart.
            kinds: the ways in which it can fail, each as likely as the others.
        """
        with self._lock:
            number = self._calls[place]
            self._calls[place] += 1
            rng = random.Random(f"{self.seed}/{place}/{number}")
            if rng.random() >= self.rate:
                return None
            kind = rng.choice(kinds)
            self.injected[f"{place}: {kind}"] += 1
            return kind


class HastyClock(Clock):
    """A clock whose waits take no time: they only move it on. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.slept = 0.0

    def now(self) -> float:
        return super().now() + self.slept

    def sleep(self, seconds: float, wake: threading.Event) -> None:
        if not wake.is_set():
            with self._lock:
                self.slept += max(0.0, seconds)


class FaultyModel:
    """A model some of whose calls fail, or bring answers that are none.

    Args:
        model: what answers.
        schedule: which calls fail.
    """

    def __init__(self, model: Model, schedule: Schedule) -> None:
        self._model, self._schedule = model, schedule
        self.name = model.name

    def complete(self, request: Request) -> Reply:
        kind = self._schedule.draw("model", (*TRANSIENT, *BAD_REPLIES))
        if kind in TRANSIENT:
            raise TransientModelError(f"injected: {kind}", kind=str(kind), billed=kind in BILLED)
        reply = self._model.complete(request)
        if kind == "garbage":
            noise = random.Random(request.seed).randbytes(400).decode("latin-1")
            return replace(reply, text=noise, data=None)
        if kind == "empty":
            return replace(reply, text="", data=None)
        if kind == "cut":
            return replace(
                reply, text=reply.text[: len(reply.text) // 2], stop="length", data=None
            )
        if kind == "refusal":
            return replace(reply, text="I can't help with that.", stop="refusal", data=None)
        return reply


class FaultySandbox:
    """A sandbox some of whose runs fail: before, some time into, or after the program's run.

    It can also be out for a while, which its health tells, or report that output was left out.

    Args:
        sandbox: what runs the programs.
        schedule: which runs fail.
    """

    def __init__(self, sandbox: Sandbox, schedule: Schedule) -> None:
        self._sandbox, self._schedule = sandbox, schedule
        self.name = sandbox.name
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._out = 0

    @property
    def about(self) -> str:
        return f"{self._sandbox.about}; fails on a schedule"

    def packages(self) -> Mapping[str, str]:
        return self._sandbox.packages()

    def run(self, job: Job) -> Execution:
        kind = self._schedule.draw("sandbox", SANDBOX_FAULTS)
        if kind == "out":
            with self._lock:
                self._out = OUT_LOOKS
        if kind == "late":
            self._cancelled.wait(LATE_SECONDS)
        if kind in ("before", "late", "out"):
            raise SandboxError(f"injected: job {job.name} failed ({kind})")
        execution = self._sandbox.run(job)
        if kind == "after":
            raise SandboxError(f"injected: the report of job {job.name} was lost")
        if kind == "output-truncated":
            output = execution.output[: job.limits.output_bytes // 2]
            return replace(execution, output=output, flags=(*execution.flags, kind))
        return execution

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        self._sandbox.prepare(view, limits, count)

    def health(self) -> str:
        with self._lock:
            if self._out:
                self._out -= 1
                return "injected: it is out"
        return self._sandbox.health()

    def cancel(self) -> None:
        self._cancelled.set()
        self._sandbox.cancel()

    def close(self) -> None:
        self._sandbox.close()
