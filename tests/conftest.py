"""Settings that every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

# The first example pays for compilation, which no deadline should judge.
settings.register_profile("textlds", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("textlds")


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Matrices here are small: a second BLAS thread only costs, and would change the order of sums."""
    with threadpool_limits(limits=1):
        yield
