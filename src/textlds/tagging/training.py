"""Training: Adam on the likelihood of the chain, minibatches of sentences, the round that is best on dev.

Everything is computed in the order written down, on one thread, so that a seed gives the same bits anywhere. The table
of hashed features has moments for Adam of its own, changed only where a batch has features.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from textlds.errors import FormatError, NotFiniteError
from textlds.linalg.threads import one_blas_thread
from textlds.progress import Task
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import read_json
from textlds.tagging.features import BUCKETS, Buckets
from textlds.tagging.gradients import adam, adam_rows, gradients, scatter
from textlds.tagging.network import Floats, Inputs, Ints, Part, Weights
from textlds.tagging.settings import TaggerSettings

Content = TypeVar("Content")

_NAMES = tuple(field.name for field in dataclasses.fields(Weights))
_FEWEST_STEPS = 150  # of a round: little data is read several times
_SAVED_EVERY = 30.0  # seconds
_ALONE = 0.2  # share of sentences that are read as if they had no document: people tag single sentences too


class Keeper(Protocol):
    """Where unfinished training is kept, such as :class:`textlds.storage.work.Parts`."""

    def keep(self, name: str, write: Callable[[Path], None]) -> Path:
        """Keep a part, in place of one of the same name."""

    def read(self, name: str, reader: Callable[[Path], Content]) -> Content | None:
        """Return what a reader makes of a part, or None if there is none, or none that it can make sense of."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network.

    Attributes:
        weights: Of the best round.
        score: What it reached on dev.
        best_round: Its number, from 1.
        rounds: How many were run.
    """

    weights: Weights
    score: float
    best_round: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Named:
    """Which features name words, so that a word can be read as one never seen.

    Attributes:
        occurrences: How often the word of every token occurs, (n,).
        columns: Of the buckets, those that name the previous word, the word and the next word.
    """

    occurrences: Ints
    columns: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    def hide(self, buckets: Buckets, starts: Ints, hidden: NDArray[np.bool_]) -> None:
        """Leave out the features that name some words, in place.

        Args:
            buckets: Of a batch, (n, features).
            starts: Where its sentences begin, with n at the end.
            hidden: Of which tokens the words are hidden, (n,).
        """
        before, after = np.zeros_like(hidden), np.zeros_like(hidden)
        before[1:], after[:-1] = hidden[:-1], hidden[1:]
        some = starts[1:] > starts[:-1]
        before[starts[:-1][some]] = after[starts[1:][some] - 1] = False
        for columns, rows in zip(self.columns, (before, hidden, after), strict=True):
            for column in columns:
                buckets[rows, column] = -1


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learnt.

    Attributes:
        inputs: The sentences.
        gold: The right tag of every token, (n,).
        forbidden: Transitions that are not allowed, (K, K).
        named: Which features name words; None if none do.
    """

    inputs: Inputs
    gold: Ints
    forbidden: NDArray[np.bool_]
    named: Named | None = None

    @property
    def constrained(self) -> bool:
        """Whether some tags cannot follow others, as with entities."""
        return bool(self.forbidden.any())


def train_network(
    problem: Problem,
    judge: Callable[[Weights], float],
    settings: TaggerSettings,
    *,
    seed: int = 0,
    task: Task | None = None,
    keeper: Keeper | None = None,
) -> Trained:
    """Train a network until the development set gains no more; keep the round that is best there.

    Args:
        problem: What to learn.
        judge: Gives a number, the higher the better, for weights.
        settings: How.
        seed: Of the first weights, the order of sentences and dropout.
        task: Where to show the rounds.
        keeper: Where the state is kept every half minute; training continues from what it has.
    """
    run = _Run(problem, settings, seed)
    if keeper is not None and keeper.read("network", run.restore) and task is not None:
        task.advance(run.round, "resumed")
    saved = time.monotonic()
    with one_blas_thread():
        while not run.over:
            loss = run.one_round()
            score = judge(run.folded(run.weights))
            run.note(score)
            if task is not None:
                task.advance(1, f"round {run.round}: loss {loss:.3f}, dev {score:.2f}")
            if keeper is not None and not run.over and time.monotonic() - saved > _SAVED_EVERY:
                keeper.keep("network", run.save)
                saved = time.monotonic()
        return Trained(run.folded(run.best), run.best_score, run.best_round, run.round)


