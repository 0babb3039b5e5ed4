"""A program that gets a sandbox made ahead finds all as it would in one that was made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aide.sandboxes.base import SupervisedSandbox
from aide.sandboxes.pool import MODULES
from tests.sandbox_fixtures import KINDS, Bench, python, start

__all__ = ["python"]

STATE = """
import sys

def square(x):
    return x * x

if __name__ == '__main__':
    import {modules}
    import gc, json, os, signal, threading, time, warnings
    import multiprocessing as mp
    from joblib import Parallel, delayed
    print(sys.argv, sys.path, sys.flags, sys.excepthook is sys.__excepthook__)
    print(os.getcwd(), sorted(os.listdir()), dict(os.environ), os.umask(0o22), os.getuid())
    print([signal.getsignal(n) for n in (2, 15, 17)], threading.active_count(), gc.isenabled())
    print(sorted(os.listdir('/proc/self/fd')), mp.current_process().name)
    print(sorted(map(str, set(warnings.filters))))
    print(__name__, __file__, sys.modules['__main__'].square is square, 'program' in sys.modules)
    for method in ('fork', 'spawn'):
        with mp.get_context(method).Pool(2) as pool:
            print(pool.map(square, [1, 2, 3]))
    print(Parallel(n_jobs=2)(delayed(square)(i) for i in (1, 2, 3)))
    raise ValueError('the end')
"""


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_program_cannot_tell_that_its_sandbox_was_made_ahead(
    kind: str, python: Path, tmp_path: Path
) -> None:
    sandbox = start(kind, python)
    bench = Bench(sandbox, tmp_path)
    code = STATE.format(modules=", ".join(MODULES))
    try:
        assert isinstance(sandbox, SupervisedSandbox)
        sandbox.prepare(bench.input, bench.job("", seconds=200).limits, 1)
        assert sandbox.pool.wait(120)
        warm = bench.run(code, seconds=200)
        cold = bench.run(code, seconds=201)
    finally:
        sandbox.close()
    assert cold.output.splitlines()[-1] == "ValueError: the end"
    assert warm.output.splitlines() == cold.output.splitlines()
    assert warm.status == cold.status == "error"
    assert 0 < warm.cpu_seconds < cold.cpu_seconds
    assert warm.peak_mb > 50
