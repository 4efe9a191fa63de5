"""Threads, under control: BLAS runs on one, and independent pieces of work run beside each other.

Two BLAS threads on a busy two-core machine can be ten times slower than one, and a sum that BLAS splits among threads
may come out with other bits. Here every product runs on one thread and the work is split above it, into pieces that
do not depend on how many threads there are: the same bits for any number of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from textlds.errors import ArgumentError

T = TypeVar("T")
R = TypeVar("R")


def default_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Validate a ``threads`` argument; None means all cores."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads={threads!r} must be a whole number of at least 1.")
    return threads or default_threads()


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
