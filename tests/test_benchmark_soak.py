"""`benchmarks.soak` on a few nodes: it ends, whatever fails, and says what it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.commands import ROOT
from tests.engine import require_engine


@pytest.mark.slow
@pytest.mark.docker
def test_a_short_soak_ends_and_leaves_nothing() -> None:
    require_engine()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--nodes", "150"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert list(figures) == ["nodes", "rss_ratio", "fds", "threads", "containers"]
    assert figures["nodes"] == 150
    assert figures["containers"] == 0
    # So few nodes still warm up: what the libraries keep is in it.
    assert figures["rss_ratio"] < 1.2
    assert figures["fds"] < 60
    assert figures["threads"] <= 4
    for kind in ("sandbox: out", "model: ", "write ", "sessions that were ended", "StorageError"):
        assert kind in done.stdout
