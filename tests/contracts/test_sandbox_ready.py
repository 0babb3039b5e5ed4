"""What every sandbox keeps when it is asked to get ready, and whether it is well."""

from __future__ import annotations

import time

from aide.interfaces import Sandbox
from tests.sandbox_fixtures import Bench, bench, python, sandbox

__all__ = ["bench", "python", "sandbox"]


def test_getting_ready_returns_at_once_and_changes_no_result(bench: Bench) -> None:
    job = bench.job("print(open('input/train.csv').read())")
    before = time.monotonic()
    bench.sandbox.prepare(bench.folder / "absent", job.limits, 2)
    bench.sandbox.prepare(bench.input, job.limits, 1)
    assert time.monotonic() - before < 1
    try:
        assert bench.sandbox.run(job).output == "id,y\n1,0\n\n"
    finally:
        bench.sandbox.prepare(bench.input, job.limits, 0)


def test_it_says_that_it_is_well(sandbox: Sandbox) -> None:
    assert sandbox.health() == ""
