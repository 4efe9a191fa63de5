"""What the page shows of a text, held to the library and to brute force."""

from __future__ import annotations

import numpy as np
import pytest

import textlds
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, UnknownWordError
from textlds.model.directions import transition_directions
from textlds.serve.overview import passages, passing
from textlds.serve.reading import Reader, principal_axes
from textlds.serve.senses import sense_of
from textlds.serve.service import model_reader
from textlds.vectors.meaning import LEAK

TEXT = "The file is opened for reading, and the unknownest value is returned."


@pytest.fixture(scope="module")
def reader(model: textlds.TextLDS) -> Reader:
    return model_reader(model)


def test_states_give_the_vectors_of_the_library(reader: Reader, model: textlds.TextLDS) -> None:
    white = reader.states(TEXT).smooth @ reader.whitener
    unit = white / np.linalg.norm(white, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, model(TEXT).vectors, atol=1e-5)


def test_surprisals_are_those_of_the_library(reader: Reader, model: textlds.TextLDS) -> None:
    text = f"{TEXT}\nAnother line."
    found = reader.read(text)
    (expected,) = model.surprisal([text])
    np.testing.assert_allclose([token["bits"] for token in found["tokens"]], expected.bits, atol=1e-3)
    assert "".join(token["before"] + token["text"] for token in found["tokens"]) + found["tail"] == text
    assert found["perplexity"] == pytest.approx(2 ** expected.bits.mean(), rel=1e-4)


def test_the_words_expected(reader: Reader, model: textlds.TextLDS) -> None:
    found = reader.token(TEXT, 2, n=5)
    for name, context in (("expected", "The file"), ("next", "The file is")):
        known = [pair for pair in model.next_word(context).top(60) if not pair[0].startswith("<unk")][:5]
        assert [word for word, _ in found[name]] == [word for word, _ in known]
        np.testing.assert_allclose([p for _, p in found[name]], [p for _, p in known], rtol=1e-4)
    assert found["probability"] == pytest.approx(model.next_word("The file")["is"], rel=1e-4)


def test_contributions_sum_to_the_state_and_are_what_a_word_brings(reader: Reader) -> None:
    states = reader.states(TEXT)
    for token in (0, 4, len(states.text.tokens) - 1):
        near, terms = reader.contributions(states, token)
        assert list(near) == list(range(len(states.text.tokens)))
        np.testing.assert_allclose(terms.sum(axis=0), states.smooth[token], atol=1e-5)
        # the filter and the smoother as they are written down, with one gain left out
        A, shrink = reader.engine.system.A, reader.engine.shrink
        for left_out in (1, token):
            gains = states.gains.copy()
            gains[left_out] = 0
            n = len(gains)
            pred, filt = np.zeros_like(gains), np.zeros_like(gains)
            for t in range(n):
                pred[t] = A @ filt[t - 1] if t else 0
                filt[t] = shrink * pred[t] + gains[t]
            smooth = filt.copy()
            for t in range(n - 2, -1, -1):
                smooth[t] = filt[t] + A.T @ (shrink * (smooth[t + 1] - pred[t + 1]))
            np.testing.assert_allclose(states.smooth[token] - terms[left_out], smooth[token], atol=1e-5)


def test_neighbours_in_context_are_those_of_the_library(reader: Reader, model: textlds.TextLDS) -> None:
    text = "The file is opened for reading. Return the value of an unknownest argument."
    for token, word in ((1, "file"), (9, "value"), (12, "unknownest")):
        found, expected = reader.token(text, token, n=6)["here"], model.similar(word, context=text, n=6)
        assert [other for other, _ in found] == [other for other, _ in expected]
        np.testing.assert_allclose([x for _, x in found], [x for _, x in expected], atol=1e-4)
        assert reader.use(text, word, n=6)["here"] == found
        assert not {other.lower() for other, _ in found} & {t.lower() for t in reader.states(text).text.tokens}
    assert [w for w, _ in reader.neighbours("file", 6)] == [w for w, _ in model.similar("file", n=6)]


def test_a_word_in_its_passage_is_a_sum(reader: Reader) -> None:
    assert reader.meaning is not None
    text = reader.encoder.encode(TEXT)
    sense = sense_of(reader.meaning, text, 4)
    # the smoother with A = α I as it is written down, and without one word
    added = [reader.meaning.added(token)[1].astype(np.float64) for token in text.tokens]
    for left_out in (None, 1, 10):
        kept = [np.zeros_like(x) if j == left_out else x for j, x in enumerate(added)]
        left, right = np.zeros_like(kept[0]), np.zeros_like(kept[0])
        for x in kept[:4]:
            left = LEAK * left + x
        for x in reversed(kept[5:]):
            right = LEAK * right + x
        topic = (left + right) / np.linalg.norm(left + right)
        found = sense.vector if left_out is None else sense.without(left_out)
        np.testing.assert_allclose(found, sense.own + topic, atol=1e-5)


