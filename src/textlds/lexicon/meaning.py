"""Meaning: what a word is about, in d numbers, from the counts of all lags alone.

Words near each other in a text are about the same things, on whichever side they occur. With M of
:mod:`textlds.lexicon.cooccurrences` over the K most frequent words and its sums r = M 1:

    S = (diag(r)^-½ M diag(r)^-½)^q = Σ_i λ_i u_i u_iᵀ      the power taken of every entry
    m(w) = (c_i |λ_i|^⅛ u_i(w))_{i = 2..d+1}, scaled to length one      c_i = 1 if λ_i > 0, else 0.7

q is ⅓; of little text, whose counts are small and say less of their size, ½. u_1 only says how frequent a word is,
and is left out. Where λ is negative, u tells kinds of words that alternate, such
as function words and the others, rather than what they are about, and counts less. Words beyond the first K are folded
in by one product with their own rows of M: u_i = S u_i / λ_i. By default the two nearest words on either side count
fully and those beyond less and less, s_k = 1 / max(1, k − 1).

A rare word's vector is shrunk towards the one that its spelling predicts (:mod:`textlds.lexicon.spelling`):

    meaning(w) = m(w) + n₁ / (n_w + n₁) · x(w)ᵀ G, scaled to length one

and a word that was never seen is inferred from where it occurs: averages of the words near it, rare ones counting more,

    c(w) = Σ_v M_wv (a(v) meaning(v) − μ) / r_w        a(v) = a / (a + f_v),  μ = Σ_v f_v a(v) meaning(v)

predict meaning(w) by a ridge regression over the K words, which needs M alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.vocabulary import Vocabulary
from textlds.lexicon.cooccurrences import cooccurrences
from textlds.lexicon.spelling import STEPS, fit_spelling
from textlds.lexicon.unknown import spelt
from textlds.lexicon.windows import window_weights
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.krylov import krylov_products, leading_eigenvectors
from textlds.linalg.sparse import CountMatrix
from textlds.linalg.sphere import on_sphere
from textlds.linalg.tall import Tall, gram
from textlds.linalg.types import Vector

Root = Callable[[NDArray[Any]], NDArray[Any]]  # of every number
CORE = 50_000  # K
# Chosen by the sum of the correlations with five sets of pairs of words, and with SCWS, words in context, on one
# half of each. Square roots with |λ|^¼ have 248.0 and 65.1, cube roots 251.1 and 65.1, cube roots with |λ|^⅛ 253.3
# and 64.7, with what alternates counting less 255.2 and 65.0. Worse: fifth roots (244.7 where cube roots have
# 251.1), positive pointwise mutual information (245.6), leaving out the first ten columns (SCWS 62.1), profiles
# beside these vectors. Eigenvectors from 15 panels instead of 11 and the window that counts near words more add 1.2
# each (252.8, 254.0, 255.2 over frequent words) and 0.3 in context. The sums with square and with cube roots at 1, 2,
# 5, 10, 20 and 40 million tokens: 182 and 167, 190 and 189, 218 and 213, 229 and 229, 239 and 238, 245 and 249.
_LITTLE = 20e6  # tokens, up to which q is ½
_POWER = 0.125  # of |λ|
_ALTERNATING = 0.7  # c of a negative λ
_RARE = 20.0  # n₁
TRUST = 100.0  # occurrences at which the vector of a word counts half as much as one that is certain
_RIDGE = 0.01  # of the regression from contexts, in units of the mean square of a number of c(w)
_NOTHING = 1e-5  # of the largest: rounding
HALF = 1e-3  # a: the frequency at which a word counts half as much as a rare one
_BLOCK = 4096  # rows


@dataclass(frozen=True, eq=False)
class Meaning:
    """What words are about.

    Attributes:
        vectors: (V, d), of length one; zeros for a word of which nothing is known.
        spelling: G, (B, d): the same for any word, from the features of its spelling.
        contexts: (d, d): from the average of the words around a new word to its vector.
    """

    vectors: Tall
    spelling: Tall
    contexts: Tall

    def truncated(self, size: int) -> Meaning:
        """Return the same with the first dimensions only, those of the largest eigenvalues."""
        if size >= self.vectors.shape[1]:
            return self
        return Meaning(on_sphere(self.vectors[:, :size]), self.spelling[:, :size], self.contexts[:size, :size])


def steps(size: int) -> int:
    """Return how often ``make_meaning`` reports a step."""
    return krylov_products(size + 1) + STEPS + 3


def word_weights(frequencies: Vector) -> NDArray[np.float32]:
    """Return a(v) of every word, (V,): what it counts for what a passage is about."""
    return (HALF / (HALF + frequencies)).astype(np.float32)


def passage_mean(vectors: Tall, frequencies: Vector) -> NDArray[np.float32]:
    """Return μ = Σ_v f_v a(v) meaning(v), (d,): what an average word adds to a passage."""
    return passage_weights(frequencies) @ vectors


def passage_weights(frequencies: Vector) -> NDArray[np.float32]:
    """Return f_v a(v), (V,)."""
    return (frequencies * word_weights(frequencies)).astype(np.float32)


def make_meaning(
    lags: Sequence[Any],
    unigrams: NDArray[Any],
    vocabulary: Vocabulary,
    size: int,
    *,
    window: str = "near",
    rng: np.random.Generator,
    threads: int,
    on_step: Callable[[], None] = lambda: None,
) -> Meaning:
    """Learn the meaning of words from their counts.

    About 3.4 · size / 64 sparse products with 64 columns. Memory: 8 bytes an entry of M over the K words, 18 · K · size
    and 8 · V · size bytes.

    Args:
        lags: N_1..N_R.
        unigrams: n, (V,).
        vocabulary: The words.
        size: d.
        window: s, as :mod:`textlds.lexicon.windows` reads it.
        rng: For the panel to start from.
        threads: How many; the result is the same.
        on_step: Called ``steps(size)`` times.
    """
    if len(lags) == 1:
        warnings.warn(
            "the counts have lag 1 alone, so that meaning comes from neighbouring words only; count with max_lag=7 for "
            "words that are about the same things.",
            stacklevel=2,
        )
    known = vocabulary.n_types
    core, shape = min(CORE, known), window_weights(window, len(lags))
    counts = cooccurrences(lags, shape, rows=(0, core), columns=core, threads=threads)
    on_step()
    vectors = np.zeros((len(vocabulary), size), np.float32)
    root = np.sqrt if unigrams.sum() <= _LITTLE else np.cbrt
    _factorise(counts, vectors, lags, shape, root, rng=rng, threads=threads, on_step=on_step)
    words = vocabulary.words[:known]
    spelling = fit_spelling(words, unigrams[:known], vectors, threads=threads, on_step=on_step)
    for start in range(0, known, _BLOCK):
        rows = slice(start, min(start + _BLOCK, known))
        leaning = (_RARE / (unigrams[rows] + _RARE)).astype(np.float32)[:, None]
        vectors[rows] = on_sphere(vectors[rows] + leaning * spelt(words[rows], spelling, vocabulary))
    frequencies = unigrams / max(unigrams.sum(), 1)
    contexts = fit_contexts(counts, vectors, frequencies, unigrams[:core] / (unigrams[:core] + TRUST))
    on_step()
    return Meaning(vectors, spelling, contexts)


def _factorise(
    counts: CountMatrix,
    out: Tall,
    lags: Sequence[Any],
    shape: Sequence[float],
    root: Root,
    *,
    rng: np.random.Generator,
    threads: int,
    on_step: Callable[[], None],
) -> None:
    """Write m(w) of all words; rows of words that nothing is known of stay zero."""
    core, size = counts.shape[0], out.shape[1]
    roots, scale = _stabilised(counts, root)
    none = np.zeros((core, 0))

    products = iter(range(krylov_products(size + 1)))

    def multiply(panel: Tall) -> Tall:
        next(products)
        on_step()
        return roots.scaled_matmat(panel, scale, scale, none, none)

    values, basis = leading_eigenvectors(multiply, core, size + 1, rng=rng, threads=threads)
    for _ in products:  # a small vocabulary takes fewer
        on_step()
    values, basis = values[1:], np.ascontiguousarray(basis[:, 1:])
    used = np.abs(values) > _NOTHING * np.abs(values).max(initial=0)
    values, basis = values[used], basis[:, used]
    columns = slice(0, len(values))
    weights = np.abs(values) ** _POWER * np.where(values > 0, 1.0, _ALTERNATING)
    out[:core, columns] = basis * weights.astype(np.float32)
    rest, others = len(out) - core, (weights / values).astype(np.float32)
    if rest:
        beyond = cooccurrences(lags, shape, rows=(core, len(out)), columns=core, threads=threads)
        roots, own = _stabilised(beyond, root)
        out[core:, columns] = roots.scaled_matmat(basis, own, scale, np.zeros((rest, 0)), none) * others
    on_step()
    lengths = np.linalg.norm(out, axis=1, keepdims=True)
    out /= np.where(lengths > _NOTHING * lengths.max(initial=0), lengths, np.float32(np.inf))


def _stabilised(counts: CountMatrix, root: Root) -> tuple[CountMatrix, Vector]:
    """Return M^q and the diagonal of diag(r)^-q/2 (0 for sums of 0)."""
    sums = counts.marginals()[0]
    return counts.mapped(root, transposed=False), inverse_or_zero(root(np.sqrt(sums)))


def fit_contexts(counts: CountMatrix, vectors: Tall, frequencies: Vector, trust: Vector) -> Tall:
    """Return the ridge regression from c(w) to meaning(w) over the first words, (d, d)."""
    core = counts.shape[0]
    weights = word_weights(frequencies)
    summands = vectors * weights[:, None] - passage_mean(vectors, frequencies)
    sums = counts.marginals()[0]
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    averages = counts.scaled_matmat(summands[:core], scale, np.ones(core), np.zeros((core, 0)), np.zeros((core, 0)))
    weighted = averages * trust.astype(np.float32)[:, None]
    left, right = gram(weighted, averages, 1), gram(weighted, vectors[:core], 1)
    left += max(_RIDGE * np.trace(left) / len(left), 1e-30) * np.eye(len(left))
    return np.linalg.solve(left, right).astype(np.float32)
