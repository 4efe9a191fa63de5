"""The words of a model with a vector each, for people who know gensim's ``KeyedVectors``.

    model.words["bank"]                                         what the word is about, (h,), of length one
    model.words[["bank", "river"]]                              of several words, (2, h)
    model.words.similarity("bank", "money")
    model.words.most_similar(positive=["king", "woman"], negative=["man"])
    model.words.use.most_similar("bank")                        words that are used alike
    model.words.infer("blorf", contexts=["A blorf is a small horse."])

``"meaning"`` vectors lie near each other for words about the same things (doctor, hospital), ``"use"`` vectors for
words that could replace each other in a sentence (doctor, teacher). A word that is not known as it is spelled is found
by the most frequent spelling that differs in case only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import Text
from textlds.errors import ArgumentError, TextLDSError, UnknownWordError, check_choice
from textlds.inference.windows import flatten
from textlds.language.predictor import corpus_counts
from textlds.lexicon.unknown import number_unknown
from textlds.linalg.sphere import on_sphere
from textlds.linalg.types import Vector
from textlds.model.exploring import close_words, common_rows, word_in_context
from textlds.vectors.recipes import RecipeLike

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

WordKind = Literal["meaning", "use"]
WORD_KINDS: tuple[WordKind, ...] = get_args(WordKind)
Vectors = NDArray[np.float32]
WordOrVector = str | NDArray[Any]

_USUAL = 20  # occurrences below which a word's neighbours say little
_CONTEXT = 0.25  # what one context counts beside the spelling of a new word; n of them, √n times as much


def mixed_vectors(spelled: Vectors, inferred: Vectors, contexts: int) -> Vectors:
    """Return vectors of new words from those that their spelling and some contexts predict, each (n, h), length one.

    Two predictions with cosines a and b to the truth and independent errors count a / (1 − a²) to b / (1 − b²). That of
    the spelling does not change; that of contexts grows with their number.
    """
    mixed: Vectors = on_sphere(spelled + np.float32(_CONTEXT * np.sqrt(contexts)) * inferred)
    return mixed


class Words(Mapping[str, Vectors]):
    """The known words, most frequent first, with their vectors.

    Attributes:
        kind: ``"meaning"`` or ``"use"``.
    """

    def __init__(self, model: TextLDS, kind: WordKind = "meaning") -> None:
        check_choice("kind", kind, WORD_KINDS)
        self.kind, self._model, self._vocabulary = kind, model, model.vocabulary

    @cached_property
    def use(self) -> Words:
        """The same words, by how they are used."""
        return self if self.kind == "use" else Words(self._model, "use")

    @cached_property
    def vectors(self) -> Vectors:
        """The vectors of all words in their order, (n, h), of length one, read-only; zeros where nothing is known."""
        space = self._model.spaces.space("float32", "equal")
        table = space.meaning.words if self.kind == "meaning" else space.words
        view: Vectors = table[: self._vocabulary.n_types].view()
        view.flags.writeable = False
        return view

    @cached_property
    def counts(self) -> Vector:
        """How often each word occurs in the training text, (n,), from its frequency."""
        return corpus_counts(self._model.frequencies, self._model.history.settings)[0][: len(self)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.vectors, dtype) if copy or dtype not in (None, np.float32) else self.vectors

    def __repr__(self) -> str:
        return f"Words({len(self):,} words, kind={self.kind!r})"

    def __len__(self) -> int:
        return self._vocabulary.n_types

    def __iter__(self) -> Iterator[str]:
        return iter(self._vocabulary.words[: self._vocabulary.n_types])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._vocabulary.row_in_any_case(word) is not None

    # by identity: Mapping would compare arrays
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, word: str | Sequence[str]) -> Vectors:
        """Return the vector of a word, (h,), or those of a list of words, (n, h)."""
        several = isinstance(word, list | tuple | np.ndarray)
        vectors: Vectors = self.vectors[[self.row(each) for each in word] if several else self.row(word)]  # type: ignore[arg-type]  # a string if not several
        return vectors

    def row(self, word: str) -> int:
        """Return the number of a word; an error with the words it may have been meant for if it is not known."""
        row = self._vocabulary.row_in_any_case(word) if isinstance(word, str) else None
        if row is None:
            raise self._unknown(word)
        return row

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two words."""
        return float(self[first] @ self[second])

    def most_similar(
        self,
        positive: WordOrVector | Sequence[WordOrVector] = (),
        negative: WordOrVector | Sequence[WordOrVector] = (),
        *,
        n: int = 10,
        min_count: int | None = None,
        **others: object,
    ) -> list[tuple[str, float]]:
        """Return the n words nearest to a word, or to the sum of some less the sum of others, with their cosines.

        Args:
            positive: A word or a vector, (h,), or several. Words count with length one, vectors with their own.
            negative: Words or vectors that are taken off: king − man + woman.
            n: How many. None of the words given is among them.
            min_count: Leave out words that occur less often; by default 20 times, fewer in a small corpus.
            others: None; those that other libraries have get an error that names what to use instead.
        """
        _refuse(others, self.kind)
        rows: list[int] = []
        total = np.zeros(self.vectors.shape[1], np.float32)
        for sign, given in ((1, positive), (-1, negative)):
            for each in _words_or_vectors(given):
                if isinstance(each, np.ndarray):
                    if each.shape != total.shape:
                        raise ArgumentError(f"a vector has shape {each.shape}; those of words have {total.shape}.")
                    total += sign * each
                else:
                    rows.append(self.row(each))
                    total += sign * self.vectors[rows[-1]]
        if not rows and not any(len(_words_or_vectors(given)) for given in (positive, negative)):
            raise ArgumentError("no word is given; name at least one, such as most_similar('bank').")
        return self.nearest(total, n=n, min_count=min_count, without=rows)

    def nearest(
        self, vector: NDArray[Any], *, n: int = 10, min_count: int | None = None, without: Sequence[int] = ()
    ) -> list[tuple[str, float]]:
        """Return the n words nearest to a vector, (h,), with their cosines.

        Args:
            vector: Of any length.
            n: How many.
            min_count: As for :meth:`most_similar`.
            without: Rows that are left out, and with them other spellings that differ in case only.
        """
        return self.nearest_of(self.vectors, vector, n=n, min_count=min_count, without=without)

    def nearest_of(
        self, table: Vectors, vector: NDArray[Any], *, n: int, min_count: int | None, without: Sequence[int]
    ) -> list[tuple[str, float]]:
        """Return the n words whose vectors in a table, (n, d), are nearest to a vector; see :meth:`nearest`. O(n d)."""
        if n < 1 or n % 1:
            raise ArgumentError(f"n={n} must be at least 1, and an integer.")
        vector = np.asarray(vector)
        if vector.shape != table.shape[1:]:
            raise ArgumentError(f"the vector has shape {vector.shape}; those of these words have {table.shape[1:]}.")
        length = float(np.linalg.norm(vector))
        if not 0 < length < np.inf:
            raise ArgumentError(
                f"the vector has length {length:g}, so that no word is nearer to it than another. Give other words, or "
                f"another vector."
            )
        if min_count is not None and min_count < 1:
            raise ArgumentError(f"min_count={min_count} must be at least 1.")
        rows = common_rows(self.counts, self._vocabulary, min_count, usual=_USUAL)
        rows = rows[table[rows].any(axis=1)]
        cosines = table[rows] @ (vector / length).astype(np.float32)
        own = {self._vocabulary.words[row].casefold() for row in without}
        found: list[tuple[str, float]] = []
        for i in np.argsort(-cosines, kind="stable").tolist():
            word = self._vocabulary.words[rows[i]]
            if word.casefold() not in own:
                found.append((word, float(cosines[i])))
            if len(found) == n:
                break
        return found

    def infer(self, word: str, contexts: Sequence[Text]) -> Vectors:
        """Return a vector of a word that the model does not know, from texts it occurs in and from its spelling, (h,).

        Args:
            word: As it is spelled in the texts, but for its case.
            contexts: Texts, or lists of tokens; each must hold the word.
        """
        if self.kind != "meaning":
            raise ArgumentError("vectors of use are inferred by model(text) where a word occurs; infer is for meaning.")
        if isinstance(contexts, str):
            raise ArgumentError("contexts is a single string; give a list of texts, such as [text].")
        texts = _listed(contexts)
        if not isinstance(word, str) or not word:
            raise ArgumentError(f"infer needs a word, not {word!r}.")
        if not texts:
            raise ArgumentError(f"infer needs at least one text that holds the word {word!r}; contexts is empty.")
        space = self._model.spaces.space("float32", "equal").meaning
        window = self._model.encoder.encode_many(texts)
        places = []
        ids, _, offsets = flatten(window)
        for text, offset in zip(window, offsets.tolist(), strict=True):
            own = [i for i, token in enumerate(text.tokens) if token.casefold() == word.casefold()]
            if not len(text.tokens):
                raise ArgumentError(f"a context is empty; give texts that hold the word {word!r}.")
            if not own:
                whole = " The word is several tokens: give texts as lists of tokens to keep it whole."
                raise ArgumentError(
                    f"the word {word!r} is not a token of a context."
                    f"{whole if len(self._tokens(word)) > 1 else ''}"
                    f" Its tokens are: {' '.join(list(text.tokens)[:30])}"
                )
            places += [offset + int(text.positions[i]) for i in own]
        ids, unknown = number_unknown(self._vocabulary, window, ids, offsets)
        sums = space.sums(ids, unknown, offsets, ahead=True, threads=1)[places]
        sums = sums[sums.any(axis=1)]
        spelled = space.spelt([word])
        if not len(sums):
            raise ArgumentError(f"the contexts hold nothing but the word {word!r}; give texts with other words.")
        vector: Vectors = mixed_vectors(spelled, space.inferred(sums)[None], len(sums))[0]
        return vector

    def _unknown(self, word: object) -> UnknownWordError:
        known = self._vocabulary.words[: self._vocabulary.n_types]
        tokens = self._tokens(word) if isinstance(word, str) else []
        if isinstance(word, str) and not word.strip():
            remedy = "It is empty: give a word."
        elif isinstance(word, str) and len(word.split()) > 1:
            remedy = "It is several words: give one word."
        elif len(tokens) > 1:
            remedy = f"The model reads it as {len(tokens)} tokens, {' '.join(tokens)}: give one of them."
        else:
            close = close_words(word, known) if isinstance(word, str) else []
            hint = f"Close to it: {', '.join(close)}." if close else "No word of it is spelled alike."
            remedy = (
                f"{hint} Give a context (context=..., --context) to see what the model makes of it there; "
                f"words.infer(word, contexts=[...]) gives its vector."
            )
        return UnknownWordError(f"the word {word!r} is not among the {len(known):,} words of the vocabulary. {remedy}")

    def _tokens(self, word: str) -> list[str]:
        try:
            return list(self._model.encoder.encode(word).tokens)
        except TextLDSError:  # the tokeniser of the corpus is not at hand
            return [word]


