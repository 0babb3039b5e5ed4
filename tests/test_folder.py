"""The run's folder: one writer, files replaced whole, `best/` always complete."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aide.errors import RunFolderError, StorageError
from aide.folder import RunFolder, new_folder, write_atomic


def test_a_second_writer_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    other = RunFolder(folder.path)
    with folder.writing():
        with pytest.raises(RunFolderError, match=rf"another process \({os.getpid()}\)"):
            other.writing().__enter__()
        # The refused one must not have wiped the writer's name.
        with pytest.raises(RunFolderError, match=rf"another process \({os.getpid()}\)"):
            other.writing().__enter__()
    with other.writing():
        pass


def test_the_lock_ends_with_a_killed_process(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    program = (
        "import sys, time; from pathlib import Path; from aide.folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).writing(): print('locked', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(folder.path)], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"locked\n"
        with pytest.raises(RunFolderError, match=str(child.pid)):
            folder.writing().__enter__()
        child.kill()
        child.wait()
    with folder.writing():
        pass


def test_best_is_complete_and_old_versions_go(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.set_best("0001", "one", "id,y\n1,2\n")
    folder.set_best("0001", "one", "id,y\n1,2\n")
    folder.set_best("0004", "four", "id,y\n1,3\n")
    assert (folder.best / "solution.py").read_text() == "four"
    assert (folder.best / "submission.csv").read_text() == "id,y\n1,3\n"
    assert [path.name for path in (folder.path / "versions").iterdir()] == ["0004"]


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, "old")
    link = tmp_path / "missing" / "file"
    with pytest.raises(StorageError):
        write_atomic(link, "new")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("content", "message"),
    [("journal.jsonl", "aide resume"), ("something.txt", "not empty")],
)
def test_a_folder_in_use_is_not_taken(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / content).write_text('{"event": "start"}\n')
    with pytest.raises(RunFolderError, match=message):
        RunFolder(tmp_path).create()


def test_what_was_killed_before_it_began_is_begun_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    with folder.writing():
        folder.config.write_text("task = 'a'")
        folder.journal.write_text('{"event": "sta')
    folder.create()
    folder.check_new()


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"cannot be made.*--out"):
        RunFolder(tmp_path / "file" / "run").create()


def test_no_run_here(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="there is no folder"):
        RunFolder(tmp_path / "nothing").check()
    with pytest.raises(RunFolderError, match="not a run's folder"):
        RunFolder(tmp_path).check()


def test_the_next_folder_is_the_first_free_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("t-1", "t-2", "t-7", "other-3"):
        (tmp_path / name).mkdir()
    assert new_folder(tmp_path, "t").name == "t-3"
    assert new_folder(tmp_path, "t").name == "t-4"
    with pytest.raises(RunFolderError, match=r"cannot be made.*--out"):
        new_folder(tmp_path / "file", "t")


@pytest.mark.parametrize("left", ["config.toml", ".config.toml.k3x_a9z1", "calls.jsonl", ".lock"])
def test_a_run_that_was_killed_before_it_began_can_be_begun_again(
    tmp_path: Path, left: str
) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    (folder.path / left).write_text("half")
    folder.create()
