"""What the preview says of files that are not the main tables: images, JSON, folders, links."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from aide.tasks.preview import preview
from tests.test_preview import info


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + struct.pack(">I", zlib.crc32(header))


JPEG = (
    b"\xff\xd8\xff\xe0\0\x04xx\xff\xc0\0\x0b\x08" + struct.pack(">HH", 48, 64) + b"\x01\x01\x11\0"
)
IMAGES = {
    "a.png": (png(28, 30), "28x30"),
    "b.jpg": (JPEG, "64x48"),
    "c.gif": (b"GIF89a" + struct.pack("<HH", 5, 6), "5x6"),
    "d.bmp": (b"BM" + b"\0" * 16 + struct.pack("<ii", 7, -8), "7x8"),
    "e.png": (b"no image", "not an image"),
    "f.jpg": (b"\xff\xd8\xff", "size unknown"),
}


def test_images_are_measured(tmp_path: Path) -> None:
    for name, (data, _) in IMAGES.items():
        (tmp_path / name).write_bytes(data)
    text = preview(tmp_path, info())
    for name, (data, said) in IMAGES.items():
        assert f"- {name}: {len(data)} bytes, {said}" in text


def test_many_images_in_folders_are_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "day" / "night" / "deep" / "deeper"
    folder.mkdir(parents=True)
    for i in range(100):
        (tmp_path / "images" / f"{i}.png").write_bytes(png(28, 28))
    (folder / "lost.txt").write_text("x")
    text = preview(tmp_path, info())
    assert "- images/: 101 files, " in text
    assert "\n  - 100 .png files, 3.3 KB, such as 0.png (28x28), " in text
    assert "night/: 1 file, 1 bytes" in text
    assert "lost.txt" not in text


def test_json_files_show_keys_and_types(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "tags": ["x"]}\n{"id": null}\n' * 5)
    (tmp_path / "b.json").write_text('[{"k": 1.5}, {"k": "x"}]')
    (tmp_path / "c.json").write_text("[" * 100_000)
    text = preview(tmp_path, info())
    assert "- a.jsonl: 190 bytes, JSON lines, 10 rows, keys id (int/null), tags (list)" in text
    assert "JSON, a list of 2, keys k (float/str)" in text
    assert "- c.json: 100 KB, not valid JSON" in text


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text('{"password": 1}')
    inside = tmp_path / "input"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "link.json").symlink_to(outside / "secret.json")
    os.mkfifo(inside / "pipe.csv")
    text = preview(inside, info())
    assert "Other files" not in text
