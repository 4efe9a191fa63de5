"""spaCy's own pipelines: vectors on tokens, trained on, saved, loaded, the same."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

from integrations.limits import files_up_to
from model.worlds import names, random_model
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError, MissingExtraError, OutputExistsError
from textlds.model.static import word_vectors

spacy = pytest.importorskip("spacy")

from spacy.tokens import DocBin  # noqa: E402

from textlds.integrations.spacy import StoredModel, save_vectors  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # a foreign library's warnings are not ours to fix

TEXT = "aaa aab  aac\naad aae zzz\n\naaf aag"


def world(**settings):
    """Return a small random model whose text is read with these settings."""
    given = TextSettings(tokenizer="whitespace", unknown="single", **settings)
    token = given.boundary_token
    return random_model(0, V=12, h=3, settings=given, words=[*names(10 if token else 11), *([token] if token else [])])


@pytest.fixture
def path(tmp_path):
    world().save(tmp_path / "model")
    return str(tmp_path / "model")


def pipeline(path, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("textlds", config={"model": path, **config})
    return nlp


def vectors_of(doc):
    return np.array([token._.textlds for token in doc])


# -- vectors on tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"boundaries": "line"},
        {"boundaries": "document"},
        {"boundaries": "none"},
        {"boundaries": "sentence"},
        {"boundaries": "line", "boundary_token": "</s>"},
        {"boundaries": "document", "boundary_token": "</s>"},
    ],
    ids=str,
)
def test_contexts_end_where_they_did_in_the_corpus(tmp_path, settings):
    """spaCy's tokens, line breaks among them, give what the model makes of the raw text."""
    model = world(**settings)
    model.save(tmp_path / "model")
    doc = pipeline(str(tmp_path / "model"))(TEXT)
    words = [token.i for token in doc if not token.is_space]
    (expected,) = model.embed([TEXT])
    assert expected.tokens == [doc[i].text for i in words]
    np.testing.assert_allclose(vectors_of(doc)[words], expected.vectors, atol=1e-6)
    assert not vectors_of(doc)[[token.i for token in doc if token.is_space]].any()
    assert len(words) < len(doc)


def test_sentences_that_another_component_has_found(tmp_path):
    model = world(boundaries="sentence")
    model.save(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("textlds", config={"model": str(tmp_path / "model")})
    found = vectors_of(nlp("aaa aab . aac aad"))
    expected = [s.vectors for s in model.embed([["aaa", "aab", "."], ["aac", "aad"]])]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"recipe": "left_context+word"},
        {"recipe": "context, filter"},
        {"recipe": "paper"},
        {"recipe": "previous_word+next_word, fitted"},
    ],
    ids=str,
)
def test_options_are_those_of_embed(path, options):
    doc = pipeline(path, **options)("aaa aab aac")
    (expected,) = world().embed([["aaa", "aab", "aac"]], **options)
    np.testing.assert_array_equal(vectors_of(doc), expected.vectors)


@pytest.mark.parametrize("assign", ["extension", "tensor", "both"])
def test_where_vectors_go(path, assign):
    doc = pipeline(path, assign=assign)(TEXT)
    expected = vectors_of(pipeline(path)(TEXT))
    if assign != "extension":
        np.testing.assert_array_equal(doc.tensor, expected)
    else:
        assert doc.tensor.size == 0
    if assign == "tensor":
        assert all(token._.textlds is None for token in doc)
    else:
        np.testing.assert_array_equal(vectors_of(doc), expected)


