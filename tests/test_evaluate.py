"""What an execution is worth, and what is done when the sandbox itself fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aide.errors import SandboxError
from aide.evaluate import TRIES, Evaluator, failure
from aide.interfaces import Execution, Job, Limits
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

    def __init__(self, faults: int) -> None:
        self.faults, self.runs = faults, 0

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
        return ""

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
    evaluator = Evaluator(sandbox, load(task_folder), lambda job, why: told.append((job, why)))
    if faults < TRIES:
        execution = evaluator.execute("0001", "pass", "search", tmp_path / "n", Limits())
        assert execution.status == "ok"
        assert sandbox.runs == faults + 1
    else:
        with pytest.raises(SandboxError, match="went away"):
            evaluator.execute("0001", "pass", "search", tmp_path / "n", Limits())
    assert told == [("0001", "the engine went away")] * min(faults, TRIES - 1)


def test_nothing_runs_after_a_cancel(task_folder: str, tmp_path: Path) -> None:
    sandbox = Flaky(0)
    evaluator = Evaluator(sandbox, load(task_folder), lambda job, why: None)
    evaluator.cancel()
    with pytest.raises(SandboxError, match="cancelled"):
        evaluator.execute("0001", "pass", "search", tmp_path / "n", Limits())
    assert sandbox.runs == 0


def test_a_run_without_a_submission_is_invalid_output(task_folder: str) -> None:
    evaluator = Evaluator(Flaky(0), load(task_folder), lambda job, why: None)
    outcome = evaluator.outcome(ended(status="ok", exit_code=0))
    assert outcome.status == "invalid-output"
    assert outcome.reason == "working/submission.csv cannot be used: missing"
    assert outcome.score is None
