"""What a program prints, kept within a bound while it streams: the head, the tail, a count."""

from __future__ import annotations


class Output:
    """Collects bytes, half of the bound from the start and half from the end.

    Args:
        bound: how many bytes are kept, at least 2.
    """

    def __init__(self, bound: int) -> None:
        self.total = 0
        self._room = max(1, bound // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        free = self._room - len(self._head)
        self._head += data[:free]
        self._tail += data[free:] if free > 0 else data
        # Cutting at every call would move the tail's bytes again and again.
        if len(self._tail) > 4 * self._room:
            del self._tail[: -self._room]

    @property
    def truncated(self) -> bool:
        return self.total > 2 * self._room

    def text(self) -> str:
        """What was kept, decoded as UTF-8; a line between says how much was left out."""
        tail = self._tail[-self._room :]
        left_out = self.total - len(self._head) - len(tail)
        if not left_out:
            return (self._head + tail).decode("utf-8", "replace")
        return (
            self._head.decode("utf-8", "replace")
            + f"\n[... {left_out} bytes left out ...]\n"
            + tail.decode("utf-8", "replace")
        )
