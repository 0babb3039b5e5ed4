"""Bad input at the command line: one clear sentence, exit status 2, no traceback, nothing lost."""

from __future__ import annotations

import csv
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import GUESSING, aide


def refuses(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """The process said what is wrong, in one sentence, and ended with status 2."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]


def make_task(folder: Path, **changes: list[Any]) -> Path:
    """A small good classification task, with some columns of train.csv changed."""
    folder.mkdir()
    columns: dict[str, list[Any]] = {
        "id": list(range(100)),
        "x": [number % 7 for number in range(100)],
        "y": ["yes" if number % 3 else "no" for number in range(100)],
    }
    columns.update(changes)
    with (folder / "train.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    (folder / "task.toml").write_text('metric = "accuracy"\ntarget = "y"\nid = "id"\n')
    return folder


def missing_folder(path: Path) -> list[str]:
    return [str(path / "nowhere")]


def empty_csv(path: Path) -> list[str]:
    (make_task(path / "t") / "train.csv").write_text("")
    return [str(path / "t")]


def no_target(path: Path) -> list[str]:
    (make_task(path / "t") / "task.toml").write_text('metric = "accuracy"\n')
    return [str(path / "t")]


def wrong_target(path: Path) -> list[str]:
    return [str(make_task(path / "t")), "--target", "price"]


def unknown_metric(path: Path) -> list[str]:
    return [str(make_task(path / "t")), "--metric", "acuracy"]


def one_class(path: Path) -> list[str]:
    return [str(make_task(path / "t", y=["yes"] * 100))]


def duplicate_ids(path: Path) -> list[str]:
    return [str(make_task(path / "t", id=[*range(99), 0]))]


def other_columns(path: Path) -> list[str]:
    folder = make_task(path / "t")
    (folder / "test.csv").write_text("id,z\n1000,1\n1001,2\n")
    return [str(folder)]


def unknown_key(path: Path) -> list[str]:
    folder = make_task(path / "t")
    (folder / "task.toml").write_text('metrik = "accuracy"\n')
    return [str(folder)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (missing_folder, ["nowhere"]),
        (empty_csv, ["train.csv", "empty"]),
        (no_target, ["target", "--target"]),
        (wrong_target, ["price", "train.csv"]),
        (unknown_metric, ["acuracy", "accuracy"]),
        (one_class, ["yes"]),
        (duplicate_ids, ["id"]),
        (other_columns, ["test.csv", "z"]),
        (unknown_key, ["metrik", "metric"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_bad_task(tmp_path: Path, make: Callable[[Path], list[str]], words: list[str]) -> None:
    refuses(aide("run", *make(tmp_path), "--steps", "1", cwd=tmp_path), *words)
    assert not (tmp_path / "runs").exists(), "no run's folder is made for a task that is none"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--steps", "0"], ["steps", "0"]),
        (["--hours", "-1"], ["hours", "-1"]),
        (["--seed", "-3"], ["seed"]),
        (["--model", "gpt"], ["gpt", "offline"]),
        (["--model", "no.such:Thing"], ["no.such"]),
        (["--policy", "greedi"], ["greedi", "greedy"]),
        (["--sandbox", "jail"], ["jail", "docker"]),
        (["--config", "none.toml"], ["none.toml"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_bad_option(tmp_path: Path, options: list[str], words: list[str]) -> None:
    refuses(aide("run", "titanic", *options, cwd=tmp_path), *words)


@pytest.mark.parametrize("text", ["many", "1.5"])
def test_an_option_of_the_wrong_type(tmp_path: Path, text: str) -> None:
    done = aide("run", "titanic", "--steps", text, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert text in done.stderr


def test_an_unwritable_output_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = aide("run", "titanic", "--steps", "1", "--out", tmp_path / "file" / "run", cwd=tmp_path)
    refuses(done, "file/run", "--out")


def test_no_engine_with_docker_by_name(tmp_path: Path) -> None:
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    done = aide("run", "titanic", "--sandbox", "docker", cwd=tmp_path, env=nowhere)
    refuses(done, "Docker", "--sandbox")


def test_git_missing(tmp_path: Path) -> None:
    done = aide("run", "titanic", "--steps", "1", cwd=tmp_path, env={"PATH": str(tmp_path)})
    refuses(done, "git is not installed")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two steps, for copies of it to be spoilt."""
    folder = tmp_path_factory.mktemp("finished")
    task = make_task(folder / "task")
    done = aide("run", task, "--steps", "2", "--out", folder / "run", cwd=folder, env=GUESSING)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run", symlinks=True)
    return tmp_path / "run"


def spoil(run: Path, change: Callable[[list[str]], None]) -> None:
    journal = run / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    change(lines)
    journal.write_text("".join(lines))


def test_a_journal_cut_in_mid_line_is_no_fault(run: Path) -> None:
    def cut(lines: list[str]) -> None:
        finish = next(
            i for i, line in enumerate(lines) if '"finished"' in line and '"node": 2' in line
        )
        del lines[finish + 1 :]
        lines[finish] = lines[finish][:40]

    spoil(run, cut)
    done = aide("resume", run, "--json", cwd=run, env=GUESSING)
    assert done.returncode == 0, done.stderr
    assert '"nodes": 2' in done.stdout


@pytest.mark.parametrize("command", ["resume", "show", "best"])
def test_garbage_in_the_middle_of_a_journal(run: Path, command: str) -> None:
    spoil(run, lambda lines: lines.__setitem__(2, "garbage\n"))
    before = (run / "journal.jsonl").read_bytes()
    refuses(aide(command, run, cwd=run, env=GUESSING), "line 3", "journal.jsonl")
    assert (run / "journal.jsonl").read_bytes() == before


def test_a_run_of_another_version(run: Path) -> None:
    def other(lines: list[str]) -> None:
        lines[0] = lines[0].replace('"version": 1', '"version": 99')

    spoil(run, other)
    refuses(aide("show", run, cwd=run), "99", "version")


def test_a_second_writer(run: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from aide.folder import RunFolder\n"
            "with RunFolder(Path(sys.argv[1])).writing(): print(flush=True); sys.stdin.read()",
            str(run),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        refuses(
            aide("resume", run, "--steps", "3", cwd=run, env=GUESSING),
            "another process",
            str(holder.pid),
        )
        assert aide("show", run, cwd=run).returncode == 0, "readers are not shut out"
        holder.communicate()


def test_data_that_changed_since_the_start(run: Path, tmp_path: Path) -> None:
    task = make_task(tmp_path / "task", y=["yes" if number % 2 else "no" for number in range(100)])
    config = run / "config.toml"
    lines = [
        f'task = "{task}"' if line.startswith("task =") else line
        for line in config.read_text().splitlines()
    ]
    config.write_text("\n".join(lines) + "\n")
    refuses(aide("resume", run, "--steps", "3", cwd=run, env=GUESSING), "data")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["show", "nowhere"], ["nowhere"]),
        (["show", "."], ["not a run"]),
        (["resume", "nowhere"], ["nowhere"]),
        (["grade", "nowhere"], ["nowhere"]),
    ],
)
def test_no_run_there(tmp_path: Path, args: list[str], words: list[str]) -> None:
    refuses(aide(*args, cwd=tmp_path), *words)


def test_no_such_node(run: Path) -> None:
    refuses(aide("diff", run, "99", cwd=run), "99", "1 to 2")


def test_no_labels_to_grade_with(run: Path) -> None:
    refuses(aide("grade", run, cwd=run), "--labels")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The kernel lets files grow to a size that some write of the run has to exceed."""
    task = make_task(tmp_path / "task")
    out = tmp_path / "run"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, resource.RLIM_INFINITY))

    env = {**GUESSING, "PYTHONDONTWRITEBYTECODE": "1"}
    done = aide(
        "run", task, "--steps", "20", "--out", out, cwd=tmp_path, env=env, preexec_fn=small_files
    )
    refuses(done, "could not be written", "resume")
    kept = (out / "journal.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    resumed = aide("resume", out, "--json", cwd=tmp_path, env=GUESSING)
    assert resumed.returncode == 0, resumed.stderr
    assert '"nodes": 20' in resumed.stdout
    assert (out / "journal.jsonl").read_bytes().startswith(kept)
