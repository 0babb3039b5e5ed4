"""What runs on a Dask worker: a run's jobs, in a sandbox of the worker's own machine.

The first part of this module are messages, the second runs as Dask tasks, and the third is called
beside them.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aide.cache import cache_folder
from aide.errors import InputError, SandboxError, StorageError, UnavailableError
from aide.interfaces import Execution, Job, Limits, Sandbox
from aide.sandboxes.control import temporary_folder
from aide.sandboxes.guest import GuestSettings, guest, leave, present
from aide.sandboxes.shipping import ViewStore

if TYPE_CHECKING:
    from distributed import Worker


@dataclass(frozen=True, slots=True)
class Order:
    """A job as it travels: `Job`, with the view's hash instead of a folder.

    Attributes:
        settings: of the run.
        key: names this attempt at the job, of all runs.
        release: of this project that the host has.
    """

    settings: GuestSettings
    key: str
    release: str
    name: str
    code: str
    view: str
    outputs: Mapping[str, int]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Done:
    """A job that ran: its end, without files, and the contents of its outputs by name."""

    execution: Execution
    contents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job that did not run, since this worker has to be sent the view first."""

    worker: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A job that had begun on a worker that died, and was not begun again here."""

    worker: str


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a worker is.

    Attributes:
        release: of this project there.
        python: its Python, major and minor.
        threads: how many jobs it runs at once.
        resources: what it was declared to offer.
    """

    release: str
    python: tuple[int, int]
    threads: int
    resources: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a worker's sandbox is: `Sandbox.about` and `Sandbox.packages`."""

    about: str
    packages: Mapping[str, str]


def views() -> ViewStore:
    """The views that this machine has."""
    return _store(cache_folder("views"))


@cache
def _store(folder: Path) -> ViewStore:
    return ViewStore(folder)


def release() -> str:
    """Which version of this project is installed here."""
    return metadata.version("aide-search")


def run(order: Order) -> Done | Wanted | Lost:
    """Run a job, as a Dask task.

    Raises:
        SandboxError: the sandbox failed, or the worker's disk is full.
        UnavailableError: no sandbox can work on this worker as configured.
    """
    from distributed import get_worker

    worker = get_worker()
    if release() != order.release:
        raise UnavailableError(mismatch(worker.address, release(), order.release))
    view = views().find(order.view)
    if view is None:
        return Wanted(worker.address)
    try:
        with guest(order.settings).working(order.key) as sandbox:
            # Dask runs the tasks of a dead worker again as often as its scheduler is set to; how
            # often a program is run again is for the search alone to say.
            earlier = _claim(order, worker.address)
            return Lost(earlier) if earlier else _run(sandbox, order, view)
    except StorageError as error:
        raise SandboxError(f"worker {worker.address}: {error}") from error
    except (SandboxError, InputError) as error:
        raise type(error)(f"worker {worker.address}: {error}") from error


def mismatch(worker: str, there: str, here: str) -> str:
    """What to say of a worker that has another version."""
    return (
        f"the Dask worker {worker} has version {there} of aide-search and the host {here}: "
        f"run 'pip install aide-search=={here}' there and start it again"
    )


def _claim(order: Order, me: str) -> str:
    """Note on the scheduler that an attempt begins here; which worker did so before, or ""."""
    from distributed import get_client

    client: Any = get_client()
    name = note(order.settings.run_id, order.key)
    earlier = client.get_metadata(name, default="")
    if not earlier:
        client.set_metadata(name, me)
    return str(earlier)


def note(run_id: str, key: str) -> list[str]:
    """Where on the scheduler it is noted who began an attempt.

    Not under the task's own key: Dask drops that with the task, and a worker may just have been
    sent a task that is dropped.
    """
    return [notes(run_id), key]


def notes(run_id: str) -> str:
    """Where on the scheduler a run's notes are."""
    return f"aide-{run_id}"


def _run(sandbox: Sandbox, order: Order, view: Path) -> Done:
    folder = temporary_folder()
    try:
        job = Job(order.name, order.code, view, order.outputs, folder / "out", order.limits)
        done = sandbox.run(job)
        contents = {name: path.read_bytes() for name, path in done.files.items()}
    except OSError as error:
        raise SandboxError(f"the outputs of {order.name} were lost: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Done(replace(done, files={}), contents)


# What follows is called outside of Dask's tasks, on the worker's event loop, which must not wait.


def greet(run_id: str, dask_worker: Worker) -> Greeting:
    """What this worker is; also renews the run's lease, if the run is a guest.

    Args:
        run_id: of the run.
        dask_worker: this worker; Dask fills it in, by its name.
    """
    known = present(run_id)
    if known is not None:
        known.heard()
    state = dask_worker.state
    return Greeting(release(), sys.version_info[:2], state.nthreads, dict(state.total_resources))


async def open_sandbox(settings: GuestSettings) -> Opened:
    """Make the run's sandbox here; raises what `make_sandbox` does."""

    def made() -> Opened:
        sandbox = guest(settings).sandbox
        return Opened(sandbox.about, dict(sandbox.packages()))

    return await asyncio.to_thread(made)


async def prepare(settings: GuestSettings, view: str, limits: Limits, count: int) -> None:
    """Have the run's sandbox get ready for jobs on a view, if the view is here."""

    def ready() -> None:
        folder = views().find(view)
        if folder is not None:
            guest(settings).sandbox.prepare(folder, limits, count)

    await asyncio.to_thread(ready)


async def has_view(view: str) -> bool:
    """Whether a view is here, whole."""
    return await asyncio.to_thread(lambda: views().find(view) is not None)


async def add_piece(parcel: str, piece: bytes) -> None:
    """Take in one more piece of a packed view."""
    await asyncio.to_thread(lambda: views().add(parcel, piece))


async def settle_view(parcel: str, view: str) -> bool:
    """Unpack a view that has come; False if it is damaged."""
    return await asyncio.to_thread(lambda: views().settle(parcel, view))


async def end(run_id: str, key: str) -> bool:
    """End an attempt of a run, if it is here; True if it is still running."""
    found = present(run_id)
    return found is not None and await asyncio.to_thread(lambda: found.end(key))


async def close_sandbox(run_id: str) -> None:
    """End a run's sandbox here, if it has one."""
    await asyncio.to_thread(lambda: leave(run_id))
