"""The end of a run: the best node meets the final holdout, and is refitted on all labelled rows.

Each stage can fail without losing the stage before: `best/` stays valid throughout.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from aide.errors import InvalidSubmission, SandboxError
from aide.evaluate import failure, missing_output
from aide.node import Node, Score
from aide.parts import Parts
from aide.replay import score_fields
from aide.runner import SUBMISSION, Runner

REFIT_TIME = 2.0
"""How much longer than a search run the refit may take: it has more rows to learn from."""


def finish(parts: Parts, runner: Runner, best: Node) -> None:
    """Score the best node on the final holdout, refit it, and write the "final" event.

    Raises:
        StorageError: the disk is full; what `best/` held stays.
    """
    predictions = parts.folder.node(best.id) / Path(SUBMISSION).name
    final: Score | None = None
    problem = ""
    parts.on_event({"event": "scoring", "node": best.id})
    try:
        final = parts.task.grade(predictions, "final")
    except InvalidSubmission as error:
        problem = f"the final holdout could not be scored: {error}"
    parts.on_event({"event": "refitting", "node": best.id})
    refit_problem = refit(parts, runner, best)
    if runner.cancelled:
        return
    parts.write(
        {
            "event": "final",
            "node": best.id,
            "search": score_fields(best.score),
            "final": score_fields(final),
            "refitted": not refit_problem,
            "problem": "; ".join(filter(None, (problem, refit_problem))),
        }
    )


def refit(parts: Parts, runner: Runner, best: Node) -> str:
    """Run the best program on the full view and put its submission into `best/`.

    Returns:
        Why it could not be done, or "" if it was.
    """
    name = f"{best.id:04d}-full"
    seconds = min(parts.limits.seconds * REFIT_TIME, max(1.0, parts.budget.left_to_finish))
    limits = replace(parts.limits, seconds=seconds)
    collect = parts.folder.nodes / name
    try:
        execution = runner.execute(name, best.code, "full", collect, limits)
    except SandboxError as error:
        return f"the refit on all labelled rows failed: {error}"
    if execution.status != "ok":
        return f"the refit on all labelled rows failed: {failure(execution)}"
    problem = missing_output(execution)
    if problem:
        return f"the refit on all labelled rows failed: {problem}"
    try:
        submission = parts.task.submission(execution.files[SUBMISSION], "full")
    except InvalidSubmission as error:
        return f"the refit's submission is not valid: {error}"
    parts.folder.set_best(name, best.code, submission)
    return ""
