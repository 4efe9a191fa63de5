"""The queue in front of the engine: requests that wait are answered together.

One thread works for all requests, so that a batch has the machine to itself (the engine uses as many threads as it is
given). While it works, requests gather; the next batch takes those of the same kind that wait, up to a number of
characters. A lone request never waits for company.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from textlds.serve.metrics import Metrics
from textlds.serve.requests import Limits, RequestError

Work = Callable[[Sequence[Any]], Sequence[Any]]

_BATCH = 1 << 19  # characters: some 100,000 tokens, a fraction of a second


@dataclass(eq=False)
class _Job:
    """Items to be worked on together with those of other jobs of the same kind."""

    kind: Hashable
    work: Work
    items: Sequence[Any]
    size: int
    done: asyncio.Future[Sequence[Any]]
    since: float = field(default_factory=time.monotonic)


_Settled = tuple[_Job, Sequence[Any] | None, Exception | None]


class Batcher:
    """Runs jobs one batch at a time. Start and stop it inside an event loop.

    Args:
        limits: How long the queue may be, and how long a job may take.
        metrics: Where to count.
    """

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._waiting: deque[_Job] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="textlds-engine")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._loop())

    async def stop(self) -> None:
        """Finish what is waiting, then stop."""
        while self._waiting:
            await asyncio.sleep(0.01)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._pool.shutdown(wait=True)

    async def run(self, kind: Hashable, work: Work, items: Sequence[Any], size: int) -> Sequence[Any]:
        """Return ``work(items)``, one result per item, computed together with waiting jobs of the same kind.

        Args:
            kind: Jobs of equal kinds may be joined; their ``work`` must be the same.
            work: From items to results, in the engine's thread.
            items: What to work on.
            size: Characters, about.
        """
        limits = self._limits
        if len(self._waiting) >= limits.queue or (self._waiting and self._size + size > limits.queue_bytes):
            raise RequestError(
                429, "Overloaded", f"{len(self._waiting):,} requests are waiting. Try again in a second.",
                {"Retry-After": "1"},
            )  # fmt: skip
        job = _Job(kind, work, items, size, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._size += size
        self._measure()
        self._wake.set()
        try:
            return await asyncio.wait_for(job.done, limits.seconds)
        except TimeoutError as error:
            raise RequestError(
                504, "Timeout", f"no answer within {limits.seconds:g} seconds. Send less text, or try again later.",
            ) from error  # fmt: skip

    async def _loop(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            batch = self._take()
            if batch:
                await loop.run_in_executor(self._pool, _work, batch, loop)
                self._metrics.batch(len(batch))

    def _take(self) -> list[_Job]:
        """Take the job that has waited longest and others of its kind; the order of the rest stays."""
        batch: list[_Job] = []
        rest: deque[_Job] = deque()
        size = 0
        while self._waiting:
            job = self._waiting.popleft()
            if job.done.done():  # its client has left, or its time is up
                self._size -= job.size
            elif not batch or (job.kind == batch[0].kind and size + job.size <= _BATCH):
                batch.append(job)
                size += job.size
                self._size -= job.size
            else:
                rest.append(job)
        self._waiting = rest
        self._measure()
        return batch

    def _measure(self) -> None:
        self._metrics.queue = len(self._waiting)


def _work(batch: list[_Job], loop: asyncio.AbstractEventLoop) -> None:
    """Work on a batch in the engine's thread; if it fails, on each job alone, so that only the faulty one does."""
    try:
        results = batch[0].work([item for job in batch for item in job.items])
        begin = 0
        answers: list[_Settled] = []
        for job in batch:
            answers.append((job, results[begin : begin + len(job.items)], None))
            begin += len(job.items)
        loop.call_soon_threadsafe(_settle, answers)
    except Exception as error:
        if len(batch) == 1:
            failed: list[_Settled] = [(batch[0], None, error)]
            loop.call_soon_threadsafe(_settle, failed)
            return
        for job in batch:
            _work([job], loop)


def _settle(answers: list[_Settled]) -> None:
    for job, result, error in answers:
        if job.done.done():
            continue
        if error is not None:
            job.done.set_exception(error)
        elif result is not None:
            job.done.set_result(result)
