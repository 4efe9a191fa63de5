"""Tagger: train on labels, tag texts, save and load."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.reading.tagged import Tagged
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError, FormatError, NotFiniteError
from textlds.linalg.threads import check_threads
from textlds.model.loading import ModelLike
from textlds.model.textlds import TextLDS
from textlds.progress import ProgressOption
from textlds.tagging.entities import convert_tags
from textlds.tagging.files import ModelSource, read_tagger, write_tagger
from textlds.tagging.inputs import Design, InputMaker
from textlds.tagging.labels import Labelled, Task, documents_of
from textlds.tagging.network import Floats, Weights, best_tags, probabilities, scores
from textlds.tagging.results import NO_TAG, Places, TaggedSentence
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.texts import Batch, Text
from textlds.tagging.training import Keeper
from textlds.vectors.recipes import RecipeLike


@dataclass(frozen=True, eq=False)
class Tagger:
    """Tags the tokens of texts, or finds entities in them. Get one from :meth:`train` or :meth:`load`.

    Attributes:
        source: The model whose vectors it reads; it is opened when it is first needed.
        task: ``"tags"`` or ``"entities"``.
        names: The tags, in the order of the network's classes; of entities, in BIOES.
        design: What the network sees of a token.
        weights: Of the network.
        temperature: What scores are divided by, so that confidences are right on the development set.
        known: Words of the training sentences.
        report: How it was trained: settings, sizes, what it reached on the development set.
    """

    source: ModelSource
    task: Task
    names: tuple[str, ...]
    design: Design
    weights: Weights
    temperature: float
    known: frozenset[str]
    report: dict[str, Any] = field(default_factory=dict)
    _makers: dict[int, InputMaker] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Tagger(task={self.task!r}, tags={len(self.names)}, recipe={str(self.design.recipe)!r})"

    @classmethod
    def train(
        cls,
        model: ModelLike,
        sentences: Labelled,
        *,
        dev: Labelled | None = None,
        task: Task = "tags",
        recipe: RecipeLike | None = "auto",
        gazetteers: Mapping[str, Iterable[Sequence[str]]] | None = None,
        counts: LagCounts | str | os.PathLike[str] | None = None,
        settings: TaggerSettings | None = None,
        search: str = "none",
        seed: int = 0,
        threads: int | None = None,
        progress: ProgressOption = False,
        keeper: Keeper | None = None,
    ) -> Tagger:
        """Train a tagger on labelled sentences.

        Args:
            model: A model or the path of its folder.
            sentences: What to learn from: ``(tokens, tags)`` pairs, what
                :func:`~textlds.corpus.reading.tagged.read_tagged` gives, or the path of a file that it reads.
            dev: Others, to choose on; without them a tenth of the sentences is set aside.
            task: ``"tags"``: a tag for each token; ``"entities"``: the tags are those of entities (IOB1, IOB2, BIOES).
            recipe: Of the vectors, see :meth:`textlds.TextLDS.embed`; ``"auto"``: by the number of labels; None: no
                vectors, a baseline.
            gazetteers: Lists of names, each a list of tokens, by what they are called.
            counts: Those that the model was fitted to, or their folder: Brown clusters of words (Brown et al. 1992) are
                made of them, and are features beside the others. Takes a minute or two.
            settings: Sizes, dropout and the like.
            search: ``"grid"`` tries several recipes, sizes and rates of dropout on dev; 10 times the time.
            seed: The same seed gives the same tagger, to the last bit.
            threads: For the vectors, all cores by default; the network is trained on one. The result is the same.
            progress: True for a progress bar, or an object that shows it.
            keeper: Where unfinished training is kept, and resumed from.
        """
        from textlds.tagging.fitting import fit_tagger

        return fit_tagger(
            model, sentences, dev, task=task, recipe=recipe, gazetteers=gazetteers or {}, counts=counts,
            settings=settings, search=search, seed=seed, threads=check_threads(threads), progress=progress,
            keeper=keeper,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, bundle: bool | None = None, force: bool = False) -> None:
        """Write the tagger to a folder, whole or not at all.

        Args:
            path: The folder.
            bundle: Whether the folder holds the model too, or names it by its path and checksum. By default it is
                named if it came from a folder.
            force: Replace a folder that is there.
        """
        write_tagger(self, path, bundle=bundle, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, model: ModelLike | None = None) -> Tagger:
        """Read a tagger from a folder.

        Args:
            path: A folder that :meth:`save` wrote.
            model: Its model, where it is not where it was; another one is refused.
        """
        return cls(**read_tagger(path, model))

    @property
    def model(self) -> TextLDS:
        """The model whose vectors it reads."""
        return self.source.model

    def tag(
        self, texts: Iterable[Text], *, min_confidence: float = 0.0, threads: int | None = None
    ) -> Iterator[TaggedSentence]:
        """Yield the sentences of texts with their tags.

        Args:
            texts: Strings, which are cut into sentences and tokens; lists of tokens, which are a sentence each; or
                lists of such lists, the sentences of a document. Any iterable will do; it is read as it goes.
            min_confidence: A tag less sure than this becomes ``"_"``; an entity is left out.
            threads: How many; all cores by default. The result is the same.
        """
        if not 0 <= min_confidence <= 1:
            raise ArgumentError(f"min_confidence={min_confidence} must be from 0 to 1.")
        maker = self._maker(check_threads(threads))

        def generate() -> Iterator[TaggedSentence]:
            before = 0
            for batch in maker.reader.batches(texts):
                yield from self._sentences(batch, *self._tagged(batch, maker), before, min_confidence)
                before += len(batch.encoded)

        return generate()

    def predict(
        self, sentences: Sequence[Tagged] | Sequence[Sequence[str]], *, threads: int | None = None
    ) -> list[list[str]]:
        """Return the tags of sentences of tokens, entities in IOB2; of :class:`Tagged` ones, document by document."""
        given = [s if isinstance(s, Tagged) else Tagged(tuple(s), ("",) * len(s)) for s in sentences]
        texts: list[Any] = documents_of(given)
        found = iter(self.tag(texts, threads=threads))
        return [next(found).tags if sentence.tokens else [] for sentence in given]

    def _maker(self, threads: int) -> InputMaker:
        if threads not in self._makers:
            maker = InputMaker(self.model, self.design, threads=threads)
            if maker.width != len(self.weights.vectors):
                raise FormatError(
                    f"this tagger was trained on vectors of {len(self.weights.vectors)} numbers, and its model gives "
                    f"{maker.width}. Train it again."
                )
            self._makers[threads] = maker
        return self._makers[threads]

    def _tagged(self, batch: Batch, maker: InputMaker) -> tuple[NDArray[np.int32], Floats]:
        """Return the best tag of every token and its probability."""
        inputs = maker.inputs(batch)
        scored = scores(self.weights, inputs)
        best = best_tags(self.weights, scored, inputs.starts)
        shares = probabilities(self.weights, scored, inputs.starts, self.temperature)
        if not np.isfinite(shares).all():
            raise NotFiniteError("the scores of this tagger are not finite: its weights are too large. Train it again.")
        return best, shares[np.arange(len(best)), best].astype(np.float32)

    def _sentences(
        self, batch: Batch, best: NDArray[np.int32], sure: Floats, before: int, least: float
    ) -> Iterator[TaggedSentence]:
        tags = np.array(self.names, object)[best].tolist()
        confidences = sure.tolist()
        starts, offsets = batch.starts.tolist(), batch.offsets.tolist()
        sentence = 0
        for number, (given, last) in enumerate(zip(batch.tokens, batch.documents[1:].tolist(), strict=True)):
            tokens = list(given)
            text = batch.texts[number]
            places = Places(text, tokens)
            for sentence in range(sentence, last):  # noqa: B020  # continues where the previous text ended
                a, b = starts[sentence], starts[sentence + 1]
                first = a - offsets[number]
                if text is None:  # a sentence that was given as tokens is a string of its own
                    places = Places(None, tokens[first : first + b - a], first)
                own, of_tags = confidences[a:b], tags[a:b]
                if self.task == "entities":
                    of_tags = _kept(of_tags, own, least)
                elif least > 0:
                    of_tags = [tag if value >= least else NO_TAG for tag, value in zip(of_tags, own, strict=True)]
                yield TaggedSentence(tokens[first : first + b - a], of_tags, own, before + number, first, places)
            sentence = last


def _kept(tags: list[str], sure: list[float], least: float) -> list[str]:
    """Return entity tags in IOB2, without the entities that are less sure than asked for."""
    if not any(tag != "O" for tag in tags):
        return tags
    found = list(convert_tags(tags, "iob2"))
    if least > 0:
        from textlds.tagging.entities import entities

        for entity in entities(found):
            if min(sure[entity.start : entity.end]) < least:
                found[entity.start : entity.end] = ["O"] * (entity.end - entity.start)
    return found
