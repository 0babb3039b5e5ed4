"""Ids and labels compared by value: "1", "1.0" and 1 are one, as they are to a data frame."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

WORDS = {"true": 1, "false": 0}


def number(text: str) -> int | float | None:
    """The finite number that a text stands for, else None. Whole numbers are exact."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class Keys:
    """How a column's texts compare.

    As numbers if all of them are numbers; "True" and "False" are then 1 and 0, where the column
    holds nothing else. As text otherwise, blanks around it left out.

    Args:
        texts: all values that the column may hold.
        distinct: the texts are known to be different, as ids are: if two of them are the same
            number ("7" and "007"), the column compares as text.
    """

    def __init__(self, texts: Iterable[str], *, distinct: bool = False) -> None:
        known = dict.fromkeys(texts)
        values = {_value(text) for text in known}
        numeric = bool(values) and None not in values
        if any(text.strip().lower() in WORDS for text in known):
            numeric = numeric and values <= {0, 1}
        self.numeric = numeric and not (distinct and len(values) < len(known))
        self._words = self.numeric and values <= {0, 1}

    def key(self, text: str) -> Hashable:
        """What stands for a text's value: equal for equal values."""
        text = text.strip()
        if not self.numeric:
            return text
        value = _value(text) if self._words else number(text)
        return text if value is None else value


def _value(text: str) -> int | float | None:
    value = number(text)
    return WORDS.get(text.strip().lower()) if value is None else value


class Positions:
    """Where each of some different texts stands, found by value.

    Args:
        texts: the texts, in order.
        keys: how they compare; made from the texts if not given.
    """

    def __init__(self, texts: Sequence[str], keys: Keys | None = None) -> None:
        self.texts = texts
        self._keys = keys or Keys(texts)
        self._places = {self._keys.key(text): place for place, text in enumerate(texts)}
        self._as_written = {text: place for place, text in enumerate(texts)}

    def __len__(self) -> int:
        return len(self.texts)

    def find(self, text: str) -> int | None:
        """The place of a text's value, or None."""
        place = self._as_written.get(text)
        return self._places.get(self._keys.key(text)) if place is None else place
