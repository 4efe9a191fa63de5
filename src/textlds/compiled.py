"""The one way in which this package compiles a kernel.

Kernels release the GIL, so that threads scale, and are cached on disk, so that only the first call on a machine
pays for compilation. ``fastmath`` is off: the order of operations is the one written down.

Where nothing can be kept (a read-only container, a user without a home, a full disk), kernels are compiled in memory,
and one warning says that every process compiles them again.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import caching
from numba.core.runtime.nrt import rtsys

from textlds.errors import TextLDSWarning

P = ParamSpec("P")
R = TypeVar("R")
_FunctionCache: Any = caching.FunctionCache  # numba publishes no types
_NullCache: Any = caching.NullCache


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with numba in nopython mode; its ``py_func`` attribute is the uncompiled twin."""
    return cast(Callable[P, R], _cached(numba.njit(nogil=True)(function)))


def kernel_fma(function: Callable[P, R]) -> Callable[P, R]:
    """Like :func:`kernel`, for sums of products: a multiplication and an addition may become one instruction."""
    return cast(Callable[P, R], _cached(numba.njit(nogil=True, fastmath={"contract"})(function)))


def _cached(dispatcher: Any) -> Any:
    """Do what ``njit(cache=True)`` does, where numba would refuse without a place to write as well."""
    if not hasattr(dispatcher, "_cache"):  # NUMBA_DISABLE_JIT: a plain function
        return dispatcher
    try:
        dispatcher._cache = _Cache(dispatcher.py_func)
    except (RuntimeError, OSError) as error:  # RuntimeError: no locator available
        dispatcher._cache = _NoCache(error)
    return dispatcher


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, whose failures cost time and nothing else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # Numba would make ready for compiling, which takes longer than everything else that a process does before
            # its first sentence. What was compiled before needs the runtime only: no kernel here hashes or is parallel.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # whatever unpickling a damaged file raises
            with contextlib.suppress(Exception):
                self.flush()  # begin a new index
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, a folder that was removed, a damaged index
            _say_once(error)


class _NoCache(_NullCache):  # type: ignore[misc]
    """Keeps nothing, and says so when there was something to keep."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def save_overload(self, sig: Any, data: Any) -> None:
        _say_once(self._reason)


_said = False


def _say_once(reason: Exception) -> None:
    global _said
    if not _said:
        _said = True
        warnings.warn(
            f"compiled code cannot be kept ({reason}), so every process compiles it again, which takes seconds to "
            f"minutes. Set NUMBA_CACHE_DIR to a folder that can be written.",
            TextLDSWarning,
            stacklevel=2,
        )
