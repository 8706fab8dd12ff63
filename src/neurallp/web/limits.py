"""Limits on concurrent work and time: requests over a limit are refused with a message, so none pile up."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

R = TypeVar("R")


@dataclass(frozen=True)
class Limits:
    """How much a server does at once, and for how long."""

    workers: int = 3  # requests that are worked on at once
    waiting: int = 200  # requests that wait or are worked on, of all clients
    per_client: int = 100  # and of one client
    seconds: float = 20.0  # until a request is given up


class BusyError(Exception):
    """A request that is refused for now; carries the status to answer with and when to try again."""

    def __init__(self, status: int, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


class Workers:
    """Threads that compute answers. A request that takes too long is given up, but keeps its thread."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="explorer")
        self._of_client: Counter[str] = Counter()

    async def run(self, client: str, work: Callable[[], R]) -> R:
        """Return the result of `work`, computed in a thread; raise `BusyError` over a limit."""
        self._admit(client)
        task = asyncio.get_running_loop().run_in_executor(self._pool, work)
        task.add_done_callback(lambda _: self._leave(client))
        try:
            return await asyncio.wait_for(asyncio.shield(task), self.limits.seconds)
        except TimeoutError:
            task.cancel()
            message = f"This takes longer than {self.limits.seconds:g} seconds. Ask for less."
            raise BusyError(503, message, 10) from None

    def _admit(self, client: str) -> None:
        if self._of_client[client] >= self.limits.per_client:
            raise BusyError(429, "You have too many requests at once. Try again in a second.", 1)
        if self._of_client.total() >= self.limits.waiting:
            raise BusyError(503, "The server has too many requests. Try again in a few seconds.", 3)
        self._of_client[client] += 1

    def _leave(self, client: str) -> None:
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
