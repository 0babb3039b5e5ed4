"""Run many programs, each in its own folder, in one Python: the imports are paid for once.

Reads the folders from its standard input, one a line. Each program's output and traceback go to
`log.txt` in its folder, its exit status to `status.txt`.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import traceback
from pathlib import Path


def run(folder: Path) -> None:
    os.chdir(folder)
    status = 0
    with Path("log.txt").open("w") as log, contextlib.redirect_stdout(log):
        try:
            runpy.run_path("solution.py", run_name="__main__")
        except Exception:  # noqa: BLE001  # any error of a program is a result
            status = 1
            traceback.print_exc(file=log)
    Path("status.txt").write_text(str(status))


if __name__ == "__main__":
    for line in sys.stdin:
        run(Path(line.strip()))
