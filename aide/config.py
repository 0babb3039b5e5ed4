"""The one configuration of a run: a TOML file, the environment, the command line, rising."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aide.errors import ConfigError

PREFIX = "AIDE_"
NOT_SETTINGS = ("AIDE_CACHE", "AIDE_TEST_")
"""Variables with the prefix that are not settings of a run."""


class Config(BaseModel):
    """Everything that a run depends on; frozen, and kept as config.toml in the run's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(description="a bundled task's name, or the folder of your own")
    goal: str | None = Field(None, description="the task in words, instead of description.md")
    metric: str | None = Field(None, description="the metric's name")
    target: str | None = Field(None, description="the target column")
    id: str | None = Field(None, description="the id column")
    group: str | None = Field(None, description="rows alike in this column stay together")
    time: str | None = Field(None, description="the column to split by time with")
    split: str | None = Field(None, description="random, stratified, group or time")

    steps: int = Field(25, ge=1, description="how many solutions to try")
    hours: float | None = Field(None, gt=0, description="wall time for the whole run")
    seed: int = Field(0, ge=0, description="of every random choice")
    parallel: int = Field(1, ge=1, description="solutions running at once")
    ahead: int | None = Field(
        None,
        ge=0,
        description="solutions written ahead of those; by default as many, for one none",
    )
    out: Path | None = Field(None, description="the run's folder")

    model: str = Field("offline", description="what writes the solutions")
    models: dict[str, str] = Field({}, description="another model for an operator, by its name")
    fallback: str | None = Field(None, description="the model to ask while the first is out")
    effort: str | None = Field(None, description="how hard a reasoning model is to think")
    reply_tokens: int = Field(8192, ge=256, description="the longest answer, in tokens")
    call_seconds: float = Field(600, gt=0, description="wall time of one model call")
    outage_hours: float = Field(
        3, ge=0, description="how long to wait for a model or a sandbox that is out"
    )
    usd: float | None = Field(None, gt=0, description="money for all model calls, a hard cap")
    tokens: int | None = Field(None, ge=1, description="tokens for all model calls, a hard cap")
    prices: Path | None = Field(None, description="a TOML file of prices")
    prompt_tokens: int = Field(28_000, ge=2000, description="the largest prompt, in tokens")
    memory: Literal["scoped", "none"] = Field(
        "scoped", description="whether operators see earlier results"
    )
    cue: bool = Field(True, description="ask for more as children accumulate")
    advice_every: int = Field(0, ge=0, description="nodes between two advices of a model; 0: none")
    scratch: int = Field(0, ge=0, description="snippets a model may run before it answers")

    policy: str = Field("greedy", description="what chooses the next node")
    drafts: int = Field(5, ge=1, description="first solutions before anything is improved")
    debug_prob: float = Field(0.5, ge=0, le=1, description="chance of debugging, if it can be")
    max_debug_depth: int = Field(3, ge=0, description="debug steps in a row")
    merge_prob: float = Field(0.1, ge=0, le=1, description="chance of a merge, if it can be")

    sandbox: str = Field("auto", description="auto, docker, bubblewrap or process")
    image: str = Field("auto", description="Docker image: auto, mirror or a name")
    python: Path | None = Field(None, description="run solutions with this interpreter")
    packages: tuple[str, ...] = Field((), description="more packages for the solutions")
    dask: str | None = Field(None, description="the address of a Dask scheduler to run them by")
    warm: bool = Field(True, description="start sandboxes ahead, with the usual libraries loaded")
    smoke: bool = Field(True, description="try each solution on a few rows first")
    run_seconds: float | None = Field(None, gt=0, description="wall time of one solution")
    memory_mb: int = Field(4096, ge=64, description="memory of one solution, MiB")
    cpus: float = Field(1.0, gt=0, description="processors of one solution")
    pids: int = Field(256, ge=8, description="processes and threads of one solution")
    disk_mb: int = Field(1024, ge=8, description="files of one solution, MiB")
    gpus: int = Field(0, ge=0, description="GPUs of one solution, its own while it runs")

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def load_config(
    given: Mapping[str, Any], *, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """The configuration out of its three sources.

    Args:
        given: settings of the command line or the call; None means not given.
        file: a TOML file.
        environ: where `AIDE_STEPS` and the like are looked up; the process's own by default.

    Raises:
        ConfigError: a setting is unknown or out of range; names it and where it came from.
    """
    sources: dict[str, str] = {}
    merged: dict[str, Any] = {}
    layers = [
        (_from_file(file), str(file)),
        (_from_environment(os.environ if environ is None else environ), "the environment"),
        ({key: value for key, value in given.items() if value is not None}, "the command line"),
    ]
    for settings, source in layers:
        models = _both(merged.get("models"), settings.get("models"))
        merged.update(settings | ({"models": models} if models else {}))
        sources.update(dict.fromkeys(settings, source))
    return _validated(merged, sources)


def read_config(path: Path, changes: Mapping[str, Any] | None = None) -> Config:
    """The configuration kept in a run's folder.

    Args:
        path: the file.
        changes: settings of the command line or the call that are to differ from the file's.

    Raises:
        ConfigError: it is missing, damaged or of another version, or a change cannot be used.
    """
    settings, given = _from_file(path), dict(changes or {})
    sources = dict.fromkeys(settings, str(path)) | dict.fromkeys(given, "the command line")
    return _validated(settings | given, sources)


def _validated(settings: Mapping[str, Any], sources: Mapping[str, str]) -> Config:
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "missing":
            raise ConfigError(f"the setting {name!r} is missing") from error
        source = sources.get(name, "the defaults")
        if first["type"] == "extra_forbidden":
            known = ", ".join(Config.model_fields)
            raise ConfigError(
                f"unknown setting {name!r} in {source}; the settings are: {known}"
            ) from error
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise ConfigError(
            f"{name} = {first['input']!r} in {source} cannot be used: {reason}"
        ) from error


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the configuration {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration {file} is not valid TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and not variable.startswith(NOT_SETTINGS):
            name = variable.removeprefix(PREFIX).lower()
            settings[name] = _parsed(name, text)
    return settings


def _parsed(name: str, text: str) -> object:
    """A variable's text as its setting has it: lists and tables are written with commas."""
    if name == "packages":
        return text.split(",")
    if name == "models":
        return dict(pair.partition("=")[::2] for pair in text.split(","))
    return text


def _both(first: object, second: object) -> object:
    """Two tables in one; what is no table is left to be refused."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {**first, **second}
    return second or first
