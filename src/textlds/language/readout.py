"""The log-linear readout: what the filter's state says of the next word, as a proper distribution.

    P(c | context) = softmax_c(b_c + U_c x)           c a class of words
    P(w | c, context) = softmax_w in c(b_w + U_w x)   x = [‖p_{t−1}‖^-¾ p_{t−1}, ‖k(w_{t−1})‖^-¾ k(w_{t−1})]

The filter would weigh the word before, k(w_{t−1}), against what came earlier, p_{t−1}, once for all words; here each
word has its own weights for both. Their lengths differ a hundredfold, and an exponential would make too much of that:
they are drawn in to the fourth root (in the coordinates of inference, where a length means something). Fitting is
convex (:mod:`textlds.language.logistic`), and both softmaxes are summed exactly: a probability costs O(√V h), all
of them O(V h).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.inference.engine import Engine
from textlds.language.classes import Classes
from textlds.language.contexts import Contexts, Rows
from textlds.language.logistic import Logistic, exponentiate, fit_logistic
from textlds.linalg.products import product
from textlds.linalg.threads import parallel_map
from textlds.linalg.types import Array, Matrix, Vector
from textlds.progress import Progress

_BLOCK = 1 << 13
_PENALTY = 100.0  # λ: weights of whitened features have a standard deviation of about 0.1
_ITERATIONS = 12
_LEAST_VARIANCE = 1e-6  # of a feature's largest: directions that hardly vary are not blown up


@dataclass(frozen=True)
class Readout:
    """Weights of the two softmaxes, for states in the coordinates of the model's parameters.

    Attributes:
        classes: The class of each word, (V,).
        class_weights: (K, 2h) float32.
        class_bias: (K,) float32.
        word_weights: (V, 2h) float32; zero for a word that is alone in its class.
        word_bias: (V,) float32.
    """

    classes: Classes
    class_weights: Array
    class_bias: Array
    word_weights: Array
    word_bias: Array

    def transformed(self, T: Matrix) -> Readout:
        """Return the readout for states T⁻¹ x: weights U T, T of (h, h)."""
        both = np.kron(np.eye(2), T)
        class_weights = (self.class_weights @ both).astype(np.float32)
        word_weights = (self.word_weights @ both).astype(np.float32)
        return Readout(self.classes, class_weights, self.class_bias, word_weights, self.word_bias)


class BoundReadout:
    """A readout together with the filter whose states it reads."""

    def __init__(self, readout: Readout, engine: Engine) -> None:
        self._gains = drawn_in_gains(engine)
        found = readout.transformed(np.linalg.inv(engine.system.T))
        self._classes, self._class_bias, self._word_bias = found.classes, found.class_bias, found.word_bias
        self._class_weights = np.ascontiguousarray(found.class_weights.T)  # (2h, K)
        self._members = members_of(found.classes)
        # of the words of each class, (2h, words)
        self._word_weights = [np.ascontiguousarray(found.word_weights[members].T) for members in self._members]

    def of(self, contexts: Contexts, words: Rows) -> Vector:
        """Return P(word | context) of each, (n,)."""
        result = np.empty(len(contexts))
        for rows in contexts.blocks(_BLOCK):
            x, chosen = _features(contexts[rows], self._gains), words[rows]
            logits = self._of_classes(x)
            classes = self._classes[chosen]
            part = logits[np.arange(len(x)), classes].astype(np.float64)
            for c, places in enumerate(_groups(classes, len(self._class_bias))):
                members = self._members[c]
                if len(places) and len(members) > 1:
                    within = self._within(x[places], c)
                    part[places] *= within[np.arange(len(places)), np.searchsorted(members, chosen[places])]
            result[rows] = part
        return result

    def all(self, contexts: Contexts) -> Matrix:
        """Return the distributions of the next word, (n, V)."""
        x = _features(contexts, self._gains)
        result = self._of_classes(x)[:, self._classes].astype(np.float64)
        for c, members in enumerate(self._members):
            if len(members) > 1:
                result[:, members] *= self._within(x, c)
        return result

    def _of_classes(self, x: Array) -> Array:
        logits = product(x, self._class_weights)
        logits += self._class_bias
        exponentiate(logits)
        return logits

    def _within(self, x: Array, c: int) -> Array:
        logits = product(x, self._word_weights[c])
        logits += self._word_bias[self._members[c]]
        exponentiate(logits)
        return logits


def fit_readout(
    contexts: Contexts,
    words: Rows,
    engine: Engine,
    classes: Classes,
    unigram: Vector,
    *,
    threads: int,
    progress: Progress,
) -> Readout:
    """Fit a readout to the contexts of a sample and the words that occurred there.

    Args:
        contexts: Of n tokens.
        words: The tokens' rows, (n,).
        engine: The filter the contexts come from.
        classes: The class of every word, (V,).
        unigram: Frequencies of all words, positive, (V,): where learning starts.
        threads: How many; the result is the same.
        progress: Where to report.
    """
    h, K = contexts.before.shape[1], int(classes.max()) + 1
    gains = drawn_in_gains(engine)
    whitener = _whitener(contexts, gains)
    targets = classes[words].astype(np.int64)
    word_weights, word_bias = np.zeros((len(classes), 2 * h)), np.zeros(len(classes))

    def features(rows: Any) -> Array:
        return _features(contexts[rows], gains)

    passes = iter(range(2 * _ITERATIONS))  # about as many as the first softmax needs
    with progress.task("Readout", 2 * _ITERATIONS + K) as task:
        frequency = np.bincount(classes, weights=unigram, minlength=K).astype(np.float64)
        options: dict[str, Any] = {"penalty": _PENALTY, "iterations": _ITERATIONS}
        top = fit_logistic(
            features, targets, frequency, whitener, threads=threads,
            passed=lambda: task.advance(float(next(passes, None) is not None), "classes"), **options,
        )  # fmt: skip
        task.advance(len(list(passes)), "words")

        def fit_class(item: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Logistic | None:
            members, places = item
            if len(members) == 1:
                return None
            chosen = np.searchsorted(members, words[places])
            x = features(places)
            return fit_logistic(lambda rows: x[rows], chosen, unigram[members], whitener, **options)

        everything = list(zip(members_of(classes), _groups(targets, K), strict=True))
        for begin in range(0, K, 8 * threads):
            some = everything[begin : begin + 8 * threads]
            for (members, _), fitted in zip(some, parallel_map(fit_class, some, threads=threads), strict=True):
                if fitted is not None:
                    word_weights[members], word_bias[members] = fitted.weights, fitted.bias
            task.advance(len(some))
    readout = Readout(
        classes,
        top.weights.astype(np.float32),
        top.bias.astype(np.float32),
        word_weights.astype(np.float32),
        word_bias.astype(np.float32),
    )
    return readout.transformed(engine.system.T)


def members_of(classes: Classes) -> list[NDArray[np.int64]]:
    """Return the words of each class, in increasing order."""
    return _groups(classes, int(classes.max()) + 1)


def _groups(labels: NDArray[Any], n: int) -> list[NDArray[np.int64]]:
    """Return the places of each of n labels, in increasing order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n)))


