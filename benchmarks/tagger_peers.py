"""Other people's taggers behind one interface, for :mod:`benchmarks.taggers`. One thread each."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers import Transformer
from textlds import Tagger, TextLDS
from textlds.corpus.reading.tagged import Tagged
from textlds.evaluation.crf import train_crf
from textlds.tagging.entities import convert_tags
from textlds.tagging.labels import Task

Tokens = Sequence[Sequence[str]]


class Peer(Protocol):
    """A tagger that was trained."""

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        """Return the tags of sentences, entities in IOB2."""

    def raw(self, texts: Sequence[str]) -> int:
        """Tag raw text; return how many tokens it has."""

    def size(self) -> int:
        """Return the bytes of its files, its vectors or model included."""


def folder_size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


class Textlds:
    """The tagger of this package; ``recipe=None`` for its features without vectors."""

    def __init__(
        self, model: Any, train: list[Tagged], dev: list[Tagged], task: Task, seed: int, **options: Any
    ) -> None:
        self.tagger = Tagger.train(model, train, dev=dev, task=task, seed=seed, **options)

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        return self.tagger.predict(sentences, threads=1)

    def raw(self, texts: Sequence[str]) -> int:
        return sum(len(sentence) for sentence in self.tagger.tag(texts, threads=1))

    def size(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            self.tagger.save(Path(folder, "tagger"), bundle=self.tagger.design.recipe is not None)
            return folder_size(Path(folder, "tagger"))


class CRF:
    """CRFsuite on words, affixes, shapes and pairs."""

    def __init__(self, train: list[Tagged], dev: list[Tagged], task: Task, seed: int) -> None:
        scheme = [Tagged(s.tokens, convert_tags(s.tags, "bioes")) for s in train] if task == "entities" else train
        self._tagger, self._task = train_crf(scheme), task

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        found = self._tagger.predict([s.tokens for s in sentences])
        return [list(convert_tags(tags, "iob2")) if self._task == "entities" else list(tags) for tags in found]

    def raw(self, texts: Sequence[str]) -> int:
        sentences = [tokenised for text in texts if (tokenised := _split(text))]
        return sum(map(len, self._tagger.predict(sentences)))

    def size(self) -> int:
        return len(self._tagger._content)


class Perceptron:
    """NLTK's averaged perceptron."""

    def __init__(self, train: list[Tagged], dev: list[Tagged], task: Task, seed: int) -> None:
        from nltk.tag.perceptron import PerceptronTagger

        random.seed(seed)  # which it shuffles by
        self._tagger = PerceptronTagger(load=False)
        pairs = [list(zip(s.tokens, _iob2(s.tags, task), strict=True)) for s in train]
        self._tagger.train(pairs, nr_iter=8)

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        return [[tag for _, tag in self._tagger.tag(list(s.tokens))] for s in sentences]

    def raw(self, texts: Sequence[str]) -> int:
        from nltk.tokenize import TreebankWordTokenizer

        split = TreebankWordTokenizer().tokenize
        return sum(len(self._tagger.tag(split(text))) for text in texts if text.strip())

    def size(self) -> int:
        import json

        weights = self._tagger.model.weights
        return len(json.dumps([weights, self._tagger.tagdict, sorted(self._tagger.classes)]))


class UDPipe:
    """UDPipe 1: MorphoDiTa's tagger, without lemmas and features; the iteration that is best on dev is kept."""

    def __init__(self, train: list[Tagged], dev: list[Tagged], task: Task, seed: int) -> None:
        import ufal.udpipe as u

        sets = [self._sentences(u, some, task) for some in (train, dev)]
        error = u.ProcessingError()
        options = f"models=1;templates_1=tagger;iterations_1={_ITERATIONS}"
        options += "".join(f";{use}_{what}_1=0" for use in ("use", "provide") for what in ("lemma", "xpostag", "feats"))
        content = u.Trainer.train("morphodita_parsito", *sets, "none", options, "none", error)
        if error.occurred():
            raise RuntimeError(error.message)
        self._u, self._content = u, content
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
            self._model, self._size = u.Model.load(str(path)), path.stat().st_size

    @staticmethod
    def _sentences(u: Any, sentences: list[Tagged], task: Task) -> Any:
        found = u.Sentences()
        for sentence in sentences:
            one = u.Sentence()
            for token, tag in zip(sentence.tokens, _iob2(sentence.tags, task), strict=True):
                one.addWord(token).upostag = tag
            found.append(one)
        return found

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        result = []
        for sentence in sentences:
            one = self._u.Sentence()
            for token in sentence.tokens:
                one.addWord(token)
            self._model.tag(one, self._u.Model.DEFAULT)
            result.append([word.upostag for word in list(one.words)[1:]])
        return result

    def raw(self, texts: Sequence[str]) -> int:
        reader = self._u.InputFormat.newGenericTokenizerInputFormat()
        reader.setText("\n\n".join(texts))
        count, sentence = 0, self._u.Sentence()
        while reader.nextSentence(sentence, self._u.ProcessingError()):
            self._model.tag(sentence, self._u.Model.DEFAULT)
            count += len(sentence.words) - 1
        return count

    def size(self) -> int:
        return self._size


