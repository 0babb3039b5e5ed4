"""The first process of every sandbox: runs one program, says how it ended, hands over its files.

Runs inside, where only Python's standard library (3.9 or newer) can be counted on. It connects to
the host's socket, says that it is ready, and receives one message: the orders as JSON, with three
file descriptors (the program's text; a pipe for its output; a pipe for the files that it leaves).
The end of the connection means that the host is gone, and ends everything. It is PID 1 of its own
namespace, or else a subreaper, so that no process of the program can get away from it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTSTP")
CLEAN_UP_SECONDS = 1.5
CHUNK = 1 << 20
FILE, REFUSED = 0, 1
REASONS = {errno.ENOENT: "missing", errno.ENOTDIR: "missing", errno.ELOOP: "a symbolic link"}
REASONS[errno.ENXIO] = "not a regular file"  # what opening a socket gives
LIBC = ctypes.CDLL(None, use_errno=True)


def control(option: int, value: int) -> None:
    """prctl(2); what an old kernel does not know is left out."""
    LIBC.prctl(option, ctypes.c_ulong(value), None, 0, 0)


def become(uid: int) -> None:
    """Give up root for good; the host's paths have been used by now."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    control(PR_SET_PDEATHSIG, signal.SIGKILL)


def lay_out(folder: str, program: int) -> None:
    """Write `solution.py` and make `working/`."""
    os.chdir(folder)
    Path("working").mkdir(exist_ok=True)
    with os.fdopen(program, "rb") as source:
        Path("solution.py").write_bytes(source.read())


def descendants() -> set[int]:
    """The living processes below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        # A process may end between the listing and the reading.
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    more = {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found


def reap(program: int, known: int | None = None) -> int | None:
    """Take in every ended child; the program's wait status once it has ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            known = ended[1] if ended[0] == program else known
    return known


def supervise(
    program: int, seconds: float, link: socket.socket, wake: int
) -> tuple[str, int | None]:
    """Wait for the program's end: why it is over, and its wait status if it has ended.

    Why is "exit", "timeout", what the host said ("memory", "disk"), or "" if the host is gone.
    """
    end = time.monotonic() + seconds
    while True:
        left = max(0.0, end - time.monotonic())
        ready, _, _ = select.select([link.fileno(), wake], [], [], min(left, 3600.0))
        if wake in ready:
            os.read(wake, 512)
        status = reap(program)
        if status is not None:
            return "exit", status
        if link.fileno() in ready:
            return link.recv(64).decode(), None
        if time.monotonic() >= end:
            return "timeout", None


def end_all(program: int, status: int | None) -> int | None:
    """Kill whatever is left and take it in; the program's wait status."""
    end = time.monotonic() + CLEAN_UP_SECONDS
    while has_children() and time.monotonic() < end:
        for pid in [-1] if os.getpid() == 1 else descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
        status = reap(program, status)
    return status


def has_children() -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    return False


def open_output(folder: str, name: str) -> int:
    """Open a regular file without following a link at any step, or waiting for a writer."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    place = os.open(folder, flags)
    for part in name.split("/"):
        try:
            if stat.S_ISLNK(os.stat(part, dir_fd=place, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, "a link")
            inner = os.open(part, flags, dir_fd=place)
        finally:
            os.close(place)
        place = inner
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise OSError(errno.ENXIO, "")
    return place


def hand_over(folder: str, name: str, cap: int, pipe: int) -> None:
    """Send one file as a header (kind, length) and its bytes, or the reason why not."""
    try:
        file = open_output(folder, name)
    except OSError as error:
        return refuse(REASONS.get(error.errno or 0, f"cannot be read: {error.strerror}"), pipe)
    with os.fdopen(file, "rb", buffering=0) as source:
        found = os.fstat(file)
        if found.st_size > cap:
            return refuse(f"larger than {cap} bytes", pipe)
        write(pipe, struct.pack("!BQ", FILE, found.st_size))
        while block := source.read(CHUNK):
            write(pipe, block)
    return None


def refuse(reason: str, pipe: int) -> None:
    text = reason.encode()
    write(pipe, struct.pack("!BQ", REFUSED, len(text)) + text)


def write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def counted(path: str, *names: str) -> int:
    """The sum of some lines of a control group's file; 0 if there is none."""
    with contextlib.suppress(OSError):
        lines = [line.split() for line in Path(path).read_text().splitlines()]
        return sum(int(line[1]) for line in lines if line[0] in names)
    return 0


def peak_kb(path: str) -> int:
    """The most memory that a control group had, in KiB, without files that are merely cached."""
    with contextlib.suppress(OSError):
        cached = counted(str(Path(path).with_name("memory.stat")), "active_file", "inactive_file")
        return max(0, int(Path(path).read_text()) - cached) >> 10
    return 0


def report(why: str, status: int | None, orders: dict[str, Any]) -> bytes:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    full = False
    for folder in orders["sized"]:
        left = os.statvfs(folder)
        full = full or left.f_bavail * left.f_frsize < 1 << 16 or left.f_favail == 0
    said = {
        "why": why,
        "code": None if status is None else os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "maxrss_kb": used.ru_maxrss,
        "oom": sum(counted(path, "oom_kill") for path in orders["oom_files"]),
        "disk_full": full,
        "peak_kb": max([0, *map(peak_kb, orders["peak_files"])]),
    }
    return json.dumps(said).encode()


def arrive(address: str, uid: int) -> socket.socket:
    """Connect to the host, and close this process to the program to come."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(address)
    if uid:
        become(uid)
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    control(PR_SET_DUMPABLE, 0)  # otherwise the program could trace its supervisor
    control(PR_SET_CHILD_SUBREAPER, 1)
    control(PR_SET_NO_NEW_PRIVS, 1)
    return link


def main(address: str, uid: int, modules: list[str]) -> None:
    """Serve one job. Returns in the forked child only, after the program's last line."""
    # Shown inside it is a file beside this one, in no package.
    program = importlib.import_module("program")
    link = arrive(address, uid)
    if modules:
        program.load(modules)
    link.send(b"ready")
    message, descriptors, _, _ = socket.recv_fds(link, 1 << 16, 3)
    if not message:
        os._exit(0)
    orders, (text, output, files) = json.loads(message), descriptors
    lay_out(orders["folder"], text)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    child = program.fork()
    if child == 0:
        # Its number will be in use again; this object must not close it a second time.
        link.close()
        program.become(orders, output, IGNORED)
        program.execute(orders["folder"] + "/solution.py")
        return
    os.close(output)
    why, status = supervise(child, orders["seconds"], link, wake)
    status = end_all(child, status)
    if why:
        link.send(report(why, status, orders))
        for name, cap in orders["outputs"].items():
            hand_over(orders["folder"], name, cap, files)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
