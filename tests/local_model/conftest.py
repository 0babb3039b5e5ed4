"""The real model, served once for all tests that ask it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from aide.errors import ConfigError
from tests.local_model.fetch import WEIGHTS, Weights, fetch
from tests.local_model.serve import served

WHICH = "AIDE_TEST_LLM"
THREADS = "AIDE_TEST_LLM_THREADS"


def chosen() -> Weights:
    """The weights that the environment names; the small ones for "1".

    Raises:
        ConfigError: there are no such weights.
    """
    name = os.environ[WHICH].lower()
    weights = WEIGHTS.get("0.5b" if name == "1" else name)
    if weights is None:
        raise ConfigError(f"{WHICH} = {name!r} names no model; give {' or '.join(WEIGHTS)}")
    return weights


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server, without a path; it ends with the tests."""
    log = tmp_path_factory.mktemp("server") / "log"
    threads = int(os.environ.get(THREADS, "1"))
    with served(fetch(chosen()), log, threads=threads) as url:
        yield url
