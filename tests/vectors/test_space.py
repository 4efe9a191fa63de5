from __future__ import annotations

import itertools

import numpy as np
import pytest

from model.worlds import counts_of, fit, markov_sentence, model_of, names, random_model, rows_of, with_meaning
from oracles import gaussian
from oracles.synthetic import KINDS, random_lds
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError
from textlds.inference import windows as windows_module
from textlds.lds.params import LDSParams
from textlds.vectors import space as space_module
from textlds.vectors.recipes import MEANING_PARTS, PARTS, Recipe

TEXT = ["aaa", "aab", "zzz", "aac", "aaa", "aaa", "aah", "aad", "aab", "aab"]
_RIGHT = ("right_context", "next_word", "neighbours")  # parts that need the words to the right
_FITTED = tuple(part for part in PARTS if part != "spelling")  # parts that weighting="fitted" has


def vectors(model, texts, *, parts="state", weighting="fitted", method="smooth", **options):
    return [sentence.vectors for sentence in model.embed(texts, recipe=Recipe(parts, weighting, method), **options)]


def oracle_means(model, tokens, method):
    """Return the mean and the second moment over the corpus behind every part, in the coordinates of the parameters."""
    params, null = model.params, np.sqrt(model.frequencies)
    w = gaussian.observations(rows_of(model, tokens), model.frequencies)
    if method == "exact":
        filtered = gaussian.kalman_filter(params, null, w)
        smooth = gaussian.joint_gaussian_posterior(params, null, w).means
    else:
        filtered, smooth = gaussian.steady_filter(params, null, w), gaussian.steady_smoother(params, null, w).means
    K, m = gaussian.dense_steady_state(params, null).gain_words, model.moments
    all_words = gaussian.observations(np.arange(len(null)), model.frequencies) @ K.T
    cross = m.smooth_filt
    means = {
        "state": filtered.means if method == "filter" else smooth,
        "left_context": filtered.means_pred,
        "word": w @ K.T,
        "right_context": smooth - filtered.means,
    }
    second_moments = {
        "state": m.filt_filt if method == "filter" else m.smooth_smooth,
        "left_context": params.A @ m.filt_filt @ params.A.T,
        "word": all_words.T @ (model.frequencies[:, None] * all_words),
        "right_context": m.smooth_smooth - cross - cross.T + m.filt_filt,
    }
    return means, second_moments


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("weighting", "method"),
    [("fitted", "smooth"), ("fitted", "filter"), ("fitted", "exact"), ("equal", "smooth"), ("equal", "filter")],
)
def test_a_text_has_the_same_bits_alone_and_among_others(weighting, method, dtype):
    model = with_meaning(random_model(3, V=60, h=19))
    rng = np.random.default_rng(0)
    words = [*names(59), "unseen", "unheard"]
    texts = [[words[i] for i in rng.integers(0, len(words), n)] for n in (7, 1, 40, 2, 64, 65, 7, 700, 3, 30, 1)]
    parts = [part for part in PARTS if method != "filter" or part not in _RIGHT]
    if weighting == "fitted":
        parts.remove("spelling")
    options = {"parts": parts, "weighting": weighting, "method": method, "dtype": dtype, "threads": 1}
    together = vectors(model, texts, **options)
    for text, found in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vectors(model, [text], **options)[0], found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["smooth", "filter", "exact"])
def test_parts_have_the_cosines_of_the_whitened_oracle_means(kind, method):
    """⟨v_i, v_j⟩ = y_iᵀ S⁻¹ y_j / (‖y_i‖ ‖y_j‖) in the norm of S⁻¹: free of coordinates, so no root is compared."""
    model = random_model(2, kind=kind)
    means, second_moments = oracle_means(model, TEXT, method)
    for part in means:
        if part == "right_context" and method == "filter":
            continue
        found = vectors(model, [TEXT], parts=part, method=method, dtype="float64")[0]
        y, S = means[part], second_moments[part]
        gram = y @ np.linalg.solve(S, y.T)
        norms = np.sqrt(np.diag(gram))
        nothing = norms < 1e-9 * norms.max()
        np.testing.assert_array_equal(found[nothing], 0)  # nothing left of the first token, right of the last
        norms[nothing] = 1
        expected = np.where(nothing[:, None] | nothing, 0, gram / np.outer(norms, norms))
        np.testing.assert_allclose(found @ found.T, expected, atol=1e-6, err_msg=part)


