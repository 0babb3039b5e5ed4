"""Who owns a container: the host process that made it, recognisable after its death."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from any later one with the same number.

    Attributes:
        pid: its number.
        start: when it started, in the kernel's clock ticks since boot.
        boot: the boot that it belongs to.
        namespace: the process namespace that the number is of.
    """

    pid: int
    start: str
    boot: str
    namespace: str

    @classmethod
    def me(cls) -> Owner:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        pid = os.getpid()
        return cls(pid, started(pid), boot, str(Path("/proc/self/ns/pid").stat().st_ino))

    @classmethod
    def parse(cls, label: str) -> Owner | None:
        """Read a label; None if it is not one of ours."""
        parts = label.split(":")
        if len(parts) != 4 or not parts[0].isdigit():
            return None
        return cls(int(parts[0]), *parts[1:])

    @property
    def token(self) -> str:
        """The owner in a name of a folder; the boot is left out, since such names end with it."""
        return f"{self.pid}.{self.start}.{self.namespace}"

    @classmethod
    def from_token(cls, name: str, me: Owner) -> Owner | None:
        """The owner in a name such as `aide-TOKEN-1`; None if there is none in it."""
        parts = [*name.split("-"), ""][1].split(".")
        if len(parts) != 3 or not all(part.isdigit() for part in parts):
            return None
        return cls(int(parts[0]), parts[1], me.boot, parts[2])

    def __str__(self) -> str:
        return f"{self.pid}:{self.start}:{self.boot}:{self.namespace}"

    def is_comparable(self, me: Owner) -> bool:
        """True if its number means something here: of the same boot and namespace."""
        return (self.boot, self.namespace) == (me.boot, me.namespace)

    def is_dead(self, me: Owner) -> bool:
        """True if it is known to be dead. A process of another machine or namespace never is."""
        return self.is_comparable(me) and started(self.pid) != self.start


def started(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]
