from __future__ import annotations

import numpy as np
import pytest

from model.worlds import random_model, rows_of
from oracles import gaussian
from oracles.synthetic import KINDS
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad"]


def null(model):
    return np.sqrt(model.frequencies)


@pytest.fixture(params=KINDS)
def model(request):
    return random_model(3, kind=request.param)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_exact_posterior_is_that_of_the_joint_gaussian(model, n):
    tokens = TEXT[:n]
    w = gaussian.observations(rows_of(model, tokens), model.frequencies)
    found = model.posterior(tokens, gains="exact")
    T = model.spaces.engine("float64").system.T
    past = gaussian.joint_gaussian_posterior(model.params, null(model), w, given="past")
    everything = gaussian.joint_gaussian_posterior(model.params, null(model), w)
    assert list(found.tokens) == tokens
    np.testing.assert_allclose(found.pred[1:], past.means[:-1] @ model.params.A.T @ T.T, atol=1e-9)
    np.testing.assert_allclose(found.filt, past.means @ T.T, atol=1e-9)
    np.testing.assert_allclose(found.smooth, everything.means @ T.T, atol=1e-9)
    np.testing.assert_allclose(found.cov_filt, T @ past.covs @ T.T, atol=1e-9)
    np.testing.assert_allclose(found.cov_smooth, T @ everything.covs @ T.T, atol=1e-9)


def test_steady_posterior_is_that_of_the_dense_steady_state(model):
    tokens = TEXT * 20
    w = gaussian.observations(rows_of(model, tokens), model.frequencies)
    found = model.posterior(tokens)
    T = model.spaces.engine("float64").system.T
    smoothed = gaussian.steady_smoother(model.params, null(model), w)
    np.testing.assert_allclose(found.smooth, smoothed.means @ T.T, atol=1e-8)
    np.testing.assert_allclose(found.cov_filt, np.broadcast_to(np.eye(3), (len(tokens), 3, 3)), atol=1e-9)
    np.testing.assert_allclose(found.cov_smooth[50], T @ smoothed.covs[50] @ T.T, atol=1e-8)
    np.testing.assert_array_equal(found.cov_smooth[-1], found.cov_filt[-1])


@pytest.mark.parametrize("gains", ["steady", "exact"])
def test_each_line_has_a_posterior_of_its_own(gains):
    model = random_model(4, settings=TextSettings(tokenizer="whitespace", unknown="single", boundaries="line"))
    lines = ["aaa aab aac", "aad", "aae aaf"]
    whole = model.posterior("\n".join(lines), gains=gains)
    for name in ("pred", "filt", "smooth", "cov_filt", "cov_smooth"):
        alone = np.concatenate([getattr(model.posterior(line, gains=gains), name) for line in lines])
        np.testing.assert_allclose(getattr(whole, name), alone, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("gains", ["steady", "exact"])
def test_boundary_tokens_are_observed_and_not_shown(gains):
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundaries="line", boundary_token="aah")
    model, plain = random_model(4, settings=settings), random_model(4)
    found = model.posterior("aaa aab\naac", gains=gains)
    every = plain.posterior(["aaa", "aab", "aah", "aac", "aah"], gains=gains)
    assert list(found.tokens) == ["aaa", "aab", "aac"]
    for name in ("pred", "filt", "smooth", "cov_filt", "cov_smooth"):
        np.testing.assert_allclose(getattr(found, name), getattr(every, name)[[0, 1, 3]], atol=1e-12, err_msg=name)


@pytest.mark.parametrize("text", ["", "  \n ", []])
def test_a_text_without_tokens(text):
    found = random_model(0).posterior(text)
    assert list(found.tokens) == []
    assert found.smooth.shape == found.filt.shape == found.pred.shape == (0, 3)
    assert found.cov_filt.shape == found.cov_smooth.shape == (0, 3, 3)


def test_unknown_gains():
    with pytest.raises(ArgumentError, match="gains='filter' is not one of 'steady', 'exact'"):
        random_model(0).posterior("aaa", gains="filter")
