"""Packed models: near the original, small, refused if anything about them is wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import textlds
from model.worlds import counts_of, markov_sentence, names, random_model
from model.worlds import fit as fit_words
from storage.sealing import seal
from textlds.api import fit
from textlds.cli import build_app
from textlds.cli.info import folder_size
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError
from textlds.learn.settings import FitSettings
from textlds.linalg.quantized import RowTable
from textlds.model.packed import ARRAYS, PackedModel
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.vectors.meaning import MeaningSpace
from textlds.vectors.stored import CONTEXTS

PARTS = "state+left_context+right_context+word+previous_word+next_word"
TEXTS = ["aaa aab unheard aac", ["aad", "aab"], "", "aaa " * 90, "aae"]


@pytest.fixture(scope="module")
def fitted():
    settings = FitSettings(meaning_size=11)  # longer than the state
    return fit(counts_of([markov_sentence(0, 20_000, V=60)]), state_size=8, iterations=3, settings=settings)


@pytest.fixture(scope="module", params=["lexicon", "none"])
def model(request, fitted):
    return fitted if request.param == "lexicon" else random_model(1, V=40, h=5)


def vectors(model, recipe=PARTS, **options):
    return np.concatenate([text.vectors for text in model.embed(TEXTS, recipe=recipe, **options)])


@pytest.mark.parametrize(("precision", "error"), [("int8", 0.08), ("float16", 4e-3), ("float32", 1e-3)])
@pytest.mark.parametrize("recipe", [PARTS, "state+left_context+word, filter"])
def test_vectors_are_those_of_the_model_but_for_rounding(model, precision, error, recipe):
    packed = model.quantized(precision)
    np.testing.assert_allclose(vectors(packed, recipe), vectors(model, recipe), atol=error)
    assert packed.dimensions("features") == model.dimensions("features")


def test_double_precision_gives_the_very_vectors(fitted):
    """What is left is the rounding of small matrices to float32."""
    packed = fitted.quantized("float32")
    np.testing.assert_allclose(vectors(packed, dtype="float64"), vectors(fitted, dtype="float64"), atol=1e-4)


def test_every_part_has_length_one_or_none(model):
    found = vectors(model.quantized("int8", dimensions=4)).reshape(-1, 6, 4)
    lengths = np.linalg.norm(found, axis=2)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    assert (lengths > 0).all(axis=1).any()


def test_a_packed_model_is_read_as_it_was_written(model, tmp_path):
    packed = model.quantized().with_recipes(mine="state+word")
    packed.save(tmp_path / "packed")
    found = textlds.load(tmp_path / "packed")
    assert isinstance(found, PackedModel)
    assert found.recipes["mine"] == packed.recipes["mine"]
    assert vectors(found).tobytes() == vectors(packed).tobytes()
    assert isinstance(found.tables.words.values, np.memmap)
    found.save(tmp_path / "again")
    names = [path.name for path in (tmp_path / "packed").iterdir()]
    assert all((tmp_path / "again" / name).read_bytes() == (tmp_path / "packed" / name).read_bytes() for name in names)


def test_it_is_a_quarter_of_the_size(tmp_path):
    model = random_model(0, V=1000, h=30)
    sizes = []
    for precision in ("float32", "int8"):
        model.quantized(precision).save(tmp_path / precision)
        sizes.append(folder_size(tmp_path / precision) - 30_000)  # the words, the history
    assert sizes[0] / sizes[1] > 3


def test_fewer_words_are_read_by_their_spelling(fitted):
    packed = fitted.quantized("float32", vocab_size=20)
    assert packed.vocabulary.n_types == 20
    assert packed.vocabulary.words[:20] == fitted.vocabulary.words[:20]
    gone = fitted.vocabulary.words[30]
    assert gone not in packed.vocabulary
    (spelt,) = fitted.spaces.space("float64", "equal").speller.vectors([gone], np.dtype("float64")).words
    np.testing.assert_allclose(packed(gone, recipe="word").vectors[0], spelt, atol=1e-5)
    np.testing.assert_allclose(packed("aaa aab").vectors, fitted("aaa aab").vectors, atol=1e-4)


def test_a_boundary_token_is_kept():
    settings = TextSettings(tokenizer="whitespace", unknown="single", boundary_token="</s>")
    model = random_model(0, V=12, h=3, settings=settings, words=names(10))
    packed = model.quantized("float32", vocab_size=4)
    assert "</s>" in packed.vocabulary
    np.testing.assert_allclose(packed("aaa aab\naac").vectors, model("aaa aab\naac").vectors, atol=1e-5)


def test_fewer_dimensions_keep_what_varies_most(fitted):
    whole, half = fitted.quantized("float32"), fitted.quantized("float32", dimensions=4)
    assert half.dimensions("features") == 4 + 4 + 2 + 4 + 4
    state = "state"
    full, less = (vectors(m, state, dtype="float64") for m in (whole, half))
    cosines = [np.corrcoef((x @ x.T)[np.triu_indices(len(x), 1)], (full @ full.T)[np.triu_indices(len(full), 1)])[0, 1]
               for x in (less,)]  # fmt: skip
    assert cosines[0] > 0.6
    all_dimensions = fitted.quantized("float32", dimensions=8)
    np.testing.assert_allclose(vectors(all_dimensions), vectors(whole), atol=1e-6)


def test_streams_and_similar_words(model):
    packed = model.quantized("float32")
    for kind in ("meaning", "use") if model.lexicon else ("use",):
        assert [w for w, _ in packed.similar("aaa", context="aab aaa aac", n=3, kind=kind)] == [
            w for w, _ in model.similar("aaa", context="aab aaa aac", n=3, kind=kind)
        ]
        assert [w for w, _ in packed.similar("aaa", n=3, kind=kind)] == [
            w for w, _ in model.similar("aaa", n=3, kind=kind)
        ]
    one, other = packed.stream(recipe="state+word+previous_word"), model.stream(recipe="state+word+previous_word")
    for token in ["aaa", "aab", "unheard", "aac"]:
        np.testing.assert_allclose(one.push(token), other.push(token), atol=1e-3)


@pytest.mark.parametrize(("precision", "error"), [("int8", 0.05), ("float16", 4e-3), ("float32", 1e-5)])
def test_meaning_is_packed_too(fitted, tmp_path, precision, error):
    recipe = "sense+word_meaning+topic"
    fitted.quantized(precision).save(tmp_path / "packed")
    packed = textlds.load(tmp_path / "packed")
    np.testing.assert_allclose(vectors(packed, recipe), vectors(fitted, recipe), atol=error)
    assert packed.meaning_size == fitted.meaning_size == 11
    contexts = [["aaa", "unheard", "aab", "aac"]]
    inferred = [m.words.infer("unheard", contexts=contexts) for m in (packed, fitted)]
    np.testing.assert_allclose(*inferred, atol=3 * error)
    less = fitted.quantized(precision, dimensions=3)
    assert vectors(less, "sense").shape[1] == 3
    assert less.words.vectors.shape[1] == len(less.words.infer("unheard", contexts=contexts)) == 3
    with pytest.raises(ArgumentError, match="no meaning vectors"):
        random_model(1).quantized()("aaa", recipe="meaning")


def test_rows_of_meaning_are_widened_where_they_are_met(fitted, tmp_path):
    """The same numbers as from a table that was widened as a whole, which inference does not do."""
    fitted.quantized().save(tmp_path / "packed")
    packed, wide = textlds.load(tmp_path / "packed"), textlds.load(tmp_path / "packed")
    recipe = "sense+word_meaning+topic"
    space, other = (model.spaces.space("float32", "equal") for model in (packed, wide))
    tables = wide.tables
    other.meaning = MeaningSpace(
        RowTable(tables.meaning.all()), tables.meaning_spelling.all(), tables.small[CONTEXTS], wide.vocabulary,
        wide.frequencies,
    )  # fmt: skip
    np.testing.assert_allclose(vectors(packed, recipe), vectors(wide, recipe), atol=1e-6)
    one, two = packed.stream(recipe="sense, filter"), wide.stream(recipe="sense, filter")
    np.testing.assert_allclose(one.push("aab"), two.push("aab"), atol=1e-6)
    assert "words" not in vars(space.meaning)
    packed.similar("aaa", n=1)
    assert "words" in vars(space.meaning)


def test_what_needs_parameters_says_so(model, tmp_path):
    packed = model.quantized()
    for use in (
        lambda: packed.params,
        lambda: packed.log_likelihood(["aaa"]),
        lambda: packed("aaa", recipe="paper"),
        lambda: packed.posterior("aaa"),
    ):
        with pytest.raises(ArgumentError, match="packed model holds what vectors"):
            use()
    with pytest.raises(ArgumentError, match="no probabilities of words"):
        packed.next_word("aaa")
    with pytest.raises(ArgumentError, match="packed already"):
        packed.quantized()


def test_it_observes_what_the_model_observes(model, fitted, tmp_path):
    for whole in (model, fit_words(counts_of([markov_sentence(0, 5000, V=30)]), state_size=4, iterations=1)):
        packed = whole.quantized()
        assert packed.observations == whole.observations
        packed.save(tmp_path / "packed", force=True)
        seal(tmp_path / "packed", observations=None)  # one written before does not say
        assert textlds.load(tmp_path / "packed").observations == whole.observations
    text = "aaa aab aac"
    exact = fitted(text, recipe="state, exact").vectors
    np.testing.assert_allclose(fitted.quantized("float32")(text, recipe="state, exact").vectors, exact, atol=1e-5)


def test_transitions_are_kept(model, tmp_path):
    packed = model.quantized()
    n = min(6, model.state_size)
    assert packed.dynamics(n) == model.dynamics(n)
    packed.save(tmp_path / "packed")
    again = textlds.load(tmp_path / "packed")
    assert again.dynamics(2, words=3) == model.dynamics(2, words=3)
    for wrong in ({"n": 21}, {"words": 10}, {"min_count": 2}):
        with pytest.raises(ArgumentError, match="transitions of 9 words"):
            again.dynamics(**wrong)


def test_a_packed_model_can_be_calibrated(fitted, tmp_path):
    """On text of a Markov chain, where the word before says much: as good as the whole model's readout."""
    texts = [markov_sentence(seed, 400, V=60) for seed in range(1, 60)]
    held_out = [markov_sentence(seed, 400, V=60) for seed in range(100, 110)]
    packed = fitted.quantized().with_language_model(texts, held_out=held_out)
    whole = fitted.with_language_model(texts, held_out=held_out)
    unigram = packed.language.facts["parts"]["unigram"]
    reached = [float(each.perplexity(held_out)) for each in (packed, whole)]
    assert reached[0] < 1.1 * reached[1]
    assert reached[0] < 0.8 * unigram
    assert packed.next_word("aaa").probabilities.sum() == pytest.approx(1)
    packed.save(tmp_path / "packed")
    again = textlds.load(tmp_path / "packed")
    assert again.predicts
    np.testing.assert_allclose(
        again.next_word("aaa aab").probabilities, packed.next_word("aaa aab").probabilities, rtol=1e-5
    )
    for refused in ({"counts": counts_of(texts)}, {"link": "clipped"}):
        with pytest.raises(ArgumentError, match="log-linear readout only"):
            packed.with_language_model(texts, **refused)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int4"}, "precision='int4' is not one of"),
        ({"vocab_size": 0}, "vocab_size=0 must be at least 1"),
        ({"dimensions": 0}, "dimensions=0 must be between 1 and 8"),
        ({"dimensions": 9}, "dimensions=9 must be between 1 and 8, the state size"),
    ],
)
def test_bad_arguments(fitted, options, message):
    with pytest.raises(ArgumentError, match=message):
        fitted.quantized(**options)


