"""The marks of the tests that ask a real model."""

from __future__ import annotations

import os

import pytest

from tests.local_model.conftest import WHICH

OPT_IN = [
    pytest.mark.llm,
    pytest.mark.skipif(
        WHICH not in os.environ,
        reason=f"downloads and asks a real model, for many minutes; set {WHICH}=0.5b or 1.5b",
    ),
]
