"""Clusters of words: blobs are found, and the same vectors give the same clusters."""

from __future__ import annotations

import numpy as np

from textlds.tagging.clusters import rounds, word_clusters


def test_blobs_are_found():
    rng = np.random.default_rng(0)
    centres = np.eye(8)[:4]
    of = np.concatenate([np.arange(4), rng.integers(0, 4, 196)])
    words = (centres[of] + 0.1 * rng.standard_normal((200, 8))).astype(np.float32)
    frequencies = 1 / np.arange(1, 201)
    seen = []
    found = word_clusters(words, frequencies, (4, 300), on_round=lambda: seen.append(1))
    assert len(seen) == rounds((4, 300))
    assert found.shape == (200, 2)
    pairs = set(zip(of.tolist(), found[:, 0].tolist(), strict=True))
    assert len(pairs) == 4  # each blob is one cluster
    assert len(set(found[:, 1].tolist())) > 100  # fewer words than clusters: nearly all alone
    assert word_clusters(words, frequencies, (4, 300)).tolist() == found.tolist()
