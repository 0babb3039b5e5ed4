"""The other files of a task's folder, such as images: which ones a solution may see, and how.

They are copied once into the cache and hard-linked from there into each view, so that no program
gets hold of the user's own files and the disk holds one copy.

Left out is what could hold labels: archives and tables that cannot be looked into here, tables
with the target's column, other forms of train.csv and test.csv, and folders of earlier runs. A
table that has the labels under another column name is not recognised.
"""

from __future__ import annotations

import csv
import gzip
import logging
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from aide.tasks.columns import SAMPLES
from aide.tasks.spec import FILE, GOAL_FILES
from aide.tasks.table import DELIMITERS

log = logging.getLogger("aide")

GRADER = "grade.py"
TABLE_STEMS = {"train", "test", *SAMPLES}
ARCHIVES = {".7z", ".bz2", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst"}
CLOSED_TABLES = {".arrow", ".db", ".feather", ".h5", ".parquet", ".pickle", ".pkl", ".sqlite"}
CLOSED_TABLES |= {".xls", ".xlsx"}
TABLES = {".csv", ".tsv", ".tab", ".txt"}
RUN_MARK = "journal.jsonl"
HEAD = 1 << 16


def extra_files(folder: Path, targets: Sequence[str]) -> list[Path]:
    """The other files that solutions may see, relative to the folder, sorted.

    Args:
        folder: the task's folder.
        targets: the columns that must not be seen.
    """
    found: list[Path] = []
    left_out: list[Path] = []
    for path in _walk(folder):
        relative = path.relative_to(folder)
        if len(relative.parts) == 1 and _is_own(path):
            continue
        (left_out if _may_hold_labels(path, targets) else found).append(relative)
    if left_out:
        names = ", ".join(str(path) for path in sorted(left_out)[:10])
        log.warning("%d files that may hold labels are not shown: %s", len(left_out), names)
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        # A link to a folder above would be walked for ever.
        if real in seen or RUN_MARK in files:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        yield from (
            Path(here, name)
            for name in files
            if not name.startswith(".") and Path(here, name).is_file()
        )


def _is_own(path: Path) -> bool:
    stem = path.name.partition(".")[0]
    return path.name in {FILE, GRADER, *GOAL_FILES} or stem in TABLE_STEMS


def _may_hold_labels(path: Path, targets: Sequence[str]) -> bool:
    kinds = {suffix.lower() for suffix in path.suffixes[-2:]}
    if kinds & (ARCHIVES | CLOSED_TABLES):
        return True
    if kinds & TABLES:
        header = _header(path)
        return header is None or any(target in header for target in targets)
    return ".gz" in kinds


def _header(path: Path) -> set[str] | None:
    """The cells of a table's first line, whatever its delimiter; None if it cannot be read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
            head = raw.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return None
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    lines = head.decode(encoding, errors="replace").splitlines()[:1]
    return {
        cell.strip()
        for delimiter in DELIMITERS
        for row in csv.reader(lines, delimiter=delimiter)
        for cell in row
    }


def copy_extras(folder: Path, names: Sequence[Path], to: Path) -> None:
    """Copy files into a folder, readable for everyone. Links are followed, never made.

    Raises:
        OSError: a file cannot be read or written.
    """
    for name in names:
        place = _make_room(to, name)
        shutil.copyfile(folder / name, place)
        place.chmod(0o644)


def link_extras(store: Path, names: Sequence[Path], to: Path) -> None:
    """Hard-link files that `copy_extras` has put into a store; copies where that is refused.

    Raises:
        OSError: a file cannot be read or written.
    """
    for name in names:
        place = _make_room(to, name)
        try:
            os.link(store / name, place)
        except OSError:
            shutil.copyfile(store / name, place)
            place.chmod(0o644)


def _make_room(to: Path, name: Path) -> Path:
    here = to
    for part in name.parts[:-1]:
        here = here / part
        here.mkdir(mode=0o755, exist_ok=True)
        here.chmod(0o755)
    return here / name.name
