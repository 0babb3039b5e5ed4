"""Sandboxes and policies for tests of several solutions at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from aide.errors import SandboxError
from aide.interfaces import Execution, Job
from aide.node import Action
from aide.policies.greedy import Greedy
from aide.tree import Tree
from benchmarks.instant import InstantSandbox

SECONDS = 20.0


class Meeting(InstantSandbox):
    """Its first four programs end only once all four run."""

    together = threading.Barrier(4)
    runs = 0
    lock = threading.Lock()

    def run(self, job: Job) -> Execution:
        with self.lock:
            Meeting.runs += 1
            early = Meeting.runs <= 4
        if early:
            self.together.wait(SECONDS)
        return super().run(job)


class Endless(InstantSandbox):
    """Its programs never end by themselves; `started` counts those that run."""

    started = threading.Semaphore(0)

    def __init__(self) -> None:
        self.ended = threading.Event()

    def run(self, job: Job) -> Execution:
        self.started.release()
        self.ended.wait(SECONDS)
        raise SandboxError(f"{job.name} was cancelled")

    def cancel(self) -> None:
        self.ended.set()


class Restarting(InstantSandbox):
    """Goes away in the middle of the fifth program, with all that run, and comes back."""

    lock = threading.Lock()
    runs = asked = 0

    def run(self, job: Job) -> Execution:
        with self.lock:
            Restarting.runs += 1
            away = 5 <= Restarting.runs < 8
        if away:
            raise SandboxError("the engine failed: connection refused")
        return super().run(job)

    def health(self) -> str:
        with self.lock:
            Restarting.asked += 1
            return "no engine answers" if Restarting.asked % 3 else ""


class Watching(Greedy):
    """Greedy; keeps what it was told of work under way each time that it was asked."""

    seen: list[tuple[Action, ...]]

    def __init__(self, **settings: object) -> None:
        super().__init__(seed=0, drafts=3)
        Watching.seen = []

    def ask(self, tree: Tree, pending: Sequence[Action], n: int) -> list[Action]:
        asked = super().ask(tree, pending, n)
        Watching.seen.append((*pending, *asked))
        return asked
