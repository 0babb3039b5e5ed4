"""Models: what writes the solutions."""

from __future__ import annotations

from collections.abc import Mapping

MODELS: Mapping[str, str] = {
    "offline": "aide.llm.offline:OfflineModel",
    "scripted": "aide.llm.scripted:ScriptedModel",
}
