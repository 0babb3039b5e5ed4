"""What a search comes to on the bundled tasks, against a model that takes five lines to write.

    python -m benchmarks.tasks [TASK ...] [--steps 25] [--seed 0] [--model offline]

baseline: scikit-learn's HistGradientBoosting with its defaults on ordinally encoded columns,
fitted on all labelled rows. first: the first working solution, search: the best one, both on the
search holdout. final: the best one on the final holdout. test: the refitted best on the hidden
test set, which no search sees; baseline is on the same rows. The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from aide.api import search
from aide.interfaces import Task
from aide.run import Run
from aide.tasks.bundled import bundled_folder, bundled_tasks
from aide.tasks.load import load

COLUMNS = (
    "baseline",
    "first",
    "search",
    "final",
    "test",
    "working",
    "nodes",
    "debugged",
    "seconds",
)


def baseline(task: Task, name: str, scratch: Path) -> float:
    """The score on the hidden test set of default boosting on ordinally encoded columns."""
    folder, info = bundled_folder(name), task.info
    train, test = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "test.csv")
    columns = [column for column in test.columns if column != info.id]
    texts = make_column_selector(dtype_exclude="number")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    regression = info.problem == "regression"
    model = (
        HistGradientBoostingRegressor(random_state=0)
        if regression
        else HistGradientBoostingClassifier(random_state=0)
    )
    pipeline = make_pipeline(
        make_column_transformer((encoder, texts), remainder="passthrough"), model
    )
    pipeline.fit(train[columns], train[info.target])
    predictions = pipeline.predict(test[columns])
    if info.metric == "rmsle":
        # The metric is not defined below zero, where a plain regression may well end up.
        predictions = predictions.clip(min=0)
    path = scratch / "baseline.csv"
    pd.DataFrame({info.id: test[info.id], info.target: predictions}).to_csv(path, index=False)
    return task.grade_hidden(path, None).value


def row(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Search one task and hold what it found against the baseline."""
    with tempfile.TemporaryDirectory() as scratch:
        run = search(
            name,
            steps=arguments.steps,
            seed=arguments.seed,
            model=arguments.model,
            sandbox=arguments.sandbox,
            out=Path(scratch) / "run",
        )
        task = load(name)
        return {
            "baseline": round(baseline(task, name, Path(scratch)), 5),
            **figures(run),
            "better_up": task.info.maximize,
        }


def figures(run: Run) -> dict[str, Any]:
    first = next((node for node in run.nodes if node.works), None)
    best, test = run.best, run.grade() if run.submission else None
    debugged = sum(node.works and node.operator == "debug" for node in run.nodes)
    return {
        "first": round(first.score.value, 5) if first and first.score else None,
        "search": round(best.score.value, 5) if best and best.score else None,
        "final": round(run.final.value, 5) if run.final else None,
        "test": round(test.value, 5) if test else None,
        "working": run.tree.working,
        "nodes": len(run.nodes),
        "debugged": debugged,
        "valid": test is not None,
        "seconds": round(run.seconds, 1),
    }


def is_better(figures: dict[str, Any]) -> bool:
    test, base = figures["test"], figures["baseline"]
    if test is None:
        return False
    return bool(test > base if figures["better_up"] else test < base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=list(bundled_tasks()))
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="offline")
    parser.add_argument("--sandbox", default="auto")
    arguments = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    print(f"{'task':<12}" + "".join(f"{column:>10}" for column in COLUMNS) + "  beats baseline")
    for name in arguments.tasks:
        results[name] = row(name, arguments)
        cells = "".join(f"{results[name][column]!s:>10}" for column in COLUMNS)
        print(f"{name:<12}{cells}  {'yes' if is_better(results[name]) else 'no'}", flush=True)
    keys = ("baseline", "first", "search", "final", "test", "working", "nodes", "valid")
    print(
        json.dumps(
            {
                "tasks": {name: {key: r[key] for key in keys} for name, r in results.items()},
                "better": sum(map(is_better, results.values())),
            }
        )
    )


if __name__ == "__main__":
    main()