def test_nothing_is_left_of_the_first_token_and_right_of_the_last():
    left, right = (vectors(random_model(0), [TEXT], parts=part)[0] for part in ("left_context", "right_context"))
    assert not left[0].any()
    assert left[1:].any(axis=1).all()
    assert not right[-1].any()
    assert right[:-1].any(axis=1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_part_has_length_one(dtype):
    model = with_meaning(random_model(0))
    found = vectors(model, [TEXT], parts=PARTS, dtype=dtype, weighting="equal")[0]
    widths = [5 if part in MEANING_PARTS else 2 if part == "neighbours" else 3 for part in PARTS]
    assert found.shape == (len(TEXT), sum(widths)) == (len(TEXT), model.dimensions("+".join(PARTS)))
    assert found.dtype == dtype
    parts = np.split(found, np.cumsum(widths)[:-1], axis=1)
    norms = np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)
    norms[0, [PARTS.index("left_context"), PARTS.index("previous_word")]] += 1
    norms[-1, [PARTS.index("right_context"), PARTS.index("next_word")]] += 1
    norms = np.delete(norms, PARTS.index("neighbours"), axis=1)  # it is what is left of vectors of length one
    np.testing.assert_allclose(norms, 1, atol=1e-6)


@pytest.mark.parametrize("parts", list(itertools.permutations(_FITTED, 2)))
@pytest.mark.parametrize("method", ["smooth", "exact"])
def test_parts_are_side_by_side_in_the_order_named(parts, method):
    model = with_meaning(random_model(1))
    together = vectors(model, [TEXT], parts=parts, method=method)[0]
    alone = [vectors(model, [TEXT], parts=part, method=method)[0] for part in parts]
    np.testing.assert_array_equal(together, np.hstack(alone))
    np.testing.assert_array_equal(vectors(model, [TEXT], parts=list(parts), method=method)[0], together)
    np.testing.assert_array_equal(vectors(model, [TEXT], parts=(parts[0],), method=method)[0], alone[0])


def test_the_word_part_is_the_same_in_every_context():
    found = vectors(random_model(1), [TEXT, ["aac", "aaa"]], parts="word")
    np.testing.assert_array_equal(found[0][0], found[0][4])
    np.testing.assert_array_equal(found[0][0], found[1][1])
    state = vectors(random_model(1), [TEXT, ["aac", "aaa"]])
    assert np.abs(state[0][0] - state[0][4]).max() > 1e-2


@pytest.mark.parametrize("weighting", ["fitted", "equal"])
def test_previous_and_next_word_are_the_words_of_the_neighbours_in_the_same_sequence(weighting):
    settings = TextSettings(tokenizer="whitespace", unknown="single")
    model = random_model(1, settings=settings)
    texts = ["aaa aab\nzzz aac aaa", "", ["aad"], ["aah", "aab"]]
    found = vectors(model, texts, parts=("previous_word", "word", "next_word"), weighting=weighting)
    for text, sequences in zip(found, ([[0, 1], [2, 3, 4]], [], [[0]], [[0, 1]]), strict=True):
        before, word, after = np.split(text, 3, axis=1)
        for places in sequences:
            zero = np.zeros((1, 3), np.float32)
            np.testing.assert_array_equal(before[places], np.vstack([zero, word[places[:-1]]]))
            np.testing.assert_array_equal(after[places], np.vstack([word[places[1:]], zero]))


@pytest.fixture(scope="module")
def fitted():
    text = markov_sentence(1, 15_000, V=30)
    options = {"state_size": 4, "iterations": 8, "pseudocount": 0.0}
    return fit(counts_of([text], max_lag=20), em_horizon=20, **options), text


def test_whitened_parts_have_unit_second_moment_over_the_training_text(fitted):
    """The whitener comes from lag counts alone; here the smoother is run over the text."""
    model, text = fitted
    found, space = model.posterior(text), model.spaces.space("float64")
    gains = model.spaces.engine("float64").gains[rows_of(model, text)]
    means = {
        "state": found.smooth,
        "filter": found.filt,
        "left_context": found.pred,
        "right_context": found.smooth - found.filt,
    }
    for part, y in (means | {"word": gains}).items():
        white = y @ space.whitener(part)
        np.testing.assert_allclose(white.T @ white / len(text), np.eye(4), atol=5e-3, err_msg=part)
        # that is not so without whitening
        assert np.abs(y.T @ y / len(text) - np.eye(4)).max() > 0.05, part


def test_unknown_words_share_a_vector_and_known_ones_do_not(fitted):
    model, _ = fitted
    a, b, known = (vectors(model, [["aaa", word, "aab"]], parts=("state", "word"))[0] for word in ("zz", "yy", "aac"))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - known).max() > 1e-2


@pytest.mark.parametrize("compression", ["none", 12])
@pytest.mark.parametrize("pseudocount", [0.0, "paper"])
def test_a_word_that_was_never_seen_says_nothing(compression, pseudocount):
    """Its row of the moments is zero, and so is its part; rounding is not blown up to a vector of length one."""
    counts = counts_of([markov_sentence(1, 5000, V=30)])
    assert counts.unigrams[-1] == 0
    model = fit(counts, state_size=4, iterations=5, pseudocount=pseudocount, compression=compression)
    state, word = np.split(vectors(model, [["zzz", "aaa"]], parts=("state", "word"), method="filter")[0], 2, axis=1)
    assert not state[0].any()
    assert not word[0].any()
    np.testing.assert_allclose(np.linalg.norm(state[1]), 1, atol=1e-6)
    stream = model.stream(recipe="state+word, fitted")
    assert not stream.push("zzz").any()


def test_strings_are_tokenised_and_lists_taken_as_they_are():
    model = random_model(0)
    for string, tokens in (("aaa  aab\taac", ["aaa", "aab", "aac"]), (" aah", ["aah"])):
        (found,), (expected,) = model.embed([string]), model.embed([tokens])
        assert list(found.tokens) == tokens == list(expected.tokens)
        np.testing.assert_array_equal(found.vectors, expected.vectors)
        assert len(found) == len(tokens)
    (tuple_,) = model.embed([("aaa", "aab")])
    assert list(tuple_.tokens) == ["aaa", "aab"]
    # a token with a space in it is one token, of an unknown class
    (odd,) = model.embed([["aaa aab", "aac"]])
    assert list(odd.tokens) == ["aaa aab", "aac"]
    np.testing.assert_array_equal(odd.vectors, model(["zzz", "aac"]).vectors)


@pytest.mark.parametrize("method", ["smooth", "filter", "exact"])
def test_lines_of_a_text_do_not_see_each_other(method):
    model = random_model(5)
    lines = ["aaa aab aac", "aad", "aae aaf aaa"]
    (found,) = vectors(model, ["\n\n".join(lines) + "\n"], parts=("state", "left_context"), method=method)
    alone = np.concatenate(vectors(model, lines, parts=("state", "left_context"), method=method))
    np.testing.assert_allclose(found, alone, atol=1e-6)


@pytest.mark.parametrize("method", ["smooth", "filter", "exact"])
def test_boundary_tokens_are_seen_by_the_model_and_not_by_the_user(method):
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundary_token="aah")
    model, plain = random_model(5, settings=settings), random_model(5)
    found, listed = model.embed(["aaa aab\naac aad", ["aaa", "aab"]], recipe=Recipe("state", "fitted", method))
    assert list(found.tokens) == ["aaa", "aab", "aac", "aad"]
    assert list(listed.tokens) == ["aaa", "aab"]
    long, short = vectors(plain, [["aaa", "aab", "aah", "aac", "aad", "aah"], ["aaa", "aab", "aah"]], method=method)
    np.testing.assert_allclose(found.vectors, long[[0, 1, 3, 4]], atol=1e-6)
    np.testing.assert_allclose(listed.vectors, short[:2], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_state_coordinates_changes_no_vector(kind):
    params, m = random_lds(3, kind=kind, V=12, h=4)
    T = np.random.default_rng(0).standard_normal((4, 4))
    model, moved = model_of(params, m), model_of(params.transformed(T), m)
    options = {"parts": ("state", "left_context", "word", "right_context"), "dtype": "float64"}
    # C is kept in float32, in either coordinates
    np.testing.assert_allclose(vectors(model, [TEXT], **options)[0], vectors(moved, [TEXT], **options)[0], atol=2e-5)
    scores, other = (x.log_likelihood([TEXT])[0].values for x in (model, moved))
    np.testing.assert_allclose(scores, other, atol=1e-4)


def test_without_the_rounding_of_C_the_invariance_is_complete():
    """The same with C and T that float32 holds exactly: a permutation with powers of two."""
    params, m = random_lds(3, V=12, h=4)
    params = LDSParams(params.A, params.C.astype(np.float32).astype(np.float64), params.Q, params.noise)
    T = np.diag([2.0, 0.5, 4.0, 1.0])[[2, 0, 3, 1]]
    model, moved = model_of(params, m), model_of(params.transformed(T), m)
    options = {"parts": ("state", "left_context", "word", "right_context"), "dtype": "float64"}
    np.testing.assert_allclose(vectors(model, [TEXT], **options)[0], vectors(moved, [TEXT], **options)[0], atol=1e-9)


def test_single_precision_is_near_double(fitted):
    model, text = fitted
    for method in ("smooth", "filter", "exact"):
        single, double = (
            vectors(model, [text[:3000]], parts=("state", "left_context", "word"), method=method, dtype=dtype)[0]
            for dtype in ("float32", "float64")
        )
        assert np.abs(single - double).max() < 1e-4


def test_the_same_bits_for_any_number_of_threads(fitted):
    model, text = fitted
    texts = [text[i : i + n] for i, n in enumerate([3000, 0, 17, 1, *range(30, 400)])]
    for method in ("smooth", "exact"):
        one, two = (vectors(model, texts, parts=_FITTED, method=method, threads=n) for n in (1, 2))
        assert [len(v) for v in one] == [len(text) for text in texts]
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))


def test_texts_across_windows(monkeypatch):
    model = random_model(0)
    texts = [names(8)[: n % 8] for n in range(50)]
    expected = vectors(model, texts)
    monkeypatch.setattr(windows_module, "_WINDOW", 10)
    found = list(model.embed(texts, recipe="paper"))
    assert [list(sentence.tokens) for sentence in found] == texts
    for sentence, vector in zip(found, expected, strict=True):
        np.testing.assert_allclose(sentence.vectors, vector, atol=1e-6)


@pytest.mark.parametrize("text", [["aaa"], ""])
def test_texts_are_read_as_the_vectors_are_taken(monkeypatch, text):
    monkeypatch.setattr(windows_module, "_WINDOW", 10)
    taken = itertools.count()

    def endless():
        while True:
            next(taken)
            yield text

    sentences = random_model(0).embed(endless(), threads=2)
    assert next(taken) == 0  # nothing is read before the first vector is asked for
    first = list(itertools.islice(sentences, 5))
    assert len(first) == 5
    assert next(taken) < 45  # four windows


@pytest.mark.parametrize("texts", [[], [""], [[]], ["", "aaa", "\n"]])
def test_empty_texts(texts):
    found = list(random_model(0).embed(texts, recipe="state+word"))
    assert len(found) == len(texts)
    for text, sentence in zip(texts, found, strict=True):
        assert sentence.vectors.shape == (len(sentence.tokens), 6)
        assert list(sentence.tokens) == (["aaa"] if text == "aaa" else [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "sideways"}, "'sideways' is not a recipe"),
        ({"dtype": "float16"}, "dtype='float16' is not one of 'float32', 'float64'"),
        ({"threads": 0}, "threads=0 must be"),
        ({"threads": 1.5}, "threads=1.5 must be"),
    ],
)
def test_bad_arguments_are_refused_at_once(options, message):
    with pytest.raises(ArgumentError, match=message):
        random_model(0).embed(["aaa"], **options)


def test_a_single_string_or_what_is_no_text_is_refused():
    model = random_model(0)
    with pytest.raises(ArgumentError, match=r"single string; give a list of texts, such as \[text\]"):
        model.embed("aaa aab")
    with pytest.raises(ArgumentError, match="5 is among its tokens"):
        list(model.embed([["aaa", 5]]))


def test_a_model_whose_noise_drowns_everything_says_nothing():
    """Böhning's noise leaves C = 0 after some iterations; no part may be a division by zero."""
    model = fit(counts_of([markov_sentence(1, 3000, V=20)]), state_size=3, iterations=80, noise="bohning")
    assert not model.params.C.any()
    for part in set(_FITTED) - set(MEANING_PARTS):
        assert not vectors(model, [["aaa", "aab", "aac"]], parts=part)[0].any()
    np.testing.assert_allclose(model.log_likelihood(["aaa aab"])[0].values, 0, atol=1e-12)


@pytest.mark.parametrize("method", ["smooth", "filter"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_engines_give_the_same_vectors(method, dtype, fitted):
    """With equal weighting the vectors come from the eigenbasis; the lock-step engine is its oracle."""
    model, _ = fitted
    rng = np.random.default_rng(0)
    texts = [rng.choice(model.vocabulary.words, n).tolist() + ["unheard"] * (n % 3) for n in (3, 1, 70, 0, 900, 17)]
    recipe = Recipe([part for part in PARTS if method == "smooth" or part not in _RIGHT],
                    method=method)  # fmt: skip
    space = model.spaces.space(dtype, "equal")
    assert space._diagonal is not None
    window = model.encoder.encode_many(texts)
    found, offsets = space.embed(window, recipe, threads=2)
    space._diagonal, kept = None, space._diagonal
    try:
        expected, _ = space.embed(window, recipe, threads=1)
    finally:
        space._diagonal = kept
    np.testing.assert_allclose(found, expected, atol=1e-3 if dtype == "float32" else 1e-6)
    assert found[: offsets[1]].any()


@pytest.mark.parametrize("common", [1, 7, 1 << 14])
def test_tables_of_frequent_words_change_nothing(monkeypatch, common):
    texts = [[*names(39)[i : i + 12], "unheard"] for i in range(0, 30, 3)]
    parts = ("state", "left_context", "right_context", "word")
    before, after = (with_meaning(random_model(0, V=40, h=5)) for _ in range(2))
    goal = np.vstack(vectors(before, texts, parts=parts, weighting="equal"))
    monkeypatch.setattr(space_module, "_MANY", 1)
    monkeypatch.setattr(space_module, "_COMMON", common)
    np.testing.assert_allclose(np.vstack(vectors(after, texts, parts=parts, weighting="equal")), goal, atol=2e-6)
