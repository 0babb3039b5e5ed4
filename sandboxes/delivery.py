"""Input folders brought to the Dask workers that lack them, each once."""

from __future__ import annotations

import secrets
import threading
from collections import defaultdict
from pathlib import Path

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes import far
from aide.sandboxes.cluster import Cluster
from aide.sandboxes.shipping import content_hash, pack

PIECE_SECONDS = 60.0
CHECK_SECONDS = 600.0
"""How long a worker may take to hash or unpack a view."""
SENDINGS = 2


class Delivery:
    """Knows the views by their hashes and sends them; from many threads at once.

    Args:
        cluster: whose workers are to have them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._hashing = threading.Lock()
        self._hashes: dict[tuple[str, int, int], str] = {}
        self._sending: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        self.sent: list[tuple[str, str]] = []
        """What was sent: each view's hash, with the worker."""

    def digest(self, view: Path) -> str:
        """The hash of a view, computed once.

        Raises:
            UnavailableError: there is no such folder, or it cannot be read.
        """
        if not view.is_dir():
            raise UnavailableError(f"the input folder {view} does not exist")
        found = view.stat()
        # A folder made anew under an old name is another view.
        key = (str(view.absolute()), found.st_ino, found.st_mtime_ns)
        with self._hashing:
            if key not in self._hashes:
                try:
                    self._hashes[key] = content_hash(view)
                except OSError as error:
                    raise _unreadable(view, error) from error
            return self._hashes[key]

    def bring(self, view: Path, worker: str) -> None:
        """Have a view on a worker; nothing is sent if it is there.

        Raises:
            SandboxError: the worker does not answer, or cannot keep what it is sent.
            UnavailableError: there is no such folder, or it cannot be read.
        """
        digest = self.digest(view)
        ask = self._cluster.ask_one
        with self._hashing:
            lock = self._sending[digest, worker]
        with lock:
            if ask(worker, far.has_view, digest, seconds=CHECK_SECONDS):
                return
            for _ in range(SENDINGS):
                parcel = self._send(view, worker)
                self.sent.append((digest, worker))
                if ask(worker, far.settle_view, parcel, digest, seconds=CHECK_SECONDS):
                    return
        raise SandboxError(
            f"the data of a job reached the Dask worker {worker} damaged, {SENDINGS} times; "
            "see whether the disk of its cache is full"
        )

    def _send(self, view: Path, worker: str) -> str:
        """Send a view in pieces; the name of this sending."""
        parcel = secrets.token_hex(4)

        def send(piece: bytes) -> None:
            self._cluster.ask_one(worker, far.add_piece, parcel, piece, seconds=PIECE_SECONDS)

        try:
            pack(view, send)
        except OSError as error:
            raise _unreadable(view, error) from error
        return parcel


def _unreadable(view: Path, error: OSError) -> UnavailableError:
    return UnavailableError(f"the input folder {view} cannot be read: {error}")
