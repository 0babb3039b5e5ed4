"""A control group made by hand, for the backends that have no engine to make one.

Works for root, and for a user to whom the system has delegated a group; versions 1 and 2.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from aide.interfaces import Limits
from aide.sandboxes import supervisor
from aide.sandboxes.owner import Owner

ROOT = Path("/sys/fs/cgroup")
PERIOD = 100_000
REMOVE_SECONDS = 2.0
_numbers = itertools.count(1)


class Cgroup:
    """Keeps memory (no swap), processes and processor time of the processes put into it.

    Args:
        folders: the group, once a hierarchy; the one that counts memory first.
        version: 1 or 2.
    """

    def __init__(self, folders: list[Path], version: int) -> None:
        self.version = version
        self._folders = folders

    @classmethod
    def create(cls, limits: Limits) -> Cgroup | None:
        """A new group with these limits; None where one cannot be made."""
        name = f"aide-{Owner.me().token}-{next(_numbers)}"
        version = 2 if _unified() else 1
        group = cls([], version)
        settings = _settings_2(limits) if version == 2 else _settings_1(limits)
        for controller, files in settings.items():
            if not group._add(controller, name, files) and controller != "cpu":
                group.remove()
                return None
        return group

    def _add(self, controller: str, name: str, files: dict[str, int | str]) -> bool:
        for base in _bases(controller):
            folder = base / name
            try:
                folder.mkdir()
                for file, value in files.items():
                    if not file.startswith("?"):
                        (folder / file).write_text(str(value))
                    elif (folder / file[1:]).exists():
                        (folder / file[1:]).write_text(str(value))
            except OSError:
                with contextlib.suppress(OSError):
                    folder.rmdir()
                continue
            self._folders.append(folder)
            return True
        return False

    def add(self, pid: int) -> None:
        """Put a process in; its later children are in as well."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        file = "memory.events" if self.version == 2 else "memory.oom_control"
        return supervisor.counted(str(self._folders[0] / file), "oom_kill")

    def peak_kb(self) -> int:
        """The most memory that it had at once, in KiB; 0 on a kernel that does not keep it."""
        file = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        return supervisor.peak_kb(str(self._folders[0] / file))

    def pids(self) -> list[int]:
        found: set[int] = set()
        for folder in self._folders:
            with contextlib.suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text().split()))
        return sorted(found)

    def kill(self) -> None:
        """Kill everything in it, again until nothing is left."""
        end = time.monotonic() + REMOVE_SECONDS
        while (pids := self.pids()) and time.monotonic() < end:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    def remove(self) -> None:
        """Kill what is left and remove the group; a folder that stays busy is left to `sweep`."""
        if self._folders:
            self.kill()
        end = time.monotonic() + REMOVE_SECONDS
        for folder in self._folders:
            while folder.exists() and time.monotonic() < end:
                try:
                    folder.rmdir()
                except OSError:
                    time.sleep(0.005)
        self._folders = []


def sweep() -> None:
    """Kill and remove the groups whose owner is dead."""
    me = Owner.me()
    for controller in ("",) if _unified() else ("memory", "pids", "cpu"):
        for base in _bases(controller):
            for folder in base.glob("aide-*"):
                owner = Owner.from_token(folder.name, me)
                if owner is not None and owner.is_dead(me):
                    Cgroup([folder], 1).remove()


def _unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def _bases(controller: str) -> Iterator[Path]:
    """Where a group may be made: below one's own, beside it, at the top."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next(
        (path for _, names, path in (line.split(":", 2) for line in lines) if names == controller),
        "/",
    )
    top = ROOT / controller
    place = top / own.lstrip("/")
    for base in dict.fromkeys((place, place.parent, top)):
        if base.is_dir() and base.is_relative_to(top):
            yield base


def _settings_1(limits: Limits) -> dict[str, dict[str, int | str]]:
    memory = limits.memory_mb << 20
    return {
        "memory": {"memory.limit_in_bytes": memory, "?memory.memsw.limit_in_bytes": memory},
        "pids": {"pids.max": limits.pids + 1},
        "cpu": {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": int(limits.cpus * PERIOD)},
    }


def _settings_2(limits: Limits) -> dict[str, dict[str, int | str]]:
    return {
        "": {
            "memory.max": limits.memory_mb << 20,
            "?memory.swap.max": 0,
            "pids.max": limits.pids + 1,
            "?cpu.max": f"{int(limits.cpus * PERIOD)} {PERIOD}",
        }
    }
