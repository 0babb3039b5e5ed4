"""How alike two programs are, so that a draft that differs in name only can be told."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from aide.interfaces import Node

GRAM = 5
NEAR = 0.93
"""Measured on drafts of the offline model for four tasks: no two that differ in models or features
are as alike; three in five pairs with the same ones are, whatever their numbers and names."""

_BUILTINS = frozenset(dir(builtins))


def similarity(one: str, other: str) -> float:
    """How alike two programs are, 0 to 1: the smaller of two Jaccard indices.

    The first is over the multisets of 5-grams of normalised tokens: the syntax tree's, depth
    first, where imported and built-in names, attributes and keyword arguments count by name, own
    variables and functions, numbers and strings by kind only, and comments, docstrings and
    formatting not at all (a fingerprint as of Schleimer, Wilkerson and Aiken, Winnowing, 2003,
    without its sampling). The second is over the sets of imported names: two programs on one
    pattern with other models differ in little else. Code that is not Python is like nothing.
    """
    (grams, names), (other_grams, other_names) = _fingerprint(one), _fingerprint(other)
    shared = (grams & other_grams).total()
    if not shared:
        return 0.0
    alike = shared / (grams.total() + other_grams.total() - shared)
    imported = len(names | other_names)
    return min(alike, len(names & other_names) / imported) if imported else alike


def near_copy(code: str, others: Sequence[Node]) -> str:
    """Which of the nodes a program nearly copies, as a reason for its author; "" if none."""
    scored = [(similarity(code, other.code), other.id) for other in others if other.code]
    share, twin = max(scored, default=(0.0, 0))
    if share < NEAR:
        return ""
    return f"it is nearly the program of node {twin} ({share:.0%} alike); take another approach"


# Drafts are compared with the same earlier drafts again and again.
@lru_cache(maxsize=32)
def _fingerprint(code: str) -> tuple[Counter[tuple[str, ...]], frozenset[str]]:
    """A program's 5-grams, and the names that it imports."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter(), frozenset()
    aliases = [
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    known = _BUILTINS | {each.asname or each.name.partition(".")[0] for each in aliases}
    tokens = list(_tokens(tree, known))
    grams = Counter(tuple(tokens[at : at + GRAM]) for at in range(len(tokens) - GRAM + 1))
    return grams, frozenset(each.name for each in aliases)


def _tokens(node: ast.AST, known: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name if name in known else "name"
        case ast.Constant(value=value):
            yield type(value).__name__
        case ast.Attribute(attr=name):
            yield "." + name
        case ast.keyword(arg=name):
            yield f"{name}="
        case ast.alias(name=name):
            yield name
        case ast.expr_context():
            return
        case ast.Expr(value=ast.Constant()):
            return
        case _:
            yield type(node).__name__
    for child in ast.iter_child_nodes(node):
        yield from _tokens(child, known)
