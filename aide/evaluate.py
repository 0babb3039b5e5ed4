"""One candidate's evaluation: a few rows first, then all of them, then the grade.

Cheap first: where the search view has many times the rows of the smoke view, a program runs on
the smoke view, and what fails there is not run on the rest. Whether it is worth it depends on the
data alone, never on how long anything took, so that two equal runs grow the same tree.

A program may fail on few rows only because they are few: a fold that lacks a class, more
neighbours than rows, a category that was not in the sample. So a ValueError or IndexError whose
message speaks of such things counts for nothing: the program gets its run on all rows. Every other
failure ends it, one at the time limit too.
"""

from __future__ import annotations

import csv
import re
import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from aide.errors import InvalidSubmission
from aide.interfaces import Execution, Limits, Task, View
from aide.node import Outcome
from aide.runner import SUBMISSION, JobLost, Runner

SMOKE_RATIO = 10
"""A smoke run is worth it where the search view has so many times the rows of the smoke view."""
ROWS_A_CLASS = 10
"""With fewer rows of the smoke view a class, programs would fail for the want of them."""
START_SECONDS = 2.0
"""What a program takes before it looks at a row, to import its libraries: a guess."""
FEW_ROWS = re.compile(
    r"(Value|Index)Error\b.*(\b(samples?|class(es)?|members?|labels?|categor(y|ies)|groups?|splits?"
    r"|folds?|bins?|population|n_[a-z_]+)\b|\bbin edges|\bempty|out[- ]of[- ]bounds)",
    re.IGNORECASE,
)
"""A failure that may be due to the few rows of the smoke view."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many training rows two views of a task have.

    Attributes:
        smoke: of the smoke view.
        search: of the search view.
    """

    smoke: int
    search: int

    @property
    def ratio(self) -> float:
        return self.search / max(1, self.smoke)

    def forecast(self, seconds: float) -> float:
        """Seconds on the search view by those on the smoke view: a fixed start, then linear."""
        return min(seconds, START_SECONDS) + max(0.0, seconds - START_SECONDS) * self.ratio


