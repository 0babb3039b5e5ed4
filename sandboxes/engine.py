"""All talk with a Docker engine: calls with a time-out, errors as ours, left-overs reaped."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import docker
import docker.errors
import requests

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes.owner import Owner

RUN, JOB, OWNER, DEADLINE = "aide.run", "aide.job", "aide.owner", "aide.deadline"
SYSTEM_SOCKET = "/var/run/docker.sock"
PING_SECONDS = 3
CALL_SECONDS = 60
REGISTRY_SECONDS = 5
BUILD_SECONDS = 1800
AT_ONCE = 2
REMOVE_SECONDS = 30.0
REMOVE_CALL_SECONDS = 10
FAULTS = (docker.errors.DockerException, requests.RequestException)

T = TypeVar("T")


class Engine:
    """A connection to the engine that the environment names, by default the local one.

    Raises:
        UnavailableError: no engine answers.
    """

    def __init__(self) -> None:
        self.address = _address()
        try:
            _knock(self.address)
            asker = self._client(PING_SECONDS)
            self.version = str(asker.version()["Version"])
            asker.close()
            self.client = self._client(CALL_SECONDS)
            self._remover = self._client(REMOVE_CALL_SECONDS)
        except (*FAULTS, OSError) as error:
            raise UnavailableError(
                f"no Docker engine answers at {self.address}; "
                "start it, or use --sandbox bubblewrap"
            ) from error
        self.me = Owner.me()
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._removals = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="aide-remove")

    def _client(self, timeout: int) -> Any:
        settings = {**os.environ, "DOCKER_HOST": self.address}
        return docker.from_env(timeout=timeout, environment=settings)

    def start(self, image: str, name: str, options: dict[str, Any]) -> Any:
        """Create and start a container; one that cannot be started is removed.

        Raises:
            UnavailableError: the engine refuses what was asked for.
            SandboxError: the engine failed; or the name is taken (`NameTaken`).
        """
        with self._slots:
            try:
                container = self.client.containers.create(image, name=name, **options)
            except docker.errors.APIError as error:
                if error.status_code == 409:
                    raise NameTaken(f"the container name {name} is taken") from error
                raise _translated(error) from error
            except FAULTS as error:
                raise _translated(error) from error
            try:
                container.start()
            except FAULTS as error:
                self.remove(container.id)
                raise _translated(error) from error
        return container

    def state(self, container: Any) -> dict[str, Any]:
        """The container's state as the engine knows it; empty if it is gone.

        Raises:
            SandboxError: the engine failed.
        """
        try:
            return dict(self.client.api.inspect_container(container.id)["State"])
        except docker.errors.NotFound:
            return {}
        except FAULTS as error:
            raise _translated(error) from error

    def logs(self, container: Any) -> str:
        """The last that its first process itself printed."""
        try:
            return str(container.logs(tail=5).decode("utf-8", "replace")).strip()
        except FAULTS:
            return ""

    def kill(self, container: Any) -> None:
        """End a container at once; one that has ended or is gone is left alone."""
        try:
            container.kill()
        except docker.errors.APIError as error:
            if error.status_code not in (404, 409):
                raise _translated(error) from error
        except FAULTS as error:
            raise _translated(error) from error

    def remove(self, container_id: str) -> None:
        """End and remove a container in the background."""
        try:
            self._removals.submit(self._remove, container_id)
        except RuntimeError:  # closed meanwhile
            self._remove(container_id)

    def _remove(self, container_id: str) -> None:
        deadline = time.monotonic() + REMOVE_SECONDS
        while time.monotonic() < deadline:
            try:
                self._remover.api.remove_container(container_id, force=True, v=True)
                return
            except docker.errors.APIError as error:
                # Gone; or being removed already, which an engine can also do for ever.
                if error.status_code in (404, 409):
                    return
                time.sleep(0.3)
            except FAULTS:
                # An engine that is busy or restarting.
                time.sleep(0.3)

    def reap(self) -> int:
        """Remove the containers whose owner is dead or whose deadline is over; how many.

        In the background: a container that the engine cannot remove must not keep a run waiting.
        """
        try:
            found = self.client.api.containers(all=True, filters={"label": OWNER})
        except FAULTS as error:
            raise _translated(error) from error
        dead = [entry["Id"] for entry in found if self._is_left_over(entry["Labels"])]
        for container_id in dead:
            self.remove(container_id)
        return len(dead)

    def _is_left_over(self, labels: dict[str, str]) -> bool:
        owner = Owner.parse(labels.get(OWNER, ""))
        deadline = labels.get(DEADLINE, "")
        expired = deadline.isdigit() and time.time() > int(deadline)
        return owner is not None and (owner.is_dead(self.me) or expired)

    def reaches(self, image: str) -> bool:
        """True if an image's registry answers the engine, within a few seconds."""
        asker = self._client(REGISTRY_SECONDS)
        try:
            asker.images.get_registry_data(image)
        except FAULTS:
            return False
        finally:
            asker.close()
        return True

    def build(self, tag: str, folder: Path, arguments: dict[str, str]) -> None:
        """Build an image from a folder with a Dockerfile.

        Raises:
            SandboxError, UnavailableError: a step failed.
        """
        options = {"rm": True, "forcerm": True, "timeout": BUILD_SECONDS}
        try:
            self.client.images.build(path=str(folder), tag=tag, buildargs=arguments, **options)
        except FAULTS as error:
            raise _translated(error) from error

    def ask(self, call: Callable[[], T]) -> T:
        """Make any other call of the client, with its errors as ours."""
        try:
            return call()
        except FAULTS as error:
            raise _translated(error) from error

    def close(self) -> None:
        """Wait for the removals."""
        self._removals.shutdown(wait=True)
        self._remover.close()
        self.client.close()


class NameTaken(SandboxError):
    """Another container has the name."""


def _address() -> str:
    """What the environment names, else the system's socket, else that of a rootless engine."""
    named, own = os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR", "")
    if named or Path(SYSTEM_SOCKET).exists() or not Path(own, "docker.sock").exists():
        return named or f"unix://{SYSTEM_SOCKET}"
    return f"unix://{own}/docker.sock"


def _knock(address: str) -> None:
    """Fail early on a socket that nobody listens on: the client would leave its end open."""
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(PING_SECONDS)
            link.connect(address.removeprefix("unix://"))


def _translated(error: Exception) -> SandboxError | UnavailableError:
    """4xx is a fault of what was asked for and will not go away; anything else may."""
    status = getattr(error, "status_code", None)
    text = str(getattr(error, "explanation", None) or error).strip()
    if text.startswith("{"):
        text = str(json.loads(text).get("message", text))
    if status is not None and 400 <= status < 500:
        return UnavailableError(f"the Docker engine refuses to run the sandbox: {text}")
    return SandboxError(f"the Docker engine failed: {text}")
