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
import types
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTSTP")
CLEAN_UP_SECONDS = 1.5
CHUNK = 1 << 20
FILE, REFUSED = 0, 1
REASONS = {errno.ENOENT: "missing", errno.ENOTDIR: "missing", errno.ELOOP: "a symbolic link"}
REASONS[errno.ENXIO] = "not a regular file"  # what opening a socket gives
LIBC = ctypes.CDLL(None, use_errno=True)


def control(option: int, value: int, pointer: Any = None) -> None:
    """prctl(2); what an old kernel does not know is left out."""
    LIBC.prctl(option, ctypes.c_ulong(value), pointer, 0, 0)


def become(uid: int) -> None:
    """Give up root for good; the host's paths have been used by now."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    control(PR_SET_PDEATHSIG, signal.SIGKILL)


def drop_capabilities() -> None:
    """Without them, even user 0 has to keep to the modes of files."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    LIBC.capset(header, (ctypes.c_uint32 * 6)())


def filter_calls(program: bytes) -> None:
    """Install a filter of system calls, an array of `struct sock_filter`, for good."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    control(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(head, len(head)))


def limit(orders: dict[str, Any]) -> None:
    for name, value in orders["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    # Where memory runs out, the kernel is to pick the program, never its supervisor.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def become_program(orders: dict[str, Any], output: int) -> None:
    """In the forked child: its own session, output and limits, and nothing of the supervisor's."""
    signal.set_wakeup_fd(-1)
    for name in ("SIGCHLD", *IGNORED):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 256)
    control(PR_SET_DUMPABLE, 1)
    limit(orders)
    drop_capabilities()
    filter_calls(bytes.fromhex(orders["filter"]))


def show_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A traceback of the program's own frames."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def execute(path: str) -> None:
    """Run a file as `python path` does: as `__main__`, importable by its worker processes."""
    # This module has to outlive the exchange, or its globals go while it runs.
    _kept, main = sys.modules["__main__"], types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = [path], str(Path(path).parent)
    sys.excepthook = show_error
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)


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


def report(why: str, status: int | None, orders: dict[str, Any]) -> bytes:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    full = False
    for folder in orders["sized"]:
        left = os.statvfs(folder)
        full = full or left.f_bavail * left.f_frsize < 1 << 16 or left.f_favail == 0
    oom = 0
    for path in orders["oom_files"]:
        with contextlib.suppress(OSError):
            lines = Path(path).read_text().splitlines()
            oom += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    said = {
        "why": why,
        "code": None if status is None else os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "maxrss_kb": used.ru_maxrss,
        "oom": oom,
        "disk_full": full,
    }
    return json.dumps(said).encode()


def arrive(address: str, uid: int) -> socket.socket:
    """Connect to the host, close this process to the program to come, say that it is ready."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(address)
    if uid:
        become(uid)
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    control(PR_SET_DUMPABLE, 0)  # otherwise the program could trace its supervisor
    control(PR_SET_CHILD_SUBREAPER, 1)
    control(PR_SET_NO_NEW_PRIVS, 1)
    link.send(b"ready")
    return link


def main(address: str, uid: int) -> None:
    """Serve one job. Returns in the forked child only, after the program's last line."""
    link = arrive(address, uid)
    message, descriptors, _, _ = socket.recv_fds(link, 1 << 16, 3)
    if not message:
        os._exit(0)
    orders, (program, output, files) = json.loads(message), descriptors
    lay_out(orders["folder"], program)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        # Its number will be in use again; this object must not close it a second time.
        link.close()
        become_program(orders, output)
        return execute(orders["folder"] + "/solution.py")
    os.close(output)
    why, status = supervise(child, orders["seconds"], link, wake)
    status = end_all(child, status)
    if why:
        link.send(report(why, status, orders))
        for name, cap in orders["outputs"].items():
            hand_over(orders["folder"], name, cap, files)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
