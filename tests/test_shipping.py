"""Views that travel: the same hash and bytes each time, and nothing damaged is ever kept."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aide.errors import UnavailableError
from aide.sandboxes.shipping import ViewStore, content_hash, pack


@pytest.fixture
def view(tmp_path: Path) -> Path:
    folder = tmp_path / "view"
    (folder / "images" / "none").mkdir(parents=True)
    (folder / "train.csv").write_text("id,y\n1,0\n")
    (folder / "images" / "1.png").write_bytes(bytes(range(256)) * 100)
    os.link(folder / "train.csv", folder / "twin.csv")
    (folder / "link.csv").symlink_to(folder / "train.csv")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> ViewStore:
    return ViewStore(cache(tmp_path))


def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(exist_ok=True)
    return folder


def packed(view: Path) -> list[bytes]:
    pieces: list[bytes] = []
    pack(view, pieces.append)
    return pieces


def send(store: ViewStore, view: Path, name: str = "one") -> bool:
    for piece in packed(view):
        store.add(name, piece)
    return store.settle(name, content_hash(view))


def test_a_view_arrives_whole_and_cannot_be_written(view: Path, store: ViewStore) -> None:
    assert store.find(content_hash(view)) is None
    assert send(store, view)
    found = store.find(content_hash(view))
    assert found is not None
    assert content_hash(found) == content_hash(view)
    assert (found / "link.csv").read_text() == "id,y\n1,0\n"
    assert not (found / "link.csv").is_symlink()
    assert (found / "images" / "none").is_dir()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (found, *found.rglob("*"))}
    assert modes == {0o444, 0o555}
    assert [path.name for path in found.parent.iterdir() if path.name != ".lock"] == [found.name]


def test_hash_and_bytes_are_of_names_and_contents_alone(view: Path) -> None:
    before, pieces = content_hash(view), packed(view)
    os.utime(view / "train.csv", (1, 1))
    (view / "train.csv").chmod(0o600)
    assert (content_hash(view), packed(view)) == (before, pieces)
    hashes = {before}
    (view / "train.csv").write_text("id,y\n1,1\n")
    hashes.add(content_hash(view))
    (view / "images" / "1.png").rename(view / "images" / "2.png")
    hashes.add(content_hash(view))
    (view / "empty").mkdir()
    hashes.add(content_hash(view))
    assert len(hashes) == 4


def test_half_a_view_or_another_one_is_not_kept(view: Path, store: ViewStore) -> None:
    digest, whole = content_hash(view), b"".join(packed(view))
    store.add("half", whole[: len(whole) // 2])
    assert not store.settle("half", digest)
    flipped = bytearray(whole)
    flipped[whole.index(bytes(range(256)))] ^= 1
    store.add("flipped", bytes(flipped))
    assert not store.settle("flipped", digest)
    assert not store.settle("never sent", digest)
    assert store.find(digest) is None


def test_a_view_that_was_changed_is_noticed_and_replaced(view: Path, tmp_path: Path) -> None:
    digest = content_hash(view)
    assert send(ViewStore(cache(tmp_path)), view)
    later = ViewStore(cache(tmp_path))
    place = later.find(digest)
    assert place is not None
    for damage in (b"id,y\n1,1\n", b""):
        (place / "train.csv").chmod(0o644)
        (place / "train.csv").write_bytes(damage)
        assert later.find(digest) is None
        assert ViewStore(cache(tmp_path)).find(digest) is None
        assert send(later, view)
        assert later.find(digest) == place
        assert (place / "train.csv").read_text() == "id,y\n1,0\n"


def test_workers_of_one_machine_may_unpack_the_same_view_at_once(
    view: Path, tmp_path: Path
) -> None:
    stores = [ViewStore(cache(tmp_path)) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(lambda pair: send(pair[1], view, f"p{pair[0]}"), enumerate(stores)))
    assert kept == [True] * 4
    assert all(store.find(content_hash(view)) for store in stores)


def test_what_a_dead_process_was_sent_is_removed(tmp_path: Path) -> None:
    left = cache(tmp_path) / f"aide-{2**22 + 1}.1.{Path('/proc/self/ns/pid').stat().st_ino}-x"
    left.mkdir()
    ViewStore(cache(tmp_path))
    assert not left.exists()


def test_a_view_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="absent does not exist"):
        content_hash(tmp_path / "absent")
