"""A Docker engine that can go away, or hang in its removals: the rest goes to the real one."""

from __future__ import annotations

import http.client
import json
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

ENGINE = "/var/run/docker.sock"


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(ENGINE)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EngineProxy

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = _Connection("engine")
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        self._answer(answer.status, answer.read(), answer.headers.get("Content-Type", ""))
        connection.close()

    do_HEAD = do_POST = do_GET

    def do_DELETE(self) -> None:
        if not isinstance(self.server, StuckEngine):
            return self.do_GET()
        self.server.removals += 1
        if self.server.removals == 1:
            self.server.closing.wait(60)
        fault = json.dumps({"message": "removal of container x is already in progress"})
        return self._answer(409, fault.encode(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


class EngineProxy(socketserver.ThreadingUnixStreamServer):
    """Listens on a socket until it is closed; then nobody does."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), _Handler)
        self.closing = threading.Event()
        self.url = f"unix://{path}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has given up is what this server is for."""


class StuckEngine(EngineProxy):
    """The first removal hangs, each later one is "in progress"."""

    removals = 0