_ITERATIONS = 10  # of UDPipe's twenty, each of which takes more than a minute with 200,000 labelled tokens


class SpaCy:
    """A blank English pipeline: tok2vec with a tagger or an entity recogniser; with floret vectors if given."""

    def __init__(
        self,
        train: list[Tagged],
        dev: list[Tagged],
        task: Task,
        seed: int,
        *,
        vectors: Path | None = None,
        rounds: int = 12,
    ) -> None:
        import spacy
        from spacy.training import Example
        from spacy.util import compounding, fix_random_seed, minibatch

        fix_random_seed(seed)
        self._task, self._nlp = task, spacy.blank("en")
        nlp = self._nlp
        if vectors is not None:
            from spacy.training.initialize import convert_vectors

            convert_vectors(nlp, vectors, truncate=0, prune=-1, mode="floret")
        embed = {"include_static_vectors": vectors is not None}
        name = "ner" if task == "entities" else "tagger"
        nlp.add_pipe(
            name,
            config={
                "model": {
                    "tok2vec": {
                        "@architectures": "spacy.HashEmbedCNN.v2",
                        **_CNN,
                        "pretrained_vectors": embed["include_static_vectors"],
                    }
                }
            },
        )
        examples = [self._example(Example, sentence) for sentence in train]
        optimizer = nlp.initialize(lambda: examples[:2000] if task == "tags" else examples)
        best, state, waited = -1.0, b"", 0
        order = random.Random(seed)
        # few labels are read several times per round, as our own network reads them, and are given longer to gain
        times = max(1, _FEWEST_STEPS * 16 // max(len(examples), 1))
        patience = 2 if times == 1 else 6
        for _ in range(rounds):
            for _ in range(times):
                order.shuffle(examples)
                for batch in minibatch(examples, compounding(16.0, 128.0, 1.002)):
                    nlp.update(batch, sgd=optimizer, drop=0.1)
            with nlp.use_params(optimizer.averages):
                hits = self._judge(dev)
                if hits > best:
                    best, state, waited = hits, nlp.to_bytes(), 0
                elif (waited := waited + 1) >= patience:
                    break
        nlp.from_bytes(state)

    def _example(self, Example: Any, sentence: Tagged) -> Any:
        from spacy.tokens import Doc

        doc = Doc(self._nlp.vocab, words=list(sentence.tokens))
        if self._task == "tags":
            return Example.from_dict(doc, {"tags": list(sentence.tags)})
        return Example.from_dict(doc, {"entities": _biluo(sentence.tags)})

    def _judge(self, dev: list[Tagged]) -> float:
        from textlds.tagging.entities import entities

        found = self.predict(dev)
        if self._task == "tags":
            return sum(a == b for s, tags in zip(dev, found, strict=True) for a, b in zip(s.tags, tags, strict=True))
        pairs = [(set(entities(s.tags)), set(entities(tags))) for s, tags in zip(dev, found, strict=True)]
        return 2 * sum(len(a & b) for a, b in pairs) / max(1, sum(len(a) + len(b) for a, b in pairs))

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        from spacy.tokens import Doc

        docs = [Doc(self._nlp.vocab, words=list(s.tokens)) for s in sentences]
        found = []
        for doc in self._nlp.pipe(docs, batch_size=256):
            if self._task == "tags":
                found.append([token.tag_ for token in doc])
            else:
                found.append([f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc])
        return found

    def raw(self, texts: Sequence[str]) -> int:
        return sum(len(doc) for doc in self._nlp.pipe(texts, batch_size=64))

    def size(self) -> int:
        return len(self._nlp.to_bytes())


_FEWEST_STEPS = 50  # of a round
_CNN = {"width": 96, "depth": 4, "embed_size": 2000, "window_size": 1, "maxout_pieces": 3, "subword_features": True}


class TransformerNetwork:
    """A small transformer's vectors under the same network."""

    def __init__(self, train: list[Tagged], dev: list[Tagged], task: Task, seed: int) -> None:
        from textlds.tagging.classifier import ChainClassifier
        from textlds.tagging.settings import TaggerSettings

        self._transformer, self._task = Transformer(), task
        labels = [_bioes(s.tags, task) for s in train]
        settings = TaggerSettings(around=0 if task == "entities" else "auto")  # as ours has it
        self._network = ChainClassifier(settings, seed=seed).fit(self._remembered([s.tokens for s in train]), labels)

    def _matrices(self, sentences: Tokens) -> list[Any]:
        import numpy as np

        vectors = self._transformer.vectors(sentences)
        return np.split(vectors, np.cumsum([len(s) for s in sentences])[:-1])

    def _remembered(self, sentences: Tokens) -> list[Any]:
        """Return the same, of labelled sentences, which are asked for many times."""
        new = [tokens for tokens in dict.fromkeys(map(tuple, sentences)) if tokens not in _SEEN]
        if new:
            _SEEN.update(zip(new, self._matrices(new), strict=True))
        return [_SEEN[tuple(tokens)] for tokens in sentences]

    def predict(self, sentences: Sequence[Tagged]) -> list[list[str]]:
        found = self._network.predict(self._remembered([s.tokens for s in sentences]))
        return [_iob2(tuple(tags.tolist()), self._task) for tags in found]

    def raw(self, texts: Sequence[str]) -> int:
        sentences = [tokens for text in texts if (tokens := _split(text))]
        return sum(map(len, self._network.predict(self._matrices(sentences))))

    def size(self) -> int:
        return sum(p.numel() * 4 for p in self._transformer._network.parameters())


def peers(
    model: TextLDS | Path, *, floret: Path | None = None, counts: Path | None = None, task: Task
) -> dict[str, Callable[..., Peer]]:
    """Return all taggers by name, each a function of train, dev, task and seed."""
    found: dict[str, Callable[..., Peer]] = {
        "textlds": lambda *args: Textlds(model, *args),
        "spaCy blank": SpaCy,
        "transformer + our network": TransformerNetwork,
        "textlds, words only": lambda *args: Textlds(model, *args, recipe=None),
        "NLTK perceptron": Perceptron,
        "CRFsuite": CRF,
        "UDPipe 1": UDPipe,
    }
    if counts is not None:
        found["textlds, words and Brown clusters"] = lambda *args: Textlds(model, *args, recipe=None, counts=counts)
        found["textlds with Brown clusters"] = lambda *args: Textlds(model, *args, counts=counts)
    if floret is not None:
        found["spaCy + floret"] = lambda *args: SpaCy(*args, vectors=floret)
    return found


def train_floret(text: Path, output: Path) -> Path:
    """Train floret vectors on raw text, cut into tokens by our tokeniser; return spaCy's table."""
    import floret

    tokenised = output.with_suffix(".tokens")
    with text.open(encoding="utf-8") as lines, tokenised.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(" ".join(_split(line)) + "\n")
    model = floret.train_unsupervised(
        str(tokenised), model="cbow", mode="floret", hashCount=2, bucket=50_000, minn=5, maxn=5, minCount=10, dim=200,
        ws=2, epoch=1, thread=1,
    )  # fmt: skip
    tokenised.unlink()
    model.save_floret_vectors(str(output))
    return output


def _split(text: str) -> list[str]:
    from textlds.corpus.encoding import Encoder
    from textlds.corpus.settings import TextSettings
    from textlds.corpus.vocabulary import Vocabulary

    global _ENCODER
    if _ENCODER is None:
        _ENCODER = Encoder(Vocabulary.from_words(["the"], TextSettings()))
    return list(_ENCODER.encode(text).tokens)


_ENCODER: Any = None
_SEEN: dict[tuple[str, ...], Any] = {}  # vectors of the transformer


def _iob2(tags: Sequence[str], task: Task) -> list[str]:
    return list(convert_tags(tags, "iob2")) if task == "entities" else list(tags)


def _bioes(tags: Sequence[str], task: Task) -> list[str]:
    return list(convert_tags(tags, "bioes")) if task == "entities" else list(tags)


def _biluo(tags: Sequence[str]) -> list[str]:
    names = {"S": "U", "E": "L"}
    return [names.get(tag[0], tag[0]) + tag[1:] for tag in convert_tags(tags, "bioes")]
