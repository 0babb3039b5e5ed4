"""Time: where the search reads it and where it waits, so that tests need not."""

from __future__ import annotations

import threading
import time


class Clock:
    """The machine's own clock. A test passes one in whose time it moves itself."""

    def now(self) -> float:
        """Seconds, on a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float, wake: threading.Event) -> None:
        """Wait for some seconds, or until `wake` is set."""
        wake.wait(max(0.0, seconds))
