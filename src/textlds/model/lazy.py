"""Results that are computed as they are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NoReturn, TypeVar

from textlds.errors import LazyResultError

T = TypeVar("T")


class LazyResults(Iterator[T], Generic[T]):
    """One result per text, computed a window at a time as they are taken; one pass, constant memory.

    Args:
        results: Yields them.
        single: How to get the result of one text, for the error that an index meets.
    """

    def __init__(self, results: Iterator[T], single: str) -> None:
        self._results, self._single = results, single

    def __repr__(self) -> str:
        return f"<results that have not been computed yet. {self._remedy}>"

    def __next__(self) -> T:
        return next(self._results)

    def __bool__(self) -> bool:
        return True  # not by len(), which it has not

    def __len__(self) -> NoReturn:
        raise LazyResultError(f"the results have no length until they are computed. {self._remedy}")

    def __getitem__(self, index: object) -> NoReturn:
        raise LazyResultError(f"the results are computed one after the other and have no index. {self._remedy}")

    @property
    def _remedy(self) -> str:
        return f"Take them in a for loop, or all at once with list(...); for one text: {self._single}."
