"""A hard limit on the wall time of one model call, whatever the library below does."""

from __future__ import annotations

import threading
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress

from aide.errors import ModelError, TransientModelError
from aide.interfaces import Model, Reply, Request


class Deadline:
    """A model whose every call ends within a time, or soon after `cancel`.

    The call runs in a thread of its own. At the limit the thread is left to itself, and what it
    still brings is dropped; it does not keep the process from ending.

    Args:
        model: the model that answers.
        seconds: wall time of one call.
    """

    def __init__(self, model: Model, seconds: float) -> None:
        self._model, self._seconds = model, seconds
        self._lock = threading.Lock()
        self._open: set[Future[Reply]] = set()
        self._cancelled = False

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, request: Request) -> Reply:
        """Answer in time.

        Raises:
            TransientModelError: the time is over; the service may charge for the call.
            ModelError: cancelled, or as the model raises.
        """
        call: Future[Reply] = Future()
        with self._lock:
            if self._cancelled:
                raise ModelError("cancelled")
            self._open.add(call)
        try:
            threading.Thread(target=self._work, args=(call, request), daemon=True).start()
            # Not by the result's own time-out: the model may raise the same type itself.
            if not wait([call], min(self._seconds, threading.TIMEOUT_MAX)).done:
                raise TransientModelError(
                    f"{self.name} gave no answer within {self._seconds:g} seconds",
                    kind="timeout",
                    billed=True,
                )
            return call.result()
        finally:
            with self._lock:
                self._open.discard(call)

    def cancel(self) -> None:
        """End all calls soon, from any thread; later ones fail at once."""
        with self._lock:
            self._cancelled = True
            calls = list(self._open)
        for call in calls:
            with suppress(InvalidStateError):
                call.set_exception(ModelError("cancelled", billed=True))

    def _work(self, call: Future[Reply], request: Request) -> None:
        try:
            reply = self._model.complete(request)
        except BaseException as error:  # noqa: BLE001  # the caller's thread raises it
            with suppress(InvalidStateError):
                call.set_exception(error)
        else:
            with suppress(InvalidStateError):
                call.set_result(reply)
