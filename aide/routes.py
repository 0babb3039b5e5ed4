"""A model for each operator."""

from __future__ import annotations

from collections.abc import Mapping

from aide.interfaces import Model, Reply, Request


class Routes:
    """Sends each request to the model of the operator that asks.

    Args:
        default: answers the operators that have no model of their own.
        by_operator: the others' models, by the operator's name.
    """

    def __init__(self, default: Model, by_operator: Mapping[str, Model]) -> None:
        self._default, self._by_operator = default, dict(by_operator)

    @property
    def name(self) -> str:
        return self._default.name

    def complete(self, request: Request) -> Reply:
        """Answer as the operator's model does, with its errors."""
        return self._by_operator.get(request.operator, self._default).complete(request)
