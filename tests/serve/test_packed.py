"""A model in few bytes."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import textlds
from cli.runs import process
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError, OutputExistsError
from textlds.serve.layout import _neighbours, kept_map, word_map
from textlds.serve.packed import pack_model, packed_reader
from textlds.serve.service import Service, model_reader
from textlds.serve.static import write_page
from textlds.storage.arrays import arrays_of


@pytest.fixture(scope="module")
def page(model_folder: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "page"
    size = write_page(Service.load(model_folder, samples=sentences[:200], threads=1), folder)
    assert size["model"] < 1_000_000
    return folder


def test_a_packed_model_reads_almost_as_the_model_does(
    page: Path, model: textlds.TextLDS, sentences: list[str]
) -> None:
    whole, packed = model_reader(model), packed_reader(page)
    bits, cosines = [], []
    for text in sentences[:100]:
        one, other = whole.states(text), packed.states(text)
        assert list(one.text.tokens) == list(other.text.tokens)
        assert one.text.ids.tolist() == other.text.ids.tolist()
        bits.append(np.abs(whole.bits(one.text) - packed.bits(other.text)).mean())
        a, b = one.smooth @ whole.whitener, other.smooth @ packed.whitener
        cosines.append((np.einsum("ij,ij->i", a, b) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).mean())
    assert np.mean(bits) < 0.05
    assert np.mean(cosines) > 0.999


def test_fewer_words_are_read_by_their_spelling(model: textlds.TextLDS, tmp_path: Path) -> None:
    reader = model_reader(model)
    packed = pack_model(model, reader, vocab_size=400)
    packed.write(tmp_path)
    small = packed_reader(tmp_path)
    assert small.encoder.vocabulary.n_types == 400
    assert small.encoder.vocabulary.words[:400] == model.vocabulary.words[:400]
    assert float(packed.arrays["counts"].sum()) == pytest.approx(float(model.language.counts.sum()), rel=1e-5)  # type: ignore[union-attr]
    rare = next(word for word in model.vocabulary.words[400:] if word.isalpha() and len(word) > 6)
    found = small.states(f"the {rare} is")
    expected = small.speller.vectors([rare], np.dtype(np.float32)).gains[0]  # type: ignore[union-attr]
    np.testing.assert_allclose(found.gains[1], expected, atol=1e-5)
    probabilities = small.distributions(found.text, 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_a_model_without_a_language_model(model_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    counts = textlds.count(texts=sentences[:500], vocab_size=300)
    plain = textlds.fit(counts, state_size=6, iterations=2, threads=1)
    pack_model(plain, model_reader(plain)).write(tmp_path)
    text = "The file is open."
    (expected,) = plain.surprisal([text])
    found = packed_reader(tmp_path)
    assert np.abs(found.bits(found.encoder.encode(text)) - expected.bits).max() < 0.2


def test_a_model_that_was_packed_before(model: textlds.TextLDS, sentences: list[str], tmp_path: Path) -> None:
    small = model.quantized("int8", dimensions=8)
    reader = model_reader(small)
    text = "The file is opened for reading an unknownest value."
    white = reader.states(text).smooth @ reader.whitener
    np.testing.assert_allclose(white / np.linalg.norm(white, axis=1, keepdims=True), small(text).vectors, atol=1e-4)
    assert "bits" not in reader.read(text)["tokens"][0]
    assert "expected" not in reader.token(text, 1)
    write_page(Service(small, "small", samples=sentences[:100]), tmp_path / "page")
    again = packed_reader(tmp_path / "page")
    assert again.language is None
    found = again.states(text).smooth @ again.whitener
    cosines = np.einsum("ij,ij->i", found, white) / np.linalg.norm(found, axis=1) / np.linalg.norm(white, axis=1)
    assert cosines.min() > 0.999
    facts = json.loads((tmp_path / "page" / "model.json").read_text())
    assert [pair["source"] for pair in facts["transitions"][:3]] == [pair.source for pair in model.dynamics(3)]
    assert facts["transitions"][0]["examples"]
    assert len(facts["learning"]["eigenvalues"]["F"]) == model.state_size


def test_a_packed_model_with_probabilities(model: textlds.TextLDS, sentences: list[str], tmp_path: Path) -> None:
    small = model.quantized("int8", dimensions=8).with_language_model(sentences, tokens=20_000, threads=1)
    write_page(Service(small, "small"), tmp_path / "page")
    again = packed_reader(tmp_path / "page")
    for text, expected in zip(sentences[:50], small.surprisal(sentences[:50]), strict=True):
        np.testing.assert_allclose(again.bits(again.encoder.encode(text)), expected.bits, atol=0.02)


def test_what_cannot_be_packed(model: textlds.TextLDS, sentences: list[str], tmp_path: Path, page: Path) -> None:
    with pytest.raises(ArgumentError, match="vocab_size=0"):
        pack_model(model, model_reader(model), vocab_size=0)
    counts = textlds.count(texts=sentences[:200], vocab_size=100, text=TextSettings(tokenizer=str.split))  # type: ignore[arg-type]
    own = textlds.fit(counts, state_size=4, iterations=1, threads=1)
    with pytest.raises(ArgumentError, match="tokenizer of your own"):
        pack_model(own, model_reader(own))
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(FormatError, match="packed model"):
        packed_reader(tmp_path)
    shutil.copy(page / "model.json", tmp_path)
    content = (page / "model.safetensors.gz").read_bytes()
    for damaged in (None, b"", content[:-9], content[:1000], b"no gzip", gzip.compress(b"no arrays")):
        if damaged is not None:
            (tmp_path / "model.safetensors.gz").write_bytes(damaged)
        with pytest.raises(FormatError, match=r"model\.safetensors\.gz"):
            packed_reader(tmp_path)
    with pytest.raises(OutputExistsError):
        write_page(Service(model, "x"), page)


def test_the_command(model_folder: Path, corpus_file: Path, tmp_path: Path) -> None:
    command = ["explore", model_folder, "-o", tmp_path / "page", "--vocab-size", 500, "--text", corpus_file, "--json"]
    done = process(command)
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "page" / "model.json").read_text())
    assert facts["n_types"] == 500
    assert facts["transitions"][0]["examples"]
    assert json.loads(done.stdout)["model"] > 1000
    assert 'content="model.json"' in (tmp_path / "page" / "index.html").read_text()
    assert process(command).returncode == 1  # it is there already
    assert process([*command, "--force"]).returncode == 0


def test_a_page_has_the_map_and_the_same_bytes_again(page: Path, model_folder: Path, tmp_path: Path) -> None:
    service = Service.load(model_folder, threads=1)
    arrays = arrays_of(gzip.decompress((page / "model.safetensors.gz").read_bytes()), "page")
    np.testing.assert_allclose(arrays["map.at"] / 10_000 - 2, np.array(service.map["at"]).reshape(-1, 2), atol=1e-9)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pack_model(service.model, service.reader).write(tmp_path / name)
    one, two = ((tmp_path / name / "model.safetensors.gz").read_bytes() for name in ("a", "b"))
    assert one == two


def test_neighbours_on_the_map_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((60, 30))
    vectors = centres[rng.integers(60, size=6000)] + rng.standard_normal((6000, 30))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    for n, least in ((3, 1.0), (300, 1.0), (4000, 1.0), (6000, 0.8)):  # up to 16 clusters all are compared
        k = min(12, n - 1)
        found = _neighbours(vectors[:n], k)
        cosines = vectors[:n] @ vectors[:n].T
        np.fill_diagonal(cosines, -2)
        exact = np.argsort(-cosines, axis=1)[:, :k]
        shared = [len(set(a) & set(b)) / k for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
        assert np.mean(shared) >= least
        assert all(len(set(row)) == k and i not in row for i, row in enumerate(found.tolist()))


def test_the_map_puts_like_words_side_by_side(tmp_path: Path, model_folder: Path) -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((5, 20))
    label = np.repeat(np.arange(5), 60)
    vectors = centres[label] + 0.4 * rng.standard_normal((300, 20))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    made = word_map(vectors)
    assert np.abs(made.at).max() <= 1.05
    apart = np.linalg.norm(made.at[:, None] - made.at[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (label[apart.argmin(axis=1)] == label).mean() > 0.95
    np.testing.assert_array_equal(made.at, word_map(vectors).at)
    for few in range(4):
        assert len(word_map(vectors[:few]).at) == few
    # the map of a model is kept beside it, until the model is another
    kept = kept_map(model_folder, vectors)
    file = model_folder.with_name(f"{model_folder.name}.map")
    before = file.stat().st_mtime_ns
    np.testing.assert_array_equal(kept_map(model_folder, vectors).at, kept.at)
    assert file.stat().st_mtime_ns == before
    assert len(kept_map(model_folder, vectors[:100]).at) == 100
    file.write_bytes(b"damaged")
    np.testing.assert_array_equal(kept_map(model_folder, vectors).at, kept.at)
