"""The language model as users meet it: next_word, surprisal, perplexity, calibrated; and its folder."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from language.worlds import V, chain, chain_bits, chain_counts, chain_model
from model.worlds import SETTINGS, counts_of, fit, grammar_text, random_model
from storage.sealing import seal
from textlds.errors import ArgumentError, CorpusError, FormatError, TextLDSWarning
from textlds.language.language import smoothed_unigram
from textlds.language.results import NextWord, Perplexity
from textlds.model.textlds import TextLDS
from textlds.storage.arrays import read_arrays, write_arrays

ROUGH = "ignore:this model is not calibrated"
WITH_BOUNDARY = dataclasses.replace(SETTINGS, boundary_token="</s>")


def lines_of(text, n=25):
    return [text[i : i + n] for i in range(0, len(text), n)]


@pytest.fixture(scope="module")
def trained():
    return chain(60_000, seed=0)


@pytest.fixture(scope="module")
def held_out():
    return chain(20_000, seed=1)


@pytest.fixture(scope="module")
def model(trained):
    return chain_model(trained)


@pytest.fixture(scope="module")
def calibrated(model, trained, held_out):
    options = {"held_out": lines_of(held_out), "counts": chain_counts(trained), "threads": 1}
    return model.with_language_model(lines_of(trained), **options)


@pytest.fixture(scope="module")
def sentences():
    """A model of clauses with a boundary token."""
    text = grammar_text(0, 3000)
    ends = [i + 1 for i, word in enumerate(text) if word in (".", "!", ";")]
    clauses = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    stream = [[token for clause in clauses for token in (*clause, "</s>")]]
    counts = counts_of(stream, settings=WITH_BOUNDARY)
    model = fit(counts, state_size=4, iterations=5, pseudocount=5)
    lines = [" ".join(clause) for clause in clauses]
    return model.with_language_model(lines[:2500], held_out=lines[2500:], counts=counts, threads=1)


def test_perplexity_comes_near_the_entropy_of_the_chain(model, calibrated, trained):
    """The truth is a chain of order one and rank five, which both the state and the bigrams can learn."""
    fresh = chain(20_000, seed=2)
    entropy = 2 ** chain_bits(fresh).mean()
    unigram = 2 ** -np.log2([model.frequencies[model.vocabulary.id(word)] for word in fresh]).mean()
    assert unigram > 1.5 * entropy
    found = calibrated.perplexity([fresh], threads=1)
    assert entropy * 0.99 < float(found) < entropy * 1.02
    state = model.with_language_model(lines_of(trained), threads=1)  # without counts, a tenth of the text held out
    assert float(state.perplexity([fresh])) < entropy + 0.15 * (unigram - entropy)
    clipped = model.with_language_model(lines_of(trained), link="clipped", threads=1)
    assert float(clipped.perplexity([fresh])) < float(model.perplexity([fresh])) < entropy + 0.5 * (unigram - entropy)


@pytest.mark.filterwarnings(ROUGH)
@pytest.mark.parametrize("name", ["model", "calibrated", "sentences"])
def test_surprisals_are_those_of_the_next_word_step_by_step(name, request):
    """The twin asks for the whole distribution at every token, boundaries included."""
    model = request.getfixturevalue(name)
    text = ["the", "dog", "unheard", "sees"] if name == "sentences" else ["aaa", "aab", "xyz", "aac", "abb"]
    (found,) = model.surprisal([text])
    assert found.tokens == text
    for t, token in enumerate(text):
        expected = model.next_word(text[:t])
        assert found.bits[t] == pytest.approx(-np.log2(expected[token]), rel=1e-4)
        assert found.unknown[t] == (token not in model.vocabulary)
    if name == "sentences":
        assert found.boundary_bits == pytest.approx([-np.log2(model.next_word(text)["</s>"])], rel=1e-4)
    else:
        assert found.boundary_bits.size == 0


@pytest.mark.filterwarnings(ROUGH)
@pytest.mark.parametrize("name", ["model", "calibrated", "sentences"])
def test_distributions_are_distributions(name, request):
    model = request.getfixturevalue(name)
    for context in ("", "aaa", "the dog", ["never", "heard"], "the old\n", [*model.vocabulary.words[:50]]):
        found = model.next_word(context)
        assert found.probabilities.shape == (len(model.vocabulary),)
        assert (found.probabilities > 0).all()
        assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_a_model_that_is_not_calibrated_says_so_once(model, calibrated):
    fresh = model.with_recipes()
    with pytest.warns(
        TextLDSWarning, match=r"not calibrated.*rough.*with_language_model\(texts\) or textlds calibrate"
    ):
        found = fresh.next_word("aaa")
    assert np.array_equal(fresh.next_word("aaa").probabilities, found.probabilities)
    assert float(model.with_recipes().perplexity(["aaa aab"])) > 1
    calibrated.with_recipes().next_word("aaa")


@pytest.mark.filterwarnings(ROUGH)
@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "bohning"])
def test_random_models_predict_too(kind):
    """Without a history nothing is known of pseudocounts; the link is the Gaussian's as it is."""
    model = random_model(0, kind=kind)
    found = model.next_word("aaa aab")
    assert (found.probabilities > 0).all()
    np.testing.assert_allclose(model.next_word("").probabilities, model.frequencies, rtol=1e-4)


