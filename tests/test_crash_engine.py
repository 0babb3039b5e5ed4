"""A search in real containers: killed ten times, and through three restarts of its engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
import pytest

from aide import api
from aide.config import load_config
from aide.run import load
from aide.sandboxes.engine import RUN
from aide.sandboxes.owner import Owner
from benchmarks.crash import IN_CONTAINERS
from benchmarks.overhead import make_task
from tests.commands import ROOT
from tests.engine import left_containers, require_engine
from tests.own_engine import OwnEngine, own_engine

RESTARTS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)
STEPS = 8


@pytest.mark.slow
@pytest.mark.docker
def test_ten_kills_lose_and_leave_nothing(tmp_path: Path) -> None:
    require_engine()
    options = ["--kills", "10", "--steps", "12", "--parallel", "2", "--real"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.crash", *options],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": 10, "lost": 0, "nodes": 12}
    assert left_containers() == []
    assert left_folders(tmp_path) == []


def left_folders(*others: Path) -> list[str]:
    """The temporary folders of dead owners."""
    me = Owner.me()
    found = [path for place in (Path("/tmp"), *others) for path in place.glob("aide-*")]
    owners = [(path, Owner.from_token(path.name, me)) for path in found]
    return [str(path) for path, owner in owners if owner is not None and owner.is_dead(me)]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    with (
        # The path of a socket has to be short.
        tempfile.TemporaryDirectory(prefix="own-", dir="/tmp") as folder,
        own_engine(Path(folder)) as made,
    ):
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made


def containers(engine: OwnEngine) -> Counter[str]:
    """How many containers of ours the engine has, by state."""
    client = docker.DockerClient(base_url=engine.address, timeout=20)
    try:
        found = client.api.containers(all=True, filters={"label": RUN})
        return Counter(entry["State"] for entry in found)
    finally:
        client.close()


class Restarts(threading.Thread):
    """Restarts the engine, each time while programs run and another node has been finished.

    Args:
        engine: the engine.
        progress: set whenever a node is finished.
    """

    def __init__(self, engine: OwnEngine, progress: threading.Event) -> None:
        super().__init__(name="restarts")
        self._engine, self._progress = engine, progress
        self.over = threading.Event()
        self.done: list[signal.Signals] = []

    def run(self) -> None:
        for sign in RESTARTS:
            if not self._await_work():
                return
            self._engine.stop(sign)
            self._engine.start()
            self.done.append(sign)

    def _await_work(self) -> bool:
        """Wait for a node to be finished and then for programs that run."""
        self._progress.clear()
        while not self.over.is_set():
            if self._progress.wait(0.1) and containers(self._engine)["running"]:
                return True
        return False


@pytest.mark.slow
@pytest.mark.docker
# Docker's client leaves its socket open when it cannot connect to an engine that is down.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_restarts_of_the_engine_in_mid_run_cost_no_node(tmp_path: Path, engine: OwnEngine) -> None:
    progress = threading.Event()
    seen: list[Mapping[str, object]] = []

    def on_event(event: Mapping[str, object]) -> None:
        seen.append(event)
        if event["event"] == "finished":
            progress.set()

    settings = {
        **IN_CONTAINERS,
        "task": str(make_task(tmp_path / "task", rows=100)),
        "metric": "rmse",
        "target": "y",
        "steps": STEPS,
        "parallel": 2,
        "out": tmp_path / "run",
    }
    restarts = Restarts(engine, progress)
    with api.start(load_config(settings, environ={}), on_event) as session:
        restarts.start()
        try:
            reason = session.run()
        finally:
            restarts.over.set()
            restarts.join()
    assert restarts.done == list(RESTARTS)
    assert reason == f"all {STEPS} steps are done"
    statuses = [event["status"] for event in seen if event["event"] == "finished"]
    assert statuses == ["ok"] * STEPS
    assert [event for event in seen if event["event"] == "retrying"]
    assert load(tmp_path / "run").final is not None
    end = time.monotonic() + 20
    while containers(engine) and time.monotonic() < end:
        time.sleep(0.2)
    assert not containers(engine)