def test_spacys_own_vectors_and_similarities(path):
    """token.vector is the vector in context; of a text, the mean over its words; cosines of these."""
    nlp = pipeline(path)
    doc, other = nlp(TEXT), nlp("aac aab")
    words = np.array([not token.is_space for token in doc])
    rows = vectors_of(doc)
    assert doc.has_vector
    for token, row in zip(doc, rows, strict=True):
        np.testing.assert_array_equal(token.vector, row)
        assert token.has_vector is bool(row.any())
        assert token.vector_norm == pytest.approx(np.linalg.norm(row))
    mean, span = rows[words].mean(axis=0), rows[1:4][words[1:4]].mean(axis=0)
    np.testing.assert_allclose(doc.vector, mean, atol=1e-6)
    np.testing.assert_allclose(doc[1:4].vector, span, atol=1e-6)
    theirs = vectors_of(other).mean(axis=0)

    def cosine(x, y):
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert doc.similarity(other) == pytest.approx(cosine(mean, theirs), abs=1e-5)
    assert doc[1:4].similarity(other) == pytest.approx(cosine(span, theirs), abs=1e-5)
    assert doc[0].similarity(other[1]) == pytest.approx(cosine(rows[0], vectors_of(other)[1]), abs=1e-5)
    assert nlp(" ").similarity(other) == 0
    assert not nlp("").has_vector
    last = rows[-1].copy()
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    np.testing.assert_array_equal(doc[len(doc) - 1].vector, last)


def test_a_recipe_of_the_models_own(tmp_path):
    world().with_recipes(mine="word+state").save(tmp_path / "model")
    doc = pipeline(str(tmp_path / "model"), recipe="mine")("aaa aab")
    np.testing.assert_array_equal(vectors_of(doc), world()(["aaa", "aab"], recipe="word+state").vectors)
    with pytest.raises(ArgumentError, match=r"'mind' is not a recipe.* Did you mean 'mine'"):
        pipeline(str(tmp_path / "model"), recipe="mind")("aaa")


def test_batches(path):
    nlp = pipeline(path)
    texts = [TEXT, "", "aaa", "\n", *[" ".join(names(10)[: n % 10]) for n in range(40)]]
    alone = [vectors_of(nlp(text)) for text in texts]
    for batch_size in (1, 7, 1000):
        for doc, expected in zip(nlp.pipe(texts, batch_size=batch_size), alone, strict=True):
            np.testing.assert_allclose(vectors_of(doc), expected, atol=1e-6)


def test_several_processes(path):
    nlp = pipeline(path)
    texts = ["aaa aab", "aac", "aad aae aaf"] * 2
    for doc, text in zip(nlp.pipe(texts, n_process=2, batch_size=2), texts, strict=True):
        np.testing.assert_allclose(vectors_of(doc), vectors_of(nlp(text)), atol=1e-6)


def test_vectors_stay_with_their_tokens(path):
    doc = pipeline(path)("aaa aab aac aad")
    before = vectors_of(doc)
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(doc.vocab)
    np.testing.assert_array_equal(vectors_of(again), before)
    np.testing.assert_array_equal(vectors_of(doc[2:4].as_doc(copy_user_data=True)), before[2:])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    np.testing.assert_array_equal(vectors_of(doc)[1:], before[2:])


def test_a_batch_that_fails_is_handed_to_the_error_handler(tmp_path):
    world().save(tmp_path / "late")
    nlp = pipeline(str(tmp_path / "late"))
    shutil.rmtree(tmp_path / "late")
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs), type(error))))

    def texts():
        yield from ("aaa", "aab")
        world().save(tmp_path / "late")
        yield "aac"

    assert [doc.text for doc in nlp.pipe(texts(), batch_size=2)] == ["aac"]
    assert failed == [("textlds", 2, FormatError)]


# -- what can be wrong


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"assign": "all"}, "assign='all' is not one of 'extension', 'tensor', 'both'"),
        ({"recipe": "state+up"}, "'up' is not a recipe or a word of one"),
        ({"recipe": "features, filter"}, "'neighbours' needs the words to the right"),
    ],
)
def test_wrong_options_are_told_at_once(path, config, message):
    with pytest.raises(ArgumentError, match=message):
        pipeline(path, **config)


