"""A task made from a folder: the `Task` of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aide.errors import InvalidSubmission, TaskError
from aide.interfaces import Part, Score, TaskInfo, View
from aide.tasks.columns import Columns, Files
from aide.tasks.data import Data
from aide.tasks.extras import copy_extras, link_extras
from aide.tasks.form import Form
from aide.tasks.grading import Grader, score
from aide.tasks.keys import Positions
from aide.tasks.metrics import Metric
from aide.tasks.preview import preview
from aide.tasks.split import Split
from aide.tasks.submission import Submission, read_submission
from aide.tasks.table import open_table, to_text
from aide.tasks.target import Target
from aide.tasks.views import Rows, guess, made_once, view_rows, write_view

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Source:
    """What a task is made of, all of it read and checked.

    Attributes:
        folder: where the files are.
        files, columns, data, target, split, form: what was found out about them.
        judge: the metric, or the task's own grader.
        extras: other files that solutions may see, relative to the folder.
        sample_cells: the predicted cells of the sample's first row; [] if there is no sample.
        hidden: labels of the test set, if somebody kept them.
        seed: of the order of rows.
    """

    folder: Path
    files: Files
    columns: Columns
    data: Data
    target: Target
    split: Split
    form: Form
    judge: Metric | Grader
    extras: Sequence[Path]
    sample_cells: list[str]
    hidden: Path | None
    seed: int


class FolderTask:
    """A task whose data lie in a folder. See `aide.interfaces.Task` for what the methods do.

    Args:
        info: the task in words.
        fingerprint: a hash of data and split.
        source: what it is made of.
        seconds: the time that a run may take, if the task says so.
        needs_gpu: True if the task asks for a graphics processor.
    """

    def __init__(
        self,
        info: TaskInfo,
        fingerprint: str,
        source: Source,
        seconds: float | None = None,
        needs_gpu: bool = False,
    ) -> None:
        self._info, self._fingerprint, self._source = info, fingerprint, source
        self.seconds, self.needs_gpu = seconds, needs_gpu
        real = len(source.data.ids) - source.data.labelled
        self._rows: Mapping[View, Rows] = view_rows(source.split, source.target, real, source.seed)
        self._ids: dict[View, Positions] = {}
        self._place = {int(row): place for place, row in enumerate(self._rows["search"].test)}
        self._parts = {"search": source.split.search, "final": source.split.final}
        self._preview = ""
        self._lock = Lock()

    @property
    def info(self) -> TaskInfo:
        return self._info

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def _positions(self, view: View) -> Positions:
        # Two threads may both make it; what they make is the same.
        if view not in self._ids:
            self._ids[view] = self._source.data.positions(self._rows[view].test)
        return self._ids[view]

    def view(self, view: View) -> Path:
        with self._lock:
            return made_once(self._fingerprint, view, lambda to: self._make_view(view, to))

    def _make_view(self, view: View, to: Path) -> None:
        source = self._source
        extras = source.extras
        if extras:
            store = made_once(
                self._fingerprint, "files", lambda to: copy_extras(source.folder, extras, to)
            )
            link_extras(store, extras, to)
        sample = (list(source.form.columns), self._guess())
        write_view(to, self._rows[view], source.files, source.columns, source.data, sample)

    def _guess(self) -> list[str]:
        source = self._source
        form = source.form
        if form.predict == "anything":
            return source.sample_cells
        return guess(source.target, source.split.visible, form.predict, form.order)

    def preview(self) -> str:
        folder = self.view("search")
        with self._lock:
            self._preview = self._preview or preview(folder, self._info)
            return self._preview

    def grade(self, submission: Path, part: Part) -> Score:
        rows = self._parts[part]
        places = np.array([self._place[int(row)] for row in rows])
        found = read_submission(submission, self._source.form, self._positions("search"))
        ids = [self._source.data.ids[row] for row in rows]
        return self._score(found, places, ids, rows)

    def _score(self, found: Submission, places: Array, ids: list[str], rows: Array) -> Score:
        source = self._source
        answers = {name: [of[r] for r in rows] for name, of in source.data.answers.items()}
        return self._judge(found, places, ids, source.target.y[rows], answers)

    def _judge(
        self,
        found: Submission,
        places: Array,
        ids: list[str],
        y: Array,
        answers: dict[str, list[str]],
    ) -> Score:
        """Score the rows at some places of a submission."""
        judge, form = self._source.judge, self._source.form
        if isinstance(judge, Metric):
            return score(judge, y, found.values[places], len(self._info.classes))
        rows = [
            [text, *found.cells[place]] for text, place in zip(ids, places.tolist(), strict=True)
        ]
        return judge.score(form.columns, rows, {form.columns[0]: ids, **answers})

    def check_grader(self) -> None:
        """Grade the views' own sample submission, so that a broken `grade.py` shows at once.

        Raises:
            TaskError: it fails.
        """
        if isinstance(self._source.judge, Metric):
            return
        cells = [self._guess()] * len(self._place)
        found = Submission(cells, np.empty(len(cells)))
        rows = self._parts["search"]
        ids = [self._source.data.ids[row] for row in rows]
        places = np.array([self._place[int(row)] for row in rows])
        try:
            self._score(found, places, ids, rows)
        except InvalidSubmission as error:
            raise TaskError(f"the task cannot grade its own sample submission: {error}") from error

    def submission(self, submission: Path, view: View) -> str:
        source, form = self._source, self._source.form
        rows = self._rows[view].test
        positions = self._positions(view)
        found = read_submission(submission, form, positions)
        if source.files.test is None:
            ids: Sequence[str] = positions.texts
            chosen = found.cells
        else:
            place = {int(row): k for k, row in enumerate(rows)}
            kept = [
                (text, found.cells[place[row]])
                for row, text in zip(source.data.real, source.data.real_ids, strict=True)
                if row in place
            ]
            ids, chosen = [text for text, _ in kept], [cells for _, cells in kept]
        return to_text(form.columns, ([i, *cells] for i, cells in zip(ids, chosen, strict=True)))

    def grade_hidden(self, submission: Path, labels: Path | None) -> Score:
        source = self._source
        path = labels or source.hidden
        if path is None or source.files.test is None:
            raise TaskError(
                "there are no labels of the test set to grade with; give (--labels) a CSV with "
                f"{source.form.columns[0]} and {self._info.target}"
            )
        ids, answers = _read_labels(path, source.form.columns[0], source.data.answers)
        wanted = Positions(source.data.real_ids)
        places = [wanted.find(text) for text in ids]
        if None in places or len(set(places)) < len(places):
            raise TaskError(f"{path.name} has ids twice, or ids that are not in the test set")
        found = read_submission(submission, source.form, wanted, "the test set")
        y = source.target.encode(answers[self._info.target], path.name)
        return self._judge(found, np.array(places, dtype=np.intp), ids, y, answers)


def _read_labels(
    path: Path, id_column: str, targets: Mapping[str, object]
) -> tuple[list[str], dict[str, list[str]]]:
    table = open_table(path, TaskError)
    lacking = [name for name in (id_column, *targets) if name not in table.header]
    if lacking:
        raise TaskError(f"{path.name} has no column {lacking[0]!r}")
    columns = table.columns([id_column, *targets])
    if not columns[id_column]:
        raise TaskError(f"{path.name} has a header, but no rows")
    return columns[id_column], {name: columns[name] for name in targets}
