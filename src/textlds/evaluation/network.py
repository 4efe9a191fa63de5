"""A network of two layers that tells classes apart: softmax(tanh(x W + b) V + c), by Adam on the cross-entropy.

Written for what the studies do many times: wide inputs (d up to a thousand), a few dozen hidden units, some hundred
thousand rows, one thread. An epoch is a gather of the rows and two thin products, O(n d hidden), all in float32: about
0.4 s for 200,000 rows of 600 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from textlds.linalg.threads import one_blas_thread

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_ROWS = 8192  # of a block that is predicted or summed at a time


@dataclass(frozen=True)
class NetworkSettings:
    """How a network is trained.

    Attributes:
        hidden: Hidden units.
        learning_rate: Of Adam at first. When the development set has not gained for ``patience`` epochs, it falls to
            ``decay`` of itself and training continues from the best epoch; after the ``decays``-th time it ends.
        weight_decay: Share of the weights, times the learning rate, that every step takes away.
        dropout: Share of the inputs left out, others in every step.
        batch: Rows a step, at most; fewer for little data, so that an epoch has about a hundred steps.
        epochs: At most.
        patience: In epochs.
        decay: Of the learning rate.
        decays: How often.
    """

    hidden: int = 25
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    dropout: float = 0.0
    batch: int = 256
    epochs: int = 200
    patience: int = 3
    decay: float = 0.3
    decays: int = 3


class Weights(NamedTuple):
    """The weights of a network, or their gradients: (d, hidden), (hidden,), (hidden, classes), (classes,)."""

    inner: Floats
    inner_bias: Floats
    outer: Floats
    outer_bias: Floats


@dataclass(frozen=True)
class Network:
    """A trained network.

    Attributes:
        mean: Of the inputs, (d,).
        scale: What the centred inputs are multiplied by, (d,).
        weights: For inputs so centred and scaled.
        epochs: How many were run.
        best_epoch: The one whose weights these are, from 1.
    """

    mean: Floats
    scale: Floats
    weights: Weights
    epochs: int
    best_epoch: int

    def predict(self, inputs: Floats) -> Ints:
        """Return the most likely class of every row of the inputs, (n, d)."""
        return _predict(inputs, self.mean, self.scale, self.weights)


def train_network(
    inputs: Floats,
    classes: Ints,
    dev_inputs: Floats,
    dev_classes: Ints,
    *,
    rows: Ints,
    n_classes: int,
    settings: NetworkSettings,
    seed: int = 0,
) -> Network:
    """Train a network until the development set gains no more; keep the epoch that is best there.

    Args:
        inputs: (n, d).
        classes: Right classes of all rows, (n,).
        dev_inputs: (m, d).
        dev_classes: Right classes there, (m,); -1 for one that training does not have.
        rows: Which of the n rows to learn from, at least one.
        n_classes: How many classes there are.
        settings: How.
        seed: Of the first weights, the order of rows and dropout.
    """
    generator = np.random.default_rng(seed)
    with one_blas_thread():
        mean, scale = _standard(inputs, rows)
        weights = _first_weights(inputs.shape[1], settings.hidden, n_classes, generator)
        adam = _Adam(weights, settings)
        best, best_state, best_epoch = -1, adam.state(), 0
        waited = falls = epoch = 0
        while epoch < settings.epochs:
            epoch += 1
            _run_epoch(inputs, classes, generator.permutation(rows), mean, scale, adam, settings, generator)
            hits = int(np.count_nonzero(_predict(dev_inputs, mean, scale, adam.weights) == dev_classes))
            waited += 1
            if hits > best:
                best, best_state, best_epoch, waited = hits, adam.state(), epoch, 0
            elif waited >= settings.patience:
                if falls == settings.decays:
                    break
                falls, waited = falls + 1, 0
                adam.restore(best_state)
                adam.rate *= settings.decay
        adam.restore(best_state)
    return Network(mean, scale, adam.weights, epoch, best_epoch)


def gradients(inputs: Floats, classes: Ints, weights: Weights) -> Weights:
    """Return the gradients of the mean cross-entropy over some rows."""
    n = len(classes)
    hidden = np.tanh(inputs @ weights.inner + weights.inner_bias)
    scores = hidden @ weights.outer + weights.outer_bias
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    scores[np.arange(n), classes] -= 1  # ∂ cross-entropy / ∂ scores = softmax − one-hot
    scores /= n
    back = (scores @ weights.outer.T) * (1 - hidden * hidden)
    return Weights(inputs.T @ back, back.sum(axis=0), hidden.T @ scores, scores.sum(axis=0))


class _Adam:
    """AdamW (Kingma & Ba 2015; Loshchilov & Hutter 2019); the weights change in place."""

    def __init__(self, weights: Weights, settings: NetworkSettings) -> None:
        self.weights, self.rate = weights, settings.learning_rate
        self._decay = settings.weight_decay
        self._first = [np.zeros_like(array) for array in weights]
        self._second = [np.zeros_like(array) for array in weights]
        self._steps = 0

    def step(self, gradients: Weights) -> None:
        self._steps += 1
        rate = np.float32(self.rate / (1 - 0.9**self._steps))
        correction = np.float32(1 / np.sqrt(1 - 0.999**self._steps))
        for array, gradient, first, second in zip(self.weights, gradients, self._first, self._second, strict=True):
            first *= np.float32(0.9)
            first += np.float32(0.1) * gradient
            second *= np.float32(0.999)
            second += np.float32(0.001) * gradient * gradient
            if self._decay and array.ndim == 2:
                array *= np.float32(1 - self.rate * self._decay)
            array -= rate * first / (np.sqrt(second) * correction + np.float32(1e-8))

    def state(self) -> tuple[list[Floats], int]:
        """Return a copy of all but the rate."""
        return [array.copy() for array in (*self.weights, *self._first, *self._second)], self._steps

    def restore(self, state: tuple[list[Floats], int]) -> None:
        arrays, self._steps = state
        for target, source in zip((*self.weights, *self._first, *self._second), arrays, strict=True):
            target[...] = source


def _run_epoch(
    inputs: Floats,
    classes: Ints,
    order: Ints,
    mean: Floats,
    scale: Floats,
    adam: _Adam,
    settings: NetworkSettings,
    generator: np.random.Generator,
) -> None:
    batch = max(1, min(settings.batch, len(order) // 100))
    buffer = np.empty((batch, inputs.shape[1]), np.float32)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        some = buffer[: len(chosen)]
        np.take(inputs, chosen, axis=0, out=some, mode="clip")
        some -= mean
        some *= scale
        if settings.dropout:
            _drop(some, settings.dropout, generator)
        adam.step(gradients(some, classes[chosen], adam.weights))


def _drop(inputs: Floats, share: float, generator: np.random.Generator) -> None:
    """Put a share of the inputs to zero, to the next 256th, and scale the others up; a byte each decides."""
    limit = round(256 * share)
    kept = np.frombuffer(generator.bytes(inputs.size), np.uint8).reshape(inputs.shape) >= limit
    np.multiply(inputs, kept, out=inputs)
    inputs *= np.float32(256 / (256 - limit))


def _standard(inputs: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Return the mean of every input over the rows and one over its standard deviation."""
    total, squares = np.zeros(inputs.shape[1]), np.zeros(inputs.shape[1])
    for start in range(0, len(rows), _ROWS):
        block = inputs[rows[start : start + _ROWS]].astype(np.float64)
        total += block.sum(axis=0)
        squares += np.einsum("ij,ij->j", block, block)
    mean = total / len(rows)
    deviation = np.sqrt(np.maximum(squares / len(rows) - mean**2, 0))
    typical = max(float(deviation.max(initial=0.0)), 1e-12)
    # an input that never varies tells nothing; dividing by its rounding errors would make it noise
    scale = np.where(deviation > 1e-5 * typical, 1 / np.maximum(deviation, 1e-30), 0)
    return mean.astype(np.float32), scale.astype(np.float32)


def _first_weights(d: int, hidden: int, n_classes: int, generator: np.random.Generator) -> Weights:
    inner = generator.standard_normal((d, hidden), np.float32) / np.float32(np.sqrt(d))
    outer = generator.standard_normal((hidden, n_classes), np.float32) / np.float32(np.sqrt(hidden))
    return Weights(inner, np.zeros(hidden, np.float32), outer, np.zeros(n_classes, np.float32))


def _predict(inputs: Floats, mean: Floats, scale: Floats, weights: Weights) -> Ints:
    # (x − mean) scale W + b = x (scale W) + (b − mean scale W): the inputs are not copied
    inner = scale[:, None] * weights.inner
    bias = weights.inner_bias - mean @ inner
    found = np.empty(len(inputs), np.int64)
    for start in range(0, len(inputs), _ROWS):
        hidden = np.tanh(inputs[start : start + _ROWS] @ inner + bias)
        found[start : start + _ROWS] = (hidden @ weights.outer + weights.outer_bias).argmax(axis=1)
    return found
