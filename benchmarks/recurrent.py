"""Training of a tanh :class:`RecurrentLM` by hand: stochastic gradient descent on truncated back-propagation.

The readout is most of the work: three products of (rows x h) with (h x words). Its denominator is estimated from a
sample of words, logits turn into probabilities and into their own gradient in place, and tables with a row per word
cost only the rows that a step uses (:class:`Table`). In numpy, whose products are a third faster here than PyTorch's on
one core. With all words in the sample it is equal to autograd with torch.optim.SGD (tests/test_benchmarks_rnn.py).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textlds.integrations.torch import RecurrentLM

Floats = NDArray[Any]
Ids = NDArray[np.int64]

_POWER = 0.7  # of a word's frequency, by which it is drawn
_ROWS = 256  # of logits at a time, in a perplexity: 10 MB at V = 10,000, which a cache holds


class Table:
    """Weights with a row per word under gradient descent with momentum, at the cost of the rows that are used.

        w_{t+1} = w_t − r v_t,        v_t = m v_{t−1} + g_t

    A row without gradients goes on until it rests at u = w − r m / (1 − m) v, and only gradients move u:

        u_{t+1} = u_t − r / (1 − m) g_t,        w_t = u_t + r m / (1 − m) v_{t−1}

    So a row is looked at when it is read or has a gradient; meanwhile its velocity shrinks by mⁿ.

    Args:
        weights: (V, n).
        momentum: m, below one.
    """

    def __init__(self, weights: Floats, momentum: float) -> None:
        self._rest, self._velocity = weights.copy(), np.zeros_like(weights)
        self._momentum, self._rate, self._now = momentum, 0.0, 1
        self._last = np.zeros(len(weights), np.int64)  # the step of a row's last gradient

    def pace(self, rate: float) -> None:
        """Go on at another rate."""
        weights = self.read(np.arange(len(self._rest)))
        self._rate = rate
        self._rest -= self.read(np.arange(len(self._rest))) - weights

    def read(self, rows: Ids) -> Floats:
        """Return some rows, before their gradients of this step are added."""
        found = self._velocity[rows]
        found *= self._shrunk(rows, self._now - 1, self._rate * self._momentum / (1 - self._momentum))
        found += self._rest[rows]
        return found

    def add(self, rows: Ids, gradients: Floats) -> None:
        """Add gradients of this step to rows, each named once."""
        velocity = self._velocity[rows]
        velocity *= self._shrunk(rows, self._now)
        velocity += gradients
        self._velocity[rows] = velocity
        self._last[rows] = self._now
        self._rest[rows] -= self._rate / (1 - self._momentum) * gradients

    def tick(self) -> None:
        """End a step."""
        self._now += 1

    def _shrunk(self, rows: Ids, now: int, times: float = 1.0) -> Floats:
        return (times * self._momentum ** (now - self._last[rows])).astype(self._rest.dtype)[:, None]


class Trainer:
    """SGD with momentum on the mean loss of (batch x steps) words at a time, with the state carried on between them.

    The softmax's denominator is estimated. At every step word i is drawn with probability π_i, by itself, and then
    stands for 1/π_i words (Horvitz-Thompson); the word that follows is always there, with weight one:

        Z = exp(y_target) + Σ_{drawn ∖ target} exp(y_i) / π_i

    Args:
        lm: With activation "tanh" and link "softmax"; its weights are changed in place, at the end of an epoch.
        inclusion: π, (V,), above zero; all ones for the exact softmax. See :func:`inclusion_probabilities`.
        seed: Of the draws.
        batch: Streams of text that are read side by side.
        steps: Words through which gradients go back.
        momentum: Share of the last step that is taken again.
        clip: Limit on each entry of the gradient of one word's loss with respect to a state.
        recurrent_rate: Of the h x h matrix, relative to the others.
    """

    def __init__(
        self,
        lm: RecurrentLM,
        inclusion: Floats,
        *,
        seed: int = 0,
        batch: int = 20,
        steps: int = 20,
        momentum: float = 0.9,
        clip: float = 1.0,
        recurrent_rate: float = 0.1,
    ) -> None:
        self.batch, self.steps, self.momentum, self.clip = batch, steps, momentum, clip
        self.recurrent_rate = recurrent_rate
        self._start, self._A, self._B, self._C, self._c = weights_of(lm)
        self._inputs = Table(self._B, momentum)
        self._outputs = Table(np.column_stack([self._C, self._c]), momentum)  # the bias is read by a one in the state
        self._velocity = np.zeros_like(self._A)
        self._inclusion, self._draws = inclusion, np.random.default_rng(seed)

    def epoch(self, ids: Ids, rate: float) -> float:
        """Go through a text once; returns its perplexity while it was learnt, by the softmax that was used."""
        streams = ids[: (len(ids) - 1) // self.batch * self.batch + 1]
        words = np.ascontiguousarray(streams[:-1].reshape(self.batch, -1).T)
        targets = np.ascontiguousarray(streams[1:].reshape(self.batch, -1).T)
        state = np.tile(self._start, (self.batch, 1))
        self._inputs.pace(rate)
        self._outputs.pace(rate)
        total = 0.0
        for t in range(0, len(words), self.steps):
            loss, state = self._step(words[t : t + self.steps], targets[t : t + self.steps], state, rate)
            total += loss
        everything = np.arange(len(self._B))
        self._B[:] = self._inputs.read(everything)
        outputs = self._outputs.read(everything)
        self._C[:], self._c[:] = outputs[:, :-1], outputs[:, -1]
        return math.exp(total / words.size)

    def _step(self, words: Ids, targets: Ids, state: Floats, rate: float) -> tuple[float, Floats]:
        """Update the weights by the words of (steps, batch); returns the sum of their losses and the state after."""
        seen, place = np.unique(words, return_inverse=True)
        states = self._forward(self._inputs.read(seen)[place.reshape(words.shape)], state)
        loss, through = self._readout(states[1:].reshape(words.size, -1), targets.reshape(-1))
        through = self._backward(states, through.reshape(states[1:].shape)).reshape(words.size, -1)
        through /= words.size
        self._inputs.add(seen, summed(through, place.reshape(-1)))
        self._velocity *= self.momentum
        self._velocity += through.T @ states[:-1].reshape(words.size, -1)
        self._A -= rate * self.recurrent_rate * self._velocity
        self._inputs.tick()
        self._outputs.tick()
        return loss, states[-1]

    def _forward(self, driven: Floats, state: Floats) -> Floats:
        """Return the states before and after each word, (steps + 1, batch, h)."""
        states = np.empty((len(driven) + 1, *state.shape), state.dtype)
        states[0] = state
        for t, at in enumerate(driven):
            now = np.matmul(states[t], self._A.T, out=states[t + 1])
            now += at
            np.tanh(now, out=now)
        return states

    def _readout(self, states: Floats, targets: Ids) -> tuple[float, Floats]:
        """Return the sum of the losses and its gradients with respect to the states; add those of their mean to C."""
        columns = np.flatnonzero(self._draws.random(len(self._inclusion)) < self._inclusion)
        C = self._outputs.read(columns)
        C[:, -1] -= np.log(self._inclusion[columns])
        follow, place = np.unique(targets, return_inverse=True)
        own_C = self._outputs.read(follow)[place]
        rows = np.column_stack([states, np.ones(len(states), states.dtype)])
        own = np.einsum("ij,ij->i", rows, own_C)
        logits = rows @ C.T
        top = np.maximum(logits.max(1), own)
        logits -= top[:, None]
        p, own_p = np.exp(logits, out=logits), np.exp(own - top)
        at = np.minimum(np.searchsorted(columns, targets), len(columns) - 1)
        p[np.arange(len(rows)), at] *= columns[at] != targets  # the target has a term of its own, with weight one
        Z = p.sum(1) + own_p
        p /= Z[:, None]
        loss = float((np.log(Z) + top - own).sum())
        own_p = (own_p / Z - 1)[:, None]
        through: Floats = p @ C[:, :-1]
        through += own_p * own_C[:, :-1]
        rows /= len(rows)
        self._outputs.add(columns, p.T @ rows)
        self._outputs.add(follow, summed(own_p * rows, place))
        return loss, through

    def _backward(self, states: Floats, through: Floats) -> Floats:
        """Turn the gradients with respect to states into those with respect to what tanh is applied to, in place."""
        slope = 1 - np.square(states[1:])
        later = np.zeros_like(states[0])
        for t in range(len(through) - 1, -1, -1):
            now = through[t]
            now += later @ self._A
            np.clip(now, -self.clip, self.clip, out=now)
            now *= slope[t]
            later = now
        return through


def inclusion_probabilities(frequencies: Floats, sample: int) -> Floats:
    """Return π with Σ π = sample, in proportion to a power of frequencies but at most one.

    The variance of Z is Σ p_i² (1 − π_i) / π_i, least where π is in proportion to the root of E[p_i²], which is between
    f, of a word as likely in all contexts, and √f, of a word that is certain in a few. Of √f, f^0.7 and the thousand
    most frequent words with a uniform sample of the others, f^0.7 had the least noise for the same number of words.
    """
    sizes, certain = frequencies**_POWER, 0
    order = np.argsort(-sizes, kind="stable")
    while True:
        left = order[certain:]
        found = np.ones(len(sizes))
        found[left] = (sample - certain) * sizes[left] / max(sizes[left].sum(), 1e-300)
        more = int((found[left] > 1).sum())
        if not more:
            return found
        certain += more


def summed(values: Floats, place: Ids) -> Floats:
    """Return the sums of the rows with the same place; the places are 0 … n − 1."""
    n, order = len(place), np.argsort(place, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(place)))
    one_hot = sp.csr_array((np.ones(n, values.dtype), order, ends), shape=(len(ends) - 1, n))
    found: Floats = one_hot @ values
    return found


def perplexity(lm: RecurrentLM, ids: Ids) -> float:
    """Return what ``lm.perplexity`` does, for a tanh network, in half the time."""
    state, A, B, C, c = weights_of(lm)
    total = 0.0
    for begin in range(0, len(ids) - 1, _ROWS):
        words, targets = ids[begin : begin + _ROWS], ids[begin + 1 : begin + _ROWS + 1]
        states = B[words[: len(targets)]]
        for at in states:
            at += A @ state
            state = np.tanh(at, out=at)
        logits = states @ C.T
        logits += c
        top = logits.max(1)
        own = logits[np.arange(len(targets)), targets] - top
        logits -= top[:, None]
        total += float(np.log(np.exp(logits, out=logits).sum(1)).sum() - own.sum())
    return math.exp(total / (len(ids) - 1))


def weights_of(lm: RecurrentLM) -> tuple[Floats, ...]:
    """Return the start, A, B, C and c of a network as arrays that share its memory."""
    parts = (lm.start, lm.recurrent.weight, lm.inputs.weight, lm.readout.weight, lm.readout.bias)
    return tuple(part.detach().numpy() for part in parts)
