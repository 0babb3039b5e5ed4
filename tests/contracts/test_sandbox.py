"""What every sandbox keeps, over every backend that works here: results and limits.

What it keeps from a hostile program is in `tests/test_sandbox_isolation.py`. Deviations: where no
control group can be made, the tests of a child's memory and of the number of processes allow for
polling.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from aide.errors import SandboxError, UnavailableError
from aide.interfaces import Execution, Job, Limits, Sandbox
from tests.sandbox_fixtures import Bench, alive, bench, python, sandbox

__all__ = ["bench", "python", "sandbox"]

DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execlp("sleep", "sleep", "{mark}")
    os._exit(0)
print("partial", flush=True)
"""


def mark() -> str:
    """A number of seconds that no other process sleeps for."""
    return f"3{uuid.uuid4().int % 10**9:09d}"


def seen_during(bench: Bench, code: str, word: str, **limits: Any) -> tuple[Execution, bool]:
    """Run a program, and tell whether a process with that word in it was seen meanwhile."""
    seen, over = threading.Event(), threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            if alive(word):
                seen.set()

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        return bench.run(code, **limits), seen.is_set()
    finally:
        over.set()
        watcher.join()


def test_a_program_reads_its_input_and_its_output_comes_back(bench: Bench) -> None:
    done = bench.run(
        "import sys\n"
        "text = open('input/train.csv').read()\n"
        "open('working/submission.csv', 'w').write(text)\n"
        "print('out'); print('err', file=sys.stderr); print('out again')\n",
        "working/submission.csv",
    )
    assert (done.status, done.exit_code, done.signal) == ("ok", 0, None)
    assert done.output == "out\nerr\nout again\n"
    assert done.output_bytes == len(done.output)
    file = done.files["working/submission.csv"]
    assert file == bench.collect / "submission.csv"
    assert file.read_text() == "id,y\n1,0\n"
    assert (file.stat().st_uid, file.stat().st_mode & 0o777) == (os.getuid(), 0o644)
    assert not done.refused
    assert 0 < done.seconds < 30
    assert done.cpu_seconds > 0
    assert 5 < done.peak_mb < 200


def test_an_exception_is_an_error_with_the_programs_own_traceback(bench: Bench) -> None:
    done = bench.run("def f():\n    raise ValueError('boom')\n\nf()\n")
    assert (done.status, done.exit_code) == ("error", 1)
    assert done.output == (
        "Traceback (most recent call last):\n"
        '  File "/job/solution.py", line 4, in <module>\n    f()\n'
        "  File \"/job/solution.py\", line 2, in f\n    raise ValueError('boom')\n"
        "ValueError: boom\n"
    )


def test_a_syntax_error_names_the_line(bench: Bench) -> None:
    done = bench.run("x = 1\ny = (\n")
    assert done.status == "error"
    assert 'File "/job/solution.py", line 2' in done.output
    assert done.output.endswith("SyntaxError: '(' was never closed\n")


@pytest.mark.parametrize(
    ("code", "exit_code", "number"),
    [
        ("raise SystemExit(3)", 3, None),
        ("import os; os._exit(255)", 255, None),
        ("import os; os.abort()", None, signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", None, signal.SIGKILL),
    ],
)
def test_exit_codes_and_signals_are_told_apart(
    bench: Bench, code: str, exit_code: int | None, number: int | None
) -> None:
    done = bench.run(code)
    assert (done.status, done.exit_code, done.signal) == ("error", exit_code, number)


def test_a_timeout_keeps_the_output_and_leaves_no_process(bench: Bench) -> None:
    word = mark()
    code = DAEMON.format(mark=word) + "time.sleep(60)\n"
    start = time.monotonic()
    done, seen = seen_during(bench, code, word, seconds=1.5)
    assert seen
    assert not alive(word)
    assert done.status == "timeout"
    assert done.output == "partial\n"
    assert 1.5 <= done.seconds < 3.5
    assert time.monotonic() - start < 15


def test_a_daemon_does_not_outlive_a_program_that_ends_well(bench: Bench) -> None:
    word = mark()
    done, seen = seen_during(bench, DAEMON.format(mark=word) + "time.sleep(0.5)\n", word)
    assert seen
    assert not alive(word)
    assert done.status == "ok"
    assert done.seconds < 10


def test_too_much_memory_is_out_of_memory(bench: Bench) -> None:
    done = bench.run(
        "print('start')\nkept = [b'x' * 2**20 for _ in range(2000)]\nprint('end')", memory_mb=256
    )
    assert done.status == "out-of-memory"
    assert done.output == "start\n"
    assert done.exit_code is None
    assert 100 < done.peak_mb < 400


def test_one_huge_allocation_is_the_programs_own_error(bench: Bench) -> None:
    done = bench.run("b = bytearray(2**46)")
    assert done.status == "error"
    assert done.output.endswith("MemoryError\n")


def test_memory_that_a_child_ran_out_of_is_flagged(bench: Bench) -> None:
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    kept = [b'x' * 2**20 for _ in range(2000)]\n"
        "    os._exit(0)\n"
        "print(os.wait()[1])\n"
    )
    done = bench.run(code, memory_mb=256)
    if done.status == "ok":
        assert done.output == "9\n"
        assert done.flags == ("child-out-of-memory",)
    else:  # where memory is polled, the whole tree goes
        assert done.status == "out-of-memory"


