"""What the README shows is run: its commands, its Python, its files."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.tasks.load import load
from benchmarks.loopback import Loopback
from tests.author import REPLY
from tests.commands import FAST, GUESSING
from tests.test_bad_input import make_task

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


def environment(folder: Path) -> dict[str, str]:
    """The README's commands with few steps, found by name, with plain processes for sandboxes."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, **FAST, **GUESSING, "PATH": path, "AIDE_STEPS": "3", "HOME": str(folder)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    task = make_task(folder / "house-prices", y=[100 + number % 13 for number in range(100)])
    text = (task / "train.csv").read_text().replace("id,x,y", "Id,x,SalePrice", 1)
    (task / "train.csv").write_text(text)
    (task / "task.toml").unlink()
    return folder


@pytest.fixture(scope="module")
def service(place: Path) -> Iterator[dict[str, str]]:
    """The variables by which a command meets a service on this machine instead of a hosted one."""
    seeds = itertools.count()
    prices = place / "prices.toml"
    prices.write_text('["anthropic:*"]\ninput = 1\noutput = 2\n')
    with Loopback(lambda request: REPLY.format(seed=next(seeds))) as loopback:
        yield {
            "ANTHROPIC_API_KEY": "x",
            "ANTHROPIC_BASE_URL": loopback.anthropic_url,
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": loopback.openai_url,
            "AIDE_PRICES": str(prices),
        }


@pytest.mark.slow
@pytest.mark.xdist_group("sdk")
def test_the_commands(place: Path, service: dict[str, str]) -> None:
    commands = [
        line.removeprefix("$ ")
        for text in blocks("console")
        for line in text.splitlines()
        if line.startswith("$ ")
    ]
    assert len(commands) >= 6
    for command in commands:
        command = command.replace("http://127.0.0.1:8080/v1", service["OPENAI_BASE_URL"])
        words = [word for word in shlex.split(command) if word not in ("--steps", "10")]
        done = subprocess.run(
            words,
            cwd=place,
            env={
                **environment(place),
                **service,
                "AIDE_CACHE": os.environ.get("AIDE_CACHE", cache()),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert done.stdout.strip(), command
        if "--model" in words:
            assert "model calls: " in done.stdout


def cache() -> str:
    """The machine's own cache: the README's HOME is a folder of the test's."""
    return str(Path.home() / ".cache" / "aide-search")


def test_the_python(tmp_path: Path) -> None:
    [program] = blocks("python")[1:] or blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **FAST},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "submission.csv" in done.stdout


def test_the_task_files(place: Path) -> None:
    folder = place / "house-prices"
    [settings] = blocks("toml")
    (folder / "task.toml").write_text(settings)
    info = load(str(folder)).info
    assert (info.name, info.metric, info.target) == ("house-prices", "rmsle", "SalePrice")
    grader = blocks("python")[0]
    (folder / "grade.py").write_text(grader.replace('"y"', '"SalePrice"'))
    lines = [line for line in settings.splitlines() if "metric" not in line]
    (folder / "task.toml").write_text("\n".join([*lines, "maximize = false"]))
    assert load(str(folder)).info.metric == "grade.py"


def test_every_command_of_the_readme_and_the_makefile_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_every_path_that_is_named_exists() -> None:
    for name in re.findall(r"`((?:aide|operators|sandboxes|tasks|tests|docs)/[\w/.]+)`", README):
        assert (ROOT / name).exists(), name
