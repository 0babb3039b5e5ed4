"""Memory that is free within this process, given back to the system."""

from __future__ import annotations

import contextlib
import ctypes


def give_back() -> None:
    """Give back what the C library keeps of freed memory; does nothing where it cannot.

    A search takes and frees much between its nodes' small and lasting records, so that the next
    one in the same process would begin on top of the holes that the last one left.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
