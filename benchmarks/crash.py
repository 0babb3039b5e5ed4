"""kill -9 of a search at random moments, each time followed by a resume; nothing may be lost.

    python -m benchmarks.crash [--kills 200] [--steps 60] [--parallel 4] [--seed 0] [--real]

Model and programs are fakes that take some hundredths of a second; files, journal and git are
real. With --real, small programs run in containers of the Docker engine. Each session is a fork
of this process, killed from outside. After each kill the run is looked through: what was finished
still is, alike; git has each finished node; `best/` is whole. Some kills are timed from the start
of the process, most from the start of the work, the rest into the end of the run. The last line is
a JSON object; the exit status is 1 if anything was lost or is not whole.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aide import api
from aide.build import load_task
from aide.config import Config, load_config
from benchmarks import crash_fakes
from benchmarks.crash_checks import Seen, fsck, look
from benchmarks.crash_fakes import RUN_SECONDS
from benchmarks.overhead import make_task

CONTAINER_SECONDS = 0.5
"""About what a run in a container takes."""
SESSION_SECONDS = 300.0
WRITE_SECONDS = 0.01
AT_START, AT_WRITE, AT_END = 0.25, 0.25, 0.1
"""The shares of the kills that are timed from the start of the process, of a node's writing down,
and of the end of the run; the rest are from the start of the work, or after some nodes."""
MOMENTS = {
    "start": "working",
    "resume": "working",
    "proposing": "proposing",
    "running": "running",
    "ran": "writing",
    "finished": "choosing",
    "scoring": "finishing",
    "refitting": "finishing",
}
"""What a run is doing after an event, as far as the events tell."""
FAKE = {
    "model": "benchmarks.crash_fakes:make_model",
    "sandbox": "benchmarks.crash_fakes:SlowSandbox",
}
IN_CONTAINERS = {
    "model": "benchmarks.crash_fakes:make_author",
    "sandbox": "docker",
    "image": "mirror",
    # One without libraries: containers that are started ahead have nothing to load.
    "python": Path(sys.base_prefix, "bin", "python3"),
    "memory_mb": 256,
    "disk_mb": 32,
}
"""Settings of a search."""


@dataclass(frozen=True, slots=True)
class Kill:
    """When a session is to be killed.

    Attributes:
        moment: what it has to be seen at first; "" for nothing.
        count: how often.
        delay: seconds from then on.
    """

    moment: str = ""
    count: int = 0
    delay: float = 0.0


NEVER = Kill("never", 1)


def work(config: Config, path: Path, pipe: int) -> None:
    """A session, in a process of its own, which ends here."""
    status = 1
    try:
        crash_fakes.tell_to(pipe)
        random.seed(time.monotonic_ns())

        def on_event(event: Mapping[str, object]) -> None:
            crash_fakes.tell(event["event"])

        begun = (path / "journal.jsonl").exists() and b"\n" in (
            path / "journal.jsonl"
        ).read_bytes()
        with api.resume(path, on_event) if begun else api.start(config, on_event) as session:
            session.run()
        status = 0
    except BaseException:  # noqa: BLE001  # the fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def one_session(config: Config, path: Path, kill: Kill) -> tuple[bool, str]:
    """Fork a session and kill it, if it has not ended by then.

    Args:
        config: of a run that has yet to begin.
        path: the run's folder.
        kill: when.

    Returns:
        Whether it was killed, and what it was doing last.

    Raises:
        RuntimeError: it failed by itself, or hangs.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        work(config, path, writing)
    os.close(writing)
    moment, alive = "starting", True
    missing, due = kill.count, math.inf
    while alive:
        if missing <= 0 and due == math.inf:
            due = time.monotonic() + kill.delay
        left = min(due - time.monotonic(), SESSION_SECONDS)
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            break
        told = os.read(reading, 65536).decode().split()
        alive = bool(told)
        moments = [MOMENTS[kind] for kind in told if kind in MOMENTS]
        missing -= moments.count(kill.moment)
        moment = moments[-1] if moments else moment
    os.close(reading)
    if alive:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != (-signal.SIGKILL if alive else 0) or (alive and kill is NEVER):
        raise RuntimeError(f"a session that was {moment} ended with status {code}")
    return alive, moment


