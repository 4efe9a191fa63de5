"""Expectation maximisation on moments.

    E₀ = x̄x̄_0 + Σ_smooth          E₁ = x̄x̄_1 + Σ_smooth Jᵀ
    A = E₁ E₀⁻¹,   C = E[w x̄ᵀ] E₀⁻¹,   Q = E₀ − A E₁ᵀ,   D = Ψ_0 − C E₀ Cᵀ within its kind

and then the coordinates in which Q = I.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from textlds.errors import ArgumentError
from textlds.lds.params import LDSParams
from textlds.lds.steady import SteadyState, steady_state
from textlds.learn.asos import Statistics, asos
from textlds.linalg.psd import symmetric
from textlds.moments import Moments


@dataclass(frozen=True)
class EMStep:
    """The model after a number of iterations, with its statistics.

    Attributes:
        iteration: How many M-steps led here; 0 is the start.
        params: The model.
        steady: Its steady state.
        statistics: Its second-order statistics, the log-likelihood among them.
    """

    iteration: int
    params: LDSParams
    steady: SteadyState
    statistics: Statistics

    @property
    def log_likelihood(self) -> float:
        """Per token, relative to the static model."""
        return self.statistics.log_likelihood


def em_steps(params: LDSParams, moments: Moments, *, horizon: int = 7, first: int = 0) -> Iterator[EMStep]:
    """Yield the start and then the model after every iteration, without end; the caller stops when it has enough.

    Args:
        params: Where to start.
        moments: Ψ_1..Ψ_R with R ≥ horizon.
        horizon: r of ASOS.
        first: The iteration number of the start.
    """
    check_horizon(moments, horizon)
    iteration = first
    while True:
        step = evaluate(params, moments, horizon=horizon, iteration=iteration)
        yield step
        params = maximise(step, moments)
        iteration += 1


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
    """Do the M-step."""
    statistics, steady = step.statistics, step.steady
    E0 = statistics.smooth_smooth + steady.cov_smooth
    E1 = statistics.smooth_next + steady.cov_smooth @ steady.J.T
    A = np.linalg.solve(E0, E1.T).T
    C = np.linalg.solve(E0, statistics.obs_smooth.T).T
    Q = symmetric(E0 - A @ E1.T)
    noise = step.params.noise.estimated(C, E0, moments)
    return LDSParams(A, C, Q, noise).normalised()
