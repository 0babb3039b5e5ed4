"""Real sandboxes for tests: every backend that works here, made once a session and shared."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aide.errors import UnavailableError
from aide.interfaces import Execution, Job, Limits, Sandbox
from aide.sandboxes import make_sandbox
from aide.sandboxes.environment import solution_environment

KINDS = [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap", "process"]


def solution_python() -> Path:
    """The solutions' Python: the one that `AIDE_TEST_PYTHON` names, else our own of the cache."""
    named = os.environ.get("AIDE_TEST_PYTHON")
    return Path(named) if named else solution_environment().python


def start(kind: str, python: Path, run_id: str = "") -> Sandbox:
    """A sandbox, or a skip that says why; a failure where the engine is required."""
    try:
        return make_sandbox(
            kind, run_id=run_id or uuid.uuid4().hex[:8], image="mirror", python=python
        )
    except UnavailableError as error:
        if kind == "docker" and os.environ.get("AIDE_TEST_REQUIRE_DOCKER"):
            raise
        pytest.skip(str(error))  # this machine lacks the backend, and CI has them all


@pytest.fixture(scope="session")
def python() -> Path:
    return solution_python()


@pytest.fixture(scope="session", params=KINDS)
def sandbox(request: pytest.FixtureRequest, python: Path) -> Iterator[Sandbox]:
    made = start(request.param, python)
    yield made
    made.close()


class Bench:
    """Runs programs in a sandbox, with small limits, and keeps what they leave."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox, self.folder = sandbox, folder
        self.input = folder / "input"
        self.input.mkdir()
        self.input.chmod(0o755)
        (self.input / "train.csv").write_text("id,y\n1,0\n")
        self.collect = folder / "collect"

    def job(self, code: str, *outputs: str, name: str = "", cap: int = 1000, **limits: Any) -> Job:
        """A job for this bench's folders; `limits` are fields of `Limits`."""
        bounds = replace(Limits(seconds=30, memory_mb=1024, disk_mb=64), **limits)
        wanted = dict.fromkeys(outputs, cap)
        return Job(name or uuid.uuid4().hex[:6], code, self.input, wanted, self.collect, bounds)

    def run(self, code: str, *outputs: str, **limits: Any) -> Execution:
        """Run a program."""
        return self.sandbox.run(self.job(code, *outputs, **limits))


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Bench:
    return Bench(sandbox, tmp_path)


def alive(mark: str) -> list[int]:
    """The processes of this machine that have a word in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
