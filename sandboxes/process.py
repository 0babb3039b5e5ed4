"""Programs as plain processes: for trying things out, and for code that is trusted.

Does not protect against: reading every file that the user can read; writing outside of the
program's folder where the user may; seeing and signalling the user's other processes; talking to
local services over unix sockets (a Docker engine's among them); stopping its own supervisor (then
the host ends it, five seconds late) or killing it (which counts as the sandbox's failure); and, as
root, all that root may do without capabilities.

Holds: no network sockets, by a filter of system calls; no capabilities; nothing of the host's
environment; a copy of the input, so that the original stays as it is; time; the death of every
process that it started. Memory, processes and processors are kept by a control group where one can
be made, else memory and processes are polled ten times a second; so is disk, always.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aide.interfaces import Execution, Job
from aide.sandboxes import cgroup
from aide.sandboxes.base import INSIDE, SupervisedSandbox, environment
from aide.sandboxes.control import Control, remove_tree, temporary_folder
from aide.sandboxes.environment import Environment
from aide.sandboxes.handle import Handle
from aide.sandboxes.local import LocalHandle
from aide.sandboxes.seccomp import LOCAL_ONLY
from aide.sandboxes.watch import threads_of

TEMPORARY = re.compile(r"/[^\s\"']*/aide-[\w.]+-\w+/job")
ABOUT = "plain processes, NOT isolated: programs can read and change your files"


class ProcessHandle(LocalHandle):
    """A plain process in a temporary folder of its own.

    Args:
        python: the interpreter.
        job: what it is for.
        control: where its supervisor meets us.
        cgroups: as for `ProcessSandbox`.
    """

    def __init__(self, python: Path, job: Job, control: Control, cgroups: bool) -> None:
        self._top = temporary_folder()
        self.folder = self._top / "job"
        for name in ("job", "job/working", "tmp"):
            (self._top / name).mkdir()
        self._copy(job.input)
        home, path = str(self._top / "tmp"), f"{python.parent}:/usr/bin:/bin"
        super().__init__(
            [str(python), *control.command(control.folder, 0)],
            {**environment(job.limits, home=home, path=path), "TMPDIR": home},
            job.limits,
            watched=(self.folder, self._top / "tmp"),
            sweep=lambda: kill_by_home(home),
            cgroups=cgroups,
        )

    def _copy(self, source: Path) -> None:
        """The input as a copy that cannot be written, linked into the program's folder."""
        target = self._top / "input"
        shutil.copytree(source, target)
        for path in (target, *target.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        (self.folder / "input").symlink_to(target)

    def release(self) -> None:
        super().release()
        remove_tree(self._top)


class ProcessSandbox(SupervisedSandbox):
    """Runs each job as a plain process.

    Args:
        python: the solutions' environment.
        cgroups: False to poll memory and processes even where a control group could be made.
        warm: False to have `prepare` do nothing.
    """

    name = "process"
    families = LOCAL_ONLY

    def __init__(self, python: Environment, *, cgroups: bool = True, warm: bool = True) -> None:
        super().__init__(python.packages, ABOUT, warm)
        self._python, self._cgroups = python.python, cgroups
        cgroup.sweep()

    def run(self, job: Job) -> Execution:
        done = super().run(job)
        # The folder's random name would make the output of equal runs differ.
        return replace(done, output=TEMPORARY.sub(INSIDE, done.output))

    def launch(self, job: Job, control: Control, gpus: Sequence[str]) -> Handle:
        return ProcessHandle(self._python, job, control, self._cgroups)

    def orders(self, job: Job, handle: Handle) -> dict[str, Any]:
        assert isinstance(handle, ProcessHandle)
        orders = {**super().orders(job, handle), "folder": str(handle.folder), "sized": []}
        if handle.cgroup is None:
            limit = threads_of(os.getuid()) + job.limits.pids
            orders["rlimits"] = {**orders["rlimits"], "RLIMIT_NPROC": limit}
        return orders


def kill_by_home(home: str) -> None:
    """Kill the processes that were started with this home folder and outlived their supervisor."""
    mark = f"HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
