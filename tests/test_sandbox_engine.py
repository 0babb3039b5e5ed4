"""The engine refuses, goes away and comes back; which one is found, and what it must keep."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes import make_sandbox, probe
from aide.sandboxes.address import usable
from aide.sandboxes.docker import DockerSandbox, Image
from aide.sandboxes.engine import OWNER, RUN, Engine, is_rootless, unkept_limits
from aide.sandboxes.image import make_image
from tests.engine import require_engine
from tests.engine_proxy import EngineProxy
from tests.sandbox_fixtures import Bench, alive, python, start

__all__ = ["python"]


@pytest.fixture
def engine() -> Iterator[Engine]:
    require_engine()
    made = Engine()
    yield made
    made.close()


def containers(engine: Engine, run_id: str) -> list[Any]:
    return list(engine.client.containers.list(all=True, filters={"label": f"{RUN}={run_id}"}))


@pytest.mark.docker
def test_what_an_engine_refuses_is_one_sentence_and_leaves_nothing(
    engine: Engine, python: Path, tmp_path: Path
) -> None:
    image = make_image(engine, "mirror", (), python)
    absent = tmp_path / "absent"
    cases: dict[str, Image] = {
        "no/such/python": replace(image, python="/no/such/python"),
        str(absent): replace(image, folders=(*image.folders, absent)),
    }
    for number, (word, wrong) in enumerate(cases.items()):
        run_id = f"refused-{uuid.uuid4().hex[:6]}"
        sandbox = DockerSandbox(Engine(), wrong, run_id)
        (tmp_path / str(number)).mkdir(mode=0o755)
        with pytest.raises(UnavailableError, match="the Docker engine refuses") as caught:
            Bench(sandbox, tmp_path / str(number)).run("pass")
        assert word in str(caught.value)
        sandbox.close()
        assert containers(engine, run_id) == []
    assert not absent.exists()


@pytest.mark.docker
def test_a_gpu_that_the_engine_does_not_have_is_one_sentence_and_leaves_nothing(
    engine: Engine, python: Path
) -> None:
    image = make_image(engine, "mirror", (), python)
    request = {"Driver": "nvidia", "Count": 1, "Capabilities": [["gpu"]]}
    options = {"device_requests": [request], "labels": {OWNER: str(engine.me)}, "command": ["x"]}
    name = f"aide-gpu-{uuid.uuid4().hex[:8]}"
    with pytest.raises(UnavailableError, match="could not select device driver"):
        engine.start(image.name, name, options)
    end = time.monotonic() + 10
    while found := engine.client.containers.list(all=True, filters={"name": name}):
        assert time.monotonic() < end, found
        time.sleep(0.1)


@pytest.mark.docker
def test_a_run_outlives_its_engines_absence_and_the_next_one_waits_for_it(
    engine: Engine, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, run_id = tmp_path / "engine.sock", f"away-{uuid.uuid4().hex[:6]}"
    mark = f"3{uuid.uuid4().int % 10**9:09d}"
    proxy = EngineProxy(place)
    monkeypatch.setenv("DOCKER_HOST", proxy.url)
    sandbox = start("docker", python, run_id)
    bench = Bench(sandbox, tmp_path)
    with ThreadPoolExecutor(1) as pool:
        code = f"import subprocess as s; print(1); s.run(['timeout', '2', 'sleep', '{mark}'])"
        run = pool.submit(bench.run, code)
        while not alive(mark):
            time.sleep(0.02)
        proxy.close()
        place.unlink()
        assert "no engine answers" in sandbox.health()
        with pytest.raises(SandboxError, match="failed: it does not answer at unix://"):
            bench.run("pass")
        assert run.result().output == "1\n"
    proxy = EngineProxy(place)
    assert sandbox.health() == ""
    assert bench.run("print(2)").output == "2\n"
    sandbox.close()
    proxy.close()
    assert containers(engine, run_id) == []


def test_the_environment_names_the_engine_else_the_first_usable_socket_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///named/none.sock")
    with pytest.raises(UnavailableError, match=r"answers at unix:///named/none.sock; start it"):
        Engine()
    places = [str(tmp_path / name) for name in ("absent", "first", "second")]
    assert usable(places) == f"unix://{places[0]}"
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        second.bind(places[2])
        assert usable(places) == f"unix://{places[2]}"
        first.bind(places[1])
        assert usable(places) == f"unix://{places[1]}"


def test_no_engine_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(
        UnavailableError, match=r"none.sock; start it, or use --sandbox bubblewrap"
    ):
        make_sandbox("docker", run_id="x")
    name, usable, sentence = probe()[0]
    assert (name, usable) == ("docker", False)
    assert "none.sock" in sentence


def test_an_engine_without_limits_is_told_by_its_own_account() -> None:
    plain = {"MemoryLimit": True, "PidsLimit": True, "CgroupVersion": "1"}
    assert (unkept_limits(plain), is_rootless(plain)) == ([], False)
    assert unkept_limits({**plain, "PidsLimit": False}) == ["processes"]
    assert unkept_limits({}) == []  # an old engine that does not say
    for rootless in ({"Rootless": True}, {"SecurityOptions": ["name=seccomp", "name=rootless"]}):
        assert is_rootless({**plain, **rootless})
        assert unkept_limits({**plain, **rootless}) == ["memory", "processes"]
        assert unkept_limits({**plain, **rootless, "CgroupVersion": "2"}) == []
