"""Models: what writes the solutions."""

from __future__ import annotations

from collections.abc import Mapping

MODELS: Mapping[str, str] = {
    "anthropic": "aide.llm.anthropic:AnthropicModel",
    "offline": "aide.llm.offline:OfflineModel",
    "openai": "aide.llm.openai:OpenAIModel",
    "replay": "aide.llm.replay:ReplayModel",
    "scripted": "aide.llm.scripted:ScriptedModel",
}
