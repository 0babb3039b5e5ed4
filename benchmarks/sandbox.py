"""What it takes to start a program: cold, out of the warm pool, and with no sandbox at all.

    python -m benchmarks.sandbox [--runs 9] [--sandbox docker] [--seats 4]

The time from "code ready", just before the sandbox is asked to run it, to the first line of the
program after its imports of pandas and scikit-learn; host and container read the same clock. Cold
is the product's own way where nothing was got ready; the three take turns, and each has the
machine to itself: no run starts before the pool is full again. Then the memory that a seat holds
while it waits, shared pages in proportion, with the process that the engine keeps for each
container. `AIDE_TEST_PYTHON` names the solutions' Python. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from aide.errors import SandboxError
from aide.interfaces import Job, Limits
from aide.sandboxes import make_sandbox
from aide.sandboxes.base import SupervisedSandbox, environment
from aide.sandboxes.watch import processes, proportional
from benchmarks.warm import solutions

LIMITS = Limits(seconds=120)
READY_SECONDS = 120.0
SHIM = "containerd-shim"
PROGRAM = """
import time
import pandas, sklearn.ensemble, sklearn.model_selection, sklearn.pipeline
print(time.clock_gettime(time.CLOCK_MONOTONIC))
"""


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def start(kind: str, python: Path, warm: bool) -> SupervisedSandbox:
    made = make_sandbox(
        kind, run_id=uuid.uuid4().hex[:8], image="mirror", python=python, warm=warm
    )
    assert isinstance(made, SupervisedSandbox)
    return made


def sandboxed(sandbox: SupervisedSandbox, folder: Path) -> float:
    """Milliseconds to the first line of a program in a sandbox."""
    job = Job(uuid.uuid4().hex[:8], PROGRAM, folder / "input", {}, folder / "out", LIMITS)
    before = now()
    done = sandbox.run(job)
    if done.status != "ok":
        raise SandboxError(f"the program ended with {done.status}: {done.output[-300:]}")
    return 1000 * (float(done.output.split()[0]) - before)


def plain(python: Path, folder: Path) -> float:
    """Milliseconds to the first line of a program as a plain process."""
    (folder / "solution.py").write_text(PROGRAM)
    settings = environment(LIMITS, home=str(folder), path="/usr/bin:/bin")
    command = [str(python), "solution.py"]
    before = now()
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, check=True)
    return 1000 * (float(done.stdout.split()[0]) - before)


def fill(sandbox: SupervisedSandbox, folder: Path, seats: int) -> None:
    """Have so many seats waiting."""
    sandbox.prepare(folder / "input", LIMITS, seats)
    if not sandbox.pool.wait(READY_SECONDS):
        raise SandboxError(f"{seats} seats were not ready within {READY_SECONDS:g} s")


def idle_mb(sandbox: SupervisedSandbox) -> float:
    """The memory that a waiting seat holds, in the mean, in MiB; 0 where it cannot be read."""
    alive = {process.pid: process for process in processes()}
    total = 0
    waiting = sandbox.pool.idle()
    for supervisor in map(alive.__getitem__, waiting):
        total += proportional(supervisor)
        parent = alive.get(supervisor.parent)
        if parent and SHIM in Path(f"/proc/{parent.pid}/cmdline").read_text():
            total += proportional(parent)
    return total / len(waiting) / 2**20


def measure(
    kind: str, runs: int, python: Path, folder: Path, seats: int
) -> dict[str, list[float]]:
    """Each way's milliseconds, and the idle memory of one seat and of one of several."""
    warm, cold = start(kind, python, True), start(kind, python, False)
    ways: dict[str, Callable[[], float]] = {
        "cold": lambda: sandboxed(cold, folder),
        "warm": lambda: sandboxed(warm, folder),
        "subprocess": lambda: plain(python, folder),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    try:
        for _ in range(runs):
            for name, way in ways.items():
                fill(warm, folder, 1)
                found[name].append(way())
        fill(warm, folder, 1)
        found["idle"] = [idle_mb(warm)]
        fill(warm, folder, seats)
        found["idle"].append(idle_mb(warm))
    finally:
        warm.close()
        cold.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="of each way")
    parser.add_argument("--sandbox", default="docker", help="docker, bubblewrap or process")
    parser.add_argument("--seats", type=int, default=4, help="to measure the memory of several")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="aide-benchmark-") as scratch:
        folder = Path(scratch)
        (folder / "input").mkdir()
        (folder / "input").chmod(0o755)
        found = measure(options.sandbox, options.runs, solutions().python, folder, options.seats)
    alone, together = found.pop("idle")
    titles = (f"{options.sandbox}, cold", f"{options.sandbox}, warm", "plain subprocess")
    print(f"{'ms to the first line':<22}{'median':>10}{'min':>10}{'max':>10}")
    for title, times in zip(titles, found.values(), strict=True):
        middle, least, most = statistics.median(times), min(times), max(times)
        print(f"{title:<22}{middle:>10.1f}{least:>10.1f}{most:>10.1f}")
    print(f"idle memory of a seat: {alone:.0f} MiB alone, {together:.0f} MiB of {options.seats}")
    medians = {f"{name}_ms": statistics.median(times) for name, times in found.items()}
    ratio = medians["cold_ms"] / medians["warm_ms"]
    figures = {**medians, "ratio": ratio}
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