@pytest.mark.parametrize("config", [{"model": 3}, {"recipe": 3}, {"threads": "many"}, {"nonsense": 1}], ids=str)
def test_wrong_types_are_refused_by_the_configuration(config):
    with pytest.raises(ValueError, match="Config error"):
        spacy.blank("en").add_pipe("textlds", config=config)


def test_a_model_that_does_not_exist_is_refused(tmp_path):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("textlds")
    assert not hasattr(component, "model")  # spaCy would ask for it, in some runs, before there is one
    with pytest.raises(ArgumentError, match="no model was named"):
        nlp("aaa")
    for name in ("nowhere", str(tmp_path / "nowhere")):
        with pytest.raises(FormatError, match="nowhere does not exist"):
            spacy.blank("en").add_pipe("textlds", config={"model": name})


def test_without_spacy(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "textlds.integrations.spacy")
    with pytest.raises(MissingExtraError, match=r"pip install 'textlds\[spacy\]'"):
        __import__("textlds.integrations.spacy")


# -- saved with the pipeline


def test_a_saved_pipeline_needs_the_model_folder_no_more(path, tmp_path):
    nlp = pipeline(path, recipe="left_context+word", assign="both")
    expected = nlp(TEXT)
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    shutil.rmtree(path)
    (tmp_path / "pipeline").rename(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "moved")
    from_bytes = pipeline(None, recipe="left_context+word", assign="both").from_bytes(data)
    unpickled = pickle.loads(pickle.dumps(loaded))
    for again in (loaded, from_bytes, unpickled):
        np.testing.assert_array_equal(vectors_of(again(TEXT)), vectors_of(expected))
        np.testing.assert_array_equal(again(TEXT).tensor, expected.tensor)
    loaded.to_disk(tmp_path / "again")
    names = sorted(file.name for file in (tmp_path / "moved" / "textlds").iterdir())
    assert names == ["config.json", "history.json", "model.safetensors", "vocabulary.json"]
    for name in names:
        saved = [(tmp_path / folder / "textlds" / name).read_bytes() for folder in ("moved", "again")]
        assert saved[0] == saved[1]


