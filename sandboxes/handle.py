"""What a backend hands to a session for one launched supervisor."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Handle(ABC):
    """The outside of one running sandbox. `kill` may be called from any thread, at any time."""

    @abstractmethod
    def failure(self) -> str:
        """Why it will never come up; "" while it still may, or is up."""

    @abstractmethod
    def kill(self) -> None:
        """End every process in it, at once, however its supervisor fares."""

    @abstractmethod
    def release(self) -> None:
        """End it if it has not ended, and free what it holds on the host. The last call."""

    def admit(self, pid: int) -> None:
        """Its supervisor is up, under this process id of the host."""
        del pid

    def over(self) -> str:
        """Which limit that no kernel keeps is passed: "memory", "disk", or ""."""
        return ""

    def oom_kills(self) -> int:
        """How many of its processes the kernel has killed for want of memory."""
        return 0

    def peak_kb(self) -> int:
        """The most memory that all its processes had at once, in KiB; 0 where it is not known."""
        return 0

    def last_words(self) -> str:
        """After its end: what is known of it, for a message."""
        return ""
