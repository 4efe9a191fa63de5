"""word2vec with what textlds does for rare and unknown words, to show how much of a gain is that alone."""

from __future__ import annotations

import numpy as np

import textlds
from textlds.evaluation.features import Features, Sentences, Vectors, plain
from textlds.learn.moments import resolve_pseudocount
from textlds.lexicon.spelling import fit_spelling
from textlds.lexicon.unknown import shrunk, spelt
from textlds.linalg.threads import one_blas_thread
from textlds.linalg.types import Matrix


def spelt_features(counts: textlds.LagCounts, table: Matrix, *, threads: int) -> Features:
    """Return word vectors as features. Rare words shrink towards what spelling predicts; unknown ones have that alone.

    Args:
        counts: The words, and how often they occur.
        table: A vector of length one for each row.
        threads: How many.
    """
    vocabulary, tokens = counts.vocabulary, float(np.sum(counts.unigrams))
    known = vocabulary.words[: vocabulary.n_types]
    kappa = resolve_pseudocount("paper", tokens=tokens, vocabulary=len(table))
    frequencies = (counts.unigrams + kappa) / (tokens + kappa * len(table))
    with one_blas_thread():
        spelling = fit_spelling(known, counts.unigrams[: len(known)], table.astype(np.float32), threads=threads)
    words = shrunk(table, spelt(known, spelling, vocabulary), frequencies).astype(np.float32)

    def vectors(sentences: Sentences) -> Vectors:
        tokens = [token for sentence in plain(sentences, vocabulary) for token in sentence]
        rows = vocabulary.ids(tokens)
        found: Vectors = words[rows]
        unknown = np.flatnonzero(rows >= vocabulary.n_types)
        found[unknown] = spelt([tokens[i] for i in unknown.tolist()], spelling, vocabulary)
        return found

    return vectors
