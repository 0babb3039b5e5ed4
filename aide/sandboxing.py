"""From a run's settings to the sandbox that its solutions run in."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aide.config import Config
from aide.interfaces import Sandbox
from aide.registry import find
from aide.sandboxes import make_sandbox
from aide.sandboxes.dask import dask_sandbox
from aide.sandboxes.environment import DEFAULT_PACKAGES

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def open_sandbox(config: Config, offline: bool, client: Client | None) -> Iterator[Sandbox]:
    """The sandbox of a run, closed in the end.

    Args:
        config: the run's settings.
        offline: True if our own rule-based author writes all of its programs.
        client: a Dask client whose workers are to run them.

    Raises:
        UnavailableError: it cannot be had here; says what to do.
    """
    sandbox = _open(config, offline, client)
    try:
        yield sandbox
    finally:
        sandbox.close()


def _open(config: Config, offline: bool, client: Client | None) -> Sandbox:
    sandbox: Sandbox
    if ":" in config.sandbox:
        sandbox = find("sandbox", config.sandbox, {})()
        return sandbox
    target = client or config.dask
    if target is not None:
        return dask_sandbox(target, kind=config.sandbox, **_settings(config, offline))
    return make_sandbox(config.sandbox, **_settings(config, offline))


def _settings(config: Config, offline: bool) -> dict[str, Any]:
    return {
        "run_id": secrets.token_hex(4),
        "packages": (*DEFAULT_PACKAGES, *config.packages),
        "image": config.image,
        "python": config.python,
        "offline_author": offline,
        "warm": config.warm,
    }
