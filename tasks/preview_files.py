"""Lists the files of a folder that are not its main tables, as a short tree with sizes."""

from __future__ import annotations

import json
import os
import struct
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from aide.tasks.preview_columns import oneline
from aide.tasks.preview_table import read_table

_DEPTH = 3
_SHOWN = 8
_ALIKE = 4
_WALKED = 50_000
_HEADER = 65_536
_JSON_BYTES = 2_000_000
_TABLES = frozenset({".csv", ".tsv"})
_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".bmp"})


def other_files(folder: Path, known: frozenset[str], room: int) -> list[str]:
    """Lines on a folder's files, at most `room` characters in all.

    Args:
        folder: the folder.
        known: names at its top that are described elsewhere.
        room: the most characters, line ends included.
    """
    lines: list[str] = []
    for line in _tree(folder, known, 0):
        if sum(map(len, lines)) + len(lines) + len(line) > room - 10:
            return [*lines, "- ..."] if room > 10 else lines
        lines.append(line)
    return lines


def _tree(folder: Path, known: frozenset[str], depth: int) -> Iterator[str]:
    indent = "  " * depth
    files, folders, more = _entries(folder, known)
    by_kind: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        by_kind[path.suffix.lower()].append(path)
    # Many files of one kind are one line: their number says more than their names.
    for suffix, paths in islice(sorted(by_kind.items()), _SHOWN):
        if len(paths) > _ALIKE:
            yield f"{indent}- {len(paths)} {oneline(suffix, 20) or 'other'} files, {_alike(paths)}"
        else:
            yield from (f"{indent}- {_one(path)}" for path in paths)
    if len(by_kind) > _SHOWN:
        yield f"{indent}- files of {len(by_kind) - _SHOWN} more kinds"
    for path in folders[:_SHOWN]:
        yield f"{indent}- {oneline(path.name, 60)}/: {_summary(path)}"
        if depth + 1 < _DEPTH:
            yield from _tree(path, frozenset(), depth + 1)
    if len(folders) > _SHOWN:
        yield f"{indent}- ... and {len(folders) - _SHOWN} more folders"
    if more:
        yield f"{indent}- ... and more: only {_WALKED} entries were looked at"


def _entries(folder: Path, known: frozenset[str]) -> tuple[list[Path], list[Path], bool]:
    """Files and folders by name, and whether there are more than were looked at.

    Links are not followed; pipes and devices are left out.
    """
    files: list[Path] = []
    folders: list[Path] = []
    more = False
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _WALKED):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False) and entry.name not in known:
                    files.append(Path(entry.path))
            more = next(entries, None) is not None
    except OSError:
        return [], [], False
    return sorted(files), sorted(folders), more


def _summary(folder: Path) -> str:
    count = total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            count += 1
            total += _size(Path(root, name))
            if count >= _WALKED:
                return f"more than {count} files"
    return f"{count} file{'s' * (count != 1)}, {_bytes(total)}"


def _alike(paths: list[Path]) -> str:
    total = _bytes(sum(map(_size, paths)))
    if paths[0].suffix.lower() not in _IMAGES:
        return f"{total}, such as {oneline(paths[0].name, 60)}"
    some = paths[:: max(1, len(paths) // 3)][:3]
    shown = [oneline(path.name, 40) + f" ({_image_size(path)})" for path in some]
    return f"{total}, such as {', '.join(shown)}"


def _one(path: Path) -> str:
    suffix = path.suffix.lower()
    about = ""
    if suffix in _IMAGES:
        about = _image_size(path)
    elif suffix in _TABLES:
        about = _table(path)
    elif suffix in (".json", ".jsonl", ".ndjson"):
        about = _json(path, lines=suffix != ".json")
    return f"{oneline(path.name, 60)}: {_bytes(_size(path))}" + (f", {about}" if about else "")


def _table(path: Path) -> str:
    try:
        table = read_table(path)
    except OSError:
        return "not readable"
    except ValueError as error:
        return str(error)
    names = [str(name) for name in table.sample.columns]
    about = "" if table.exact else "about "
    return f"{about}{table.rows} rows, {len(names)} columns: {oneline(', '.join(names), 200)}"


def _json(path: Path, lines: bool) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_JSON_BYTES + 1)
        text = data[:_JSON_BYTES].decode("utf-8-sig", errors="replace")
        whole = len(data) <= _JSON_BYTES
        if lines:
            rows = [row for row in text.split("\n")[: None if whole else -1] if row.strip()]
            about = f"{len(rows)}" if whole else f"about {len(rows) * _size(path) // len(data)}"
            return f"JSON lines, {about} rows" + _keys([json.loads(row) for row in rows[:50]])
        if not whole:
            return "JSON"
        value = json.loads(text)
    except OSError:
        return "not readable"
    except (ValueError, RecursionError):
        return "not valid JSON"
    if isinstance(value, list):
        return f"JSON, a list of {len(value)}" + _keys(value[:50])
    return "JSON, an object" + _keys([value]) if isinstance(value, dict) else "JSON, one value"


def _keys(values: list[Any]) -> str:
    """The keys of a few JSON objects with the types of their values."""
    types: dict[str, set[str]] = defaultdict(set)
    for value in values:
        if isinstance(value, dict):
            for key, item in value.items():
                types[key].add("null" if item is None else type(item).__name__)
    shown = [f"{oneline(key, 40)} ({'/'.join(sorted(kinds))})" for key, kinds in types.items()]
    more = f", and {len(shown) - 12} more" if len(shown) > 12 else ""
    return f", keys {', '.join(shown[:12])}{more}" if shown else ""


def _image_size(path: Path) -> str:
    """Width x height in pixels from the file's header, or what is wrong with it."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER)
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", head[16:24])
        elif head[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", head[6:10])
        elif head.startswith(b"BM"):
            width, height = struct.unpack("<ii", head[18:26])
        elif head.startswith(b"\xff\xd8"):
            width, height = _jpeg_size(head)
        else:
            return "not an image"
    except OSError:
        return "not readable"
    except struct.error:
        return "size unknown"
    return f"{width}x{abs(height)}"


def _jpeg_size(head: bytes) -> tuple[int, int]:
    """Width and height from the first frame header of a JPEG file.

    Raises:
        struct.error: there is none in what was read.
    """
    place = 2
    while True:
        marker, length = struct.unpack(">HH", head[place : place + 4])
        # Frame headers are C0 to CF, without the tables C4, C8 and CC.
        if 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack(">HH", head[place + 5 : place + 9])
            return width, height
        place += 2 + length


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
