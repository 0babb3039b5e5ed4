"""The limits of bubblewrap and process where no control group can be made: polled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.errors import UnavailableError
from aide.interfaces import Sandbox
from aide.sandboxes import watch
from aide.sandboxes.bubblewrap import BubblewrapSandbox
from aide.sandboxes.environment import solution_environment
from aide.sandboxes.process import ProcessSandbox
from tests.sandbox_fixtures import Bench, python

__all__ = ["python"]


@pytest.fixture(scope="module", params=[BubblewrapSandbox, ProcessSandbox])
def sandbox(request: pytest.FixtureRequest, python: Path) -> Iterator[Sandbox]:
    try:
        made = request.param(solution_environment(python=python), cgroups=False)
    except UnavailableError as error:
        pytest.skip(str(error))  # this machine lacks the backend
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Bench:
    return Bench(sandbox, tmp_path)


def test_memory_is_polled(bench: Bench) -> None:
    code = (
        "import time\nkept = []\nprint('start')\n"
        "while True:\n    kept.append(b'x' * 2**20)\n    time.sleep(0.001)\n"
    )
    done = bench.run(code, memory_mb=200)
    assert (done.status, done.exit_code, done.signal) == ("out-of-memory", None, None)
    assert done.output == "start\n"
    assert done.peak_mb < 1000


def test_memory_that_is_shared_is_counted_once(bench: Bench) -> None:
    code = (
        "import os, time\nkept = b'x' * (120 << 20)\n"
        "children = [os.fork() for _ in range(1)]\n"
        "time.sleep(0.6)\nprint('ok') if children[0] else None\n"
    )
    assert bench.run(code, memory_mb=200).output == "ok\n"


def test_processes_are_polled_or_refused(bench: Bench) -> None:
    code = (
        "import os, time\n"
        "try:\n"
        "    for _ in range(300):\n"
        "        if os.fork() == 0:\n            time.sleep(20)\n            os._exit(0)\n"
        "    time.sleep(10)\n"
        "except OSError:\n    print('refused')\n"
    )
    done = bench.run(code, pids=40)
    assert done.seconds < 8
    assert "refused" in done.output or "more than 40 processes and threads" in done.output


def test_about_says_that_it_is_weaker(sandbox: Sandbox) -> None:
    assert "POLLED" in sandbox.about or "NOT isolated" in sandbox.about


def test_stored_bytes_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "usr").symlink_to("/usr")
    assert 100_000 <= watch.stored([tmp_path]) < 200_000
