"""A calibrated language model: what is stored with a model so that it gives probabilities of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from textlds.errors import FormatError
from textlds.language.contexts import LAGS
from textlds.language.mixture import Mixture
from textlds.language.ngrams import KneserNey
from textlds.language.readout import Readout
from textlds.linalg.types import Array, Vector

Link = Literal["log-linear", "clipped"]


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """The parts of a calibrated language model and their weights.

    Attributes:
        counts: Occurrences of each word, (V,): for the unigram and for the buckets of the weights.
        mixture: The weights of unigram, state (the readout, or the clipped link without one) and bigrams.
        readout: The log-linear readout, or None for the clipped link.
        bigrams: Of lags 1, 2, as far as counts were given.
        facts: How it was calibrated, as JSON.
    """

    counts: Vector
    mixture: Mixture
    readout: Readout | None = None
    bigrams: tuple[KneserNey, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def unigram(self) -> Vector:
        """Frequencies of all words, positive, (V,)."""
        return smoothed_unigram(self.counts)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name, to be stored."""
        arrays: dict[str, Array] = {
            "counts": self.counts,
            "edges": self.mixture.edges,
            "weights": self.mixture.weights,
        }
        if self.readout is not None:
            arrays |= {f"readout.{name}": array for name, array in vars(self.readout).items()}
        for bigram in self.bigrams:
            for name in _BIGRAM:
                arrays[f"lag{bigram.column + 1}.{name}"] = getattr(bigram, name)
        return arrays

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Array], facts: Any, *, size: int, h: int) -> LanguageModel:
        """Put a stored model together again; anything that does not fit is a FormatError."""
        arrays = {name: np.array(array) for name, array in stored.items()}  # the files may go away
        if not isinstance(facts, dict):
            raise FormatError("the facts of a language model must be a JSON object.")
        lags = [lag for lag in LAGS if f"lag{lag}.base" in arrays]
        expected = {"counts", "edges", "weights", *(f"lag{lag}.{name}" for lag in lags for name in _BIGRAM)}
        with_readout = "readout.classes" in arrays
        if with_readout:
            expected |= {f"readout.{name}" for name in Readout.__dataclass_fields__}
        if set(arrays) != expected:
            raise FormatError(f"a language model holds {sorted(arrays)} instead of {sorted(expected)}.")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise FormatError("a language model holds values that are not finite.")
        _check_shapes(arrays, lags, size, h, with_readout=with_readout)
        readout = Readout(**{n: arrays[f"readout.{n}"] for n in Readout.__dataclass_fields__}) if with_readout else None
        bigrams = tuple(KneserNey(lag - 1, **{name: arrays[f"lag{lag}.{name}"] for name in _BIGRAM}) for lag in lags)
        return cls(arrays["counts"], Mixture(arrays["edges"], arrays["weights"]), readout, bigrams, facts)


_ROUNDING = 1e-3  # by which probabilities may differ from one in sum
_BIGRAM = ("pointers", "later", "values", "left", "base")


def smoothed_unigram(counts: Vector) -> Vector:
    """Return frequencies in which no word has none: half an occurrence of every word that occurs is shared by all.

    Where all words occur this changes nothing but by the share they get back, (n − ½ + ½) / T.
    """
    seen = counts > 0
    taken = np.minimum(counts, 0.5)
    spread = np.where(seen, counts - taken, 0) + taken.sum() / len(counts)
    unigram: Vector = spread / spread.sum()
    return unigram


def _check_shapes(arrays: Mapping[str, Array], lags: list[int], size: int, h: int, *, with_readout: bool) -> None:
    parts = 2 + len(lags)
    buckets = len(arrays["edges"]) + 1
    shapes: dict[str, tuple[int, ...]] = {"counts": (size,), "weights": (buckets, parts)}
    if with_readout:
        classes = len(arrays["readout.class_bias"])
        shapes |= {
            "readout.classes": (size,),
            "readout.class_weights": (classes, 2 * h),
            "readout.word_weights": (size, 2 * h),
            "readout.word_bias": (size,),
        }
        used = np.unique(arrays["readout.classes"])
        if not np.array_equal(used, np.arange(classes)):
            raise FormatError(f"the readout's words belong to {len(used)} classes, but it has {classes}.")
    for lag in lags:
        pointers, later = arrays[f"lag{lag}.pointers"], arrays[f"lag{lag}.later"]
        shapes |= {f"lag{lag}.pointers": (size + 1,), f"lag{lag}.left": (size,), f"lag{lag}.base": (size,)}
        shapes[f"lag{lag}.values"] = later.shape
        ends = pointers[[0, -1]].tolist() if pointers.shape == (size + 1,) else None
        if ends != [0, len(later)] or (np.diff(pointers) < 0).any():
            raise FormatError(f"the bigrams of lag {lag} do not say where the entries of each word begin.")
        if len(later) and (later.min() < 0 or later.max() >= size):
            raise FormatError(f"the bigrams of lag {lag} name a word that the vocabulary does not have.")
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise FormatError(f"{name} of a language model is of shape {arrays[name].shape} instead of {shape}.")
    if (arrays["counts"] < 0).any():
        raise FormatError("a language model holds negative counts of words.")
    for lag in lags:
        base, left, values = (arrays[f"lag{lag}.{name}"] for name in ("base", "left", "values"))
        sums = np.bincount(np.repeat(np.arange(size), np.diff(arrays[f"lag{lag}.pointers"])), values, minlength=size)
        kinds = (base, left + _ROUNDING, values)
        if (
            any((some < 0).any() for some in kinds)
            or abs(base.sum() - 1) > _ROUNDING
            or (np.abs(left + sums - 1) > _ROUNDING).any()
        ):
            raise FormatError(f"the bigrams of lag {lag} are not probabilities.")
    weights = arrays["weights"]
    if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1) or not (weights[:, 0] > 0).all():
        raise FormatError("the weights of a language model are not probabilities.")
