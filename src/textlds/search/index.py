"""An index of occurrences, and the question it answers: where is this word used in this sense?"""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Encoder, Text, TokenSequence
from textlds.corpus.reading.opening import Sources, open_sources
from textlds.corpus.settings import IndexSettings
from textlds.corpus.tokens.tokenizer import as_callable
from textlds.errors import REMEDY, ArgumentError, FormatError, UnknownWordError, check_choice, check_finite
from textlds.linalg.sphere import on_sphere
from textlds.linalg.threads import check_threads
from textlds.model.exploring import close_words, mean_at
from textlds.model.loading import ModelLike, open_model
from textlds.model.textlds import TextLDS
from textlds.progress import ProgressOption, resolve
from textlds.search.building import MODEL, OCCURRENCES, TEXTS, VECTORS, WORDS, build, job_of, model_sum
from textlds.search.sampling import Plan, Words, word_key
from textlds.search.senses import Cluster, clusters
from textlds.search.texts import Content, TextReader, expect
from textlds.search.vectors import VectorIndex, require_faiss
from textlds.storage.arrays import read_arrays
from textlds.storage.folders import read_config, read_json
from textlds.storage.work import Work
from textlds.vectors.recipes import RecipeLike

Vectors = NDArray[np.float32]
Match = Literal["same", "any"]

_ROWS = 1 << 15  # vectors decoded at a time
_FEW = 10  # occurrences at which their mean counts half
_GROUPED = 2000  # occurrences of a word, at most, that its senses are found from
_SPELLED = 500  # occurrences of a word, at most, that its most frequent spelling is found from
_NEIGHBOURS = 8  # words that tell what a sense is about
_MORE = 5  # times as many are looked at as are asked for: a sentence that repeats is shown once


@dataclasses.dataclass(frozen=True)
class Occurrence:
    """A word where it occurs.

    Attributes:
        word: As it is written there.
        score: How alike the use is, at most 1.
        sentence: The sentence around it.
        start: Where the word begins in the sentence, in characters.
        file: The file, as it was named when the index was made.
        line: The line in the file, or the record, from 1.
    """

    word: str
    score: float
    sentence: str
    start: int
    file: str
    line: int

    def marked(self, left: str = "[", right: str = "]", *, reach: int | None = None) -> str:
        """Return the sentence with the word between two marks; no more than ``reach`` characters on either side."""
        before, after = self.sentence[: self.start], self.sentence[self.start + len(self.word) :]
        if reach is not None:
            before = before if len(before) <= reach else "…" + before[len(before) - reach :]
            after = after if len(after) <= reach else after[:reach] + "…"
        return f"{before}{left}{self.word}{right}{after}"


@dataclasses.dataclass(frozen=True)
class Sense:
    """A group of occurrences of a word that are used alike.

    Attributes:
        share: Of the occurrences that were grouped.
        size: How many.
        words: Known words about what sets the group apart, nearest first; none for recipes other than ``"meaning"``.
        examples: The most typical occurrences; their scores are cosines with the centre of the group.
    """

    share: float
    size: int
    words: list[str]
    examples: list[Occurrence]


