"""Selectors: which node to work on next, with which operator."""

from __future__ import annotations

from collections.abc import Mapping

POLICIES: Mapping[str, str] = {
    "bandit": "aide.policies.bandit:Bandit",
    "greedy": "aide.policies.greedy:Greedy",
}
