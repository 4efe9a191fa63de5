"""Writes that really fail: the system refuses to make a file longer than a limit, as a full disk would."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let every write that would make a file longer than ``size`` bytes raise OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
