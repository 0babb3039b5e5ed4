"""Names to classes: a table of the known ones, or a dotted path of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from aide.errors import ConfigError


def find(kind: str, name: str, known: Mapping[str, str]) -> Any:
    """The class (or function) that a name stands for.

    Args:
        kind: what it is, for the message: "policy", "model", ...
        name: a key of the table, or a dotted path such as `mypackage.policies:Mine`.
        known: name to `module:attribute`.

    Raises:
        ConfigError: the name is in no table and is no path that can be imported.
    """
    path = known.get(name, name)
    module, _, attribute = path.partition(":")
    if not attribute:
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ConfigError(
            f"there is no {kind} {name!r}{hint} Known: {', '.join(sorted(known))}; "
            "or give your own as 'module:Class'"
        )
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the {kind} {name!r} cannot be imported: {error}") from error
