"""Operators: what turns nodes into a new solution."""

from __future__ import annotations

from collections.abc import Mapping

OPERATORS: Mapping[str, str] = {
    "draft": "aide.operators.draft:Draft",
    "debug": "aide.operators.debug:Debug",
    "improve": "aide.operators.improve:Improve",
    "merge": "aide.operators.merge:Merge",
}