def drawn_in(X: Array) -> Array:
    """Return the rows of X at the fourth root of their lengths; a zero stays zero."""
    squares = np.maximum(np.einsum("ij,ij->i", X, X), np.float32(1e-24))
    drawn: Array = X * (squares ** np.float32(-0.375))[:, None]
    return drawn


def drawn_in_gains(engine: Engine) -> Array:
    """Return the drawn-in k(w) of every word, and zero for none as the last row, where NONE = −1 finds it."""
    return np.vstack([drawn_in(engine.gains), np.zeros((1, len(engine.A)), np.float32)])


def _features(contexts: Contexts, gains: Array) -> Array:
    """Return x, (n, 2h) float32."""
    return np.hstack([drawn_in(contexts.before), gains[contexts.words[:, 0]]])


def _whitener(contexts: Contexts, gains: Array) -> Matrix:
    """Return E[x xᵀ]^-½ over some contexts, (2h, 2h)."""
    width = 2 * contexts.before.shape[1]
    second_moment = np.zeros((width, width))
    for rows in contexts.blocks(_BLOCK):
        x = _features(contexts[rows], gains)
        second_moment += x.T @ x
    values, vectors = np.linalg.eigh(second_moment / max(len(contexts), 1))
    floor = max(_LEAST_VARIANCE * float(values[-1]), 1e-30)
    whitener: Matrix = vectors / np.sqrt(np.maximum(values, floor)) @ vectors.T
    return whitener
