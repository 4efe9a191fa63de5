"""A model as integrations take it: the object, the path of its folder, or the name of an installed one."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from textlds.errors import ArgumentError
from textlds.model.installed import find_model
from textlds.model.textlds import TextLDS
from textlds.storage.folders import CONFIG

ModelLike = TextLDS | str | os.PathLike[str]


def load(path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None) -> TextLDS:
    """Read a model from a folder, or an installed one by its name.

    Args:
        path: A folder that ``model.save`` or ``textlds fit`` wrote, or the name of an installed model, such as
            ``"en"`` (``textlds models`` lists them).
        tokenizer: The callable the corpus was tokenised with, if it was not a built-in one.
    """
    return TextLDS.load(path, tokenizer=tokenizer)


def open_model(model: ModelLike) -> TextLDS:
    """Return the model itself, or the one in a folder.

    The last folders read stay in memory: an estimator is cloned for every candidate and fold of a grid search, and
    reading a model of 100,000 words takes seconds. A folder that was overwritten is read again.
    """
    if isinstance(model, TextLDS):
        return model
    if not isinstance(model, str | os.PathLike):
        raise ArgumentError(f"model is a TextLDS or the path of a model folder, not {type(model).__name__}.")
    path = Path(os.path.abspath(find_model(model)))
    try:
        stamp = (path / CONFIG).stat()
    except OSError:
        return TextLDS.load(model)  # which says what is wrong
    return _read(path, (stamp.st_mtime_ns, stamp.st_ino, stamp.st_size))


@functools.lru_cache(maxsize=2)
def _read(path: Path, stamp: tuple[int, int, int]) -> TextLDS:
    return TextLDS.load(path)
