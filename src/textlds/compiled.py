"""The one way in which this package compiles a kernel.

Kernels release the GIL, so that threads scale, and are cached on disk, so that only the first call on a machine
pays for compilation. ``fastmath`` is off: the order of operations is the one written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with numba in nopython mode; its ``py_func`` attribute is the uncompiled twin."""
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True)(function))


def kernel_fma(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`kernel`, for sums of products: a multiplication and an addition may become one instruction."""
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True, fastmath={"contract"})(function))
