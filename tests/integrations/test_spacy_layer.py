"""The layer ``textlds.Tok2Vec.v1``: features for spaCy's own tagger, parser and entity recogniser."""

from __future__ import annotations

import pickle
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from model.worlds import CLASSES, counts_of, fit, grammar_text
from textlds.errors import ArgumentError
from textlds.model.textlds import TextLDS

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc, DocBin  # noqa: E402
from spacy.training import Example  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # a foreign library's warnings are not ours to fix


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    """A model of a little language, and sentences of it with their tags and entities."""
    text = grammar_text(0, 3000)
    folder = tmp_path_factory.mktemp("language") / "model"
    fit(counts_of([text]), state_size=12, iterations=10).save(folder)
    ends = [i + 1 for i, word in enumerate(text) if word in CLASSES["end"]]
    sentences = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    kinds = {word: kind for kind, words in CLASSES.items() for word in words if word != "bank"}
    sentences = [sentence for sentence in sentences if "bank" not in sentence]
    tags = [[kinds[word] for word in sentence] for sentence in sentences]
    # an adjective and its noun are an entity, so that a name has one or two words
    entities = [
        ["O" if tag not in ("adj", "noun") else _biluo(of_sentence, i) for i, tag in enumerate(of_sentence)]
        for of_sentence in tags
    ]
    return str(folder), list(zip(sentences, tags, entities, strict=True))


def _biluo(tags, i):
    if tags[i] == "adj":
        return "B-THING"
    return "L-THING" if i and tags[i - 1] == "adj" else "U-THING"


IOB = str.maketrans("LU", "IB")  # what Doc takes
LAYER = {"@architectures": "textlds.Tok2Vec.v1", "width": 32}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32, "upstream": "*"}
RECOGNISER = {
    "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "extra_state_tokens": False,
    "hidden_width": 32, "maxout_pieces": 2, "use_upper": True, "tok2vec": LISTENER,
}  # fmt: skip
HASHED = {
    "@architectures": "spacy.MultiHashEmbed.v2", "width": 16, "attrs": ["NORM", "SUFFIX"], "rows": [200, 200],
    "include_static_vectors": False,
}  # fmt: skip


def train(nlp, data, *, epochs):
    spacy.util.fix_random_seed(0)
    rng = random.Random(0)
    examples = [
        Example.from_dict(Doc(nlp.vocab, words=words), {"words": words, "tags": tags, "entities": entities})
        for words, tags, entities in data
    ]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(epochs):
        rng.shuffle(examples)
        nlp.update(examples, sgd=optimizer)
    return nlp


def accuracy(nlp, data):
    docs = nlp.pipe(Doc(nlp.vocab, words=words) for words, _, _ in data)
    right = [
        t.tag_ == tag for doc, (_, tags, _) in zip(docs, data, strict=True) for t, tag in zip(doc, tags, strict=True)
    ]
    return np.mean(right)


def entities_of(doc):
    return [(entity.start, entity.end) for entity in doc.ents]


def test_a_tagger_and_an_entity_recogniser_learn_from_a_few_sentences(language, tmp_path):
    path, data = language
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": {**LAYER, "model": path}})
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}})
    nlp.add_pipe("ner", config={"model": RECOGNISER})
    few, others = data[:12], data[12:72]
    train(nlp, few, epochs=60)
    assert accuracy(nlp, few) == 1
    # words that the few sentences do not hold are tagged by their vectors
    seen = {word for words, _, _ in few for word in words}
    assert any(word not in seen for words, _, _ in others for word in words)
    assert accuracy(nlp, others) > 0.9
    docs = [nlp(Doc(nlp.vocab, words=words)) for words, _, _ in few]
    for doc, (_, tags, _) in zip(docs, few, strict=True):
        nouns = [i for i, tag in enumerate(tags) if tag == "noun"]
        assert entities_of(doc) == [(i - (tags[i - 1] == "adj"), i + 1) for i in nouns]

    nlp.to_disk(tmp_path / "trained")
    loaded = spacy.load(tmp_path / "trained")
    for words, _, _ in others:
        one, other = (pipe(Doc(pipe.vocab, words=words)) for pipe in (nlp, loaded))
        assert one.to_json() == other.to_json()
        np.testing.assert_array_equal(one.tensor, other.tensor)


