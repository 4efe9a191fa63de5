"""Expectation maximisation on moments.

The M-step is least squares. With E₀ = x̄x̄_0 + Σ_smooth and E₁ = x̄x̄_1 + Σ_smooth Jᵀ,

    A = E₁ E₀⁻¹,   C = E[w x̄ᵀ] E₀⁻¹,   Q = E₀ − A E₁ᵀ,   D = Ψ_0 − C E₀ Cᵀ within its kind.

The state has no coordinates of its own, so it takes those in which E₀ = I (by the symmetric root, the nearest such):

    A = E₀^-½ E₁ E₀^-½,   C = E[w x̄ᵀ] E₀^-½,   Q = I − A Aᵀ,   D = Ψ_0 − C Cᵀ.

There a model is A and C alone, valid whenever ‖A‖₂ < 1 and ‖C‖₂ < 1, and one may go further than the M-step in its own
direction: θ → θ + η (θ_EM − θ), over-relaxation (Salakhutdinov & Roweis 2003). η grows by a tenth while that raises the
likelihood; a step that does not, or is no valid model, is replaced by the plain one (η = 1), and η is halved.

With exact statistics a plain step never loses likelihood. ASOS lets the model speak for the lags beyond its horizon r;
where the text remembers longer than that (a chain that hardly ever moves, r = 2), a step may lose what the true lags
would have gained. Every such loss that was found disappears with a horizon of 30 to 100. There EM is at the limit of
its approximation and stops: the model stays as it is, and `EMStep.stalled` says so. The first step is always taken and
may lose, because the start is no point of EM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from textlds.errors import ArgumentError, TextLDSError
from textlds.lds.noise import PSD_MARGIN
from textlds.lds.params import LDSParams
from textlds.lds.steady import SteadyState, steady_state
from textlds.learn.asos import Statistics, asos
from textlds.learn.moments import Moments
from textlds.linalg.psd import is_contraction, nearest_contraction, sqrt_and_inverse, symmetric
from textlds.linalg.types import Matrix

FIRST_RELAXATION = 1.8
_GROWTH = 1.1
_ROUNDING = 1e-9  # nats per token


@dataclass(frozen=True)
class EMStep:
    """The model after a number of iterations, with its statistics.

    Attributes:
        iteration: How many iterations led here; 0 is the start.
        params: The model.
        steady: Its steady state.
        statistics: Its second-order statistics, the log-likelihood among them.
        relaxation: η of the next iteration. The steps that follow depend on this and the parameters, nothing else.
        stalled: The next iteration would lose likelihood. It is not done: all steps that follow are this one.
    """

    iteration: int
    params: LDSParams
    steady: SteadyState
    statistics: Statistics
    relaxation: float = 1.0
    stalled: bool = False

    @property
    def log_likelihood(self) -> float:
        """Per token, relative to the static model."""
        return self.statistics.log_likelihood


def em_steps(
    params: LDSParams, moments: Moments, *, horizon: int = 7, first: int = 0, relaxation: float = 1.0
) -> Iterator[EMStep]:
    """Yield the start and then the model after every iteration, without end; the caller stops when it has enough.

    Args:
        params: Where to start.
        moments: Ψ_1..Ψ_R with R ≥ horizon.
        horizon: r of ASOS.
        first: The iteration number of the start.
        relaxation: η of the first over-relaxed step; 1 for plain EM throughout.
    """
    check_horizon(moments, horizon)
    step = replace(evaluate(params, moments, horizon=horizon, iteration=first), relaxation=relaxation)
    while True:
        yield step
        step = step if step.stalled else _following(step, moments, horizon)


def _following(step: EMStep, moments: Moments, horizon: int) -> EMStep:
    """Do an iteration."""
    plain = maximise(step, moments)
    eta = step.relaxation
    # the start is in other coordinates than the M-step's, so that there is no direction between them
    if eta > 1 and step.iteration > 0:
        relaxed = _relaxed(step, plain, moments, horizon)
        if relaxed is not None:
            return relaxed
        eta = max(FIRST_RELAXATION, eta / 2)
    following = evaluate(plain, moments, horizon=horizon, iteration=step.iteration + 1)
    if step.iteration > 0 and not following.log_likelihood >= step.log_likelihood - _ROUNDING:
        if eta == step.relaxation:
            return replace(step, stalled=True)
        following = replace(step, iteration=step.iteration + 1)
    return replace(following, relaxation=eta)


def check_horizon(moments: Moments, horizon: int) -> None:
    """Raise ArgumentError unless the moments reach the horizon of ASOS."""
    if not 1 <= horizon <= len(moments.lags):
        raise ArgumentError(
            f"em_horizon={horizon} is not between 1 and {len(moments.lags)}, the largest lag in the counts. "
            f"Count with max_lag={max(horizon, 1)}, or lower em_horizon."
        )


def evaluate(params: LDSParams, moments: Moments, *, horizon: int, iteration: int = 0) -> EMStep:
    """Do the E-step."""
    steady = steady_state(params)
    return EMStep(iteration, params, steady, asos(params, steady, moments, horizon=horizon))


def maximise(step: EMStep, moments: Moments) -> LDSParams:
    """Do the M-step, into coordinates with E₀ = I."""
    statistics, steady = step.statistics, step.steady
    E0 = statistics.smooth_smooth + steady.cov_smooth
    E1 = statistics.smooth_next + steady.cov_smooth @ steady.J.T
    _, inverse_root = sqrt_and_inverse(E0)
    # E₀ and E₁ of the same process make ‖A‖₂ < 1; approximate ones need not
    A = nearest_contraction(inverse_root @ E1 @ inverse_root, PSD_MARGIN)
    C = statistics.obs_smooth @ inverse_root
    noise = step.params.noise.estimated(C, np.eye(len(A)))
    return LDSParams(A, C, _innovation(A), noise)


def _relaxed(step: EMStep, plain: LDSParams, moments: Moments, horizon: int) -> EMStep | None:
    """Go further than the M-step; None if that is not a model, or one with less likelihood."""
    before, eta = step.params, step.relaxation
    A = before.A + eta * (plain.A - before.A)
    if not is_contraction(A, PSD_MARGIN):
        return None
    C = before.C + eta * (plain.C - before.C)
    old, new = before.noise.arrays(), plain.noise.arrays()
    noise = plain.noise.with_arrays({name: old[name] + eta * (new[name] - old[name]) for name in new})
    if noise.kind == "full":
        noise = noise.estimated(C, np.eye(len(A)))
    try:
        params = LDSParams(A, C, _innovation(A), noise)
        following = evaluate(params, moments, horizon=horizon, iteration=step.iteration + 1)
    except (TextLDSError, np.linalg.LinAlgError):
        return None
    if not following.log_likelihood >= step.log_likelihood:
        return None
    return replace(following, relaxation=eta * _GROWTH)


def _innovation(A: Matrix) -> Matrix:
    """Return Q = I − A Aᵀ."""
    return symmetric(np.eye(len(A)) - A @ A.T)