def test_processes_are_bounded(bench: Bench) -> None:
    code = (
        "import os, time\n"
        "n = 0\n"
        "try:\n"
        "    while n < 500:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(20)\n"
        "            os._exit(0)\n"
        "        n += 1\n"
        "except OSError as error:\n"
        "    print(n, error.strerror)\n"
    )
    done = bench.run(code, pids=40)
    assert done.status in ("ok", "error")
    if bench.sandbox.name == "docker":
        assert done.output == "39 Resource temporarily unavailable\n"
    elif done.status == "ok":
        count, _, reason = done.output.partition(" ")
        assert (20 < int(count) < 60, reason) == (True, "Resource temporarily unavailable\n")


def test_a_fork_bomb_ends_in_time(bench: Bench) -> None:
    code = (
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    )
    done = bench.run(code, pids=40, seconds=1)
    assert done.status in ("timeout", "error")
    assert done.seconds < 3


def test_endless_output_is_bounded(bench: Bench) -> None:
    code = "print('HEAD')\nwhile True:\n    print('x' * 1000)\n"
    done = bench.run(code, seconds=1, output_bytes=10_000)
    assert done.status == "timeout"
    assert done.flags == ("output-truncated",)
    assert done.output.startswith("HEAD\nxxx")
    assert len(done.output) < 10_100
    assert done.output_bytes > 100_000
    assert done.seconds < 3


def test_head_and_tail_of_long_output_are_kept(bench: Bench) -> None:
    done = bench.run("print('HEAD')\nprint('x' * 5_000_000)\nprint('TAIL')", output_bytes=10_000)
    assert done.status == "ok"
    assert done.output.startswith("HEAD\nx")
    assert done.output.endswith("x\nTAIL\n")
    assert done.output_bytes == 5_000_011
    assert f"[... {5_000_011 - 10_000} bytes left out ...]" in done.output


def test_output_that_is_not_text_is_kept_readable(bench: Bench) -> None:
    done = bench.run("import sys; sys.stdout.buffer.write(b'a\\xff\\xfe\\x00b\\n')")
    assert done.output == "a\ufffd\ufffd\0b\n"


def test_a_full_disk_is_contained_and_flagged(bench: Bench) -> None:
    code = "n = 0\nwhile True:\n    open(f'working/{n}', 'wb').write(b'x' * 2**20)\n    n += 1\n"
    done = bench.run(code, disk_mb=32)
    assert done.status == "error"
    assert done.flags == ("disk-full",)


def test_worker_processes_work(bench: Bench) -> None:
    code = (
        "import multiprocessing as mp\nfrom joblib import Parallel, delayed\n"
        "def square(x):\n    return x * x\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        with mp.get_context(method).Pool(2) as pool:\n"
        "            print(pool.map(square, [1, 2, 3]))\n"
        "    print(Parallel(n_jobs=2)(delayed(square)(i) for i in (1, 2, 3)))\n"
    )
    done = bench.run(code, cpus=2)
    assert done.output == "[1, 4, 9]\n" * 3


def test_learners_work_and_packages_are_true(bench: Bench) -> None:
    code = (
        "import importlib.metadata as m, json, numpy as np, lightgbm as lgb\n"
        "from sklearn.ensemble import HistGradientBoostingClassifier\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(500, 5)); y = (X[:, 0] > 0).astype(int)\n"
        "print(HistGradientBoostingClassifier(max_iter=20).fit(X, y).score(X, y) > 0.9)\n"
        "model = lgb.train({'verbose': -1}, lgb.Dataset(X, y), 5)\n"
        "print(model.num_trees())\n"
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))\n"
    )
    done = bench.run(code)
    first, second, listed = done.output.splitlines()
    assert (first, second) == ("True", "5")
    inside = {k: v for k, v in json.loads(listed).items() if k not in ("pip", "setuptools")}
    assert bench.sandbox.packages() == inside
    assert {"numpy", "pandas", "scikit-learn", "lightgbm"} <= set(inside)


def test_two_runs_at_once(bench: Bench) -> None:
    code = "import time; print(time.monotonic()); time.sleep(1.5); print(time.monotonic())"
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: bench.run(code).output.split(), range(2))
    assert max(float(first[0]), float(second[0])) < min(float(first[1]), float(second[1]))


def test_cancel_ends_a_run_at_once_and_the_sandbox_goes_on(bench: Bench) -> None:
    word = mark()
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(bench.run, DAEMON.format(mark=word) + "time.sleep(60)")
        while not alive(word):
            time.sleep(0.02)
        start = time.monotonic()
        bench.sandbox.cancel()
        with pytest.raises(SandboxError, match="cancelled"):
            run.result()
    assert time.monotonic() - start < 5
    assert not alive(word)
    assert bench.run("print('next')").output == "next\n"


def test_a_missing_input_is_one_clear_sentence(sandbox: Sandbox, tmp_path: Path) -> None:
    job = Job("missing", "pass", tmp_path / "absent", {}, tmp_path, Limits())
    with pytest.raises(UnavailableError, match="absent does not exist"):
        sandbox.run(job)
