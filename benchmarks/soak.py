"""A very long search in which everything fails now and then: it has to end, and stay small.

    python -m benchmarks.soak [--nodes 5000] [--rate 0.05] [--parallel 4] [--seed 0]

Calls of the model and runs of the sandbox fail at the rate, on a seeded schedule; a file that
cannot be written meets about as large a share of the nodes. A run that a full or broken disk has
ended is resumed in this process. Programs are fakes, but every 50th node's runs in a container
where an engine answers. After each node this process's memory, open files and threads are looked
at. The last line is a JSON object; the exit status is 1 if nodes are missing or containers left.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import json
import re
import secrets
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import docker

from aide import api
from aide.config import Config, load_config
from aide.errors import AideError, SandboxError, StorageError, UnavailableError
from aide.interfaces import Execution, Job, Sandbox
from aide.llm.scripted import ScriptedModel
from aide.sandboxes import make_sandbox
from aide.sandboxes.engine import RUN
from benchmarks.crash_fakes import numbered, program
from benchmarks.faults import FaultyModel, FaultySandbox, HastyClock, Schedule
from benchmarks.file_faults import FaultyFiles
from benchmarks.instant import InstantSandbox
from benchmarks.overhead import make_task

WINDOW = 1000
"""The nodes at the start and at the end that are compared: a quarter of them if they are few."""
FILE_OPERATIONS = 40
"""About so many operations that can fail belong to a node."""
REAL_EVERY = 50


class MixedSandbox(InstantSandbox):
    """The instant sandbox, with every 50th node's program run for real.

    Args:
        real: what runs those; None where nothing can. Stays open: others use it too.
    """

    def __init__(self, real: Sandbox | None) -> None:
        self._real = real

    def run(self, job: Job) -> Execution:
        found = re.fullmatch(r"(\d+)(-full)?", job.name)
        if self._real is not None and found and int(found[1]) % REAL_EVERY == 0:
            return self._real.run(replace(job, code=program(int(found[1]))))
        try:
            return super().run(job)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise StorageError(f"the disk is full: {error}") from error
            raise SandboxError(f"the output of job {job.name} is lost: {error}") from error

    def health(self) -> str:
        return self._real.health() if self._real else ""

    def cancel(self) -> None:
        if self._real is not None:
            self._real.cancel()


class Shop:
    """What the sessions of a soak share: the schedule of calls, the engine's sandbox, if any.

    Args:
        schedule: which calls of the model and the sandbox fail.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._run_id = f"soak{secrets.token_hex(3)}"
        self.real: Sandbox | None = None
        with contextlib.suppress(UnavailableError):
            self.real = make_sandbox(
                "docker", run_id=self._run_id, image="mirror", python=Path(sys.executable)
            )

    def close(self) -> int:
        """Close the engine's sandbox; how many of its containers there still are."""
        if self.real is None:
            return 0
        self.real.close()
        client = docker.from_env(timeout=60)
        try:
            found = client.api.containers(all=True, filters={"label": f"{RUN}={self._run_id}"})
            return len(found)
        finally:
            client.close()


_shops: list[Shop] = []
"""The shop that is open, for the makers below, which a search calls without arguments."""


def make_faulty_sandbox() -> FaultySandbox:
    return FaultySandbox(MixedSandbox(_shops[-1].real), _shops[-1].schedule)


def make_faulty_model() -> FaultyModel:
    return FaultyModel(ScriptedModel(numbered), _shops[-1].schedule)


class Gauge:
    """What this process takes, looked at after each finished node."""

    def __init__(self) -> None:
        self.rss: list[int] = []
        self.fds: list[int] = []
        self.threads: list[int] = []
        self.statuses: Counter[str] = Counter()

    def __call__(self, event: Mapping[str, object]) -> None:
        if event["event"] != "finished":
            return
        status = Path("/proc/self/status").read_text()
        numbers = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", status, re.MULTILINE))
        self.rss.append(int(numbers["VmRSS"]))
        self.threads.append(int(numbers["Threads"]))
        self.fds.append(sum(1 for _ in Path("/proc/self/fd").iterdir()))
        self.statuses[str(event["status"])] += 1

    def figures(self) -> dict[str, float]:
        """The last nodes against the first: memory as a ratio, the others as a difference."""
        size = min(WINDOW, max(1, len(self.rss) // 4))
        ratio = statistics.median(self.rss[-size:]) / statistics.median(self.rss[:size])
        return {
            "rss_ratio": round(ratio, 3),
            "fds": max(self.fds[-size:]) - max(self.fds[:size]),
            "threads": max(self.threads[-size:]) - max(self.threads[:size]),
        }


def soak(config: Config, path: Path, files: Schedule, gauge: Gauge) -> Counter[str]:
    """A run to its end, resumed after whatever has ended a session.

    Args:
        config: of the run, whose folder is `path`.
        files: which operations on its files fail.
        gauge: told of each event.

    Returns:
        How often each kind of error ended a session.

    Raises:
        RuntimeError: more sessions have failed than the schedule can account for.
    """
    ends: Counter[str] = Counter()
    clock = HastyClock()
    with FaultyFiles(path, files):
        while True:
            try:
                one_session(config, path, gauge, clock)
                return ends
            except AideError as error:
                ends[type(error).__name__] += 1
            # A session and the error that ended it refer to each other; else it would stay long.
            gc.collect()
            if ends.total() > files.injected.total():
                raise RuntimeError(f"more sessions failed than files did: {dict(ends)}")


def one_session(config: Config, path: Path, gauge: Gauge, clock: HastyClock) -> None:
    begun = False
    with contextlib.suppress(FileNotFoundError), (path / "journal.jsonl").open("rb") as journal:
        begun = journal.readline().endswith(b"\n")
    with (
        api.resume(path, gauge, clock=clock) if begun else api.start(config, gauge, clock=clock)
    ) as session:
        session.run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=0.05, help="the share of calls that fail")
    parser.add_argument("--parallel", type=int, default=4, help="programs running at once")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    calls = Schedule(asked.seed, asked.rate)
    files = Schedule(asked.seed, asked.rate / FILE_OPERATIONS)
    gauge = Gauge()
    _shops.append(Shop(calls))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "run"
        config = load_config(
            {
                "task": str(make_task(Path(scratch) / "task")),
                "metric": "rmse",
                "target": "y",
                "model": "benchmarks.soak:make_faulty_model",
                "sandbox": "benchmarks.soak:make_faulty_sandbox",
                "steps": asked.nodes,
                "parallel": asked.parallel,
                "seed": asked.seed,
                "out": path,
            },
            environ={},
        )
        try:
            ends = soak(config, path, files, gauge)
        finally:
            containers = _shops.pop().close()
        nodes = sum(b'"event": "finished"' in line for line in (path / "journal.jsonl").open("rb"))
    show(calls, files, gauge, ends)
    print(json.dumps({"nodes": nodes, **gauge.figures(), "containers": containers}))
    return 0 if nodes == asked.nodes and not containers else 1


def show(calls: Schedule, files: Schedule, gauge: Gauge, ends: Counter[str]) -> None:
    for title, counts in (
        ("faults of calls", calls.injected),
        ("faults of files", files.injected),
        ("nodes", gauge.statuses),
        ("sessions that were ended", ends),
    ):
        print(f"{title} ({counts.total()})")
        for name, count in sorted(counts.items()):
            print(f"  {name:<40} {count:>6}")


if __name__ == "__main__":
    # The search loads the makers by this module's own name; they share its shop.
    from benchmarks import soak as module

    sys.exit(module.main())