class _Run:
    """Training on its way."""

    def __init__(self, problem: Problem, settings: TaggerSettings, seed: int) -> None:
        self._problem, self._settings = problem, settings
        self._lengths = np.diff(problem.inputs.starts)
        self._scale = _scales(problem.inputs)
        self._generator = np.random.default_rng(seed)
        self.weights = _first_weights(problem, settings, len(self._scale), self._generator)
        self.best = self.weights
        self._first, self._second = (_like(self.weights) for _ in range(2))
        self._slots = np.full(len(self.weights.features), -1, np.int32)
        self._pending: Ints = np.empty(0, np.int64)
        self.steps = self.round = self.best_round = 0
        self.best_score = -np.inf
        self.over = False
        batch = max(1, min(settings.batch, max(32, len(problem.inputs) // 50)))
        self._batch = batch
        self._round_steps = max(_FEWEST_STEPS, -(-len(problem.inputs) // batch))

    def one_round(self) -> float:
        """Take the steps of a round; return the mean loss per token."""
        settings = self._settings
        total = self._round_steps * settings.rounds
        loss = 0.0
        for _ in range(self._round_steps):
            rate = settings.learning_rate * max(0.02, 1 - self.steps / total)
            loss += self._step(rate)
        if not np.isfinite(loss):
            raise NotFiniteError(
                f"training diverged in round {self.round + 1}: the loss is not finite. Lower learning_rate, now "
                f"{settings.learning_rate:g}; the default is {TaggerSettings().learning_rate:g}."
            )
        self.round += 1
        return loss / self._round_steps

    def note(self, score: float) -> None:
        """Keep the weights if they are the best so far, and decide whether to continue."""
        if score > self.best_score:
            self.best_score, self.best_round = score, self.round
            self.best = dataclasses.replace(
                self.weights, **{name: getattr(self.weights, name).copy() for name in _NAMES}
            )
        self.over = self.round >= self._settings.rounds or self.round - self.best_round >= self._settings.patience

    def folded(self, weights: Weights) -> Weights:
        """Return weights for vectors that are not scaled, and without features that training has not seen."""
        features = weights.features
        if len(features):
            features = np.where((self._second.features != 0).any(axis=1)[:, None], features, np.float32(0))
        return dataclasses.replace(weights, vectors=weights.vectors * self._scale[:, None], features=features)

    def save(self, path: Path) -> None:
        """Write the state of training."""
        path.mkdir()
        groups = {"weights": self.weights, "best": self.best, "first": self._first, "second": self._second}
        arrays = {f"{group}.{name}": getattr(of, name) for group, of in groups.items() for name in _NAMES}
        write_arrays(path / "arrays.safetensors", {**arrays, "pending": self._pending})
        facts = {
            "steps": self.steps, "round": self.round, "best_round": self.best_round, "best_score": self.best_score,
            "generator": self._generator.bit_generator.state,
        }  # fmt: skip
        (path / "state.json").write_text(json.dumps(facts), encoding="utf-8")

    def restore(self, path: Path) -> bool:
        """Read what :meth:`save` wrote; nothing is changed if it was not."""
        arrays = read_arrays(path / "arrays.safetensors")
        read = {
            group: Weights(**{name: np.array(arrays[f"{group}.{name}"]) for name in _NAMES})
            for group in ("weights", "best", "first", "second")
        }
        for group, found in read.items():
            _check_like(found, self.weights, group)
        pending = np.array(arrays["pending"])
        facts = read_json(path / "state.json")
        steps, done, best_round = (int(facts[name]) for name in ("steps", "round", "best_round"))
        sentences = len(self._lengths)
        if pending.dtype != np.int64 or not ((pending >= 0) & (pending < sentences)).all() or pending.ndim != 1:
            raise FormatError(f"{path} names sentences that are not among the {sentences:,} of the training set")
        if not 0 < best_round <= done < self._settings.rounds or steps != done * self._round_steps:
            raise FormatError(f"{path} is of round {done} of {self._settings.rounds}, at step {steps}")
        best_score = float(facts["best_score"])
        self._generator.bit_generator.state = facts["generator"]
        self.weights, self.best, self._first, self._second = read.values()
        self._pending, self.steps, self.round, self.best_round = pending, steps, done, best_round
        self.best_score = best_score
        return True

    def _next(self) -> Ints:
        """Return the sentences of the next batch, in another order each time that all were read."""
        if not len(self._pending):
            self._pending = self._generator.permutation(len(self._lengths))
        sizes = np.cumsum(self._lengths[self._pending])
        count = max(1, int(np.searchsorted(sizes, self._batch, side="right")))
        some, self._pending = self._pending[:count], self._pending[count:]
        return some

    def _step(self, rate: float) -> float:
        some = self._next()
        lengths = self._lengths[some]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.arange(starts[-1]) - np.repeat(starts[:-1] - self._problem.inputs.starts[some], lengths)
        whole = self._problem.inputs
        parts = [Part(p.table, p.rows[tokens]) for p in whole.parts]
        inputs = Inputs(parts, whole.buckets[tokens], starts, whole.memories)
        alone = None
        if any(whole.memories):
            alone = np.repeat(self._generator.random(len(some)) < _ALONE, lengths)
        self._hide_words(inputs, tokens)
        dropped = (self._settings.dropout, self._settings.input_dropout, self._settings.feature_dropout)
        loss, found, hidden, buckets = gradients(
            self.weights, inputs, self._problem.gold[tokens], self._scale, dropped, self._generator, alone
        )
        self.steps += 1
        step = np.float32(rate / (1 - 0.9**self.steps))
        correction = np.float32(1 / np.sqrt(1 - 0.999**self.steps))
        for name, gradient in found.items():
            flat = (getattr(of, name).reshape(-1) for of in (self.weights, self._first, self._second))
            array, first, second = flat
            adam(array, gradient.reshape(-1), first, second, step, correction)
        self.weights.transitions[self._problem.forbidden] = -np.inf
        if buckets.shape[1]:
            rows, summed = scatter(hidden, buckets, self._slots)
            adam_rows(
                self.weights.features, rows, summed, self._first.features, self._second.features, step, correction
            )
        return loss

    def _hide_words(self, inputs: Inputs, tokens: Ints) -> None:
        """Read some words of a batch as words never seen, rare ones more often."""
        named, a = self._problem.named, self._settings.hidden_words(len(self.weights.around_bias))
        if named is not None and a > 0:
            chance = a / (a + named.occurrences[tokens])
            named.hide(inputs.buckets, inputs.starts, self._generator.random(len(tokens)) < chance)


def _first_weights(problem: Problem, settings: TaggerSettings, d: int, generator: np.random.Generator) -> Weights:
    """Return weights to begin with (He et al. 2015); those of features small, as a token has many."""
    K = len(problem.forbidden)
    H, C = settings.units(K), settings.second_units(len(problem.inputs), constrained=problem.constrained)
    F = problem.inputs.buckets.shape[1]

    def normal(m: int, n: int, scale: float = 1.0) -> Floats:
        return generator.standard_normal((m, n), np.float32) * np.float32(scale * np.sqrt(2 / max(m, 1)))

    features = normal(BUCKETS if F else 0, H) * np.float32(0.1 * np.sqrt(BUCKETS / max(2 * F, 1)))
    return Weights(
        vectors=normal(d, H),
        features=features,
        bias=np.zeros(H, np.float32),
        around=normal(3 * H, C).reshape(3, H, C).transpose(1, 0, 2).reshape(H, 3 * C),
        around_bias=np.zeros(C, np.float32),
        around_out=normal(C, K, 0.5),
        out=normal(H, K, 0.5),
        out_bias=np.zeros(K, np.float32),
        first=np.zeros(K, np.float32),
        last=np.zeros(K, np.float32),
        transitions=np.where(problem.forbidden, -np.inf, 0).astype(np.float32),
    )


def _check_like(found: Weights, weights: Weights, name: str) -> None:
    """Raise FormatError unless weights that were read have the shapes of those that are trained, and finite numbers."""
    for field in _NAMES:
        array, right = getattr(found, field), getattr(weights, field)
        if array.shape != right.shape or array.dtype != right.dtype:
            raise FormatError(f"{name}.{field} is {array.dtype}{array.shape} instead of {right.dtype}{right.shape}")
        allowed = np.isfinite(array) | (np.isneginf(array) if field == "transitions" else False)
        if not allowed.all():
            raise FormatError(f"{name}.{field} holds numbers that are not finite")


def _like(weights: Weights) -> Weights:
    return Weights(**{name: np.zeros_like(getattr(weights, name)) for name in _NAMES})


def _scales(inputs: Inputs) -> Floats:
    """Return one over the root mean square of the numbers of each part, (d,)."""
    scales = [np.zeros(0, np.float32)]
    for part in inputs.parts:
        counts = np.bincount(part.rows[part.rows >= 0], minlength=len(part.table)).astype(np.float64)
        squares = counts @ np.einsum("ij,ij->i", part.table, part.table)
        mean = float(squares) / max(1.0, counts.sum() * part.table.shape[1])
        scales.append(np.full(part.table.shape[1], 1 / np.sqrt(mean) if mean > 1e-12 else 0.0, np.float32))
    return np.concatenate(scales)
