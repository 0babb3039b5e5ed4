"""Removes what crashed runs have left on this machine, and only that."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aide.errors import AideError, RunFolderError, UnavailableError
from aide.folder import RunFolder, storing
from aide.sandboxes import leftovers
from aide.sandboxes.engine import Engine
from aide.sandboxes.leftovers import LeftOver

TEMPORARY = re.compile(
    r"\.(config\.toml|report\.(md|html)|solution\.py|submission\.csv)\.[a-z0-9_]{8}"
)
"""A file that was being written when its writer died: `aide.folder.write_atomic` names them so."""


@dataclass(frozen=True, slots=True)
class Removed:
    """One thing that was looked at.

    Attributes:
        kind: "container", "folder", "control group", "file" or "run".
        name: its name or path.
        why: what tells that it is of no use; or why it was left.
        done: "removed", "found" (in a dry run), or "left": it could not be looked at or removed.
    """

    kind: str
    name: str
    why: str
    done: Literal["removed", "found", "left"]


def line(removed: Removed) -> str:
    """One line for people."""
    return f"{removed.done:<8} {removed.kind} {removed.name}: {removed.why}"


def collect(runs: Sequence[Path] = (), *, dry_run: bool = False) -> list[Removed]:
    """Remove what crashed runs have left: containers, temporary folders, control groups.

    What a living process owns stays, as does what carries no mark of ours.

    Args:
        runs: folders of runs, in which half-written files are removed too, unless a search is
            at work there.
        dry_run: find, but remove nothing.

    Returns:
        What was found, and what could not be looked at.

    Raises:
        RunFolderError: one of the runs is none.
    """
    folders = [RunFolder(run) for run in runs]
    for folder in folders:
        folder.check()
    done = _containers(dry_run)
    done += [_removed(each, dry_run) for each in (*leftovers.folders(), *leftovers.groups())]
    for folder in folders:
        done += _in_run(folder, dry_run)
    return done


def _containers(dry_run: bool) -> list[Removed]:
    try:
        with closing(Engine()) as engine:
            return [_removed(each, dry_run) for each in leftovers.containers(engine)]
    except UnavailableError:
        return [Removed("container", "(all)", "no engine answers: not looked at", "left")]
    except AideError as error:
        return [Removed("container", "(all)", f"not looked at: {error}", "left")]


def _in_run(folder: RunFolder, dry_run: bool) -> list[Removed]:
    try:
        with folder.writing():
            return [_removed(each, dry_run) for each in _half_written(folder)]
    except RunFolderError as error:
        return [Removed("run", str(folder.path), str(error), "left")]


def _removed(found: LeftOver, dry_run: bool) -> Removed:
    if dry_run:
        return Removed(found.kind, found.name, found.why, "found")
    try:
        found.remove()
    except AideError as error:
        return Removed(found.kind, found.name, str(error), "left")
    return Removed(found.kind, found.name, found.why, "removed")


def _half_written(folder: RunFolder) -> Iterator[LeftOver]:
    """What a dead writer has left in a run that nobody is writing to."""
    git = folder.solutions / ".git"
    for path in sorted(_partial(folder, git)):
        yield LeftOver("file", str(path), "its writer died before it was whole", _removal(path))
    current = folder.best.resolve()
    for path in sorted(folder.path.glob("versions/*")):
        if folder.best.is_symlink() and path.resolve() != current:
            yield LeftOver("folder", str(path), "best/ does not point to it", _removal(path))


def _partial(folder: RunFolder, git: Path) -> Iterator[Path]:
    places = (folder.path, folder.solutions, *folder.path.glob("versions/*"))
    for place in places:
        yield from (path for path in place.glob(".*") if TEMPORARY.fullmatch(path.name))
    yield from folder.nodes.rglob(".*.part")
    yield from git.glob("refs/**/*.lock")
    yield from git.glob("objects/obj*")
    yield from (path for path in [folder.path / ".best"] if path.is_symlink())


def _removal(path: Path) -> Callable[[], None]:
    def remove() -> None:
        with storing(str(path)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    return remove
