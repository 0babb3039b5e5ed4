"""Whether what operators see is worth it: scoped memory, cue and merge, with and without.

    python -m benchmarks.operators [--steps 60] [--seeds 5] [--tasks titanic,ames,digits,bikeshare]
                                   [--jobs 2] [--out runs/operators]

Both arms search each task with the offline model from each seed, with the same policy and number
of steps. An arm's rank on a task and seed is 1 or 2 by the refitted best program's score on the
hidden test set, 1.5 each for a tie; its mean rank is over all tasks and seeds, with its standard
error. Search and final are the holdouts' scores of the same program, for comparison. Results are
kept in the folder of --out, so that what was interrupted goes on; start afresh with another
folder. A program has 12 seconds of processor time, which the prompts do not know; what passes them
counts as timed out. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import shutil
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aide.api import search
from aide.folder import write_atomic
from aide.tasks.bundled import bundled_tasks
from benchmarks.tasks import figures
from benchmarks.warm import CPU_SECONDS, STORE

ARMS: Mapping[str, Mapping[str, Any]] = {
    "with": {"memory": "scoped", "cue": True, "merge_prob": 0.1},
    "without": {"memory": "none", "cue": False, "merge_prob": 0.0},
}
RUN_SECONDS = 120.0
"""Wall time of one program, on a machine with other work."""
PROGRAM_CPU_SECONDS = 12
"""Processor time of one program. Without it, a late solution of ames takes minutes."""
COLUMNS = ("search", "final", "test")


@dataclass(frozen=True, slots=True)
class Cell:
    """One search of the comparison."""

    task: str
    seed: int
    arm: str
    steps: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.steps}-{self.seed}-{self.arm}"


Results = dict[Cell, dict[str, Any]]


def measure(cell: Cell, out: Path) -> dict[str, Any]:
    """Search once, and keep what came of it. Runs in a process of its own."""
    os.environ[STORE] = str(out / "executions")
    os.environ[CPU_SECONDS] = str(PROGRAM_CPU_SECONDS)
    folder = out / "runs" / cell.name
    # An interrupted search is done again: its programs' outcomes are remembered.
    shutil.rmtree(folder, ignore_errors=True)
    run = search(
        cell.task,
        steps=cell.steps,
        seed=cell.seed,
        sandbox="benchmarks.warm:WarmSandbox",
        run_seconds=RUN_SECONDS,
        out=folder,
        **ARMS[cell.arm],
    )
    merged = sum(node.operator == "merge" for node in run.nodes)
    result = {**figures(run), "merged": merged, "maximize": run.task["maximize"]}
    write_atomic(out / "results" / f"{cell.name}.json", json.dumps(result))
    shutil.rmtree(folder)
    return result


def collect(cells: Sequence[Cell], out: Path, jobs: int) -> Results:
    """The results of all cells: those that are kept, and the others as they come in."""
    (out / "results").mkdir(parents=True, exist_ok=True)
    kept = {cell: out / "results" / f"{cell.name}.json" for cell in cells}
    results = {c: json.loads(path.read_text()) for c, path in kept.items() if path.is_file()}
    for cell, result in _measured([c for c in cells if c not in results], out, jobs):
        results[cell] = result
        said = " ".join(f"{key}={result[key]}" for key in (*COLUMNS, "seconds"))
        print(f"{len(results)}/{len(cells)} {cell.name}: {said}", flush=True)
    return results


def _measured(
    cells: Sequence[Cell], out: Path, jobs: int
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    if jobs == 1:
        # Other processes would have all the imports to do again.
        yield from ((cell, measure(cell, out)) for cell in cells)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {pool.submit(measure, cell, out): cell for cell in cells}
        for future in as_completed(futures):
            yield futures[future], future.result()


def ranks(results: Results, column: str) -> list[float]:
    """The rank of "with" against "without" for each task and seed: 1, 1.5 or 2."""
    found = []
    for cell, result in results.items():
        if cell.arm == "with":
            other = results[Cell(cell.task, cell.seed, "without", cell.steps)]
            mine, its = _goodness(result, column), _goodness(other, column)
            found.append(1.5 if mine == its else 1.0 if mine > its else 2.0)
    return found


def _goodness(result: Mapping[str, Any], column: str) -> float:
    """The larger the better; no score at all is worst."""
    value = result[column]
    if value is None:
        return -math.inf
    return float(value if result["maximize"] else -value)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; the error is NaN for a single value."""
    if len(values) < 2:
        return (values[0] if values else math.nan), math.nan
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def _cell(values: Iterable[float | None]) -> str:
    mean, error = mean_and_error([value for value in values if value is not None])
    return f"{mean:.4f}±{error:.4f}"


def print_table(results: Results, tasks: Sequence[str]) -> None:
    """A row a task and arm: mean scores with standard errors, and the mean rank by test score."""
    print(f"{'task':<12}{'arm':<9}" + "".join(f"{c:>20}" for c in COLUMNS) + f"{'rank':>16}")
    for task in tasks:
        own = {cell: result for cell, result in results.items() if cell.task == task}
        rank, error = mean_and_error(ranks(own, "test"))
        for arm, value in (("with", rank), ("without", 3 - rank)):
            mine = [result for cell, result in own.items() if cell.arm == arm]
            cells = "".join(f"{_cell(r[column] for r in mine):>20}" for column in COLUMNS)
            print(f"{task:<12}{arm:<9}{cells}{f'{value:.2f}±{error:.2f}':>16}")
    for column in COLUMNS:
        rank, error = mean_and_error(ranks(results, column))
        print(f"mean rank by {column}: with {rank:.3f}, without {3 - rank:.3f}, ± {error:.3f}")


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", default=",".join(bundled_tasks()))
    parser.add_argument("--jobs", type=int, default=2, help="searches at once")
    parser.add_argument("--out", type=Path, default=Path("runs/operators"))
    arguments = parser.parse_args(given)
    tasks = arguments.tasks.split(",")
    cells = [
        Cell(task, seed, arm, arguments.steps)
        for seed in range(arguments.seeds)
        for task in tasks
        for arm in ARMS
    ]
    results = collect(cells, arguments.out.absolute(), arguments.jobs)
    print_table(results, tasks)
    rank, error = mean_and_error(ranks(results, "test"))
    figures_ = {
        "rank_with": round(rank, 3),
        "rank_without": round(3 - rank, 3),
        "se": None if math.isnan(error) else round(error, 3),
        "runs": len(results),
    }
    print(json.dumps(figures_))


if __name__ == "__main__":
    main()
