"""Small models and texts that tests make themselves, from a seed."""

from __future__ import annotations

import bisect

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from textlds.lds.canonical import canonical_system, word_gains
from textlds.lds.noise import BohningNoise, DiagonalNoise, FullNoise, SphericalNoise
from textlds.lds.params import LDSParams
from textlds.lds.steady import steady_state
from textlds.learn.moments import Moments, word_moments
from textlds.linalg.operators import DenseOperator

KINDS = ("full", "diagonal", "spherical", "bohning")


def zipf(V):
    """Return word frequencies that fall as 1 / rank."""
    weights = 1 / np.arange(1, V + 1)
    return weights / weights.sum()


def random_spd(rng, n, *, condition=10.0):
    """Return a random symmetric positive definite matrix."""
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (basis * np.geomspace(1, condition, n)) @ basis.T


def random_stable(rng, n, *, radius=0.8):
    """Return a random (non-symmetric, non-normal) matrix of a given spectral radius."""
    A = rng.standard_normal((n, n))
    return A * (radius / np.max(np.abs(np.linalg.eigvals(A))))


def random_lds(seed, *, V=9, h=3, kind="full", radius=0.8, explained=0.6):
    """Return a model in general coordinates (Q ≠ I) and its null direction m.

    The largest eigenvalue of C Σ Cᵀ is ``explained``.
    """
    rng = np.random.default_rng(seed)
    frequencies = rng.permutation(zipf(V))
    m = np.sqrt(frequencies)
    A, Q = random_stable(rng, h, radius=radius), random_spd(rng, h)
    cov = sl.solve_discrete_lyapunov(A, Q)
    C = rng.standard_normal((V, h))
    C -= np.outer(m, m @ C)
    C *= np.sqrt(explained / np.linalg.eigvalsh(C @ cov @ C.T)[-1])
    return LDSParams(A, C, Q, make_noise(kind, rng, cov, frequencies)), m


def make_noise(kind, rng, cov, frequencies):
    """Return a noise of a kind; the full one is the residual of unit variance."""
    V = len(frequencies)
    if kind == "full":
        return FullNoise(cov)
    if kind == "spherical":
        return SphericalNoise(0.7, V - 1)
    if kind == "diagonal":
        static = 1 - frequencies
        return DiagonalNoise(static * rng.uniform(0.4, 1.0, V), static)
    return BohningNoise(1 / (2 * frequencies), np.sqrt(1 / (2 * frequencies * (V + 1))))


def exact_moments(params, null, max_lag):
    """Return Ψ_k = C Aᵏ Σ Cᵀ, what infinitely much data from a model would give."""
    cov = sl.solve_discrete_lyapunov(params.A, params.Q)
    powers = [np.linalg.matrix_power(params.A, k) for k in range(1, max_lag + 1)]
    lags = tuple(DenseOperator(params.C @ power @ cov @ params.C.T) for power in powers)
    return Moments(lags, null, len(params.C) - (null is not None))


def markov_kernel(seed, *, V=20, classes=4, order=0.7):
    """Return a non-reversible kernel P[later, earlier] of rank ``classes`` over words.

    Every word chooses the class of its successor, the next one round a circle with probability ``order`` and else at
    its own taste, and the class emits a word.
    """
    rng = np.random.default_rng(seed)
    own = np.arange(V) % classes
    choice = rng.dirichlet(np.full(classes, 0.3), V).T * (1 - order)  # [class, earlier]
    choice[(own + 1) % classes, np.arange(V)] += order
    emission = np.zeros((V, classes))
    for c in range(classes):
        emission[own == c, c] = rng.dirichlet(np.full(np.count_nonzero(own == c), 2.0))
    emission = 0.9 * emission + 0.1 / V
    return emission @ choice


def markov_text(seed, n, *, V=20, classes=4, order=0.7):
    """Return n word ids of a Markov chain, every word present."""
    kernel = markov_kernel(seed, V=V, classes=classes, order=order)
    rng = np.random.default_rng([seed, 1])
    thresholds = np.cumsum(kernel, axis=0).T.tolist()  # one list an earlier word
    ids, word = [], 0
    for u in rng.random(n).tolist():
        word = min(bisect.bisect_left(thresholds[word], u), V - 1)
        ids.append(word)
    ids[:V] = range(V)
    return np.array(ids)


def lag_counts(ids, V, max_lag, *, circular=False):
    """Count pairs [later, earlier] at each lag; ``circular`` joins the end to the beginning."""
    ids = np.asarray(ids)
    lags = []
    for k in range(1, max_lag + 1):
        later, earlier = (np.roll(ids, -k), ids) if circular else (ids[k:], ids[:-k])
        counts = sp.coo_array((np.ones(len(later), np.int64), (later, earlier)), shape=(V, V))
        lags.append(sp.csr_array(counts))
    return np.bincount(ids, minlength=V), lags


def text_moments(ids, V, max_lag, *, circular=False, pseudocount=0.0):
    """Return the moments of a text. Circular ones without pseudocounts are exactly the averages over the text."""
    unigrams, lags = lag_counts(ids, V, max_lag, circular=circular)
    return word_moments(unigrams, lags, pseudocount=pseudocount, threads=1)


def simulate(params, n, *, seed, chains=100):
    """Return n observations of a model without null direction, as (chains, n / chains, dimension)."""
    rng = np.random.default_rng([seed, 2])
    A, C = params.A, params.C
    D = params.noise.to_dense(C, np.zeros(len(C)))
    cov = sl.solve_discrete_lyapunov(A, params.Q)
    roots = [np.linalg.cholesky(X) for X in (cov, params.Q, D)]
    length = n // chains
    x = rng.standard_normal((chains, len(A))) @ roots[0].T
    states = np.empty((chains, length, len(A)))
    innovations = rng.standard_normal((length, chains, len(A))) @ roots[1].T
    for t in range(length):
        states[:, t] = x
        x = x @ A.T + innovations[t]
    return states @ C.T + rng.standard_normal((chains, length, len(C))) @ roots[2].T


def sample_moments(w, max_lag):
    """Return the moments of simulated data, whitened by its own covariance."""
    flat = w.reshape(-1, w.shape[-1])
    root = np.real(sl.sqrtm(np.linalg.inv(flat.T @ flat / len(flat))))
    w = w @ root
    lags = [
        np.einsum("cti,ctj->ij", w[:, k:], w[:, :-k], optimize=True) / (w.shape[0] * (w.shape[1] - k))
        for k in range(1, max_lag + 1)
    ]
    return Moments([DenseOperator(lag) for lag in lags], None, w.shape[-1])


def canonical_of(params, m):
    """Return the canonical system of a model of one-hot words, and the gains of all words."""
    steady = steady_state(params)
    return canonical_system(params, steady, word_gains(steady, m))
