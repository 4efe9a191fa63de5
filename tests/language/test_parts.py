"""The clipped link and the readout: distributions, against dense arithmetic and known truths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from language.worlds import V, chain, chain_model, random_contexts
from model.worlds import random_model
from textlds.language import readout as readout_module
from textlds.language.classes import class_count, word_classes
from textlds.language.contexts import NONE, Contexts, contexts_of
from textlds.language.link import FLOOR, ClippedLink
from textlds.language.readout import BoundReadout, Readout, fit_readout, members_of
from textlds.progress import SilentProgress


def test_contexts_are_what_a_slow_filter_finds():
    model = random_model(0, V=9, h=3)
    engine = model.spaces.engine("float32")
    rng = np.random.default_rng(0)
    lengths = [5, 1, 0, 700, 2]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = rng.integers(0, 9, starts[-1]).astype(np.int32)
    found = contexts_of(engine, ids, starts)
    for start, end in itertools.pairwise(starts):
        before, pred = np.zeros(3), np.zeros(3)
        for t in range(start, end):
            np.testing.assert_allclose(found.before[t], before, atol=1e-5)
            np.testing.assert_allclose(found[slice(t, t + 1)].pred(engine)[0], pred, atol=1e-5)
            assert found.words[t].tolist() == [ids[t - k] if t - k >= start else NONE for k in (1, 2)]
            before, pred = pred, engine.A @ (engine.shrink * pred + engine.gains[ids[t]])


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_the_link_is_the_gaussian_prediction_clipped(kind, share):
    model = random_model(1, kind=kind)
    engine = model.spaces.engine("float32")
    mu = model.frequencies
    unigram = (mu - (1 - share) / len(mu) * 0.5) / (1 - (1 - share) * 0.5)
    unigram = np.maximum(unigram, 1e-3) / np.maximum(unigram, 1e-3).sum()
    link = ClippedLink(engine, model.params.C, mu, unigram, share)
    contexts = random_contexts(model, 40)
    p = contexts.pred(engine) @ np.linalg.inv(engine.system.T).T  # in the coordinates of the parameters
    linear = unigram + np.sqrt(mu) * (p @ model.params.C.T) / share
    assert (linear < 0).any()
    expected = np.maximum(linear, FLOOR * unigram)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(link.all(contexts), expected, rtol=1e-3, atol=1e-6)
    words = np.arange(40, dtype=np.int32) % 9
    np.testing.assert_allclose(link.of(contexts, words), expected[np.arange(40), words], rtol=1e-3, atol=1e-6)


def test_without_a_context_the_link_is_the_unigram():
    model = random_model(0)
    unigram = np.random.default_rng(0).dirichlet(np.ones(9))
    nothing = Contexts(np.full((1, 2), NONE, np.int32), np.zeros((1, 3), np.float32))
    link = ClippedLink(model.spaces.engine("float32"), model.params.C, model.frequencies, unigram, 1.0)
    np.testing.assert_allclose(link.all(nothing)[0], unigram, rtol=1e-5)


def random_readout(seed, V, h, K):
    rng = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(K), rng.integers(1, K, V - K)]).astype(np.int32)  # class 0 has one word
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((K, 2 * h), (K,), (V, 2 * h), (V,))]
    return Readout(classes, *arrays)


def test_the_readout_is_a_product_of_two_softmaxes():
    model = random_model(2)
    engine, readout = model.spaces.engine("float32"), random_readout(0, 9, 3, 4)
    contexts = random_contexts(model, 50)
    to_params = np.linalg.inv(engine.system.T)
    halves = (contexts.before.astype(float), contexts.gains(engine).astype(float))
    lengths = [np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12) for half in halves]
    x = np.hstack([half * n**-0.75 @ to_params.T for half, n in zip(halves, lengths, strict=True)])
    classes = np.exp(x @ readout.class_weights.T + readout.class_bias)
    words = np.exp(x @ readout.word_weights.T + readout.word_bias)
    expected = np.empty((50, 9))
    for w, c in enumerate(readout.classes):
        alike = words[:, readout.classes == c].sum(axis=1)
        expected[:, w] = classes[:, c] / classes.sum(axis=1) * words[:, w] / alike
    bound = BoundReadout(readout, engine)
    np.testing.assert_allclose(bound.all(contexts), expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(bound.all(contexts).sum(axis=1), 1, rtol=1e-5)
    chosen = np.arange(50, dtype=np.int32) % 9
    np.testing.assert_allclose(bound.of(contexts, chosen), expected[np.arange(50), chosen], rtol=1e-3, atol=1e-6)


def test_fitting_finds_the_distribution_that_words_were_drawn_from(monkeypatch):
    """Words drawn from a readout: the fitted one comes near it, far nearer than the frequencies."""
    monkeypatch.setattr(readout_module, "_PENALTY", 1.0)
    model = random_model(3)
    engine, truth = model.spaces.engine("float32"), random_readout(1, 9, 3, 3)
    rng = np.random.default_rng(0)
    contexts = random_contexts(model, 30_000, seed=1)
    P = BoundReadout(truth, engine).all(contexts)
    words = np.array([rng.choice(9, p=row / row.sum()) for row in P], np.int32)
    unigram = np.bincount(words, minlength=9) / len(words)
    fitted = fit_readout(contexts, words, engine, truth.classes, unigram, threads=1, progress=SilentProgress())
    fresh = random_contexts(model, 2000, seed=2)
    P, Q = BoundReadout(truth, engine).all(fresh), BoundReadout(fitted, engine).all(fresh)
    near, far = ((P * np.log(P / other)).sum(axis=1).mean() for other in (Q, unigram))
    assert far > 0.5
    assert near < 0.003 * far


def test_the_readout_does_not_depend_on_threads():
    text = chain(4000)
    model = chain_model(text)
    engine = model.spaces.engine("float32")
    ids = np.array([model.vocabulary.id(word) for word in text], np.int32)
    contexts = contexts_of(engine, ids, np.array([0, len(ids)]))
    classes = (np.arange(len(model.vocabulary)) % 6).astype(np.int32)
    options = {"progress": SilentProgress()}
    one, two = (fit_readout(contexts, ids, engine, classes, model.frequencies, threads=n, **options) for n in (1, 2))
    assert one.word_weights.tobytes() == two.word_weights.tobytes()
    assert one.class_weights.tobytes() == two.class_weights.tobytes()


def test_words_that_are_predicted_alike_share_a_class():
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((6, 5))
    kind = rng.integers(0, 6, 300)
    vectors = rng.uniform(0.1, 10, (300, 1)) * (directions[kind] + 0.05 * rng.standard_normal((300, 5)))
    counts = rng.permutation(np.arange(1.0, 301))
    classes = word_classes(vectors, counts, 16)
    alone = set(np.argsort(-counts)[:4])
    for members in members_of(classes):
        assert len(members) == 1 or not alone & set(members.tolist())
        assert len(set(kind[members])) == 1
    assert sorted({int(c) for c in classes}) == list(range(int(classes.max()) + 1))


@pytest.mark.parametrize("V", [1, 2, 3, 10, V])
def test_classes_of_small_vocabularies(V):
    classes = word_classes(np.zeros((V, 2)), np.zeros(V), class_count(V))
    assert classes.shape == (V,)
    assert np.array_equal(np.unique(classes), np.arange(classes.max() + 1))