class Evaluator:
    """Evaluates candidates of a task; from many threads at once.

    Args:
        runner: runs them.
        task: gives the data and grades.
    """

    def __init__(self, runner: Runner, task: Task) -> None:
        self._runner, self._task = runner, task

    def prepare(self, limits: Limits, count: int, *, smoke: bool = True) -> None:
        """Have the sandbox get ready for up to `count` candidates at once."""
        self._runner.prepare("search", limits, count)
        if smoke and self.smokes:
            self._runner.prepare("smoke", limits, count)

    @cached_property
    def sizes(self) -> Sizes:
        """The training rows of the two views that candidates run on."""
        return Sizes(_rows(self._task.view("smoke")), _rows(self._task.view("search")))

    @property
    def smokes(self) -> bool:
        """True if the data are large enough for a run on the smoke view to be worth it."""
        classes = len(self._task.info.classes)
        smoke = self.sizes.smoke
        return smoke >= ROWS_A_CLASS * max(1, classes) and self.sizes.ratio >= SMOKE_RATIO

    def evaluate(
        self, name: str, code: str, folder: Path, limits: Limits, *, smoke: bool = True
    ) -> Outcome:
        """Run a program on the smoke view, if that is worth it, then on the search view; grade it.

        Both runs together may take the wall time of the limits.

        Args:
            name: of the job, unique within the run.
            code: the program.
            folder: where its submission is put.
            limits: what it may use.
            smoke: False to do without the smoke run.

        Returns:
            Its outcome. Where the smoke run ended it, it has the smoke run's status, the flag
            "smoke", and no `seconds`, since there was no full run. The flag "few-rows" marks a
            failure of the smoke run that was put down to the few rows.

        Raises:
            SandboxError: the sandbox is broken or out, or the runner was cancelled.
        """
        if not smoke or not self.smokes:
            return self._on("search", name, code, folder, limits)
        first = self._on("smoke", f"{name}-smoke", code, folder / "smoke", limits)
        shutil.rmtree(folder / "smoke", ignore_errors=True)
        excused = first.status == "error" and FEW_ROWS.search(first.reason) is not None
        if first.status != "ok" and not excused:
            return self._ended(first)
        left = replace(limits, seconds=max(1.0, limits.seconds - first.seconds))
        full = self._on("search", name, code, folder, left)
        full = replace(full, smoke_seconds=first.seconds)
        if excused:
            return replace(full, flags=(*full.flags, "few-rows"))
        if full.status == "timeout":
            return replace(full, reason=f"{full.reason}; {self._told(first.seconds, left)}")
        return full

    def _ended(self, first: Outcome) -> Outcome:
        """The outcome of a program that its smoke run ended."""
        return replace(
            first,
            reason=f"on the smoke view ({self.sizes.smoke:,} rows): {first.reason}",
            seconds=0.0,
            smoke_seconds=first.seconds,
            flags=(*first.flags, "smoke"),
        )

    def _told(self, seconds: float, limits: Limits) -> str:
        """What the smoke run had to say of a time-out on all rows."""
        small, large = self.sizes.smoke, self.sizes.search
        took = f"the smoke run took {seconds:.0f} s on {small:,} rows"
        forecast = self.sizes.forecast(seconds)
        if forecast <= limits.seconds:
            return f"{took}, so the time grows faster than the {large:,} rows do"
        return f"{took}; {large:,} rows would take about {float(f'{forecast:.1g}'):,.0f} s"

    def _on(self, view: View, name: str, code: str, folder: Path, limits: Limits) -> Outcome:
        """A run on one view, with what it came to."""
        try:
            execution = self._runner.execute(name, code, view, folder, limits)
        except JobLost as error:
            # A program that kills its supervisor looks like a lost sandbox, each time.
            return Outcome("error", reason=str(error), flags=("lost",))
        return self.outcome(execution, view)

    def outcome(self, execution: Execution, view: View = "search") -> Outcome:
        """What a run came to: its status, and on the search view a score if it earned one.

        On the smoke view the submission's form alone is checked.
        """
        facts = Outcome(
            status=execution.status,
            log=execution.output,
            seconds=execution.seconds,
            cpu_seconds=execution.cpu_seconds,
            peak_mb=execution.peak_mb,
            flags=execution.flags,
        )
        if execution.status != "ok":
            return replace(facts, reason=failure(execution))
        problem = missing_output(execution)
        if problem:
            return replace(facts, status="invalid-output", reason=problem)
        submission = execution.files[SUBMISSION]
        try:
            if view == "smoke":
                self._task.submission(submission, view)
                return facts
            return replace(facts, score=self._task.grade(submission, "search"))
        except InvalidSubmission as error:
            return replace(facts, status="invalid-output", reason=str(error))


def _rows(view: Path) -> int:
    """The rows of a view's train.csv; 0 if it has none."""
    path = view / "train.csv"
    if not path.is_file():
        return 0
    with path.open(encoding="utf-8", errors="replace", newline="") as text:
        return max(0, sum(1 for _ in csv.reader(text)) - 1)


def missing_output(execution: Execution) -> str:
    """Why there is no submission to look at, or "" if there is one."""
    if SUBMISSION in execution.files:
        return ""
    return f"{SUBMISSION} cannot be used: {execution.refused.get(SUBMISSION, 'missing')}"


def failure(execution: Execution) -> str:
    """One line on why a run failed: the traceback's last line where there is one."""
    if execution.status == "timeout":
        return f"it was ended at its time limit, after {execution.seconds:.0f} seconds"
    if execution.status == "out-of-memory":
        return "it was ended at its memory limit"
    lines = [line.strip() for line in execution.output.splitlines() if line.strip()]
    last = lines[-1][:300] if lines else "it printed nothing"
    if execution.signal is not None:
        return f"signal {execution.signal} ended it; last line: {last}"
    return last if execution.exit_code == 1 else f"exit status {execution.exit_code}: {last}"
