"""Clusters of words: blobs are found, and the same vectors give the same clusters."""

from __future__ import annotations

import numpy as np

from textlds.tagging.clusters import numbered, rounds, word_clusters


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


def test_beginnings_of_paths_are_numbered():
    found = numbered(["", "0000011", "0000010", "0001", "", "0000011"])
    assert found.shape == (6, 4)
    assert found[0].tolist() == found[4].tolist() == [-1] * 4
    four, six, ten, whole = found[[1, 2, 3, 5]].T.tolist()
    assert four[0] == four[1] == four[3] != four[2]
    assert six[0] == six[1] == six[3] != six[2]
    for column in (ten, whole):
        assert column[0] == column[3]
        assert len(set(column)) == 3
    assert (numbered(["", ""]) == -1).all()
