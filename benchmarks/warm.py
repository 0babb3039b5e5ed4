"""A sandbox for benchmarks alone: programs run in forks of one process that has it all imported.

Not isolated: for the offline model's own code. Of the limits only the wall time is kept, and one
processor by the number of threads; the variable `WARM_CPU_SECONDS` limits the processor time of a
program too, which says the same on a machine that has other work. The outcome of a program on a
view is remembered, so that the arms of a comparison share it: in the folder that the variable
`WARM_STORE` names, else not at all.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from aide.errors import SandboxError
from aide.interfaces import Execution, Job, Limits
from aide.sandboxes.base import INSIDE, environment
from aide.sandboxes.environment import Environment, solution_environment
from aide.sandboxes.output import Output

STORE = "WARM_STORE"
CPU_SECONDS = "WARM_CPU_SECONDS"
PYTHON = "AIDE_TEST_PYTHON"
SERVER = Path(__file__).with_name("forked.py")


class Server:
    """The process that forks; one program at a time.

    Args:
        python: the solutions' interpreter.
    """

    def __init__(self, python: Path) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [str(python), str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(
                Limits(), home=tempfile.gettempdir(), path=f"{python.parent}:/usr/bin:/bin"
            ),
        )
        atexit.register(self.end)
        self._answer()

    def run(self, folder: Path, seconds: float) -> dict[str, Any]:
        """Run the program in a folder.

        Raises:
            SandboxError: the server has ended.
        """
        with self._lock:
            assert self._process.stdin is not None
            try:
                cpu = int(os.environ.get(CPU_SECONDS, "0"))
                order = {"folder": str(folder), "seconds": seconds, "cpu": cpu or None}
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
            except OSError as error:
                raise SandboxError("the warm process has ended") from error
            report: dict[str, Any] = json.loads(self._answer())
            return report

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SandboxError("the warm process has ended")
        return line

    def end(self) -> None:
        """End it; what it runs then raises SandboxError."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._lock.locked():
                pipe.close()


@functools.cache
def solutions() -> Environment:
    """The solutions' Python: the one that `AIDE_TEST_PYTHON` names, else our own of the cache."""
    named = os.environ.get(PYTHON)
    return solution_environment(python=Path(named) if named else None)


@functools.cache
def server() -> Server:
    """One for all searches of a process, since its imports take seconds."""
    return Server(solutions().python)


class WarmSandbox:
    """Runs each program in a fork of a warm process. See `aide.interfaces.Sandbox`."""

    name = "warm"
    about = "forks of a warm process, NOT isolated: for benchmarks"

    def __init__(self) -> None:
        store = os.environ.get(STORE)
        self._store = Path(store).absolute() if store else None

    def packages(self) -> Mapping[str, str]:
        return solutions().packages

    def run(self, job: Job) -> Execution:
        if self._store is None:
            with tempfile.TemporaryDirectory(prefix="warm-") as top:
                return _collected(_made(job, Path(top)), job)
        known = self._store / _key(job)
        if not known.is_dir():
            self._store.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".new-", dir=self._store) as top:
                made = _made(job, Path(top))
                # Another process may be first; what it made is as good.
                if not known.is_dir():
                    made.rename(known)
        return _collected(known, job)

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        pass

    def health(self) -> str:
        return ""

    def cancel(self) -> None:
        server().end()
        server.cache_clear()

    def close(self) -> None:
        """Leave the warm process to the searches to come; it ends with this process."""


def _key(job: Job) -> str:
    """The same for the same program on the same view with the same libraries.

    Not by the time limit, which is what a smoke run has left of it; keep one store for each.
    """
    view = [job.input.parent.name, job.input.name]
    what = [job.code, view, dict(solutions().packages)]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _made(job: Job, top: Path) -> Path:
    """Run a job in a folder; returns the one with `execution.json` and the outputs."""
    folder, kept = top / "job", top / "kept"
    for path in (folder / "working", kept):
        path.mkdir(parents=True)
    (folder / "solution.py").write_text(job.code, "utf-8")
    # What is written to the input would be there for all programs to come: a copy.
    shutil.copytree(job.input, folder / "input")
    report = server().run(folder, job.limits.seconds)
    output = Output(job.limits.output_bytes)
    output.feed((top / "output.txt").read_bytes())
    execution = _execution(report, output, str(folder))
    (kept / "execution.json").write_text(json.dumps(asdict(execution)), "utf-8")
    for name, cap in job.outputs.items():
        path = folder / name
        if path.is_file() and path.stat().st_size <= cap:
            path.rename(kept / path.name)
    return kept


def _execution(report: Mapping[str, Any], output: Output, folder: str) -> Execution:
    code = report["code"]
    return Execution(
        status="timeout" if code is None else "error" if code else "ok",
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        # The folder's random name would make the output of equal runs differ.
        output=output.text().replace(folder, INSIDE),
        output_bytes=output.total,
        seconds=report["seconds"],
        cpu_seconds=report["cpu"],
        peak_mb=report["peak_kb"] / 1024,
        flags=("output-truncated",) if output.truncated else (),
    )


def _collected(kept: Path, job: Job) -> Execution:
    """A run that was kept, with its outputs where the job wants them."""
    facts = json.loads((kept / "execution.json").read_text("utf-8"))
    execution = Execution(**{**facts, "flags": tuple(facts["flags"])})
    job.collect.mkdir(parents=True, exist_ok=True)
    files, refused = {}, {}
    for name in job.outputs:
        source = kept / Path(name).name
        if source.is_file():
            files[name] = Path(shutil.copyfile(source, job.collect / source.name))
        else:
            refused[name] = "missing"
    return replace(execution, files=files, refused=refused)
