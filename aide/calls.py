"""The book of model calls: every request with its reply or its failure, one JSON line each."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aide.errors import ModelError
from aide.folder import storing
from aide.interfaces import Model, Reply, Request


class RecordedModel:
    """A model whose calls are all written down, the failed ones too.

    Args:
        model: the model that answers.
        path: the file to append to.
        clock: seconds; passed in by tests.
    """

    def __init__(
        self, model: Model, path: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._model, self._path, self._clock = model, path, clock
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
        line = json.dumps(
            {"model": self.name, "request": asdict(request), **result, "seconds": seconds}
        )
        with self._lock, storing(str(self._path)), self._path.open("a", encoding="ascii") as out:
            out.write(line + "\n")
