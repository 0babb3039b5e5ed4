"""A hash of all that decides what a solution sees and how it is graded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aide.errors import TaskError

FORMAT = 1
"""Raised when views of the same data and settings come out differently than before."""

HEAD = 1 << 16


def fingerprint(
    whole: Sequence[Path], folder: Path, others: Sequence[Path], settings: Mapping[str, object]
) -> str:
    """The hash, 32 hexadecimal digits.

    Args:
        whole: files whose contents count in full.
        folder: where the other files are.
        others: files that count by name, size and their first 64 KiB, relative to the folder.
        settings: what else counts; written as JSON.

    Raises:
        TaskError: a file cannot be read.
    """
    facts: dict[str, object] = {"format": FORMAT, "settings": settings}
    try:
        for path in whole:
            with path.open("rb") as raw:
                facts[path.name] = hashlib.file_digest(raw, "sha256").hexdigest()
        for name in others:
            path = folder / name
            with path.open("rb") as raw:
                head = hashlib.sha256(raw.read(HEAD)).hexdigest()
            facts[f"other {name.as_posix()}"] = [path.stat().st_size, head]
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}") from error
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
