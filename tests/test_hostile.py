"""Programs that mean harm, through a whole search: contained, and each with a clear status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aide
from aide.node import Status
from tests.engine import left_containers, require_engine
from tests.sandbox_fixtures import solution_python
from tests.test_bad_input import make_task

# What each tries, the statuses that are right, and a word that its output or reason must hold.
HOSTILE: dict[str, tuple[str, tuple[Status, ...], str]] = {
    "reads /etc/shadow": ("print(open('/etc/shadow').read())", ("error",), "Error"),
    "opens a socket": (
        "import socket; socket.create_connection(('1.1.1.1', 80), 3)",
        ("error",),
        "Error",
    ),
    "forks without end": (
        "import os\nwhile True: os.fork()",
        ("error", "timeout", "out-of-memory"),
        "",
    ),
    "allocates all memory": (
        "held = []\nwhile True: held.append(bytearray(1 << 24))",
        ("out-of-memory",),
        "memory",
    ),
    "writes 50 GB": (
        "out = open('working/big', 'wb')\nfor _ in range(50_000): out.write(bytes(1 << 20))",
        ("error",),
        "space",
    ),
    "prints without end": ("while True: print('x' * 1000)", ("timeout",), "time limit"),
    "sleeps for ever": ("import time; time.sleep(1e6)", ("timeout",), "time limit"),
    "links its output to a host file": (
        "import os; os.symlink('/etc/passwd', 'working/submission.csv')",
        ("invalid-output",),
        "link",
    ),
    "writes guessed labels into input/": (
        "open('input/train.csv', 'a').write('999,1,yes\\n')",
        ("error",),
        "input/train.csv",
    ),
    "kills its supervisor": (
        "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL); time.sleep(60)",
        ("error", "timeout"),
        "",
    ),
}


def answer(name: str, code: str) -> str:
    return json.dumps(
        f"It {name}.\n\n```python\n# writes working/submission.csv\n"
        f"path = 'working/submission.csv'\n{code}\n```\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "sandbox", [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"]
)
def test_every_hostile_program_is_contained(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "docker":
        require_engine()
    script = tmp_path / "answers.jsonl"
    script.write_text("".join(answer(n, code) + "\n" for n, (code, _, _) in HOSTILE.items()))
    task = make_task(tmp_path / "task")
    before = (task / "train.csv").read_bytes()
    run = aide.search(
        task,
        steps=len(HOSTILE),
        drafts=len(HOSTILE),
        model=f"scripted:{script}",
        sandbox=sandbox,
        image="mirror",
        python=solution_python(),
        out=tmp_path / "run",
        run_seconds=3,
        memory_mb=256,
        disk_mb=64,
        pids=64,
    )
    faults = []
    for node, (name, (_, statuses, word)) in zip(run.nodes, HOSTILE.items(), strict=True):
        said = node.outcome.reason + node.outcome.log
        if node.status not in statuses or word not in said:
            faults.append(f"{name}: {node.status}, {node.outcome.reason!r}")
        assert len(node.outcome.log) < 200_000
    assert not faults
    assert run.best is None
    assert (task / "train.csv").read_bytes() == before
    if sandbox == "docker":
        assert left_containers() == []
