"""The errors a user can meet. Each message gives the value, the limit and the remedy.

Every error derives from :class:`TextLDSError` and, where a builtin exception says the same, from that too, so
that ``except ValueError`` and ``except FileExistsError`` keep working as people expect.
"""

from __future__ import annotations

import difflib
import errno
import math
from collections.abc import Iterable
from typing import Any

REMEDY = "Restore it from a copy, or write it again."  # for a damaged folder
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # errors of the system that only writing can meet


class TextLDSError(Exception):
    """The base of every error that textlds raises on purpose."""


class TextLDSWarning(UserWarning):
    """Something that costs time or accuracy but does not stop the work."""


class ArgumentError(TextLDSError, ValueError):
    """An argument is outside what the function accepts."""


class CorpusError(TextLDSError, ValueError):
    """The text cannot be used: empty, unreadable, badly encoded, a line too long."""


class CorpusNotFoundError(CorpusError, FileNotFoundError):
    """No file is at the path (or matches the pattern) given as corpus."""


class EncodingError(CorpusError):
    """Bytes that are not UTF-8, with the file and the offset at which they occur."""


class CountsError(TextLDSError, ValueError):
    """Counts that cannot be combined, or not into valid counts."""


class LazyResultError(TextLDSError, TypeError):
    """Results that are computed as they are taken were asked for their length or for one by its index."""


class RankError(TextLDSError, ValueError):
    """The data does not support a state of the size asked for."""


class NotStationaryError(TextLDSError, ArithmeticError):
    """The transition matrix has a spectral radius of one or more."""


class NoiseError(TextLDSError, ArithmeticError):
    """The noise covariance is not positive semidefinite and cannot be made so."""


class ConvergenceError(TextLDSError, ArithmeticError):
    """A fixed-point equation did not converge."""


class NotFiniteError(TextLDSError, ArithmeticError):
    """A model gives numbers that are not finite: its own are too large or too small."""


class UnknownWordError(TextLDSError, KeyError):
    """A word that the vocabulary does not hold."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class FormatError(TextLDSError, ValueError):
    """A counts or model folder that is incomplete, altered, or of another version."""


class OutputExistsError(TextLDSError, FileExistsError):
    """The output is there already and overwriting was not asked for."""


class HubError(TextLDSError, OSError):
    """The Hugging Face Hub did not give or take a model."""


class ClusterError(TextLDSError, RuntimeError):
    """A cluster did not finish the work: its workers are gone, or died of it."""


class MissingExtraError(TextLDSError, ImportError):
    """A feature needs an optional library that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional library. Install it with:  pip install 'textlds[{extra}]'")
        self._arguments = feature, extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), self._arguments  # an error of a worker process reaches its user


def check_choice(name: str, value: object, options: Iterable[object]) -> None:
    """Refuse a value that is not one of the options, and name the nearest of them."""
    known = tuple(options)
    if value in known:
        return
    words = [option for option in known if isinstance(option, str)]
    near = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ArgumentError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}.{hint}")


def check_finite(array: Any, what: str) -> None:
    """Raise NotFiniteError if an array holds NaN or an infinity."""
    if not math.isfinite(array.min(initial=0)) or not math.isfinite(array.max(initial=0)):
        raise NotFiniteError(
            f"{what} of this model are not finite in {array.dtype}: its parameters are too large or too small. "
            f"Try dtype='float64', or fit with a larger pseudocount."
        )
