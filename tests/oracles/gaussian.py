"""The linear dynamical system written down in full: slow, dense, obviously right.

The joint distribution of (x_1..x_n, w_1..w_n) is one Gaussian; every posterior and every likelihood is a conditional
or a marginal of it. `joint_gaussian_posterior` computes them in that way and in no other. The plain Kalman filter,
the RTS smoother and their steady-state forms are checked against it and are then the truth for long sequences.

Nothing here uses textlds.linalg or textlds.lds.steady: matrix equations are solved by scipy.

Full and spherical noise have no variance in the direction m. There the observations are expressed in an orthonormal
basis B of its complement, Bᵀw, in which D is invertible; a density is one with respect to those coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl


@dataclass(frozen=True)
class DenseLDS:
    """A model as dense matrices with an invertible D, and the basis its observations are expressed in."""

    A: Any
    C: Any
    Q: Any
    D: Any
    D_static: Any  # the covariance of an observation in the model with C = 0
    basis: Any  # (V, n): coordinates of an observation w are basisᵀ w

    @property
    def cov_stationary(self):
        return sl.solve_discrete_lyapunov(self.A, self.Q)


@dataclass(frozen=True)
class Posterior:
    """Means (n, h) and covariances (n, h, h) of the states, with what else was computed on the way."""

    means: Any
    covs: Any
    log_likelihood: Any = None  # of each token given the past, (n,); absolute
    means_pred: Any = None
    covs_pred: Any = None
    covs_next: Any = None  # Cov(x_{t+1}, x_t | everything), (n − 1, h, h)


def complement(null):
    """Return an orthonormal basis of the complement of a vector, (V, V − 1)."""
    return sl.null_space(np.asarray(null)[None, :])


def observations(ids, frequencies):
    """Return the whitened, centred one-hot vectors w_t = μ^-½ (e_t − μ), one per row."""
    frequencies = np.asarray(frequencies)
    one_hot = np.eye(len(frequencies))[np.asarray(ids)]
    return (one_hot - frequencies) / np.sqrt(frequencies)


def dense(params, null):
    """Write a textlds model down as dense matrices; ``null`` is m, or None if D has full rank as it is."""
    kind, V = params.noise.kind, len(params.C)
    zero = np.zeros(V)
    m = zero if null is None else null
    D = params.noise.to_dense(params.C, m)
    if kind in ("full", "spherical"):
        D_static = np.eye(V) - np.outer(m, m)
    elif kind == "diagonal":
        D_static = np.diag(1 - m**2)
    else:
        D_static = D
    basis = np.eye(V) if null is None or kind in ("diagonal", "bohning") else complement(m)
    B = basis
    return DenseLDS(params.A, B.T @ params.C, params.Q, B.T @ D @ B, B.T @ D_static @ B, B)


def joint_covariance(model, n):
    """Return Cov(x), Cov(x, w), Cov(w) of n steps from the stationary state, each stacked in time."""
    h = len(model.A)
    cov = model.cov_stationary
    Sxx = np.zeros((n * h, n * h))
    for t in range(n):
        block = cov  # Cov(x_s, x_t) = A^{s−t} Σ
        for s in range(t, n):
            Sxx[s * h : (s + 1) * h, t * h : (t + 1) * h] = block
            Sxx[t * h : (t + 1) * h, s * h : (s + 1) * h] = block.T
            block = model.A @ block
    outputs = np.kron(np.eye(n), model.C)
    Sxw = Sxx @ outputs.T
    return Sxx, Sxw, outputs @ Sxw + np.kron(np.eye(n), model.D)


def joint_gaussian_posterior(params, null, w, *, given="all"):
    """Condition the joint Gaussian on the rows of w: on all of them, or (``"past"``) for x_t on w_1..w_t."""
    model = dense(params, null)
    y = np.asarray(w) @ model.basis
    n, p, h = len(y), y.shape[1], len(model.A)
    Sxx, Sxw, Sww = joint_covariance(model, n)
    totals = [_log_density(y[:t].ravel(), Sww[: t * p, : t * p]) for t in range(n + 1)]
    tokens = np.diff(totals)
    means, covs = np.empty((n, h)), np.empty((n, h, h))
    for t in range(n):
        seen = p * (n if given == "all" else t + 1)
        own = slice(t * h, (t + 1) * h)
        weights = np.linalg.solve(Sww[:seen, :seen], Sxw[own, :seen].T).T
        means[t] = weights @ y.ravel()[:seen]
        covs[t] = Sxx[own, own] - weights @ Sxw[own, :seen].T
    after = Sxx - Sxw @ np.linalg.solve(Sww, Sxw.T)
    covs_next = np.array([after[(t + 1) * h : (t + 2) * h, t * h : (t + 1) * h] for t in range(n - 1)])
    return Posterior(means, covs, tokens, covs_next=covs_next)


def kalman_filter(params, null, w):
    """Filter from the stationary state, with the gain of each step."""
    model = dense(params, null)
    y = np.asarray(w) @ model.basis
    A, C, Q, D = model.A, model.C, model.Q, model.D
    mean, cov = np.zeros(len(A)), model.cov_stationary  # of x_1 given nothing
    means, covs, means_pred, covs_pred, tokens = [], [], [], [], []
    for t in range(len(y)):
        if t > 0:
            mean, cov = A @ means[-1], A @ covs[-1] @ A.T + Q
        S = C @ cov @ C.T + D
        gain = np.linalg.solve(S, C @ cov).T
        means_pred.append(mean)
        covs_pred.append(cov)
        tokens.append(_log_density(y[t] - C @ mean, S))
        means.append(mean + gain @ (y[t] - C @ mean))
        covs.append(cov - gain @ C @ cov)
    return Posterior(*map(np.array, (means, covs, tokens, means_pred, covs_pred)))


def rts_smoother(params, filtered):
    """Smooth what `kalman_filter` returned."""
    A = params.A
    means, covs = [filtered.means[-1]], [filtered.covs[-1]]
    covs_next = []
    for t in range(len(filtered.means) - 2, -1, -1):
        gain = filtered.covs[t] @ A.T @ np.linalg.inv(filtered.covs_pred[t + 1])
        covs_next.append(covs[-1] @ gain.T)
        covs.append(filtered.covs[t] + gain @ (covs[-1] - filtered.covs_pred[t + 1]) @ gain.T)
        means.append(filtered.means[t] + gain @ (means[-1] - filtered.means_pred[t + 1]))
    return Posterior(np.array(means[::-1]), np.array(covs[::-1]), covs_next=np.array(covs_next[::-1]))


@dataclass(frozen=True)
class DenseSteadyState:
    """The limits of the Kalman filter and smoother, from scipy's Riccati solver."""

    cov_pred: Any
    cov_filt: Any
    cov_smooth: Any
    S: Any  # covariance of an observation given its past, in the coordinates of the model's basis
    gain: Any  # (h, n)
    gain_words: Any  # (h, V): the gain applied to an observation in its own coordinates
    smoother_gain: Any


