"""The sketch: learning whose cost depends neither on the vocabulary nor on the corpus.

Up to the noise floor of the counts, every C that subspace identification or EM reaches lies in the dominant range of
Ψ_1..Ψ_R and their transposes. So take one orthonormal basis B (V x p, B ⟂ m) of it, project once,

    M_k = Bᵀ Ψ_k B (p x p),   M_0 = I,

and learn from the M_k in place of the Ψ_k, with c = BᵀC (p x h) in place of C. Nothing else changes: a
:class:`~textlds.learn.moments.Moments` is all that learning ever sees.

The basis comes from a randomized range finder with one power step, over the first two lags. A Gaussian panel meets
each of them and its transpose, with other signs of its rows each time, so that the sum of the products samples the
range of all; the power step applies Σ_k Ψ_k Ψ_kᵀ + Ψ_kᵀ Ψ_k to its orthonormal basis. The neighbouring words span what
those further away span, with less noise: a basis from all seven lags costs 3.5 times as much, and in trials the
models learnt on it tagged less accurately. In float32: the basis need only be good, not exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from textlds.lds.params import LDSParams
from textlds.learn.asos import output_coefficients
from textlds.learn.em import EMStep
from textlds.learn.moments import Moments
from textlds.linalg.operators import DenseOperator, Operator
from textlds.linalg.tall import Tall, gram, orthonormal

_BASIS_LAGS = 2  # lags that the basis comes from


@dataclass(frozen=True)
class Sketch:
    """A basis of the range of the moments, and the moments in it.

    Attributes:
        basis: B, (V, p), orthonormal columns.
        moments: M_1..M_R.
    """

    basis: Tall
    moments: Moments

    @property
    def size(self) -> int:
        """The number of dimensions kept, p."""
        return int(self.basis.shape[1])

    def lift(self, params: LDSParams) -> LDSParams:
        """Return the same model in the full space: C = B c; A, Q and D are as they were."""
        return LDSParams(params.A, self.basis @ params.C, params.Q, params.noise)


def sketch(
    moments: Moments,
    size: int,
    *,
    rng: np.random.Generator,
    threads: int,
    on_product: Callable[[], None] = lambda: None,
) -> Sketch:
    """Find the basis and project: 12 + R sparse products with a panel of p columns each.

    Args:
        moments: Ψ_1..Ψ_R over the whole vocabulary.
        size: p.
        rng: For the Gaussian panel.
        threads: For the dense products.
        on_product: Called after every product with a Ψ_k, :func:`products` times in all.
    """
    near = moments.lags[:_BASIS_LAGS]
    panel = rng.standard_normal((moments.size, size), dtype=np.float32)
    basis = orthonormal(_sample(near, panel, rng, on_product), moments.null, threads, passes=1)
    basis = orthonormal(_power(near, basis, on_product), moments.null, threads, passes=2)
    return projected(moments, basis, moments.rank, threads=threads, on_product=on_product)


def projected(
    moments: Moments, basis: Tall, rank: int, *, threads: int, on_product: Callable[[], None] = lambda: None
) -> Sketch:
    """Project on a basis: R sparse products.

    Args:
        moments: Ψ_1..Ψ_R over the whole vocabulary.
        basis: B, (V, p), orthonormal columns, orthogonal to the null direction.
        rank: The dimension of what is observed: V − 1 if it is the whole word, p if it is the word seen through B.
        threads: For the dense products.
        on_product: Called after every sparse product.
    """
    small = []
    for lag in moments.lags:
        small.append(DenseOperator(gram(basis, lag.matmat(basis), threads)))
        on_product()
    return Sketch(basis, Moments(small, None, rank, threads=threads))


def products(lags: int) -> int:
    """Return how many sparse products a sketch of so many lags takes."""
    return 6 * min(_BASIS_LAGS, lags) + lags


def lost_energy(
    full: Moments, basis: Tall, step: EMStep, *, horizon: int, rng: np.random.Generator, probes: int = 16
) -> float:
    """Estimate the share of ‖C‖² that lies outside the basis after one more EM iteration in the full space.

    That iteration would set C = E[w x̄ᵀ] E₀⁻¹. It is applied to a few random directions of the state only: 2 · horizon
    sparse products with ``probes`` columns, a few per cent of a full iteration.

    Args:
        full: Ψ_1..Ψ_R over the whole vocabulary.
        basis: B.
        step: The model in the full space.
        horizon: r of ASOS.
        rng: For the directions.
        probes: How many directions.
    """
    params, steady, statistics = step.params, step.steady, step.statistics
    coefficients = output_coefficients(params, steady, horizon)
    second_moment = statistics.smooth_smooth + steady.cov_smooth
    directions = np.linalg.solve(second_moment, rng.standard_normal((len(params.A), probes)))
    C = params.C @ (coefficients.c(statistics.filt_filt) @ directions)
    C += full.lag0(steady.KT @ (coefficients.a[0] @ directions))
    for k in range(1, horizon + 1):
        C += full.lags[k - 1].matmat(steady.KT @ (coefficients.a[k] @ directions))
        C += full.lags[k - 1].rmatmat(steady.KT @ (coefficients.b[k] @ directions))
    inside = basis.T @ C
    return float(max(0.0, 1 - np.sum(inside**2) / np.sum(C**2)))


def _sample(lags: Sequence[Operator], panel: Tall, rng: np.random.Generator, on_product: Callable[[], None]) -> Tall:
    """Return Σ_k Ψ_k Ω_k + Ψ_kᵀ Ω'_k, every Ω the same Gaussian panel with other random signs of its rows."""
    total = np.zeros_like(panel)
    for lag in lags:
        for multiply in (lag.matmat, lag.rmatmat):
            signs = rng.choice(np.array([-1, 1], np.float32), size=(len(panel), 1))
            total += multiply(signs * panel)
            on_product()
    return total


def _power(lags: Sequence[Operator], basis: Tall, on_product: Callable[[], None]) -> Tall:
    """Return Σ_k (Ψ_k Ψ_kᵀ + Ψ_kᵀ Ψ_k) B."""
    total = np.zeros_like(basis)
    for lag in lags:
        for forth, back in ((lag.rmatmat, lag.matmat), (lag.matmat, lag.rmatmat)):
            half = forth(basis)
            on_product()
            total += back(half)
            on_product()
    return total
