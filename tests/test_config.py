"""The configuration: three sources in rising order, unknown keys refused by name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from aide.config import Config, load_config, read_config
from aide.errors import ConfigError


def test_the_command_line_wins_over_the_environment_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "aide.toml"
    file.write_text('task = "a"\nsteps = 1\nseed = 1\ndrafts = 1\n')
    environ = {"AIDE_SEED": "2", "AIDE_DRAFTS": "2", "AIDE_CACHE": "/x", "PATH": "/bin"}
    config = load_config({"drafts": 3, "model": None}, file=file, environ=environ)
    assert (config.task, config.steps, config.seed, config.drafts) == ("a", 1, 2, 3)
    assert config.model == "offline"


def test_packages_come_as_a_list_from_the_environment() -> None:
    config = load_config({"task": "a"}, environ={"AIDE_PACKAGES": "xgboost,torch==2.9"})
    assert config.packages == ("xgboost", "torch==2.9")


@pytest.mark.parametrize(
    ("given", "environ", "says"),
    [
        ({"steps": 0}, {}, "steps = 0 in the command line.*greater than or equal to 1"),
        ({"hours": -1.0}, {}, "hours = -1.0 in the command line"),
        ({"debug_prob": 1.5}, {}, "debug_prob = 1.5"),
        ({}, {"AIDE_STEP": "3"}, "unknown setting 'step' in the environment.*steps"),
        ({}, {"AIDE_STEPS": "many"}, "steps = 'many' in the environment"),
        ({"task": None}, {}, "'task' is missing"),
    ],
)
def test_a_bad_setting_is_named_with_its_source(
    given: dict[str, Any], environ: dict[str, str], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        load_config({"task": "a", **given}, environ=environ)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"task = 'a'\nstepz = 3\n", "unknown setting 'stepz' in .*aide.toml"),
        (b"task = ", "not valid TOML"),
        (b"\xff\xfe", "not valid TOML"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes | None, says: str) -> None:
    file = tmp_path / "aide.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=says):
        load_config({}, file=file, environ={})


def test_a_kept_configuration_reads_back_the_same(tmp_path: Path) -> None:
    config = Config(task="a", hours=0.5, out=tmp_path, packages=("x",), goal='two\nlines "q"')
    (tmp_path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    assert read_config(tmp_path / "config.toml") == config
    assert read_config(tmp_path / "config.toml", {"steps": 9}).steps == 9
    with pytest.raises(ConfigError, match="steps = 0 in the command line"):
        read_config(tmp_path / "config.toml", {"steps": 0})
    assert "metric" not in tomllib.loads(config.to_toml())
