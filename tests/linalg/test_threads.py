from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from textlds.errors import ArgumentError
from textlds.linalg.threads import (
    check_threads,
    default_threads,
    lazy_map,
    one_blas_thread,
    parallel_map,
    threads_for_bytes,
)


def test_threads_are_checked():
    assert check_threads(None) == default_threads() >= 1
    assert check_threads(3) == 3
    for bad in (0, -1, 1.5, "2"):
        with pytest.raises(ArgumentError, match=r"threads=.* at least 1"):
            check_threads(bad)


def test_few_bytes_are_summed_without_threads():
    assert threads_for_bytes(0) == threads_for_bytes(1000) == 1
    assert threads_for_bytes(1 << 30) == default_threads()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    def slow_at_first(n):
        time.sleep(0.02 if n == 0 else 0)
        return n * n

    assert parallel_map(slow_at_first, iter(range(10)), threads=threads) == [n * n for n in range(10)]
    assert parallel_map(slow_at_first, [], threads=threads) == []


def test_work_runs_beside_other_work():
    both_are_here = threading.Barrier(2, timeout=900)
    assert len(parallel_map(lambda _: both_are_here.wait(), range(2), threads=2)) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_piece_is_raised(threads):
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda n: 1 // n, [2, 0, 1], threads=threads)


def test_blas_uses_one_thread_inside_and_what_it_used_before_after():
    def blas_threads():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() <= {1}
        assert 1 not in blas_threads() or default_threads() == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_lazy_map_keeps_the_order_and_reads_few_items_ahead(threads):
    taken = []

    def endless():
        for n in itertools.count():
            taken.append(n)
            yield n

    results = lazy_map(lambda n: (time.sleep(0.01 * (n % 2)), n * n)[1], endless(), threads=threads)
    assert taken == []
    assert list(itertools.islice(results, 5)) == [0, 1, 4, 9, 16]
    assert len(taken) <= 5 + threads + 1
    results.close()
    assert list(lazy_map(abs, [-1], threads=threads)) == [1]
    assert list(lazy_map(abs, [], threads=threads)) == []


def test_an_error_in_a_lazy_map_is_that_of_its_item():
    results = lazy_map(lambda n: 1 // n, [1, 0, 1, 1], threads=2)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
