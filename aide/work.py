"""A session at a terminal: its progress, its signals, and what is said at the end."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from aide.interfaces import OnEvent
from aide.progress import TerminalProgress
from aide.report import format_score, format_seconds, format_usd
from aide.run import Run, load

if TYPE_CHECKING:
    from aide.session import Session


def work(begin: Callable[[OnEvent], AbstractContextManager[Session]], as_json: bool) -> None:
    """Run a session under the terminal's progress, then say what came of it."""
    _log_to_stderr()
    console = Console(stderr=True)
    with TerminalProgress(console) as progress, begin(progress) as session, _signals(session):
        session.run()
    finished = load(session.folder.path)
    if as_json:
        click.echo(json.dumps(finished.summary()))
    else:
        tell(finished)
    if finished.reason == "interrupted":
        raise KeyboardInterrupt
    if finished.best is None:
        sys.exit(1)


@contextmanager
def _signals(session: Session) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM stops the session cleanly, the second at once."""
    seen = threading.Event()

    def handle(number: int, frame: object) -> None:
        if seen.is_set():
            raise KeyboardInterrupt
        seen.set()
        click.echo("Stopping; once more to stop at once.", err=True)
        # Not in the handler itself: it may have interrupted code that holds the sandbox's lock.
        threading.Thread(target=session.interrupt, daemon=True).start()

    before = {sign: signal.signal(sign, handle) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def tell(finished: Run) -> None:
    """A few lines for people on what a run came to."""
    task, best = finished.task, finished.best
    total = len(finished.nodes)
    click.echo(
        f"{total} solutions, {finished.tree.working} working, "
        f"in {format_seconds(finished.seconds)}; it ended because: {finished.reason}"
    )
    cost = finished.cost
    if cost.tokens_in:
        tokens = f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out"
        click.echo(f"model calls: {cost.calls}, {tokens}, {format_usd(cost.usd)}")
    if best is None:
        click.echo(f"No solution worked; see 'aide show {_short(finished.path)}'.")
        return
    first = next(node for node in finished.nodes if node.works)
    direction = "higher" if task["maximize"] else "lower"
    click.echo(f"{task['metric']} ({direction} is better), {task['evaluation']}:")
    click.echo(f"  first working solution  {format_score(first.score)}  (node {first.id})")
    click.echo(f"  best solution           {format_score(best.score)}  (node {best.id})")
    if finished.final is not None:
        once = finished.finals == 1
        used = "scored once" if once else f"used for {finished.finals} nodes by now"
        click.echo(f"  best, final holdout     {format_score(finished.final)}  ({used})")
    click.echo(f"program     {_short(finished.path / 'best' / 'solution.py')}")
    click.echo(f"submission  {_short(finished.path / 'best' / 'submission.csv')}")
    click.echo(f"report      {_short(finished.path / 'report.md')}")


def _short(path: Path) -> str:
    """A path as a person would type it from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _log_to_stderr() -> None:
    """Show what long preparations say of themselves, such as a download."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("aide")
    if not logger.handlers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