def test_boundaries_are_predicted_and_counted(sentences):
    lines = ["the dog sees .", "a red house moves here !"]
    apart, together = sentences.perplexity(lines), sentences.perplexity(["\n".join(lines)])
    assert apart.tokens == together.tokens == 4 + 6 + 2
    assert apart.boundaries == together.boundaries == 2
    (one,) = sentences.surprisal(lines[:1])
    (both,) = sentences.surprisal(["\n".join(lines)])
    np.testing.assert_allclose(both.bits[:4], one.bits, rtol=1e-5)
    # the context runs on across the boundary token, and it is what a context that ends with a newline means
    assert both.bits[4] == pytest.approx(-np.log2(sentences.next_word(lines[0] + "\n")["a"]), rel=1e-4)
    assert sentences.next_word("the dog sees .")["</s>"] > 0.9
    assert sentences.next_word("the dog sees .\n")["</s>"] < 0.01
    assert sentences.next_word("")["the"] > 0.2  # a text begins after a boundary


@pytest.mark.filterwarnings(ROUGH)
def test_where_contexts_end_without_a_boundary_token(model):
    fresh = model.next_word("").probabilities
    np.testing.assert_array_equal(model.next_word("aaa aab\n").probabilities, fresh)
    np.testing.assert_array_equal(model.next_word("aac aad\naaa").probabilities, model.next_word("aaa").probabilities)
    counts = dataclasses.replace(SETTINGS, boundaries="document")
    documents = fit(chain_counts(chain(5000), settings=counts), state_size=3, iterations=2)
    assert not np.array_equal(documents.next_word("aaa aab\n").probabilities, documents.next_word("").probabilities)
    np.testing.assert_array_equal(documents.next_word("aaa\n\n").probabilities, documents.next_word("").probabilities)


