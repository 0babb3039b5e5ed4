"""Where an engine listens."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

SYSTEM_SOCKET, PODMAN_SOCKET = "/var/run/docker.sock", "/run/podman/podman.sock"
OWN_SOCKETS = ("docker.sock", "podman/podman.sock")
KNOCK_SECONDS = 3


def address() -> str:
    """What the environment names, else Docker's socket, else one of the others that are known."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    owned = [str(Path(own, name)) for name in OWN_SOCKETS if own]
    return os.environ.get("DOCKER_HOST") or usable([SYSTEM_SOCKET, *owned, PODMAN_SOCKET])


def usable(sockets: Sequence[str]) -> str:
    """The address of the first socket that we may talk to, else of the first."""
    found = (path for path in sockets if os.access(path, os.R_OK | os.W_OK))
    return f"unix://{next(found, sockets[0])}"


def knock(address: str) -> None:
    """Fail early on a socket that nobody listens on: the client would leave its end open.

    Raises:
        ConnectionError: nobody listens.
    """
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(KNOCK_SECONDS)
            try:
                link.connect(address.removeprefix("unix://"))
            except OSError as error:
                raise ConnectionError(f"it does not answer at {address}") from error
