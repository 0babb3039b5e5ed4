"""A Dask cluster as the host sees it: its workers, and questions to them that never hang."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aide.errors import SandboxError, UnavailableError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10.0
ASK_SECONDS = 5.0


class Cluster:
    """The connection to a Dask scheduler.

    Args:
        target: the scheduler's address, or a client of the caller's own, which is not closed.
        seconds: how long to wait for the scheduler, and for a first worker.

    Raises:
        UnavailableError: Dask is not installed, or no scheduler or no worker is there.
    """

    def __init__(self, target: str | Client, seconds: float = CONNECT_SECONDS) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise UnavailableError(
                "Dask is not installed: run pip install 'aide-search[dask]'"
            ) from error
        if isinstance(target, Client) and target.asynchronous:
            raise UnavailableError(
                "a search cannot use an asynchronous Dask client: leave asynchronous=True out"
            )
        self._own, self._seconds = isinstance(target, str), seconds
        self._connecting = threading.Lock()
        given: Any = target  # most of Client has no types
        self._client = self._connect(given) if self._own else given
        self.address = str(given if self._own else given.scheduler.address)
        try:
            self._client.wait_for_workers(1, timeout=seconds)
        except OSError as error:
            self.close()
            raise UnavailableError(
                f"no worker has joined the Dask scheduler at {self.address} within {seconds:g} s: "
                f"start one with 'dask worker {self.address}'"
            ) from error

    def workers(self) -> Mapping[str, int]:
        """The workers that are connected: address to number of threads.

        Raises:
            SandboxError: the scheduler does not answer.
        """
        return dict(self._sync(self._workers, ASK_SECONDS))

    def ask(
        self,
        function: Callable[..., Any],
        *args: object,
        workers: Iterable[str] | None = None,
        seconds: float = ASK_SECONDS,
    ) -> Mapping[str, Any]:
        """Call a function on workers, beside what they run.

        Args:
            function: of a module that the workers have; on their event loop, so it may not wait.
            args: its arguments.
            workers: which; all by default.
            seconds: how long each may take.

        Returns:
            By address, what it returned; where it failed, the exception.

        Raises:
            SandboxError: the scheduler does not answer.
        """
        answers: Mapping[str, Any] = self._sync(
            lambda: self._ask_all(function, args, workers, seconds), seconds + ASK_SECONDS
        )
        return answers

    def ask_one(
        self, worker: str, function: Callable[..., Any], *args: object, seconds: float
    ) -> Any:
        """As `ask`, of one worker.

        Raises:
            SandboxError: it, or the scheduler, does not answer, or the function failed.
        """
        answer = self.ask(function, *args, workers=[worker], seconds=seconds).get(worker)
        if isinstance(answer, Exception):
            raise SandboxError(f"the Dask worker {worker} failed: {answer}") from answer
        return answer

    def submit(
        self, function: Callable[..., Any], order: object, key: str, resources: Mapping[str, float]
    ) -> Any:
        """Have a function run as a task on any worker that has the resources; its future.

        Raises:
            SandboxError: the connection is lost.
        """
        self._check()
        return self._client.submit(
            function, order, key=key, pure=False, retries=0, resources=dict(resources) or None
        )

    def read(self, name: list[str]) -> str:
        """What is noted on the scheduler under a name, "" if nothing is.

        Raises:
            SandboxError: the scheduler does not answer.
        """

        async def get() -> object:
            return await self._client.get_metadata(name, default="")

        return str(self._sync(get, ASK_SECONDS))

    def note(self, name: list[str], value: object) -> None:
        """Note something on the scheduler.

        Raises:
            SandboxError: the scheduler does not answer.
        """

        async def put() -> None:
            await self._client.set_metadata(name, value)

        self._sync(put, ASK_SECONDS)

    def reconnect(self) -> None:
        """Connect again, if the client has given up and is our own.

        Raises:
            UnavailableError: nobody answers.
        """
        with self._connecting:
            if self._own and self._client.status == "closed":
                self._client = self._connect(self.address)

    def close(self) -> None:
        """End the connection, if it is our own."""
        if self._own:
            with contextlib.suppress(OSError):
                self._client.close(timeout=ASK_SECONDS)

    def _check(self) -> None:
        if self._client.status != "running":
            raise SandboxError(f"the connection to the Dask scheduler at {self.address} is lost")

    def _sync(self, function: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        self._check()
        try:
            return self._client.sync(function, callback_timeout=seconds)
        # Dask raises RuntimeError where the client is closed while it is being used.
        except (OSError, RuntimeError) as error:
            raise SandboxError(
                f"the Dask scheduler at {self.address} does not answer: {error or 'too late'}"
            ) from error

    async def _workers(self) -> Mapping[str, int]:
        workers: Mapping[str, int] = await self._client.nthreads()
        return workers

    async def _ask_all(
        self,
        function: Callable[..., Any],
        args: tuple[object, ...],
        workers: Iterable[str] | None,
        seconds: float,
    ) -> Mapping[str, Any]:
        names = list(await self._workers() if workers is None else workers)
        # One by one, so that a worker that hangs does not keep back what the others say.
        answers = await asyncio.gather(
            *(self._ask(name, function, args, seconds) for name in names)
        )
        return dict(zip(names, answers, strict=True))

    async def _ask(
        self, worker: str, function: Callable[..., Any], args: tuple[object, ...], seconds: float
    ) -> Any:
        try:
            async with asyncio.timeout(seconds):
                answers = await self._client.run(
                    function, *args, workers=[worker], on_error="return"
                )
        except TimeoutError:
            return TimeoutError(f"it did not answer within {seconds:g} s")
        except OSError as error:
            return error
        return answers[worker]

    def _connect(self, address: str) -> Any:
        from distributed import Client

        make: Any = Client
        try:
            return make(address, timeout=self._seconds, set_as_default=False, name="aide")
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"no Dask scheduler answers at {address}: start one with 'dask scheduler', or put "
                "the address right"
            ) from error
