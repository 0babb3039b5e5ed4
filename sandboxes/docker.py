"""Programs in containers of a Docker engine: the default, and the strongest of the backends.

Holds: no network; own process, mount and IPC namespaces; not root; no capabilities, no new
privileges, the engine's filter of system calls and ours; a read-only root, the input read-only;
memory with no swap, processors, processes, and the size and number of files kept by the kernel;
nothing of the host's environment. Only containers that carry our label are ever touched.

Does not protect against: a hole in the kernel or the engine; timing and load that programs on one
machine can see of each other; reading the folders of the image, or in mirror mode of the host's
/usr and of the solutions' Python, which hold no secrets unless somebody put them there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from aide.errors import SandboxError
from aide.interfaces import Job, Limits
from aide.sandboxes.base import (
    INSIDE,
    NOBODY,
    TMP_SHARE,
    SupervisedSandbox,
    check_readable,
    environment,
    sandbox_user,
)
from aide.sandboxes.control import Control
from aide.sandboxes.engine import DEADLINE, JOB, OWNER, RUN, Engine, NameTaken
from aide.sandboxes.gpus import Gpus
from aide.sandboxes.handle import Handle
from aide.sandboxes.pool import IDLE_SECONDS
from aide.sandboxes.seat import START_SECONDS

CONTROL = "/run/aide"
PATH = "/usr/local/bin:/usr/bin:/bin"
PERIOD = 100_000
INODES, FILES_AND_PROCESSES = 32_768, 4096
SHARED_MB = 64
NAME_TRIES = 20
PEAK_FILES = (
    "/sys/fs/cgroup/memory.peak",
    "/sys/fs/cgroup/memory/memory.max_usage_in_bytes",
)
OOM_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


@dataclass(frozen=True, slots=True)
class Image:
    """Where containers get their file system from.

    Attributes:
        name: the image.
        python: the interpreter in it.
        folders: host folders to show at the same path, read-only.
        hidden: folders to cover with an empty one.
        packages: what can be imported, name to version.
        about: how it came about, for people.
    """

    name: str
    python: str
    folders: tuple[Path, ...]
    hidden: tuple[str, ...]
    packages: Mapping[str, str]
    about: str


class Container(Handle):
    """One container."""

    def __init__(self, engine: Engine, container: Any) -> None:
        self._engine, self._container = engine, container

    def failure(self) -> str:
        state = self._engine.state(self._container)
        if not state:
            return "its container is gone"
        if state["Status"] in ("created", "running"):
            return ""
        words = self._engine.logs(self._container) or state.get("Error") or "it printed nothing"
        return f"its container ended with exit code {state['ExitCode']}: {words}"

    def kill(self) -> None:
        self._engine.kill(self._container)

    def oom_kills(self) -> int:
        return int(bool(self._engine.state(self._container).get("OOMKilled")))

    def last_words(self) -> str:
        state = self._engine.state(self._container)
        if not state:
            return "its container is gone"
        return f"container {state['Status']}, exit code {state['ExitCode']}"

    def release(self) -> None:
        self._engine.remove(self._container.id)


class DockerSandbox(SupervisedSandbox):
    """Runs each job in a container of its own.

    Args:
        engine: the engine; closed with the sandbox.
        image: the image.
        run_id: names the containers, with the job.
        warm: False to have `prepare` do nothing.

    Raises:
        SandboxError: the engine failed while left-over containers were looked for.
    """

    name = "docker"

    def __init__(self, engine: Engine, image: Image, run_id: str, *, warm: bool = True) -> None:
        about = f"{engine.name} {engine.version}, {image.about}: namespaces, cgroups, seccomp"
        super().__init__(image.packages, about, warm)
        self._podman = engine.name == "podman"
        # A rootless engine's root is the user that it runs as; nobody inside is nobody outside.
        self._user = NOBODY if engine.rootless else sandbox_user()
        self._engine, self._image, self._run_id = engine, image, run_id
        self._attempts: dict[str, int] = {}
        self._naming = threading.Lock()
        self._closed = False
        engine.reap()

    def launch(self, job: Job, control: Control, gpus: Sequence[str]) -> Handle:
        check_readable(job.input, self._user)
        options = self._options(job, control, gpus)
        for _ in range(NAME_TRIES):
            try:
                name = self._container_name(job.name)
                container = self._engine.start(self._image.name, name, options)
            except NameTaken:
                self._engine.reap()
                continue
            return Container(self._engine, container)
        raise SandboxError(f"{NAME_TRIES} container names for job {job.name} are all taken")

    def orders(self, job: Job, handle: Handle) -> dict[str, Any]:
        files = {"oom_files": OOM_FILES, "peak_files": PEAK_FILES}
        return {**super().orders(job, handle), **files}

    @contextmanager
    def gpus(self, count: int, cancelled: Callable[[], bool]) -> Iterator[Sequence[str]]:
        if not count:
            yield ()
            return
        with self._gpus.lease(count, cancelled) as uuids:
            yield uuids

    @cached_property
    def _gpus(self) -> Gpus:
        return Gpus.find()

    def health(self) -> str:
        return self._engine.health()

    def close(self) -> None:
        super().close()
        with self._naming:
            closed, self._closed = self._closed, True
        if not closed:
            self._engine.reap()
            self._engine.close()

    def _container_name(self, job: str) -> str:
        with self._naming:
            attempt = self._attempts[job] = self._attempts.get(job, 0) + 1
        return f"aide-{self._run_id}-{job}-{attempt}"

    def _options(self, job: Job, control: Control, gpus: Sequence[str]) -> dict[str, Any]:
        """Everything that the engine is told, as docker-py names it."""
        limits, user = job.limits, self._user
        deadline = int(time.time() + 2 * START_SECONDS + IDLE_SECONDS + limits.seconds) + 300
        memory = f"{limits.memory_mb}m"
        return {
            "command": [self._image.python, *control.command(CONTROL, 0)],
            "entrypoint": [],
            "user": f"{user}:{user}",
            "working_dir": INSIDE,
            "hostname": "sandbox",
            "environment": environment(limits, home="/tmp", path=PATH),
            "labels": {
                RUN: self._run_id,
                JOB: job.name,
                OWNER: str(self._engine.me),
                DEADLINE: str(deadline),
            },
            "network_mode": "none",
            "ipc_mode": "private",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "read_only": True,
            "restart_policy": {"Name": "no"},
            "mem_limit": memory,
            "memswap_limit": memory,
            "device_requests": _requests(gpus),
            "cpu_period": PERIOD,
            "cpu_quota": max(1000, int(limits.cpus * PERIOD)),
            "pids_limit": limits.pids + 1,
            "ulimits": self._ulimits(),
            "shm_size": f"{SHARED_MB}m",
            "tmpfs": self._tmpfs(limits, user),
            "mounts": self._mounts(job, control),
            # The program's output goes through a pipe; this log holds why a supervisor failed.
            "log_config": LogConfig(type="json-file", config={"max-size": "64k", "max-file": "1"}),
        }

    def _tmpfs(self, limits: Limits, user: int) -> dict[str, str]:
        share = limits.disk_mb * 1024 // TMP_SHARE
        own, hidden, closed = f"nr_inodes={INODES},uid={user},gid={user}", "ro", {}
        if self._podman:
            # It knows neither owners nor a number of files here, copies what is hidden, and has
            # writable folders without a size of its own.
            own, hidden = "notmpcopyup", "ro,notmpcopyup"
            closed = dict.fromkeys(("/run", "/var/tmp"), "rw,notmpcopyup,size=64k,mode=755")
        return {
            INSIDE: f"rw,exec,nosuid,nodev,{own},mode=777,size={limits.disk_mb * 1024 - share}k",
            "/tmp": f"rw,exec,nosuid,nodev,{own},mode=1777,size={share}k",
            **dict.fromkeys(self._image.hidden, f"{hidden},size=4k,mode=755"),
            **closed,
        }

    def _ulimits(self) -> list[Any]:
        # Left to itself, Podman asks for more than a host in a container may give.
        own = {"nofile": FILES_AND_PROCESSES, "nproc": FILES_AND_PROCESSES} if self._podman else {}
        limits = {"core": 0, **own}
        return [Ulimit(name=name, soft=value, hard=value) for name, value in limits.items()]

    def _mounts(self, job: Job, control: Control) -> list[Any]:
        shown = {
            CONTROL: control.folder,
            f"{INSIDE}/input": job.input.absolute(),
            **{str(folder): folder for folder in self._image.folders},
        }
        return [
            Mount(target=target, source=str(source), type="bind", read_only=True)
            for target, source in shown.items()
        ]


def _requests(gpus: Sequence[str]) -> list[Any]:
    """What the engine is asked for by way of devices."""
    return [DeviceRequest(device_ids=list(gpus), capabilities=[["gpu"]])] if gpus else []
