"""The command line as a user meets it: real processes, real exit statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands import AIDE, FAST, GUESSING, aide
from tests.test_bad_input import make_task


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seven steps."""
    folder = tmp_path_factory.mktemp("cli")
    args = ("run", "titanic", "--steps", "7", "--out", folder / "run", "--json")
    done = aide(*args, cwd=folder, env=GUESSING)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_run_ends_with_one_json_line(tmp_path: Path) -> None:
    done = aide("run", "titanic", "--steps", "4", "--json", cwd=tmp_path, env=GUESSING)
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    summary = json.loads(line)
    assert list(summary) == [
        "run", "task", "metric", "maximize", "best", "final", "nodes", "working", "submission",
        "seconds", "usd", "tokens_in", "tokens_out",
    ]  # fmt: skip
    assert summary["run"] == str(tmp_path / "runs" / "titanic-1")
    assert (summary["task"], summary["metric"], summary["maximize"]) == (
        "titanic",
        "accuracy",
        True,
    )
    assert list(summary["best"]) == ["node", "operator", "score", "se"]
    assert summary["nodes"] == 4
    assert Path(summary["submission"]).is_file()
    assert 0 < summary["final"] < 1


def test_a_run_goes_on_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "titanic").mkdir()
    make_task(tmp_path / "mine")
    for task in ("titanic", "mine"):
        out = tmp_path / f"{task}-run"
        args = ("run", task, "--steps", "1", "--out", out)
        assert aide(*args, cwd=tmp_path, env=GUESSING).returncode in (0, 1)
        done = aide("resume", out, "--steps", "2", cwd=Path("/"), env=GUESSING)
        assert done.returncode in (0, 1), done.stderr
        assert "2 solutions" in done.stdout


def test_nothing_is_printed_while_it_works_off_a_terminal(tmp_path: Path) -> None:
    done = aide("run", "titanic", "--steps", "1", "--json", cwd=tmp_path, env=GUESSING)
    assert "\x1b" not in done.stdout + done.stderr
    assert "node 1" not in done.stderr


def test_show_best_diff_and_grade(run: Path, tmp_path: Path) -> None:
    shown = json.loads(aide("show", run, "--json", cwd=tmp_path).stdout)
    assert [node["node"] for node in shown["nodes"]] == [1, 2, 3, 4, 5, 6, 7]
    tree = aide("show", run, cwd=tmp_path).stdout
    table = aide("show", run, "--table", cwd=tmp_path).stdout
    for node in shown["nodes"]:
        assert f"{node['node']} {node['operator']}" in tree
        assert node["plan"][:20] in table
    best = shown["best"]["node"]
    code = aide("best", run, "--code", cwd=tmp_path).stdout
    assert code.strip() == shown["nodes"][best - 1]["code"].strip()
    assert f"node {best}" in aide("best", run, cwd=tmp_path).stdout
    changed = next(node for node in shown["nodes"] if node["parents"] and node["code"])
    diff = aide("diff", run, str(changed["node"]), cwd=tmp_path)
    assert diff.stdout.startswith("diff --git a/solution.py b/solution.py")
    graded = json.loads(aide("grade", run, "--json", cwd=tmp_path).stdout)
    assert list(graded) == ["test", "rows"]
    assert 0.3 < graded["test"] < 0.7


def test_the_folder_holds_what_the_readme_says(run: Path) -> None:
    names = {path.name for path in run.iterdir() if not path.name.startswith(".")}
    assert names >= {
        "best", "report.md", "solutions", "journal.jsonl", "calls.jsonl", "nodes", "config.toml"
    }  # fmt: skip
    report = (run / "report.md").read_text()
    assert "final holdout, scored once" in report
    assert "± nan" not in report
    assert "{" not in report


def test_resume_with_more_steps_goes_on(run: Path, tmp_path: Path) -> None:
    before = (run / "journal.jsonl").read_bytes()
    done = aide("resume", run, "--steps", "9", "--json", cwd=tmp_path, env=GUESSING)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["nodes"] == 9
    assert (run / "journal.jsonl").read_bytes().startswith(before)
    again = aide("resume", run, "--json", cwd=tmp_path, env=GUESSING)
    assert json.loads(again.stdout)["nodes"] == 9


@pytest.mark.parametrize(
    "signs", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)]
)
def test_a_signal_stops_cleanly_and_the_run_goes_on_later(
    tmp_path: Path, signs: tuple[int, ...]
) -> None:
    out = tmp_path / "run"
    process = subprocess.Popen(
        [*AIDE, "run", "titanic", "--steps", "12", "--out", str(out)],
        env={**os.environ, **FAST, **GUESSING},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # The second signal may cut off what is done for the newest node.
    wait_for(lambda: journal(out).count('"finished"') >= 4)
    for sign in signs:
        process.send_signal(sign)
        time.sleep(0.02)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    finished = journal(out).count('"finished"')
    assert 4 <= finished < 12
    if len(signs) == 1:
        assert '"reason": "interrupted"' in journal(out)
        assert (out / "report.md").is_file()
    assert (out / "best" / "submission.csv").is_file()
    done = aide("resume", out, "--json", cwd=tmp_path, env=GUESSING)
    assert json.loads(done.stdout)["nodes"] == 12


def journal(out: Path) -> str:
    path = out / "journal.jsonl"
    return path.read_text() if path.exists() else ""


def wait_for(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_help_names_every_command_and_is_quick(tmp_path: Path) -> None:
    done = aide("--help", cwd=tmp_path)
    for command in ("run", "resume", "show", "best", "diff", "grade", "tasks", "doctor"):
        assert f"\n  {command} " in done.stdout
        text = aide(command, "--help", cwd=tmp_path).stdout
        assert "Usage: " in text
        if command not in ("tasks", "doctor"):
            assert f"aide {command} " in text, "the help has an example"


def test_tasks_and_doctor(tmp_path: Path) -> None:
    listed = aide("tasks", cwd=tmp_path)
    for name in ("titanic", "ames", "digits", "bikeshare"):
        assert f"\n{name} " in "\n" + listed.stdout
    doctor = aide("doctor", cwd=tmp_path)
    assert doctor.returncode == 0, doctor.stdout
    for what in ("python", "aideml", "git", "cache", "docker", "bubblewrap", "process"):
        assert f"\n{what} " in "\n" + doctor.stdout


def test_doctor_notices_aideml(tmp_path: Path) -> None:
    info = tmp_path / "site" / "aideml-0.2.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: aideml\nVersion: 0.2.2\n")
    doctor = aide("doctor", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})
    assert doctor.returncode == 1
    assert "aideml       PROBLEM  version 0.2.2 is installed" in doctor.stdout
