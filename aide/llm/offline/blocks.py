"""The difference of two programs as search/replace blocks."""

from __future__ import annotations

from difflib import SequenceMatcher

_REWRITE_SHARE = 0.5


def change_blocks(old: str, new: str) -> str | None:
    """Blocks that turn one program into another, as text.

    Each search part is whole lines, occurs once in the old program, and begins and ends with a
    line that is not blank; blocks never overlap.

    Returns:
        The blocks; None if most lines change, so that the whole program says it better.
    """
    a, b = old.splitlines(), new.splitlines()
    # Junk detection would take frequent lines, such as closing brackets, for no match at all.
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    hunks = [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    if not hunks or sum(i2 - i1 for i1, i2, _, _ in hunks) > _REWRITE_SHARE * len(a):
        return None
    grown: list[tuple[int, int, int, int]] = []
    for hunk in hunks:
        grown.append(_grow(hunk, a, b))
        while len(grown) > 1 and grown[-2][1] >= grown[-1][0]:
            last = grown.pop()
            first = grown.pop()
            grown.append(_grow((first[0], last[1], first[2], last[3]), a, b))
    return "\n\n".join(_block(a[i1:i2], b[j1:j2]) for i1, i2, j1, j2 in grown)


def _grow(
    hunk: tuple[int, int, int, int], a: list[str], b: list[str]
) -> tuple[int, int, int, int]:
    """Take in lines before and after until the search part is good; they are equal in both."""
    i1, i2, j1, j2 = hunk
    text = "\n".join(a)
    while not _is_good(a[i1:i2], text) or not _is_good(b[j1:j2], None):
        if i1 > 0 and j1 > 0 and a[i1 - 1] == b[j1 - 1]:
            i1, j1 = i1 - 1, j1 - 1
        elif i2 < len(a) and j2 < len(b) and a[i2] == b[j2]:
            i2, j2 = i2 + 1, j2 + 1
        else:
            break
    return i1, i2, j1, j2


def _is_good(lines: list[str], text: str | None) -> bool:
    if not lines or not lines[0].strip() or not lines[-1].strip():
        return False
    return text is None or text.count("\n".join(lines)) == 1


def _block(search: list[str], replace: list[str]) -> str:
    return "\n".join(["<<<<<<< SEARCH", *search, "=======", *replace, ">>>>>>> REPLACE"])
