"""A search's run as a guest of a Dask worker: its sandbox in this process, on a lease.

The sandbox is made once in each worker process, and ended when the run says so, or when nothing
has been heard of the run for a while: a host that died must leave no sandbox behind.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aide.errors import SandboxError
from aide.interfaces import Sandbox
from aide.sandboxes.choose import make_sandbox


@dataclass(frozen=True, slots=True)
class GuestSettings:
    """How each worker makes its sandbox: what `make_sandbox` takes.

    Attributes:
        run_id: a short name that no other run has.
        kind, packages, image, python, offline_author, warm: as for `make_sandbox`; a path is one
            of the worker's machine.
        lease: seconds without word of the run after which a worker ends its sandbox.
    """

    run_id: str
    kind: str = "auto"
    packages: tuple[str, ...] = ()
    image: str = "auto"
    python: Path | None = None
    offline_author: bool = False
    warm: bool = True
    lease: float = 60.0


class Guest:
    """A run on this worker.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: GuestSettings) -> None:
        self._settings = settings
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._sandbox: Sandbox | None = None
        self._running: set[str] = set()
        self._ended: set[str] = set()
        self._closed = threading.Event()
        self.heard()
        threading.Thread(target=self._watch, name="aide-lease", daemon=True).start()

    def heard(self) -> None:
        """The run was heard of just now."""
        self._seen = time.monotonic()

    @property
    def sandbox(self) -> Sandbox:
        """The run's sandbox here, made on first use; raises what `make_sandbox` does."""
        with self._making:
            if self._closed.is_set():
                raise SandboxError("the run has left this worker")
            if self._sandbox is None:
                made = self._settings
                self._sandbox = make_sandbox(
                    made.kind,
                    # Workers of one machine share an engine, and need names of their own there.
                    run_id=made.run_id + secrets.token_hex(2),
                    packages=made.packages,
                    image=made.image,
                    python=made.python,
                    offline_author=made.offline_author,
                    warm=made.warm,
                )
            return self._sandbox

    @contextlib.contextmanager
    def working(self, key: str) -> Iterator[Sandbox]:
        """The sandbox while an attempt runs in it, for `end` to find."""
        sandbox = self.sandbox
        with self._lock:
            if key in self._ended:
                raise SandboxError("cancelled")
            self._running.add(key)
        try:
            yield sandbox
        finally:
            with self._lock:
                self._running.discard(key)

    def end(self, key: str) -> bool:
        """End an attempt that runs, and with it the run's others; True if it still is running."""
        with self._lock:
            self._ended.add(key)
            running = key in self._running
        if running and self._sandbox is not None:
            self._sandbox.cancel()
        return running

    def close(self) -> None:
        self._closed.set()
        with self._making:
            if self._sandbox is not None:
                self._sandbox.close()

    def _watch(self) -> None:
        lease = self._settings.lease
        while not self._closed.wait(lease / 4):
            if time.monotonic() - self._seen > lease:
                leave(self._settings.run_id)


_guests: dict[str, Guest] = {}
_lock = threading.Lock()


def guest(settings: GuestSettings) -> Guest:
    """A run's place in this process, made on first use."""
    with _lock:
        if settings.run_id not in _guests:
            _guests[settings.run_id] = Guest(settings)
        found = _guests[settings.run_id]
    found.heard()
    return found


def leave(run_id: str) -> None:
    """End a run's sandbox here, if it has one."""
    with _lock:
        found = _guests.pop(run_id, None)
    if found is not None:
        found.close()


def present(run_id: str) -> Guest | None:
    """The place of a run in this process, if it has one."""
    with _lock:
        return _guests.get(run_id)
