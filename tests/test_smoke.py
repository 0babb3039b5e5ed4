"""Cheap first: what fails on a few rows is not run on all of them, unless the few are to blame."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aide.api import search
from aide.errors import SandboxError
from aide.evaluate import FEW_ROWS, Evaluator, Sizes
from aide.interfaces import Execution, Job, Limits, Sandbox, Task
from aide.node import Action, Candidate, Node, Outcome, Proposal
from aide.replay import finished_event, proposed_event, replay
from aide.runner import SUBMISSION, Runner
from aide.tasks.load import load
from tests.sandbox_fixtures import solution_python, start
from tests.test_bad_input import make_task
from tests.test_evaluate import ended

LIMITS = Limits(seconds=20, memory_mb=512, disk_mb=64)
PROGRAM = """
import csv, time

rows = len(list(csv.reader(open("input/train.csv")))) - 1
print("rows:", rows)
{then}
sample = list(csv.reader(open("input/sample_submission.csv")))
with open("working/submission.csv", "w", newline="") as out:
    csv.writer(out).writerows(sample)
"""


def make_large(folder: Path, rows: int = 4500, classes: int = 2) -> Task:
    """A task whose smoke view has 300 rows and whose search view many times as many."""
    return load(str(make_large_folder(folder, rows, classes)))


def make_large_folder(folder: Path, rows: int = 4500, classes: int = 2) -> Path:
    numbers = list(range(rows))
    columns = {"id": numbers, "x": [n % 7 for n in numbers], "y": [n % classes for n in numbers]}
    return make_task(folder, **columns)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_large(tmp_path_factory.mktemp("large") / "task")


@pytest.fixture(scope="module")
def process() -> Iterator[Sandbox]:
    sandbox = start("process", solution_python())
    yield sandbox
    sandbox.close()


def run(sandbox: Sandbox, task: Task, folder: Path, then: str = "", **how: Any) -> Outcome:
    evaluator = Evaluator(Runner(sandbox, task, lambda job, why: None), task)
    return evaluator.evaluate("0001", PROGRAM.format(then=then), folder, LIMITS, **how)


def test_a_good_program_is_graded_on_all_rows(
    process: Sandbox, large: Task, tmp_path: Path
) -> None:
    outcome = run(process, large, tmp_path / "n")
    assert outcome.status == "ok"
    assert outcome.score is not None
    assert outcome.log == "rows: 3150\n"
    assert 0 < outcome.smoke_seconds < 10
    assert 0 < outcome.seconds < 10
    assert outcome.flags == ()
    assert [path.name for path in (tmp_path / "n").iterdir()] == ["submission.csv"]
    with (tmp_path / "n" / "submission.csv").open() as text:
        assert sum(1 for _ in csv.reader(text)) == 1 + 1350


@pytest.mark.parametrize(
    ("then", "status", "reason"),
    [
        ("raise KeyError('price')", "error", "KeyError: 'price'"),
        ("raise SystemExit(0)", "invalid-output", f"{SUBMISSION} cannot be used: missing"),
        (
            "csv.writer(open('working/submission.csv', 'w')).writerows([['id', 'y'], [1, 0]])\n"
            "raise SystemExit",
            "invalid-output",
            "",
        ),
    ],
)
def test_what_fails_on_few_rows_is_not_run_on_all(
    process: Sandbox, large: Task, tmp_path: Path, then: str, status: str, reason: str
) -> None:
    outcome = run(process, large, tmp_path / "n", then)
    assert outcome.status == status
    assert outcome.reason.startswith(f"on the smoke view (300 rows): {reason}")
    assert "rows: 300\n" in outcome.log
    assert "rows: 3150" not in outcome.log
    assert outcome.flags == ("smoke",)
    assert outcome.seconds == 0
    assert outcome.smoke_seconds > 0
    assert not list((tmp_path / "n").rglob("*.csv"))


def test_a_failure_for_want_of_rows_counts_for_nothing(
    process: Sandbox, large: Task, tmp_path: Path
) -> None:
    then = """
if rows < 1000:
    raise ValueError("n_splits=5 cannot be greater than the number of members in each class.")
