"""A model on disk: exact, and refused if anything about it is wrong."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest

from model.worlds import counts_of, fit, markov_sentence, random_model
from oracles.synthetic import KINDS
from storage.sealing import edit_config, seal
from textlds.corpus.settings import TextSettings
from textlds.errors import FormatError, OutputExistsError, TextLDSError
from textlds.learn.history import History
from textlds.model import files
from textlds.model.textlds import TextLDS
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import CONFIG, write_json

TEXTS = ["aaa aab zzz aac", ["aah", "aab"], "", "aaa aaa\naab"]
FILES = ("model.safetensors", "vocabulary.json", "history.json")


def bits(model):
    """Return everything that a model gives, as bytes."""
    parts = "state+left_context+word+right_context"
    result = [
        s.vectors.tobytes()
        for how in ("fitted", "fitted, exact", "equal")
        for s in model.embed(TEXTS, recipe=f"{parts}, {how}")
    ]
    result += [s.vectors.tobytes() for s in model.embed(TEXTS, dtype="float64")]
    result += [s.values.tobytes() for gains in ("steady", "exact") for s in model.log_likelihood(TEXTS, gains=gains)]
    return [*result, repr(model.similar("aaa", kind="use")), repr(model.dynamics()), repr(model.history)]


@pytest.fixture
def saved(tmp_path):
    random_model(0).save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder, **changes):
    """Change arrays, the configuration (``config``) or whole files (``files``), and make the sums right again."""
    config = changes.pop("config", {})
    for name, content in changes.pop("files", {}).items():
        write_json(folder / name, content)
    arrays = {name: np.array(array) for name, array in read_arrays(folder / FILES[0]).items()}
    arrays = {name: array for name, array in (arrays | changes).items() if array is not None}
    write_arrays(folder / FILES[0], arrays)
    seal(folder, **config)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_the_same_to_the_last_bit(kind, tmp_path):
    model = fit(counts_of([markov_sentence(0, 3000, V=20)]), state_size=3, iterations=3, noise=kind)
    model.save(tmp_path / "model")
    loaded = TextLDS.load(tmp_path / "model")
    shutil.rmtree(tmp_path / "model")  # nothing of it is still needed
    assert bits(loaded) == bits(model)
    assert loaded.vocabulary == model.vocabulary
    assert loaded.history == model.history
    assert loaded.params.noise.kind == kind
    for name in ("A", "C", "Q"):
        assert getattr(loaded.params, name).tobytes() == getattr(model.params, name).tobytes()


def test_the_same_model_is_the_same_bytes(saved, tmp_path):
    TextLDS.load(saved).save(tmp_path / "again")
    for name in (*FILES, CONFIG):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
    assert sorted(p.name for p in saved.iterdir()) == sorted((*FILES, CONFIG))


def test_settings_of_the_text_come_back(tmp_path):
    settings = TextSettings(tokenizer="whitespace", digits="zero", unknown="single", boundary_token="aah")
    random_model(0, settings=settings).save(tmp_path / "model")
    assert TextLDS.load(tmp_path / "model").vocabulary.settings == settings


@pytest.mark.parametrize("name", [*FILES, CONFIG])
def test_a_missing_file(saved, name):
    (saved / name).unlink()
    with pytest.raises(FormatError, match="missing" if name != CONFIG else "has no config.json"):
        TextLDS.load(saved)


@pytest.mark.parametrize("name", [*FILES, CONFIG])
@pytest.mark.parametrize("left", [0.0, 0.5, 0.99])
def test_a_truncated_file(saved, name, left):
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(left * len(content))])
    with pytest.raises(FormatError, match=name):
        TextLDS.load(saved)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.999])
def test_a_flipped_bit(saved, name, place):
    content = bytearray((saved / name).read_bytes())
    content[int(place * len(content))] ^= 4
    (saved / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"{name} was altered"):
        TextLDS.load(saved)


def test_no_flipped_bit_of_the_configuration_changes_a_model(saved):
    """It holds the sums of the others and has none of its own: a change is refused, or is one that means nothing."""
    expected, content = bits(TextLDS.load(saved)), (saved / CONFIG).read_bytes()
    accepted = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 7
        (saved / CONFIG).write_bytes(changed)
        try:
            model = TextLDS.load(saved)
        except FormatError:
            continue
        accepted += 1
        if accepted % 5 == 0:  # a sample: white space, and the version that wrote it
            assert bits(model) == expected
    assert 0 < accepted < len(content) / 3


@pytest.mark.parametrize(
    "array", ["A", "C", "Q", "frequencies", "filt_filt", "smooth_filt", "smooth_smooth", "noise.M"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(saved, array, value):
    wrong = np.array(read_arrays(saved / FILES[0])[array])
    wrong[(0,) * wrong.ndim] = value
    rewrite(saved, **{array: wrong})
    with pytest.raises(FormatError, match=f"{array} holds values that are not finite"):
        TextLDS.load(saved)


@pytest.mark.parametrize(
    "array", ["A", "C", "Q", "frequencies", "filt_filt", "smooth_filt", "smooth_smooth", "noise.M"]
)
def test_wrong_shapes_and_types(saved, array):
    right = np.array(read_arrays(saved / FILES[0])[array])
    for wrong in (right[:-1], right[None], right.astype(np.float32 if array != "C" else np.float64), right.astype(int)):
        rewrite(saved, **{array: wrong})
        with pytest.raises(FormatError, match=f"{array} is .* instead of"):
            TextLDS.load(saved)
    rewrite(saved, **{array: right})
    TextLDS.load(saved)


def test_arrays_too_many_or_too_few(saved):
    rewrite(saved, extra=np.zeros(3))
    with pytest.raises(FormatError, match=r"holds \[.*'extra'.*\] instead of"):
        TextLDS.load(saved)
    rewrite(saved, extra=None, Q=None)
    with pytest.raises(FormatError, match=r"holds \['A', 'C', 'filt_filt'.*\] instead of .*'Q'"):
        TextLDS.load(saved)


def test_a_lexicon_is_optional_but_must_fit(saved):
    model = TextLDS.load(saved)
    assert model.lexicon is None  # made of parameters alone
    rng = np.random.default_rng(0)
    profiles, spelling = (rng.standard_normal((n, 3)).astype(np.float32) for n in (9, 16))
    rewrite(saved, profiles=profiles, spelling=spelling)
    lexicon = TextLDS.load(saved).lexicon
    assert (lexicon.profiles.tobytes(), lexicon.spelling.tobytes()) == (profiles.tobytes(), spelling.tobytes())
    for wrong, message in [
        ({"profiles": profiles[:-1]}, "profiles is float32.* instead of"),
        ({"profiles": profiles.astype(np.float64)}, "profiles is float64.* instead of"),
        ({"profiles": np.full_like(profiles, np.nan)}, "profiles holds values that are not finite"),
        ({"profiles": None}, r"holds \[.*'spelling'\] instead of"),
        ({"spelling": None}, r"instead of \[.*'spelling'\]"),
        ({"spelling": spelling[:, :2]}, "spelling is float32.* instead of"),
        ({"spelling": spelling[:-1]}, "spelling has 15 rows, which is not a power of two"),
        ({"spelling": spelling[:0]}, "spelling has 0 rows, which is not a power of two"),
    ]:
        rewrite(saved, **{"profiles": profiles, "spelling": spelling} | wrong)
        with pytest.raises(FormatError, match=message):
            TextLDS.load(saved)


def test_frequencies_that_are_none(saved):
    right = np.array(read_arrays(saved / FILES[0])["frequencies"])
    negative = right.copy()
    negative[:2] += [-1, 1]
    for wrong in (right * 1.01, negative):
        rewrite(saved, frequencies=wrong)
        with pytest.raises(FormatError, match="not a probability distribution"):
            TextLDS.load(saved)


@pytest.mark.parametrize(("kind", "size"), [("spherical", 1), ("diagonal", 9)])
def test_noise_that_is_not_positive(tmp_path, kind, size):
    random_model(0, kind=kind).save(tmp_path / "model")
    for value in (0.0, -1.0):
        rewrite(tmp_path / "model", **{"noise.d": np.full(size, value)})
        with pytest.raises(FormatError, match=r"noise\.d .*positive"):
            TextLDS.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"noise": "pink"}, "noise 'pink' is not one of"),
        ({"noise": "spherical"}, "instead of"),
        ({"state_size": 4}, r"instead of float64\(4, 4\)"),
        ({"state_size": "many"}, "not that of a model"),
        ({"state_size": None}, "not that of a model"),
        ({"text": {}}, "TextSettings must name"),
        ({"text": {**TextSettings().to_json(), "digits": "roman"}}, "digits='roman'"),
    ],
)
def test_a_configuration_that_does_not_fit(saved, config, message):
    rewrite(saved, config=config)
    with pytest.raises(FormatError, match=message):
        TextLDS.load(saved)


@pytest.mark.parametrize("name", ["noise", "state_size", "text"])
def test_a_configuration_that_lacks_something(saved, name):
    edit_config(saved, **{name: None})
    with pytest.raises(FormatError, match="not that of a model"):
        TextLDS.load(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_configuration_that_does_not_list_a_file(saved, name):
    listed = json.loads((saved / CONFIG).read_text())["files"]
    edit_config(saved, files={file: facts for file, facts in listed.items() if file != name})
    with pytest.raises(FormatError, match=f"does not list {name}"):
        TextLDS.load(saved)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version(saved, version):
    config = json.loads((saved / CONFIG).read_text()) | {"format_version": version}
    write_json(saved / CONFIG, config)
    with pytest.raises(FormatError, match=f"format version {version}; this textlds reads version 1"):
        TextLDS.load(saved)


def test_a_vocabulary_or_history_that_does_not_fit(saved):
    words = json.loads((saved / FILES[1]).read_text())
    for wrong, message in (
        ({**words, "words": words["words"][1:]}, "known types"),
        ({"n_types": 9, "words": [*words["words"][:-1], "aaz", "<unk>"]}, r"says 9 words"),
        ([], "not a JSON object"),
    ):
        rewrite(saved, files={FILES[1]: wrong})
        with pytest.raises(FormatError, match=message):
            TextLDS.load(saved)
    rewrite(saved, files={FILES[1]: words, FILES[2]: {"log_likelihood": []}})
    with pytest.raises(FormatError, match="history of a model must name exactly"):
        TextLDS.load(saved)


def test_what_is_no_model(tmp_path):
    counts_of([["aaa", "aab"] * 10]).save(tmp_path / "counts")
    with pytest.raises(FormatError, match="is counts, but a model is needed here"):
        TextLDS.load(tmp_path / "counts")
    with pytest.raises(FormatError, match="does not exist"):
        TextLDS.load(tmp_path / "nothing")
    (tmp_path / "file").write_text("hello")
    with pytest.raises(FormatError, match="is a file, but a model is needed here"):
        TextLDS.load(tmp_path / "file")


def test_an_existing_output_is_only_replaced_by_force(saved, tmp_path):
    other = random_model(7)
    with pytest.raises(OutputExistsError, match="exists already"):
        other.save(saved)
    assert bits(TextLDS.load(saved)) == bits(random_model(0))
    other.save(saved, force=True)
    assert bits(TextLDS.load(saved)) == bits(other)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("irreplaceable")
    with pytest.raises(OutputExistsError, match="did not write"):
        other.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "irreplaceable"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "model"]


@pytest.mark.parametrize("step", ["write_arrays", "write_json", "write_config"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_half_written_stays_after_an_error(tmp_path, monkeypatch, step, error):
    model = random_model(0)
    model.save(tmp_path / "old")
    before = bits(TextLDS.load(tmp_path / "old"))

    def fail(path, *args, **kwargs):
        (path if path.is_dir() else path.parent).joinpath("half").write_bytes(b"half")
        raise error

    monkeypatch.setattr(files, step, fail)
    for name in ("new", "old"):
        with pytest.raises(type(error)):
            random_model(5).save(tmp_path / name, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["old"]
    assert bits(TextLDS.load(tmp_path / "old")) == before


def test_history_as_json():
    history = History([1.0, 1.5], [0.1, 0.2], 0.5, {"seed": 0})
    assert history.iterations == 2
    assert History.from_json(json.loads(json.dumps(history.to_json()))) == history
    for wrong in ([], {}, {**history.to_json(), "more": 1}):
        with pytest.raises(FormatError, match="must name exactly"):
            History.from_json(wrong)


def test_custom_tokenizers_are_given_again(tmp_path):
    settings = TextSettings(tokenizer="custom", unknown="single")
    model = random_model(0, settings=settings)
    model.save(tmp_path / "model")
    loaded = TextLDS.load(tmp_path / "model", tokenizer=str.split)
    (found,), (expected,) = loaded.embed(["aaa aab"]), model.embed([["aaa", "aab"]])
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    (again,) = model.with_tokenizer(str.split).embed(["aaa aab"])
    np.testing.assert_array_equal(again.vectors, expected.vectors)


def test_a_model_says_what_it_is():
    assert repr(random_model(0)) == "TextLDS(state_size=3, vocabulary=9)"
    assert random_model(0).state_size == 3


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = random_model(0)
    params = dataclasses.replace(model.params, Q=-model.params.Q)
    broken = TextLDS(params, model.vocabulary, model.frequencies, model.moments)
    with pytest.raises(FormatError, match="Q is not a covariance"):
        broken.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"log_likelihood": "abc"}, {"log_likelihood": [1.0, "2"]}, {"log_likelihood": [1.0], "seconds": []},
        {"seconds": [[]], "log_likelihood": [1.0]}, {"start": "x"}, {"start": 10**400}, {"start": True},
        {"settings": []}, {"log_likelihood": None}, {"seconds": {"a": 1}},
    ],
)  # fmt: skip
def test_a_history_of_other_types_is_refused_with_its_file(saved, change):
    history = json.loads((saved / "history.json").read_text())
    rewrite(saved, files={"history.json": history | change})
    with pytest.raises(FormatError, match=r"history\.json.*history of a model must"):
        TextLDS.load(saved)


@pytest.mark.parametrize("size", [1e308, 1e200, 1e38, 1e-200, 1e-308])
@pytest.mark.parametrize("name", ["filt_filt", "smooth_smooth", "smooth_filt", "A", "C", "Q", "noise.M"])
def test_extreme_numbers_give_finite_vectors_or_an_error(saved, name, size):
    before = np.array(read_arrays(saved / FILES[0])[name])
    with np.errstate(over="ignore", under="ignore"):
        after = (before.astype(np.float64) * size).astype(before.dtype)
    rewrite(saved, **{name: np.where(np.isfinite(after), after, 0).astype(before.dtype)})
    finite = 0
    for recipe in ("paper", "context", "features", "state+left_context+right_context, fitted, smooth"):
        for dtype in ("float32", "float64"):
            try:
                with np.errstate(all="ignore"):  # NumPy's own warnings are no answer, but no fault either
                    model = TextLDS.load(saved)
                    vectors = np.vstack([text.vectors for text in model.embed(TEXTS, recipe=recipe, dtype=dtype)])
                    stream = model.stream(recipe="state, fitted, filter").push("aaa")
            except TextLDSError:
                continue
            assert np.isfinite(vectors).all()
            assert np.isfinite(stream).all()
            finite += 1
    assert finite > 0 or name not in ("filt_filt", "smooth_smooth", "smooth_filt") or size > 1e30
