"""Search/replace blocks: what is taken, what is refused, and with which reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aide.errors import ReplyError
from aide.operators.edits import Block, apply, changed_share, parse

# Lines as programs have them, with indentation, blanks, and look-alikes of markers that are not.
LINES = st.sampled_from(
    ["", "    ", "x = 1", "    x = 1", "x = 1  ", "def f():", "    return 2", "# ====", ")", "\f",
     'print("a\\u2028b \u2028")', "<<<<<< SEARCH", ">>>>>>> REPLACED", "======"]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=6)
CODE = "import a\n\nx = 1\ny = 2\nz = 3\nx = 1\n"


def written(blocks: Sequence[Block], width: int = 7, between: str = "\n") -> str:
    parts = []
    for block in blocks:
        lines = ["<" * width + " SEARCH", *block.search]
        lines += ["=" * width, *block.replace, ">" * width + " REPLACE"]
        parts.append("\n".join(lines))
    return between.join(parts)


def block(search: str, replace: str) -> Block:
    return Block(tuple(search.split("\n")), tuple(replace.split("\n")) if replace else ())


@settings(deadline=None)
@given(st.lists(st.builds(Block, TEXTS.map(tuple), TEXTS.map(tuple)), max_size=4))
def test_parse_reads_what_was_written(blocks: list[Block]) -> None:
    assert parse(written(blocks)) == blocks
    assert parse("Plan.\n```\n" + written(blocks, 9, "\n```\ntext\n```python\n")) == blocks
    assert parse(written(blocks).replace("\n", "\r\n")) == blocks


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.lists(LINES, min_size=1, max_size=4), TEXTS, st.booleans()), min_size=1),
    st.randoms(use_true_random=False),
)
def test_any_split_into_blocks_rebuilds_the_file(
    segments: list[tuple[list[str], list[str], bool]], random: object
) -> None:
    """Cut a file anywhere, edit some of the pieces, in any order: the result is the join."""
    assert hasattr(random, "shuffle")
    old, new, blocks = [], [], []
    for number, (lines, replacement, edited) in enumerate(segments):
        unique = [f"step{number} = {line!r}" if line else line for line in [*lines, "end"]]
        old += unique
        new += replacement if edited else unique
        if edited:
            blocks.append(Block(tuple(unique), tuple(replacement)))
    assume(blocks)
    random.shuffle(blocks)
    code = "".join(line + "\n" for line in old)
    # Trailing empty segments would be seen as a change of nothing.
    assume(old != new)
    assert apply(code, parse(written(blocks))) == "".join(line + "\n" for line in new)


@settings(deadline=None)
@given(TEXTS, st.lists(LINES, min_size=1, max_size=2), st.integers(2, 4))
def test_a_search_part_that_is_not_unique_is_refused(
    around: list[str], search: list[str], times: int
) -> None:
    assume(any(line.strip() for line in search))
    lines = (around + search) * times
    starts = range(len(lines) - len(search) + 1)
    places = sum(lines[start : start + len(search)] == search for start in starts)
    code = "".join(line + "\n" for line in lines)
    with pytest.raises(ReplyError, match=rf"^block 1 matches {places} places"):
        apply(code, [Block(tuple(search), ("new",))])


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([block("y = 2", "y = 3")], "import a\n\nx = 1\ny = 3\nz = 3\nx = 1\n"),
        ([block("x = 1\ny = 2", "")], "import a\n\nz = 3\nx = 1\n"),
        ([block("y = 2   ", "y = 3")], "import a\n\nx = 1\ny = 3\nz = 3\nx = 1\n"),
        ([block("z = 3\nx = 1", "q"), block("y = 2", "y")], "import a\n\nx = 1\ny\nq\n"),
        ([block("y = 2", "z = 3"), block("z = 3", "y = 2")],
         "import a\n\nx = 1\nz = 3\ny = 2\nx = 1\n"),
    ],
)  # fmt: skip
def test_apply(blocks: list[Block], expected: str) -> None:
    assert apply(CODE, blocks) == expected
    assert apply(CODE, blocks[::-1]) == expected
    assert apply(CODE.replace("\n", "\r\n"), blocks) == expected
    assert apply(CODE.removesuffix("\n"), blocks) == expected


def test_an_exact_match_wins_over_one_that_differs_in_trailing_space() -> None:
    code = "x = 1  \nx = 1\n"
    assert apply(code, [block("x = 1", "new")]) == "x = 1  \nnew\n"
    with pytest.raises(ReplyError, match="matches 2 places"):
        apply(code, [block("x = 1 ", "new")])


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([block("y = 2", "y"), block("x = 1", "x")], "^block 2 matches 2 places"),
        ([block("  y = 2", "y")], r"^block 1 is not in the solution.*lines are:\n\ny = 2$"),
        ([block("nothing like it at all", "y")], "^block 1 is not in the solution$"),
        ([block("y == 2\nz = 3", "y")], r"closest lines are:\n\ny = 2\nz = 3$"),
        ([block("y = 2\nz = 4", "y")], r"closest lines are:\n\ny = 2\nz = 3$"),
        ([block("y =", "y")], "^block 1 is not in the solution"),
        ([block("", "y")], "^block 1 has no text in its search part"),
        ([block("y = 2", "y = 2")], "^the blocks change nothing"),
        ([block("y = 2\nz = 3", "y"), block("x = 1\ny = 2", "")],
         "^blocks 1 and 2 change the same lines"),
        ([block("y = 2", "y"), block("y = 2", "z")], "^blocks 1 and 2 change the same lines"),
        ([], "^the blocks change nothing"),
    ],
)  # fmt: skip
def test_apply_refuses(blocks: list[Block], reason: str) -> None:
    with pytest.raises(ReplyError, match=f"(?s){reason}"):
        apply(CODE, blocks)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<<<<<< SEARCH\na\n=======\nb\n", "block 1 is not closed"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "block 1 needs one line '=======', but has 0"),
        (written([block("a", "b")]) + "\n<<<<<<< SEARCH\na\n=======\n=======\n>>>>>>> REPLACE",
         "block 2 needs one line '=======', but has 2"),
        ("<<<<<<< SEARCH\na\n=======\nb\n" + written([block("a", "b")]), "block 1 is not closed"),
    ],
)  # fmt: skip
def test_parse_refuses(text: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        parse(text)


def test_marker_rows_may_vary() -> None:
    text = "  <<<<<<<<< SEARCH  \na\n========\t\nb\n>>>>>>>>REPLACE \n"
    assert parse(text) == [block("a", "b")]


def test_longer_rows_hold_marker_lines_as_text() -> None:
    inner = block("Title\n=======", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE")
    assert parse(written([inner], width=9)) == [inner]


def test_prose_has_no_blocks() -> None:
    assert parse("Use a << b and c >> d.\n\n====\n") == []


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        ("a\nb\n", "a\nb\n", 0),
        ("a\nb\n", "b\n\n\na\n", 0),
        ("a\nb\nc\nd\n", "a\nb\nc\nx\n", 0.25),
        ("a\n", "a\nb\nc\nd\n", 0.75),
        ("a\na\n", "a\nb\n", 0.5),
        ("a\n", "b\n", 1),
        ("", "", 0),
    ],
)
def test_changed_share(old: str, new: str, share: float) -> None:
    assert changed_share(old, new) == share
