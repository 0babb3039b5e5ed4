"""What a run's model calls have used, from its book of calls alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from aide.calls import read_calls
from aide.interfaces import Usage


@dataclass(slots=True)
class Spent:
    """The account of a book of calls.

    Attributes:
        total: what all calls are known to have used, the failed ones counted.
        by_operator: the same, for each operator.
        by_node: the same, for each node; 0 for calls that were for none.
        failed: how many of the calls brought no reply.
        unknown: the most that the calls of unknown outcome can have used on top of that.
    """

    total: Usage = field(default_factory=Usage)
    by_operator: dict[str, Usage] = field(default_factory=dict)
    by_node: dict[int, Usage] = field(default_factory=dict)
    failed: int = 0
    unknown: Usage = field(default_factory=Usage)


def spent(book: Path) -> Spent:
    """The account of a book; an empty one if there is no book."""
    account = Spent()
    for call in read_calls(book):
        account.total += call.usage
        own = account.by_operator.get(call.operator, Usage())
        account.by_operator[call.operator] = own + call.usage
        own = account.by_node.get(call.node, Usage())
        account.by_node[call.node] = own + call.usage
        account.failed += call.error is not None
        if call.unknown is not None:
            account.unknown += call.unknown
    return account
