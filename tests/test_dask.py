"""Many machines: a real Dask cluster, whose workers run programs in real sandboxes of their own.

The sandbox's contract is tested on the part that travelling could break; the rest of it is the
workers' own sandboxes', which the contract suite covers.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, SpecCluster

from aide.api import search
from aide.errors import SandboxError, UnavailableError
from aide.interfaces import Limits
from aide.runner import JobLost, Runner
from aide.sandboxes.cluster import Cluster
from aide.sandboxes.dask import DaskSandbox, dask_sandbox
from aide.sandboxes.environment import installed
from aide.sandboxes.shipping import content_hash
from aide.tasks.load import load
from tests import dask_cluster
from tests.contracts.test_sandbox import (
    test_a_missing_input_is_one_clear_sentence,
    test_a_program_reads_its_input_and_its_output_comes_back,
    test_a_timeout_keeps_the_output_and_leaves_no_process,
    test_an_exception_is_an_error_with_the_programs_own_traceback,
    test_cancel_ends_a_run_at_once_and_the_sandbox_goes_on,
    test_two_runs_at_once,
)
from tests.dask_programs import HOST, KILL_THE_WORKER, WITHOUT_DASK
from tests.sandbox_fixtures import Bench, alive, bench, python

__all__ = [
    "bench",
    "python",
    "test_a_missing_input_is_one_clear_sentence",
    "test_a_program_reads_its_input_and_its_output_comes_back",
    "test_a_timeout_keeps_the_output_and_leaves_no_process",
    "test_an_exception_is_an_error_with_the_programs_own_traceback",
    "test_cancel_ends_a_run_at_once_and_the_sandbox_goes_on",
    "test_two_runs_at_once",
]

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("machines")
    return [top / name for name in ("first", "second", "third")]


@pytest.fixture(scope="module")
def cluster(caches: list[Path]) -> Iterator[SpecCluster]:
    with dask_cluster.cluster(*map(dask_cluster.worker, caches)) as made:
        yield made


def connect(cluster: SpecCluster, python: Path) -> DaskSandbox:
    address, run_id = cluster.scheduler_address, uuid.uuid4().hex[:8]
    return dask_sandbox(address, run_id=run_id, kind="process", python=python, warm=False)


@pytest.fixture(scope="module")
def sandbox(cluster: SpecCluster, python: Path) -> Iterator[DaskSandbox]:
    made = connect(cluster, python)
    yield made
    made.close()


def test_it_tells_what_it_is(sandbox: DaskSandbox, cluster: SpecCluster, python: Path) -> None:
    assert sandbox.about.startswith(f"dask at {cluster.scheduler_address}, 3 workers: ")
    assert sandbox.about.endswith("NOT isolated: programs can read and change your files")
    assert sandbox.packages() == installed(python)
    assert sandbox.health() == ""


def test_a_view_is_sent_once_to_each_worker(
    sandbox: DaskSandbox, bench: Bench, caches: list[Path]
) -> None:
    (bench.input / "train.csv").write_text("id,y\n2,1\n")
    digest = content_hash(bench.input)
    code = "import time; time.sleep(0.3); print(open('input/train.csv').read())"
    with ThreadPoolExecutor(3) as pool:
        outputs = list(pool.map(lambda _: bench.run(code).output, range(9)))
    assert outputs == ["id,y\n2,1\n\n"] * 9
    sent = Counter(sent for sent in sandbox.delivery.sent if sent[0] == digest)
    assert set(sent.values()) == {1}
    assert len(sent) == sum((cache / "views" / digest).is_dir() for cache in caches) >= 2


def test_a_view_that_was_changed_on_a_worker_is_sent_again(
    sandbox: DaskSandbox, cluster: SpecCluster, bench: Bench, caches: list[Path]
) -> None:
    (bench.input / "train.csv").write_text("id,y\n3,0\n")
    for worker in dask_cluster.pids(cluster):
        sandbox.delivery.bring(bench.input, worker)
    count, digest = len(sandbox.delivery.sent), content_hash(bench.input)
    for cache in caches:
        file = cache / "views" / digest / "train.csv"
        file.chmod(0o644)
        file.write_text("id,y\n3,1\n")
    assert bench.run("print(open('input/train.csv').read())").output == "id,y\n3,0\n\n"
    # The job may meet damage on more than one worker before it is run.
    assert count + 1 <= len(sandbox.delivery.sent) <= count + 3


def test_views_are_brought_ahead_and_a_later_run_finds_them(
    sandbox: DaskSandbox, cluster: SpecCluster, python: Path, bench: Bench
) -> None:
    (bench.input / "train.csv").write_text("id,y\n4,0\n")
    digest = content_hash(bench.input)
    sandbox.prepare(bench.input, bench.job("").limits, 3)
    until = time.monotonic() + 30
    while sum(view == digest for view, _ in sandbox.delivery.sent) < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert {(digest, worker) for worker in dask_cluster.pids(cluster)} <= set(
        sandbox.delivery.sent
    )
    later = connect(cluster, python)
    assert later.run(bench.job("print(1)")).status == "ok"
    later.close()
    assert later.delivery.sent == []


def test_a_host_that_dies_leaves_no_program_behind(
    cluster: SpecCluster, python: Path, bench: Bench
) -> None:
    mark = f"3{uuid.uuid4().int % 10**9:09d}"
    cluster.wait_for_workers(3)
    command = [sys.executable, "-c", HOST, cluster.scheduler_address, str(python)]
    host = subprocess.Popen([*command, str(bench.input), mark])
    try:
        until = time.monotonic() + 60
        while len(alive(mark)) < 2:  # the host's own command line has it too
            assert host.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        host.kill()
        host.wait()
    start = time.monotonic()
    while alive(mark):
        assert time.monotonic() - start < 20
        time.sleep(0.02)


def test_a_job_is_run_three_times_and_no_more_whatever_dask_would_do(
    sandbox: DaskSandbox, cluster: SpecCluster, tmp_path: Path
) -> None:
    scheduler: Any = cluster.scheduler
    assert scheduler.allowed_failures >= 3
    cluster.wait_for_workers(3)
    log, reasons = tmp_path / "starts", list[str]()
    log.touch()
    runner = Runner(sandbox, load("titanic"), lambda job, reason: reasons.append(reason))
    code = KILL_THE_WORKER.format(log=str(log))
    with pytest.raises(JobLost, match="died while it ran job deadly, 3 times in a row"):
        runner.execute("deadly", code, "search", tmp_path / "out", Limits(seconds=30))
    assert log.read_text() == "xxx"
    assert len(reasons) == 2


@pytest.fixture
def near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpecCluster]:
    """A worker that offers 1 GiB of memory, in this process."""
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path / "cache"))
    offering = dask_cluster.inner_worker(resources={"MEMORY": 1 << 30})
    with dask_cluster.cluster(offering) as made:
        yield made


def test_a_scheduler_that_is_gone_is_an_outage_and_closing_does_not_hang(
    near: SpecCluster, python: Path, tmp_path: Path
) -> None:
    sandbox = connect(near, python)
    job = Bench(sandbox, tmp_path).job("print(1)")
    near.close()
    assert "scheduler" in sandbox.health()
    start = time.monotonic()
    with pytest.raises(SandboxError):
        sandbox.run(job)
    sandbox.close()
    sandbox.close()
    assert time.monotonic() - start < 20


@pytest.fixture
def client(near: SpecCluster) -> Iterator[Client]:
    make: Any = Client  # it has no types
    with make(near) as made:
        yield made


def test_needs_are_asked_for_as_resources_and_a_given_client_stays_open(
    client: Client, python: Path, tmp_path: Path
) -> None:
    sandbox = dask_sandbox(client, run_id="own", kind="process", python=python, warm=False)
    bench = Bench(sandbox, tmp_path)
    with pytest.raises(UnavailableError, match="offers the MEMORY=2147483648 that a solution"):
        bench.run("print(1)", memory_mb=2048)
    with pytest.raises(UnavailableError, match=r"offers the MEMORY=.* and GPU=1 .*--resources"):
        bench.run("print(1)", gpus=1)
    assert bench.run("print(1)", memory_mb=1024).output == "1\n"
    # A worker that offered enough may come back: an outage, which the search waits for.
    with pytest.raises(SandboxError, match="no Dask worker offers"):
        bench.run("print(1)", memory_mb=2048)
    assert "no Dask worker offers the MEMORY=2147483648" in sandbox.health()
    sandbox.close()
    assert client.status == "running"


def test_a_worker_of_another_version_is_named(python: Path, tmp_path: Path) -> None:
    other = tmp_path / "packages" / "aide_search-9.9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: aide-search\nVersion: 9.9.9\n")
    preload = f"import sys; sys.path.insert(0, {str(other.parent)!r})"
    there = dask_cluster.worker(tmp_path, preload=[preload])
    with dask_cluster.cluster(there) as alone:
        [address] = dask_cluster.pids(alone)
        with pytest.raises(UnavailableError, match=f"worker {address} has version 9") as info:
            connect(alone, python)
        assert "pip install aide-search==" in str(info.value)


def test_nobody_at_the_address_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no Dask scheduler answers at tcp:"):
        Cluster("tcp://127.0.0.1:9", seconds=0.5)
    with (
        dask_cluster.cluster() as empty,
        pytest.raises(UnavailableError, match="no worker has joined the Dask scheduler"),
    ):
        Cluster(empty.scheduler_address, seconds=0.5)


def test_without_dask_it_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DASK], check=True, capture_output=True, text=True
    )
    assert done.stdout == "Dask is not installed: run pip install 'aide-search[dask]'\n"


def test_a_search_whose_worker_is_killed_loses_nothing(
    cluster: SpecCluster, python: Path, tmp_path: Path, caches: list[Path]
) -> None:
    kinds: Counter[str] = Counter()
    killer = threading.Thread(target=lambda: dask_cluster.kill_a_busy_worker(cluster))

    def on_event(event: Mapping[str, Any]) -> None:
        kinds[event["event"]] += 1
        if event["event"] == "finished" and event["nodes"] == 1:
            killer.start()

    cluster.wait_for_workers(3)
    before = sent_to(caches)
    run = search(
        "titanic",
        model="tests.dask_programs:make_model",
        steps=9,
        drafts=9,
        parallel=3,
        warm=False,
        dask=cluster.scheduler_address,
        sandbox="process",
        python=python,
        out=tmp_path / "run",
        on_event=on_event,
    )
    killer.join()
    assert kinds["retrying"] == 1
    assert [node.id for node in sorted(run.nodes, key=lambda node: node.id)] == list(range(1, 10))
    assert not any("lost" in node.outcome.flags for node in run.nodes)
    assert run.best is not None
    assert run.final is not None
    # Labels never travel: what the workers have been sent are views, and nothing else.
    task = load("titanic")
    views = {content_hash(task.view(view)) for view in ("smoke", "search", "full")}
    assert sent_to(caches) - before <= views


def sent_to(caches: list[Path]) -> set[str]:
    """The hashes of all views that the workers have been sent."""
    return {path.name for cache in caches for path in cache.glob("views/[0-9a-f]*")}
