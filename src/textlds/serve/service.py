"""The questions a server answers, put to a model, a tagger and an index. Nothing else in this room calls them."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from textlds._version import __version__
from textlds.api import load
from textlds.corpus.encoding import Text
from textlds.errors import ArgumentError, CorpusNotFoundError
from textlds.inference.engine import Engine
from textlds.linalg.types import Array
from textlds.model.directions import Directions, transition_directions
from textlds.model.exploring import common_rows
from textlds.model.installed import find_model
from textlds.model.packed import PackedModel
from textlds.model.textlds import TextLDS
from textlds.search.index import Occurrence, OccurrenceIndex
from textlds.serve.layout import MOST, kept_map, word_map
from textlds.serve.overview import learning, passages, passing
from textlds.serve.reading import LanguageReader, Reader, spans
from textlds.serve.requests import RequestError, too_large
from textlds.tagging.tagger import Tagger
from textlds.vectors.meaning import MeaningSpace
from textlds.vectors.space import EmbeddingSpace

_USUAL = 20  # occurrences below which a word's neighbours say little
_AXES, _WORDS = 2000, 12  # texts, and words in each, that say which directions a shorter vector keeps


@dataclasses.dataclass(frozen=True, eq=False)
class Service:
    """A model with what goes with it.

    Attributes:
        model: The model.
        name: What clients see as its name.
        index: For search in context, or None.
        tagger: For tags, or None.
        threads: For the engine; None for all cores.
        folder: Where the model was read from.
        samples: Texts among which the page looks for examples.
    """

    model: TextLDS
    name: str
    index: OccurrenceIndex | None = None
    tagger: Tagger | None = None
    threads: int | None = None
    folder: Path | None = None
    samples: Sequence[str] = ()

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str],
        *,
        index: str | os.PathLike[str] | None = None,
        tagger: str | os.PathLike[str] | None = None,
        samples: Sequence[str] = (),
        threads: int | None = None,
    ) -> Service:
        """Read a model, and an index made with it, from their folders; make the tables that inference needs."""
        opened = load(model)
        found = None if index is None else OccurrenceIndex.load(index)
        if found is not None and not same_model(found.model, opened):
            raise ArgumentError(
                f"the index {index} was made with another model than {model}, and their vectors do not compare. "
                f"Serve the model in {Path(index or '') / 'model'}, or build the index again."
            )
        own = None if tagger is None else Tagger.load(tagger, model=model)  # which refuses another model
        if own is not None:
            own.source.hold(opened)
        service = cls(opened, Path(model).resolve().name, found, own, threads, find_model(model), samples)
        service.vectors(["Ready ."])
        if own is not None:
            service.tag(["Ready ."])
        return service

    def count(self, texts: Sequence[Text]) -> list[int]:
        """Return how many tokens texts have."""
        return [len(text.tokens) for text in self.model.encoder.encode_many(texts)]

    def check(self, texts: Sequence[Text], limit: int) -> None:
        """Refuse texts of more than ``limit`` tokens together. Characters are counted first, which is cheap."""
        if sum(map(len, texts)) <= limit:  # a token has a character at least
            return
        tokens = sum(self.count(texts))
        if tokens > limit:
            raise too_large(f"the texts have {tokens:,} tokens; the limit is {limit:,} per request. Send less text.")

    def vectors(self, texts: Sequence[Text]) -> list[Array]:
        """Return the vectors of all tokens of each text, (n, d) float32."""
        return [text.vectors for text in self.model.embed(texts, threads=self.threads)]

    def pooled(self, texts: Sequence[Text]) -> list[tuple[Array, int]]:
        """Return one vector per text, and how many tokens it has."""
        return list(zip(self.model.encode(texts, threads=self.threads), self.count(texts), strict=True))

    @cached_property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.model.encode(["a"], threads=1).shape[1])

    @cached_property
    def axes(self) -> Array:
        """Principal axes of pooled vectors, (d, d): the first ones are kept by shorter vectors.

        Of texts of words drawn by their frequency, for want of a corpus; the same for the same model.
        """
        vocabulary, rng = self.model.vocabulary, np.random.default_rng(0)
        shares = self.model.frequencies[: vocabulary.n_types]
        rows = rng.choice(len(shares), (_AXES, _WORDS), p=shares / shares.sum())
        table = self.model.encode([[vocabulary.words[i] for i in row] for row in rows], threads=self.threads)
        padded = np.vstack([table, 1e-6 * np.eye(table.shape[1], dtype=np.float32)])
        axes: Array = np.linalg.svd(padded, full_matrices=False)[2].astype(np.float32)
        return axes

    def shortened(self, vectors: Array, dimensions: int) -> Array:
        """Return vectors of fewer dimensions, by their leading principal axes."""
        if dimensions >= vectors.shape[1]:
            return vectors
        short: Array = vectors @ self.axes[:dimensions].T
        return short

    def tokens(self, texts: Sequence[Text]) -> list[list[dict[str, Any]]]:
        """Return the tokens of texts: their rows, what they are, and where they occur, in characters."""
        result = []
        for content, text in zip(texts, self.model.encoder.encode_many(texts), strict=True):
            rows, words = text.ids[text.positions].tolist(), list(text.tokens)
            # an encoder that is given several texts at once counts bytes from the first
            places: Sequence[tuple[int | None, int | None]] = [(None, None)] * len(rows)
            if isinstance(content, str):
                places = spans(content, self.model.encoder.encode(content)) or places
            result.append(
                [
                    {"id": row, "text": word, "special": False, "start": start, "stop": stop}
                    for row, word, (start, stop) in zip(rows, words, places, strict=True)
                ]
            )
        return result

    def similar(self, word: str, context: str | None, n: int) -> list[dict[str, Any]]:
        """Return the words most similar to a word, by itself or in a context."""
        found = self.model.similar(word, context=context, n=n)
        return [{"word": other, "cosine": cosine} for other, cosine in found]

    def surprisal(self, texts: Sequence[Text]) -> list[dict[str, Any]]:
        """Return the surprisal of every token of texts, in bits."""
        return [
            {
                "tokens": text.tokens,
                "bits": [round(bit, 4) for bit in text.bits.tolist()],
                "unknown": text.unknown.tolist(),
                "perplexity": text.perplexity.perplexity if len(text) else None,
            }
            for text in self.model.surprisal(texts, threads=self.threads)
        ]

    def next_word(self, context: str, n: int) -> dict[str, Any]:
        """Return the most probable words after a context."""
        distribution = self.model.next_word(context)
        words = [{"word": word, "probability": value} for word, value in distribution.top(n)]
        return {"words": words, "entropy": distribution.entropy}

    def tag(self, texts: Sequence[Text]) -> list[dict[str, Any]]:
        """Return the tags of the tokens of texts, and the entities if the tagger finds them, places in characters."""
        if self.tagger is None:
            raise missing("tagger", "--tagger TAGGER")
        found: list[dict[str, Any]] = [
            {"tokens": [], "tags": [], "confidences": [], "spans": [], "entities": []} for _ in texts
        ]
        for sentence in self.tagger.tag(texts, threads=self.threads):
            text = found[sentence.text]
            text["entities"] += [
                {
                    "text": e.text,
                    "kind": e.kind,
                    "start": e.start_char,
                    "stop": e.end_char,
                    "confidence": round(e.confidence, 4),
                }
                for e in sentence.entities
            ]
            text["tokens"] += sentence.tokens
            text["tags"] += sentence.tags
            text["confidences"] += [round(value, 4) for value in sentence.confidences]
            text["spans"] += sentence.spans
        return found

    def searched(self) -> OccurrenceIndex:
        """Return the index, which must be there."""
        if self.index is None:
            raise missing("index", "--index INDEX")
        return self.index

    @cached_property
    def _folder_of_texts(self) -> str:
        """The folder of all files of the index, which clients need not know; they are paths or URLs."""
        folders = zip(*(source.split("/")[:-1] for source in self.searched().sources), strict=False)
        shared = [level[0] for level in itertools.takewhile(lambda level: len(set(level)) == 1, folders)]
        return "/".join([*shared, ""]) if shared else ""

    def _occurrences(self, found: Sequence[Occurrence]) -> list[dict[str, Any]]:
        shown = (dataclasses.replace(one, file=one.file.removeprefix(self._folder_of_texts)) for one in found)
        return [dataclasses.asdict(one) for one in shown]

    def senses(self, word: str, n: int | None) -> list[dict[str, Any]]:
        """Return the senses of a word: groups of its occurrences; None for as many as there are clearly."""
        found = self.searched().senses(word, n=n)
        return [{**dataclasses.asdict(sense), "examples": self._occurrences(sense.examples)} for sense in found]

    def find(self, word: str, context: str, n: int, match: str) -> list[dict[str, Any]]:
        """Return the occurrences of a word that are used as it is in a context."""
        return self._occurrences(self.searched().find(word, context, n=n, match="any" if match == "any" else "same"))

    def info(self) -> dict[str, Any]:
        """Return what is served."""
        model = self.model
        return {
            "model_id": self.name,
            "model_dtype": "float32",
            "model_type": {"embedding": {"pooling": "mean"}},
            "version": __version__,
            "dimensions": self.dimensions,
            "state_size": model.state_size,
            "vocabulary_size": model.vocabulary.n_types,
            "trained_tokens": model.history.settings.get("tokens"),
            "language_model": model.predicts,
            "tagger": self.tagger is not None,
            "index": None if self.index is None else {"occurrences": len(self.index), "words": len(self.index.words)},
        }

    @cached_property
    def reader(self) -> Reader:
        """What reads texts for the page."""
        return model_reader(self.model)

    def about(self) -> dict[str, Any]:
        """Return what the page needs to know first."""
        model = self.model
        known = isinstance(model, PackedModel) or model.language is not None  # without a readout they are guesses
        return {
            **self.info(), "name": self.name, "tags": self.tagger is not None, "search": self.index is not None,
            "calibrated": model.predicts and known,
        }  # fmt: skip

    def read(self, text: str) -> dict[str, Any]:
        """Return a text as the page shows it, with tags if there is a tagger."""
        result = self.reader.read(text)
        if self.tagger is not None:
            (tagged,) = self.tag([text])
            for token, tag in zip(result["tokens"], tagged["tags"], strict=True):
                token["tag"] = tag if tag != "O" else None
        return result

    @cached_property
    def found_transitions(self) -> Directions | None:
        """The strongest transitions of the state; None for a packed model that was made without them."""
        return self.model.directions if isinstance(self.model, PackedModel) else transition_directions(self.model)

    @cached_property
    def _passages(self) -> list[list[dict[str, Any]]]:
        found = self.found_transitions
        return [] if found is None else passages(self.reader, found, self.samples)

    def transitions(self, text: str) -> list[dict[str, Any]]:
        """Return the strongest transitions, with examples, and where a text goes through them."""
        found = self.found_transitions
        if found is None:
            return []
        own = passing(found, self.reader.states(text).smooth) if text else np.zeros((0, len(found.pairs)))
        return [
            {**dataclasses.asdict(pair), "examples": examples, "own": strongest(scores)}
            for pair, examples, scores in zip(found.pairs, self._passages, own.T, strict=True)
        ]

    @cached_property
    def learning(self) -> dict[str, Any]:
        """How the model was learnt."""
        return learning(self.model)

    @cached_property
    def map(self) -> dict[str, Any]:
        """The map of words; the first time, it takes a while."""
        words = self.reader.table[: min(MOST, self.model.vocabulary.n_types)]
        made = word_map(words) if self.folder is None else kept_map(self.folder, words)
        return {
            "words": self.model.vocabulary.words[: len(words)],
            "at": np.round(made.at.astype(np.float64), 4).reshape(-1).tolist(),
            "group": made.group.tolist(),
        }


def strongest(scores: Array, n: int = 5) -> list[dict[str, float]]:
    """Return the places of the n largest positive scores."""
    order = np.argsort(-scores, kind="stable")[:n].tolist()
    return [{"at": place, "score": float(scores[place])} for place in order if scores[place] > 0]


def model_reader(model: TextLDS) -> Reader:
    """Return what reads texts for the page, of a model."""
    space = model.spaces.space("float32", model.recipe("context").weighting)
    language = LanguageReader(*model.language_filter()) if model.predicts else None
    common = np.zeros(model.vocabulary.n_types, np.bool_)
    common[common_rows(model.words.counts, model.vocabulary, None, usual=_USUAL)] = True
    return Reader(
        encoder=model.encoder, engine=Engine(space.system, space.all_gains, np.float32),
        whitener=space.whitener("state").astype(np.float64), words=space.words, speller=space.speller,
        language=language, meaning=meaning_of(space), common=common,
    )  # fmt: skip


def meaning_of(space: EmbeddingSpace) -> MeaningSpace | None:
    """Return what the words of a model are about, or None if it does not know."""
    try:
        return space.meaning
    except ArgumentError:
        return None


def same_model(one: TextLDS, other: TextLDS) -> bool:
    """Tell whether two models have the same words and give the same vectors."""
    words = [[word] for word in one.vocabulary.words[:20]]
    return one.vocabulary == other.vocabulary and bool(np.array_equal(one.encode(words), other.encode(words)))


def missing(what: str, option: str) -> RequestError:
    """Return the error of a question that needs something the server was not given."""
    return RequestError(404, "NotFound", f"this server has no {what}. Start it with {option}.")


def sample_texts(path: str | os.PathLike[str], most: int = 5000) -> list[str]:
    """Return the first texts of a file, for examples."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in itertools.islice(file, most) if line.strip()]
    except OSError as error:
        raise CorpusNotFoundError(f"cannot read the texts in {path}: {error.strerror}. Check the path.") from error
