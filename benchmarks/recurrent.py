"""Training of a tanh :class:`RecurrentLM` by hand: stochastic gradient descent on truncated back-propagation.

The readout is nine tenths of the work: three products of (rows x h) with (h x V). Autograd would write the V-sized
arrays several times over; here logits turn into probabilities and into their own gradient in place, and the readout's
momentum is updated by the product that makes its gradient. Faster on one core, and equal to autograd with
torch.optim.SGD (tests/test_benchmarks.py).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from textlds.integrations.torch import RecurrentLM

_TINY = 1e-30


class Trainer:
    """SGD with momentum on the mean loss of (batch x steps) words at a time, with the state carried on between them.

    Args:
        lm: With activation "tanh" and link "softmax"; its weights are changed in place.
        batch: Streams of text that are read side by side.
        steps: Words through which gradients go back.
        momentum: Share of the last step that is taken again.
        clip: Limit on each entry of the gradient of one word's loss with respect to a state.
    """

    def __init__(
        self,
        lm: RecurrentLM,
        *,
        batch: int = 20,
        steps: int = 20,
        momentum: float = 0.9,
        clip: float = 1.0,
        recurrent_rate: float = 0.1,
    ) -> None:
        self.lm, self.batch, self.steps, self.momentum, self.clip = lm, batch, steps, momentum, clip
        self.recurrent_rate = recurrent_rate
        self.A, self.B = lm.recurrent.weight.data, lm.inputs.weight.data
        self.C, self.c = lm.readout.weight.data, lm.readout.bias.data
        self._velocities = {name: torch.zeros_like(getattr(self, name)) for name in "ABCc"}
        self._logits = torch.empty(batch * steps, len(self.C), dtype=self.C.dtype)

    @torch.no_grad()
    def epoch(self, ids: Tensor, rate: float) -> float:
        """Go through a text once; returns its perplexity while it was learnt. 6 V h operations a word."""
        streams = ids[: (len(ids) - 1) // self.batch * self.batch + 1]
        words = streams[:-1].view(self.batch, -1).T.contiguous()
        targets = streams[1:].view(self.batch, -1).T.contiguous()
        state = self.lm.start.expand(self.batch, -1)
        total = 0.0
        for t in range(0, len(words), self.steps):
            loss, state = self.step(words[t : t + self.steps], targets[t : t + self.steps], state, rate)
            total += loss
        return math.exp(total / words.numel())

    @torch.no_grad()
    def step(self, words: Tensor, targets: Tensor, state: Tensor, rate: float) -> tuple[float, Tensor]:
        """Update the weights by the words of (steps, batch); returns the sum of their losses and the state after."""
        states = self._forward(words, state)
        rows = states[1:].flatten(0, 1)
        for velocity in self._velocities.values():
            velocity.mul_(self.momentum)
        loss, through = self._readout(rows, targets.reshape(-1), 1 / len(rows))
        through = self._backward(states, through.view_as(states[1:])).flatten(0, 1)
        self._velocities["B"].index_add_(0, words.reshape(-1), through, alpha=1 / len(rows))
        self._velocities["A"].addmm_(through.T, states[:-1].flatten(0, 1), alpha=1 / len(rows))
        for name, velocity in self._velocities.items():
            getattr(self, name).sub_(velocity, alpha=rate * (self.recurrent_rate if name == "A" else 1))
        return loss, states[-1]

    def _forward(self, words: Tensor, state: Tensor) -> Tensor:
        """Return the states before and after each word, (steps + 1, batch, h)."""
        driven = self.B[words]
        states = torch.empty(len(words) + 1, *state.shape, dtype=state.dtype)
        states[0] = state
        for t, at in enumerate(driven):
            torch.addmm(at, states[t], self.A.T, out=states[t + 1]).tanh_()
        return states

    def _readout(self, rows: Tensor, targets: Tensor, weight: float) -> tuple[float, Tensor]:
        """Return the sum of the losses and its gradient with respect to the rows; add the readout's to its velocity."""
        logits = torch.addmm(self.c, rows, self.C.T, out=self._logits[: len(rows)])
        torch.softmax(logits, 1, out=logits)
        at = torch.arange(len(rows))
        likelihood = logits[at, targets]
        logits[at, targets] = likelihood - 1  # the gradient with respect to the logits is p − e_target
        self._velocities["C"].addmm_(logits.T, rows, alpha=weight)
        self._velocities["c"].add_(logits.sum(0), alpha=weight)
        return -likelihood.clamp_min(_TINY).log().sum().item(), logits @ self.C

    def _backward(self, states: Tensor, through: Tensor) -> Tensor:
        """Turn the gradients with respect to states into those with respect to what tanh is applied to, in place."""
        slope = 1 - states[1:].square()
        later = torch.zeros_like(states[0])
        for t in range(len(through) - 1, -1, -1):
            now = through[t].addmm_(later, self.A).clamp_(-self.clip, self.clip)
            later = now.mul_(slope[t])
        return through


class SampledTrainer(Trainer):
    """The same with an estimate of the softmax's denominator, some times cheaper.

    The common words are summed exactly. Of the rare ones a sample is drawn at every step, without replacement, and each
    stands for as many as were left out (Horvitz-Thompson); the word that follows is always there, with its own weight:

        Z = Σ_{common ∖ target} exp(y_i) + exp(y_target) + (1/π) Σ_{sample ∖ target} exp(y_i)

    Args:
        lm: As for :class:`Trainer`.
        frequencies: Of the words, (V,); decides which are common.
        common: How many words are summed exactly.
        sample: How many of the others are drawn.
        seed: Of the draws.
    """

    def __init__(
        self,
        lm: RecurrentLM,
        frequencies: Tensor,
        *,
        common: int = 1500,
        sample: int = 500,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(lm, **options)
        order = torch.argsort(frequencies, descending=True)
        self._common, self._rare = order[:common], order[common:]
        self._sample = min(sample, len(self._rare))
        self._draws = torch.Generator().manual_seed(seed)
        self._column = torch.full((len(order),), -1)  # of a word among the logits

    def _readout(self, rows: Tensor, targets: Tensor, weight: float) -> tuple[float, Tensor]:
        drawn = self._rare[torch.randperm(len(self._rare), generator=self._draws)[: self._sample]]
        columns = torch.cat([self._common, drawn])
        own = torch.einsum("ij,ij->i", rows, self.C[targets]) + self.c[targets]
        C = self.C[columns]
        logits = torch.addmm(
            self.c[columns], rows, C.T, out=self._logits.view(-1)[: len(rows) * len(C)].view(len(rows), -1)
        )
        logits[:, len(self._common) :] += math.log(len(self._rare) / max(self._sample, 1))  # 1/π
        self._column[columns] = torch.arange(len(columns))
        at = self._column[targets]
        logits[at >= 0, at[at >= 0]] = -math.inf  # the target has a term of its own, with weight one
        self._column[columns] = -1
        log_Z = torch.logaddexp(logits.logsumexp(1), own)
        logits.sub_(log_Z[:, None]).exp_()
        own_gradient = (own - log_Z).exp_() - 1
        for name, common, single in (
            ("C", logits.T @ rows, own_gradient[:, None] * rows),
            ("c", logits.sum(0), own_gradient),
        ):
            self._velocities[name].index_add_(0, columns, common, alpha=weight).index_add_(
                0, targets, single, alpha=weight
            )
        return (log_Z - own).sum().item(), torch.addmm(own_gradient[:, None] * self.C[targets], logits, C)
