"""The Docker engine as tests see it: needed, skipped without, and searched for what is left."""

from __future__ import annotations

import os
import time
from typing import Any

import docker
import pytest

from aide.sandboxes import probe
from aide.sandboxes.owner import Owner


def require_engine() -> None:
    """Skip the test where no engine answers; fail it where one has to."""
    works, says = next((ok, says) for name, ok, says in probe() if name == "docker")
    if not works:
        if os.environ.get("AIDE_TEST_REQUIRE_DOCKER"):
            pytest.fail(f"a Docker engine is required here: {says}")
        pytest.skip(says)  # a machine without an engine is a user's, never CI


def left_containers() -> list[str]:
    """The names of all containers, running or not, that this process or a dead one made.

    Those of a search that is at work beside the tests are nobody's business. An engine that is
    busy may take a while to remove one, so the answer is given when there is none, or after a
    while.
    """
    deadline = time.monotonic() + 20
    client = docker.from_env(timeout=20)
    try:
        while (found := _containers(client)) and time.monotonic() < deadline:
            time.sleep(0.5)
        return sorted(container.name for container in found if not _stuck(client, container))
    finally:
        client.close()


def _containers(client: Any) -> list[Any]:
    me = Owner.me()
    found = client.containers.list(all=True, filters={"label": "aide.run"}, ignore_removed=True)
    owners = [(c, Owner.parse(c.labels["aide.owner"])) for c in found]
    return [c for c, owner in owners if owner is None or owner == me or owner.is_dead(me)]


def _stuck(client: Any, container: Any) -> bool:
    """True if the engine has been told to remove it and hangs: its own fault, seen in 20.10."""
    try:
        client.api.remove_container(container.id, force=True)
    except docker.errors.APIError as error:
        return error.status_code in (404, 409)
    return False
