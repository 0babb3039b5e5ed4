"""Scratch runs: what a snippet prints comes back, bounded, and nothing that it does raises."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.interfaces import Limits, Sandbox, Task
from aide.scratch import ScratchPad
from aide.tasks.load import load
from tests.sandbox_fixtures import solution_python, start
from tests.test_bad_input import make_task
from tests.test_evaluate import Flaky

LIMITS = Limits(seconds=60, memory_mb=512, disk_mb=64)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return load(str(make_task(tmp_path_factory.mktemp("scratch") / "task")))


@pytest.fixture(scope="module")
def process() -> Iterator[Sandbox]:
    sandbox = start("process", solution_python())
    yield sandbox
    sandbox.close()


def make_pad(sandbox: Sandbox, task: Task, folder: Path, seconds: float = 20.0) -> ScratchPad:
    return ScratchPad(sandbox, task, LIMITS, runs=3, folder=folder, seconds=seconds)


LOOK = """
import csv
header, *rows = csv.reader(open("input/train.csv"))
print(header, len(rows))
open("working/note.txt", "w").write("kept by nobody")
try:
    open("input/train.csv", "a").write("more")
except OSError as error:
    print(type(error).__name__)
print(open("input/test.csv").readline().strip())
"""
SEEN = "['id', 'x', 'y'] 63\nPermissionError\nid,x\n[exit status 0]"


def test_a_snippet_sees_what_solutions_see(process: Sandbox, task: Task, tmp_path: Path) -> None:
    pad = make_pad(process, task, tmp_path)
    scratch = pad.for_node(7)
    assert (scratch.runs, scratch.seconds) == (3, 20.0)
    assert scratch.run(LOOK) == SEEN
    assert not list(tmp_path.iterdir())
    assert pad.count == 1
    assert 0 < pad.seconds < 20


@pytest.mark.docker
def test_a_snippet_runs_in_a_container(task: Task, tmp_path: Path) -> None:
    sandbox = start("docker", solution_python())
    try:
        assert make_pad(sandbox, task, tmp_path).for_node(7).run(LOOK) == SEEN
    finally:
        sandbox.close()


def test_whatever_a_snippet_does_is_text(process: Sandbox, task: Task, tmp_path: Path) -> None:
    pad = make_pad(process, task, tmp_path, seconds=1.0)
    run = pad.for_node(1).run
    failed = run("print('before')\n1 / 0")
    assert failed.startswith("before\nTraceback")
    assert failed.endswith("ZeroDivisionError: division by zero\n[exit status 1]")
    assert "SyntaxError" in run("this is no Python")
    assert run("") == "[exit status 0]"
    assert run("import os; os.kill(os.getpid(), 9)") == "[ended by signal 9]"
    late = run("import time; print('so far', flush=True); time.sleep(60)")
    assert late == "so far\n[ended at its time limit]"
    assert pad.count == 5
    assert 1 <= pad.seconds < 20


def test_what_it_prints_is_bounded_to_head_and_tail(
    process: Sandbox, task: Task, tmp_path: Path
) -> None:
    text = (
        make_pad(process, task, tmp_path)
        .for_node(1)
        .run("print('head'); print('x' * 1_000_000); print('tail')")
    )
    assert len(text) < 4200
    assert text.startswith("head\n")
    assert text.endswith("tail\n[exit status 0]")
    assert "bytes left out" in text


def test_a_failed_sandbox_is_text_and_the_next_run_works(task: Task, tmp_path: Path) -> None:
    pad = make_pad(Flaky(1), task, tmp_path)
    run = pad.for_node(1).run
    assert run("pass") == "[the sandbox failed: the engine went away]"
    assert run("pass") == "[exit status 0]"
    assert (pad.count, pad.seconds) == (2, 2.0)


def test_a_cancel_ends_what_runs_and_lets_nothing_more_run(
    process: Sandbox, task: Task, tmp_path: Path
) -> None:
    pad = make_pad(process, task, tmp_path, seconds=60)
    texts: list[str] = []
    run, mark = pad.for_node(1).run, tmp_path / "running"
    snippet = f"import time; open({str(mark)!r}, 'w'); time.sleep(60)"
    thread = threading.Thread(target=lambda: texts.append(run(snippet)))
    thread.start()
    begun = time.monotonic()
    while not mark.exists() and time.monotonic() < begun + 20:
        time.sleep(0.01)
    pad.cancel()
    thread.join(20)
    assert len(texts) == 1
    assert texts[0].startswith("[the sandbox failed: job 0001-scratch-1 was cancelled")
    assert run("print('no')") == "[not run: the search was interrupted]"
