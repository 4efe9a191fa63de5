"""Whether a folder is sound: every sum, and every invariant that the mathematics promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from textlds.errors import TextLDSError

_LARGEST = 1e15  # of any number: the square of a larger one, times some thousands, is not finite in float32
_OF_CONTEXTS = 1e6  # of a ridge regression between averages of vectors of length one: tens, in practice


def what_is_wrong(path: Path) -> list[str]:
    """Return what is wrong with a folder that textlds wrote, finished or not; nothing if it is sound."""
    from textlds.storage.folders import read_config

    try:
        if (path / "manifest.json").is_file():
            return list(_work(path))
        config = read_config(path)
        kind = config["format"].removeprefix("textlds-")
        return list(_CHECKS[kind](path, config)) if kind in _CHECKS else []
    except TextLDSError as error:
        return [str(error)]


def _counts(path: Path, config: dict[str, Any]) -> Iterator[str]:
    """Loading checks that columns rise within rows and counts are positive; here, that they are those of a text."""
    import numpy as np

    from textlds.counts.lagcounts import LagCounts

    counts = LagCounts.load(path)
    facts = {"tokens": counts.tokens, "pairs": list(counts.pairs), "rows": len(counts.vocabulary)}
    for name, value in facts.items():
        if config.get(name) != value:
            yield f"config.json says {name} = {config.get(name)!r}, but it is {value!r}."
    for k, lag in enumerate(counts.lags, start=1):
        # no word has another one k before or after it more often than it occurs
        for way, sums in (("after", lag.sum(axis=1)), ("before", lag.sum(axis=0))):
            more = np.flatnonzero(np.asarray(sums) > counts.unigrams * (1 + 1e-9))
            if len(more):
                word = counts.vocabulary.words[more[0]]
                yield f"lag {k}: {word!r} occurs {way} other words more often ({sums[more[0]]:,}) than at all."


def _model(path: Path, config: dict[str, Any]) -> Iterator[str]:
    import numpy as np

    from textlds.lds.params import check_stationary
    from textlds.model.files import ARRAYS, is_packed
    from textlds.model.packed import ARRAYS as PACKED
    from textlds.model.textlds import TextLDS
    from textlds.storage.arrays import read_arrays

    packed = is_packed(path)
    arrays = read_arrays(path / (PACKED if packed else ARRAYS))
    wrong = list(_numbers(arrays))
    yield from wrong
    if wrong:
        return  # nothing can be expected of it
    model = TextLDS.load(path)
    if not packed:
        for name in ("Q", "filt_filt", "smooth_smooth", "noise.M"):
            if name in arrays:
                skew = float(np.abs(arrays[name] - arrays[name].T).max(initial=0))
                if skew > 1e-9 * float(np.abs(arrays[name]).max(initial=0)):
                    yield f"{name} is not symmetric: two entries that should be equal differ by {skew:.3g}."
        check_stationary(arrays["A"])
    words = [*model.vocabulary.words[:100], "qzxqzx", "Unheard-of"]  # the last two by their spelling
    recipes = ["features"]
    if model.observations == "words" and not packed:
        recipes.append("paper")
    if any(name.startswith("meaning") for name in arrays):
        recipes.append("meaning")
    for recipe in recipes:
        names = model.recipe(recipe).parts
        ends = list(itertools.accumulate(map(model.dimensions, names)))
        for text in model.embed([words], recipe=recipe):  # raises where the noise or the gains make no sense
            parts = np.split(text.vectors, ends[:-1], axis=1)
            for name, part in zip(names, parts, strict=True):
                pieces = (
                    np.split(part, 2, axis=1) if name == "neighbours" else [part]
                )  # which are parts of unit vectors
                lengths = np.concatenate([np.linalg.norm(piece, axis=1) for piece in pieces])
                right = lengths < 1 + 1e-3 if name == "neighbours" else (np.abs(lengths - 1) < 1e-3) | (lengths == 0)
                if not np.all(right):
                    yield f"vectors of the part {name!r} in the recipe {recipe!r} are not of length one."


def _numbers(arrays: Mapping[str, Any]) -> Iterator[str]:
    """Look for numbers that no learning gives, although all shapes are right."""
    import numpy as np

    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating):
            largest = float(np.abs(array).max(initial=0))
            limit = _OF_CONTEXTS if name.endswith("meaning.contexts") else _LARGEST
            if not largest <= limit:  # not a number is not, either
                yield f"{name} has numbers up to {largest:.3g}, but learning gives none above {limit:.0e}."
    if "frequencies" in arrays:
        least, total = float(arrays["frequencies"].min(initial=0)), float(arrays["frequencies"].sum(dtype=np.float64))
        if not (least >= 0 and abs(total - 1) < 1e-3):
            yield f"frequencies are no distribution: the least is {least:.3g}, and their sum is {total:.6g}."


def _index(path: Path, config: dict[str, Any]) -> Iterator[str]:
    from textlds.search import OccurrenceIndex
    from textlds.search.building import MODEL

    index = OccurrenceIndex.load(path)
    index.check_texts()
    yield from _model(path / MODEL, {})


def _tagger(path: Path, config: dict[str, Any]) -> Iterator[str]:
    """Loading checks shapes; tagging, that the model is the one that it was trained with and scores are finite."""
    from textlds.tagging.files import BUNDLED
    from textlds.tagging.tagger import Tagger

    tagger = Tagger.load(path)
    list(tagger.tag([sorted(tagger.known)[:100]]))
    if (path / BUNDLED).is_dir():
        yield from _model(path / BUNDLED, {})


def _work(path: Path) -> Iterator[str]:
    from textlds.storage.work import read_work

    for name in read_work(path)[1].damaged():
        yield f"part {name} is damaged or missing; resuming makes it again."


_CHECKS: dict[str, Callable[[Path, dict[str, Any]], Iterator[str]]] = {
    "counts": _counts,
    "model": _model,
    "index": _index,
    "tagger": _tagger,
}
