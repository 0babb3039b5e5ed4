"""Programs that mean harm or are broken: each contained, each with the right status.

All run on one sandbox, two at a time. After every other one, a plain program has to find a fresh
world and earn a score, and in the end the host has to be as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import aide
from aide.errors import InvalidSubmission
from aide.interfaces import Execution, Job, Limits, Sandbox, Task
from aide.tasks.load import load
from tests.engine import left_containers, require_engine
from tests.hostile_programs import BEFORE, HOSTILE, Hostile
from tests.sandbox_fixtures import alive, solution_python, start
from tests.test_bad_input import make_task

OUT = "working/submission.csv"
CAP = 8 << 20
LIMITS = Limits(seconds=60, memory_mb=256, disk_mb=64, pids=64, output_bytes=20_000)
MARK = f"3{uuid.uuid4().int % 10**9:09d}"
PLAIN = """
seen = [
    sorted(n for n in os.listdir(folder) if not sys.prefix.startswith(f'{folder}/{n}'))
    for folder in ('.', 'working', '/tmp', '/dev/shm')
]
print(seen, len([name for name in os.listdir('/proc') if name.isdigit()]))
print(os.access('working', os.W_OK), len(open('input/train.csv').read()))
good()
"""
THROUGH_A_SEARCH = (
    "all memory slowly",
    "fills its folder",
    "stops itself",
    "a link as its folder",
)


class Arena:
    """A sandbox with a task, and what of the host there is to harm."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox, self.folder = sandbox, folder
        self.task: Task = load(str(make_task(folder / "task")))
        self.labels = folder / "labels.csv"
        self.labels.write_text("the hidden labels")
        self.view = self.task.view("search")
        self.host = socket.socket(socket.AF_UNIX)
        self.host.bind(f"\0aide-{MARK}")
        self.host.listen()

    def run(self, code: str, limits: Limits) -> Execution:
        found = {"labels": str(self.labels), "host": f"\0aide-{MARK}", "mark": MARK}
        told = "".join(f"{word} = {value!r}\n" for word, value in found.items())
        name = uuid.uuid4().hex[:8]
        collect = self.folder / "nodes" / name
        return self.sandbox.run(
            Job(name, BEFORE + told + code, self.view, {OUT: CAP}, collect, limits)
        )

    def status(self, done: Execution) -> tuple[str, str]:
        """What a search would make of it, and all that is known of how it ended."""
        said = f"exit {done.exit_code} signal {done.signal}\n{done.refused.get(OUT, '')}"
        if done.status != "ok":
            return done.status, said + done.output
        if OUT not in done.files:
            return "invalid-output", said + done.output
        try:
            self.task.grade(done.files[OUT], "search")
        except InvalidSubmission as error:
            return "invalid-output", said + str(error)
        return "ok", said + done.output

    def faults(self, pair: Sequence[Hostile]) -> list[str]:
        """Run some programs, each the other's next, then a plain one: what was wrong."""
        found = [self.fault(hostile) for hostile in pair]
        done = self.run(PLAIN, LIMITS)
        status, said = self.status(done)
        fresh = "[['input', 'solution.py', 'working'], [], [], []] 2\nTrue "
        if status != "ok" or not done.output.startswith(fresh):
            found.append(f"after {[hostile.tries for hostile in pair]}: {status}, {said}")
        return found

    def fault(self, hostile: Hostile) -> str:
        seconds = 1.0 if "timeout" in hostile.right else LIMITS.seconds
        done = self.run(hostile.code, replace(LIMITS, seconds=seconds))
        status, said = self.status(done)
        if status not in hostile.right.split("|") or not re.search(hostile.word, said):
            return f"{hostile.tries}: {status}, {said[-600:]}"
        if done.seconds > seconds + 4 or len(done.output) > LIMITS.output_bytes + 100:
            return f"{hostile.tries}: {done.seconds} s, {len(done.output)} characters"
        return ""

    def state(self) -> dict[str, object]:
        """What of the host no program may change."""
        places = [self.labels, *self.view.rglob("*"), Path("/etc/passwd"), Path("/etc/shadow")]
        return {
            str(path): (path.lstat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in places
            if path.is_file()
        }


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"])
def test_every_hostile_program_is_contained(tmp_path: Path, kind: str) -> None:
    assert len({hostile.tries for hostile in HOSTILE}) == len(HOSTILE) >= 30
    if kind == "docker":
        require_engine()
    sandbox = start(kind, Path(solution_python()))
    arena = Arena(sandbox, tmp_path)
    before = arena.state()
    with arena.host, ThreadPoolExecutor(2) as pool:
        pairs = [HOSTILE[at : at + 2] for at in range(0, len(HOSTILE), 2)]
        faults = [fault for found in pool.map(arena.faults, pairs) for fault in found if fault]
    sandbox.close()
    assert not faults, "\n".join(faults)
    assert arena.state() == before
    assert not alive(MARK)
    kept = [path for path in (tmp_path / "nodes").rglob("*") if not path.is_dir()]
    assert {path.name for path in kept} == {"submission.csv"}
    assert all(path.lstat().st_uid == os.getuid() and not path.is_symlink() for path in kept)
    if kind == "docker":
        assert left_containers() == []


def answer(hostile: Hostile) -> str:
    text = (
        f"It {hostile.tries}.\n\n```python\n# working/submission.csv{BEFORE}{hostile.code}\n```\n"
    )
    return json.dumps(text) + "\n"


@pytest.mark.slow
@pytest.mark.docker
def test_a_search_goes_on_through_hostile_programs(tmp_path: Path) -> None:
    require_engine()
    chosen = [hostile for hostile in HOSTILE if hostile.tries in THROUGH_A_SEARCH]
    script = tmp_path / "answers.jsonl"
    script.write_text("".join(map(answer, chosen)))
    run = aide.search(
        make_task(tmp_path / "task"),
        steps=len(chosen),
        drafts=len(chosen),
        model=f"scripted:{script}",
        sandbox="docker",
        image="mirror",
        python=solution_python(),
        out=tmp_path / "run",
        run_seconds=60,
        memory_mb=LIMITS.memory_mb,
        disk_mb=LIMITS.disk_mb,
    )
    assert len(run.nodes) == len(THROUGH_A_SEARCH)
    for node, hostile in zip(run.nodes, chosen, strict=True):
        assert node.status in hostile.right.split("|"), node.outcome.reason
    assert run.best is None
    assert left_containers() == []
