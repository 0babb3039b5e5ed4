"""replay: answers out of the book of an earlier run. A public fake: no network, no cost."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from aide.calls import Call, Failure, read_calls
from aide.errors import ConfigError, ContextTooLongError, ModelError, ModelUnusableError
from aide.interfaces import Reply, Request

Key = bytes
"""A digest of all that an answer depends on; the requests themselves may be large."""


@dataclass(slots=True)
class _Kept:
    call: Call
    key: Key
    used: bool = False


class ReplayModel:
    """Gives the answers that a run has got before. Safe in threads.

    An answer is looked for by the whole request first: system, messages, operator, seed, form and
    node; the same request asked again gets the next of its answers. Where a prompt differs, as it
    does if it tells how long a program ran, the place decides: the next answer that is left of
    those to the same operator for the same node. Failures that the run got over are left out; one
    that it did not get over is raised again.

    Args:
        argument: the folder of a run, or its calls.jsonl.

    Raises:
        ConfigError: there is no book, or it holds no calls.
        RunFolderError: the book is damaged.
    """

    name = "replay"

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise ConfigError("the replay model needs a run: give its folder as replay:RUN")
        path = Path(argument).expanduser()
        self._path = path / "calls.jsonl" if path.is_dir() else path
        if not self._path.is_file():
            raise ConfigError(
                f"there are no calls to replay in {argument}; name the folder of a run"
            )
        self._lock = threading.Lock()
        self._by_place: dict[tuple[int, str], list[_Kept]] = defaultdict(list)
        for kept in _kept(read_calls(self._path)):
            self._by_place[kept.call.node, kept.call.operator].append(kept)
        if not self._by_place:
            raise ConfigError(f"{self._path} holds no calls, so there is nothing to replay")

    def complete(self, request: Request) -> Reply:
        """The recorded answer.

        Raises:
            ModelUnusableError: there is none.
            ModelError: the recorded call failed for good.
        """
        call = self._take(request)
        if call.error is not None:
            raise _error(call.error)
        if call.reply is None:
            raise ModelError(f"{self._path} has a call with neither a reply nor an error")
        return replace(call.reply, usage=replace(call.reply.usage, usd=0.0))

    def _take(self, request: Request) -> Call:
        key = _key(request)
        with self._lock:
            left = [
                kept
                for kept in self._by_place.get((request.node, request.operator), ())
                if not kept.used
            ]
            if not left:
                raise ModelUnusableError(
                    f"{self._path} holds no further answer to {request.operator!r} for node "
                    f"{request.node}; replay with the task, seed, steps and policy of that run"
                )
            found = next((kept for kept in left if kept.key == key), left[0])
            found.used = True
            return found.call


def _kept(calls: Iterable[Call]) -> list[_Kept]:
    """The calls that decided something, in order.

    A failure was got over if the same request was asked again. The same request twice for one
    node means that a run was killed in between and began the node anew: the later answer counts.
    """
    every = [_Kept(call, _key(call.request)) for call in calls]
    last = {one.key: place for place, one in enumerate(every)}
    return [
        one
        for place, one in enumerate(every)
        if last[one.key] == place or (one.call.reply is not None and one.call.node == 0)
    ]


def _key(request: Request) -> Key:
    form = request.form and (request.form.name, request.form.description)
    schema = request.form and dict(request.form.schema)
    messages = [(message.role, message.text) for message in request.messages]
    parts = [request.system, messages, request.operator, request.seed, request.node, form, schema]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def _error(failure: Failure) -> ModelError:
    """The failure as its own type, but never as one that is worth another try."""
    kinds = {kind.__name__: kind for kind in (ContextTooLongError, ModelUnusableError)}
    return kinds.get(failure.type, ModelError)(failure.message)
