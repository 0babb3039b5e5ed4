"""Room on the disk: a run ends while it can still finish, not when a write fails."""

from __future__ import annotations

import shutil
from pathlib import Path

MIB = 1 << 20
RESERVE = 64 * MIB
"""What the end of a run may write besides the best program's files: journal, report, refit."""


class Room:
    """Watches the free space where a run's folder is.

    Args:
        folder: the run's folder.
        at_once: how many solutions may be written at the same time.
    """

    def __init__(self, folder: Path, at_once: int) -> None:
        self._folder, self._at_once = folder, at_once
        self._largest = 0

    def saw(self, path: Path) -> None:
        """Learn how large a solution's output is, if it has one."""
        if path.is_file():
            self._largest = max(self._largest, path.stat().st_size)

    @property
    def needed(self) -> int:
        """Bytes that have to be free for another step: all at once write, then one finishes."""
        return RESERVE + (self._at_once + 3) * self._largest

    def problem(self) -> str:
        """Why no further step should be started, in a sentence, or "" if there is room."""
        free = shutil.disk_usage(self._folder).free
        if free >= self.needed:
            return ""
        return (
            f"the disk is nearly full: {free // MIB} MiB are free at {self._folder} and the next "
            f"step needs {-(-self.needed // MIB)} MiB; free some, then resume the run"
        )
