"""The fakes of `benchmarks.crash`: a model and a sandbox that take a moment and tell of it."""

from __future__ import annotations

import os
import random
import re
import time

from aide.interfaces import Execution, Job, Request
from aide.llm.scripted import ScriptedModel
from benchmarks.instant import BODY, DRAFT, EDIT, MODULES, InstantSandbox

MODEL_SECONDS, RUN_SECONDS, REFIT_SECONDS = 0.02, 0.04, 0.06
"""What the fakes take on average; each varies between nothing and twice as much."""
PROGRAM = """import csv, random
random.seed({seed})
with open("input/sample_submission.csv", newline="") as stream:
    header, *rows = csv.reader(stream)
with open("working/submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(header)
    writer.writerows([row[0], random.gauss(0, 1)] for row in rows)
"""

_pipe: list[int] = []
"""Of a session: where its fakes and its events are told."""


def tell_to(pipe: int) -> None:
    """Have what happens told there."""
    _pipe.append(pipe)


def tell(kind: object) -> None:
    """Tell the process that will kill this one what happens."""
    for descriptor in _pipe:
        os.write(descriptor, f"{kind}\n".encode())


def pause(mean: float) -> None:
    time.sleep(random.uniform(0, 2 * mean))


class SlowSandbox(InstantSandbox):
    """The instant sandbox, with runs that take a moment."""

    def run(self, job: Job) -> Execution:
        pause(REFIT_SECONDS if job.name.endswith("-full") else RUN_SECONDS)
        execution = super().run(job)
        tell("ran")
        return execution


def make_model() -> ScriptedModel:
    """A model that takes a moment."""

    def answer(request: Request) -> str:
        pause(MODEL_SECONDS)
        return numbered(request)

    return ScriptedModel(answer)


def make_author() -> ScriptedModel:
    """A model whose programs do run: they guess, by the number of their node."""
    return ScriptedModel(lambda request: f"Guess.\n\n```python\n{program(request.seed)}```")


def program(seed: int) -> str:
    """A program that guesses and needs no library."""
    return PROGRAM.format(seed=seed)


def numbered(request: Request) -> str:
    """A program or an edit that is new by its node's number alone: each session begins with
    another model, which cannot know what an earlier one wrote."""
    found = re.search(r"^SEED = (\d+)$", request.messages[-1].text, re.MULTILINE)
    seed = request.seed
    if found is None:
        return DRAFT.format(seed=seed, body=BODY, module=MODULES[seed % len(MODULES)])
    return EDIT.format(old=found[1], new=seed)
