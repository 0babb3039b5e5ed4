"""The host's side of one run: hands the job over, streams the output, takes the files in.

One thread, one loop over three descriptors; nothing that comes from inside can hold it up past
the job's limits.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aide.errors import SandboxError
from aide.interfaces import Job
from aide.sandboxes.handle import Handle
from aide.sandboxes.output import Output
from aide.sandboxes.transfer import Transfer

TICK_SECONDS = 0.1
GRACE_SECONDS = 5.0
LINGER_SECONDS = 2.0
HAND_OVER_SECONDS = 120.0
CHUNK = 1 << 18
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@dataclass(frozen=True, slots=True)
class Report:
    """How the program ended, in the supervisor's words. Numbers only, checked on arrival.

    Attributes:
        why: "exit", "timeout", "memory", "disk"; "lost" where no report came.
        code: the wait status as an exit code, or minus a signal; None if unknown.
        cpu: seconds of processor time of all its processes.
        maxrss_kb: the largest resident size of one of its processes.
        peak_kb: the most that all of them had at once, where a control group knows; else 0.
        oom: processes killed by the kernel for want of memory.
        disk_full: True if one of its size-limited folders has no room left.
    """

    why: str
    code: int | None = None
    cpu: float = 0.0
    maxrss_kb: int = 0
    oom: int = 0
    disk_full: bool = False
    peak_kb: int = 0


@dataclass(slots=True)
class Run:
    """A run in the making, and at its end what is known of it."""

    output: Output
    transfer: Transfer
    report: Report | None = None
    seconds: float = 0.0
    overdue: bool = False
    gone: bool = False
    told: bool = False
    open: set[int] = field(default_factory=set)


def run_job(job: Job, orders: Mapping[str, Any], link: socket.socket, handle: Handle) -> Run:
    """Let a ready supervisor run a job, to the end of its output and files.

    Args:
        job: the job.
        orders: what the supervisor is told.
        link: the connection to the supervisor.
        handle: the sandbox, to watch and to kill.

    Raises:
        SandboxError: what came from inside is not as agreed.
        OSError: a collected file cannot be written.
    """
    run = Run(Output(job.limits.output_bytes), Transfer(job.outputs, job.collect))
    output, output_end = os.pipe()
    files, files_end = os.pipe()
    try:
        with _sealed(job.code) as code:
            message = json.dumps(orders).encode()
            socket.send_fds(link, [message], [code.fileno(), output_end, files_end])
        os.close(output_end)
        os.close(files_end)
        output_end = files_end = -1
        _follow(job, run, {output: run.output.feed, files: run.transfer.feed}, link, handle)
    except (BrokenPipeError, ConnectionError):
        run.gone = True
    finally:
        run.transfer.discard()
        for descriptor in (output, files, output_end, files_end):
            if descriptor >= 0:
                os.close(descriptor)
    return run


def _sealed(code: str) -> Any:
    """The program's text in memory that nobody can change any more."""
    descriptor = os.memfd_create("solution", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(code.encode("utf-8", "surrogatepass"))
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.fdopen(descriptor, "rb")


def _follow(
    job: Job,
    run: Run,
    sinks: Mapping[int, Callable[[bytes], None]],
    link: socket.socket,
    handle: Handle,
) -> None:
    start = time.monotonic()
    end = start + job.limits.seconds + GRACE_SECONDS
    run.open = set(sinks)
    with selectors.DefaultSelector() as selector:
        for descriptor in sinks:
            selector.register(descriptor, selectors.EVENT_READ)
        selector.register(link, selectors.EVENT_READ)
        while run.open or not (run.report or run.gone):
            for key, _ in selector.select(TICK_SECONDS):
                if key.fd in sinks:
                    _drain(key.fd, run, sinks[key.fd], selector)
                    continue
                selector.unregister(link)
                run.report, run.seconds = _receive(link), time.monotonic() - start
                run.gone = run.report is None
                end = time.monotonic() + (HAND_OVER_SECONDS if run.report else LINGER_SECONDS)
            if not (run.report or run.gone or run.told):
                run.told = _watch(link, handle)
            if run.report and run.transfer.complete:
                # What still holds the output open has got away; it is not waited for.
                end = min(end, time.monotonic() + LINGER_SECONDS)
            if time.monotonic() > end:
                run.overdue = not run.report and not run.gone
                break
    run.seconds = run.seconds or time.monotonic() - start


def _drain(
    descriptor: int,
    run: Run,
    sink: Callable[[bytes], None],
    selector: selectors.BaseSelector,
) -> None:
    data = os.read(descriptor, CHUNK)
    if data:
        sink(data)
    else:
        selector.unregister(descriptor)
        run.open.discard(descriptor)


def _watch(link: socket.socket, handle: Handle) -> bool:
    """Tell the supervisor to end the program if it has passed a limit that no kernel keeps."""
    reason = handle.over()
    if reason:
        # It may have ended in this very moment; then its report is there to be read.
        with contextlib.suppress(ConnectionError):
            link.send(reason.encode())
    return bool(reason)


def _receive(link: socket.socket) -> Report | None:
    """The report, or None if the connection ended without one."""
    try:
        message = link.recv(4096)
    except ConnectionError:
        return None
    if not message:
        return None
    try:
        said = json.loads(message)
        return Report(
            str(said["why"]),
            None if said["code"] is None else int(said["code"]),
            float(said["cpu"]),
            int(said["maxrss_kb"]),
            int(said["oom"]),
            bool(said["disk_full"]),
            int(said.get("peak_kb", 0)),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SandboxError("the sandbox sent a report that is not as agreed") from error
