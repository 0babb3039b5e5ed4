"""What sandboxes of dead processes have left on this machine: containers, folders, groups."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aide.errors import SandboxError
from aide.sandboxes.cgroup import ROOT, Cgroup
from aide.sandboxes.control import remove_tree
from aide.sandboxes.engine import DEADLINE, OWNER, Engine
from aide.sandboxes.owner import Owner


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A thing whose owner is dead.

    Attributes:
        kind: "container", "folder" or "control group".
        name: as people would look for it.
        why: what tells that it is of no use.
        remove: removes it; raises AideError if that fails.
    """

    kind: str
    name: str
    why: str
    remove: Callable[[], None]


def containers(engine: Engine) -> Iterator[LeftOver]:
    """The containers with our label whose owner is dead, whatever their state.

    An owner that cannot be looked up, as one of another machine, counts as dead after the
    container's deadline.

    Args:
        engine: has to stay open while they are removed.

    Raises:
        SandboxError: the engine failed.
    """
    api = engine.client.api
    found = engine.ask(lambda: api.containers(all=True, filters={"label": OWNER}))
    for entry in found:
        why = _why(entry["Labels"], engine.me)
        if why:
            name = entry["Names"][0].lstrip("/") if entry["Names"] else entry["Id"][:12]
            yield LeftOver("container", name, why, _removal(engine, entry["Id"]))


def _why(labels: dict[str, str], me: Owner) -> str:
    """Why a container with these labels is of no use, or "" if it may be."""
    owner, deadline = Owner.parse(labels.get(OWNER, "")), labels.get(DEADLINE, "")
    if owner is None:
        return ""
    if owner.is_comparable(me):
        return _dead(owner) if owner.is_dead(me) else ""
    over = deadline.isdigit() and time.time() > int(deadline)
    return "its owner is of another boot or machine, and its deadline is over" if over else ""


def _removal(engine: Engine, container_id: str) -> Callable[[], None]:
    def remove() -> None:
        api = engine.client.api
        engine.ask(lambda: api.remove_container(container_id, force=True, v=True))

    return remove


def folders() -> Iterator[LeftOver]:
    """The temporary folders whose owner is dead."""
    me = Owner.me()
    for parent in sorted({Path(tempfile.gettempdir()), Path("/tmp")}):
        for folder in sorted(parent.glob("aide-*")):
            owner = Owner.from_token(folder.name, me)
            if owner is not None and owner.is_dead(me) and not folder.is_symlink():
                yield LeftOver("folder", str(folder), _dead(owner), _tree_removal(folder))


def _tree_removal(folder: Path) -> Callable[[], None]:
    def remove() -> None:
        remove_tree(folder)
        if folder.exists():
            raise SandboxError(f"{folder} could not be removed; it may be another user's")

    return remove


def groups() -> Iterator[LeftOver]:
    """The control groups whose owner is dead, in every hierarchy, with what still runs in them."""
    me = Owner.me()
    for folder in sorted(ROOT.rglob("aide-*")):
        owner = Owner.from_token(folder.name, me)
        if owner is not None and owner.is_dead(me):
            yield LeftOver("control group", str(folder), _dead(owner), _group_removal(folder))


def _group_removal(folder: Path) -> Callable[[], None]:
    def remove() -> None:
        Cgroup([folder], 1).remove()
        if folder.exists():
            raise SandboxError(f"the control group {folder} stays busy, or is another user's")

    return remove


def _dead(owner: Owner) -> str:
    return f"its owner, process {owner.pid}, is dead"
