"""The public names."""

from __future__ import annotations

import importlib

import pytest

import aide


def test_the_public_names_are_sorted_and_there() -> None:
    assert aide.__all__ == sorted(aide.__all__)
    for name in aide.__all__:
        assert getattr(aide, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = aide.nothing


@pytest.mark.parametrize("module", ["aide.interfaces"])
def test_exports_are_sorted_and_there(module: str) -> None:
    names = importlib.import_module(module).__all__
    assert list(names) == sorted(names)
    assert all(hasattr(importlib.import_module(module), name) for name in names)