class Campaign:
    """A search that is killed again and again.

    Args:
        folder: where its task and its run are put.
        kills: how often.
        steps: its nodes.
        parallel: how many of them run at once.
        seed: of the kills' moments.
        real: run programs in containers.
    """

    def __init__(
        self, folder: Path, *, kills: int, steps: int, parallel: int, seed: int, real: bool
    ) -> None:
        self.path, self._wanted, self._steps = folder / "run", kills, steps
        self._run_seconds = CONTAINER_SECONDS if real else RUN_SECONDS
        self._write = 0.0 if real else AT_WRITE
        self._config = load_config(
            {
                "task": str(make_task(folder / "task")),
                "metric": "rmse",
                "target": "y",
                **(IN_CONTAINERS if real else FAKE),
                "steps": steps,
                "parallel": parallel,
                "seed": seed,
                "out": self.path,
            },
            environ={},
        )
        self._rows = submission_rows(self._config)
        self._start_seconds = warm_up(self._config, folder / "first")
        self._rng = random.Random(seed)
        self.kills = self.lost = 0
        self.seen = Seen()
        self.faults: list[str] = []
        self.moments: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()

    def run(self) -> None:
        """All kills, then a session that is let be, then git's own look at the repository.

        Raises:
            RuntimeError: a session failed by itself.
        """
        while self.kills < self._wanted:
            killed, moment = one_session(self._config, self.path, self._next())
            self._look()
            if killed:
                self.kills += 1
                self.moments[moment] += 1
                self.cuts[self.seen.cut] += 1
        one_session(self._config, self.path, NEVER)
        self._look()
        self.faults += filter(None, [fsck(self.path / "solutions")])
        if not self.seen.ended:
            self.faults.append("the run has not come to its end")
        if len(self.seen.nodes) != self._steps:
            self.faults.append(f"{len(self.seen.nodes)} nodes are finished, not {self._steps}")

    def _next(self) -> Kill:
        """The next kill, such that the nodes last for as long as there are kills."""
        delay, dice = self._rng.random(), self._rng.random()
        share = (self.kills + 1) / (self._wanted * (1 - AT_END))
        if not self.seen.ended and share > 1:
            return Kill("finishing", 1, 2 * self._run_seconds * delay)
        if self.seen.ended or dice < AT_START:
            return Kill(delay=2 * self._start_seconds * delay)
        if dice < AT_START + self._write:
            return Kill("writing", 1, 2 * WRITE_SECONDS * delay)
        behind = round((self._steps - 1) * share) - len(self.seen.nodes)
        if behind > 0:
            return Kill("choosing", self._rng.randint(1, behind), 2 * self._run_seconds * delay)
        return Kill("working", 1, 4 * self._run_seconds * delay)

    def _look(self) -> None:
        self.seen = look(self.path, self.seen, self._rows)
        self.lost += len(self.seen.lost)
        self.faults += self.seen.faults


def submission_rows(config: Config) -> set[int]:
    """How many rows a submission of a run may have."""
    task = load_task(config)
    samples = [task.view(view) / "sample_submission.csv" for view in ("search", "full")]
    return {len(sample.read_text().splitlines()) - 1 for sample in samples}


def warm_up(config: Config, path: Path) -> float:
    """Have this process import and compile what its forks then need not.

    Returns:
        Seconds from a session's start to its work.
    """
    with api.start(config.model_copy(update={"steps": 4, "out": path})) as session:
        session.run()
    begun = time.monotonic()
    with api.resume(path):
        return time.monotonic() - begun


def show(title: str, counts: Counter[str]) -> None:
    print(title)
    for name, count in counts.most_common():
        print(f"  {name:<28} {count:>4} {'#' * round(50 * count / counts.total())}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60, help="nodes of the search")
    parser.add_argument("--parallel", type=int, default=4, help="programs running at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="run programs in containers")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        campaign = Campaign(Path(scratch), **vars(asked))
        campaign.run()
    show("doing when it was killed", campaign.moments)
    show("left half-done", campaign.cuts)
    for fault in campaign.faults:
        print(f"FAULT: {fault}")
    figures = {"kills": campaign.kills, "lost": campaign.lost, "nodes": len(campaign.seen.nodes)}
    print(json.dumps(figures))
    return 1 if campaign.lost or campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