def test_the_mapping(calibrated):
    found = calibrated.next_word("aaa")
    assert isinstance(found, NextWord)
    assert len(found) == len(found.probabilities) == V + 1
    assert list(found) == list(calibrated.vocabulary.words)
    assert dict(found) == pytest.approx(dict(zip(found, found.probabilities.tolist(), strict=True)))
    assert found["never-heard"] == found["<unk>"]
    assert "aaa" in found
    assert "<unk>" in found
    assert "never-heard" not in found
    top = found.top(3)
    assert [p for _, p in top] == sorted(found.values(), reverse=True)[:3]
    assert found.entropy == pytest.approx(-sum(p * np.log2(p) for p in found.values()))
    np.testing.assert_array_equal(np.asarray(found), found.probabilities)
    assert np.array(found, np.float32).dtype == np.float32
    assert repr(found).startswith(f"NextWord({{{top[0][0]!r}: {top[0][1]:.3f}, ")
    assert repr(found).endswith(f", {calibrated.vocabulary.n_types} words)")
    with pytest.raises(ArgumentError, match="n=0"):
        found.top(0)
    with pytest.raises(ArgumentError, match="min_count=0"):
        found.top(1, min_count=0)
    counts = np.round(found.counts)
    least = int(np.sort(counts)[len(counts) // 2])
    words = {found._vocabulary.words[i] for i in np.flatnonzero(counts >= least)}
    assert {word for word, _ in found.top(len(found), min_count=least)} == words
    with pytest.raises(ArgumentError, match="not a word"):
        found[3]


def test_perplexities_add_up(calibrated):
    texts = [chain(200, seed=s) for s in range(4)] + [[], ["xyz", "aaa"]]
    whole = calibrated.perplexity(texts)
    parts = list(calibrated.surprisal(texts))
    bits = np.concatenate([part.bits for part in parts])
    assert whole.tokens == len(bits) == 802
    assert float(whole) == pytest.approx(2 ** bits.mean())
    assert whole.unknown == 1
    known = np.concatenate([part.bits[~part.unknown] for part in parts])
    assert whole.known_perplexity == pytest.approx(2 ** known.mean())
    assert whole.bits_per_token == pytest.approx(bits.mean())
    assert repr(whole).startswith(f"Perplexity({float(whole):.2f}, 802 tokens")
    assert parts[0].surprising(1) == [(parts[0].tokens[int(parts[0].bits.argmax())], parts[0].bits.max())]
    nothing = calibrated.perplexity([])
    assert nothing.tokens == 0
    assert np.isnan(float(nothing))
    assert np.isnan(Perplexity.of().known_perplexity)


@pytest.mark.parametrize("link", ["log-linear", "clipped"])
def test_a_text_has_the_same_bits_alone_and_among_others(calibrated, model, trained, link):
    fresh = chain(700, seed=5)
    asked = calibrated if link == "log-linear" else model.with_language_model(lines_of(trained), link=link, threads=1)
    texts = [fresh[i : i + n] for i, n in ((0, 1), (5, 40), (60, 7), (70, 64), (140, 2), (150, 200), (400, 7), (8, 3))]
    together = [s.bits.tobytes() for s in asked.surprisal(texts, threads=1)]
    assert together == [next(iter(asked.surprisal([text], threads=1))).bits.tobytes() for text in texts]
    assert together == [s.bits.tobytes() for s in asked.surprisal([*texts, *texts, fresh], threads=1)][: len(texts)]


def test_threads_and_windows_change_no_bit(calibrated, monkeypatch):
    texts = [chain(n, seed=n) for n in (1, 50, 400, 3, 90, 2000)]
    whole = [s.bits.tobytes() for s in calibrated.surprisal(texts, threads=1)]
    assert whole == [s.bits.tobytes() for s in calibrated.surprisal(texts, threads=3)]
    monkeypatch.setattr("textlds.inference.windows._WINDOW", 60)
    assert whole == [s.bits.tobytes() for s in calibrated.surprisal(iter(texts))]


def test_calibration_is_deterministic_and_says_what_it_did(model, calibrated, trained, held_out):
    again = model.with_language_model(
        lines_of(trained), held_out=lines_of(held_out), counts=chain_counts(trained), threads=2
    )
    for name, array in calibrated.language.arrays().items():
        assert array.tobytes() == again.language.arrays()[name].tobytes(), name
    facts = calibrated.language.facts
    assert facts["held_out_tokens"] == len(held_out)
    assert facts["held_out_perplexity"] == pytest.approx(float(calibrated.perplexity(lines_of(held_out))), rel=1e-4)
    assert facts["held_out_perplexity"] <= min(facts["parts"].values())
    assert list(facts["parts"]) == ["unigram", "log-linear", "bigram of lag 1", "bigram of lag 2"]
    assert model.language is None  # the model itself stays as it was


def test_a_calibrated_model_on_disk(calibrated, sentences, tmp_path):
    for number, model in enumerate((calibrated, sentences)):
        model.save(tmp_path / str(number))
        for loaded in (TextLDS.load(tmp_path / str(number)), pickle.loads(pickle.dumps(model))):
            for context in ("", "aaa the dog"):
                found, expected = loaded.next_word(context), model.next_word(context)
                assert found.probabilities.tobytes() == expected.probabilities.tobytes()
            assert loaded.language.facts == model.language.facts
            assert loaded.with_tokenizer(None).language is not None


def test_a_spoilt_language_model_is_refused(calibrated, tmp_path):
    def spoil(name, change):
        folder = tmp_path / name
        calibrated.save(folder, force=True)
        arrays = {key: np.array(array) for key, array in read_arrays(folder / "language.safetensors").items()}
        change(arrays)
        write_arrays(folder / "language.safetensors", arrays)
        seal(folder)
        with pytest.raises(FormatError, match=r"language\.safetensors") as error:
            TextLDS.load(folder)
        return str(error.value)

    def put(key, value):
        return lambda arrays: arrays.__setitem__(key, value(arrays[key]))

    assert "not probabilities" in spoil("a", put("weights", lambda w: w * 2))
    assert "shape" in spoil("b", put("counts", lambda c: c[:-1]))
    assert "not finite" in spoil("c", put("readout.word_bias", lambda b: b * np.float32("nan")))
    assert "does not have" in spoil("d", put("lag1.later", lambda later: later + 1000))
    assert "begin" in spoil("e", put("lag2.pointers", lambda p: p[::-1].copy()))
    assert "classes" in spoil("f", put("readout.classes", lambda c: c * 0))
    assert "negative counts" in spoil("h", put("counts", lambda c: -c))
    for name, spoilt in (("base", -1e300), ("base", 1e300), ("left", -1e300), ("left", 2.0), ("values", 3e38)):
        assert "not probabilities" in spoil("i", put(f"lag2.{name}", lambda b, v=spoilt: np.full_like(b, v)))
    assert "instead of" in spoil("g", lambda arrays: arrays.pop("edges"))


def test_wrong_arguments(model, trained):
    with pytest.raises(ArgumentError, match="single string"):
        model.perplexity("aaa aab")
    with pytest.raises(ArgumentError, match="single string"):
        model.with_language_model("aaa aab")
    with pytest.raises(ArgumentError, match="single string"):
        model.with_language_model(["aaa"], held_out="aaa")
    with pytest.raises(ArgumentError, match="'log-linear', 'clipped'"):
        model.with_language_model([trained], link="logistic")
    with pytest.raises(ArgumentError, match="tokens=10 "):
        model.with_language_model([trained], tokens=10)
    with pytest.raises(CorpusError, match="no tokens"):
        model.with_language_model([])
    with pytest.raises(CorpusError, match="at least 200"):
        model.with_language_model([trained[:300]])
    other = counts_of([["aaa", "aab"] * 100])
    with pytest.raises(ArgumentError, match=r"vocabulary=model\.vocabulary"):
        model.with_language_model([trained], counts=other)


def test_only_so_many_tokens_are_read(model, trained):
    read = []

    def texts():
        for begin in range(0, len(trained), 1000):
            read.append(begin)
            yield trained[begin : begin + 1000]

    found = model.with_language_model(texts(), tokens=5000, link="clipped")
    assert found.language.facts["tokens"] + found.language.facts["held_out_tokens"] == 5000


def test_the_smoothed_unigram():
    np.testing.assert_allclose(smoothed_unigram(np.array([3.0, 1, 4])), np.array([3, 1, 4]) / 8)
    found = smoothed_unigram(np.array([3.0, 1, 0, 4]))
    assert found[2] > 0
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, np.array([2.5, 0.5, 0, 3.5]) / 8 + 1.5 / 4 / 8)
