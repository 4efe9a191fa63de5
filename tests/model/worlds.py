"""Small worlds for the tests of models: random models, a grammar with word classes, and their counts.

Counts are made by plain NumPy here, so that no test of a model depends on the counter.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

import textlds
from oracles.synthetic import markov_text, random_lds
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.lagcounts import LagCounts
from textlds.lds.second_moments import PosteriorMoments
from textlds.lds.steady import steady_state
from textlds.learn.settings import FitSettings
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.meaning import Meaning
from textlds.linalg.sphere import on_sphere
from textlds.model.textlds import TextLDS

SETTINGS = TextSettings(tokenizer="whitespace", unknown="single")


def fit(counts, **options):
    """Fit with settings given one by one: to one-hot words, as the oracles do, unless told otherwise."""
    own = {name: options.pop(name) for name in FitSettings.options() if name in options}
    return textlds.fit(counts, settings=FitSettings(**{"observations": "words", **own}), **options)


def names(n):
    """Return n different words of letters only."""
    return ["".join(letters) for letters in itertools.islice(itertools.product("abcdefghij", repeat=3), n)]


def model_of(params, m, *, settings=SETTINGS, words=None):
    """Wrap parameters as a TextLDS whose corpus is what the parameters say: E[x̂ x̂ᵀ] = Σ − Σ_filt and so on."""
    V, steady, cov = len(m), steady_state(params), params.cov_stationary()
    vocabulary = Vocabulary.from_words(words or names(V - 1), settings)
    assert len(vocabulary) == V
    moments = PosteriorMoments(cov - steady.cov_filt, cov - steady.cov_filt, cov - steady.cov_smooth)
    return TextLDS(params, vocabulary, m**2, moments)


def random_model(seed, *, V=9, h=3, kind="full", settings=SETTINGS, words=None, **options):
    """Return a TextLDS with random parameters, V rows including the one of unknown words."""
    return model_of(*random_lds(seed, V=V, h=h, kind=kind, **options), settings=settings, words=words)


def with_meaning(model, seed=0):
    """Return the model with a lexicon of random vectors of length one, those of meaning longer than the state."""
    rng = np.random.default_rng(seed)
    V, h = len(model.vocabulary), model.state_size
    d = h + 2
    shapes = ((V, h), (1024, h), (V, d), (1024, d), (d, d))
    tables = [on_sphere(rng.standard_normal(shape).astype(np.float32)) for shape in shapes]
    return model._with(lexicon=Lexicon(*tables[:2], meaning=Meaning(*tables[2:])))


def rows_of(model, tokens):
    """Return the row of each token."""
    return np.array([model.vocabulary.id(token) for token in tokens])


def counts_of(sentences, *, max_lag=7, words=None, settings=SETTINGS):
    """Count sentences (lists of tokens); windows end with the sentence. The vocabulary is given or all there is."""
    if words is None:
        words = sorted({token for sentence in sentences for token in sentence})
    vocabulary = Vocabulary.from_words(words, settings)
    V = len(vocabulary)
    rows = [np.array([vocabulary.id(token) for token in sentence]) for sentence in sentences]
    unigrams = np.bincount(np.concatenate(rows), minlength=V)
    lags = []
    for k in range(1, max_lag + 1):
        later = np.concatenate([row[k:] for row in rows])
        earlier = np.concatenate([row[:-k] for row in rows])
        lag = sp.coo_array((np.ones(len(later), np.int64), (later, earlier)), shape=(V, V)).tocsr()
        lag.sum_duplicates()
        lags.append(lag)
    return LagCounts(vocabulary, unigrams, tuple(lags))


def markov_sentence(seed, n, *, V=40, classes=5):
    """Return one long sentence of a Markov chain over V words."""
    words = names(V)
    return [words[i] for i in markov_text(seed, n, V=V, classes=classes)]


# A grammar: a clause is  det [adj] noun verb [adv] end.  Every class has its own words, except that "bank" is a noun
# and a verb.
CLASSES = {
    "det": ["the", "a", "this", "every", "some"],
    "adj": ["red", "tall", "quiet", "old", "rapid", "green"],
    "noun": ["river", "house", "dog", "teacher", "field", "engine", "bank"],
    "verb": ["sees", "likes", "finds", "moves", "takes", "holds", "bank"],
    "adv": ["often", "gladly", "here", "soon"],
    "end": [".", "!", ";"],
}


def grammar_text(seed, n):
    """Return n clauses of the grammar, one after the other."""
    rng = np.random.default_rng(seed)
    text = []
    for _ in range(n):
        adj, adv = (rng.random(2) < (0.5, 0.4)).tolist()
        pattern = ["det", *["adj"] * adj, "noun", "verb", *["adv"] * adv, "end"]
        for name in pattern:
            weights = 1 / np.arange(1, len(CLASSES[name]) + 1) ** 0.5
            text.append(str(rng.choice(CLASSES[name], p=weights / weights.sum())))
    return text


def class_of(word):
    """Return the class of an unambiguous word."""
    found = [name for name, members in CLASSES.items() if word in members]
    assert len(found) == 1, word
    return found[0]