def _refuse(others: Mapping[str, object], kind: WordKind) -> None:
    """Say what to use in place of arguments that most_similar does not have."""
    if "topn" in others:
        raise ArgumentError(f"most_similar has no topn: give n={others['topn']!r}.")
    if "kind" in others:
        wanted = {"use": "model.words.use", "meaning": "model.words"}.get(str(others["kind"]))
        remedy = f"{wanted}.most_similar(...)" if wanted else "model.words (meaning) or model.words.use"
        raise ArgumentError(
            f"kind={others['kind']!r} is not an argument here; these words are of {kind}. Use {remedy}."
        )
    if others:
        raise TypeError(f"most_similar() got an unexpected keyword argument {next(iter(others))!r}")


def _words_or_vectors(given: object) -> list[Any]:
    """Return words as they are and vectors as arrays, one or several."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, np.ndarray) and given.dtype.kind in "fiu":
        return list(given) if given.ndim == 2 else [given]
    return _listed(given)


def _listed(given: object) -> list[Any]:
    if not isinstance(given, Iterable):
        raise ArgumentError(f"{given!r} is neither a word or text nor a list of them.")
    return list(given)


def similar_words(
    model: TextLDS,
    word: str,
    context: Text | None,
    *,
    n: int,
    kind: WordKind,
    min_count: int | None,
    recipe: RecipeLike | None,
) -> list[tuple[str, float]]:
    """Return the words most similar to a word, by itself or in a context; see :meth:`TextLDS.similar`."""
    check_choice("kind", kind, WORD_KINDS)
    words = model.words if kind == "meaning" else model.words.use
    if context is None and recipe is not None:
        raise ArgumentError(
            f"recipe={str(recipe)!r} is that of a word in a context, and no context is given. Give one (context=..., "
            f"--context), or leave the recipe out."
        )
    if context is None:
        return words.most_similar(word, n=n, min_count=min_count)
    own = [words.row(word)] if word in words else []
    if recipe is None and kind == "meaning":
        # the word and its topic alike: a topic that only tints the word, as in the recipe, hardly moves its neighbours
        read = model(context, recipe="word_meaning+topic")
        meaning, topic = np.split(word_in_context(read, word), 2)
        vector = (words.vectors[own[0]] if own else meaning) + topic
        # the topic is made of the other words of the context: found again, they would say nothing new
        around = {words.row(token) for token in read.tokens if token in words}
        return words.nearest(vector, n=n, min_count=min_count, without=[*own, *sorted(around)])
    chosen = model.recipe(recipe or "context")
    vector = word_in_context(model(context, recipe=chosen), word)
    table = model.spaces.space("float32", chosen.weighting).alone(chosen)
    return words.nearest_of(table[: len(words)], vector, n=n, min_count=min_count, without=own)
