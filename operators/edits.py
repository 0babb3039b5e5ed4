"""Search/replace blocks: read them from a reply, apply them to a solution, all or none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from aide.errors import ReplyError

# The group is the row of marker characters: its length tells nested look-alikes apart.
_OPEN = re.compile(r"^[ \t]*(<{7,})[ \t]*SEARCH[ \t]*$")
_DIVIDER = re.compile(r"^(={7,})[ \t]*$")
_CLOSE = re.compile(r"^[ \t]*(>{7,})[ \t]*REPLACE[ \t]*$")
_SHOWN_LINES = 5


@dataclass(frozen=True, slots=True)
class Block:
    """One change: the lines to find, and the lines to put in their place."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block applies: the lines from start up to, but not including, end."""

    number: int
    start: int
    end: int
    block: Block


def is_opening(line: str) -> bool:
    """True if a line opens a block."""
    return _OPEN.match(line) is not None


def parse(text: str) -> list[Block]:
    """The blocks in a reply, in order; an empty list if there is none.

    What stands between blocks, such as fences, is ignored. Rows of markers may be longer than
    seven; a block whose rows all have one length may hold other marker lines in its text.

    Raises:
        ReplyError: a block has no end or not exactly one dividing line.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        opening = _OPEN.match(lines[at])
        at += 1
        if opening is None:
            continue
        number, width = len(blocks) + 1, len(opening[1])
        end = _end(lines, at, width, number)
        divider = _divider(lines[at:end], width, number)
        search, replace = lines[at : at + divider], lines[at + divider + 1 : end]
        blocks.append(Block(tuple(search), tuple(replace)))
        at = end + 1
    return blocks


def _end(lines: Sequence[str], start: int, width: int, number: int) -> int:
    """The index of the line that closes a block: the next of its width, else the next."""
    other = None
    for at in range(start, len(lines)):
        opening, closing = _OPEN.match(lines[at]), _CLOSE.match(lines[at])
        if opening and len(opening[1]) == width:
            break
        if closing and len(closing[1]) == width:
            return at
        if closing and other is None:
            other = at
    if other is None:
        raise ReplyError(f"block {number} is not closed by a line '>>>>>>> REPLACE'")
    return other


def _divider(lines: Sequence[str], width: int, number: int) -> int:
    """The index of the line between the two parts."""
    found = {at: len(row[1]) for at, line in enumerate(lines) if (row := _DIVIDER.match(line))}
    chosen = [at for at, size in found.items() if size == width] or list(found)
    if len(chosen) != 1:
        raise ReplyError(f"block {number} needs one line '=======', but has {len(chosen)}")
    return chosen[0]


def apply(code: str, blocks: Iterable[Block]) -> str:
    """The code with all blocks applied; their order does not matter.

    Each search part is looked up in the code as given, as whole lines, and must be there exactly
    once; if it is not there, trailing whitespace is ignored.

    Raises:
        ReplyError: a block does not fit, two blocks overlap, or nothing changes.
    """
    lines = _code_lines(code)
    places = sorted(
        (_place(lines, block, number) for number, block in enumerate(blocks, 1)),
        key=lambda place: place.start,
    )
    for one, two in pairwise(places):
        if two.start < one.end:
            first, second = sorted((one.number, two.number))
            raise ReplyError(f"blocks {first} and {second} change the same lines")
    changed = list(lines)
    for place in reversed(places):
        changed[place.start : place.end] = place.block.replace
    if changed == lines:
        raise ReplyError("the blocks change nothing")
    return "".join(line + "\n" for line in changed)


def _code_lines(code: str) -> list[str]:
    # Not splitlines: that would also split at form feeds and the like, inside of strings.
    lines = code.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _place(lines: Sequence[str], block: Block, number: int) -> _Place:
    if not any(line.strip() for line in block.search):
        raise ReplyError(f"block {number} has no text in its search part")
    starts = _matches(lines, block.search) or _matches(
        [line.rstrip() for line in lines], [line.rstrip() for line in block.search]
    )
    if not starts:
        raise ReplyError(f"block {number} is not in the solution{_closest(lines, block.search)}")
    if len(starts) > 1:
        raise ReplyError(
            f"block {number} matches {len(starts)} places; put more lines into its search part"
        )
    return _Place(number, starts[0], starts[0] + len(block.search), block)


def _matches(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    wanted, size = list(search), len(search)
    return [
        at
        for at in range(len(lines) - size + 1)
        if lines[at] == wanted[0] and list(lines[at : at + size]) == wanted
    ]


def _closest(lines: Sequence[str], search: Sequence[str]) -> str:
    """The lines that the search part most likely means, as the end of a sentence."""
    start = _best_start(lines, search)
    if start is None:
        return ""
    shown = lines[start : start + min(len(search), _SHOWN_LINES)]
    return "; the closest lines are:\n\n" + "\n".join(line[:200] for line in shown)


def _best_start(lines: Sequence[str], search: Sequence[str]) -> int | None:
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(at)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(search):
        # A line that is everywhere, such as a bracket, says little about the place.
        if line.strip() and len(places.get(line.strip(), ())) <= 3:
            votes.update(max(at - offset, 0) for at in places.get(line.strip(), ()))
    if votes:
        return votes.most_common(1)[0][0]
    longest = max(range(len(search)), key=lambda offset: len(search[offset].strip()))
    close = get_close_matches(search[longest].strip()[:200], list(places)[:2000], n=1)
    return max(places[close[0]][0] - longest, 0) if close else None


def changed_share(old: str, new: str) -> float:
    """The share of lines that two programs do not have in common, 0 to 1; blank lines and the
    order do not count."""
    one = Counter(line.strip() for line in _code_lines(old) if line.strip())
    two = Counter(line.strip() for line in _code_lines(new) if line.strip())
    longer = max(one.total(), two.total())
    return 1 - (one & two).total() / longer if longer else 0.0
