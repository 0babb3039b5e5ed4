"""The GPUs of this machine, each leased to one job at a time, whichever process runs it.

There is one lease table for all runs of all users of a machine: a lock file a GPU, which the
kernel frees when its holder dies. Every lease opens its files anew, so that threads of one process
exclude each other as processes do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from aide.errors import SandboxError, UnavailableError

SHARED = Path("/dev/shm")
"""Writable for everybody, gone at the next boot, and not tidied by age as /tmp is."""
TABLE = "table"
PROGRAM, QUERY = "nvidia-smi", ("--query-gpu=uuid", "--format=csv,noheader")
VISIBLE = "CUDA_VISIBLE_DEVICES"
QUERY_SECONDS = 5
POLL_SECONDS = 0.2
UUID = re.compile(r"(GPU|MIG)-[\w-]+")


class Gpus:
    """The GPUs that jobs may have.

    Args:
        uuids: of all of them, as the driver names them.
        folder: where the lock files are; the same for all who share the GPUs.
    """

    def __init__(self, uuids: Sequence[str], folder: Path = SHARED) -> None:
        # All take them in the same order, so that few meet halfway.
        self.uuids, self._folder = tuple(sorted(uuids)), folder

    @classmethod
    def find(cls, folder: Path = SHARED) -> Gpus:
        """Those that the driver lists and `CUDA_VISIBLE_DEVICES` allows; none where it is not
        installed or does not work. Takes up to five seconds."""
        return cls(_visible(_listed()), folder)

    @contextlib.contextmanager
    def lease(self, count: int, cancelled: Callable[[], bool]) -> Iterator[tuple[str, ...]]:
        """Have some GPUs for oneself, all or none; waits until so many are free.

        Args:
            count: how many; none of 0.
            cancelled: asked while it waits; True to give up.

        Yields:
            Their UUIDs.

        Raises:
            UnavailableError: there are fewer on this machine.
            SandboxError: it was cancelled.
        """
        if count > len(self.uuids):
            raise UnavailableError(
                f"this machine has {len(self.uuids)} GPUs and gpus = {count} was asked for; ask "
                f"for fewer, or see why {PROGRAM} does not list them"
            )
        with contextlib.ExitStack() as held:
            uuids = self._take(count, held)
            while len(uuids) < count:
                if cancelled():
                    raise SandboxError(f"cancelled while it waited for {count} GPUs")
                time.sleep(POLL_SECONDS)
                uuids = self._take(count, held)
            yield uuids

    def _take(self, count: int, held: contextlib.ExitStack) -> tuple[str, ...]:
        """Lock so many if as many are free now, to be freed with `held`; else none."""
        if count == 0:
            return ()
        with contextlib.ExitStack() as stack:
            # Two that each hold half of what they want would come back for ever.
            if not self._lock(TABLE, stack):
                return ()
            with contextlib.ExitStack() as locks:
                free: list[str] = []
                for uuid in self.uuids:
                    if len(free) < count and self._lock(uuid, locks):
                        free.append(uuid)
                if len(free) == count:
                    held.push(locks.pop_all())
                    return tuple(free)
        return ()

    def _lock(self, name: str, held: contextlib.ExitStack) -> bool:
        """Lock a file without waiting, to be freed with `held`; False if another has it."""
        path = self._folder / f"aide-gpu-{name}.lock"
        try:
            descriptor = _open(path)
        except OSError as error:
            raise UnavailableError(f"the lease of a GPU cannot be kept in {path}: {error}") from (
                error
            )
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            # A file that was removed meanwhile is no longer the one that others lock.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.lstat()):
                    held.push(stack.pop_all())
                    return True
        return False


def _open(path: Path) -> int:
    """Open a lock file, made if it is not there; no link is followed, nothing can be written.

    In a folder that all may write to, the kernel refuses O_CREAT on another user's file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
            os.fchmod(descriptor, 0o444)
            return descriptor
        return os.open(path, flags)


def _listed() -> list[str]:
    program = shutil.which(PROGRAM)
    if program is None:
        return []
    try:
        said = subprocess.run(
            [program, *QUERY], capture_output=True, check=True, timeout=QUERY_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return []
    lines = said.stdout.decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if UUID.fullmatch(line.strip())]


def _visible(uuids: list[str]) -> list[str]:
    """What the environment leaves of them, by number or by the start of a UUID."""
    named = os.environ.get(VISIBLE)
    if named is None:
        return uuids
    words = [word.strip() for word in named.split(",") if word.strip()]
    return [
        uuid
        for number, uuid in enumerate(uuids)
        if any(
            word == str(number) or (word[:1].isalpha() and uuid.startswith(word)) for word in words
        )
    ]
