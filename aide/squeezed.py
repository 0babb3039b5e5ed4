"""Long texts kept compressed: a search of a night holds thousands of programs in memory."""

from __future__ import annotations

import zlib
from typing import Any


class Squeezed:
    """A text field of a dataclass without slots, compressed in memory; "" by default.

    Reading it takes some 20 µs for a program of usual length.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._kept = f"_{name}"

    def __get__(self, record: Any, owner: type) -> str:
        if record is None:
            return ""
        kept: bytes = getattr(record, self._kept)
        return zlib.decompress(kept).decode("utf-8", "surrogatepass")

    def __set__(self, record: Any, text: str) -> None:
        # Level 1: it is written as often as it is read.
        kept = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        # Not by way of __dict__: that alone would make a dict for each record. It may be frozen.
        object.__setattr__(record, self._kept, kept)
