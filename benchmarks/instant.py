"""A sandbox and a model that cost nothing, to see what everything around them costs."""

from __future__ import annotations

import csv
import itertools
import random
import re
from collections.abc import Mapping
from pathlib import Path

from aide.interfaces import Execution, Job, Limits, Request
from aide.llm.scripted import ScriptedModel

DRAFT = """A constant with noise.

```python
import {module}

SEED = {seed}
OUTPUT = "working/submission.csv"
# ... a program of usual length
{body}
```
"""
EDIT = """Another seed, which may help.

<<<<<<< SEARCH
SEED = {old}
=======
SEED = {new}
>>>>>>> REPLACE
"""
MODULES = ("csv", "json", "math", "random", "re", "statistics", "string")
"""One for each draft, so that none is taken for a copy of another."""
BODY = "\n".join(
    f"feature_{i} = [{i}, {i + 1}, {i + 2}]  # a line as solutions have" for i in range(80)
)


class InstantSandbox:
    """Pretends to run a program: writes a noisy submission by the seed that the program names.

    Every seventh program fails, so that debug has work.
    """

    name = "instant"
    about = "nothing is run: predictions are noise by the seed in the code"

    def packages(self) -> Mapping[str, str]:
        return {"numpy": "2.0", "pandas": "2.2"}

    def run(self, job: Job) -> Execution:
        found = re.search(r"^SEED = (\d+)$", job.code, re.MULTILINE)
        seed = int(found[1]) if found else 0
        if seed % 7 == 3:
            return Execution("error", 1, None, "Traceback ...\nValueError: no", 30, 0.0, 0.0, 1.0)
        job.collect.mkdir(parents=True, exist_ok=True)
        path = job.collect / "submission.csv"
        rng = random.Random(seed)
        with (job.input / "sample_submission.csv").open(newline="") as sample:
            rows = list(csv.reader(sample))
        with path.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(rows[0])
            writer.writerows([row[0], rng.gauss(0, 1)] for row in rows[1:])
        files = {"working/submission.csv": path}
        return Execution("ok", 0, None, "epoch 1\n" * 50, 400, 0.0, 0.0, 1.0, files)

    def prepare(self, view: Path, limits: Limits, count: int) -> None:
        pass

    def health(self) -> str:
        return ""

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


def make_model() -> ScriptedModel:
    """A model that answers each prompt at once with a program or an edit that is new."""
    numbers = itertools.count(1)

    def answer(request: Request) -> str:
        prompt = request.messages[-1].text
        found = re.search(r"^SEED = (\d+)$", prompt, re.MULTILINE)
        new = next(numbers)
        if found is None:
            return DRAFT.format(seed=new, body=BODY, module=MODULES[new % len(MODULES)])
        return EDIT.format(old=found[1], new=new)

    return ScriptedModel(answer)
