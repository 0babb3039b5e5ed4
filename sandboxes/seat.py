"""A place for one program: a supervisor that is up, or coming up. Used once, then thrown away."""

from __future__ import annotations

import select
import socket
import time

from aide.sandboxes.control import Control
from aide.sandboxes.handle import Handle

START_SECONDS = 60.0


class Seat:
    """One launched supervisor. It belongs to one thread at a time, but for `handle.kill`.

    Args:
        control: where the supervisor meets us; ended with the seat.
        handle: the sandbox that it runs in; ended with the seat.

    Attributes:
        handle: as given.
        pid: the supervisor's process id as the host sees it; 0 until it is ready.
    """

    def __init__(self, control: Control, handle: Handle) -> None:
        self.handle, self.pid = handle, 0
        self._control = control
        self._link: socket.socket | None = None
        self._since = 0.0

    def wait(self) -> socket.socket:
        """The connection to the supervisor, once it is ready for a program.

        Raises:
            SandboxError: it did not come up in time.
        """
        if self._link is None:
            self._link, self.pid = self._control.accept(self.handle, START_SECONDS)
            self._since = time.monotonic()
            self.handle.admit(self.pid)
        return self._link

    @property
    def waiting(self) -> float:
        """Seconds since it was ready."""
        return time.monotonic() - self._since

    @property
    def works(self) -> bool:
        """False if its supervisor has died since it was ready, as when an engine restarts."""
        # It has nothing to say before it has a program, so what can be read is the end.
        return self._link is not None and not select.select([self._link], [], [], 0)[0]

    def close(self) -> None:
        """End it, and free what it holds on the host."""
        # The end of the connection ends an idle supervisor, before anything has to kill it.
        if self._link is not None:
            self._link.close()
        self._control.close()
        self.handle.release()
