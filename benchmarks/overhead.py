"""What the harness itself costs a step, as the tree grows.

    python -m benchmarks.overhead [--nodes 10000]

A real search with everything but the model and the solution: prompts, edits, checks, grading with
its bootstrap, artifacts, git, journal, selection. Milliseconds are the median step around each
tree size; the last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from aide.api import search

SIZES = (10, 100, 1_000, 10_000)
AROUND = 40
"""How many steps, up to each size, its median is over."""


def make_task(folder: Path, rows: int = 600) -> Path:
    """A small regression task."""
    rng = random.Random(0)
    folder.mkdir()
    lines = ["id,x,y"]
    for number in range(rows):
        x = rng.gauss(0, 1)
        lines.append(f"{number},{x:.4f},{2 * x + rng.gauss(0, 1):.4f}")
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    (folder / "description.md").write_text("Predict y.\n")
    return folder


def step_times(nodes: int) -> list[float]:
    """Seconds that each step of a search took, in order."""
    ends: list[float] = []

    def on_event(event: Mapping[str, object]) -> None:
        if event["event"] in ("start", "finished"):
            ends.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as scratch:
        search(
            make_task(Path(scratch) / "task"),
            metric="rmse",
            target="y",
            model="benchmarks.instant:make_model",
            sandbox="benchmarks.instant:InstantSandbox",
            steps=nodes,
            out=Path(scratch) / "run",
            on_event=on_event,
        )
    return [after - before for before, after in pairwise(ends)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=SIZES[-1], help="stop at this tree size")
    nodes = parser.parse_args().nodes
    times = step_times(nodes)
    sizes = [size for size in SIZES if size <= nodes]
    medians = {
        size: 1000 * statistics.median(times[max(0, size - AROUND) : size]) for size in sizes
    }
    print(f"{'nodes':>8} {'ms a step':>10}")
    for size, milliseconds in medians.items():
        print(f"{size:>8} {milliseconds:>10.1f}")
    figures = {
        "ms": {str(size): round(value, 2) for size, value in medians.items()},
        "ratio": round(medians[sizes[-1]] / medians[sizes[0]], 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
