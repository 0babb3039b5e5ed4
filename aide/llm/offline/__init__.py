"""The offline model: a rule-based author over scikit-learn pipelines; no key, no network."""

from aide.llm.offline.model import OfflineModel

__all__ = ["OfflineModel"]
