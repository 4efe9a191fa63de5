"""Threads, under control: BLAS runs on one, and independent pieces of work run beside each other.

Two BLAS threads on a busy two-core machine can be ten times slower than one, and a sum that BLAS splits among threads
may come out with other bits. Here every product runs on one thread and the work is split above it, into pieces that
do not depend on how many threads there are: the same bits for any number of them.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from textlds.errors import ArgumentError

T = TypeVar("T")
R = TypeVar("R")
_FEW_BYTES = 1 << 20  # a millisecond of SHA-256: about what starting threads takes on a busy machine


def default_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Validate a ``threads`` argument; None means all cores."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads={threads!r} must be a whole number of at least 1.")
    return threads or default_threads()


def threads_for_bytes(size: int) -> int:
    """Return how many threads to sum so many bytes with, which gives up the GIL: for a few, one is faster than two."""
    return default_threads() if size > _FEW_BYTES else 1


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> Any:
    """Return the handle on BLAS's threads, looked up once: it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def parallel_map(function: Callable[[T], R], items: Iterable[T], *, threads: int) -> list[R]:
    """Apply a function to every item on several threads; results in the order of the items."""
    items = list(items)
    if threads == 1 or len(items) <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def lazy_map(function: Callable[[T], R], items: Iterable[T], *, threads: int) -> Iterator[R]:
    """Apply a function to items on several threads; results in the order of the items, few of them made ahead."""
    items = iter(items)
    first = list(itertools.islice(items, 2))
    if threads == 1 or len(first) < 2:  # a single item does not pay for a thread
        yield from map(function, itertools.chain(first, items))
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in itertools.chain(first, items):
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # nobody takes the rest
            for future in waiting:
                future.cancel()
