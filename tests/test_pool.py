"""Seats made ahead: when one is made, taken, refilled and thrown away."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from aide.errors import UnavailableError
from aide.interfaces import Limits
from aide.sandboxes.base import SupervisedSandbox
from aide.sandboxes.bubblewrap import BubblewrapSandbox
from aide.sandboxes.engine import JOB, OWNER, Engine
from aide.sandboxes.environment import Environment, solution_environment
from aide.sandboxes.owner import Owner
from aide.sandboxes.pool import MODULES, Pool
from aide.sandboxes.process import ProcessSandbox
from tests.sandbox_fixtures import KINDS, Bench, alive, python, start

__all__ = ["python"]

READY = 60.0
IS_WARM = "import sys; print('wave' in sys.modules)"
ROOM = 1024
HOST = """
import sys
from pathlib import Path
from aide.interfaces import Limits
from aide.sandboxes import make_sandbox
kind, python, folder = sys.argv[1:]
sandbox = make_sandbox(kind, run_id="killed", image="mirror", python=Path(python))
sandbox.modules = ("wave",)
sandbox.prepare(Path(folder), Limits(), 1)
assert sandbox.pool.wait(60)
print(sandbox.pool.idle()[0], flush=True)
sys.stdin.read()
"""


class Light(ProcessSandbox):
    """Loads little ahead, so that the tests are quick."""

    modules = ("no_such_module", "wave")


@pytest.fixture(scope="module")
def environment(python: Path) -> Environment:
    return solution_environment(python=python)


@pytest.fixture
def bench(environment: Environment, tmp_path: Path) -> Iterator[Bench]:
    sandbox = Light(environment)
    yield Bench(sandbox, tmp_path)
    sandbox.close()


def pool_of(bench: Bench) -> Pool:
    assert isinstance(bench.sandbox, SupervisedSandbox)
    return bench.sandbox.pool


def fill(bench: Bench, count: int) -> list[int]:
    """Have so many seats wait for a plain job; their supervisors' process ids."""
    bench.sandbox.prepare(bench.input, bench.job("").limits, count)
    assert pool_of(bench).wait(READY)
    return pool_of(bench).idle()


