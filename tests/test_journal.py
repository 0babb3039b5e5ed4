"""The journal: what is written is read, whatever cuts the file or fills the disk."""

from __future__ import annotations

import gc
import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide.errors import RunFolderError, StorageError
from aide.journal import VERSION, Journal, read_events
from aide.node import Node
from aide.replay import catch_up, finished_event, proposed_event, replay
from aide.tree import Tree
from tests.trees import grow, proposed
from tests.trees import node as make_node

START: dict[str, Any] = {"event": "start", "version": VERSION, "task": {"maximize": True}}


def events_of(tree: Tree) -> list[dict[str, Any]]:
    events = [START]
    for node in tree:
        events += [proposed_event(proposed(node), f"hash {node.id}"), finished_event(node)]
    return events


def write(path: Path, events: list[dict[str, Any]]) -> None:
    with Journal(path) as journal:
        for event in events:
            journal.append(event)


def nodes_of(tree: Tree) -> list[Node]:
    return list(tree)


@given(size=st.integers(0, 30), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_the_tree_is_the_replay_of_its_journal(
    tmp_path_factory: pytest.TempPathFactory, size: int, seed: int
) -> None:
    tree = grow(seed, size)
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write(path, events_of(tree))
    state = replay(read_events(path))
    assert nodes_of(state.tree) == nodes_of(tree)
    assert state.tree.known == tree.known
    assert state.tree.roots == tree.roots
    assert not state.pending


@given(seed=st.integers(0, 1000), share=st.floats(0.05, 1))
@settings(max_examples=60, deadline=None)
def test_a_cut_anywhere_loses_only_what_was_not_whole(
    tmp_path_factory: pytest.TempPathFactory, seed: int, share: float
) -> None:
    events = events_of(grow(seed, 8))
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write(path, events)
    content = path.read_bytes()
    first_line = content.index(b"\n") + 1
    cut = max(first_line, int(len(content) * share))
    path.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    assert list(read_events(path)) == json.loads(json.dumps(events[:whole]))
    write(path, events[whole:])
    assert path.read_bytes() == content


def test_garbage_in_the_middle_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, events_of(grow(1, 4)))
    lines = path.read_bytes().split(b"\n")
    lines[3] = b"\xff\x00 not json"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(RunFolderError, match=r"line 4 of .*journal\.jsonl is damaged"):
        list(read_events(path))


@pytest.mark.parametrize("line", [b"[]", b"3", b'{"no": "event"}', b""])
def test_a_line_that_is_no_event_is_damage(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [START])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RunFolderError, match="line 2"):
        list(read_events(path))


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [{**START, "version": VERSION + 1}])
    with pytest.raises(RunFolderError, match=f"format {VERSION + 1}.*reads format {VERSION}"):
        list(read_events(path))


def test_an_empty_journal_says_so(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"event": "sta')
    with pytest.raises(RunFolderError, match="is empty"):
        list(read_events(path))


def test_what_is_proposed_but_not_finished_is_pending(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    node = make_node(1)
    write(path, [START, proposed_event(proposed(node), "hash")])
    state = replay(read_events(path))
    assert state.pending == {1: proposed(node)}
    assert not len(state.tree)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the kernel refuse to write files beyond a size, as a full disk would."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_write_that_fails_half_way_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(START)
        before = path.read_bytes()
        with largest_file(len(before) + 50), pytest.raises(StorageError, match="resume the run"):
            journal.append({"event": "long", "text": "x" * 1000})
        assert path.read_bytes() == before
        journal.append({"event": "short"})
    assert [event["event"] for event in read_events(path)] == ["start", "short"]


@given(size=st.integers(1, 30), seed=st.integers(0, 10_000), known=st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_a_state_that_catches_up_is_the_replay_of_all(size: int, seed: int, known: int) -> None:
    """However many of the nodes the tree had already, in memory, as a session's tree has."""
    events = events_of(grow(seed, size))
    for place in (2, len(events)):
        events.insert(place, {"event": "advice", "node": 1, "text": f"advice {place}"})
        events.insert(place, {"event": "final", "node": place, "elapsed": float(place)})
    proposal = proposed(make_node(1000))
    events += [proposed_event(proposal, "hash"), {"event": "stop", "reason": "steps"}]
    state = replay(events[: 1 + 2 * min(known, size)])
    for node in list(grow(seed, size))[len(state.tree) : known]:
        state.tree.add(node, f"hash {node.id}")
    catch_up(state, events)
    whole = replay(events)
    assert nodes_of(state.tree) == nodes_of(whole.tree)
    assert state.tree.known == whole.tree.known
    for field in ("pending", "hashes", "advice", "elapsed", "final", "finals", "stop"):
        assert getattr(state, field) == getattr(whole, field), field


def test_a_node_has_no_dict_of_its_own() -> None:
    """A dict for each record is a third of what a long search keeps in memory."""
    record = make_node(1).candidate
    assert record.code == make_node(1).candidate.code
    assert not any(isinstance(each, dict) for each in gc.get_referents(record))
