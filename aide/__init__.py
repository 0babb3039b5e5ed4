"""A tree search over machine-learning solutions.

`search` runs one from Python, `load` reads one. What else is public is in `aide.interfaces`, for
those who add a policy, an operator, a sandbox or a model of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aide.api import search
    from aide.errors import AideError, InputError
    from aide.node import Node, Score
    from aide.run import Run, load

__all__ = ["AideError", "InputError", "Node", "Run", "Score", "load", "search"]

_HOMES = {
    "AideError": "aide.errors",
    "InputError": "aide.errors",
    "Node": "aide.node",
    "Run": "aide.run",
    "Score": "aide.node",
    "load": "aide.run",
    "search": "aide.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, so that `import aide` costs next to nothing."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'aide' has no attribute {name!r}")
