"""HTTP on 127.0.0.1 for a service that can lose an answer on its way in every way there is."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOST = ("timeout", "drop", "truncated", "garbage", "slow-drip")
"""Faults by which an answer that was worked on does not arrive."""

Handle = Callable[["Exchange", dict[str, Any]], None]
"""Answers a POST with a JSON body."""


class Server(ThreadingHTTPServer):
    """Listens, one thread a connection.

    Args:
        address: host and port; port 0 for any.
        handle: answers the requests.
        pause: waits some seconds; True as soon as the service ends.

    Attributes:
        errors: what `handle` raised, other than for a client that went away.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], handle: Handle, pause: Callable[[float], bool]
    ) -> None:
        self.handle, self.pause = handle, pause
        self.errors: list[BaseException] = []
        self._open: set[socket.socket] = set()
        super().__init__(address, Exchange)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        """End the open connections; a handler that waits on one wakes up."""
        for connection in tuple(self._open):
            _shut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.errors.append(error)


class Exchange(BaseHTTPRequestHandler):
    """The requests of one connection."""

    protocol_version = "HTTP/1.1"
    # Head and body in one packet: apart they wait for each other's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self.send(200, json.dumps({"object": "list", "data": [{"id": "loopback"}]}).encode())
        else:
            self.send(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.handle(self, json.loads(body))

    def send(self, status: int, body: bytes, kind: str = "application/json", **more: str) -> None:
        """Send an answer; `more` are headers."""
        self._head(status, len(body), kind, **more)
        self.wfile.write(body)
        self.wfile.flush()

    def deliver(self, body: bytes, fault: str | None) -> bool:
        """Send an answer, or lose it as one of `LOST` says; True if all of it was sent."""
        lose = {
            "timeout": self._wait,
            "drop": self._end,
            "truncated": lambda: self._truncate(body),
            "garbage": lambda: self.send(200, b"<html>A proxy says hello.</html>", "text/html"),
            "slow-drip": self._drip,
        }
        if fault is not None:
            lose[fault]()
            return False
        try:
            self.send(200, body)
        except OSError:
            self.close_connection = True
            return False
        return True

    def _head(self, status: int, length: int, kind: str, **more: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(length), **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def _wait(self) -> None:
        """Hold the request until the client gives up or the port is closed."""
        self.connection.recv(1)
        self.close_connection = True

    def _truncate(self, body: bytes) -> None:
        self._head(200, len(body), "application/json")
        self.wfile.write(body[: len(body) // 2])
        self._end()

    def _drip(self) -> None:
        """Send a byte now and then until the client gives up or the service ends."""
        self._head(200, 1_000_000, "application/json")
        self.close_connection = True
        while not self.server.pause(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _end(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        _shut(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the tests' output is for the tests."""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
