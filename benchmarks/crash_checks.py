"""What a run's folder looks like after a crash: what is lost, what is not whole, what was cut."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from aide.errors import RunFolderError
from aide.folder import RunFolder
from aide.journal import read_events
from aide.node import Node
from aide.replay import State, replay


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run's folder holds.

    Attributes:
        nodes: each finished node, whole, as text by its id.
        lost: the nodes that were finished before and are not, or not alike.
        faults: what is damaged, one sentence each.
        cut: what the crash has left half-done, in a few words.
        ended: True if the run has come to its end.
        partial: the files that writers have left half-written.
    """

    nodes: Mapping[int, str] = field(default_factory=dict)
    lost: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    cut: str = "nothing"
    ended: bool = False
    partial: frozenset[Path] = frozenset()


def look(path: Path, before: Seen, rows: Iterable[int]) -> Seen:
    """Look through a run that nobody is writing to.

    Args:
        path: the run's folder; need not exist.
        before: what it held before.
        rows: how many rows a submission may have.
    """
    folder = RunFolder(path)
    begun = folder.journal.exists() and b"\n" in folder.journal.read_bytes()
    if not begun:
        return Seen(
            lost=tuple(before.nodes), cut="the run's beginning" if path.exists() else "nothing"
        )
    try:
        state = replay(read_events(folder.journal))
    except (RunFolderError, KeyError, ValueError) as error:
        return Seen(lost=tuple(before.nodes), faults=(f"the journal does not replay: {error}",))
    nodes = {node.id: repr(node) for node in state.tree}
    lost = tuple(node for node, text in before.nodes.items() if nodes.get(node) != text)
    faults = (*git_faults(folder.solutions, state.tree), *best_faults(folder, state, set(rows)))
    partial = frozenset(partial_files(folder))
    cut = cut_short(folder, state, partial - before.partial)
    return Seen(nodes, lost, faults, cut, state.final is not None, partial)


def git_faults(repository: Path, nodes: Iterable[Node]) -> list[str]:
    """Where git does not agree with the finished nodes, commit by commit."""
    nodes = list(nodes)
    names = [_ref(node.id) + part for node in nodes for part in ("", ":solution.py")]
    objects = dict(zip(names, _objects(repository, names), strict=True))
    faults = []
    for node in nodes:
        sha, commit = objects[_ref(node.id)]
        head, _, message = commit.decode("utf-8", "replace").partition("\n\n")
        parents = [line.split()[1] for line in head.splitlines() if line.startswith("parent ")]
        trailers = [f"Node: {node.id}", f"Operator: {node.operator}", f"Status: {node.status}"]
        if not sha:
            faults.append(f"node {node.id} has no commit")
        elif objects[f"{_ref(node.id)}:solution.py"][1] != node.code.encode("utf-8", "replace"):
            faults.append(f"the commit of node {node.id} holds other code")
        elif parents != [objects[_ref(parent)][0] for parent in node.parents]:
            faults.append(f"the commit of node {node.id} has other parents")
        elif not set(trailers) <= set(message.splitlines()):
            faults.append(f"the commit of node {node.id} has another message")
    return faults


def _ref(node_id: int) -> str:
    return f"refs/nodes/{node_id:04d}"


def _objects(repository: Path, names: list[str]) -> list[tuple[str, bytes]]:
    """The hash and the content of git objects; ("", b"") for one that is not there."""
    done = subprocess.run(
        ["git", "cat-file", "--batch"],
        cwd=repository,
        input="".join(f"{name}\n" for name in names).encode(),
        capture_output=True,
        check=True,
    )
    found, rest = [], done.stdout
    for _ in names:
        head, _, rest = rest.partition(b"\n")
        if head.endswith(b" missing"):
            found.append(("", b""))
            continue
        sha, _, size = head.decode().split()
        found.append((sha, rest[: int(size)]))
        rest = rest[int(size) + 1 :]
    return found


def fsck(repository: Path) -> str:
    """What git finds wrong with a repository; "" if nothing. Objects without use are no fault."""
    command = ["git", "fsck", "--full", "--strict", "--no-dangling", "--no-progress"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode or done.stdout else ""


def best_faults(folder: RunFolder, state: State, rows: set[int]) -> list[str]:
    """What is wrong with `best/`, which is absent or whole."""
    if not folder.best.exists():
        return ["best/ points nowhere"] if folder.best.is_symlink() else []
    try:
        code = (folder.best / "solution.py").read_text("utf-8")
        with (folder.best / "submission.csv").open(newline="") as stream:
            head, *lines = list(csv.reader(stream))
        numbers = {line[0]: float(line[1]) for line in lines}
    except (OSError, ValueError, IndexError) as error:
        return [f"best/ is not whole: {error}"]
    faults = []
    if code not in {node.code for node in state.tree if node.works}:
        faults.append("best/solution.py is no program of a node that works")
    if head != ["id", "y"] or len(lines) not in rows or len(numbers) != len(lines):
        faults.append(f"best/submission.csv has {len(lines)} rows, head {head}")
    return faults


def partial_files(folder: RunFolder) -> Iterator[Path]:
    """The files that a writer makes before it puts them in their place."""
    git = folder.solutions / ".git"
    yield from (path for path in folder.path.glob(".*") if path != folder.lock)
    yield from folder.path.glob("versions/*/.*")
    yield from git.glob("objects/obj*")
    yield from git.glob("refs/**/*.lock")


def cut_short(folder: RunFolder, state: State, partial: Set[Path]) -> str:
    """What a crash has left half-done, the most telling first."""
    best = state.tree.best
    refs = {int(p.name) for p in (folder.solutions / ".git/refs/nodes").glob("[0-9]*[0-9]")}
    if not folder.journal.read_bytes().endswith(b"\n"):
        return "a line of the journal"
    if refs - {node.id for node in state.tree}:
        return "between commit and journal"
    if best is not None and not folder.best.resolve().name.startswith(f"{best.id:04d}"):
        return "between journal and best/"
    if any(path.is_relative_to(folder.solutions) for path in partial):
        return "a commit"
    if partial:
        return "another file"
    return "what was proposed" if state.pending else "nothing"
