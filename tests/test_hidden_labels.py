"""The labels are nowhere inside a sandbox: a program searches all it can see for them."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.interfaces import Job, Limits, Sandbox
from aide.tasks.load import load
from tests.sandbox_fixtures import solution_python, start

SEARCH = """
import json, os, sys

wanted = json.load(open("input/patterns.json"))
since = wanted["since"]
# Given backwards, or the list itself would be what is found.
needles = [text[::-1].encode() for text in wanted["needles"]]
found, read = [], 0
for top, folders, names in os.walk("/"):
    if top == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    for name in names:
        path = os.path.join(top, name)
        try:
            facts = os.lstat(path)
            # The labels were made just now, so an older file cannot hold them.
            if facts.st_size and max(facts.st_mtime, facts.st_ctime) >= since:
                data = open(path, "rb").read()
                read += 1
                found += [(path, n.decode()) for n in needles if n in data]
        except OSError:
            continue
for entry in ("environ", "cmdline"):
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            data = open(f"/proc/{process}/{entry}", "rb").read()
        except OSError:
            continue
        found += [(process, n.decode()) for n in needles if n in data]
print(json.dumps({"found": found[:5], "read": read}))
"""


def make_task(folder: Path) -> Path:
    """A regression whose every target is a number that stands nowhere else."""
    folder.mkdir()
    rng = random.Random(7)
    with (folder / "train.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "x", "y"])
        writer.writerows([i, rng.randrange(9), f"{rng.random():.15f}"] for i in range(400))
    with (folder / "test.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "x"])
        writer.writerows([i, rng.randrange(9)] for i in range(1000, 1100))
    (folder / "task.toml").write_text('metric = "rmse"\ntarget = "y"\nid = "id"\n')
    return folder


def labels(path: Path) -> dict[str, str]:
    with path.open(newline="") as stream:
        return {row["id"]: row["y"] for row in csv.DictReader(stream)}


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = start(request.param, solution_python())
    yield made
    made.close()


def test_no_file_inside_holds_a_hidden_label(sandbox: Sandbox, tmp_path: Path) -> None:
    folder = make_task(tmp_path / "task")
    since = (folder / "train.csv").stat().st_mtime - 1
    view = load(str(folder)).view("search")
    everything, visible = labels(folder / "train.csv"), labels(view / "train.csv")
    hidden = [value for row, value in everything.items() if row not in visible]
    assert len(hidden) > 50
    inside = tmp_path / "input"
    inside.mkdir()
    for path in view.iterdir():
        (inside / path.name).write_bytes(path.read_bytes())

    def search(needles: list[str]) -> dict[str, object]:
        (inside / "patterns.json").write_text(json.dumps({"since": since, "needles": needles}))
        job = Job("search", SEARCH, inside, {}, tmp_path / "out", Limits(seconds=120))
        execution = sandbox.run(job)
        assert execution.status == "ok", execution.output
        result: dict[str, object] = json.loads(execution.output)
        return result

    result = search([value[::-1] for value in hidden])
    assert result["found"] == []
    seen = search([next(iter(visible.values()))[::-1]])
    assert seen["found"], "the search finds a label that is there"
    assert seen["read"] == result["read"] != 0
