"""The Docker engine as tests see it: needed, skipped without, and searched for what is left."""

from __future__ import annotations

import os
import time

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
    while (found := _containers()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _containers() -> list[str]:
    me = Owner.me()
    client = docker.from_env(timeout=20)
    try:
        found = client.containers.list(all=True, filters={"label": "aide.run"})
        owners = {c.name: Owner.parse(c.labels["aide.owner"]) for c in found}
        return sorted(n for n, o in owners.items() if o is None or o == me or o.is_dead(me))
    finally:
        client.close()
