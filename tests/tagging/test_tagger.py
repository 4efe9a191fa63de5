"""Taggers: what they learn, how sure they are, where things stand, and their folders."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import time

import numpy as np
import pytest

from model.worlds import counts_of
from storage.sealing import alter_arrays, edit_config, seal
from tagging.worlds import entity_sentences, small_counts, small_model, tagged_sentences
from textlds import Tagger, fit
from textlds.corpus.reading.tagged import Tagged
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError, NotFiniteError, OutputExistsError
from textlds.evaluation.taggers import compare_taggers, score_tagger
from textlds.tagging import clusters
from textlds.tagging.gazetteers import read_gazetteers
from textlds.tagging.settings import TaggerSettings

SETTINGS = TaggerSettings(hidden=16, around=8, rounds=4)
TRAIN, DEV, TEST = (tagged_sentences(n, seed=seed) for n, seed in ((150, 0), (40, 1), (60, 2)))


@pytest.fixture(scope="module")
def tagger():
    return Tagger.train(small_model(), TRAIN, dev=DEV, settings=SETTINGS)


@pytest.fixture(scope="module")
def finder():
    settings = dataclasses.replace(SETTINGS, hidden=32, rounds=12, patience=12, dropout=0.0)
    return Tagger.train(
        small_model(), entity_sentences(300), dev=entity_sentences(30, seed=1), task="entities", settings=settings
    )


def predictions(of, sentences=TEST):
    return [(s.tags, s.confidences) for s in of.tag([list(s.tokens) for s in sentences], threads=1)]


def test_a_text_has_the_same_tags_and_confidences_alone_and_among_others(tagger):
    together = predictions(tagger)
    assert together == [predictions(tagger, [sentence])[0] for sentence in TEST]


def test_it_learns_tags(tagger):
    score = score_tagger(tagger, TEST)
    assert score.accuracy.all > 95
    assert tagger.report["dev"] > 95
    assert tagger.report["dev_is"] == "given"
    assert tagger.names == ("DET", "NOUN", "PROPN", "PUNCT", "VERB")


@pytest.mark.parametrize(
    "change",
    [{"recipe": None}, {"settings": dataclasses.replace(SETTINGS, lexical=False)}, {"recipe": "state", "seed": 3}],
)
def test_other_designs_learn_too(change):
    of = Tagger.train(small_model(), TRAIN, dev=DEV, **{"settings": SETTINGS, **change})
    assert of.report["dev"] > 75


def test_neither_vectors_nor_features():
    with pytest.raises(ArgumentError, match="neither"):
        Tagger.train(small_model(), TRAIN, dev=DEV, recipe=None, settings=TaggerSettings(lexical=False))


def test_the_same_seed_gives_the_same_tagger(tagger):
    again = Tagger.train(small_model(), TRAIN, dev=DEV, settings=SETTINGS, threads=1)
    assert predictions(again) == predictions(tagger)
    assert again.temperature == tagger.temperature


def test_threads_and_company_do_not_matter(tagger):
    texts = [" ".join(s.tokens) for s in TEST]
    one, two = ([(s.tags, s.text) for s in tagger.tag(texts, threads=n)] for n in (1, 2))
    assert one == two
    alone = [s.tags for text in texts for s in tagger.tag([text], threads=1)]
    assert [tags for tags, _ in one] == alone


def test_a_tenth_is_set_aside():
    of = Tagger.train(small_model(), TRAIN, settings=SETTINGS)
    assert of.report["dev_is"] == "15 sentences set aside"
    assert (of.report["sentences"], of.report["dev_sentences"]) == (135, 15)


def test_confidences_are_calibrated():
    rng = np.random.default_rng(0)

    def noisy(sentences):
        return [
            Tagged(s.tokens, tuple(t if rng.random() > 0.2 else str(rng.choice(["NOUN", "VERB"])) for t in s.tags))
            for s in sentences
        ]

    train, dev, test = (noisy(tagged_sentences(n, seed=s)) for n, s in ((100, 3), (100, 4), (200, 5)))
    of = Tagger.train(small_model(), train, dev=dev, settings=dataclasses.replace(SETTINGS, dropout=0.0))
    found = list(of.tag([list(s.tokens) for s in test]))
    right = np.array([a == b for s, f in zip(test, found, strict=True) for a, b in zip(s.tags, f.tags, strict=True)])
    sure = np.array([value for f in found for value in f.confidences])
    assert abs(right.mean() - sure.mean()) < 0.05
    assert of.temperature > 1.05  # a network that learns its sentences by heart is too sure of itself


def test_places_in_the_text(tagger):
    text = "Ännä sees the cat. The dog walks!\nBen works"
    found = list(tagger.tag([text, ["the", "cat"]], threads=1))
    assert [s.string for s in found] == ["Ännä sees the cat.", "The dog walks!", "Ben works", "the cat"]
    assert [s.text for s in found] == [0, 0, 0, 1]
    for sentence in found[:3]:
        assert [text[a:b] for a, b in sentence.spans] == sentence.tokens
    assert found[3].spans == [(0, 3), (4, 7)]
    assert len(found[0].confidences) == len(found[0].tags) == len(found[0]) == 5
    assert found[0].entities == []


def test_no_text_and_no_token(tagger):
    assert list(tagger.tag([])) == list(tagger.tag(["", " \n "])) == list(tagger.tag([[], [[]]])) == []
    with pytest.raises(ArgumentError, match="single string"):
        list(tagger.tag("a text"))
    with pytest.raises(ArgumentError, match="min_confidence=2"):
        tagger.tag(["a"], min_confidence=2)


def test_a_sentence_of_ten_thousand_tokens(tagger):
    words = [token for s in tagged_sentences(1200, seed=8) for token in s.tokens if token != "."][:10_000]
    (found,) = tagger.tag([words])
    assert len(found) == 10_000
    assert np.isfinite(found.confidences).all()


def test_least_confidence(tagger):
    texts = [list(s.tokens) for s in TEST]
    for sentence, sure in zip(tagger.tag(texts), tagger.tag(texts, min_confidence=0.9), strict=True):
        expected = [t if c >= 0.9 else "_" for t, c in zip(sentence.tags, sentence.confidences, strict=True)]
        assert sure.tags == expected


def test_entities(finder):
    test = entity_sentences(40, seed=2)
    score = score_tagger(finder, test)
    assert score.entities.f1 > 85  # without the memory, half of the names are anybody's guess
    assert set(score.entities.by_kind) == {"LOC", "PER"}
    assert finder.design.memory
    assert finder.design.clusters.shape == (len(small_model().vocabulary), 3)
    (sentence,) = finder.tag(["Mr Anna Ben ."])
    (person,) = sentence.entities
    assert (person.kind, person.text, person.start_char, person.end_char) == ("PER", "Anna Ben", 3, 11)
    assert sentence.tags == ["O", "B-PER", "I-PER", "O"]
    assert person.confidence == min(sentence.confidences[1:3])
    assert next(iter(finder.tag(["Mr Anna Ben ."], min_confidence=1.0))).entities == []


def test_entities_in_any_scheme_are_the_same():
    settings = dataclasses.replace(SETTINGS, rounds=2)
    found = [
        Tagger.train(small_model(), entity_sentences(30, scheme=scheme), task="entities", settings=settings)
        for scheme in ("iob1", "bioes")
    ]
    test = entity_sentences(20, seed=2)
    assert predictions(found[0], test) == predictions(found[1], test)


def test_gazetteers_are_features():
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))

    def words():  # nothing but the list tells places from others
        return ["".join(rng.choice(letters, 5)) for _ in range(2)]

    places = [words() for _ in range(400)]

    def sentences(some):
        out = []
        for place in some:
            chosen, tags = (place, ["B-LOC", "I-LOC"]) if rng.random() < 0.5 else (words(), ["O", "O"])
            out.append(Tagged(("the", *chosen, "."), ("O", *tags, "O")))
        return out

    train, dev, test = (sentences(some) for some in (places[:250], places[250:300], places[300:]))
    settings = dataclasses.replace(SETTINGS, feature_dropout=0.0)

    def trained(gazetteers):
        return Tagger.train(
            small_model(), train, dev=dev, task="entities", gazetteers=gazetteers, settings=settings
        )  # fmt: skip

    of = trained({"places": places})
    assert "gazetteer places" in of.design.columns
    assert score_tagger(of, test).entities.f1 > 95  # 98.9 to 100 with eight seeds
    assert score_tagger(trained({}), test).entities.f1 < 85  # 53 to 74


def test_names_of_a_gazetteer_are_cut_as_text_is():
    train = [Tagged(("AT", "&", "T", "sees", "the", "dog"), ("B-ORG", "I-ORG", "I-ORG", "O", "O", "O"))] * 12
    names = {"firms": [["AT&T"], ["New", "York"]]}
    of = Tagger.train(small_model(), train, dev=train, task="entities", gazetteers=names, settings=SETTINGS)
    assert of.design.gazetteers["firms"] >= {("at&t",), ("at", "&", "t"), ("new", "york")}
    settings = dataclasses.replace(SETTINGS, lexical=False)
    with pytest.raises(ArgumentError, match="lexical=False"):
        Tagger.train(small_model(), train, task="entities", gazetteers=names, settings=settings)


def test_gazetteers_of_the_same_name_are_both_kept(tmp_path):
    paths = [tmp_path / folder / "names.txt" for folder in "ab"]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(f"name {number}\n")
    assert read_gazetteers(paths) == {"names": [["name", "0"]], "names 2": [["name", "1"]]}


def test_places_of_given_tokens_are_in_their_sentence(tagger):
    one, two = tagger.tag([[["the", "cat", "sees"], ["Anna", "rests"]]])
    assert (one.spans, one.string) == ([(0, 3), (4, 7), (8, 12)], "the cat sees")
    assert (two.spans, two.string) == ([(0, 4), (5, 10)], "Anna rests")


def test_counts_are_clusters(tmp_path, monkeypatch):
    """A word without a label is tagged as those of its cluster, without any vector."""
    monkeypatch.setattr(clusters, "_LEAVES", 4)  # as few as there are kinds of words
    rng = np.random.default_rng(0)
    nouns, verbs = ("ka", "mu", "lo", "pi", "se", "ta"), ("ne", "fu", "do", "bi", "ro", "wa")
    lines = [["the", rng.choice(nouns), rng.choice(verbs), "the", rng.choice(nouns)] for _ in range(800)]
    counts = counts_of([list(map(str, line)) for line in lines], settings=TextSettings(boundaries="line"))
    model = fit(counts, state_size=2, iterations=1, threads=1)
    labelled, unlabelled = (
        [Tagged((w,), (tag,)) for tag, words in (("N", nouns), ("V", verbs)) for w in words[part]]
        for part in (slice(0, 4), slice(4, 6))
    )
    settings = TaggerSettings(hidden=16, rounds=3, dropout=0.0)
    of = Tagger.train(model, labelled, dev=labelled, recipe=None, settings=settings, counts=counts)
    assert of.design.clusters.shape == (len(model.vocabulary), 4)
    assert of.predict(unlabelled) == [list(s.tags) for s in unlabelled]
    of.save(tmp_path / "t")
    assert predictions(Tagger.load(tmp_path / "t"), unlabelled) == predictions(of, unlabelled)


def test_counts_beside_vectors_and_counts_that_do_not_belong():
    given = {"dev": entity_sentences(9, seed=1), "task": "entities", "settings": TaggerSettings(hidden=4, rounds=1)}
    of = Tagger.train(small_model(), entity_sentences(30), counts=small_counts(), **given)
    assert of.design.clusters.shape[1] == 7  # three granularities of vectors, four of counts
    with pytest.raises(ArgumentError, match="Give the counts that the model was fitted to"):
        Tagger.train(small_model(), TRAIN, dev=DEV, counts=small_counts().shrink(5))
    with pytest.raises(ArgumentError, match="clusters of counts are hashed features"):
        Tagger.train(
            small_model(), TRAIN, dev=DEV, counts=small_counts(), settings=dataclasses.replace(SETTINGS, lexical=False)
        )


@pytest.mark.parametrize(("sentences", "parts"), [(20, "word,"), (150, "state+word,"), (500, "state+previous_word+")])
def test_few_labels_choose_a_small_vector(sentences, parts):
    of = Tagger.train(
        small_model(), tagged_sentences(sentences), dev=DEV, settings=dataclasses.replace(SETTINGS, rounds=1)
    )
    assert str(of.design.recipe).startswith(parts), of.report["tokens"]


def test_scattered_sentences_have_no_memory_of_documents():
    """Some stand beside another of their document by chance; those that read whole documents would be misled by it."""
    rng = np.random.default_rng(0)
    whole = [dataclasses.replace(s, document=number // 6) for number, s in enumerate(entity_sentences(120))]
    scattered = [whole[i] for i in rng.permutation(len(whole))]
    assert any(a.document == b.document for a, b in itertools.pairwise(scattered))
    settings = TaggerSettings(hidden=4, rounds=1)
    for sentences, memory in ((whole, True), (scattered, False)):
        of = Tagger.train(small_model(), sentences, dev=whole[:12], task="entities", settings=settings)
        assert of.design.memory is memory


def test_several_networks_are_averaged():
    def trained(seed, networks):
        settings = TaggerSettings(hidden=6, rounds=2, networks=networks)
        return Tagger.train(small_model(), TRAIN[:40], dev=DEV, settings=settings, seed=seed)

    both = trained(3, 2)
    apart = [trained(3, 1), trained(3 + (1 << 20), 1)]
    assert both.report["settings"]["networks"] == 2
    assert both.weights.bias.shape == (12,)
    np.testing.assert_array_equal(both.weights.vectors, np.hstack([one.weights.vectors for one in apart]))
    mean = np.mean([one.weights.transitions for one in apart], axis=0)
    np.testing.assert_allclose(both.weights.transitions, mean, rtol=1e-5)


@pytest.mark.parametrize(("tokens", "entities", "units"), [(9_999, False, 0), (10_000, False, 128), (90_000, True, 0)])
def test_many_labels_choose_a_second_layer(tokens, entities, units):
    assert TaggerSettings().second_units(tokens, constrained=entities) == units
    assert TaggerSettings(around=7).second_units(tokens, constrained=entities) == 7


def test_search_keeps_the_best():
    of = Tagger.train(small_model(), TRAIN[:30], dev=DEV, settings=TaggerSettings(hidden=4, rounds=1), search="grid")
    tried = of.report["tried"]
    assert len(tried) >= 6
    assert of.report["dev"] == max(one["dev"] for one in tried)
    words = TaggerSettings(hidden=4, rounds=1)
    baseline = Tagger.train(small_model(), TRAIN[:30], dev=DEV, settings=words, search="grid", recipe=None)
    assert {one["recipe"] for one in baseline.report["tried"]} == {None}  # what was asked for is not searched
    with pytest.raises(ArgumentError, match="search='all'"):
        Tagger.train(small_model(), TRAIN, search="all")


# Folders


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    small_model().save(path)
    return path


@pytest.fixture
def folder(finder, tmp_path):
    finder.save(tmp_path / "tagger")
    return tmp_path / "tagger"


def test_a_bundled_tagger_comes_back(finder, folder, tmp_path):
    moved = shutil.move(folder, tmp_path / "elsewhere")
    began = time.process_time()
    again = Tagger.load(moved)
    assert time.process_time() - began < 1
    test = entity_sentences(20, seed=2)
    assert predictions(again, test) == predictions(finder, test)
    assert again.report == json.loads(json.dumps(finder.report))
    assert (again.task, again.names, again.known) == (finder.task, finder.names, finder.known)


def test_a_tagger_made_before_there_was_a_second_layer(tmp_path):
    of = Tagger.train(small_model(), TRAIN[:40], dev=DEV, settings=dataclasses.replace(SETTINGS, around=0))
    of.save(tmp_path / "tagger")
    alter_arrays(tmp_path / "tagger" / "tagger.safetensors", around=None, around_bias=None, around_out=None)
    seal(tmp_path / "tagger")
    assert predictions(Tagger.load(tmp_path / "tagger")) == predictions(of)


def test_a_tagger_that_names_its_model(model_folder, tmp_path):
    folder = tmp_path / "there"
    shutil.copytree(model_folder, folder / "model")
    of = Tagger.train(folder / "model", TRAIN, dev=DEV, settings=SETTINGS)
    of.save(folder / "tagger")
    assert not (folder / "tagger" / "model").exists()
    assert predictions(Tagger.load(folder / "tagger")) == predictions(of)
    moved = shutil.move(folder, tmp_path / "both")  # they keep their places to each other
    assert predictions(Tagger.load(moved / "tagger")) == predictions(of)
    shutil.move(moved / "model", tmp_path / "m")
    with pytest.raises(FormatError, match="is missing: there is nothing at"):
        Tagger.load(moved / "tagger")
    assert predictions(Tagger.load(moved / "tagger", model=tmp_path / "m")) == predictions(of)
    with pytest.raises(FormatError, match="it has other words"):
        Tagger.load(moved / "tagger", model=small_model("</s>"))
    small_model("</s>").save(moved / "model")
    with pytest.raises(FormatError, match="its checksum differs"):
        Tagger.load(moved / "tagger")


def test_a_packed_model_will_do(tmp_path):
    small_model().quantized().save(tmp_path / "packed")
    of = Tagger.train(tmp_path / "packed", TRAIN, dev=DEV, settings=SETTINGS)
    assert of.report["dev"] > 90
    of.save(tmp_path / "tagger")
    assert predictions(Tagger.load(tmp_path / "tagger")) == predictions(of)


def test_a_model_without_a_folder_is_bundled(tagger, tmp_path):
    with pytest.raises(ArgumentError, match="bundle=True"):
        tagger.save(tmp_path / "a", bundle=False)
    assert not list(tmp_path.iterdir())
    tagger.save(tmp_path / "a")
    assert (tmp_path / "a" / "model" / "config.json").exists()
    with pytest.raises(OutputExistsError):
        tagger.save(tmp_path / "a")
    tagger.save(tmp_path / "a", force=True)


@pytest.mark.parametrize("name", ["tagger.safetensors", "words.json", "config.json"])
def test_damage_is_noticed(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-20] + bytes(20))
    with pytest.raises(FormatError):
        Tagger.load(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError):
        Tagger.load(folder)


@pytest.mark.parametrize(
    ("key", "value"), [("tags", ["A"]), ("task", "x"), ("recipe", "nothing"), ("templates", []), ("report", None)]
)
def test_a_configuration_that_says_something_else(folder, key, value):
    edit_config(folder, **{key: value})
    with pytest.raises(FormatError):
        Tagger.load(folder)


@pytest.mark.parametrize("names", [[[]], [["a", 3]], ["ab"], {"a": []}])
def test_a_gazetteer_that_is_none(folder, names):
    path = folder / "words.json"
    words = json.loads(path.read_text())
    path.write_text(json.dumps({**words, "gazetteers": {"places": names}}))
    seal(folder)
    with pytest.raises(FormatError):
        Tagger.load(folder)


MISSHAPEN = {
    "first of too few tags": {"first": lambda array: array[:1]},
    "a narrow table": {"features": lambda array: array[:, :1]},
    "vectors of another width": {"vectors": lambda array: array[:, :1]},
    "buckets beyond the table": {"buckets": lambda array: array + (1 << 20)},
    "a second layer of another width": {"around": lambda array: array[:, 1:]},
    "half of a second layer": {"around_out": None},
    "not finite": {"out": lambda array: array * np.inf},
    "integers": {"bias": lambda array: array.astype(np.int32)},
    "no clusters": {"clusters": None},
}


@pytest.mark.parametrize("name", MISSHAPEN)
def test_arrays_that_compiled_code_could_not_take_are_refused(folder, name):
    alter_arrays(folder / "tagger.safetensors", **MISSHAPEN[name])
    seal(folder)
    with pytest.raises(FormatError):
        Tagger.load(folder)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"vectors": lambda array: array[:-1]}, FormatError),
        ({"clusters": lambda array: array[:-1]}, FormatError),
        ({"vectors": lambda array: np.sign(array) * np.float32(1e38)}, NotFiniteError),
    ],
)
def test_what_does_not_fit_the_model_or_overflows_is_an_error(folder, changes, error):
    alter_arrays(folder / "tagger.safetensors", **changes)
    seal(folder)
    with np.errstate(all="ignore"), pytest.raises(error, match=r"[Tt]rain it again"):
        list(Tagger.load(folder).tag(["Mr Ben sees the dog."]))


def test_a_model_is_no_tagger(model_folder):
    with pytest.raises(FormatError, match="is a model, but a tagger is needed"):
        Tagger.load(model_folder)


# Scores


def test_tags_never_seen_are_wrong_and_counted(tagger):
    odd = [Tagged(s.tokens, tuple("ODD" if t == "PROPN" else t for t in s.tags)) for s in TEST]
    score = score_tagger(tagger, odd)
    count = sum(t == "ODD" for s in odd for t in s.tags)
    assert score.unseen == {"ODD": count}
    assert score.accuracy.all <= 100 * (1 - count / score.accuracy.tokens)


def test_another_tag_set(tagger):
    with pytest.raises(ArgumentError, match="another tag set"):
        score_tagger(tagger, [Tagged(("a",), ("Q",))])


def test_scores_are_those_of_seqeval(finder):
    from seqeval.metrics import f1_score, precision_score

    test = entity_sentences(40, seed=7)
    score = score_tagger(finder, test)
    gold = [list(s.tags) for s in test]
    assert score.entities.f1 == pytest.approx(100 * f1_score(gold, score.predicted))
    assert score.entities.precision == pytest.approx(100 * precision_score(gold, score.predicted))


def test_what_the_vectors_add():
    sets = TRAIN[:60], DEV, TEST
    result = compare_taggers(small_model(), *sets, seeds=2)
    assert [(row.tagger, row.part) for row in result.rows] == [
        ("words", "dev"), ("words + vectors", "dev"), ("words", "test"), ("words + vectors", "test"),
    ]  # fmt: skip
    assert len(result.rows[0].seeds) == 2
    test = result.tests["test"]
    words, both = (row.accuracy for row in result.rows[2:])
    assert test.only_second - test.only_first == round((both.all - words.all) * words.tokens / 100)
    json.dumps(result.to_json())
    found = compare_taggers(
        small_model(), entity_sentences(30), entity_sentences(10, seed=1), task="entities", rounds=99
    )
    assert [row.tagger for row in found.rows] == ["words", "words + vectors"]
    assert found.tests["dev"].difference == pytest.approx(found.rows[1].f1.f1 - found.rows[0].f1.f1)
    json.dumps(found.to_json())