def test_words_of_another_line_contribute_nothing(reader: Reader) -> None:
    states = reader.states("The file is open.\nReturn the value.")
    near, terms = reader.contributions(states, 6)
    assert list(near) == [5, 6, 7, 8]
    np.testing.assert_allclose(terms.sum(axis=0), states.smooth[6], atol=1e-5)


def test_shares_sum_to_one(reader: Reader) -> None:
    use = reader.use(TEXT, "file")
    assert sum(pull["share"] for pull in use["pulls"]) == pytest.approx(1, abs=1e-4)
    parts = reader.token(TEXT, 1)["parts"]
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1, abs=1e-4)
    assert np.linalg.norm(use["vector"]) == pytest.approx(1)


def test_the_plane_holds_as_much_as_a_plane_can(reader: Reader) -> None:
    path = reader.path(TEXT)
    states = reader.states(TEXT)
    white = np.concatenate([states.pred, states.filt, states.smooth]) @ reader.whitener
    lengths = np.linalg.norm(white, axis=1, keepdims=True)
    points = np.divide(white, lengths, out=np.zeros_like(white), where=lengths > 1e-5)
    best = np.sort(np.linalg.eigvalsh(np.cov(points.T, bias=True)))[-2:].sum()
    flat = np.concatenate([path["pred"], path["filt"], path["smooth"]])
    assert flat.var(axis=0).sum() == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(flat.mean(axis=0), 0, atol=1e-9)
    axes = principal_axes(points - points.mean(axis=0))
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)


def test_texts_of_one_token_and_of_none(reader: Reader) -> None:
    assert reader.read("")["tokens"] == []
    assert reader.path("")["tokens"] == []
    assert len(reader.path("file")["smooth"]) == 1
    assert reader.token("file", 0)["rank"] >= 1
    with pytest.raises(ArgumentError, match="token=1"):
        reader.token("file", 1)
    with pytest.raises(UnknownWordError, match="not a token"):
        reader.use("file", "other")
    assert reader.use("The File", "file")["token"] == 1


def test_texts_with_boundary_tokens(sentences: list[str]) -> None:
    settings = TextSettings(boundaries="sentence", boundary_token="</s>")
    counts = textlds.count(texts=sentences[:500], vocab_size=300, text=settings)
    model = textlds.fit(counts, state_size=6, iterations=2, threads=1)
    text = "The file is open. Return the value. Nothing else."
    found = model_reader(model).read(text)
    (expected,) = model.surprisal([text])
    np.testing.assert_allclose([token["bits"] for token in found["tokens"]], expected.bits, atol=1e-3)
    here = model_reader(model).token(text, 5)  # "Return", after a boundary
    assert here["word"] == "Return"
    assert -np.log2(here["probability"]) == pytest.approx(expected.bits[5], abs=1e-3)


def test_transitions_go_from_the_source_words_to_the_target_words(
    reader: Reader, model: textlds.TextLDS, sentences: list[str]
) -> None:
    found = transition_directions(model, 6)
    strengths = np.linalg.svd(model.params.normalised().A, compute_uv=False)
    read = [reader.states(text) for text in sentences[:300]]
    smooth = np.concatenate([states.smooth for states in read])
    tokens = np.array([token for states in read for token in states.text.tokens])
    apart = []  # how often a state of one of the words says more of its side than one of another word
    for i, pair in enumerate(found.pairs):
        assert pair.strength == pytest.approx(strengths[i])
        for words, direction in ((pair.source, found.source[i]), (pair.target, found.target[i])):
            said, own = smooth @ direction, np.isin(tokens, words)
            if own.sum() >= 5:
                apart.append((said[own][:, None] > said[~own][None, ::7]).mean())
    assert len(apart) >= 6
    assert np.mean(apart) > 0.85


def test_passages_are_the_strongest(reader: Reader, model: textlds.TextLDS, sentences: list[str]) -> None:
    found = transition_directions(model, 4)
    texts = [text for text in sentences[:80] if len(text) < 300]
    shown = passages(reader, found, texts)
    for i, examples in enumerate(shown):
        best = max(passing(found, reader.states(text).smooth)[:, i].max(initial=0) for text in texts)
        assert examples[0]["score"] == pytest.approx(best)
        scores = [example["score"] for example in examples]
        assert scores == sorted(scores, reverse=True)
