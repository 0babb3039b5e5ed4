"""The command line as a process, with plain processes for sandboxes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

AIDE = [sys.executable, "-m", "aide"]
FAST = {
    "AIDE_SANDBOX": "process",
    "AIDE_PYTHON": sys.executable,
    # Where byte code is not kept, each of some hundred processes would compile everything again.
    "PYTHONDONTWRITEBYTECODE": "",
}
ROOT = Path(__file__).parents[1]
GUESSING = {
    "AIDE_MODEL": "tests.author:Author",
    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
}
"""Settings for a search that costs next to nothing: programs that guess."""


def aide(
    *args: str | Path, cwd: Path, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end; its settings come from `FAST`, then `env`, then `args`."""
    return subprocess.run(
        [*AIDE, *map(str, args)],
        cwd=cwd,
        env={**os.environ, **FAST, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
