"""Load a task: from a folder, or a bundled one by its name."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from aide.errors import TaskError
from aide.interfaces import TaskInfo
from aide.tasks.bundled import bundled_folder, bundled_tasks, hidden_labels
from aide.tasks.columns import Files, find_columns, open_files
from aide.tasks.data import read_data
from aide.tasks.extras import GRADER, extra_files
from aide.tasks.fingerprint import fingerprint
from aide.tasks.form import first_cells, make_form, make_free_form
from aide.tasks.grading import Grader, check_fit, check_part
from aide.tasks.metrics import METRICS, Metric, find_metric, mentioned
from aide.tasks.spec import Spec, read_goal, read_spec
from aide.tasks.split import choose, holdout_sizes, make_split
from aide.tasks.target import make_target
from aide.tasks.task import FolderTask, Source

log = logging.getLogger("aide")


def load(
    source: str,
    *,
    goal: str | None = None,
    metric: str | None = None,
    maximize: bool | None = None,
    target: str | None = None,
    id: str | None = None,
    group: str | None = None,
    time: str | None = None,
    split: str | None = None,
    holdout: float | None = None,
    seed_of_split: int = 0,
) -> FolderTask:
    """Load a task and check all of it.

    Args:
        source: a folder, or the name of a bundled task.
        goal, metric, maximize, target, id, group, time, split, holdout: as in `task.toml`; what
            is given here wins over the file, and None leaves it to the file or to inference.
        seed_of_split: of the division into visible rows and holdouts.

    Raises:
        TaskError: something cannot be used, or cannot be inferred; the message says what to do.
        UnavailableError: a bundled task's data cannot be fetched.
    """
    told: dict[str, object] = {
        "goal": goal,
        "metric": metric,
        "maximize": maximize,
        "target": target,
        "id": id,
    }
    told |= {"group": group, "time": time, "split": split, "holdout": holdout}
    return _load(source, told, seed_of_split)


def _load(source: str, told: Mapping[str, object], seed: int) -> FolderTask:
    folder, bundled = _find(source)
    files = open_files(folder)
    spec = read_spec(folder, told)
    text = read_goal(folder, spec)
    judge = _judge(folder, spec, text, by_call=told["metric"] is not None)
    made = _source(folder, files, spec, judge, seed, bundled)
    info = _info(made, text, _slug(spec.name or bundled or folder.resolve().name))
    task = FolderTask(info, _fingerprint(made, spec), made, spec.seconds, spec.needs_gpu)
    task.check_grader()
    return task


def is_folder(source: str) -> bool:
    """True if a task's source means a folder: a bundled task's name wins over one of its name."""
    separated = os.sep in source or (os.altsep is not None and os.altsep in source)
    return separated or (source not in bundled_tasks() and Path(source).is_dir())


def _find(source: str) -> tuple[Path, str | None]:
    """The folder, and the bundled task's name if it is one."""
    known = bundled_tasks()
    if is_folder(source):
        return Path(source).expanduser(), None
    if source in known:
        return bundled_folder(source), source
    close = get_close_matches(source, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise TaskError(
        f"there is no task {source!r}{hint} Bundled are: {', '.join(sorted(known))}; or give a "
        "folder with a train.csv"
    )


def _judge(folder: Path, spec: Spec, goal: str, by_call: bool) -> Metric | Grader:
    own = folder / GRADER
    if spec.metric == GRADER or (spec.metric is None and own.is_file()):
        if not own.is_file():
            raise TaskError(f"the metric is {GRADER}, but there is none in {str(folder)!r}")
        if spec.maximize is None:
            raise TaskError(
                f"a task with a {GRADER} must say maximize = true or false in task.toml"
            )
        return Grader(own, spec.maximize)
    if spec.metric is not None and own.is_file() and not by_call:
        raise TaskError(f"task.toml names the metric {spec.metric!r}, but there is a {GRADER} too")
    metric = find_metric(spec.metric) if spec.metric else _from_prose(goal)
    if spec.maximize is not None and spec.maximize != metric.maximize:
        better = "higher" if metric.maximize else "lower"
        raise TaskError(f"maximize is {spec.maximize}, but of {metric.name} {better} is better")
    return metric


def _from_prose(goal: str) -> Metric:
    found = mentioned(goal)
    if len(found) == 1:
        log.info("the metric is %s, as the description says", found[0])
        return METRICS[found[0]]
    why = f"the description names several ({', '.join(found)})" if found else "none is given"
    raise TaskError(
        f"the metric is not known, since {why}: name one with --metric or in task.toml; "
        f"known are: {', '.join(METRICS)}"
    )


def _source(
    folder: Path,
    files: Files,
    spec: Spec,
    judge: Metric | Grader,
    seed: int,
    bundled: str | None,
) -> Source:
    columns = find_columns(files, spec)
    data = read_data(files, columns, spec, seed)
    sizes = holdout_sizes(data.labelled, spec.holdout)
    target = make_target(columns.target, data.answers[columns.target], judge.predict)
    kind = choose(spec.split, "group" in data.by, "time" in data.by, bool(target.classes))
    split = make_split(kind, sizes, target.y, data.by.get(kind, ()), seed)
    cells = first_cells(files)
    if isinstance(judge, Metric):
        check_fit(judge, target)
        check_part(judge, target.y[split.search], "search")
        check_part(judge, target.y[split.final], "final")
        form = make_form(columns, judge, target)
    else:
        form = make_free_form(columns, target, cells)
    extras = extra_files(folder, columns.targets)
    hidden = hidden_labels(bundled) if bundled else None
    return Source(
        folder, files, columns, data, target, split, form, judge, extras, cells, hidden, seed
    )


def _info(source: Source, text: str, name: str) -> TaskInfo:
    target, form, judge = source.target, source.form, source.judge
    rows = f"search holdout, {len(source.split.search)} rows"
    return TaskInfo(
        name=name,
        goal=text or f"Predict the column `{target.column}`.",
        metric=judge.name,
        maximize=judge.maximize,
        problem=target.problem,
        target=target.column,
        id=source.columns.id,
        predict="value" if form.predict == "anything" else form.predict,
        columns=form.columns,
        classes=target.classes,
        evaluation=rows if isinstance(judge, Metric) else f"{rows}, by the task's own grade.py",
    )


def _fingerprint(source: Source, spec: Spec) -> str:
    tables = (source.files.train, source.files.test, source.files.sample)
    whole = [table.path for table in tables if table is not None]
    if isinstance(source.judge, Grader):
        whole.append(source.judge.path)
    settings = spec.model_dump(exclude={"name", "goal", "seconds", "needs_gpu"})
    settings |= {"metric": source.judge.name, "target": source.columns.targets}
    settings |= {"seed": source.seed, "split": source.split.kind, "id": source.columns.id}
    return fingerprint(whole, source.folder, source.extras, settings)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "task"