def test_a_new_process_finds_the_factory_by_itself(path, tmp_path):
    """Nothing of textlds is imported there by hand: spaCy finds it by its entry point."""
    pipeline(path, assign="tensor").to_disk(tmp_path / "pipeline")
    script = (
        "import spacy, sys\n"
        "spacy.blank('en')\n"
        "assert 'numba' not in sys.modules\n"  # who does not use it does not wait for it
        f"doc = spacy.load({str(tmp_path / 'pipeline')!r})({TEXT!r})\n"
        "sys.stdout.buffer.write(doc.tensor.tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=900)
    assert done.stdout == pipeline(path, assign="tensor")(TEXT).tensor.tobytes()


def test_an_altered_model_is_refused(path, tmp_path):
    nlp = pipeline(path)
    nlp.to_disk(tmp_path / "pipeline")
    file = tmp_path / "pipeline" / "textlds" / "history.json"
    file.write_text(file.read_text() + " ")
    with pytest.raises(FormatError, match="altered"):
        spacy.load(tmp_path / "pipeline")
    import srsly

    stored = StoredModel(path)
    files = srsly.msgpack_loads(stored.to_bytes())
    with pytest.raises(FormatError, match="outside its folder"):
        stored.from_bytes(srsly.msgpack_dumps({**files, "../escape": b""}))
    del files["vocabulary.json"]
    with pytest.raises(FormatError):
        stored.from_bytes(srsly.msgpack_dumps(files))
    assert stored.model.vocabulary == world().vocabulary  # the one it had


def test_a_write_that_fails_keeps_the_model_that_was_there(path, tmp_path):
    nlp = pipeline(path)
    nlp.to_disk(tmp_path / "pipeline")
    before = {file.name: file.read_bytes() for file in (tmp_path / "pipeline" / "textlds").iterdir()}
    random_model(1, V=40, h=5).save(tmp_path / "other")
    other = pipeline(str(tmp_path / "other"))
    with files_up_to(400), pytest.raises(OSError, match="File too large"):
        other.get_pipe("textlds").to_disk(tmp_path / "pipeline" / "textlds")
    assert {file.name: file.read_bytes() for file in (tmp_path / "pipeline" / "textlds").iterdir()} == before
    assert not [name for name in os.listdir(tmp_path / "pipeline") if name.startswith(".")]
    np.testing.assert_array_equal(vectors_of(spacy.load(tmp_path / "pipeline")(TEXT)), vectors_of(nlp(TEXT)))


# -- static vectors


@pytest.mark.parametrize("kind", ["input", "output"])
def test_static_vectors_load(path, tmp_path, kind):
    table = save_vectors(path, tmp_path / "vectors", vectors=kind)
    nlp = spacy.load(tmp_path / "vectors")
    assert nlp.vocab.vectors.shape == table.vectors.shape
    for word, vector in zip(table.words, table.vectors, strict=True):
        np.testing.assert_array_equal(nlp.vocab[word].vector, vector)
    one, other = table.vectors[:2]
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert nlp(table.words[0]).similarity(nlp(table.words[1])) == pytest.approx(cosine, abs=1e-5)
    assert not nlp("unheard")[0].has_vector
    np.testing.assert_array_equal(table.vectors, word_vectors(world(), kind).vectors)


def test_static_vectors_initialise_a_pipeline(path, tmp_path):
    from spacy.training.initialize import load_vectors_into_model

    save_vectors(path, tmp_path / "vectors", vectors="input", classes="drop")
    nlp = spacy.blank("en")
    load_vectors_into_model(nlp, tmp_path / "vectors")
    np.testing.assert_array_equal(nlp("aaa")[0].vector, word_vectors(world(), "input").vectors[0])
    assert "<unk>" not in nlp.vocab.vectors


def test_words_with_white_space_are_no_matter_here(tmp_path):
    settings = TextSettings(tokenizer="custom", unknown="single")
    model = random_model(0, V=3, h=2, settings=settings, words=["a", "New York"])
    save_vectors(model, tmp_path / "vectors", vectors="input")
    found = spacy.load(tmp_path / "vectors").vocab["New York"].vector
    np.testing.assert_array_equal(found, word_vectors(model, "input").vectors[1])


def test_overwriting_and_failing(path, tmp_path):
    save_vectors(path, tmp_path / "vectors", vectors="input")
    with pytest.raises(OutputExistsError, match="exists already"):
        save_vectors(path, tmp_path / "vectors", vectors="input")
    before = {f: f.read_bytes() for f in (tmp_path / "vectors").rglob("*") if f.is_file()}
    with files_up_to(200), pytest.raises(OSError, match=r"File too large.*vectors'"):
        save_vectors(path, tmp_path / "vectors", vectors="input", force=True)
    large = random_model(0, V=500, h=200)  # its matrix is what does not fit, and numpy writes that
    with files_up_to(300_000), pytest.raises(OSError, match=r"could not write the vectors.*vectors'"):
        save_vectors(large, tmp_path / "vectors", vectors="input", force=True)
    assert {f: f.read_bytes() for f in (tmp_path / "vectors").rglob("*") if f.is_file()} == before
    assert sorted(os.listdir(tmp_path)) == ["model", "vectors"]
    save_vectors(path, tmp_path / "vectors", vectors="output", force=True)
    assert "output" in spacy.load(tmp_path / "vectors").vocab.vectors.name
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "meta.json").write_text("{}")
    with pytest.raises(OutputExistsError, match="did not write"):
        save_vectors(path, tmp_path / "theirs", force=True)


def test_a_language_that_spacy_does_not_have(path, tmp_path):
    with pytest.raises(ArgumentError, match="language='qq' is not one that spaCy has"):
        save_vectors(path, tmp_path / "vectors", language="qq")
    assert os.listdir(tmp_path) == ["model"]
