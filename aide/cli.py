"""The command line."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import click

from aide.errors import AideError, StorageError
from aide.options import gathered, resume_options, run_options

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C or SIGTERM stopped, as shells have it."""


class _Failure(click.ClickException):
    """An error with an exit status of its own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class


class Commands(click.Group):
    """A group whose commands end with one sentence and an exit status when something is wrong."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except AideError as error:
            raise _Failure(str(error), error.exit_code) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise _Failure(
                f"the disk is full ({error.filename}); free some space, then go on with "
                "'aide resume'",
                StorageError.exit_code,
            ) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aide-search", prog_name="aide")
def main() -> None:
    """Search for a machine-learning solution: data and a metric in, a program out.

    \b
    Examples:
      aide run titanic --steps 10          a bundled task, without a key
      aide run ./mydata --metric rmse      your own folder with train.csv
      aide resume runs/titanic-1           go on with a run
      aide show runs/titanic-1             what was tried
      aide doctor                          what this machine has
      aide gc                              remove what crashed runs left
    """


@main.command()
@click.argument("task")
@run_options
@click.option("--config", "file", type=click.Path(path_type=Path), help="A TOML file of settings.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON line.")
def run(task: str, file: Path | None, as_json: bool, **given: Any) -> None:
    """Search for a solution of TASK: a bundled task's name, or a folder with train.csv.

    Every setting can also stand in a TOML file (--config) or in the environment (AIDE_STEPS and
    so on); the command line wins. Ctrl-C stops cleanly and leaves a run that 'aide resume'
    goes on with; a second Ctrl-C stops at once.

    \b
    Examples:
      aide run titanic --steps 25 --seed 0
      aide run ./house-prices --metric rmsle --target SalePrice --hours 8
      aide run bikeshare --sandbox docker --parallel 4 --json
      aide run titanic --model anthropic:claude-sonnet-5-5 --usd 5 --hours 8
      aide run titanic --model openai:qwen@http://127.0.0.1:8080/v1
    """
    from aide import api, work
    from aide.config import load_config

    config = load_config({"task": task, **gathered(given)}, file=file)
    work.work(lambda on_event: api.start(config, on_event), as_json)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@resume_options
@click.option("--json", "as_json", is_flag=True, help="End with one JSON line.")
def resume(folder: Path, as_json: bool, **changes: Any) -> None:
    """Go on with a run that was stopped, cut off, or is to have more steps.

    \b
    Examples:
      aide resume runs/titanic-1
      aide resume runs/titanic-1 --steps 50
      aide resume runs/titanic-1 --usd 10
    """
    from aide import api, work

    changes = {key: value for key, value in changes.items() if value is not None}
    work.work(lambda on_event: api.resume(folder, on_event, **changes), as_json)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--table", is_flag=True, help="A line a node instead of the tree.")
@click.option("--json", "as_json", is_flag=True, help="All nodes as one JSON line.")
def show(folder: Path, table: bool, as_json: bool) -> None:
    """Show what a run tried: as a tree, a table or JSON.

    \b
    Examples:
      aide show runs/titanic-1
      aide show runs/titanic-1 --table
      aide show runs/titanic-1 --json | jq '.nodes[] | select(.status == "error")'
    """
    from rich.console import Console

    from aide import display
    from aide.node import Usage
    from aide.run import load

    found = load(folder)
    if as_json:
        used = found.spent.by_node
        nodes = [display.node_fields(n, used.get(n.id, Usage())) for n in found.nodes]
        click.echo(json.dumps({**found.summary(), "reason": found.reason, "nodes": nodes}))
        return
    console = Console(soft_wrap=not sys.stdout.isatty())
    (display.show_table if table else display.show_tree)(found, console)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--code", is_flag=True, help="Print the program itself.")
def best(folder: Path, code: bool) -> None:
    """Say what the best solution is, or print it.

    \b
    Examples:
      aide best runs/titanic-1
      aide best runs/titanic-1 --code > solution.py
    """
    from aide import work
    from aide.run import load

    found = load(folder)
    if found.best is None:
        raise AideError(f"no solution of {found.path} has worked yet")
    if code:
        click.echo(found.best.code)
    else:
        work.tell(found)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("node", type=int)
def diff(folder: Path, node: int) -> None:
    """Show what NODE changed against its parent.

    \b
    Example:
      aide diff runs/titanic-1 7
    """
    from aide.run import load

    click.echo(load(folder).diff(node))


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--labels", type=click.Path(path_type=Path), help="A CSV with id and target.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line.")
def grade(folder: Path, labels: Path | None, as_json: bool) -> None:
    """Score the best submission on labels that the search never had.

    A bundled task brings its own; for yours, give them with --labels.

    \b
    Examples:
      aide grade runs/titanic-1
      aide grade runs/mydata-1 --labels test_labels.csv --json
    """
    from aide.report import format_score
    from aide.run import load

    found = load(folder)
    score = found.grade(labels)
    if as_json:
        click.echo(json.dumps({"test": score.value, "rows": score.rows}))
    else:
        click.echo(f"{found.task['metric']} on {score.rows} test rows: {format_score(score)}")


@main.command()
def tasks() -> None:
    """List the bundled tasks."""
    from aide.tasks.bundled import bundled_tasks

    for name, line in bundled_tasks().items():
        click.echo(f"{name:<12} {line}")


@main.command()
def doctor() -> None:
    """Look at what this machine has of what a run needs."""
    from aide.doctor import examine

    findings = examine()
    for finding in findings:
        mark = "ok" if finding.ok else ("PROBLEM" if finding.needed else "-")
        click.echo(f"{finding.what:<12} {mark:<8} {finding.says}")
    if any(finding.needed and not finding.ok for finding in findings):
        sys.exit(1)


@main.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def gc(runs: tuple[Path, ...], dry_run: bool) -> None:
    """Remove what crashed runs left on this machine, and only that.

    Containers, temporary folders and control groups whose process is dead; and half-written files
    in each RUN that is named, unless a search is at work there. No solution is ever removed.

    \b
    Examples:
      aide gc --dry-run
      aide gc runs/titanic-1
    """
    from aide.gc import collect, line

    found = collect(runs, dry_run=dry_run)
    for each in found:
        click.echo(line(each))
    if not found:
        click.echo("nothing is left of crashed runs")
