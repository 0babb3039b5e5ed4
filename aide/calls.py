"""The book of model calls: every request with its reply or its failure, one JSON line each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from aide.errors import ModelError
from aide.interfaces import Model, Reply, Request
from aide.journal import Journal


class RecordedModel:
    """A model whose calls are all written down, the failed ones too.

    Args:
        model: the model that answers.
        book: the file to append to.
        clock: seconds; passed in by tests.
    """

    def __init__(
        self, model: Model, book: Journal, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model, self._book, self._clock = model, book, clock
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, request: Request) -> Reply:
        start = self._clock()
        try:
            reply = self._model.complete(request)
        except ModelError as error:
            self._write(request, {"error": str(error)}, self._clock() - start)
            raise
        self._write(request, {"reply": asdict(reply)}, self._clock() - start)
        return reply

    def _write(self, request: Request, result: dict[str, Any], seconds: float) -> None:
        call = {"model": self.name, "request": asdict(request), **result, "seconds": seconds}
        with self._lock:
            self._book.append(call)
