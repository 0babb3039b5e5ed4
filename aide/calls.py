"""The book of model calls: every attempt with its reply or its failure, one JSON line each.

A line has "model", "operator", "node", the "request" as it was sent, a "reply" or an "error",
"usage" (with its money, null where no price is known), "unknown" (the most that a call of unknown
outcome can have used) and "seconds". What is large is packed: "packed" instead of "request", and
"packed_reply" instead of "reply", hold base64 of zlib of the JSON. `read_calls` unpacks it.
"""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aide.errors import ModelError, RunFolderError, TransientModelError
from aide.interfaces import Form, Message, Model, Reply, Request, Usage
from aide.journal import Journal
from aide.ledger import Ledger, Reservation
from aide.tokens import size

LARGE_REQUEST = 4096
LARGE_REPLY = 32_768
"""From these sizes on, in bytes of JSON, the parts of a line are packed."""

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call brought no reply.

    Attributes:
        type: the error's class.
        message: one sentence.
        billed: True if the service may have charged for the call.
        kind: of a transient failure, as in `aide.errors`; else "".
        retry_after: seconds that the service asked to wait, or None.
    """

    type: str
    message: str
    billed: bool = False
    kind: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One line of the book: an attempt, with a reply or a failure.

    Attributes:
        model: the name of the model that was asked.
        request: as it was sent.
        usage: what the call is known to have used.
        unknown: the most that it can have used, where its outcome is unknown.
        seconds: wall time.
    """

    model: str
    request: Request
    reply: Reply | None
    error: Failure | None
    usage: Usage
    unknown: Usage | None
    seconds: float

    @property
    def operator(self) -> str:
        return self.request.operator

    @property
    def node(self) -> int:
        return self.request.node

    @property
    def size(self) -> int:
        return size(self.request)


class Booked:
    """A model whose every attempt is reserved in a ledger and written down, failures too.

    Args:
        model: the model that answers.
        book: the file to append to; several models may share it.
        ledger: allows and counts the calls.
        clock: seconds.
    """

    # One for all, since the models of a run write into one book.
    _writing = threading.Lock()

    def __init__(
        self, model: Model, book: Journal, ledger: Ledger, clock: Callable[[], float]
    ) -> None:
        self._model, self._book, self._ledger, self._clock = model, book, ledger, clock

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, request: Request) -> Reply:
        """Answer, with a shorter answer if the caps leave room for no longer one.

        Raises:
            BudgetExceeded: there is no room at all; nothing was asked.
            StorageError: the book could not be written.
            ModelError: as the model raises.
        """
        held = self._ledger.reserve(self.name, request)
        request = replace(request, max_tokens=held.max_tokens)
        start = self._clock()
        try:
            reply = self._model.complete(request)
        except BaseException as error:  # raised again: every attempt is in the book
            self._failed(held, request, error, self._clock() - start)
            raise
        unknown = None
        if reply.usage.usd is None and not reply.usage.tokens_in:
            # A server that keeps its use to itself: no prompt has no tokens.
            unknown, usage = self._ledger.lose(held), Usage(calls=1)
        else:
            usage = self._ledger.settle(held, reply.usage)
        reply = replace(reply, usage=usage)
        self._write(request, reply, usage, unknown, self._clock() - start)
        return reply

    def _failed(
        self, held: Reservation, request: Request, error: BaseException, seconds: float
    ) -> None:
        failure, usage, unknown = _failure(error), Usage(calls=1), None
        if failure.billed:
            unknown = self._ledger.lose(held)
        else:
            usage = self._ledger.free(held)
        self._write(request, failure, usage, unknown, seconds)

    def _write(
        self,
        request: Request,
        result: Reply | Failure,
        usage: Usage,
        unknown: Usage | None,
        seconds: float,
    ) -> None:
        line = {
            "model": self.name,
            "operator": request.operator,
            "node": request.node,
            **_small(_request_fields(request), LARGE_REQUEST, "request", "packed"),
            **_result_fields(result),
            "usage": asdict(usage),
            **({"unknown": asdict(unknown)} if unknown else {}),
            "seconds": round(seconds, 6),
        }
        with self._writing:
            self._book.append(line)


def read_calls(path: Path) -> Iterator[Call]:
    """The calls of a book, the oldest first; none if there is no file.

    A last line that a crash cut is left out.

    Raises:
        RunFolderError: the file cannot be read, or a line before the last is damaged.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                call = _call(json.loads(line))
            except (ValueError, KeyError, TypeError, zlib.error) as error:
                raise RunFolderError(
                    f"line {number} of {path} is damaged ({error!r}); restore the file from a "
                    f"copy, or take the line out to go on without what it counts"
                ) from error
            yield call


def _failure(error: BaseException) -> Failure:
    if isinstance(error, TransientModelError):
        return Failure(
            type(error).__name__, str(error), error.billed, error.kind, error.retry_after
        )
    # What is no error of a model, such as Ctrl-C, may have come after the service began.
    billed = error.billed if isinstance(error, ModelError) else True
    return Failure(type(error).__name__, str(error), billed)


def _request_fields(request: Request) -> Fields:
    form = request.form
    return {
        "system": request.system,
        "messages": [asdict(message) for message in request.messages],
        "operator": request.operator,
        "seed": request.seed,
        "max_tokens": request.max_tokens,
        "node": request.node,
        "form": form and {**asdict(replace(form, schema={})), "schema": dict(form.schema)},
    }


def _result_fields(result: Reply | Failure) -> Fields:
    if isinstance(result, Failure):
        return {"error": asdict(result)}
    fields = asdict(replace(result, data=None))
    if result.data is not None:
        # JSON has no NaN, though Python reads one in what a model writes.
        data = json.dumps(dict(result.data))
        fields["data"] = json.loads(data, parse_constant=lambda _: None)
    return _small(fields, LARGE_REPLY, "reply", "packed_reply")


def _small(fields: Fields, large: int, name: str, packed: str) -> Fields:
    """The fields under a name, or packed under another one if they are large."""
    text = json.dumps(fields).encode("ascii")
    if len(text) < large:
        return {name: fields}
    return {packed: base64.b64encode(zlib.compress(text)).decode("ascii")}


def _unpacked(line: Fields, name: str, packed: str) -> Fields:
    if packed in line:
        fields: Fields = json.loads(zlib.decompress(base64.b64decode(line[packed])))
        return fields
    found: Fields = line[name]
    return found


def _call(line: Fields) -> Call:
    failed = "error" in line
    return Call(
        line["model"],
        _request(_unpacked(line, "request", "packed")),
        None if failed else _reply(_unpacked(line, "reply", "packed_reply")),
        Failure(**line["error"]) if failed else None,
        Usage(**line["usage"]),
        Usage(**line["unknown"]) if "unknown" in line else None,
        line["seconds"],
    )


def _request(fields: Fields) -> Request:
    messages = tuple(Message(**message) for message in fields["messages"])
    form = Form(**fields["form"]) if fields["form"] else None
    return Request(**{**fields, "messages": messages, "form": form})


def _reply(fields: Fields) -> Reply:
    return Reply(**{**fields, "usage": Usage(**fields["usage"])})
