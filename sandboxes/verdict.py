"""What a run's end means: the supervisor's report and the host's own knowledge as an Execution."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Literal

from aide.errors import SandboxError
from aide.interfaces import Execution, Job
from aide.sandboxes.handle import Handle
from aide.sandboxes.session import Report, Run

POLLED = {"disk": "{0.disk_mb} MiB written", "processes": "{0.pids} processes and threads"}
Verdict = Literal["ok", "error", "timeout", "out-of-memory"]


def execution(job: Job, run: Run, handle: Handle) -> Execution:
    """Judge a run.

    Raises:
        SandboxError: it ended without a report, and not for want of memory or time; or before
            its outputs were handed over.
    """
    report = run.report
    if report is None:
        return _unreported(job, run, handle)
    if not run.transfer.complete:
        raise SandboxError(f"job {job.name} ended before its outputs were handed over")
    oom = report.oom
    # An engine that is away has no part in a run that has reported.
    with suppress(SandboxError):
        oom = max(oom, handle.oom_kills())
    status, code, number = _status(report, oom)
    flags = []
    if run.output.truncated:
        flags.append("output-truncated")
    if oom and status != "out-of-memory":
        flags.append("child-out-of-memory")
    if report.disk_full or report.why == "disk":
        flags.append("disk-full")
    text = run.output.text()
    if report.why in POLLED:
        text += f"\n[... ended: more than {POLLED[report.why].format(job.limits)} ...]\n"
    return Execution(
        status=status,
        exit_code=code,
        signal=number,
        output=text,
        output_bytes=run.output.total,
        seconds=run.seconds,
        cpu_seconds=report.cpu,
        peak_mb=max(report.maxrss_kb, report.peak_kb, handle.peak_kb()) / 1024,
        files=run.transfer.files,
        refused=run.transfer.refused,
        flags=tuple(flags),
    )


def _status(report: Report, oom: int) -> tuple[Verdict, int | None, int | None]:
    """The status, the exit code and the signal."""
    if report.why == "timeout":
        return "timeout", None, None
    if report.why == "memory":
        return "out-of-memory", None, None
    if report.code is None or report.code >= 0:
        return ("ok" if report.code == 0 and report.why == "exit" else "error"), report.code, None
    killed = -report.code == signal.SIGKILL and report.why == "exit"
    return ("out-of-memory" if killed and oom else "error"), None, -report.code


def _unreported(job: Job, run: Run, handle: Handle) -> Execution:
    """A run whose supervisor fell silent: still a result if a limit explains it."""
    status: Verdict
    if run.overdue:
        status = "timeout"
    elif handle.oom_kills():
        status = "out-of-memory"
    else:
        words = handle.last_words()
        raise SandboxError(
            f"the sandbox of job {job.name} ended without a report{words and f' ({words})'}"
        )
    return Execution(
        status=status,
        exit_code=None,
        signal=None,
        output=run.output.text(),
        output_bytes=run.output.total,
        seconds=run.seconds,
        cpu_seconds=0.0,
        peak_mb=handle.peak_kb() / 1024,
        refused=dict.fromkeys(job.outputs, "missing"),
        flags=("output-truncated",) if run.output.truncated else (),
    )
