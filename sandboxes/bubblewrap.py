"""Programs under bubblewrap, where no engine answers: namespaces without a daemon.

Holds: no network; own process, mount, IPC and host-name namespaces; not root (a user of no rights
for root, else a user namespace); no capabilities, no new privileges, our filter of system calls;
a root folder with nothing but /usr and the solutions' Python, read-only, as is the input; the size
of all files; nothing of the host's environment. Memory, processes and processors are kept by a
control group where one can be made.

Does not protect against: a hole in the kernel, which here has more surface than under an engine;
reading the host's /usr and the solutions' Python; the number of files, other than by the memory
that they take. Without a control group (`about` says so) memory and processes are polled ten times
a second, so a program can pass them for a moment, and processors are not limited.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aide.errors import SandboxError, UnavailableError
from aide.interfaces import Job, Limits
from aide.sandboxes import cgroup
from aide.sandboxes.base import (
    INSIDE,
    NOBODY,
    TMP_SHARE,
    SupervisedSandbox,
    check_readable,
    environment,
)
from aide.sandboxes.control import Control
from aide.sandboxes.environment import Environment
from aide.sandboxes.handle import Handle
from aide.sandboxes.local import LocalHandle
from aide.sandboxes.mirror import Mirror, mirror
from aide.sandboxes.watch import threads_of

CONTROL = "/run/aide"
SHARED_MB = 64
NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
DROP = ("--cap-drop", "ALL")
BECOME = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
USER = ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))


class BubblewrapSandbox(SupervisedSandbox):
    """Runs each job in namespaces of its own. A short program is tried out at construction.

    Args:
        python: the solutions' environment.
        cgroups: False to poll memory and processes even where a control group could be made.
        warm: False to have `prepare` do nothing.

    Raises:
        UnavailableError: bubblewrap is missing, or may not make namespaces here.
    """

    name = "bubblewrap"

    def __init__(self, python: Environment, *, cgroups: bool = True, warm: bool = True) -> None:
        program = find_program()
        super().__init__(python.packages, "", warm)
        self._program, self._mirror, self._cgroups = program, mirror(python.python), cgroups
        cgroup.sweep()
        # A true change of user is the stronger way, but inside a container root may not do it.
        self._drops_root = os.getuid() == 0
        problem = self._trial()
        if problem and self._drops_root:
            self._drops_root = False
            problem = self._trial()
        if problem:
            raise UnavailableError(
                f"bubblewrap is installed but does not work here ({problem}); start Docker, or "
                "use --sandbox process"
            )
        self._about = f"{_version(program)}: namespaces, seccomp; {_limits_by(cgroups)}"

    def _trial(self) -> str:
        with tempfile.TemporaryDirectory(prefix="aide-trial-") as folder:
            shown = Path(folder, "input")
            shown.mkdir()
            shown.chmod(0o755)
            job = Job("trial", "pass", shown, {}, Path(folder), Limits(seconds=30, memory_mb=512))
            try:
                done = self.run(job)
            except SandboxError as error:
                return str(error)
        return "" if done.status == "ok" else done.output[-200:]

    def launch(self, job: Job, control: Control, gpus: Sequence[str]) -> Handle:
        if self._drops_root:
            check_readable(job.input, NOBODY)
        command = bubblewrap_command(self._program, self._mirror, job, control, self._drops_root)
        return LocalHandle(command, {}, job.limits, cgroups=self._cgroups)

    def orders(self, job: Job, handle: Handle) -> dict[str, Any]:
        orders = super().orders(job, handle)
        if isinstance(handle, LocalHandle) and handle.cgroup is None:
            user = NOBODY if self._drops_root else os.getuid()
            orders["rlimits"]["RLIMIT_NPROC"] = threads_of(user) + job.limits.pids
        return orders


def bubblewrap_command(
    program: str, shown: Mirror, job: Job, control: Control, drops_root: bool
) -> list[str]:
    """The command line that starts a supervisor for a job."""
    share = (job.limits.disk_mb << 20) // TMP_SHARE
    room = (job.limits.disk_mb << 20) - share
    command = [program, *NAMESPACES, *(() if drops_root else USER), "--unshare-cgroup-try"]
    command += ["--as-pid-1", "--die-with-parent", "--new-session", *DROP]
    command += [*(BECOME if drops_root else ()), "--hostname", "sandbox", "--clearenv"]
    for name, value in environment(job.limits, home="/tmp", path="/usr/bin:/bin").items():
        command += ["--setenv", name, value]
    command += ["--perms", "1777", "--size", str(share), "--tmpfs", "/tmp"]
    for folder in shown.folders:
        # Left to itself, bubblewrap makes the folders above closed to all but root.
        for above in reversed(folder.parents[:-1]):
            command += ["--perms", "0755", "--dir", str(above)]
        command += ["--ro-bind", str(folder), str(folder)]
    for link, target in shown.links.items():
        command += ["--symlink", target, link]
    if shown.hide_local:
        command += ["--size", "4096", "--tmpfs", "/usr/local", "--remount-ro", "/usr/local"]
    command += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777"]
    command += ["--size", str(SHARED_MB << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    command += ["--perms", "0777", "--size", str(room), "--tmpfs", INSIDE]
    command += ["--ro-bind", str(job.input.absolute()), f"{INSIDE}/input"]
    command += ["--ro-bind", str(control.folder), CONTROL, "--remount-ro", "/", "--chdir", INSIDE]
    return [*command, str(shown.python), *control.command(CONTROL, NOBODY if drops_root else 0)]


def find_program() -> str:
    """Where bubblewrap is.

    Raises:
        UnavailableError: it is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise UnavailableError("bubblewrap is not installed; install it, or start Docker")
    return program


def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _limits_by(cgroups: bool) -> str:
    group = cgroup.Cgroup.create(Limits()) if cgroups else None
    if group is None:
        return "memory and processes only POLLED, for want of a control group: weaker"
    group.remove()
    return f"memory, processes and processors kept by cgroup v{group.version}"
