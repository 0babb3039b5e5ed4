"""Reading a model's reply: the plan before the code, and the code."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from aide.errors import ReplyError
from aide.interfaces import Reply
from aide.operators import edits
from aide.operators.check import compiled
from aide.operators.forms import Change, Edit, Program, object_in, validated

PLAN_CHARS = 1000
REWRITE_SHARE = 0.6

_FENCE = re.compile(r"^ {0,3}```[ \t]*([\w+-]*)[ \t]*$")
_SCRATCH = re.compile(
    r"^ {0,3}```[ \t]*(?:python|py)[ \t]+scratch[ \t]*\n(.*?)(?:^ {0,3}```[ \t]*$|\Z)", re.M | re.S
)
_LANGUAGES = frozenset({"", "python", "python3", "py"})


@dataclass(frozen=True, slots=True)
class Written:
    """What a reply holds: the plan in prose, the whole program, remarks such as "rewrite"."""

    plan: str
    code: str
    flags: tuple[str, ...] = ()


def program_in(reply: Reply) -> Written:
    """The program of a reply: its structured answer, else one in its text.

    Raises:
        ReplyError: there is none.
    """
    data = object_in(reply.text, Program) if reply.data is None else reply.data
    if data is None:
        return read_program(reply.text)
    answer = validated(Program, data)
    return Written(plan_of(answer.plan), _whole(answer.code))


def change_in(reply: Reply, parent: str) -> Written:
    """The changed program of a reply: by its structured answer, else by its text.

    Args:
        reply: the model's answer.
        parent: the solution that the blocks change.

    Raises:
        ReplyError: there is none, or the blocks do not fit.
    """
    data = object_in(reply.text, Change) if reply.data is None else reply.data
    if data is None:
        return read_change(reply.text, parent)
    answer = validated(Change, data)
    if answer.edits:
        return _edited(answer.plan, parent, [_block(edit) for edit in answer.edits])
    if not answer.code.strip():
        raise ReplyError("it holds neither edits nor a whole program")
    return Written(plan_of(answer.plan), _whole(answer.code), ("rewrite",))


def plan_in(reply: Reply) -> str:
    """The plan of a reply whose program cannot be used; "" if there is none."""
    plan = reply.text if reply.data is None else reply.data.get("plan", "")
    return plan_of(plan) if isinstance(plan, str) else ""


def snippet_in(text: str) -> str | None:
    """The program that a model wants to run before it answers; None if it asks for none."""
    found = _SCRATCH.search(text)
    return found[1] if found and found[1].strip() else None


def plan_of(text: str) -> str:
    """The prose before the first fence or block, at most 1,000 characters, printable."""
    kept: list[str] = []
    for line in _lines(text):
        if _FENCE.match(line) or edits.is_opening(line):
            break
        kept.append(line.rstrip())
    prose = "".join(c for c in "\n".join(kept) if c.isprintable() or c in "\n\t").strip()
    return prose if len(prose) <= PLAN_CHARS else prose[: PLAN_CHARS - 1].rstrip() + "…"


def read_program(text: str) -> Written:
    """A whole program: the longest Python fence, or the text itself if it is Python.

    Raises:
        ReplyError: there is no program.
    """
    text = _SCRATCH.sub("", text)
    fences, unclosed = _fences(text)
    if unclosed is not None and _is_program(unclosed):
        fences.append(unclosed)
    if fences:
        return Written(plan_of(text), max(fences, key=len).strip("\n") + "\n")
    bare = "\n".join(_lines(text)).strip("\n") + "\n"
    if bare.strip() and _is_program(bare):
        return Written("", bare)
    if unclosed is not None:
        raise ReplyError("the fenced block is not closed and its code is not complete")
    raise ReplyError("it holds no program in a ```python block")


def read_change(text: str, parent: str) -> Written:
    """A change of a solution: search/replace blocks, or a whole program in their place.

    Args:
        text: the reply.
        parent: the solution that the blocks change.

    Returns:
        The changed program; with the flag "rewrite" if it was given whole or if more than 60% of
        its lines changed.

    Raises:
        ReplyError: the blocks are broken or do not fit, or there is neither block nor program.
    """
    blocks = edits.parse(text)
    if blocks:
        return _edited(text, parent, blocks)
    try:
        whole = read_program(text)
    except ReplyError as error:
        raise ReplyError("it holds no search/replace block and no whole program") from error
    return Written(whole.plan, whole.code, ("rewrite",))


def _edited(plan: str, parent: str, blocks: list[edits.Block]) -> Written:
    code = edits.apply(parent, blocks)
    rewritten = edits.changed_share(parent, code) > REWRITE_SHARE
    return Written(plan_of(plan), code, ("rewrite",) if rewritten else ())


def _block(edit: Edit) -> edits.Block:
    # An empty part has no line; any other has one more than it has line ends between lines.
    search, replace = (
        tuple(_lines(part.removesuffix("\n"))) if part else ()
        for part in (edit.search.replace("\r\n", "\n"), edit.replace.replace("\r\n", "\n"))
    )
    return edits.Block(search, replace)


def _whole(code: str) -> str:
    """The program in a field, which some models fence as they would in text."""
    if code.lstrip().startswith("```"):
        return read_program(code).code
    return "\n".join(_lines(code)).strip("\n") + "\n"


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _fences(text: str) -> tuple[list[str], str | None]:
    """The Python fences that are closed, and the one that is not."""
    closed: list[str] = []
    inside: list[str] | None = None
    language = ""
    for line in _lines(text):
        fence = _FENCE.match(line)
        if inside is None:
            if fence:
                inside, language = [], fence[1].lower()
        elif fence and not fence[1]:
            if language in _LANGUAGES and "".join(inside).strip():
                closed.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    unclosed = "\n".join(inside) if inside and language in _LANGUAGES else None
    return closed, unclosed


def _is_program(code: str) -> bool:
    try:
        compiled(code)
    except ReplyError:
        return False
    # A word of prose, such as "Sorry", is an expression and would count as Python.
    return any(not isinstance(statement, ast.Expr) for statement in ast.parse(code).body)
