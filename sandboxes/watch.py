"""Limits that a poll keeps where no control group can: memory, processes and files of a tree."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aide.interfaces import Limits

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Process:
    """A living process: its parent, its user, its threads, the bytes that it has resident."""

    pid: int
    parent: int
    uid: int
    threads: int
    resident: int


def processes() -> list[Process]:
    """Every living process that can be seen."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        # A process may end between the listing and the reading.
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                size = int(fields[21]) * PAGE
                uid = entry.stat().st_uid
                found.append(Process(int(entry.name), int(fields[1]), uid, int(fields[17]), size))
    return found


def tree(root: int) -> list[Process]:
    """A process and all below it."""
    alive = processes()
    found = [process for process in alive if process.pid == root]
    level = {root}
    while level:
        below = [process for process in alive if process.parent in level]
        found += below
        level = {process.pid for process in below}
    return found


def threads_of(uid: int) -> int:
    """How many threads a user has now."""
    return sum(process.threads for process in processes() if process.uid == uid)


def proportional(process: Process) -> int:
    """The bytes that a process has resident, shared ones in proportion."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return process.resident


def stored(folders: Iterable[Path]) -> int:
    """The bytes that the files below some folders take up, links not followed."""
    total, stack = 0, [str(folder) for folder in folders]
    while stack:
        with contextlib.suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def over(root: int, limits: Limits) -> str:
    """Which limit a tree of processes has passed: "memory", "processes", or ""."""
    members = tree(root)
    bound = limits.memory_mb << 20
    # Resident bytes count shared pages once a process: the true sum is dear, so it comes last.
    resident = sum(member.resident for member in members)
    if resident > bound and sum(proportional(member) for member in members) > bound:
        return "memory"
    if sum(member.threads for member in members) > limits.pids + 1:
        return "processes"
    return ""
