"""The static check: what can be known of a program before it runs."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings

from aide.errors import ReplyError

MAX_BYTES = 200_000

_OUTPUT = re.compile(r"(?<!sample_)submission\.csv")
_FILE = "<solution>"
_WITH_DOCSTRING = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def parse_program(code: str) -> ast.Module:
    """A program's syntax tree.

    Raises:
        ReplyError: it is not Python; the message gives the line.
    """
    if "\0" in code:
        raise ReplyError("the program holds a NUL character")
    try:
        with warnings.catch_warnings():
            # Only for this file's name: a filter that outlives a race of threads does no harm.
            warnings.filterwarnings("ignore", module=re.escape(_FILE))
            return ast.parse(code, filename=_FILE)
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
    tree = _without_docstrings(parse_program(code))
    if all(isinstance(statement, ast.Pass) for statement in tree.body):
        raise ReplyError("the program is empty")
    strings = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    if not any(_OUTPUT.search(string) for string in strings):
        raise ReplyError("the program never writes working/submission.csv")


def normalised_hash(code: str) -> str:
    """A hash that copies share: docstrings, comments and formatting do not count.

    Code that is not Python is hashed as text; no code has the hash "".
    """
    if not code.strip():
        return ""
    try:
        text = ast.unparse(_without_docstrings(parse_program(code)))
    except (ReplyError, RecursionError):
        text = code.strip()
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree
