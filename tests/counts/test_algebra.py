from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counts.texts import count_corpus, make_text, sources
from textlds.corpus.settings import TextSettings
from textlds.counts.algebra import combine, combine_to_folder
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError, CountsError

A, B = make_text(1, 3000), make_text(2, 5000)
SETTINGS = [
    TextSettings(),
    TextSettings(unknown="single", boundaries="none"),
    TextSettings(boundaries="document", boundary_token="</s>", digits="zero"),
]


def count(*texts, **options):
    return count_corpus(sources(*texts), **{"vocab_size": 300, "max_lag": 3, "threads": 1, **options})


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def three(request):
    whole = count(A, B, text=request.param)
    a, b = (count(text, vocabulary=whole.vocabulary) for text in (A, B))
    return a, b, whole


def test_sums_equal_counting_together(three):
    a, b, whole = three
    assert a + b == whole
    assert b + a == whole
    assert combine([a, b, a], [1, 2, 1]) == 2 * whole


@pytest.mark.parametrize("weights", [(1, 1), (3, 0.5), (2**40, 1), (0, 1)])
def test_sums_straight_into_a_folder_are_the_same_bytes(three, weights, tmp_path):
    a, b, _ = three
    combine([a, b], weights).save(tmp_path / "memory")
    combine_to_folder([a, b], weights, tmp_path / "folder")
    for path in (tmp_path / "memory").iterdir():
        assert path.read_bytes() == (tmp_path / "folder" / path.name).read_bytes()


def test_subtracting_forgets_exactly(three):
    a, b, whole = three
    assert whole - a == b
    assert (whole - b).tokens == a.tokens
    assert (a - a).tokens == 0
    assert (a - a).pairs == (0, 0, 0)


def test_negative_counts_are_refused(three):
    a, _, whole = three
    with pytest.raises(CountsError, match="would have the count -"):
        a - whole
    with pytest.raises(CountsError, match="would have the count -"):
        -1 * a
    pruned = dataclasses.replace(whole, unigrams=whole.unigrams, lags=whole.prune(3).counts.lags)
    with pytest.raises(CountsError, match="at lag 1 would have the count"):
        pruned - a


def test_shrinking_equals_counting_with_fewer_types():
    for text_settings in SETTINGS:
        large = count(A, B, text=text_settings)
        for vocab_size in (1, 2, 50, 299, 300):
            assert large.shrink(vocab_size) == count(A, B, text=text_settings, vocab_size=vocab_size)
    assert large.shrink(10_000) is large
    with pytest.raises(ArgumentError, match="vocab_size"):
        large.shrink(0)


def test_pruning_says_what_was_dropped():
    counts = count(A)
    result = counts.prune(3)
    for before, after, pairs, occurrences in zip(
        counts.lags, result.counts.lags, result.dropped_pairs, result.dropped_occurrences, strict=True
    ):
        assert after.data.min() >= 3
        assert before.nnz - after.nnz == pairs
        assert before.sum() - after.sum() == occurrences
        difference = before.toarray().astype(int) - after.toarray()
        assert difference.max() <= 2
        after.check_format(full_check=True)
    assert np.array_equal(result.counts.unigrams, counts.unigrams)
    assert counts.prune(1).counts == counts
    with pytest.raises(ArgumentError, match="min_count"):
        counts.prune(0)


def test_union_of_vocabularies():
    a, b = count(A, vocab_size=40), count(B, vocab_size=60)
    union = a + b
    known = set(a.vocabulary.words) | set(b.vocabulary.words)
    assert set(union.vocabulary.words) == known
    assert union.tokens == a.tokens + b.tokens
    for lag in range(3):
        assert union.lags[lag].sum() == a.lags[lag].sum() + b.lags[lag].sum()
    rows = {word: row for row, word in enumerate(union.vocabulary.words)}
    for side in (a, b):
        dense = side.lags[0].toarray()
        both = union.lags[0].toarray()
        other = b if side is a else a
        for i, later in enumerate(side.vocabulary.words):
            for j, earlier in enumerate(side.vocabulary.words):
                if later not in other.vocabulary.words or earlier not in other.vocabulary.words:
                    assert both[rows[later], rows[earlier]] == dense[i, j]
    assert union == b + a
    counts = union.unigrams[: union.vocabulary.n_types]
    assert (np.diff(counts) <= 0).all()


def test_different_settings_and_lags_are_refused():
    a = count(A)
    with pytest.raises(CountsError, match="digits \\('num' and 'keep'\\)"):
        a + count(B, text=TextSettings(digits="keep"))
    with pytest.raises(CountsError, match="3 and 2 lags"):
        a + count(B, max_lag=2)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), "2", None])
def test_weights_are_checked(weight):
    with pytest.raises(ArgumentError, match="weight"):
        combine([count(A)], [weight])
    with pytest.raises(ArgumentError, match="as many weights"):
        combine([count(A)], [1, 2])
    with pytest.raises(ArgumentError, match="at least one"):
        combine([], [])


LINES = st.lists(st.sampled_from(["a", "b", "c", "dd", "Ee", "f-g", "12", ",", "the"]), max_size=8).map(" ".join)
texts = st.lists(LINES, max_size=6)


@given(texts, texts, st.integers(1, 3), st.sampled_from(SETTINGS))
@settings(max_examples=40, deadline=None)
def test_algebra_holds_for_any_text(first, second, weight, text_settings):
    base = count("a b c the , dd", text=text_settings)
    one, other = ("\n".join(lines) + "\nb c\n" for lines in (first, second))
    a, b = (count(text, vocabulary=base.vocabulary) for text in (one, other))
    both = count(one, other, vocabulary=base.vocabulary)
    assert a + b == both == b + a
    assert both - a == b
    assert weight * a + b - b == combine([a], [weight])
    assert isinstance(a + b, LagCounts)
