"""The options of the commands that are settings of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

OPERATORS = ("draft", "debug", "improve", "merge", "summarize")


def _setting(*names: str, **options: Any) -> Callable[[Any], Any]:
    return click.option(*names, default=None, **options)


def _model_settings() -> list[Callable[[Any], Any]]:
    """The options that say which model writes, and what it may cost."""
    return [
        _setting(
            "--model",
            help="What writes the solutions: offline, anthropic:NAME, openai:NAME, "
            "openai:NAME@URL, replay:RUN.  [offline]",
        ),
        *(
            _setting(
                f"--model.{operator}", f"model_{operator}", help=f"Another model for {operator}."
            )
            for operator in OPERATORS
        ),
        _setting("--fallback", help="The model to ask while the first is out."),
        _setting("--effort", help="How hard a reasoning model is to think: low, medium, high."),
        _setting("--usd", type=float, help="Money for all model calls, a hard cap."),
        _setting("--tokens", type=int, help="Tokens for all model calls, a hard cap."),
        _setting("--prices", type=click.Path(path_type=Path), help="A TOML file of prices."),
        _setting("--prompt-tokens", type=int, help="The largest prompt, in tokens.  [28000]"),
        _setting("--scratch", type=int, help="Snippets a model may run before it answers.  [0]"),
    ]


def _search_settings() -> list[Callable[[Any], Any]]:
    """The options that say how a search goes about it."""
    return [
        _setting("--steps", type=int, help="How many solutions to try.  [25]"),
        _setting("--hours", type=float, help="Wall time for the whole run.  [no limit]"),
        _setting("--parallel", type=int, help="Solutions running at once.  [1]"),
        _setting("--ahead", type=int, help="Solutions written ahead of those.  [as many]"),
        _setting("--smoke/--no-smoke", help="Try each solution on a few rows first.  [smoke]"),
        _setting("--policy", help="What chooses the next node.  [greedy]"),
        _setting("--seed", type=int, help="Of every random choice.  [0]"),
        _setting(
            "--out", type=click.Path(path_type=Path), help="The run's folder.  [runs/TASK-N]"
        ),
        _setting("--goal", help="The task in words.  [description.md]"),
        _setting("--metric", help="The metric's name.  [task.toml]"),
        _setting("--target", help="The target column.  [inferred]"),
        _setting("--id", help="The id column.  [inferred]"),
        _setting("--group", help="Rows alike in this column stay on one side of a split."),
        _setting("--time", help="Split by this column's time."),
        _setting("--split", help="random, stratified, group or time.  [inferred]"),
    ]


def _sandbox_settings() -> list[Callable[[Any], Any]]:
    """The options that say where solutions run, and what each may use."""
    return [
        _setting("--sandbox", help="auto, docker, bubblewrap or process.  [auto]"),
        _setting("--image", help="Docker image: auto, mirror or a name.  [auto]"),
        _setting("--dask", help="Run them on the workers of the Dask scheduler at this address."),
        _setting("--warm/--no-warm", help="Start sandboxes ahead, libraries loaded.  [warm]"),
        _setting("--run-seconds", type=float, help="Wall time of one solution, seconds.  [600]"),
        _setting("--memory-mb", type=int, help="Memory of one solution, MiB.  [4096]"),
        _setting("--cpus", type=float, help="Processors of one solution.  [1]"),
        _setting("--disk-mb", type=int, help="Files of one solution, MiB.  [1024]"),
        _setting("--gpus", type=int, help="GPUs of one solution, its own while it runs.  [0]"),
    ]


def run_options(command: Any) -> Any:
    """The options of `aide run`."""
    options = [*_search_settings(), *_model_settings(), *_sandbox_settings()]
    for option in reversed(options):
        command = option(command)
    return command


def resume_options(command: Any) -> Any:
    """The options of `aide resume`: what may differ from before."""
    options = [
        _setting("--steps", type=int, help="Solutions in all, a new limit."),
        _setting("--hours", type=float, help="Wall time in all, a new limit."),
        _setting("--usd", type=float, help="Money in all, a new limit."),
        _setting("--tokens", type=int, help="Tokens in all, a new limit."),
        _setting("--model", help="Another model than before."),
        _setting("--sandbox", help="Another sandbox than before."),
        _setting("--parallel", type=int, help="Solutions running at once, a new number."),
        _setting("--dask", help="Run them by the Dask scheduler at this address."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def gathered(given: dict[str, Any]) -> dict[str, Any]:
    """The options with those of single operators gathered in one setting."""
    single = {name: given.pop(f"model_{name}") for name in OPERATORS}
    named = {name: model for name, model in single.items() if model is not None}
    return {**given, "models": named or None}