def rewrite(folder, *, config=None, **changes):
    """Change arrays or the configuration and make the sums right again."""
    arrays = {name: np.array(array) for name, array in read_arrays(folder / ARRAYS).items()} | changes
    write_arrays(folder / ARRAYS, {name: array for name, array in arrays.items() if array is not None})
    seal(folder, **(config or {}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": None}, "holds .* instead of"),
        ({"words": np.zeros((61, 7), np.int8)}, "words is int8"),
        ({"words": np.zeros((61, 8), np.float32)}, "words is float32"),
        ({"words.scale": np.full(61, np.nan, np.float32)}, "not finite"),
        ({"spelling": np.zeros((3, 8), np.int8), "spelling.scale": np.ones(3, np.float32)}, "not a power of two"),
        ({"A": 9 * np.eye(8, dtype=np.float32)}, "not those of a stable filter"),
        ({"config": {"packed": {"precision": "int4", "state_size": 8}}}, "int4"),
        ({"config": {"packed": 7}}, "not that of a packed model"),
        ({"config": {"packed": {"precision": "int8", "state_size": "8"}}}, "sizes"),
        ({"config": {"state_size": "8"}}, "state_size='8' is not a whole number"),
        ({"config": {"lexicon": False}}, "instead of"),
    ],
)
def test_a_model_edited_by_hand_is_refused(fitted, tmp_path, change, message):
    fitted.quantized().save(tmp_path / "packed")
    rewrite(tmp_path / "packed")
    textlds.load(tmp_path / "packed")
    rewrite(tmp_path / "packed", **change)
    with pytest.raises(FormatError, match=message):
        textlds.load(tmp_path / "packed")


def test_the_command(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    arguments = ["pack", str(tmp_path / "model"), "-o", str(tmp_path / "small"), "--vocab-size", "20", "--json"]
    result = CliRunner().invoke(build_app(), [*arguments, "--dimensions", "5"])
    assert result.exit_code == 0, result.output
    done = json.loads(result.stdout)
    assert (done["dimensions"], done["precision"]) == (5, "int8")
    assert textlds.load(tmp_path / "small").state_size == 5
    assert CliRunner().invoke(build_app(), ["info", str(tmp_path / "small")]).exit_code == 0
    assert CliRunner().invoke(build_app(), [*arguments, "--force", "--bits", "7"]).exit_code == 1
