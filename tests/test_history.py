"""The git repository of a run, read back with git itself."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from aide.errors import RunFolderError, StorageError
from aide.history import History
from aide.node import Action, Candidate, Node, Outcome, Score
from tests.trees import node as make_node


def git(path: Path, *args: str) -> str:
    result = subprocess.run(["git", *args], cwd=path, capture_output=True, text=True, check=True)
    return result.stdout


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "solutions")


def test_the_commits_are_the_tree(history: History, tmp_path: Path) -> None:
    nodes = [
        make_node(1, value=0.5),
        make_node(2, status="error"),
        make_node(3, "debug", (2,), value=0.6),
        make_node(4, "merge", (1, 3), value=0.7),
    ]
    for node in nodes:
        history.commit(node)
    history.set_best(4)
    path = tmp_path / "solutions"
    parents = {
        node.id: git(path, "rev-list", "--parents", "-n1", f"refs/nodes/{node.id:04d}").split()
        for node in nodes
    }
    for node in nodes:
        assert parents[node.id][1:] == [parents[parent][0] for parent in node.parents]
        assert git(path, "show", f"refs/nodes/{node.id:04d}:solution.py") == node.code
    assert git(path, "rev-parse", "best").strip() == parents[4][0]
    assert (path / "solution.py").read_text() == nodes[3].code
    git(path, "fsck", "--strict")


def test_message_and_trailers(history: History, tmp_path: Path) -> None:
    plan = "Use ridge. " + "More words. " * 20 + "\nSecond line: with a colon"
    outcome = Outcome("ok", Score(0.25, 0.1, 4))
    node = Node(1, Action("draft"), Candidate(plan, "pass\n"), outcome)
    history.commit(node)
    path = tmp_path / "solutions"
    subject, body = git(path, "log", "-1", "--format=%s%x00%b", "refs/nodes/0001").split("\0")
    assert len(subject) <= 72
    assert "Second line" in body
    trailers = git(path, "log", "-1", "--format=%(trailers:only)", "refs/nodes/0001")
    assert trailers.split("\n")[:4] == ["Node: 1", "Operator: draft", "Status: ok", "Score: 0.25"]


def test_diff_is_the_edit(history: History) -> None:
    history.commit(make_node(1, value=1, code="a = 1\nb = 2\n"))
    history.commit(make_node(2, "improve", (1,), value=1, code="a = 1\nb = 3\n"))
    assert "-b = 2\n+b = 3" in history.diff(2)
    assert "+a = 1" in history.diff(1)
    with pytest.raises(RunFolderError, match="node 9 is not in"):
        history.diff(9)


@pytest.mark.parametrize("code", ["", "x = '\udcff'\n", "é" * 10, "\r\n\r\n"])
def test_any_code_can_be_kept(history: History, code: str) -> None:
    history.commit(make_node(1, value=1, code=code or " "))


def test_a_reopened_repository_goes_on(history: History, tmp_path: Path) -> None:
    history.commit(make_node(1, value=1))
    again = History(tmp_path / "solutions")
    again.commit(make_node(1, value=1))
    again.commit(make_node(2, "improve", (1,), value=2))
    assert again.has(2)
    assert not again.has(3)


def test_without_git_there_is_one_sentence(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from aide.errors import UnavailableError\n"
        "from aide.history import History\n"
        "try: History(Path('s'))\n"
        "except UnavailableError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("git is not installed")


def test_what_is_lost_is_made_again(tmp_path: Path) -> None:
    child = make_node(2, "improve", (1,), value=2, code="print(2)\n")
    nodes = [make_node(1, value=1), child]
    history = History(tmp_path / "solutions")
    for node in nodes:
        history.commit(node)
    for ref in (tmp_path / "solutions" / ".git" / "refs" / "nodes").iterdir():
        ref.unlink()
    history.heal(nodes)
    assert "+print(2)" in history.diff(2)


def test_a_failed_write_leaves_nothing_open_and_nothing_behind(
    history: History, tmp_path: Path
) -> None:
    code = "x = '" + random.Random(0).randbytes(4000).hex() + "'\n"
    node = Node(1, Action("draft"), Candidate("plan", code), Outcome("error"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # As on a disk with little room: the first part of the file is written, the rest is refused.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        for _ in range(3):
            with pytest.raises(StorageError):
                history.commit(node)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not list((tmp_path / "solutions/.git/objects").glob("obj*"))
    history.commit(node)
    assert git(tmp_path / "solutions", "show", "refs/nodes/0001:solution.py") == code
    git(tmp_path / "solutions", "fsck", "--strict")
