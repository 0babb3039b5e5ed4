"""The meeting place of the host and a supervisor: a folder with the program and a socket."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from types import TracebackType

from aide.errors import SandboxError
from aide.sandboxes.handle import Handle
from aide.sandboxes.owner import Owner

SUPERVISOR, SOCKET = "supervisor.py", "socket"
PROGRAMS = (SUPERVISOR, "program.py")
MAX_ADDRESS = 100


class Control:
    """A folder that is shown inside, read-only, and the listening socket in it.

    The supervisor connects to the host, never the other way round: the host opens no path that
    the inside could swap. The listener is closed once the supervisor is there.

    Args:
        modules: what the supervisor is to import before it says that it is ready.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._top = temporary_folder()
        if len(str(self._top)) + len("/control/socket") > MAX_ADDRESS:
            self._top.rmdir()
            self._top = temporary_folder("/tmp")
        # The outer folder keeps other users out; the inner one is what the sandbox's user sees.
        self.folder = self._top / "control"
        self.folder.mkdir()
        self.folder.chmod(0o755)
        for name in PROGRAMS:
            program = self.folder / name
            program.write_bytes(files("aide.sandboxes").joinpath(name).read_bytes())
            program.chmod(0o644)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.folder / SOCKET))
        (self.folder / SOCKET).chmod(0o666)
        self._listener.listen(1)

    def command(self, folder: str | Path, uid: int) -> list[str]:
        """What follows the interpreter on a supervisor's command line.

        Args:
            folder: where this folder is shown inside.
            uid: the user to become, 0 to stay as it is.
        """
        return [f"{folder}/{SUPERVISOR}", f"{folder}/{SOCKET}", str(uid), *self.modules]

    def accept(self, handle: Handle, timeout: float) -> tuple[socket.socket, int]:
        """Wait for the supervisor: its connection, and its process id as the host sees it.

        Raises:
            SandboxError: it did not come up within the time-out, in seconds.
        """
        end = time.monotonic() + timeout
        self._listener.settimeout(0.25)
        while True:
            try:
                link, _ = self._listener.accept()
                break
            except TimeoutError:
                failure = handle.failure()
                if failure or time.monotonic() > end:
                    reason = failure or f"nothing heard of it within {timeout:g} s"
                    raise SandboxError(f"the sandbox did not start: {reason}") from None
        self._listener.close()
        link.settimeout(timeout)
        try:
            if link.recv(64) != b"ready":
                raise SandboxError("the sandbox did not start: it ended before it was ready")
            who = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except BaseException:  # raised again
            link.close()
            raise
        return link, struct.unpack("3i", who)[0]

    def __enter__(self) -> Control:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the meeting place. Safe to call twice."""
        self._listener.close()
        shutil.rmtree(self._top, ignore_errors=True)


def temporary_folder(parent: str | None = None) -> Path:
    """A folder whose name tells its owner, for `sweep` to find after the owner's death."""
    return Path(tempfile.mkdtemp(prefix=f"aide-{Owner.me().token}-", dir=parent))


def sweep() -> None:
    """Remove the temporary folders whose owner is dead."""
    me = Owner.me()
    for folder in Path(tempfile.gettempdir()).glob("aide-*"):
        owner = Owner.from_token(folder.name, me)
        if owner is not None and owner.is_dead(me):
            remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder that a program had in hand: closed, or nested too deep for shutil."""
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", str(folder)], capture_output=True, check=False)
