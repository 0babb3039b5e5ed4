"""All talk with a Docker engine: calls with a time-out, errors as ours, left-overs reaped.

Podman's service is one too, and so are rootless engines, if they keep the limits of a container.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import docker
import docker.errors
from docker.utils import kwargs_from_env

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes.address import address, knock
from aide.sandboxes.owner import Owner

RUN, JOB, OWNER, DEADLINE = "aide.run", "aide.job", "aide.owner", "aide.deadline"
NEEDED = {"MemoryLimit": "memory", "PidsLimit": "processes"}
NO_DEVICE = ("could not select device driver", "nvidia-container-cli")
PING_SECONDS = 3
HELLO_SECONDS = 20  # Podman looks up packages for its account of itself
CALL_SECONDS = 60
REGISTRY_SECONDS = 5
BUILD_SECONDS = 1800
AT_ONCE = 2
ADDRESSES = 4
"""The client keeps idle connections for so many of its addresses; each container has its own."""
REMOVE_SECONDS = 30.0
REMOVE_CALL_SECONDS = 10
FAULTS = (docker.errors.DockerException, OSError)  # those of requests are OSErrors

T = TypeVar("T")


class Engine:
    """A connection to the engine that the environment names, by default the local one.

    Attributes:
        address: where it listens.
        name: "docker" or "podman".
        version: its version.
        rootless: True if it runs as a user: then that user is root inside, and all others are
            nobody of this machine.

    Raises:
        UnavailableError: no engine answers, or the one that does keeps no limits.
    """

    def __init__(self) -> None:
        self.address, self._api = address(), "auto"
        try:
            knock(self.address)
            with contextlib.closing(self._client(HELLO_SECONDS)) as asker:
                self._api, info = asker.api.api_version, asker.info()
            self.client = self._client(CALL_SECONDS)
            self._remover = self._client(REMOVE_CALL_SECONDS)
        except FAULTS as error:
            raise UnavailableError(
                f"no Docker engine answers at {self.address}; "
                "start it, or use --sandbox bubblewrap"
            ) from error
        self.version = str(info["ServerVersion"])
        self.name = "podman" if "BuildahVersion" in info else "docker"
        self.rootless = is_rootless(info)
        self._check_limits(info)
        self.me = Owner.me()
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._removals = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="aide-remove")

    def _client(self, timeout: int) -> Any:
        settings = kwargs_from_env(environment={**os.environ, "DOCKER_HOST": self.address})
        return docker.DockerClient(
            **settings, timeout=timeout, version=self._api, num_pools=ADDRESSES
        )

    def _check_limits(self, info: dict[str, Any]) -> None:
        unkept = unkept_limits(info)
        if unkept:
            self.client.close()
            self._remover.close()
            raise UnavailableError(
                f"the engine at {self.address} does not limit {' and '.join(unkept)}, as a "
                "rootless one without cgroup version 2; start one that does, or use --sandbox "
                "bubblewrap"
            )

    def health(self) -> str:
        """Why it takes no calls now, or ""; within a few seconds."""
        try:
            knock(self.address)
            with contextlib.closing(self._client(PING_SECONDS)) as asker:
                asker.ping()
        except FAULTS:
            return f"no engine answers at {self.address}"
        return ""

    def start(self, image: str, name: str, options: dict[str, Any]) -> Any:
        """Create and start a container; one that cannot be started is removed.

        Raises:
            UnavailableError: the engine refuses what was asked for.
            SandboxError: the engine failed; or the name is taken (`NameTaken`).
        """
        with self._slots:
            try:
                knock(self.address)
                container = self.client.containers.create(image, name=name, **options)
            except FAULTS as error:
                if getattr(error, "status_code", None) == 409:
                    raise NameTaken(f"the container name {name} is taken") from error
                # One that was cut off, as by a restart, may have made it all the same.
                self.remove(name)
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
            knock(self.address)
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
            knock(self.address)
            container.kill()
        except docker.errors.APIError as error:
            # Podman answers 500 where Docker answers 409.
            if error.status_code not in (404, 409) and self.state(container).get("Running"):
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
                knock(self.address)
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
        """Remove the containers whose owner is dead; how many.

        The deadline decides where an owner cannot be looked up, as one of another machine: where
        it can be, a clock that jumps must not end a living run.

        In the background: a container that the engine cannot remove must not keep a run waiting.
        """
        try:
            knock(self.address)
            found = self.client.api.containers(all=True, filters={"label": OWNER})
        except FAULTS as error:
            raise _translated(error) from error
        dead = [entry["Id"] for entry in found if self._is_left_over(entry["Labels"])]
        for container_id in dead:
            self.remove(container_id)
        return len(dead)

    def _is_left_over(self, labels: dict[str, str]) -> bool:
        owner = Owner.parse(labels.get(OWNER, ""))
        if owner is None or owner.is_comparable(self.me):
            return owner is not None and owner.is_dead(self.me)
        deadline = labels.get(DEADLINE, "")
        return deadline.isdigit() and time.time() > int(deadline)

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
            knock(self.address)
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


def is_rootless(info: dict[str, Any]) -> bool:
    """True of an engine that runs as a user, by its own account; the two kinds word it apart."""
    return bool(info.get("Rootless")) or "name=rootless" in (info.get("SecurityOptions") or ())


def unkept_limits(info: dict[str, Any]) -> list[str]:
    """The needed limits that an engine, by its own account, does not keep."""
    if is_rootless(info) and str(info.get("CgroupVersion")) == "1":
        # Podman says of itself that it keeps them even here, where it cannot.
        return list(NEEDED.values())
    return [limit for key, limit in NEEDED.items() if info.get(key) is False]


def _translated(error: Exception) -> SandboxError | UnavailableError:
    """4xx is a fault of what was asked for and will not go away; anything else may."""
    status = getattr(error, "status_code", None)
    text = str(getattr(error, "explanation", None) or error).strip()
    if text.startswith("{"):
        text = str(json.loads(text).get("message", text))
    if (status is not None and 400 <= status < 500) or any(word in text for word in NO_DEVICE):
        return UnavailableError(f"the Docker engine refuses to run the sandbox: {text}")
    return SandboxError(f"the Docker engine failed: {text}")
