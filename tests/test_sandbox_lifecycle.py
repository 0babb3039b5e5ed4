"""What becomes of sandboxes when their host or container dies, and which one is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from aide.errors import AideError, ConfigError, SandboxError, UnavailableError
from aide.interfaces import Sandbox
from aide.sandboxes import make_sandbox
from aide.sandboxes.engine import DEADLINE, JOB, OWNER, RUN, Engine
from aide.sandboxes.owner import Owner, started
from tests.engine_proxy import StuckEngine
from tests.sandbox_fixtures import KINDS, Bench, alive, python, start

__all__ = ["python"]

HOST = """
import sys
from pathlib import Path
from aide.interfaces import Job, Limits
from aide.sandboxes import make_sandbox
kind, run_id, python, folder, mark = sys.argv[1:]
sandbox = make_sandbox(kind, run_id=run_id, image="mirror", python=Path(python))
code = f"import os; os.setsid() if os.fork() == 0 else 0; os.execlp('sleep', 'sleep', {mark!r})"
sandbox.run(Job("0001", code, Path(folder), {}, Path(folder), Limits(seconds=60)))
"""


def until(condition: Callable[[], object], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def client() -> Iterator[Any]:
    try:
        made = docker.from_env(timeout=30)
        made.ping()
    except docker.errors.DockerException:
        if os.environ.get("AIDE_TEST_REQUIRE_DOCKER"):
            raise
        pytest.skip("no Docker engine answers")  # in CI it was raised above
    yield made
    made.close()


def leftovers(pid: int) -> list[str]:
    """What a host process has left in the folder for temporary files and among control groups."""
    temporary = tempfile.gettempdir()
    found = list(Path(temporary).iterdir())
    # Not pathlib: what other tests remove meanwhile must not end the search.
    for top, names, _ in os.walk("/sys/fs/cgroup"):
        found += [Path(top, name) for name in names]
    return [str(path) for path in found if path.name.startswith(f"aide-{pid}.")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_host_takes_its_runs_with_it_and_the_next_one_tidies_up(
    kind: str, python: Path, tmp_path: Path
) -> None:
    start(kind, python).close()
    folder = tmp_path / "input"
    folder.mkdir()
    folder.chmod(0o755)
    run_id, mark = uuid.uuid4().hex[:8], f"3{uuid.uuid4().int % 10**9:09d}"
    command = [sys.executable, "-c", HOST, kind, run_id, str(python), str(folder), mark]
    host = subprocess.Popen(command)
    try:
        assert until(lambda: len(alive(mark)) >= 3, 30)  # the host's own and two sleepers
    finally:
        host.kill()
        host.wait()
    assert until(lambda: not alive(mark), 3)
    start(kind, python, "next").close()
    assert until(lambda: not leftovers(host.pid), 3)
    if kind == "docker":
        client = docker.from_env()
        assert not client.containers.list(all=True, filters={"label": f"{RUN}={run_id}"})
        client.close()


@pytest.mark.docker
def test_only_dead_owners_containers_are_reaped(client: Any, python: Path) -> None:
    start("docker", python).close()
    image = next(tag for i in client.images.list("aide-mirror") for tag in i.tags)
    me = Owner.me()
    parent = replace(me, pid=os.getppid(), start=started(os.getppid()))
    later, past = str(int(time.time()) + 600), str(int(time.time()) - 1)
    gone = f"999999999:1:{me.boot}:{me.namespace}"
    elsewhere = f"{me.pid}:{me.start}:another-boot:1"
    cases = {
        "mine": ({OWNER: str(me), DEADLINE: later}, True),
        "mine, after a jump of the clock": ({OWNER: str(me), DEADLINE: past}, True),
        "of my parent, the same": ({OWNER: str(parent), DEADLINE: past}, True),
        "of nobody": ({"something": "else"}, True),
        "of a strange label": ({OWNER: "who knows", DEADLINE: past}, True),
        "of another machine": ({OWNER: elsewhere, DEADLINE: later}, True),
        "of another machine, overdue": ({OWNER: elsewhere, DEADLINE: past}, False),
        "of a dead process": ({OWNER: gone, DEADLINE: later}, False),
    }
    made = {
        name: client.containers.create(image, ["x"], labels={**labels, JOB: "test"})
        for name, (labels, _) in cases.items()
    }
    try:
        start("docker", python).close()
        there = {c.id for c in client.containers.list(all=True)}
        assert {name: c.id in there for name, c in made.items()} == {
            name: stays for name, (_, stays) in cases.items()
        }
    finally:
        for container in client.containers.list(all=True, filters={"label": f"{JOB}=test"}):
            container.remove(force=True)
        for container in made.values():
            with suppress(docker.errors.NotFound):
                container.remove(force=True)


@pytest.mark.docker
def test_an_engine_that_cannot_remove_a_container_keeps_no_run_waiting(
    client: Any, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("docker", python).close()
    image = next(tag for i in client.images.list("aide-mirror") for tag in i.tags)
    me = Owner.me()
    gone = {OWNER: f"999999999:1:{me.boot}:{me.namespace}", JOB: "stuck"}
    left = [client.containers.create(image, ["x"], labels=gone) for _ in range(3)]
    stuck = StuckEngine(tmp_path / "engine.sock")
    try:
        monkeypatch.setenv("DOCKER_HOST", stuck.url)
        before = time.monotonic()
        sandbox = start("docker", python)
        assert time.monotonic() - before < 5
        assert Bench(sandbox, tmp_path).run("print('ran')").output == "ran\n"
        sandbox.close()
        assert time.monotonic() - before < 25
        assert stuck.removals >= 4
    finally:
        stuck.close()
        monkeypatch.undo()
        mine = client.containers.list(all=True, filters={"label": f"{OWNER}={me}"})
        for container in [*left, *mine]:
            # Another search on this machine may have tidied up those of a dead owner.
            with suppress(docker.errors.NotFound):
                container.remove(force=True)


@pytest.fixture
def docker_bench(client: Any, python: Path, tmp_path: Path) -> Iterator[Bench]:
    sandbox: Sandbox = start("docker", python, f"life-{uuid.uuid4().hex[:6]}")
    yield Bench(sandbox, tmp_path)
    sandbox.close()


@pytest.mark.docker
def test_a_container_that_dies_from_outside_is_the_sandboxs_failure(
    client: Any, docker_bench: Bench
) -> None:
    def running() -> list[Any]:
        mine = str(Owner.me())
        return list(client.containers.list(filters={"label": f"{OWNER}={mine}"}))

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(docker_bench.run, "import time; time.sleep(30)")
        assert until(lambda: running() and running()[0].top()["Processes"][1:], 20)
        running()[0].kill()
        with pytest.raises(SandboxError, match=r"without a report \(container exited"):
            run.result()


@pytest.mark.docker
def test_containers_are_removed_by_the_time_of_close_and_close_can_be_repeated(
    client: Any, python: Path, tmp_path: Path
) -> None:
    run_id = uuid.uuid4().hex[:8]
    sandbox = start("docker", python, run_id)
    assert Bench(sandbox, tmp_path).run("pass").status == "ok"
    sandbox.close()
    sandbox.close()
    assert not client.containers.list(all=True, filters={"label": f"{RUN}={run_id}"})


@pytest.mark.docker
def test_a_taken_name_is_passed_over(client: Any, python: Path, tmp_path: Path) -> None:
    run_id = uuid.uuid4().hex[:8]
    sandbox = start("docker", python, run_id)
    bench = Bench(sandbox, tmp_path)
    image = next(tag for i in client.images.list("aide-mirror") for tag in i.tags)
    taken = client.containers.create(image, ["x"], name=f"aide-{run_id}-0007-1")
    try:
        job = bench.job("print('ok')", name="0007")
        assert sandbox.run(job).output == "ok\n"
        assert client.containers.get(taken.id).status == "created"
    finally:
        taken.remove(force=True)
        sandbox.close()


@pytest.mark.docker
def test_an_image_that_cannot_be_had_is_one_clear_sentence(client: Any) -> None:
    with pytest.raises(UnavailableError, match="image aide-no-such-image:1 is not there"):
        make_sandbox("docker", run_id="x", image="aide-no-such-image:1")


@pytest.mark.docker
def test_a_named_image_without_a_python_is_refused(client: Any, python: Path) -> None:
    start("docker", python).close()
    image = next(tag for i in client.images.list("aide-mirror") for tag in i.tags)
    with pytest.raises(UnavailableError, match="has no usable python3"):
        make_sandbox("docker", run_id="x", image=image)
    mine = {"label": f"{OWNER}={Owner.me()}"}
    assert not client.containers.list(all=True, filters=mine)


@pytest.mark.docker
def test_an_image_is_built_and_a_failed_build_says_why(
    client: Any, python: Path, tmp_path: Path
) -> None:
    start("docker", python).close()
    base = next(tag for i in client.images.list("aide-mirror") for tag in i.tags)
    recipe, tag = tmp_path / "Dockerfile", f"aide-test:{uuid.uuid4().hex[:8]}"
    engine = Engine()
    try:
        recipe.write_text(f"FROM {base}\nARG PACKAGES\nLABEL packages=${{PACKAGES}}\n")
        engine.build(tag, tmp_path, {"PACKAGES": "numpy"})
        assert client.images.get(tag).labels == {"packages": "numpy"}
        client.images.remove(tag)
        recipe.write_text(f"FROM {base}\nCOPY absent /\n")
        with pytest.raises(AideError, match="absent"):
            engine.build(tag, tmp_path, {})
        assert not engine.reaches("127.0.0.1:9/none:1")
    finally:
        engine.close()


def test_a_program_that_stops_its_supervisor_is_ended_by_the_host(
    python: Path, tmp_path: Path
) -> None:
    sandbox = start("process", python)
    code = "import os, time\nprint('before')\nos.kill(os.getppid(), 19)\ntime.sleep(60)\n"
    done = Bench(sandbox, tmp_path).run(code, "working/out", seconds=0.5)
    assert (done.status, done.output) == ("timeout", "before\n")
    assert done.refused == {"working/out": "missing"}
    assert done.seconds < 10
    sandbox.close()


def test_auto_without_an_engine_or_bubblewrap_wants_process_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="--sandbox process"):
        make_sandbox("auto", run_id="x", python=python)
    chosen = make_sandbox("auto", run_id="x", python=python, offline_author=True)
    assert chosen.name == "process"
    assert "NOT isolated" in chosen.about


def test_an_unknown_kind_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="known: auto, docker, bubblewrap, process"):
        make_sandbox("podman", run_id="x")


@pytest.mark.skipif(os.getuid() != 0, reason="only root's programs run as another user")
@pytest.mark.parametrize("kind", KINDS[:2])
def test_an_input_that_the_sandboxs_user_cannot_read_is_not_the_programs_fault(
    kind: str, python: Path, tmp_path: Path
) -> None:
    sandbox = start(kind, python)
    bench = Bench(sandbox, tmp_path)
    (bench.input / "train.csv").chmod(0o600)
    with pytest.raises(UnavailableError, match=r"train.csv: run 'chmod -R o\+rX"):
        bench.run("pass")
    sandbox.close()


def test_a_python_that_does_not_run_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(AideError, match="does not run"):
        make_sandbox("process", run_id="x", python=tmp_path / "python")
