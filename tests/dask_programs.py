"""Programs that the tests of the Dask sandbox start."""

from __future__ import annotations

import itertools

from aide.llm.scripted import ScriptedModel

KILL_THE_WORKER = """
import os, signal
os.write(os.open({log!r}, os.O_WRONLY | os.O_APPEND), b'x')
supervisor = open(f'/proc/{{os.getppid()}}/stat').read()
os.kill(int(supervisor.rpartition(')')[2].split()[1]), signal.SIGKILL)
signal.pause()
"""
"""A program that ends the worker that runs it."""

HOST = """
import sys
from pathlib import Path
from aide.interfaces import Job, Limits
from aide.sandboxes.dask import DaskSandbox
from aide.sandboxes.guest import GuestSettings as Settings

address, python, folder, mark = sys.argv[1:]
settings = Settings("dies", "process", python=Path(python), warm=False, lease=3.0)
code = f"import os; os.execlp('sleep', 'sleep', '{mark}')"
folder = Path(folder)
DaskSandbox(address, settings).run(Job("endless", code, folder, {}, folder, Limits()))
"""
"""A search's host with one job that does not end."""

WITHOUT_DASK = """
import sys
sys.modules["distributed"] = None
from aide.errors import UnavailableError
from aide.sandboxes.dask import dask_sandbox
try:
    dask_sandbox("tcp://127.0.0.1:1", run_id="none")
except UnavailableError as error:
    print(error)
"""
"""A host on which Dask cannot be imported."""

PROGRAM = """A guess for each row.

```python
import random, time

time.sleep(0.5)
random.seed({seed})
head, *rows = open("input/sample_submission.csv").read().split()
guesses = [row.split(",")[0] + "," + random.choice("01") for row in rows]
open("working/submission.csv", "w").write("\\n".join([head, *guesses]))
```
"""


def make_model() -> ScriptedModel:
    """A model whose programs need no library, and so start fast."""
    seeds = itertools.count(1)
    return ScriptedModel(lambda request: PROGRAM.format(seed=next(seeds)))
