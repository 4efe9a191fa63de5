"""The queue in front of the engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from textlds.serve.batching import Batcher
from textlds.serve.metrics import Metrics
from textlds.serve.requests import Limits, RequestError


def test_waiting_jobs_of_a_kind_are_joined_and_each_gets_its_own() -> None:
    seen: list[list[int]] = []
    begun, gate = threading.Event(), threading.Event()

    def squares(items: Sequence[int]) -> list[int]:
        begun.set()
        gate.wait(900)
        seen.append(list(items))
        return [item * item for item in items]

    async def run() -> list[Sequence[int]]:
        batcher = Batcher(Limits(), Metrics())
        await batcher.start()
        first = asyncio.create_task(batcher.run("a", squares, [1, 2], 2))
        while not begun.is_set():  # it is at work then, and the others gather
            await asyncio.sleep(0.01)
        rest = [
            asyncio.create_task(batcher.run(kind, squares, items, len(items)))
            for kind, items in (("a", [3]), ("b", [4, 5]), ("a", [6, 7]), ("b", []))
        ]
        await asyncio.sleep(0)
        gate.set()
        results = [await task for task in (first, *rest)]
        await batcher.stop()
        return results

    assert asyncio.run(run()) == [[1, 4], [9], [16, 25], [36, 49], []]
    assert seen == [[1, 2], [3, 6, 7], [4, 5]]


def test_a_faulty_job_fails_alone() -> None:
    def inverses(items: Sequence[int]) -> list[float]:
        return [1 / item for item in items]

    async def run() -> list[object]:
        batcher = Batcher(Limits(), Metrics())
        jobs = [batcher.run("a", inverses, items, 1) for items in ([1], [0], [2])]
        tasks = [asyncio.create_task(job) for job in jobs]
        await asyncio.sleep(0)
        await batcher.start()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await batcher.stop()
        return list(results)

    good, bad, better = asyncio.run(run())
    assert (good, better) == ([1.0], [0.5])
    assert isinstance(bad, ZeroDivisionError)


def test_time_and_length_of_the_queue_are_bounded() -> None:
    async def run() -> tuple[RequestError, RequestError]:
        batcher = Batcher(Limits(queue=1, seconds=0.05), Metrics())  # not started: nothing is ever done
        waiting = asyncio.create_task(batcher.run("a", list, [1], 1))
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as full:
            await batcher.run("a", list, [2], 1)
        with pytest.raises(RequestError) as late:
            await waiting
        return full.value, late.value

    full, late = asyncio.run(run())
    assert (full.status, full.headers) == (429, {"Retry-After": "1"})
    assert late.status == 504


def test_a_job_that_was_given_up_is_not_worked_on() -> None:
    seen: list[int] = []

    def note(items: Sequence[int]) -> Sequence[int]:
        seen.extend(items)
        return items

    async def run() -> None:
        batcher = Batcher(Limits(seconds=0.05), Metrics())
        with pytest.raises(RequestError):
            await batcher.run("a", note, [1], 1)
        await batcher.start()
        assert await batcher.run("a", note, [2], 1) == [2]
        await batcher.stop()

    asyncio.run(run())
    assert seen == [2]
