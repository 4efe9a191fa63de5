"""Text from a Markov chain of low rank is an exact linear dynamical system to second order: Ψ_k = C A^{k−1} G.

The eigenvalues of A are those of the chain's kernel other than one.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles import gaussian
from oracles.comparing import eigenvalue_error, relative_error
from oracles.synthetic import markov_kernel, markov_text, text_moments
from textlds.learn.em import em_steps
from textlds.learn.ssid import subspace_identification

V, CLASSES = 20, 4
SIZES = (2_000, 20_000, 200_000)
SEEDS = (0, 1, 2)


def kernel_spectrum(seed):
    """Return a matrix with the eigenvalues of the kernel other than one and zero."""
    values = np.linalg.eigvals(markov_kernel(seed, V=V, classes=CLASSES))
    return np.diag(values[np.argsort(-np.abs(values))][1:CLASSES])


def true_psi(seed, k):
    kernel = markov_kernel(seed, V=V, classes=CLASSES)
    values, vectors = np.linalg.eig(kernel)
    mu = np.real(vectors[:, np.argmax(values.real)])
    mu = mu / mu.sum()
    joint = np.linalg.matrix_power(kernel, k) * mu[None, :]
    return (joint - np.outer(mu, mu)) / np.sqrt(np.outer(mu, mu))


@pytest.fixture(scope="module")
def experiments():
    results = {}
    for seed in SEEDS:
        ids = markov_text(seed, SIZES[-1], V=V, classes=CLASSES)
        for size in SIZES:
            moments = text_moments(ids[:size], V, 7)
            start = subspace_identification(moments, CLASSES - 1, rng=np.random.default_rng(0))
            results[seed, size] = start, moments
    return results


def test_eigenvalues_are_those_of_the_chain(experiments):
    errors = [
        np.mean([eigenvalue_error(experiments[seed, size][0].A, kernel_spectrum(seed)) for seed in SEEDS])
        for size in SIZES
    ]
    assert errors[2] < 0.5 * errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.02


def test_markov_parameters_are_those_of_the_chain(experiments):
    def error(seed, size):
        start, moments = experiments[seed, size]
        G = np.linalg.lstsq(start.C, moments.lags[0].to_dense(), rcond=None)[0]
        found = np.stack([start.C @ np.linalg.matrix_power(start.A, k) @ G for k in range(8)])
        return relative_error(found, np.stack([true_psi(seed, k) for k in range(1, 9)]))

    errors = [np.mean([error(seed, size) for seed in SEEDS]) for size in SIZES]
    assert errors[2] < 0.6 * errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.05


def test_a_model_of_the_reversed_text_is_a_worse_model(experiments):
    """Fitting [earlier, later] instead of [later, earlier] would pass every test of shapes."""
    for seed in SEEDS:
        ids = markov_text(seed, 20_000, V=V, classes=CLASSES)
        train, fresh = ids[:18_000], ids[18_000:]
        scores = []
        for text in (train, train[::-1]):
            moments = text_moments(text, V, 7)
            start = subspace_identification(moments, CLASSES - 1, rng=np.random.default_rng(0))
            params = next(itertools.islice(em_steps(start, moments), 20, None)).params
            w = gaussian.observations(fresh, moments.frequencies)
            scores.append(np.mean(gaussian.log_likelihood(params, moments.null, w, method="steady")))
        assert scores[0] > scores[1] + 0.1


def test_em_improves_on_its_start_on_text_it_has_not_seen(experiments):
    for seed in SEEDS:
        start, moments = experiments[seed, SIZES[1]]
        learned = next(itertools.islice(em_steps(start, moments), 50, None)).params
        fresh = markov_text(seed, SIZES[1] + 3_000, V=V, classes=CLASSES)[SIZES[1] :]
        w = gaussian.observations(fresh, moments.frequencies)
        before, after = (
            np.mean(gaussian.log_likelihood(params, moments.null, w, method="steady")) for params in (start, learned)
        )
        assert after > before
        assert before > 0  # better than knowing the frequencies alone


def test_training_likelihood_is_what_the_text_gets(experiments):
    """The number that EM reports, from moments alone, is the mean that the filter gives to the text's own tokens."""
    for seed in SEEDS:
        start, moments = experiments[seed, SIZES[0]]
        step = next(itertools.islice(em_steps(start, moments), 10, None))
        w = gaussian.observations(markov_text(seed, SIZES[-1], V=V, classes=CLASSES)[: SIZES[0]], moments.frequencies)
        found = np.mean(gaussian.log_likelihood(step.params, moments.null, w, method="steady"))
        assert step.log_likelihood == pytest.approx(found, abs=0.02)
