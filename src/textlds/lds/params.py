"""The parameters of a Gaussian linear dynamical system

x_{t+1} = A x_t + η,  η ~ N(0, Q)          w_t = C x_t + ε,  ε ~ N(0, D)

The state has no coordinates of its own: for any invertible T, (T A T⁻¹, C T⁻¹, T Q Tᵀ) is the same model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textlds.errors import NotStationaryError
from textlds.lds.noise import Noise
from textlds.linalg.equations import solve_lyapunov
from textlds.linalg.psd import spectral_radius, sqrt_and_inverse, symmetric
from textlds.linalg.types import Matrix


@dataclass(frozen=True)
class LDSParams:
    """A, C, Q and the noise D of a linear dynamical system.

    Attributes:
        A: Transition matrix, (h, h).
        C: Output matrix in whitened coordinates, (n, h).
        Q: Covariance of the innovation of the state, (h, h).
        noise: Covariance of the observation noise.
    """

    A: Matrix
    C: Matrix
    Q: Matrix
    noise: Noise

    @property
    def state_size(self) -> int:
        """The size of the state, h."""
        return len(self.A)

    def transformed(self, T: Matrix) -> LDSParams:
        """Return the same model in the coordinates T x."""
        inverse = np.linalg.inv(T)
        return LDSParams(T @ self.A @ inverse, self.C @ inverse, symmetric(T @ self.Q @ T.T), self.noise.transformed(T))

    def normalised(self) -> LDSParams:
        """Return the same model in coordinates with Q = I, by the symmetric root."""
        root, inverse = sqrt_and_inverse(self.Q)
        A, C = inverse @ self.A @ root, self.C @ root
        return LDSParams(A, C, np.eye(len(A)), self.noise.transformed(inverse))

    def cov_stationary(self) -> Matrix:
        """Return the unconditional covariance of the state, Σ = A Σ Aᵀ + Q."""
        check_stationary(self.A)
        return symmetric(solve_lyapunov(self.A, self.Q))


def check_stationary(A: Matrix) -> None:
    """Raise NotStationaryError if the spectral radius of A is one or more."""
    if not np.all(np.isfinite(A)):
        raise NotStationaryError("the transition matrix A holds values that are not finite. Raise the pseudocount.")
    radius = spectral_radius(A)
    if radius >= 1:
        raise NotStationaryError(
            f"spectral radius of A is {radius:.6f}; the steady-state filter needs < 1. "
            f"Lower state_size (now {len(A)}) or raise the pseudocount."
        )
