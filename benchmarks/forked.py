"""The far side of `benchmarks.warm`: runs programs in forks of one process, imports paid once.

Runs in the solutions' Python, on its standard library and what it imports to warm up. One order a
line on standard input: the folder of a program, its wall time and, if that is limited, its
processor time in seconds; one line of JSON comes back when the program has ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any

WARM = (
    "lightgbm",
    "numpy",
    "pandas",
    "scipy.stats",
    "sklearn.calibration",
    "sklearn.cluster",
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.feature_selection",
    "sklearn.gaussian_process",
    "sklearn.impute",
    "sklearn.kernel_approximation",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
)


def warm_up() -> None:
    """Import what programs import, and what that imports by itself at its first use."""
    for name in WARM:
        importlib.import_module(name)
    pandas, sklearn = sys.modules["pandas"], sys.modules["sklearn"]
    table = pandas.DataFrame({"x": [1.0, None, 3.0, 4.0], "kind": ["a", "b", "a", "b"]})
    pandas.to_datetime(pandas.Series(["2020-01-01"]), errors="coerce", format="mixed")
    columns = sklearn.compose.make_column_transformer(
        (sklearn.impute.SimpleImputer(), ["x"]),
        (sklearn.preprocessing.OneHotEncoder(sparse_output=False), ["kind"]),
    )
    for model in (
        sklearn.ensemble.HistGradientBoostingRegressor(max_iter=1),
        sklearn.ensemble.RandomForestRegressor(n_estimators=1),
        sklearn.linear_model.Ridge(),
    ):
        sklearn.pipeline.make_pipeline(columns, model).fit(table, [0, 1, 0, 1]).predict(table)


def serve() -> None:
    """Answer orders until there are no more; returns in each fork, ready for the program."""
    for line in sys.stdin:
        order = json.loads(line)
        start = time.monotonic()
        pid = os.fork()
        if not pid:
            become_program(order["folder"], order["cpu"])
            return
        print(json.dumps(follow(pid, start, order["seconds"])), flush=True)
    sys.exit()


def follow(pid: int, start: float, seconds: float) -> dict[str, Any]:
    """Wait for a program, end it at its limit, and whatever it has left behind in its group."""
    process = os.pidfd_open(pid)
    ended, _, _ = select.select([process], [], [], seconds)
    os.close(process)
    took = time.monotonic() - start
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return {
        "code": code if ended and code != -signal.SIGXCPU else None,
        "seconds": took,
        "cpu": used.ru_utime + used.ru_stime,
        "peak_kb": used.ru_maxrss,
    }


def become_program(folder: str, cpu: int | None) -> None:
    """Make a fork what a new process would be: its own group, folder, output and time."""
    os.setsid()
    if cpu:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
    os.chdir(folder)
    output = os.open("../output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


def show_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A traceback of the program's own frames."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def execute(path: Path) -> None:
    """Run a file as `python path` does."""
    # This module has to outlive the exchange, or its globals go while it runs.
    _kept, main = sys.modules["__main__"], types.ModuleType("__main__")
    main.__file__ = str(path)
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    sys.excepthook = show_error
    exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    warm_up()
    # Else the first collection in each fork copies all that has been imported.
    gc.freeze()
    print("ready", flush=True)
    serve()
    execute(Path("solution.py").absolute())