def until(condition: Callable[[], object]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


def gone(pid: int) -> bool:
    """True if a process has ended, taken in by its parent or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_seat_is_taken_once_and_another_one_is_made(bench: Bench) -> None:
    assert bench.run(IS_WARM).output == "False\n"
    first = fill(bench, 1)
    assert bench.run(IS_WARM).output == "True\n"
    assert pool_of(bench).wait(READY)
    second = pool_of(bench).idle()
    assert len(first) == len(second) == 1
    assert first != second
    assert until(lambda: gone(first[0]))


def test_only_what_a_seat_was_made_for_gets_it(bench: Bench) -> None:
    fill(bench, 1)
    other = bench.folder / "other"
    other.mkdir(mode=0o755)
    job = bench.job(IS_WARM)
    for cold in (
        replace(job, limits=replace(job.limits, seconds=31)),
        replace(job, limits=replace(job.limits, memory_mb=ROOM + 1)),
        replace(job, limits=replace(job.limits, pids=100)),
        replace(job, input=other),
    ):
        assert bench.sandbox.run(cold).output == "False\n"
    short = replace(job, limits=replace(job.limits, seconds=20, output_bytes=2000))
    assert bench.sandbox.run(short).output == "True\n"


def test_none_is_made_while_as_many_run_as_may(bench: Bench) -> None:
    fill(bench, 1)
    mark = bench.folder / "go"
    code = f"import os, time\nwhile not os.path.exists({str(mark)!r}):\n    time.sleep(0.01)\n"
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(bench.run, code + IS_WARM)
        assert until(lambda: not pool_of(bench).idle())
        assert not pool_of(bench).wait(0.5)
        mark.touch()
        assert run.result().output == "True\n"
    assert pool_of(bench).wait(READY)


def test_a_seat_that_has_died_is_passed_over(bench: Bench) -> None:
    dead, _ = fill(bench, 2)
    os.kill(dead, signal.SIGKILL)
    assert until(lambda: gone(dead))
    assert bench.run(IS_WARM).output == "True\n"
    assert pool_of(bench).wait(READY)
    pids = pool_of(bench).idle()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: all(map(gone, pids)))
    assert bench.run(IS_WARM).output == "False\n"


def test_seats_are_kept_for_the_two_keys_asked_for_last(bench: Bench) -> None:
    [first] = fill(bench, 1)
    for name in ("second", "third"):
        (bench.folder / name).mkdir(mode=0o755)
        bench.sandbox.prepare(bench.folder / name, bench.job("").limits, 1)
    assert until(lambda: gone(first))
    assert pool_of(bench).wait(READY)
    assert len(pool_of(bench).idle()) == 2
    bench.sandbox.prepare(bench.folder / "third", bench.job("").limits, 0)
    assert len(pool_of(bench).idle()) == 1


def test_close_ends_what_waits_and_what_is_being_made(bench: Bench) -> None:
    pids = fill(bench, 2)
    bench.sandbox.prepare(bench.input, bench.job("").limits, 4)
    bench.sandbox.close()
    bench.sandbox.close()
    assert all(map(gone, pids))
    assert pool_of(bench).idle() == []
    bench.sandbox.prepare(bench.input, bench.job("").limits, 1)
    assert pool_of(bench).idle() == []


def test_what_waits_too_long_is_thrown_away_until_the_next_runs_end(bench: Bench) -> None:
    assert isinstance(bench.sandbox, SupervisedSandbox)
    job = bench.job("")
    pool = Pool(bench.sandbox.launch_ahead, idle=0.5)
    try:
        pool.prepare(job.input, job.limits, 1)
        assert pool.wait(READY)
        [pid] = pool.idle()
        assert until(lambda: gone(pid))
        assert not pool.wait(0.3)
        with pool.taken(job) as seat:
            assert seat is None
        assert pool.wait(READY)
    finally:
        pool.close()


def test_want_of_memory_is_said_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(bench.sandbox, SupervisedSandbox)
    job = bench.job("")
    pool = Pool(bench.sandbox.launch_ahead, seat_mb=10**9)
    with caplog.at_level(logging.INFO, "aide"):
        for _ in range(2):
            pool.prepare(job.input, job.limits, 1)
            assert not pool.wait(READY)
        bench.sandbox.prepare(job.input, replace(job.limits, memory_mb=256), 1)
    pool.close()
    assert [record.message.partition(": ")[0] for record in caplog.records] == [
        "Sandboxes are not started ahead, with the libraries loaded"
    ] * 2
    assert "of free memory leave no room" in caplog.records[0].message
    assert "256 MiB for each" in caplog.records[1].message


def test_what_cannot_be_got_ready_is_no_error(bench: Bench) -> None:
    bench.sandbox.prepare(bench.folder / "absent", Limits(), 1)
    bench.sandbox.prepare(bench.input, Limits(gpus=1), 1)
    assert pool_of(bench).idle() == []
    with pytest.raises(UnavailableError, match="by Docker only, not by process"):
        bench.run("pass", gpus=1)


def test_one_that_is_still_loading_is_ended_by_close(
    environment: Environment, tmp_path: Path
) -> None:
    try:
        sandbox = BubblewrapSandbox(environment)
    except UnavailableError as error:
        pytest.skip(
            str(error)
        )  # this machine lacks it; what was in the way was its change of user
    tmp_path.chmod(0o755)
    sandbox.modules = (f"no_{tmp_path.name}", *MODULES)
    sandbox.prepare(tmp_path, Limits(), 1)
    assert until(lambda: alive(sandbox.modules[0]))
    sandbox.close()
    assert not alive(sandbox.modules[0])


@pytest.mark.docker
def test_containers_made_ahead_are_labelled_and_a_killed_one_is_passed_over(
    python: Path, tmp_path: Path
) -> None:
    sandbox = start("docker", python)
    assert isinstance(sandbox, SupervisedSandbox)
    sandbox.modules = ("wave",)
    bench, engine = Bench(sandbox, tmp_path), Engine()
    mine = {"label": [f"{OWNER}={Owner.me()}", f"{JOB}=warm"]}
    try:
        [pid] = fill(bench, 1)
        [container] = engine.client.containers.list(filters=mine)
        container.kill()
        assert until(lambda: gone(pid))
        assert bench.run(IS_WARM).output == "False\n"
        assert sandbox.pool.wait(READY)
        assert bench.run(IS_WARM).output == "True\n"
        with pytest.raises(UnavailableError, match="this machine has"):
            bench.run("pass", gpus=99)
    finally:
        sandbox.close()
    assert engine.client.containers.list(all=True, filters=mine) == []
    engine.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_host_leaves_no_seat(kind: str, python: Path, tmp_path: Path) -> None:
    start(kind, python).close()
    tmp_path.chmod(0o755)
    command = [sys.executable, "-c", HOST, kind, str(python), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        assert not gone(pid)
        host.kill()
    assert until(lambda: gone(pid))
    start(kind, python).close()
