"""CSV files read and written as text, row by row, so that no value is reformatted on the way.

Files may be large: nothing here holds more than one row, except what the caller keeps.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from aide.errors import AideError

BLOCK = 1 << 20
DELIMITERS = ",;\t|"
ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")
LONGEST_CELL = 1 << 28


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file whose header has been read.

    Attributes:
        path: the file, plain or gzipped.
        header: the column names, all different.
        encoding: of the text.
        delimiter: between the cells.
        fault: the error to raise for what is wrong in the file.
    """

    path: Path
    header: tuple[str, ...]
    encoding: str
    delimiter: str
    fault: type[AideError]

    def rows(self) -> Iterator[list[str]]:
        """The rows after the header, each with as many cells as the header; no blank lines.

        Raises:
            AideError: of the class `fault`: the file cannot be read, or a row is too long or
                too short.
        """
        name, width = self.path.name, len(self.header)
        try:
            with _open(self.path) as raw, _text(raw, self.encoding) as text:
                reader = csv.reader(text, delimiter=self.delimiter)
                next(_nonblank(reader))
                for row in _nonblank(reader):
                    if len(row) != width:
                        raise self.fault(
                            f"line {reader.line_num} of {name} has {len(row)} cells, but its "
                            f"header has {width}"
                        )
                    yield row
        except (OSError, EOFError, zlib.error, csv.Error) as error:
            raise self.fault(f"{name} cannot be read as CSV: {error}") from error

    def columns(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Some columns as lists of text, read in one pass."""
        places = [self.header.index(name) for name in names]
        lists: list[list[str]] = [[] for _ in names]
        for row in self.rows():
            for cells, place in zip(lists, places, strict=True):
                cells.append(row[place])
        return dict(zip(names, lists, strict=True))

    def count(self) -> int:
        """The number of rows."""
        return sum(1 for _ in self.rows())


def open_table(path: Path, fault: type[AideError]) -> Table:
    """Read a CSV file's header; find out its encoding and its delimiter.

    UTF-8 and UTF-16 (with a mark) are recognised, else it is read as cp1252 or latin-1. Of comma,
    semicolon, tab and bar, the delimiter is what divides the header the most.

    Raises:
        AideError: of the class `fault`: the file is missing, empty, not text, or its header has a
            name twice.
    """
    # The csv module's limit is one for the process; its default of 128 KiB is short for a text.
    csv.field_size_limit(LONGEST_CELL)
    name = path.name
    try:
        encoding = _encoding(path, fault)
        delimiter, header = _header(path, encoding, fault)
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise fault(f"{name} cannot be read as CSV: {reason}") from error
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise fault(f"the header of {name} has the column {twice[0]!r} twice")
    return Table(path, tuple(header), encoding, delimiter, fault)


def _header(path: Path, encoding: str, fault: type[AideError]) -> tuple[str, list[str]]:
    best: tuple[str, list[str]] = (",", [])
    for delimiter in DELIMITERS:
        with _open(path) as raw, _text(raw, encoding) as text:
            header = next(_nonblank(csv.reader(text, delimiter=delimiter)), [])
        if len(header) > len(best[1]):
            best = (delimiter, header)
    if not best[1]:
        raise fault(f"{path.name} is empty")
    return best


def _encoding(path: Path, fault: type[AideError]) -> str:
    with _open(path) as raw:
        head = raw.read(BLOCK)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        raise fault(f"{path.name} is not a CSV file: it holds binary data")
    return next(encoding for encoding in ENCODINGS if _decodes(path, encoding))


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with _open(path) as raw:
            while block := raw.read(BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _text(raw: IO[bytes], encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(raw, encoding=encoding, newline="")


def _nonblank(reader: Iterable[list[str]]) -> Iterator[list[str]]:
    return (row for row in reader if row)


class RowWriter:
    """Writes rows as comma-separated lines.

    Args:
        write: takes a line of text, its end included.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        # Only with this line end does the csv module quote a cell that holds a carriage return.
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str) -> None:
        """What the csv module calls; not for others."""
        self._write(f"{line[:-2]}\n")

    def add(self, row: Iterable[str]) -> None:
        self._writer.writerow(row)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a comma-separated UTF-8 file that every user may read."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = RowWriter(out.write)
        writer.add(header)
        for row in rows:
            writer.add(row)
    path.chmod(0o644)


def to_text(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A header and rows as CSV text."""
    lines: list[str] = []
    writer = RowWriter(lines.append)
    writer.add(header)
    for row in rows:
        writer.add(row)
    return "".join(lines)
