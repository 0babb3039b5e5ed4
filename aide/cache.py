"""The folder for what can be made again: bundled data, views, the solutions' environment."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(*parts: str) -> Path:
    """A folder below the cache, made if missing.

    `AIDE_CACHE` if set, else `aide-search` below `XDG_CACHE_HOME` or `~/.cache`.
    """
    base = os.environ.get("AIDE_CACHE")
    if base:
        root = Path(base)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = Path(home) / "aide-search"
    folder = root.joinpath(*parts).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