@pytest.mark.parametrize("extra", [{}, {"embed": HASHED}], ids=["alone", "with hashed features"])
def test_inside_one_component(language, extra, tmp_path):
    path, data = language
    copy = tmp_path / "model"
    shutil.copytree(path, copy)
    nlp = spacy.blank("en")
    layer = {**LAYER, "model": str(copy), "recipe": "left_context+word", **extra}
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": layer}})
    train(nlp, data[:10], epochs=40)
    assert accuracy(nlp, data[:10]) == 1
    nlp.to_disk(tmp_path / "tagger")
    shutil.rmtree(copy)
    loaded = spacy.load(tmp_path / "tagger")
    again = pickle.loads(pickle.dumps(loaded))
    for words, _, _ in data[10:30]:
        tags = [[t.tag_ for t in pipe(Doc(pipe.vocab, words=words))] for pipe in (nlp, loaded, again)]
        assert tags[0] == tags[1] == tags[2]


def test_the_vectors_are_not_trained(language):
    path, data = language
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": {**LAYER, "model": path}}})
    train(nlp, data[:4], epochs=3)
    (layer,) = [node for node in nlp.get_pipe("tagger").model.walk() if node.name == "textlds"]
    words = data[0][0]
    (found,) = layer.predict([Doc(nlp.vocab, words=words)])
    (expected,) = TextLDS.load(path).embed([words], recipe="features")
    np.testing.assert_array_equal(found, expected.vectors)


def test_options_of_the_layer_are_those_of_embed(language):
    make, words = spacy.registry.architectures.get("textlds.Tok2Vec.v1"), ["aaa", "aab"]
    options = {"recipe": "state+previous_word+next_word, fitted"}
    (layer,) = [node for node in make(language[0], 8, **options).walk() if node.name == "textlds"]
    (found,) = layer.predict([Doc(spacy.blank("en").vocab, words=words)])
    (expected,) = TextLDS.load(language[0]).embed([words], **options)
    np.testing.assert_array_equal(found, expected.vectors)


def test_wrong_options_of_the_layer(language):
    with pytest.raises(ArgumentError, match="'up' is not a recipe"):
        spacy.registry.architectures.get("textlds.Tok2Vec.v1")(language[0], 8, recipe="up+state")


def test_the_configuration_of_the_how_to(language, tmp_path):
    """``spacy train`` with the components that docs/how-to-spacy.md shows."""
    from spacy.cli.init_config import fill_config
    from spacy.cli.train import train as spacy_train

    path, data = language
    vocab = spacy.blank("en").vocab
    for name, part in (("train", data[:40]), ("dev", data[40:60])):
        docs = [Doc(vocab, words=words, ents=[tag.translate(IOB) for tag in tags]) for words, _, tags in part]
        DocBin(docs=docs).to_disk(tmp_path / f"{name}.spacy")
    page = (Path(__file__).parents[2] / "docs" / "how-to-spacy.md").read_text("utf-8")
    (shown,) = re.findall(r"```text\n(\[components].*?)```", page, re.DOTALL)
    assert 'model = "model"' in shown
    readers = "".join(
        f'[corpora.{name}]\n@readers = "spacy.Corpus.v1"\npath = "{tmp_path}/{name}.spacy"\n'
        for name in ("train", "dev")
    )
    (tmp_path / "config.cfg").write_text(
        '[nlp]\nlang = "en"\npipeline = ["tok2vec","ner"]\n'
        + shown.replace('model = "model"', f'model = "{path}"')
        + f"[corpora]\n{readers}[training]\nmax_steps = 120\neval_frequency = 60\n"
    )
    fill_config(tmp_path / "full.cfg", tmp_path / "config.cfg")
    spacy_train(tmp_path / "full.cfg", tmp_path / "trained")
    nlp = spacy.load(tmp_path / "trained" / "model-best")
    gold = [Doc(vocab, words=words, ents=[tag.translate(IOB) for tag in tags]) for words, _, tags in data[40:60]]
    found = [entities_of(nlp(Doc(nlp.vocab, words=words))) for words, _, _ in data[40:60]]
    assert np.mean([ours == entities_of(theirs) for ours, theirs in zip(found, gold, strict=True)]) > 0.8