class OccurrenceIndex:
    """Occurrences of words in a corpus, with the vectors of their senses.

    Make one with :meth:`build`, open one with :meth:`load`.

    Attributes:
        path: Its folder.
        model: The model that its vectors are from, a copy of which is in the folder.
        words: The words it knows, without capitals, sorted.
        sources: The files it was made of, as they were named then.
    """

    def __init__(self, path: Path, config: dict[str, Any], model: TextLDS) -> None:
        self.path, self.model = path, model
        self.sources, self.words = _names(config.get("sources"), path), _names(read_json(path / WORDS), path / WORDS)
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._arrays = read_arrays(path / OCCURRENCES)
        blocks = read_arrays(path / TEXTS).get("blocks", np.empty(0))
        self._texts = TextReader(self._arrays, blocks, path)
        plan = config.get("plan")
        self._recipe = model.recipe(plan.get("recipe", "meaning") if isinstance(plan, dict) else "meaning")
        settings = dataclasses.replace(model.vocabulary.settings, boundaries="sentence", boundary_token=None)
        self._sentences = Encoder(
            dataclasses.replace(model.vocabulary, settings=settings), tokenizer=model.encoder.tokenizer
        )
        self._check(path / OCCURRENCES)
        self._vectors = VectorIndex(path / VECTORS, len(self), model.dimensions(self._recipe))

    def _check(self, file: Path) -> None:
        """Refuse arrays that do not belong together. O(occurrences)."""
        expect(file, self._arrays, "starts", np.int64, len(self.words) + 1, rising=True)
        expect(file, self._arrays, "text", np.int32, len(self), below=len(self._texts))
        expect(file, self._arrays, "position", np.int32, len(self), below=np.iinfo(np.int32).max)
        expect(file, self._arrays, "text_file", np.int32, len(self._texts), below=len(self.sources))
        if len(self._numbers) != len(self.words):
            raise FormatError(f"{file.parent / WORDS} has a word twice. {REMEDY}")

    @classmethod
    def build(
        cls,
        model: ModelLike,
        corpus: Sources,
        output: str | os.PathLike[str],
        *,
        words: Words = "all",
        min_count: int | None = None,
        per_word: int | Literal["all"] | None = None,
        recipe: RecipeLike = "meaning",
        settings: IndexSettings | None = None,
        threads: int | None = None,
        resume: bool = False,
        force: bool = False,
        progress: ProgressOption = False,
    ) -> OccurrenceIndex:
        """Index the occurrences of words in a corpus; the folder is written whole or not at all.

        Args:
            model: A model or the path of its folder.
            corpus: Files, folders, patterns, URLs, a data set, or an iterator of texts. It is read once. One text a
                line: the other words of a line are the context of a word.
            output: The folder to be made.
            words: ``"all"`` with a letter; ``"content"``: these without the 100 most frequent of the model (less for a
                vocabulary below 1000 words); or a list of words.
            min_count: Words that occur less often are left out (1).
            per_word: How many occurrences of a word are kept, drawn at random (1000), or ``"all"``.
            recipe: Of the vectors: ``"meaning"`` tells senses by what a passage is about, ``"context"`` by how the word
                is used there; or another. See :meth:`TextLDS.embed`.
            settings: Other settings, such as ``IndexSettings(seed=1, text_column="body")``.
            threads: How many; all cores by default. The number does not change what is kept.
            resume: Continue interrupted work, which is kept in ``<output>.work``.
            force: Overwrite an index that is there, and throw away unfinished work unless it is resumed.
            progress: True for a progress bar, or an object that shows it.
        """
        require_faiss()
        words = words if isinstance(words, str) else list(words)
        opened, count = open_model(model), check_threads(threads)
        chosen = IndexSettings.joined(settings, "settings", min_count=min_count, per_word=per_word)
        plan = Plan(words, chosen.min_count, chosen.kept, chosen.seed, str(opened.recipe(recipe)))
        opened([], recipe=plan.recipe)  # what the model lacks is found before anything is read
        sources = open_sources(corpus, chosen)
        job = job_of(opened, sources, chosen, plan)
        with Work(output, job, resume=resume, force=force, again=job["sources"] is not None) as work:
            if not work.finished:
                with work.publishing(work.output) as folder:
                    build(folder, opened, sources, plan, work.parts, threads=count, progress=resolve(progress))
        return cls.load(output, tokenizer=as_callable(opened.encoder.tokenizer))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None
    ) -> OccurrenceIndex:
        """Open an index. Vectors and texts stay on disk until they are needed.

        Args:
            path: A folder that :meth:`build` or ``textlds index`` wrote.
            tokenizer: The callable the model's corpus was tokenised with, if it was not a built-in one.
        """
        require_faiss()
        folder = Path(path)
        config = read_config(folder, kind="index")
        model = TextLDS.load(folder / MODEL, tokenizer=tokenizer)
        if model_sum(folder) != config.get("model_sha256"):
            raise FormatError(
                f"the model in {folder / MODEL} is not the one that the index was made with, and vectors of two models "
                f"do not compare. Put the model back, or build the index again."
            )
        return cls(folder, config, model)

    def check_texts(self) -> None:
        """Read every text, and raise FormatError if one is damaged."""
        for number in range(len(self._texts)):
            self._texts.text(number)

    def __len__(self) -> int:
        return int(self._arrays["starts"][-1])

    def __repr__(self) -> str:
        return f"OccurrenceIndex({len(self):,} occurrences of {len(self.words):,} words)"

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word_key(word, self.model.vocabulary.settings) in self._numbers

    def count(self, word: str) -> int:
        """Return how many occurrences of a word the index holds."""
        if word not in self:
            return 0
        start, stop = self._range(word)
        return stop - start

    def find(self, word: str, context: Text, *, n: int = 10, match: Match = "same") -> list[Occurrence]:
        """Return the occurrences that are used most like a word in a context, best first.

        Args:
            word: A word of the context; if it occurs there several times, the mean of these is asked for.
            context: A text, the longer the better, or a list of tokens.
            n: How many; a sentence that is in the corpus several times is shown once.
            match: ``"same"``: occurrences of the same word, compared exactly, by what sets them apart from its mean;
                ``"any"``: of whatever word.
        """
        if n < 1:
            raise ArgumentError(f"n={n} must be at least 1.")
        check_choice("match", match, get_args(Match))
        vector = self._asked(word, context)
        if match == "same":
            self._require(
                word, "Ask for any word that is used so (match='any', --match any), or build an index with it."
            )
            rows, scores = self._of_word(word, vector)
        else:
            rows, scores = self._vectors.nearest(vector / max(float(np.linalg.norm(vector)), 1e-12), _MORE * n)
            scores = scores / np.float32(np.sqrt(len(self._recipe.parts)))  # the length of what is stored
        return list(self._different(rows, scores, n))

    def senses(self, word: str, *, n: int | None = None, examples: int = 3, seed: int = 0) -> list[Sense]:
        """Return the senses of a word over the corpus: groups of occurrences alike, the largest first.

        Args:
            word: A word of the index.
            n: How many senses; by default as many, up to six, as the occurrences fall into clearly.
            examples: How many occurrences to show of each, the most typical first.
            seed: Of the start of the grouping.
        """
        if n is not None and n < 1:
            raise ArgumentError(f"n={n} must be at least 1, or None to choose.")
        if examples < 0:
            raise ArgumentError(f"examples={examples} must be 0 or more.")
        self._require(word, "Build an index with it.")
        start, stop = self._range(word)
        drawn = np.random.default_rng(seed).permutation(stop - start)[:_GROUPED]
        rows = np.sort(drawn) + start
        vectors = np.stack([self._vectors.rows(int(row), int(row) + 1)[0] for row in rows])
        if self._recipe.parts == ("sense",):
            vectors = self._topics(word, vectors)
        spelled = self._spelling(start, stop)
        return [self._sense(cluster, rows, spelled, examples) for cluster in clusters(vectors, n, seed=seed)]

    def _spelling(self, start: int, stop: int) -> str:
        """Return the most frequent spelling of a word in the index, whatever capitals were asked for."""
        rows = range(start, stop, -(-(stop - start) // _SPELLED))
        spellings = collections.Counter(self._occurrence(row, 0.0).word for row in rows)
        return min(spellings, key=lambda spelling: (-spellings[spelling], spelling))

    def _topics(self, word: str, vectors: Vectors) -> Vectors:
        """Return senses of a word, (m, d), without the directions of its spellings: bank and Bank are one word."""
        key, settings = word_key(word, self.model.vocabulary.settings), self.model.vocabulary.settings
        spellings = [row for row, known in enumerate(self.model.words) if word_key(known, settings) == key]
        basis = np.linalg.svd(self.model.words.vectors[spellings].T, full_matrices=False)[0]
        basis = basis[:, : vectors.shape[1] // 2]  # of very small vectors something must be left
        left: Vectors = vectors - (vectors @ basis) @ basis.T
        return left

    def _sense(self, cluster: Cluster, rows: NDArray[np.int64], word: str, examples: int) -> Sense:
        typical = rows[cluster.members]
        shown = list(self._different(typical, cluster.scores, examples)) if examples else []
        words: list[tuple[str, float]] = []
        if self._recipe.parts == ("sense",):
            own = [self.model.words.row(word)] if word in self.model.words else []
            # the word and the topic of the group alike, as for a word in a context
            vector = on_sphere(cluster.centre[None])[0] + self.model.words.vectors[own].sum(axis=0)
            words = self.model.words.nearest(vector, n=_NEIGHBOURS, without=own)
        return Sense(len(typical) / len(rows), len(typical), [name for name, _ in words], shown)

    def _asked(self, word: str, context: Text) -> Vectors:
        """Return the vector of a word in a context, (d,)."""
        key = word_key(word, self.model.vocabulary.settings)
        sense = self.model(context, recipe=self._recipe)
        places = [i for i, token in enumerate(sense.tokens) if word_key(token, self.model.vocabulary.settings) == key]
        return mean_at(sense, places, word)

    def _require(self, word: str, remedy: str) -> None:
        if word in self:
            return
        counts = np.diff(self._arrays["starts"])
        frequent = (self.words[number] for number in np.argsort(-counts, kind="stable").tolist())
        close = close_words(word, frequent)
        hint = f" Close to it: {', '.join(close)}." if close else ""
        raise UnknownWordError(
            f"the word {word!r} is not among the {len(self.words):,} words of the index.{hint} {remedy}"
        )

    def _range(self, word: str) -> tuple[int, int]:
        number = self._numbers[word_key(word, self.model.vocabulary.settings)]
        start, stop = self._arrays["starts"][number : number + 2].tolist()
        return start, stop

    def _of_word(self, word: str, vector: Vectors) -> tuple[NDArray[np.int64], Vectors]:
        """Return all occurrences of a word, best first, with their scores. O(occurrences · h).

        What all uses of a word have in common, above all the word, says nothing about its senses; so their mean is
        taken off, the more of it the more occurrences it is the mean of, before cosines are taken.
        """
        start, stop = self._range(word)
        bounds = [(a, min(a + _ROWS, stop)) for a in range(start, stop, _ROWS)]
        sums = [self._vectors.rows(a, b).sum(axis=0, dtype=np.float64) for a, b in bounds]
        mean = (np.sum(sums, axis=0) / (stop - start + _FEW)).astype(np.float32)
        scores = np.concatenate([_cosines(self._vectors.rows(a, b) - mean, vector - mean) for a, b in bounds])
        check_finite(scores, "scores of the index")
        order = np.argsort(-scores, kind="stable")
        return start + order, scores[order]

    def _different(self, rows: NDArray[np.int64], scores: Vectors, n: int) -> Iterator[Occurrence]:
        """Yield the first n occurrences in different sentences."""
        seen: set[tuple[str, int]] = set()
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
            found = self._occurrence(row, score)
            if (found.sentence, found.start) not in seen:
                seen.add((found.sentence, found.start))
                yield found
            if len(seen) == n:
                return

    def _occurrence(self, row: int, score: float) -> Occurrence:
        number, position = int(self._arrays["text"][row]), int(self._arrays["position"][row])
        content = self._texts.text(number)
        try:
            sentence, start, word = _sentence(self._sentences, content, position)
        except (IndexError, ValueError) as error:
            raise FormatError(
                f"{self.path / OCCURRENCES}: text {number} has no token {position} to be an occurrence. {REMEDY}"
            ) from error
        place = self._texts.place(number)
        return Occurrence(word, float(score), sentence, start, self.sources[place.file], place.line)


def _names(value: Any, place: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise FormatError(f"{place} does not hold a list of names. {REMEDY}")
    return value


def _cosines(vectors: Vectors, vector: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines: Vectors = (vectors @ vector) / np.maximum(lengths, np.float32(1e-12))
    return cosines


def _sentence(encoder: Encoder, content: Content, position: int) -> tuple[str, int, str]:
    """Return the sentence of a text that a token occurs in, where it begins there, and the token."""
    text = encoder.encode(content)
    starts = text.starts.tolist()
    if position >= len(text.tokens):
        raise IndexError(position)
    first = max(start for start in starts if start <= position)
    last = min([start for start in starts if start > position], default=len(text.tokens))
    if isinstance(content, str) and encoder.tokenizer is None and isinstance(text.tokens, TokenSequence):
        data, spans = content.encode("utf-8", "replace"), text.tokens.spans
        begin, end = int(spans[first, 0]), int(spans[last - 1, 1])
        before = data[begin : int(spans[position, 0])].decode("utf-8")
        return data[begin:end].decode("utf-8"), len(before), text.tokens[position]
    # a tokeniser of the user's does not say where its tokens are
    tokens = list(text.tokens[first:last])
    before = "".join(token + " " for token in tokens[: position - first])
    return " ".join(tokens), len(before), tokens[position - first]
