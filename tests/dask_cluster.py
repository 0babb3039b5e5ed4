"""Real Dask clusters for tests, whose workers have caches of their own, as other machines do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.config
from distributed import Nanny, Scheduler, SpecCluster, Worker


def worker(cache: Path, **options: Any) -> Mapping[str, Any]:
    """A worker process with one thread, which is started again when it dies."""
    environment = {"AIDE_CACHE": str(cache), **options.pop("env", {})}
    return {"cls": Nanny, "options": {"nthreads": 1, "env": environment, **options}}


def inner_worker(**options: Any) -> Mapping[str, Any]:
    """A worker within this process, with one thread: it starts fast, and cannot be killed."""
    return {"cls": Worker, "options": {"nthreads": 1, **options}}


@contextmanager
def cluster(*workers: Mapping[str, Any]) -> Iterator[SpecCluster]:
    """A cluster of some workers."""
    make: Any = SpecCluster  # it has no types
    options = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": ":0"}
    scheduler = {"cls": Scheduler, "options": options}
    # On a busy machine a killed worker takes longer to come back than Dask waits for by default.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"}),
        make(dict(enumerate(workers)), scheduler=scheduler, silence_logs="CRITICAL") as made,
    ):
        yield made


def pids(cluster: SpecCluster) -> dict[str, int]:
    """The processes of the workers, by address."""
    nannies: Any = cluster.workers.values()
    return {nanny.worker_address: nanny.pid for nanny in nannies}


def kill_a_busy_worker(cluster: SpecCluster, seconds: float = 60.0) -> str:
    """Kill the process of a worker whose program has begun; its address."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for address in busy(cluster):
            if pid := pids(cluster).get(address):
                os.kill(pid, signal.SIGKILL)
                return address
        time.sleep(0.01)
    raise AssertionError("no worker began a job")


def busy(cluster: SpecCluster) -> list[str]:
    """The workers whose program has begun: they have noted that on the scheduler."""
    scheduler: Any = cluster.scheduler
    notes: dict[str, str] = {}
    for noted in list(scheduler.task_metadata.values()):
        notes |= noted if isinstance(noted, dict) else {}
    return [
        worker.address
        for worker in list(scheduler.workers.values())
        if any(notes.get(task.key) == worker.address for task in list(worker.processing))
    ]
