"""The static check: what can be known of a program before it runs."""

from __future__ import annotations

import dis
import hashlib
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from aide.errors import ReplyError

MAX_BYTES = 200_000

_OUTPUT = re.compile(r"(?<!sample_)submission\.csv")
_FILE = "<solution>"
_NOP = dis.opmap["NOP"]


# The check and two hashes look at the same program one after the other.
@lru_cache(maxsize=4)
def compiled(code: str) -> CodeType:
    """A program's byte code, without docstrings and assertions.

    Raises:
        ReplyError: it is not Python; the message gives the line.
    """
    if "\0" in code:
        raise ReplyError("the program holds a NUL character")
    try:
        with warnings.catch_warnings():
            # Only for this file's name: a filter that outlives a race of threads does no harm.
            warnings.filterwarnings("ignore", module=re.escape(_FILE))
            return compile(code, _FILE, "exec", dont_inherit=True, optimize=2)
    except SyntaxError as error:
        text = (error.text or "").strip()[:200]
        shown = f": `{text}`" if text else ""
        raise ReplyError(f"line {error.lineno}: {error.msg}{shown}") from error
    except (RecursionError, MemoryError) as error:
        raise ReplyError("the program is nested too deeply to be parsed") from error
    except (ValueError, OverflowError) as error:
        raise ReplyError(f"the program cannot be parsed: {error}") from error


def check(code: str) -> None:
    """Check that a program may run at all.

    It is at most 200 KB, holds no NUL, parses, has statements, and names the file that it has to
    write, submission.csv, in a string outside docstrings.

    Raises:
        ReplyError: it must not run; the message is the reason, for the model to read.
    """
    size = len(code.encode())
    if size > MAX_BYTES:
        raise ReplyError(f"the program has {size:,} bytes; the most is {MAX_BYTES:,}")
    program = compiled(code)
    if program.co_consts in ((), (None,)) and not program.co_names:
        raise ReplyError("the program is empty")
    if not any(_OUTPUT.search(string) for string in _strings(program)):
        raise ReplyError("the program never writes working/submission.csv")


def normalised_hash(code: str) -> str:
    """A hash that copies share: docstrings, assertions, comments and formatting do not count.

    It is over the byte code, which the interpreter makes much faster than any walk over the
    syntax tree. Code that is not Python is hashed as text; no code has the hash "".
    """
    if not code.strip():
        return ""
    digest = hashlib.sha256()
    try:
        for part in _parts(compiled(code)):
            digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    except ReplyError:
        digest.update(code.strip().encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:32]


def _strings(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (item for item in constant if isinstance(item, str))
        elif isinstance(constant, CodeType):
            yield from _strings(constant)


def _parts(code: CodeType) -> Iterator[str]:
    """All of a program that makes a difference when it runs; no line numbers."""
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    # A docstring that is left out leaves an instruction that does nothing.
    units = (code.co_code[i : i + 2] for i in range(0, len(code.co_code), 2))
    steps = b"".join(unit for unit in units if unit[0] != _NOP)
    yield repr((code.co_name, steps, names, counts))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        elif isinstance(constant, frozenset):
            # Its own order differs from process to process.
            yield f"frozenset {sorted(map(repr, constant))}"
        else:
            yield repr(constant)
