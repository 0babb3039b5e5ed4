"""The workers of a Dask cluster as a run's: what they are, what they offer, and their leases."""

from __future__ import annotations

import contextlib
import itertools
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from aide.errors import AideError, SandboxError, UnavailableError
from aide.interfaces import Limits
from aide.sandboxes import far
from aide.sandboxes.cluster import ASK_SECONDS, Cluster
from aide.sandboxes.delivery import Delivery
from aide.sandboxes.guest import GuestSettings

log = logging.getLogger("aide")
FIRST_SECONDS = 60.0
"""How long a worker may take for its first answer: it has to load our modules for it."""
OPEN_SECONDS = 1800.0
PREPARE_SECONDS = 120.0
CLOSE_SECONDS = 10.0
BEATS = 6
"""Word is sent so many times in the lease of the workers' sandboxes."""
KEPT_VIEWS = 2


class Workers:
    """Keeps a run's sandboxes on all workers, those that join later too.

    Args:
        cluster: whose workers they are.
        delivery: brings them the views.
        settings: how they make their sandboxes.
    """

    def __init__(self, cluster: Cluster, delivery: Delivery, settings: GuestSettings) -> None:
        self._cluster, self._delivery, self._settings = cluster, delivery, settings
        self._lock, self._bringing = threading.Lock(), threading.Lock()
        self._ahead: dict[Path, tuple[Limits, int]] = {}
        self._known: Mapping[str, far.Greeting] = {}
        self._refused: set[str] = set()
        self._unmet: Mapping[str, float] = {}
        self._served = False
        self._closed = threading.Event()

    def open(self) -> tuple[str, Mapping[str, str]]:
        """Have the workers make their sandboxes, and keep these from now on.

        Returns:
            One line for people, and the packages that programs can import on all of them.

        Raises:
            UnavailableError: a worker is of another version, or has no sandbox.
            SandboxError: a worker's engine failed.
        """
        for refusal in self._beat(FIRST_SECONDS).values():
            raise UnavailableError(refusal)
        if not self._known:
            raise UnavailableError(
                f"no worker of the Dask scheduler at {self._cluster.address} answers: see its logs"
            )
        # Sandboxes may take longer to make than the lease lasts.
        threading.Thread(target=self._keep, name="aide-dask", daemon=True).start()
        answers = self._cluster.ask(
            far.open_sandbox, self._settings, workers=list(self._known), seconds=OPEN_SECONDS
        )
        for worker, answer in answers.items():
            if isinstance(answer, AideError):
                raise type(answer)(f"the Dask worker {worker} has no sandbox: {answer}")
            if isinstance(answer, Exception):
                raise SandboxError(f"the Dask worker {worker} failed: {answer}") from answer
        return _described(self._cluster.address, list(answers.values()))

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        """As `Sandbox.prepare`, on all workers, each for as many jobs as it can run at once."""
        with self._lock:
            self._ahead.pop(view, None)
            self._ahead[view] = (limits, count)
            while len(self._ahead) > KEPT_VIEWS:
                del self._ahead[next(iter(self._ahead))]
        self._get_ready(list(self._known))

    def problem(self) -> str:
        """Why no job can be run now, or "" if one can.

        Raises:
            SandboxError: the scheduler does not answer.
        """
        if not self._cluster.workers():
            return f"no worker is connected to the Dask scheduler at {self._cluster.address}"
        if self._offered(self._unmet):
            return ""
        self._beat()
        return "" if self._offered(self._unmet) else _missing(self._unmet)

    def needs(self, limits: Limits) -> Mapping[str, float]:
        """The Dask resources that a job has to ask for: those that any worker was declared with.

        Raises:
            UnavailableError: no worker has offered that much yet.
            SandboxError: none does any more.
        """
        needs = self._needs(limits)
        if not self._offered(needs):
            self._beat()
            needs = self._needs(limits)
        if self._offered(needs):
            self._served, self._unmet = True, {}
            return needs
        if self._served or not self._known:
            self._unmet = needs
            raise SandboxError(_missing(needs))
        flag = ",".join(f"{name}={value:.0f}" for name, value in needs.items())
        raise UnavailableError(f'{_missing(needs)}: start workers with --resources "{flag}"')

    def close(self) -> None:
        """End the run's sandboxes. Where the scheduler is away, their leases do."""
        self._closed.set()
        with contextlib.suppress(SandboxError):
            self._cluster.ask(far.close_sandbox, self._settings.run_id, seconds=CLOSE_SECONDS)

    def _needs(self, limits: Limits) -> Mapping[str, float]:
        needs: dict[str, float] = {}
        if any("MEMORY" in worker.resources for worker in self._known.values()):
            needs["MEMORY"] = limits.memory_mb << 20
        if limits.gpus:
            needs["GPU"] = limits.gpus
        return needs

    def _offered(self, needs: Mapping[str, float]) -> bool:
        """True if a worker has all of it."""
        return any(
            all(worker.resources.get(name, 0.0) >= value for name, value in needs.items())
            for worker in self._known.values()
        )

    def _keep(self) -> None:
        """Send word to the workers, and get new ones ready, until the end."""
        while not self._closed.wait(self._settings.lease / BEATS):
            # A scheduler that is away is the business of the jobs, which look for it.
            with contextlib.suppress(AideError):
                before = self._known
                for worker, refusal in self._beat().items():
                    if worker not in self._refused:
                        self._refused.add(worker)
                        log.warning("%s", refusal)
                if new := [worker for worker in self._known if worker not in before]:
                    self._get_ready(new)

    def _beat(self, seconds: float = ASK_SECONDS) -> Mapping[str, str]:
        """Send word to the workers and hear what they are; why some cannot be used."""
        answers = self._cluster.ask(far.greet, self._settings.run_id, seconds=seconds)
        known, refusals = {}, {}
        for worker, answer in answers.items():
            if isinstance(answer, OSError):  # it is about to leave, or too busy to say
                if worker in self._known:
                    known[worker] = self._known[worker]
            elif refusal := _refusal(worker, answer):
                refusals[worker] = refusal
            else:
                known[worker] = answer
        self._known = known
        return refusals

    def _get_ready(self, workers: Sequence[str]) -> None:
        """Have workers get ready for the views that were asked for, in the background."""
        threading.Thread(
            target=self._bring, args=(workers,), name="aide-dask-ready", daemon=True
        ).start()

    def _bring(self, workers: Sequence[str]) -> None:
        with self._bringing:
            with self._lock:
                ahead = list(self._ahead.items())
            for worker, (view, (limits, count)) in itertools.product(workers, ahead):
                # What goes wrong here a job will meet too, and say so.
                with contextlib.suppress(AideError, OSError):
                    self._bring_one(worker, view, limits, count)

    def _bring_one(self, worker: str, view: Path, limits: Limits, count: int) -> None:
        greeting = self._known.get(worker)
        if greeting is None or self._closed.is_set():
            return
        self._delivery.bring(view, worker)
        told = self._settings, self._delivery.digest(view), limits, min(count, greeting.threads)
        self._cluster.ask_one(worker, far.prepare, *told, seconds=PREPARE_SECONDS)