"""
    outcome = run(process, large, tmp_path / "n", then)
    assert outcome.status == "ok"
    assert outcome.score is not None
    assert outcome.flags == ("few-rows",)


class Told:
    """A sandbox whose runs end as they are told to, in turn, so that no time has to pass."""

    name = about = "told"

    def __init__(self, ends: Sequence[Execution | SandboxError]) -> None:
        self.ends, self.jobs = list(ends), list[Job]()

    def packages(self) -> Mapping[str, str]:
        return {}

    def run(self, job: Job) -> Execution:
        self.jobs.append(job)
        end = self.ends.pop(0)
        if isinstance(end, SandboxError):
            raise end
        if end.status != "ok":
            return end
        job.collect.mkdir(parents=True, exist_ok=True)
        path = job.collect / "submission.csv"
        path.write_bytes((job.input / "sample_submission.csv").read_bytes())
        return replace(end, files={SUBMISSION: path})

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        pass

    def health(self) -> str:
        return ""

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


def worked(seconds: float) -> Execution:
    return ended(status="ok", exit_code=0, seconds=seconds)


def test_a_time_out_on_few_rows_ends_it(large: Task, tmp_path: Path) -> None:
    sandbox = Told([ended(status="timeout", seconds=20.0)])
    outcome = run(sandbox, large, tmp_path)
    assert outcome.status == "timeout"
    assert outcome.reason == (
        "on the smoke view (300 rows): it was ended at its time limit, after 20 seconds"
    )
    assert [job.name for job in sandbox.jobs] == ["0001-smoke"]
    assert sandbox.jobs[0].limits == LIMITS


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (5, "the smoke run took 5 s on 300 rows; 3,150 rows would take about 30 s"),
        (1, "the smoke run took 1 s on 300 rows, so the time grows faster than the 3,150 rows do"),
    ],
)
def test_a_time_out_on_all_rows_says_what_the_smoke_run_foretold(
    large: Task, tmp_path: Path, seconds: float, told: str
) -> None:
    sandbox = Told([worked(seconds), ended(status="timeout", seconds=20.0 - seconds)])
    outcome = run(sandbox, large, tmp_path)
    assert outcome.status == "timeout"
    assert outcome.reason.startswith("it was ended at its time limit, after ")
    assert outcome.reason.endswith(told)
    # Both runs share the time of one.
    assert [job.limits.seconds for job in sandbox.jobs] == [20, 20 - seconds]
    assert outcome.smoke_seconds == seconds


def test_the_forecast_is_linear_after_the_start() -> None:
    sizes = Sizes(300, 9000)
    assert sizes.forecast(1.5) == 1.5
    assert sizes.forecast(12.0) == 2 + 10 * 30


def test_no_smoke_run_where_it_is_not_worth_it(tmp_path: Path) -> None:
    small, many = make_large(tmp_path / "small", 4000), make_large(tmp_path / "many", classes=31)
    for task in (small, many):
        sandbox = Told([worked(1.0)])
        assert run(sandbox, task, tmp_path / task.info.name / "n").score is not None
        assert [job.name for job in sandbox.jobs] == ["0001"]


def test_no_smoke_run_where_none_is_wanted(large: Task, tmp_path: Path) -> None:
    sandbox = Told([worked(1.0)])
    outcome = run(sandbox, large, tmp_path / "n", smoke=False)
    assert outcome.score is not None
    assert outcome.smoke_seconds == 0
    assert [job.name for job in sandbox.jobs] == ["0001"]


def test_a_program_that_takes_its_sandbox_along_has_failed(large: Task, tmp_path: Path) -> None:
    lost = SandboxError("the sandbox of job 0001 ended without a report")
    outcome = run(Told([lost] * 3), large, tmp_path)
    assert outcome.status == "error"
    assert outcome.reason.startswith("on the smoke view (300 rows): the sandbox of job")
    assert outcome.reason.endswith("3 times in a row")


def test_the_smoke_run_is_in_the_journal_and_old_journals_know_none(
    large: Task, tmp_path: Path
) -> None:
    outcome = run(Told([worked(5.0), worked(7.0)]), large, tmp_path / "n")
    assert (outcome.smoke_seconds, outcome.seconds) == (5.0, 7.0)
    proposal = Proposal(1, Action("draft"), Candidate("plan", "code"))
    finished = finished_event(Node(1, proposal.action, proposal.candidate, outcome))
    start = {"event": "start", "task": {"maximize": True}}
    events = [start, proposed_event(proposal, "hash"), json.loads(json.dumps(finished))]
    assert replay(events).tree[1].outcome == outcome
    del events[2]["outcome"]["smoke_seconds"]
    assert replay(events).tree[1].outcome == replace(outcome, smoke_seconds=0.0)


@pytest.mark.parametrize("smoke", [True, False])
def test_a_search_tries_its_programs_on_few_rows_first(tmp_path: Path, smoke: bool) -> None:
    done = search(
        make_large_folder(tmp_path / "task"),
        model="tests.author:Author",
        sandbox="process",
        python=solution_python(),
        smoke=smoke,
        steps=4,
        seed=1,
        out=tmp_path / "run",
    )
    failed = [node.outcome for node in done.nodes if node.status == "error"]
    worked = [node.outcome for node in done.nodes if node.works]
    assert failed
    assert worked
    assert all(outcome.seconds > 0 for outcome in worked)
    assert all((outcome.smoke_seconds > 0) == smoke for outcome in (*worked, *failed))
    assert all((outcome.flags == ("smoke",)) == smoke for outcome in failed)
    assert all(o.reason.startswith("on the smoke view (300 rows)") == smoke for o in failed)


@pytest.mark.parametrize(
    ("reason", "few"),
    [
        ("ValueError: n_splits=5 cannot be greater than the number of members in each class.", 1),
        ("ValueError: The least populated class in y has only 1 member, which is too few.", 1),
        ("ValueError: Expected n_neighbors <= n_samples_fit, but n_neighbors = 500", 1),
        ("ValueError: Found unknown categories ['x'] in column 0 during transform", 1),
        ("ValueError: y contains previously unseen labels: ['rare']", 1),
        ("ValueError: Cannot take a larger sample than population when 'replace=False'", 1),
        ("IndexError: index 500 is out of bounds for axis 0 with size 300", 1),
        ("ValueError: could not convert string to float: 'male'", 0),
        ("ValueError: Input X contains NaN.", 0),
        ("KeyError: 'classes'", 0),
        ("NameError: name 'n_samples' is not defined", 0),
        ("TypeError: fit() got an unexpected keyword argument 'n_splits'", 0),
    ],
)
def test_which_failures_the_few_rows_may_be_to_blame_for(reason: str, few: int) -> None:
    assert bool(FEW_ROWS.search(reason)) == bool(few)
