"""Contextual word-token vectors at the speed of static ones: a linear dynamical system for text.

    counts = textlds.count(["a.txt", "b.txt.gz"])       # one pass over the corpus
    model = textlds.fit(counts, state_size=200)         # needs no corpus
    sentence = model("The bank raised rates.")          # sentence.tokens, sentence.vectors

Names are imported when they are first used, so that ``import textlds`` takes a few milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from textlds._version import __version__

if TYPE_CHECKING:
    from textlds.api import count, fit, load, select, train
    from textlds.corpus.settings import CountSettings, TextSettings
    from textlds.corpus.vocabulary import Vocabulary
    from textlds.counts.lagcounts import LagCounts
    from textlds.errors import TextLDSError
    from textlds.integrations.embedder import Embedder
    from textlds.learn.settings import FitSettings
    from textlds.model.textlds import TextLDS
    from textlds.tagging.tagger import Tagger
    from textlds.vectors.recipes import Recipe

__all__ = [
    "CountSettings",
    "Embedder",
    "FitSettings",
    "LagCounts",
    "Recipe",
    "Tagger",
    "TextLDS",
    "TextLDSError",
    "TextSettings",
    "Vocabulary",
    "__version__",
    "count",
    "fit",
    "load",
    "select",
    "train",
]

_HOME = {
    "CountSettings": "textlds.corpus.settings",
    "FitSettings": "textlds.learn.settings",
    "Embedder": "textlds.integrations.embedder",
    "LagCounts": "textlds.counts.lagcounts",
    "Recipe": "textlds.vectors.recipes",
    "Tagger": "textlds.tagging.tagger",
    "TextLDS": "textlds.model.textlds",
    "TextLDSError": "textlds.errors",
    "TextSettings": "textlds.corpus.settings",
    "Vocabulary": "textlds.corpus.vocabulary",
    "count": "textlds.api",
    "fit": "textlds.api",
    "load": "textlds.model.loading",
    "select": "textlds.api",
    "train": "textlds.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'textlds' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
