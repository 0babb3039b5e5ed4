"""What an execution is worth, and what is done when the sandbox itself fails."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aide.clock import Clock
from aide.errors import SandboxError
from aide.evaluate import Evaluator, failure
from aide.interfaces import Execution, Job, Limits
from aide.node import Outcome
from aide.runner import LOST_IN_A_ROW, TRIES, JobLost, Runner
from aide.tasks.load import load
from tests.test_bad_input import make_task


def ended(**fields: Any) -> Execution:
    facts: dict[str, Any] = {
        "status": "error", "exit_code": 1, "signal": None, "output": "", "output_bytes": 0,
        "seconds": 2.0, "cpu_seconds": 1.0, "peak_mb": 3.0,
    }  # fmt: skip
    return Execution(**{**facts, **fields})


@pytest.mark.parametrize(
    ("execution", "reason"),
    [
        (ended(output="Traceback\nValueError: no\n\n"), "ValueError: no"),
        (ended(exit_code=3, output="bye\n"), "exit status 3: bye"),
        (ended(), "it printed nothing"),
        (ended(exit_code=None, signal=11), "signal 11 ended it; last line: it printed nothing"),
        (ended(status="timeout"), "it was ended at its time limit, after 2 seconds"),
        (ended(status="out-of-memory"), "it was ended at its memory limit"),
        (ended(output="x" * 5000), "x" * 300),
    ],
)
def test_a_failure_has_one_line(execution: Execution, reason: str) -> None:
    assert failure(execution) == reason


class Flaky:
    """A sandbox that fails a number of times before it works; a real fault of no program."""

    name = about = "flaky"

    def __init__(self, faults: int, sick: int = 0) -> None:
        self.faults, self.sick, self.runs = faults, sick, 0

    def packages(self) -> Mapping[str, str]:
        return {}

    def run(self, job: Job) -> Execution:
        self.runs += 1
        if self.runs <= self.faults:
            raise SandboxError("the engine went away")
        return ended(status="ok", exit_code=0)

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        pass

    def health(self) -> str:
        self.sick -= 1
        return "it restarts" if self.sick >= 0 else ""

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def task_folder(tmp_path: Path) -> str:
    return str(make_task(tmp_path / "task"))


@pytest.mark.parametrize("faults", range(TRIES + 1))
def test_a_sandbox_that_fails_is_tried_again(
    task_folder: str, tmp_path: Path, faults: int
) -> None:
    sandbox, told = Flaky(faults), []
    runner = Runner(sandbox, load(task_folder), lambda job, why: told.append((job, why)))
    if faults < TRIES:
        execution = runner.execute("0001", "pass", "search", tmp_path / "n", Limits())
        assert execution.status == "ok"
        assert sandbox.runs == faults + 1
    else:
        with pytest.raises(JobLost, match="went away"):
            runner.execute("0001", "pass", "search", tmp_path / "n", Limits())
    assert told == [("0001", "the engine went away")] * min(faults, TRIES - 1)


def test_nothing_runs_after_a_cancel(task_folder: str, tmp_path: Path) -> None:
    sandbox = Flaky(0)
    runner = Runner(sandbox, load(task_folder), lambda job, why: None)
    runner.cancel()
    with pytest.raises(SandboxError, match="cancelled"):
        runner.execute("0001", "pass", "search", tmp_path / "n", Limits())
    assert sandbox.runs == 0


def test_a_run_without_a_submission_is_invalid_output(task_folder: str) -> None:
    task = load(task_folder)
    evaluator = Evaluator(Runner(Flaky(0), task, lambda job, why: None), task)
    outcome = evaluator.outcome(ended(status="ok", exit_code=0))
    assert outcome.status == "invalid-output"
    assert outcome.reason == "working/submission.csv cannot be used: missing"
    assert outcome.score is None


class Stopped(Clock):
    """A clock that only moves when somebody waits by it."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float, wake: threading.Event) -> None:
        self.time += seconds


def test_a_sandbox_that_is_out_is_waited_for(task_folder: str, tmp_path: Path) -> None:
    sandbox, waits, clock = Flaky(1, sick=90), list[str](), Stopped()
    runner = Runner(
        sandbox, load(task_folder), lambda job, why: None, clock=clock, on_wait=waits.append
    )
    assert runner.execute("0001", "pass", "search", tmp_path / "n", Limits()).status == "ok"
    assert waits == ["the sandbox is out: it restarts"]
    assert clock.time == 90
    assert sandbox.runs == 2


def test_a_sandbox_is_not_waited_for_without_end(task_folder: str, tmp_path: Path) -> None:
    runner = Runner(
        Flaky(1, sick=10**9),
        load(task_folder),
        lambda job, why: None,
        clock=Stopped(),
        outage_seconds=7200,
    )
    with pytest.raises(SandboxError, match="out for 2 hours: it restarts; put it right"):
        runner.execute("0001", "pass", "search", tmp_path / "n", Limits())


def test_a_program_that_no_sandbox_runs_is_a_result_and_three_in_a_row_are_not(
    task_folder: str, tmp_path: Path
) -> None:
    task, sandbox = load(task_folder), Flaky(10**9)
    evaluator = Evaluator(Runner(sandbox, task, lambda job, why: None), task)

    def evaluate() -> Outcome:
        return evaluator.evaluate("0001", "pass", tmp_path / "n", Limits(), smoke=False)

    for _ in range(LOST_IN_A_ROW - 1):
        outcome = evaluate()
        assert (outcome.status, outcome.flags) == ("error", ("lost",))
        assert outcome.reason == "the engine went away, 3 times in a row"
    sandbox.faults = 0
    assert evaluate().status == "invalid-output"
    sandbox.faults = 10**9
    for _ in range(LOST_IN_A_ROW - 1):
        assert evaluate().status == "error"
    with pytest.raises(SandboxError, match="3 programs in a row could not be run"):
        evaluate()
