"""A supervisor that was started as a child of this process, and the means to hold it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aide.interfaces import Limits
from aide.sandboxes import watch
from aide.sandboxes.cgroup import Cgroup
from aide.sandboxes.handle import Handle

REAP_SECONDS = 5.0
MAX_ERRORS = 64_000


class LocalHandle(Handle):
    """A child process with all that runs below it.

    Args:
        command: what to start.
        environment: its whole environment.
        limits: what it may use.
        watched: folders whose files are counted against the disk limit by polling.
        sweep: called after the end, to kill and remove what else the backend made.
        cgroups: False to do without a control group.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        watched: Sequence[Path] = (),
        sweep: Callable[[], None] = lambda: None,
        cgroups: bool = True,
    ) -> None:
        self._limits, self._watched, self._sweep = limits, watched, sweep
        self._pid = 0
        self.cgroup = Cgroup.create(limits) if cgroups else None
        self._errors = os.memfd_create("errors", os.MFD_CLOEXEC)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )

    def failure(self) -> str:
        code = self._process.poll()
        if code is None:
            return ""
        said = os.pread(self._errors, MAX_ERRORS, 0)
        lines = said.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {code}"

    def admit(self, pid: int) -> None:
        self._pid = pid
        if self.cgroup is not None:
            self.cgroup.add(pid)

    def over(self) -> str:
        if self._watched and watch.stored(self._watched) > self._limits.disk_mb << 20:
            return "disk"
        if self.cgroup is None:
            return watch.over(self._pid, self._limits)
        return ""

    def oom_kills(self) -> int:
        return 0 if self.cgroup is None else self.cgroup.oom_kills()

    def peak_kb(self) -> int:
        return 0 if self.cgroup is None else self.cgroup.peak_kb()

    def kill(self) -> None:
        if not self._pid:
            # One that is still coming up is in no group yet, and bubblewrap, which has no rights
            # over another user's process, does not take it along.
            for process in watch.tree(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        self._process.kill()
        if self.cgroup is not None:
            self.cgroup.kill()
        self._sweep()

    def last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"exit code {self._process.wait(REAP_SECONDS)}"
        return "still running"

    def release(self) -> None:
        # After its report a supervisor ends by itself; only one that does not is killed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_SECONDS)
        if self.cgroup is not None:
            self.cgroup.remove()
        os.close(self._errors)
