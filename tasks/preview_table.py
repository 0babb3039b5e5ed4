"""Reads enough of a CSV file to describe it: the whole of a small one, parts of a big one."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pandas as pd

_WHOLE = 6_000_000
_PART = 200_000
_PARTS = 10
_COUNTED = 2_000_000_000
_MAX_CELLS = 800_000
_BLOCK = 1 << 20
_LEADING = re.compile(r"\A(\s*\n)+")
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file as far as it was read.

    Attributes:
        rows: how many data rows it has.
        exact: False if the number of rows is an estimate.
        long: how many of the rows read have too many cells.
        encoding, separator: as found, such as "utf-8" and ",".
        sample: rows as pandas reads them: all of them, or the first ones and evenly spaced parts.
        head: the header and the first three rows, as text.
    """

    rows: int
    exact: bool
    long: int
    encoding: str
    separator: str
    sample: pd.DataFrame
    head: list[list[str]]


def read_table(path: Path) -> Table:
    """Read a CSV file, or parts of it if it is big; memory is bounded whatever its size.

    Raises:
        ValueError: it is empty or no CSV; the message says which, in a word or two.
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_WHOLE)
    if not start.strip():
        raise ValueError("empty")
    encoding = _encoding(start)
    text = _LEADING.sub("", _decoded(start, encoding))
    separator = _separator(text)
    # Where cells hold line breaks, a line is not a row and a part cannot begin just anywhere.
    breaks = _breaks(text)
    whole = size <= _WHOLE
    if not whole:
        text = text[: text.rfind("\n") + 1] or text
        if encoding != "utf-16" and not breaks:
            text += _parts(path, size, encoding)
    step = 1 if breaks else _step(text, separator)
    sample = _parse(_thinned(text, step), separator)
    rows, long = _rows_in(text, separator, len(sample.columns))
    exact = whole
    if whole and step == 1 and len(sample) < _rows_allowed(text, separator):
        rows = len(sample)
    elif not whole:
        share = rows / max(1, len(text.encode(encoding, errors="replace")))
        rows, exact = _count(path, size, share, breaks or encoding == "utf-16")
    return Table(rows, exact, long, encoding, separator, sample, _head(text, separator))


def _encoding(start: bytes) -> str:
    for bom, name in _BOMS.items():
        if start.startswith(bom):
            return name
    if b"\0" in start[:8192]:
        raise ValueError("binary")
    try:
        # A character may be cut at the end of what was read: that is no fault.
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _decoded(data: bytes, encoding: str) -> str:
    text = data.decode(encoding, errors="replace").replace("\0", "")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _separator(text: str) -> str:
    """The separator that the header uses most; the comma if none is in it."""
    header = re.sub('"[^"]*"', "", text.lstrip().partition("\n")[0])
    return max(",;\t|", key=header.count)


def _breaks(text: str) -> bool:
    """True if some cell holds a line break, judged by quotes that a line leaves open."""
    return any(line.count('"') % 2 for line in io.StringIO(text))


def _parts(path: Path, size: int, encoding: str) -> str:
    """The whole lines of evenly spaced parts of what follows the file's beginning."""
    parts: list[str] = []
    with path.open("rb") as file:
        for part in range(_PARTS):
            file.seek(_WHOLE + max(0, size - _WHOLE - _PART) * part // (_PARTS - 1))
            lines = _decoded(file.read(_PART), encoding).split("\n")
            parts.extend(line + "\n" for line in lines[1:-1])
    return "".join(parts)


def _rows_allowed(text: str, separator: str) -> int:
    """How many rows bound the number of cells."""
    return max(20, _MAX_CELLS // (text.partition("\n")[0].count(separator) + 1))


def _step(text: str, separator: str) -> int:
    """Every which line to keep, so that the rows allowed are spread over the text."""
    return 1 + text.count("\n") // _rows_allowed(text, separator)


def _thinned(text: str, step: int) -> str:
    if step == 1:
        return text
    header, _, body = text.partition("\n")
    return header + "\n" + "".join(islice(io.StringIO(body), 0, None, step))


def _parse(text: str, separator: str) -> pd.DataFrame:
    """The text as a table as wide as its header: long rows are cut, short ones filled up."""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        try:
            header = next(csv.reader(io.StringIO(text), delimiter=separator, quoting=quoting))
            # Naming the columns keeps pandas from making an index of long rows' first cells.
            return pd.read_csv(
                io.StringIO(text),
                sep=separator,
                nrows=_rows_allowed(text, separator),
                usecols=range(len(header)),
                quoting=quoting,
                low_memory=False,
            )
        except (ValueError, OverflowError, csv.Error, StopIteration):
            continue
    raise ValueError("not readable as CSV")


def _rows_in(text: str, separator: str, width: int) -> tuple[int, int]:
    """The number of data rows in a text, and of those with too many cells."""
    rows, long = -1, 0
    try:
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            rows += bool(row)
            long += len(row) > width
    except csv.Error:
        return max(0, text.count("\n") - 1), 0
    return max(0, rows), long


def _count(path: Path, size: int, rows_per_byte: float, guess: bool) -> tuple[int, bool]:
    """The number of data rows of a big file, and whether it was counted."""
    if guess or size > _COUNTED:
        return round(size * rows_per_byte), False
    count, last = -1, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n"), True


def _head(text: str, separator: str) -> list[list[str]]:
    try:
        return list(islice(csv.reader(io.StringIO(text), delimiter=separator), 4))
    except csv.Error:
        return [line.rstrip("\n").split(separator) for line in islice(io.StringIO(text), 4)]
