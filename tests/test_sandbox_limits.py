"""Limits that the kernel keeps, what a program sees of them, and what is told of its use.

What more there is of limits is in `tests/contracts/test_sandbox.py`, over every backend.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.interfaces import Sandbox
from tests.sandbox_fixtures import KINDS, Bench, python, start

__all__ = ["python"]

TWO = """
import os, time
def work():
    kept = b'x' * (60 << 20)
    while time.process_time() < 0.3: pass
    time.sleep(0.6)
    os._exit(len(kept) % 2)
children = []
for _ in range(2):
    children.append(os.fork())
    if not children[-1]: work()
for child in children: os.waitpid(child, 0)
"""
LOOK = """
import _bz2, ctypes, json, multiprocessing as mp, os, shutil, time
def busy():
    end = time.monotonic() + 1
    while time.monotonic() < end: pass
workers = [mp.Process(target=busy) for _ in range(2)]
for worker in workers: worker.start()
for worker in workers: worker.join()
shutil.copy(_bz2.__file__, '/tmp/copy.so')
ctypes.CDLL('/tmp/copy.so')
refused = []
for place in ('/', '/usr', '/run', '/etc', '/sys', '/proc/sys/kernel', '/var', 'input'):
    try: open(f'{place}/mine', 'w')
    except OSError: refused.append(place)
status = dict(line.split(':') for line in open('/proc/self/status'))
print(json.dumps({
    'threads': {value for name, value in os.environ.items() if 'NUM_THREADS' in name}.pop(),
    'status': {key: status[key].strip() for key in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')},
    'refused': refused,
    'interfaces': os.listdir('/sys/class/net') if os.path.exists('/sys/class/net') else ['lo'],
}))
"""


@pytest.fixture(scope="module", params=KINDS[:2])
def sandbox(request: pytest.FixtureRequest, python: Path) -> Iterator[Sandbox]:
    made = start(request.param, python)
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Bench:
    return Bench(sandbox, tmp_path)


def counted(bench: Bench) -> bool:
    """Whether a control group counts, which is all that is tested here."""
    return "POLLED" not in bench.sandbox.about


def test_peak_and_processor_time_are_those_of_all_processes(bench: Bench) -> None:
    done = bench.run(TWO, cpus=2)
    assert done.status == "ok"
    assert 0.5 < done.cpu_seconds < 1.5
    assert done.peak_mb < 200
    if counted(bench):
        assert done.peak_mb > 120  # the largest of them has half of it
    assert bench.run("pass").peak_mb < 60


def test_half_a_processor_and_no_rights(bench: Bench) -> None:
    done = bench.run(LOOK, cpus=0.5)
    assert done.status == "ok", done.output
    seen = json.loads(done.output)
    none = "0" * 16
    if bench.sandbox.name == "bubblewrap":
        del seen["status"]["CapBnd"]  # what could be got back there, no new privileges forbid
    assert seen["threads"] == "1"
    expected = {"CapEff": none, "CapBnd": none, "NoNewPrivs": "1", "Seccomp": "2"}
    assert seen["status"].items() <= expected.items()
    assert len(seen["status"]) >= 3
    places = ["/", "/usr", "/run", "/etc", "/sys", "/proc/sys/kernel", "/var", "input"]
    assert seen["refused"] == places
    assert seen["interfaces"] == ["lo"]
    if counted(bench):
        assert done.cpu_seconds < 0.8 * done.seconds  # two that are always busy, of two


def test_files_in_memory_count_as_memory_and_cached_ones_do_not(bench: Bench) -> None:
    if not counted(bench):
        pytest.skip("no control group can be made here")  # a user's machine; CI has them
    (bench.input / "large.csv").write_bytes(bytes(200 << 20))
    read = "file = open('input/large.csv', 'rb')\nwhile file.read(1 << 20): pass"
    done = bench.run(read, memory_mb=128)
    assert done.status == "ok"
    assert done.peak_mb < 60
    write = "for n in range(300): open(f'working/{n}', 'wb').write(bytes(1 << 20))"
    done = bench.run(write, memory_mb=128, disk_mb=1024)
    assert (done.status, done.flags) == ("out-of-memory", ())
    assert done.peak_mb > 100


@pytest.mark.parametrize("sandbox", KINDS[:1], indirect=True)
def test_the_number_of_files_is_bounded_by_an_engine(bench: Bench) -> None:
    code = "for n in range(40_000): open(f'working/{n}', 'w').close()"
    done = bench.run(code)
    assert done.status == "error"
    assert done.flags == ("disk-full",)
    assert "No space left on device: 'working/3" in done.output
