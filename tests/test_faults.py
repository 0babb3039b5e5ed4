"""The schedule, and what a sandbox, a model and files do that fail by it."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from aide.errors import SandboxError, StorageError, TransientModelError
from aide.folder import RunFolder, write_atomic
from aide.history import History
from aide.interfaces import Job, Limits, Message, Request
from aide.journal import Journal, read_events
from aide.llm.scripted import ScriptedModel
from aide.node import Action, Candidate, Node, Outcome
from benchmarks.faults import (
    OUT_LOOKS,
    SANDBOX_FAULTS,
    TRANSIENT,
    FaultyModel,
    FaultySandbox,
    HastyClock,
    Schedule,
)
from benchmarks.file_faults import FaultyFiles
from benchmarks.instant import InstantSandbox

REQUEST = Request("system", (Message("user", "prompt"),), "draft", 0)
KINDS = ("a", "b", "c")


def draws(schedule: Schedule, place: str, count: int = 2000) -> list[str | None]:
    return [schedule.draw(place, KINDS) for _ in range(count)]


def test_a_seed_fixes_what_fails_wherever_else_something_is_drawn() -> None:
    first, second = Schedule(1, 0.05), Schedule(1, 0.05)
    expected = draws(first, "here")
    draws(second, "there", 7)
    assert draws(second, "here") == expected
    assert draws(Schedule(2, 0.05), "here") != expected
    share = sum(kind is not None for kind in expected) / len(expected)
    assert 0.03 < share < 0.07
    assert {*expected} == {None, *KINDS}
    assert first.injected == Counter(f"here: {kind}" for kind in expected if kind)


def test_threads_draw_every_number_once() -> None:
    schedule = Schedule(1, 0.5)
    threads = [threading.Thread(target=draws, args=(schedule, "here", 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Schedule(1, 0.5)
    draws(alone, "here")
    assert schedule.injected == alone.injected


def test_a_hasty_clock_waits_for_nothing() -> None:
    clock, wake = HastyClock(), threading.Event()
    before = clock.now()
    clock.sleep(3600, wake)
    assert 3600 <= clock.now() - before < 3660
    wake.set()
    clock.sleep(3600, wake)
    assert clock.slept == 3600


def test_a_model_fails_in_every_way() -> None:
    schedule = Schedule(0, 0.8)
    text = "some text that is long enough to be cut"
    model = FaultyModel(ScriptedModel([text], cycle=True), schedule)
    seen: Counter[str] = Counter()
    for _ in range(200):
        try:
            reply = model.complete(REQUEST)
            seen[reply.text if reply.stop == "end" else reply.stop] += 1
        except TransientModelError as error:
            seen[error.kind] += 1
            seen["billed"] += error.billed
    assert set(TRANSIENT) <= set(seen)
    assert {"", text, "length", "refusal"} <= set(seen)
    # What is left is garbage.
    assert len(seen) == len(TRANSIENT) + 6
    assert seen["billed"] == seen["timeout"] + seen["truncated"]
    faults = schedule.injected
    assert seen["length"] == faults["model: cut"]
    assert seen[text] == 200 - faults.total()


def test_a_sandbox_fails_in_every_way(tmp_path: Path) -> None:
    (tmp_path / "sample_submission.csv").write_text("id,y\n1,0\n")
    outputs = {"working/submission.csv": 1000}
    schedule = Schedule(0, 0.8)
    sandbox = FaultySandbox(InstantSandbox(), schedule)
    seen: Counter[str] = Counter()
    for number in range(100):
        collect = tmp_path / f"{number}"
        job = Job(f"{number}", "SEED = 1", tmp_path, outputs, collect, Limits(output_bytes=100))
        try:
            flags = sandbox.run(job).flags
            seen["output-truncated" if flags else "well"] += 1
        except SandboxError as error:
            late = (collect / "submission.csv").exists()
            kind = "after" if late else str(error).rpartition("(")[2].rstrip(")")
            seen[kind] += 1
            looks = 0
            while sandbox.health():
                looks += 1
            assert looks == (OUT_LOOKS if kind == "out" else 0)
    assert set(seen) == {*SANDBOX_FAULTS, "well"}
    expected = {kind: schedule.injected[f"sandbox: {kind}"] for kind in SANDBOX_FAULTS}
    assert seen == {**expected, "well": 100 - schedule.injected.total()}


def test_every_way_to_write_a_file_fails(tmp_path: Path) -> None:
    inside, outside = tmp_path / "run", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    places: dict[str, Callable[[Path], object]] = {
        "write nodes": lambda folder: (folder / "a").write_text("text"),
        "open by descriptor": lambda folder: os.close(os.open(folder / "b", os.O_CREAT)),
        "temporary": lambda folder: tempfile.mkstemp(dir=folder),
        "mkdir": lambda folder: (folder / "c" / "d").mkdir(parents=True, exist_ok=True),
        "link": lambda folder: (folder / "e").symlink_to("f"),
        "rename": lambda folder: (outside / "a").replace(folder / "g"),
    }
    with FaultyFiles(inside, Schedule(0, 1.0)):
        for name, write in places.items():
            write(outside)
            (outside / "a").write_text("text")
            with pytest.raises(OSError) as caught:
                write(inside)
            assert caught.value.errno in (errno.ENOSPC, errno.EIO), name
    assert list(inside.iterdir()) == []
    places["write nodes"](inside)
    assert (inside / "a").read_text() == "text"


def test_a_write_fails_half_way_and_is_not_tried_again(tmp_path: Path) -> None:
    lengths = set()
    schedule = Schedule(3, 0.5)
    with FaultyFiles(tmp_path, schedule):
        for number in range(60):
            path = tmp_path / f"{number}"
            try:
                path.write_text("x" * 1000)
            except OSError:
                lengths.add(path.stat().st_size if path.exists() else None)
    assert lengths == {None, 0, 500}
    assert {each.split(": ")[1] for each in schedule.injected} == {
        "full",
        "broken",
        "full half-way",
        "broken half-way",
    }


def test_a_journal_stays_whole_under_faults(tmp_path: Path) -> None:
    schedule = Schedule(0, 0.3)
    written = []
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.append({"event": "start", "version": 1})
        with FaultyFiles(tmp_path, schedule):
            for number in range(100):
                try:
                    journal.append({"event": "x", "number": number, "text": "y" * 100})
                    written.append(number)
                except StorageError:
                    continue
    events = list(read_events(tmp_path / "journal.jsonl"))
    assert [event["number"] for event in events[1:]] == written
    assert 20 < len(written) < 80
    assert any("half-way" in fault for fault in schedule.injected)
    assert any(fault.startswith("fsync journal") for fault in schedule.injected)


def test_files_are_replaced_whole_under_faults(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    last = "0"
    write_atomic(path, last)
    with FaultyFiles(tmp_path, Schedule(0, 0.2)):
        for number in range(1, 60):
            try:
                write_atomic(path, f"{number}" * 100)
                last = f"{number}" * 100
            except StorageError:
                assert path.read_text() == last
    assert [each.name for each in tmp_path.iterdir()] == ["report.md"]
    assert last != "0"


def test_commits_and_best_stay_whole_under_faults(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    history = History(folder.solutions)
    schedule = Schedule(0, 0.1)
    committed = []
    with FaultyFiles(folder.path, schedule):
        for number in range(1, 41):
            candidate = Candidate("plan", f"print({number})\n")
            node = Node(number, Action("draft"), candidate, Outcome("ok"))
            try:
                sha = history.commit(node)
                committed.append(number)
                folder.set_best(f"{number:04d}", node.code, "id,y\n")
            except StorageError:
                if folder.best.exists():
                    assert (folder.best / "solution.py").read_text().startswith("print(")
                    assert (folder.best / "submission.csv").read_text() == "id,y\n"
    for number in committed:
        assert f"+print({number})" in history.diff(number)
    history.close()
    assert sha
    assert {fault.split(":")[0].split()[-1] for fault in schedule.injected} == {"git", "best"}
