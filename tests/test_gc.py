"""What `aide gc` removes and what it leaves: by owner, by mark, by the run's lock."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from aide.errors import RunFolderError
from aide.folder import RunFolder
from aide.gc import Removed, collect, line
from aide.interfaces import Limits
from aide.sandboxes.cgroup import ROOT, Cgroup
from aide.sandboxes.control import temporary_folder
from aide.sandboxes.engine import DEADLINE, OWNER, Engine
from aide.sandboxes.image import make_image
from aide.sandboxes.owner import Owner
from tests.engine import require_engine

DEAD = Owner(2**22 - 1, "1", Owner.me().boot, Owner.me().namespace)
"""No process has so high a number and began at the first tick."""


def mine(found: list[Removed], *names: str) -> dict[str, str]:
    """What was done with some things, by name; other things on this machine do not count."""
    return {each.name: each.done for each in found if each.name in names}


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_without_an_engine_it_goes_on_and_says_so(nowhere: None) -> None:
    found = collect(dry_run=True)
    assert found[0] == Removed("container", "(all)", "no engine answers: not looked at", "left")
    assert line(found[0]) == "left     container (all): no engine answers: not looked at"


def test_folders_go_with_their_owner(temporary: Path, nowhere: None) -> None:
    dead = temporary / f"aide-{DEAD.token}-abc"
    closed = dead / "control" / "closed"
    closed.mkdir(parents=True)
    closed.chmod(0)
    living = temporary_folder()
    foreign = temporary / "aide-of-somebody-else"
    foreign.mkdir()
    names = [str(path) for path in (dead, living, foreign)]
    assert mine(collect(dry_run=True), *names) == {str(dead): "found"}
    assert dead.exists()
    assert mine(collect(), *names) == {str(dead): "removed"}
    assert not dead.exists()
    assert living.exists()
    assert foreign.exists()


def groups_of(token: str) -> list[str]:
    return [str(folder) for folder in ROOT.rglob(f"aide-{token}-*")]


def test_control_groups_go_with_their_owner_and_what_runs_in_them(nowhere: None) -> None:
    program = """
import sys
from aide.interfaces import Limits
from aide.sandboxes.cgroup import Cgroup
from aide.sandboxes.owner import Owner
Cgroup.create(Limits()).add(int(sys.argv[1]))
print(Owner.me().token)
"""
    living = Cgroup.create(Limits())
    if living is None:
        pytest.skip("no control group can be made here")  # a user to whom none is delegated
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        made = subprocess.run(
            [sys.executable, "-c", program, str(sleeper.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        dead = groups_of(made.stdout.strip())
        assert dead
        assert mine(collect(dry_run=True), *dead) == dict.fromkeys(dead, "found")
        assert sleeper.poll() is None
        assert mine(collect(), *dead) == dict.fromkeys(dead, "removed")
        assert sleeper.wait(10) != 0
        assert not any(Path(name).exists() for name in dead)
        assert groups_of(Owner.me().token)
    finally:
        sleeper.kill()
        living.remove()


@pytest.fixture
def client() -> Iterator[Any]:
    require_engine()
    made = docker.from_env(timeout=60)
    yield made
    made.close()


@pytest.mark.docker
def test_containers_go_with_their_owner(client: Any) -> None:
    engine = Engine()
    image = make_image(engine, "mirror", (), Path(sys.executable)).name
    engine.close()
    me = Owner.me()
    elsewhere = Owner(1, "1", "another boot", me.namespace)
    labels: dict[str, dict[str, str]] = {
        "dead": {OWNER: str(DEAD), DEADLINE: "99999999999"},
        "expired": {OWNER: str(elsewhere), DEADLINE: "1"},
        "elsewhere": {OWNER: str(elsewhere), DEADLINE: "99999999999"},
        "living": {OWNER: str(me), DEADLINE: "1"},
        "foreign": {"other.owner": str(DEAD)},
        "unreadable": {OWNER: "somebody"},
    }
    mark = uuid.uuid4().hex[:8]
    names = {kind: f"aide-gc-{mark}-{kind}" for kind in labels}
    try:
        for kind, given in labels.items():
            client.containers.create(image, ["true"], name=names[kind], labels=given)
        gone = {names["dead"], names["expired"]}
        assert mine(collect(dry_run=True), *names.values()) == dict.fromkeys(gone, "found")
        assert len(client.containers.list(all=True, filters={"name": mark})) == len(names)
        assert mine(collect(), *names.values()) == dict.fromkeys(gone, "removed")
        left = {each.name for each in client.containers.list(all=True, filters={"name": mark})}
        assert left == set(names.values()) - gone
    finally:
        for container in client.containers.list(all=True, filters={"name": mark}):
            container.remove(force=True)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run's folder as a crash may leave it, with what a user has put there."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.journal.write_text('{"event": "start", "version": 1}\n')
    for name in ("0001", "0002"):
        folder.set_best(name, "code", "id,y\n")
    for path in LEFT + KEPT:
        (folder.path / path).parent.mkdir(parents=True, exist_ok=True)
        (folder.path / path).write_text("half")
    return folder


LEFT = [
    ".config.toml.abcd_123",
    ".report.md.00000000",
    "solutions/.solution.py.abcdefgh",
    "solutions/.git/refs/nodes/0003.lock",
    "solutions/.git/refs/heads/best.lock",
    "solutions/.git/objects/objabcdef",
    "nodes/0003/.submission.csv.part",
    "versions/0002/.solution.py.abcdefgh",
    "versions/0001/solution.py",
]
KEPT = [
    ".lock",
    ".notes.md.abcdefgh",
    "config.toml",
    "notes.part",
    "solutions/.git/refs/nodes/0002",
    "solutions/.git/objects/ab/cdef",
    "nodes/0003/submission.csv",
    "nodes/0003/model.part",
]


def files(folder: RunFolder) -> set[str]:
    return {
        str(path.relative_to(folder.path)) for path in folder.path.rglob("*") if path.is_file()
    }


def test_half_written_files_of_a_run_go(run: RunFolder, nowhere: None) -> None:
    before = files(run)
    found = [each for each in collect([run.path], dry_run=True) if str(run.path) in each.name]
    assert {each.done for each in found} == {"found"}
    assert files(run) == before
    removed = [each for each in collect([run.path]) if str(run.path) in each.name]
    assert [each.name for each in removed] == [each.name for each in found]
    assert {each.done for each in removed} == {"removed"}
    assert before - files(run) == set(LEFT)
    assert (run.best / "solution.py").read_text() == "code"
    assert not [each for each in collect([run.path]) if str(run.path) in each.name]


def test_a_run_at_work_is_left_alone(run: RunFolder, nowhere: None) -> None:
    before = files(run)
    with run.writing():
        found = [each for each in collect([run.path]) if each.kind == "run"]
    assert [each.done for each in found] == ["left"]
    assert f"another process ({os.getpid()})" in found[0].why
    assert files(run) == before


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="not a run's folder"):
        collect([tmp_path])
