"""A language-model service on 127.0.0.1 that fails on demand, for tests and benchmarks.

It speaks Anthropic's Messages and OpenAI's Chat Completions over real HTTP, answers with a brain
of the caller's, injects faults by request number, and keeps its own count of what it delivered.
"""

from __future__ import annotations

import json
import random
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from aide.interfaces import Reply, Request, Usage
from benchmarks.protocols import ERRORS, Protocol, answer, error, request_of, tokens
from benchmarks.wire import LOST, Exchange, Server

Brain = Callable[[Request], str | Reply]
Faults = Callable[[int], str | None]
"""A request's number, from 0, to a fault's name or None."""

_REFUSED = (*ERRORS, "429-after", "context", "credit")
_USELESS = ("empty", "refusal", "length")
FAULTS = (*_REFUSED, *LOST, *_USELESS)

_PATHS: Mapping[str, Protocol] = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai"}


def seeded(seed: int, share: float, kinds: tuple[str, ...]) -> Faults:
    """Faults of these kinds, alike in number, in a share of the requests; a seed fixes which."""

    def fault(number: int) -> str | None:
        rng = random.Random(f"{seed}/{number}")
        return rng.choice(kinds) if rng.random() < share else None

    return fault


class Loopback:
    """The service; a context manager. Safe in threads.

    Args:
        brain: answers a request, with operator ""; a reply's data is given as a tool call or as
            JSON if a form was asked for.
        faults: request number to fault, out of `FAULTS`: a function or a mapping.
        delay: seconds before each answer.
        forms: False for a server that refuses structured answers (as the fault "no-form").
        tells: False for a server that leaves out the usage.
        retry_after: the header of the fault "429-after".

    Attributes:
        requests: how many came, by protocol.
        prompts: characters of each request's prompt, in order of arrival.
        bodies, headers: of the last 64 requests.
        faulted: how often each fault was injected.
    """

    def __init__(
        self,
        brain: Brain,
        faults: Faults | Mapping[int, str] | None = None,
        delay: float = 0.0,
        *,
        forms: bool = True,
        tells: bool = True,
        retry_after: str = "1",
    ) -> None:
        self._retry_after, self._lock = retry_after, threading.Lock()
        self._closing = threading.Event()
        self._port = 0
        self._server: Server | None = None
        self._errors: list[BaseException] = []
        self.begin(brain, faults, delay, forms=forms, tells=tells)

    def begin(
        self,
        brain: Brain,
        faults: Faults | Mapping[int, str] | None = None,
        delay: float = 0.0,
        *,
        forms: bool = True,
        tells: bool = True,
    ) -> None:
        """Be as new, on the same port: the arguments of the class, and all counts at nothing."""
        self._brain, self._delay, self._forms, self._tells = brain, delay, forms, tells
        self._faults: Faults = faults if callable(faults) else dict(faults or {}).get
        self.requests: dict[Protocol, int] = {"anthropic": 0, "openai": 0}
        self.prompts: list[int] = []
        self.bodies: deque[dict[str, Any]] = deque(maxlen=64)
        self.headers: deque[dict[str, str]] = deque(maxlen=64)
        self.faulted: dict[str, int] = defaultdict(int)
        self._answers: list[tuple[Protocol, Usage]] = []
        self._lost: set[int] = set()
        self._heads: set[tuple[Protocol, str, str]] = set()

    def __enter__(self) -> Loopback:
        self.open_port()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._closing.set()
        self.close_port()
        if self._errors and value is None:
            raise self._errors[0]

    @property
    def delivered(self) -> dict[Protocol, Usage]:
        """What was used by the answers that were sent whole."""
        return self._used(lost=False)

    @property
    def undelivered(self) -> dict[Protocol, Usage]:
        """What was used by the answers that were not; a service may bill them."""
        return self._used(lost=True)

    def _used(self, *, lost: bool) -> dict[Protocol, Usage]:
        used: dict[Protocol, Usage] = {"anthropic": Usage(usd=None), "openai": Usage(usd=None)}
        with self._lock:
            for number, (protocol, usage) in enumerate(self._answers):
                if (number in self._lost) == lost:
                    used[protocol] += usage
        return used

    def pause(self, seconds: float) -> bool:
        """Wait; True as soon as the service ends."""
        return self._closing.wait(seconds)

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def open_port(self) -> None:
        """Answer on the same port as before; does nothing while it is open."""
        if self._server is None:
            self._server = Server(("127.0.0.1", self._port), self._handle, self.pause)
            self._port = self._server.server_port
            serve = self._server.serve_forever
            threading.Thread(target=serve, args=(0.02,), daemon=True).start()

    def close_port(self) -> None:
        """Refuse connections and cut those that are open, as in an outage."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.cut()
            self._errors += server.errors

    def _handle(self, handler: Exchange, body: dict[str, Any]) -> None:
        protocol = _PATHS.get(handler.path)
        if protocol is None:
            handler.send(404, b"{}")
            return
        request = request_of(protocol, body)
        with self._lock:
            number = len(self.prompts)
            self.prompts.append(request.chars)
            self.requests[protocol] += 1
            self.bodies.append(body)
            self.headers.append({name.lower(): text for name, text in handler.headers.items()})
            fault = self._faults(number)
            if fault is None and request.form is not None and not self._forms:
                fault = "no-form"
            if fault is not None:
                self.faulted[fault] += 1
        self.pause(self._delay)
        if fault in _REFUSED:
            self._fail(handler, protocol, fault or "")
        else:
            self._answer(handler, protocol, body, request, fault)

    def _fail(self, handler: Exchange, protocol: Protocol, fault: str) -> None:
        after = {"retry-after": self._retry_after} if fault == "429-after" else {}
        status, body = error(protocol, "429" if after else fault)
        handler.send(status, json.dumps(body).encode(), **after)

    def _answer(
        self,
        handler: Exchange,
        protocol: Protocol,
        body: dict[str, Any],
        request: Request,
        fault: str | None,
    ) -> None:
        reply = self._thought(request, body["model"], fault)
        with self._lock:
            head = (protocol, body["model"], request.system)
            cached = tokens(request.system) if head in self._heads else 0
            self._heads.add(head)
        marked = protocol == "anthropic" and "cache_control" in json.dumps(body.get("system", ""))
        made = answer(protocol, request, reply, cached, marked)
        sent = {key: made.body[key] for key in made.body if self._tells or key != "usage"}
        # Booked before it is sent, so that whoever has the answer finds it in the count.
        with self._lock:
            place = len(self._answers)
            self._answers.append((protocol, made.usage))
            if fault in LOST:
                self._lost.add(place)
        if not handler.deliver(json.dumps(sent).encode(), fault if fault in LOST else None):
            with self._lock:
                self._lost.add(place)

    def _thought(self, request: Request, model: str, fault: str | None) -> Reply:
        if fault == "empty":
            return Reply("", model, Usage())
        if fault == "refusal":
            return Reply("I will not do that.", model, Usage(), "refusal")
        thought = self._brain(request)
        reply = Reply(thought, model, Usage()) if isinstance(thought, str) else thought
        if fault == "length":
            return Reply(reply.text[: len(reply.text) // 2], model, Usage(), "length")
        return reply