def dense_steady_state(params, null):
    """Solve the steady state with dense V x V matrices."""
    model = dense(params, null)
    A, C, Q, D = model.A, model.C, model.Q, model.D
    cov_pred = sl.solve_discrete_are(A.T, C.T, Q, D)
    S = C @ cov_pred @ C.T + D
    gain = cov_pred @ C.T @ np.linalg.inv(S)
    cov_filt = cov_pred - gain @ C @ cov_pred
    J = cov_filt @ A.T @ np.linalg.inv(cov_pred)
    cov_smooth = sl.solve_discrete_lyapunov(J, cov_filt - J @ cov_pred @ J.T)
    return DenseSteadyState(cov_pred, cov_filt, cov_smooth, S, gain, gain @ model.basis.T, J)


def steady_filter(params, null, w, *, circular=False):
    """Filter with the steady gain from x̂_0 = 0, or with the state that a circular sequence comes back to."""
    model, steady = dense(params, null), dense_steady_state(params, null)
    y = np.asarray(w) @ model.basis
    mean = np.zeros(len(model.A))
    for _ in range(2 if circular else 1):  # the second round starts where the first ended
        means, means_pred = np.empty((len(y), len(model.A))), np.empty((len(y), len(model.A)))
        for t in range(len(y)):
            means_pred[t] = model.A @ mean
            mean = means_pred[t] + steady.gain @ (y[t] - model.C @ means_pred[t])
            means[t] = mean
    tokens = _log_densities(y - means_pred @ model.C.T, steady.S)
    covs = np.broadcast_to(steady.cov_filt, (len(y), *steady.cov_filt.shape))
    return Posterior(means, covs, tokens, means_pred)


def steady_smoother(params, null, w, *, circular=False):
    """Smooth with the steady gain: x̄_t = x̂_t + J (x̄_{t+1} − A x̂_t), x̄_n = x̂_n unless circular."""
    steady = dense_steady_state(params, null)
    filtered = steady_filter(params, null, w, circular=circular)
    predictions = filtered.means @ params.A.T
    means = filtered.means.copy()
    following = means[-1]
    for round_ in range(2 if circular else 1):
        for t in range(len(means) - 1, -1, -1):
            if t < len(means) - 1 or (circular and round_ > 0):
                means[t] = filtered.means[t] + steady.smoother_gain @ (following - predictions[t])
            following = means[t]
    covs = np.broadcast_to(steady.cov_smooth, (len(means), *steady.cov_smooth.shape))
    return Posterior(means, covs, filtered.log_likelihood)


def log_likelihood(params, null, w, *, method="exact", relative=True, circular=False):
    """Return the log-likelihood of each token given those before it, by default relative to the static model."""
    if method == "exact":
        tokens = kalman_filter(params, null, w).log_likelihood
    else:
        tokens = steady_filter(params, null, w, circular=circular).log_likelihood
    return tokens - static_log_likelihood(params, null, w) if relative else tokens


def static_log_likelihood(params, null, w):
    """Return the log-density of each token in the model of the same noise with C = 0."""
    model = dense(params, null)
    return _log_densities(np.asarray(w) @ model.basis, model.D_static)


def _log_density(y, cov):
    return _log_densities(y[None, :], cov)[0]


def _log_densities(rows, cov):
    _, logdet = np.linalg.slogdet(cov)
    distances = np.sum(rows * np.linalg.solve(cov, rows.T).T, axis=1)
    return -0.5 * (rows.shape[1] * np.log(2 * np.pi) + logdet + distances)
