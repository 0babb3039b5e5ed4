"""A model that takes its time, and whose programs do too."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import dataclass

from aide.interfaces import Request
from aide.llm.scripted import ScriptedModel
from benchmarks.instant import EDIT, MODULES

PROGRAM = """Predictions by chance, after a sleep.

```python
import csv, random, time, {module}

SEED = {seed}
OUTPUT = "working/submission.csv"
time.sleep({seconds})
random.seed(SEED)
with open("input/sample_submission.csv", newline="") as sample:
    head, *rows = csv.reader(sample)
with open(OUTPUT, "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([row[0], random.gauss(0, 1)] for row in rows)
```
"""


@dataclass
class Pace:
    """How long a call of the model takes, and each of its programs."""

    seconds: float


pace = Pace(2.0)


def make_model() -> ScriptedModel:
    """A model that thinks for a while before each answer."""
    numbers = itertools.count(1)

    def answer(request: Request) -> str:
        new = next(numbers)
        time.sleep(pace.seconds)
        found = re.search(r"^SEED = (\d+)$", request.messages[-1].text, re.MULTILINE)
        if found is None:
            module = MODULES[new % len(MODULES)]
            return PROGRAM.format(seed=new, seconds=pace.seconds, module=module)
        return EDIT.format(old=found[1], new=new)

    return ScriptedModel(answer)
