"""A Docker engine of a test's own, to stop and start at will; the machine's stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

START_SECONDS, STOP_SECONDS = 60.0, 30.0


class OwnEngine:
    """An engine with folders, socket, network and containerd of its own. A context manager.

    Args:
        folder: for all of its files; a short path, since sockets' paths are limited.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: it does not come up.
        """
        # Left by a killed one, they would keep the next from starting.
        for pattern in ("docker.pid", "exec/**/*.pid", "docker.sock"):
            for path in self._folder.glob(pattern):
                path.unlink(missing_ok=True)
        command = [
            # On the machine's own network it would take the other engine's bridge away.
            *("unshare", "--net", "dockerd"),
            *("--data-root", f"{self._folder}/data", "--exec-root", f"{self._folder}/exec"),
            *("--pidfile", f"{self._folder}/docker.pid", "--host", self.address),
            *("--bridge", "none", "--iptables=false", "--ip6tables=false"),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > end:
                last = (self._folder / "log").read_text(errors="replace").splitlines()[-5:]
                raise RuntimeError(f"the test's own engine does not start: {last}")
            time.sleep(0.05)

    def answers(self) -> bool:
        """True if it takes requests. Asked by hand: docker's client would leave sockets open."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            try:
                link.connect(f"{self._folder}/docker.sock")
                link.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 OK" in link.recv(100)
            except OSError:
                return False

    def stop(self, sign: signal.Signals) -> None:
        """End it, and what it has started beside the containers: a killed one leaves that."""
        assert self._process is not None
        self._process.send_signal(sign)
        self._process.wait(STOP_SECONDS)
        self._process = None
        for pid in self._children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sign)

    def _children(self) -> list[int]:
        """Its containerd, by the path of its configuration: its own folder is in it."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if Path(words[0]).name == "containerd" and str(self._folder) in " ".join(words):
                    found.append(int(entry.name))
        return found

    def __enter__(self) -> OwnEngine:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.stop(signal.SIGTERM)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in reversed([each for each in mounts if each.startswith(f"{self._folder}/")]):
            subprocess.run(["umount", mount], check=False)


@contextlib.contextmanager
def own_engine(folder: Path) -> Iterator[OwnEngine]:
    """An engine that runs; a skip where none can be started, a failure where one has to be."""
    missing = [name for name in ("dockerd", "containerd", "unshare") if shutil.which(name) is None]
    if missing or os.getuid():
        why = f"a Docker engine of one's own needs root and {', '.join(missing) or 'more'}"
        if os.environ.get("AIDE_TEST_REQUIRE_DOCKER"):
            pytest.fail(why)
        pytest.skip(why)  # a user's machine, where the engine is not the test's to start
    with OwnEngine(folder) as engine:
        yield engine
