"""The server's start and end."""

from __future__ import annotations

from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from aide.errors import UnavailableError
from tests.local_model.conftest import chosen
from tests.local_model.fetch import fetch
from tests.local_model.opt_in import OPT_IN
from tests.local_model.serve import served

pytestmark = OPT_IN


def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"no model" * 1000)
    with (
        pytest.raises(UnavailableError, match="did not load it") as caught,
        served(model, tmp_path / "log"),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_the_server_ends_with_its_block(tmp_path: Path) -> None:
    with (
        served(fetch(chosen()), tmp_path / "log") as address,
        urlopen(f"{address}/health") as answer,
    ):
        assert answer.status == 200
    with pytest.raises(URLError, match="refused"):
        urlopen(f"{address}/health")
