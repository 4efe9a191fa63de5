"""The noise covariance D of the observations, in the four kinds of the paper.

D is V x V and never written down. All that the rest of the library needs of it is a :class:`Precision`: D⁺C, the
h x h matrix Cᵀ D⁺ C, and two scalars. In whitened coordinates, with m the null direction of the observations:

    full        D = I − m mᵀ − C M Cᵀ            M is h x h; exact for the estimators of SSID and EM
    spherical   D = d (I − m mᵀ)
    diagonal    D = diag(d)
    bohning     D = ½ W (I − 1 1ᵀ / (V + 1)) W    fixed, whatever the data (Böhning 1992)

For the full kind, with G = CᵀC and Cᵀm = 0, on the complement of m:

    D⁺ C = C (I − M G)⁻¹            Cᵀ D⁺ C = (G⁻¹ − M)⁻¹ = G (I − M G)⁻¹
    log det D = log det(I − M G)    tr(D⁺Ψ_0) = (V − 1) + tr(M G (I − M G)⁻¹)

Scalars are given relative to the static model, the same kind of noise with C = 0: for a vocabulary of a hundred
thousand words the constants are a hundred thousand nats and would drown the digits that matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

import numpy as np

from textlds.errors import ArgumentError, NoiseError
from textlds.linalg.elementwise import inverse_or_zero
from textlds.linalg.psd import symmetric
from textlds.linalg.types import Matrix, Vector

NoiseKind = Literal["full", "diagonal", "spherical", "bohning"]
NOISE_KINDS: tuple[NoiseKind, ...] = get_args(NoiseKind)

# How close to singular D may come: an eigenvalue of C M Cᵀ is at most 1 − this.
PSD_MARGIN = 1e-6
# The same at the start of EM. EM moves a direction at a pace proportional to the noise in it: one that starts at 1e-6
# is still there 50 iterations later, and its precision of 1e6 costs likelihoods six digits.
START_MARGIN = 1e-2


@dataclass(frozen=True)
class Precision:
    """What inference and learning need of D.

    Attributes:
        DC: D⁺C, (n, h).
        gram: Cᵀ D⁺ C, (h, h).
        logdet: log det D − log det D_static.
        trace: tr(D⁺Ψ_0) − tr(D_static⁺Ψ_0).
        explained: M, if D is Ψ_0 − C M Cᵀ.
    """

    DC: Matrix
    gram: Matrix
    logdet: float
    trace: float
    explained: Matrix | None = None


class Noise(Protocol):
    """A noise covariance."""

    @property
    def kind(self) -> NoiseKind:
        """Its name."""

    def precision(self, C: Matrix) -> Precision:
        """Return what is needed of D for these output vectors."""

    def transformed(self, inverse: Matrix) -> Noise:
        """Return the same D after the state changes coordinates by x → inverse · x."""

    def estimated(self, C: Matrix, second_moment: Matrix) -> Noise:
        """M-step: the D that maximises the expected likelihood, Ψ_0 − C E[x xᵀ] Cᵀ within this kind."""

    def word_terms(self, C: Matrix, null: Vector) -> Vector:
        """Return wᵀD⁺w − wᵀD_static⁺w for the observation w = e_i / m_i − m of every word i."""

    def arrays(self) -> dict[str, Matrix]:
        """Return the numbers that, with the word frequencies, determine D."""

    def with_arrays(self, arrays: Mapping[str, Matrix]) -> Noise:
        """Return a noise of the same kind with these numbers."""

    def to_dense(self, C: Matrix, null: Vector) -> Matrix:
        """Return D as an array; for small V only."""


@dataclass(frozen=True)
class FullNoise:
    """D = I − m mᵀ − C M Cᵀ."""

    M: Matrix
    kind: NoiseKind = "full"

    def precision(self, C: Matrix) -> Precision:
        """Woodbury in h x h; raises NoiseError if D is not positive on the complement of m."""
        G = C.T @ C
        h = len(G)
        explained = _explained_variance(G, self.M)
        # the sign of det(I − M G) would not see an even number of negative directions
        if not explained[-1] < 1:
            raise NoiseError(
                "the noise covariance D = I − C M Cᵀ is not positive: an eigenvalue of C M Cᵀ is "
                f"{explained[-1]:.6g}, and must be below 1. Raise the pseudocount or lower state_size."
            )
        inverse = np.linalg.solve((np.eye(h) - self.M @ G).T, np.eye(h)).T  # (I − M G)⁻¹
        logdet = float(np.sum(np.log1p(-explained)))
        trace = float(np.sum((self.M @ G) * inverse.T))
        return Precision(C @ inverse, symmetric(G @ inverse), logdet, trace, self.M)

    def transformed(self, inverse: Matrix) -> FullNoise:
        """M → T⁻¹ M T⁻ᵀ, so that C M Cᵀ stays."""
        return replace(self, M=symmetric(inverse @ self.M @ inverse.T))

    def estimated(self, C: Matrix, second_moment: Matrix) -> FullNoise:
        """M = E[x xᵀ]: D is exactly the residual covariance, positive semidefinite by construction."""
        return FullNoise(clip_to_psd(C, second_moment))

    def word_terms(self, C: Matrix, null: Vector) -> Vector:
        """D⁺ − Ψ_0 = C M (I − G M)⁻¹ Cᵀ, and Cᵀw is row i of W C."""
        try:
            inner = np.linalg.solve(np.eye(len(self.M)) - self.M @ (C.T @ C), self.M)  # (I − M G)⁻¹ M
        except np.linalg.LinAlgError as error:
            raise NoiseError("the noise covariance D = I − C M Cᵀ is singular: C or M is out of range.") from error
        quadratic: Vector = np.einsum("ij,ij->i", C @ symmetric(inner), C)
        return quadratic * inverse_or_zero(null) ** 2

    def arrays(self) -> dict[str, Matrix]:
        """M."""
        return {"M": self.M}

    def with_arrays(self, arrays: Mapping[str, Matrix]) -> FullNoise:
        """M."""
        return FullNoise(arrays["M"])

    def to_dense(self, C: Matrix, null: Vector) -> Matrix:
        """Return D as an array."""
        return np.eye(len(C)) - np.outer(null, null) - C @ self.M @ C.T


@dataclass(frozen=True)
class SphericalNoise:
    """D = d (I − m mᵀ)."""

    d: float
    rank: int  # V − 1
    kind: NoiseKind = "spherical"

    def precision(self, C: Matrix) -> Precision:
        """D⁺ = (I − m mᵀ) / d."""
        trace = self.rank * (1 / self.d - 1)
        return Precision(C / self.d, C.T @ C / self.d, self.rank * np.log(self.d), trace)

    def transformed(self, inverse: Matrix) -> SphericalNoise:
        """D does not involve the state."""
        return self

    def estimated(self, C: Matrix, second_moment: Matrix) -> SphericalNoise:
        """d = tr(Ψ_0 − C E[x xᵀ] Cᵀ) / (V − 1)."""
        residual = self.rank - float(np.sum((C.T @ C) * second_moment))
        return replace(self, d=max(residual / self.rank, PSD_MARGIN))

    def word_terms(self, C: Matrix, null: Vector) -> Vector:
        """wᵀw = 1/μ − 1."""
        return (1 / self.d - 1) * (inverse_or_zero(null) ** 2 - 1)

    def arrays(self) -> dict[str, Matrix]:
        """d."""
        return {"d": np.array([self.d])}

    def with_arrays(self, arrays: Mapping[str, Matrix]) -> SphericalNoise:
        """d, kept positive."""
        return replace(self, d=max(float(arrays["d"][0]), PSD_MARGIN))

    def to_dense(self, C: Matrix, null: Vector) -> Matrix:
        """Return D as an array."""
        return self.d * (np.eye(len(C)) - np.outer(null, null))


@dataclass(frozen=True)
class DiagonalNoise:
    """D = diag(d); the static model has d = diag(Ψ_0) = 1 − m²."""

    d: Vector
    static: Vector
    kind: NoiseKind = "diagonal"

    def precision(self, C: Matrix) -> Precision:
        """D⁻¹ is elementwise."""
        DC = C / self.d[:, None]
        logdet = float(np.sum(np.log(self.d) - np.log(self.static)))
        return Precision(DC, symmetric(C.T @ DC), logdet, float(np.sum(self.static / self.d - 1)))

    def transformed(self, inverse: Matrix) -> DiagonalNoise:
        """D does not involve the state."""
        return self

    def estimated(self, C: Matrix, second_moment: Matrix) -> DiagonalNoise:
        """d = diag(Ψ_0 − C E[x xᵀ] Cᵀ)."""
        explained = np.einsum("ij,jk,ik->i", C, second_moment, C, optimize=True)
        return replace(self, d=np.maximum(self.static - explained, PSD_MARGIN))

    def word_terms(self, C: Matrix, null: Vector) -> Vector:
        """Σ_j w_j² (1/d_j − 1/static_j) with w = e_i / m_i − m."""
        excess = 1 / self.d - 1 / self.static
        return excess * (inverse_or_zero(null) ** 2 - 2) + float(excess @ null**2)

    def arrays(self) -> dict[str, Matrix]:
        """d."""
        return {"d": self.d}

    def with_arrays(self, arrays: Mapping[str, Matrix]) -> DiagonalNoise:
        """d, kept positive."""
        return replace(self, d=np.maximum(arrays["d"], PSD_MARGIN))

    def to_dense(self, C: Matrix, null: Vector) -> Matrix:
        """Return D as an array."""
        return np.diag(self.d)


@dataclass(frozen=True)
class BohningNoise:
    """D = ½ W (I − 1 1ᵀ / (V + 1)) W = diag(d) − u uᵀ with d = 1/(2μ), u = 1 / sqrt(2μ (V + 1))."""

    d: Vector
    u: Vector
    kind: NoiseKind = "bohning"

    def precision(self, C: Matrix) -> Precision:
        """D⁻¹ = diag(1/d) + v vᵀ / (1 − uᵀv), v = u / d (Sherman–Morrison)."""
        v = self.u / self.d
        DC = C / self.d[:, None] + np.outer(v, v @ C) / (1 - self.u @ v)
        return Precision(DC, symmetric(C.T @ DC), 0.0, 0.0)

    def transformed(self, inverse: Matrix) -> BohningNoise:
        """D does not involve the state."""
        return self

    def estimated(self, C: Matrix, second_moment: Matrix) -> BohningNoise:
        """D is fixed."""
        return self

    def word_terms(self, C: Matrix, null: Vector) -> Vector:
        """The static model has the same D."""
        return np.zeros(len(C))

    def arrays(self) -> dict[str, Matrix]:
        """Nothing: D is determined by the word frequencies."""
        return {}

    def with_arrays(self, arrays: Mapping[str, Matrix]) -> BohningNoise:
        """D is fixed."""
        return self

    def to_dense(self, C: Matrix, null: Vector) -> Matrix:
        """Return D as an array."""
        return np.diag(self.d) - np.outer(self.u, self.u)


def initial_noise(kind: NoiseKind, C: Matrix, second_moment: Matrix, null: Vector | None, rank: int) -> Noise:
    """Return the noise of a kind that leaves D = Ψ_0 − C E[x xᵀ] Cᵀ, or its nearest of that kind."""
    if kind in ("diagonal", "bohning") and null is None:
        raise ArgumentError(f"noise={kind!r} needs the full space: it cannot be combined with compression.")
    if kind == "full":
        return FullNoise(clip_to_psd(C, second_moment, margin=START_MARGIN))
    return _static_noise(kind, null, rank).estimated(C, second_moment)


def noise_from_arrays(kind: NoiseKind, arrays: Mapping[str, Matrix], null: Vector) -> Noise:
    """Rebuild a noise from what :meth:`Noise.arrays` returned."""
    return _static_noise(kind, null, int(np.count_nonzero(null)) - 1).with_arrays(arrays)


def _static_noise(kind: NoiseKind, null: Vector | None, rank: int) -> Noise:
    """Return the noise of the model with C = 0."""
    if kind == "full":
        return FullNoise(np.zeros((0, 0)))
    if kind == "spherical":
        return SphericalNoise(1.0, rank)
    if kind == "diagonal" and null is not None:
        static = np.maximum(1 - null**2, PSD_MARGIN)
        return DiagonalNoise(static, static)
    if kind == "bohning" and null is not None:
        inverse = np.maximum(inverse_or_zero(null), 1.0) ** 2  # 1/μ
        return BohningNoise(inverse / 2, np.sqrt(inverse / (2 * (len(null) + 1))))
    raise ArgumentError(f"noise={kind!r} is not one of {', '.join(map(repr, NOISE_KINDS))}.")


def explained_variance(C: Matrix, M: Matrix) -> Vector:
    """Return the eigenvalues of C M Cᵀ other than zero, ascending: h x h, no power iteration over V.

    They are those of G^½ M G^½, G = CᵀC; D is positive semidefinite on the complement of m iff none exceeds one.
    """
    return _explained_variance(C.T @ C, M)


def _explained_variance(G: Matrix, M: Matrix) -> Vector:
    if not (np.all(np.isfinite(G)) and np.all(np.isfinite(M))):
        raise NoiseError("the noise covariance D cannot be made positive semidefinite: its estimate is not finite.")
    values, vectors = np.linalg.eigh(G)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.linalg.eigvalsh(symmetric(root.T @ M @ root))


def clip_to_psd(C: Matrix, M: Matrix, *, margin: float = PSD_MARGIN) -> Matrix:
    """Return (1 − α₀) M with the least α₀ for which D = I − m mᵀ − C M Cᵀ is positive (appendix A.1 of the paper)."""
    largest = explained_variance(C, M)[-1]
    return M if largest <= 1 - margin else M * ((1 - margin) / largest)
