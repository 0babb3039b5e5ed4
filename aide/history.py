"""The run as a git repository: a node is a commit, an edge a parent, `best` the winner."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aide.errors import RunFolderError, StorageError, UnavailableError
from aide.folder import storing, write_atomic
from aide.node import Node

if TYPE_CHECKING:
    import git

FILE = "solution.py"
AUTHOR = "aide <aide@localhost>"


class History:
    """Commits of a run's nodes.

    Objects are written directly, without git's index or work tree: a commit costs the same
    whatever the number of nodes, and readers see nothing half-done.

    Args:
        path: the repository; made if missing.

    Raises:
        UnavailableError: git is not installed.
        RunFolderError: there is something else at the path.
    """

    def __init__(self, path: Path) -> None:
        try:
            import git
        except ImportError as error:
            raise UnavailableError(
                "git is not installed, and each run keeps its solutions in a git repository; "
                "install git (on Debian: apt-get install git)"
            ) from error
        self._git = git
        self._path = path
        try:
            if (path / ".git").is_dir():
                self._repo = git.Repo(path)
            else:
                with storing(str(path)):
                    path.mkdir(parents=True, exist_ok=True)
                self._repo = git.Repo.init(path, initial_branch="best")
        except git.exc.GitError as error:
            raise RunFolderError(f"{path} is not a usable git repository: {error}") from error
        self._objects = path / ".git" / "objects"

    def commit(self, node: Node, when: datetime | None = None) -> str:
        """Keep a node as a commit whose parents are those of the node; twice is once.

        Args:
            node: its parents are kept already.
            when: the commit's date; now by default.

        Returns:
            The commit's hash.

        Raises:
            StorageError: it could not be written.
        """
        with self._writing():
            sha = self._store(b"commit", self._commit_object(node, when or datetime.now(UTC)))
            self._point(f"refs/nodes/{node.id:04d}", sha.hex())
            return sha.hex()

    def heal(self, nodes: Iterable[Node]) -> None:
        """Commit those of a run's nodes that are not here, as after a power cut."""
        for node in nodes:
            if not self.has(node.id):
                self.commit(node)

    def set_best(self, node_id: int) -> None:
        """Let the branch `best` point at a node, and check its file out for people to read."""
        with self._writing():
            commit = self._commit(node_id)
            self._point("refs/heads/best", commit.hexsha)
            write_atomic(self._path / FILE, commit.tree[FILE].data_stream.read())

    def diff(self, node_id: int) -> str:
        """What a node changed against its first parent, or its whole code, as a unified diff.

        Raises:
            RunFolderError: the node is not in the repository.
        """
        commit = self._commit(node_id)
        if commit.parents:
            return str(self._repo.git.diff(commit.parents[0].hexsha, commit.hexsha))
        return str(self._repo.git.show(commit.hexsha, format=""))

    def has(self, node_id: int) -> bool:
        return (self._path / ".git" / "refs" / "nodes" / f"{node_id:04d}").is_file()

    def close(self) -> None:
        self._repo.close()

    def _commit(self, node_id: int) -> git.Commit:
        return self._git.Commit(self._repo, bytes.fromhex(self._sha(node_id)))

    def _sha(self, node_id: int) -> str:
        ref = self._path / ".git" / "refs" / "nodes" / f"{node_id:04d}"
        try:
            return ref.read_text(encoding="ascii").strip()
        except FileNotFoundError as error:
            raise RunFolderError(f"node {node_id} is not in {self._path}") from error

    def _commit_object(self, node: Node, when: datetime) -> bytes:
        """A commit in git's own form, its tree stored before it."""
        blob = self._store(b"blob", node.code.encode("utf-8", "replace"))
        tree = self._store(b"tree", b"100644 " + FILE.encode() + b"\0" + blob)
        who = f"{AUTHOR} {int(when.timestamp())} +0000"
        head = [
            f"tree {tree.hex()}",
            *(f"parent {self._sha(parent)}" for parent in node.parents),
            f"author {who}",
            f"committer {who}",
        ]
        return ("\n".join(head) + "\n\n" + _message(node)).encode("utf-8", "replace")

    def _store(self, kind: bytes, content: bytes) -> bytes:
        """Keep a loose object; its hash. Not flushed to disk either: `heal` makes it again."""
        data = kind + b" %d\0" % len(content) + content
        sha = hashlib.sha1(data, usedforsecurity=False)
        path = self._objects / sha.hexdigest()[:2] / sha.hexdigest()[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            # Not by GitPython's own store: it keeps an open file and a traceback a failed write.
            handle, name = tempfile.mkstemp(dir=self._objects, prefix="obj")
            new = Path(name)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(zlib.compress(data, 1))
                new.chmod(0o444)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)
        return sha.digest()

    def _point(self, ref: str, sha: str) -> None:
        path = self._path / ".git" / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not flushed to disk: what a power failure loses here, `heal` makes again.
        new = path.with_name(path.name + ".lock")
        new.write_text(sha + "\n", "ascii")
        new.replace(path)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with storing(f"the repository {self._path}"):
            try:
                yield
            except self._git.exc.GitError as error:
                raise StorageError(
                    f"git could not write to {self._path}: {error}; then resume the run"
                ) from error


def _message(node: Node) -> str:
    plan = node.plan.strip() or f"({node.status})"
    subject = plan.splitlines()[0]
    subject = subject if len(subject) <= 72 else subject[:71] + "…"
    trailers = [f"Node: {node.id}", f"Operator: {node.operator}", f"Status: {node.status}"]
    if node.score is not None:
        trailers.append(f"Score: {node.score.value!r}")
    body = f"{plan}\n\n" if plan != subject else ""
    return f"{subject}\n\n{body}" + "\n".join(trailers) + "\n"