def _refusal(worker: str, answer: object) -> str:
    """Why a worker with this answer cannot be used, or "" if it can."""
    here, ours = far.release(), sys.version_info[:2]
    if not isinstance(answer, far.Greeting):
        return (
            f"the Dask worker {worker} lacks aide-search {here} ({answer}): run 'pip install "
            f"aide-search=={here}' there and start it again"
        )
    if answer.release != here:
        return far.mismatch(worker, answer.release, here)
    if answer.python != ours:
        return (
            f"the Dask worker {worker} has Python {'.'.join(map(str, answer.python))}: start it "
            f"with the host's, {'.'.join(map(str, ours))}"
        )
    return ""


def _described(address: str, opened: Sequence[far.Opened]) -> tuple[str, Mapping[str, str]]:
    """What all the workers' sandboxes are, and what programs can import in every one."""
    lists = [set(one.packages.items()) for one in opened]
    common = dict(sorted(set.intersection(*lists)))
    kinds = "; ".join(sorted({one.about for one in opened}))
    about = f"dask at {address}, {len(opened)} worker{'s' if len(opened) > 1 else ''}: {kinds}"
    if any(len(found) > len(common) for found in lists):
        about += "; their packages differ, and only what all of them have counts"
    return about, common


def _missing(needs: Mapping[str, float]) -> str:
    if not needs:
        return "no Dask worker is there"
    listed = " and ".join(f"{name}={value:.0f}" for name, value in needs.items())
    return f"no Dask worker offers the {listed} that a solution needs"
