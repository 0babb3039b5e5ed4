"""How well several solutions at once keep their sandboxes busy.

    python -m benchmarks.parallel [--workers 4] [--steps 40] [--sandbox auto] [--seconds 2]

A model that takes two seconds and solutions that sleep for two, first one at a time (the model,
then the run, and so on), then with several workers, in the product's own loop and a real sandbox.
A sandbox is busy from the start of a solution's run to its end, its container's start included;
the time counts from the first solution's start to the last one's, so without the wait for the
first answer, and without the end, when there is no more work. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aide.api import search
from benchmarks import thinking
from benchmarks.overhead import make_task


@dataclass
class Times:
    """When each solution's run began and ended, and when the search began, in seconds."""

    begin: float = 0.0
    starts: dict[int, float] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)

    def __call__(self, event: Mapping[str, Any]) -> None:
        now = time.perf_counter()
        if event["event"] == "start":
            self.begin = now
        elif event["event"] == "running":
            self.starts[event["node"]] = now
        elif event["event"] == "finished":
            self.ends[event["node"]] = now

    def busy(self, workers: int) -> float:
        """The share of the time in which the sandboxes were busy."""
        first, last = min(self.starts.values()), max(self.starts.values())
        used = sum(min(self.ends[node], last) - start for node, start in self.starts.items())
        return used / (workers * (last - first))

    def pace(self) -> float:
        """Finished solutions a second, from the search's begin to the last one's end."""
        return len(self.ends) / (max(self.ends.values()) - self.begin)


def measure(workers: int, steps: int, sandbox: str, folder: Path) -> Times:
    times = Times()
    found = search(
        folder / "task",
        metric="rmse",
        target="y",
        model="benchmarks.thinking:make_model",
        sandbox=sandbox,
        # The programs need the standard library alone.
        python=Path(sys.executable),
        steps=steps,
        parallel=workers,
        drafts=2 * workers,
        out=folder / f"run-{workers}",
        on_event=times,
    )
    failed = [node for node in found.nodes if not node.works]
    assert not failed, f"{len(failed)} solutions failed: {failed[0].outcome}"
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    thinking.pace.seconds = given.seconds
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_task(folder / "task")
        alone = measure(1, max(4, given.steps // 5), given.sandbox, folder)
        many = measure(given.workers, given.steps, given.sandbox, folder)
    busy, speedup = many.busy(given.workers), many.pace() / alone.pace()
    print(f"one at a time     {60 * alone.pace():6.1f} solutions a minute")
    print(f"{given.workers} at once         {60 * many.pace():6.1f} solutions a minute")
    print(f"sandboxes busy    {100 * busy:6.1f} %")
    print(json.dumps({"busy": round(busy, 3), "speedup": round(speedup, 2)}))


if __name__ == "__main__":
    main()
