"""The library's way in: start, resume and read runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aide.build import new_session, resumed_session
from aide.clock import Clock
from aide.config import Config, load_config
from aide.errors import AideError
from aide.folder import write_atomic
from aide.interfaces import OnEvent
from aide.journal import read_events
from aide.memory import give_back
from aide.replay import catch_up
from aide.report import render_report
from aide.run import Run
from aide.session import Session
from aide.spent import spent

if TYPE_CHECKING:
    from distributed import Client


def ignore(event: Mapping[str, object]) -> None:
    """Take an event and do nothing."""


@contextmanager
def _reported(session: AbstractContextManager[Session]) -> Iterator[Session]:
    """A session whose report is written however it ends."""
    give_back()
    with session as work:
        try:
            yield work
        except BaseException:  # raised again: an interruption too leaves a report
            # What went wrong is what the user has to hear of, not that it spoilt the report too.
            with suppress(AideError):
                _write_report(work)
            raise
        _write_report(work)


def _write_report(work: Session) -> None:
    folder = work.folder
    catch_up(work.state, read_events(folder.journal))
    write_atomic(folder.report, render_report(work.state, spent(folder.calls)))


def start(
    config: Config,
    on_event: OnEvent = ignore,
    *,
    clock: Clock | None = None,
    client: Client | None = None,
) -> AbstractContextManager[Session]:
    """A new run, ready to `run()` within a `with` block.

    Args:
        config: the run's settings.
        on_event: called with each thing that happens, from any thread.
        clock: for tests.
        client: a Dask client whose workers are to run the solutions.
    """
    return _reported(new_session(config, on_event, clock, client))


def resume(
    path: str | Path,
    on_event: OnEvent = ignore,
    *,
    clock: Clock | None = None,
    client: Client | None = None,
    **changes: Any,
) -> AbstractContextManager[Session]:
    """A run that exists, ready to go on within a `with` block; changes are settings."""
    return _reported(
        resumed_session(Path(path), on_event, changes=changes, clock=clock, client=client)
    )


def search(
    task: str | Path,
    *,
    model: str = "offline",
    steps: int = 25,
    hours: float | None = None,
    policy: str = "greedy",
    sandbox: str = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    parallel: int = 1,
    dask: str | Client | None = None,
    on_event: OnEvent = ignore,
    **settings: Any,
) -> Run:
    """Search for a solution of a task and return the finished run.

    Args:
        task: a bundled task's name, or a folder with train.csv and the like.
        model: what writes the solutions.
        steps: how many solutions to try.
        hours: wall time for the whole run.
        policy: what chooses the next node.
        sandbox: where the solutions run.
        seed: of every random choice.
        out: the run's folder; a new one below `runs/` by default.
        parallel: how many solutions run at once.
        dask: a Dask client, or a scheduler's address, to run them by.
        on_event: called with each thing that happens, from any thread.
        **settings: any other setting of `aide.config.Config`.

    Raises:
        InputError: something that was given cannot be used.
        AideError: the run could not go on; what it has is kept, and `aide resume` goes on.
    """
    given = {
        "task": str(task),
        "model": model,
        "steps": steps,
        "hours": hours,
        "policy": policy,
        "sandbox": sandbox,
        "seed": seed,
        "out": out,
        "parallel": parallel,
        "dask": dask if isinstance(dask, str) else None,
        **settings,
    }
    client = None if isinstance(dask, str) else dask
    with start(load_config(given, environ={}), on_event, client=client) as session:
        session.run()
    return Run(session.folder.path)
