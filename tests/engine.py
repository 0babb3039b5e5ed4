"""The Docker engine as tests see it: needed, skipped without, and searched for what is left."""

from __future__ import annotations

import os

import docker
import pytest

from aide.sandboxes import probe


def require_engine() -> None:
    """Skip the test where no engine answers; fail it where one has to."""
    works, says = next((ok, says) for name, ok, says in probe() if name == "docker")
    if not works:
        if os.environ.get("AIDE_TEST_REQUIRE_DOCKER"):
            pytest.fail(f"a Docker engine is required here: {says}")
        pytest.skip(says)


def our_containers() -> list[str]:
    """The names of all containers, running or not, that carry the project's label."""
    client = docker.from_env(timeout=20)
    try:
        found = client.containers.list(all=True, filters={"label": "aide.run"})
        return sorted(container.name for container in found)
    finally:
        client.close()
