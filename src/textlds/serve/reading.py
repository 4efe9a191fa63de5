"""What the page shows of a text: surprisal, the path of the state, and what each word contributes.

The smoother is linear in the gains of the words, x̄_i = Σ_j M_ij k(w_j), so that a token's vector is a sum with one
term per word of its sequence, c_j = M_ij k(w_j). With W the whitener and v = x̄ W / |x̄ W|:

    share of word j        (c_j W) · v / |x̄ W|       signed; the shares of a sequence sum to one
    shift without word j   1 − cos(x̄ W, (x̄ − c_j) W)
    parts of the vector    φ ∘ p (the words to the left), k (the word), x̄ − x̂ (those to the right)

Everything is a function of the tables of :class:`Reader`, which come from a model or from a packed one
(:mod:`textlds.serve.packed`); ``page/model.js`` is the same in JavaScript, and the tests hold the two together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textlds.corpus.encoding import EncodedText, Encoder, TokenSequence
from textlds.errors import ArgumentError, UnknownWordError
from textlds.inference.engine import Engine, Index, Posterior
from textlds.inference.windows import flatten
from textlds.language.predictor import Predictor
from textlds.language.reading import predicted_contexts
from textlds.lexicon.unknown import Speller, number_unknown
from textlds.linalg.sphere import on_sphere
from textlds.linalg.types import Array, Matrix
from textlds.serve.senses import sense_of
from textlds.vectors.meaning import MeaningSpace

REACH = 100  # tokens on either side whose contribution is looked at


@dataclass(frozen=True, eq=False)
class States:
    """The posterior means of one text, in the coordinates of inference, a row per token.

    Attributes:
        text: As it was read.
        gains: k(w_t), (n, h).
        pred: p_t, given the words to the left.
        filt: x̂_t, given these and the word.
        smooth: x̄_t, given all words.
    """

    text: EncodedText
    gains: Array
    pred: Array
    filt: Array
    smooth: Array


@dataclass(frozen=True, eq=False)
class LanguageReader:
    """Gives probabilities of words.

    Attributes:
        engine: The filter whose states the predictor reads.
        predictor: From contexts to probabilities.
    """

    engine: Engine
    predictor: Predictor


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads texts for the page.

    Attributes:
        encoder: Turns text into rows.
        engine: The filter and smoother of the vectors.
        whitener: Of the state, (h, d).
        words: Unit vectors of all rows, (V, d).
        speller: For words without a row, or None.
        language: For probabilities of words; None for a model that has none.
        meaning: What words are about; None for a model that does not know.
        common: Which known words are frequent enough to be shown as neighbours, (n_types,).
    """

    encoder: Encoder
    engine: Engine
    whitener: Matrix
    words: Array
    speller: Speller | None
    language: LanguageReader | None
    meaning: MeaningSpace | None
    common: NDArray[np.bool_]

    @cached_property
    def places(self) -> Array:
        """Unit vectors of the known words where states are compared with them, (n_types, d)."""
        known = self.encoder.vocabulary.n_types
        return on_sphere(self.engine.gains[:known].astype(np.float64) @ self.whitener).astype(np.float32)

    def states(self, content: str) -> States:
        """Read a text. O(n h²)."""
        text = self.encoder.encode(content)
        ids, starts, offsets = flatten([text])
        unknown = None
        if self.speller is not None:
            ids, words = number_unknown(self.encoder.vocabulary, [text], ids, offsets)
            unknown = self.speller.vectors(words, self.engine.dtype) if words else None
        h = len(self.engine.A)
        pred, filt, smooth = (np.zeros((len(ids), h)) for _ in range(3))

        def consume(posterior: Posterior, rows: Index, places: Index) -> None:
            pred[places], filt[places] = posterior.pred[rows], posterior.filt[rows]
            smooth[places] = filt[places] if posterior.smooth is None else posterior.smooth[rows]

        self.engine.run(ids, starts, "smooth", consume, unknown=unknown)
        gains = filt - self.engine.shrink * pred
        at = text.positions
        return States(text, gains[at], pred[at], filt[at], smooth[at])

    def read(self, content: str) -> dict[str, Any]:
        """Return the tokens of a text with their surprisal in bits."""
        text = self.encoder.encode(content)
        known = self.encoder.vocabulary.n_types
        bits = self.bits(text)
        before, tail = gaps(content, text)
        tokens = [
            {"text": token, "before": gap, "row": row, "known": row < known}
            for token, gap, row in zip(text.tokens, before, text.ids[text.positions].tolist(), strict=True)
        ]
        for token, bit in zip(tokens, bits.tolist(), strict=self.language is not None):
            token["bits"] = round(bit, 4)
        return {"tokens": tokens, "tail": tail, "perplexity": float(2 ** bits.mean()) if len(bits) else None}

    def bits(self, text: EncodedText) -> Array:
        """Return −log₂ P(token | what precedes it) of each token, (n,); nothing for a model without probabilities."""
        if not len(text.ids) or self.language is None:
            return np.empty(0)
        ids, starts, _ = flatten([text])
        boundary = self.encoder.vocabulary.boundary_row
        contexts = predicted_contexts(self.language.engine, ids, starts, boundary, threads=1)
        values: Array = -np.log2(self.language.predictor.of(contexts, ids))[text.positions]
        return values

    def distributions(self, text: EncodedText, token: int) -> Matrix:
        """Return the distribution of the word expected at a token's place, and of the one after it, (2, V)."""
        if self.language is None:
            raise ArgumentError("this model gives no probabilities of words: it is packed. Use the one it was made of.")
        row = int(text.positions[token])
        begin = int(text.starts[np.searchsorted(text.starts, row, side="right") - 1])
        ids = np.append(text.ids[begin : row + 1], np.int32(0)).astype(np.int32)  # what follows is not looked at
        starts = np.array([0, len(ids)], np.int64)
        boundary = self.encoder.vocabulary.boundary_row
        contexts = predicted_contexts(self.language.engine, ids, starts, boundary, threads=1)
        return self.language.predictor.all(contexts[slice(len(ids) - 2, None)])

    def token(self, content: str, token: int, *, n: int = 10) -> dict[str, Any]:
        """Return what there is to say of one token: its neighbours here and alone, what was expected, its parts."""
        states = self.states(content)
        check_token(states.text, token)
        word = states.text.tokens[token]
        own = int(states.text.ids[states.text.positions[token]])
        whole = states.smooth[token] @ self.whitener
        length = max(float(np.linalg.norm(whole)), 1e-30)
        parts = {
            "left": self.engine.shrink * states.pred[token],
            "word": states.gains[token],
            "right": states.smooth[token] - states.filt[token],
        }
        means = {"pred": states.pred, "filt": states.filt, "smooth": states.smooth}
        return {
            "word": word,
            "known": own < self.encoder.vocabulary.n_types,
            "moves": {name: self.near(x[token] @ self.whitener, 5, without=word) for name, x in means.items()},
            "here": self.here(states, token, n),
            "alone": self.alone(word, n),
            **({} if self.language is None else self._expected(states.text, token, own, n)),
            "parts": {
                name: {
                    "share": float(part @ self.whitener @ whole) / length**2,
                    "length": float(np.linalg.norm(part @ self.whitener)) / length,
                    "near": self.near(part @ self.whitener, 3, without=word),
                }
                for name, part in parts.items()
            },
        }

    def _expected(self, text: EncodedText, token: int, row: int, n: int) -> dict[str, Any]:
        here, after = self.distributions(text, token)
        return {
            "expected": self.likely(here, n),
            "probability": float(here[row]),
            "rank": int((here > here[row]).sum()) + 1,
            "next": self.likely(after, n),
        }

    def path(self, content: str, *, landmarks: int = 24) -> dict[str, Any]:
        """Return the vectors of a text in the plane in which they differ most, with words for orientation.

        Predicted, filtered and smoothed states are whitened and scaled to length one, as vectors and words are; the
        plane is spanned by the two leading principal axes of all of them.
        """
        states = self.states(content)
        n = len(states.text.tokens)
        points = on_sphere(np.concatenate([states.pred, states.filt, states.smooth]) @ self.whitener)
        if not n:
            return {"tokens": [], "pred": [], "filt": [], "smooth": [], "words": []}
        centre = points.mean(axis=0)
        axes = principal_axes(points - centre)
        flat = (points - centre) @ axes.T
        ends = zip(points[2 * n :], states.text.tokens, strict=True)
        nearest = [self.near(point, 2, without=token) for point, token in ends]
        chosen = list(dict.fromkeys(word for pair in nearest for word, _ in pair))[:landmarks]
        rows = [self.encoder.vocabulary.id(word) for word in chosen]
        spots = (self.places[rows] - centre) @ axes.T
        return {
            "tokens": list(states.text.tokens),
            "pred": flat[:n].tolist(),
            "filt": flat[n : 2 * n].tolist(),
            "smooth": flat[2 * n :].tolist(),
            "words": [{"word": word, "at": spot} for word, spot in zip(chosen, spots.tolist(), strict=True)],
        }

    def contributions(self, states: States, token: int) -> tuple[range, Matrix]:
        """Return c_j of every word j of the token's sequence that is within reach, (m, h), and which tokens they are.

        O(m² h²) for m words: each goes through the filter and the smoother alone.
        """
        text = states.text
        row = int(text.positions[token])
        begin = int(text.starts[np.searchsorted(text.starts, row, side="right") - 1])
        later = text.starts[text.starts > row]
        end = int(later[0]) if len(later) else len(text.ids)
        first = int(np.searchsorted(text.positions, begin))
        last = int(np.searchsorted(text.positions, end))
        near = range(max(first, token - REACH), min(last, token + REACH + 1))
        A, shrink = self.engine.system.A.astype(np.float64), self.engine.shrink.astype(np.float64)
        m, at = len(near), token - near.start
        pred, filt = np.zeros((m, m, A.shape[0])), np.zeros((m, m, A.shape[0]))  # time, word, h
        for t in range(m):
            if t:
                pred[t] = filt[t - 1] @ A.T
            filt[t] = shrink * pred[t]
            filt[t, t] += states.gains[near[t]]
        smooth = filt[m - 1]
        for t in range(m - 2, at - 1, -1):
            smooth = filt[t] + (shrink * (smooth - pred[t + 1])) @ A
        return near, smooth

    def here(self, states: States, token: int, n: int) -> list[tuple[str, float]]:
        """Return the words nearest to a token where it occurs: what it is about there, or how it is used."""
        word = states.text.tokens[token]
        if self.meaning is None:
            return self.near(states.smooth[token] @ self.whitener, n, without=word)
        vector = sense_of(self.meaning, states.text, token).vector
        return self._nearest(self.meaning.words, vector, n, *states.text.tokens)

    def use(self, content: str, word: str, *, n: int = 10) -> dict[str, Any]:
        """Return a word in a text: its neighbours there, and what each other word contributes."""
        states = self.states(content)
        token = find_token(states.text, word)
        whole: Array
        table: Array
        known = [states.text.tokens[token]]  # of which it would say nothing new that they are near
        if self.meaning is None:
            near, terms = self.contributions(states, token)
            white = terms @ self.whitener
            whole, table = states.smooth[token] @ self.whitener, self.places
            without = whole - white
        else:
            sense = sense_of(self.meaning, states.text, token)
            near = range(max(0, token - REACH), min(len(states.text.tokens), token + REACH + 1))
            whole, table = sense.vector, self.meaning.words
            white = np.array(sense.terms[near.start : near.stop], np.float64)
            without = np.array([sense.without(j) for j in near])
            white[token - near.start] += sense.own
            known = list(states.text.tokens)
        length = max(float(np.linalg.norm(whole)), 1e-30)
        cosines = without @ whole / np.maximum(np.linalg.norm(without, axis=1) * length, 1e-30)
        pulls = [
            {
                "token": j,
                "text": states.text.tokens[j],
                "share": float(term @ whole) / length**2,
                "shift": 1 - float(cosine),
                "toward": [other for other, _ in self._nearest(table, term, 3, states.text.tokens[j])],
            }
            for j, term, cosine in zip(near, white, cosines, strict=True)
        ]
        return {
            "token": token,
            "tokens": list(states.text.tokens),
            "vector": (whole / length).tolist(),
            "here": self._nearest(table, whole, n, *known),
            "pulls": pulls,
        }

    def near(self, vector: Array, n: int, *, without: str) -> list[tuple[str, float]]:
        """Return the n known words nearest to a whitened state."""
        return self._nearest(self.places, vector, n, without)

    def alone(self, word: str, n: int) -> list[tuple[str, float]]:
        """Return the n known words most similar to a word by itself; none for one that is not known."""
        vocabulary = self.encoder.vocabulary
        if word not in vocabulary:
            return []
        return self._nearest(self.table, self.table[vocabulary.id(word)], n, word)

    @property
    def table(self) -> Array:
        """The vectors of words by themselves, (V, d): what they are about, or how they are used."""
        return self.words if self.meaning is None else self.meaning.words

    def neighbours(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the n known words most similar to a known word."""
        known = self.encoder.vocabulary
        if word not in known:
            raise UnknownWordError(f"the word {word!r} is not among the {known.n_types:,} words of the vocabulary.")
        return self.alone(word, n)

    def _nearest(self, table: Array, vector: Array, n: int, *without: str) -> list[tuple[str, float]]:
        """Return the n words nearest to a vector, but those given in any case."""
        vocabulary, own = self.encoder.vocabulary, {word.lower() for word in without}
        unit = (vector / max(float(np.linalg.norm(vector)), 1e-30)).astype(np.float32)
        cosines = np.where(self.common, table[: vocabulary.n_types] @ unit, -2)
        order = (row for row in np.argsort(-cosines, kind="stable").tolist() if cosines[row] > -2)
        others = (row for row in order if vocabulary.words[row].lower() not in own)
        return [(vocabulary.words[row], float(cosines[row])) for row in itertools.islice(others, n)]

    def likely(self, probabilities: Array, n: int) -> list[tuple[str, float]]:
        """Return the n most probable known words."""
        vocabulary = self.encoder.vocabulary
        order = np.argsort(-probabilities[: vocabulary.n_types], kind="stable")[:n].tolist()
        return [(vocabulary.words[row], float(probabilities[row])) for row in order]


def principal_axes(points: Matrix) -> Matrix:
    """Return the two leading principal axes of centred points, (2, h), each with its largest entry positive."""
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    axes = np.concatenate([axes[:2], np.zeros((max(2 - len(axes), 0), points.shape[1]))])
    signs = np.sign(axes[[0, 1], np.abs(axes).argmax(axis=1)])
    flipped: Matrix = axes * np.where(signs == 0, 1, signs)[:, None]
    return flipped


def gaps(content: str, text: EncodedText) -> tuple[list[str], str]:
    """Return what comes before each token of a text, and after the last."""
    if not isinstance(text.tokens, TokenSequence):
        return [" " if number else "" for number in range(len(text.tokens))], ""
    data, spans = content.encode("utf-8", "replace"), text.tokens.spans.tolist()
    ends = [0, *(end for _, end in spans)]
    before = [data[end:start].decode("utf-8") for end, (start, _) in zip(ends, spans, strict=False)]
    return before, data[ends[-1] :].decode("utf-8")


def spans(content: str, text: EncodedText) -> list[tuple[int, int]]:
    """Return where tokens begin and end in a text, in characters; nothing where a tokeniser of the user's made them."""
    if not isinstance(text.tokens, TokenSequence):
        return []
    data = np.frombuffer(content.encode("utf-8", "replace"), np.uint8)
    characters = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])  # before each byte; one too many inside
    begins, ends = text.tokens.spans.T
    return list(zip(characters[begins].tolist(), characters[ends].tolist(), strict=True))


def check_token(text: EncodedText, token: int) -> None:
    """Refuse the number of a token that the text does not have."""
    if not 0 <= token < len(text.tokens):
        raise ArgumentError(f"token={token} is not a token of the text, which has {len(text.tokens):,}.")


def find_token(text: EncodedText, word: str) -> int:
    """Return the first place of a word in a text, in this spelling or, failing that, in any case."""
    tokens: Sequence[str] = list(text.tokens)
    for spelling in (str, str.lower):
        for number, token in enumerate(tokens):
            if spelling(token) == spelling(word):
                return number
    raise UnknownWordError(f"the word {word!r} is not a token of the text. Its tokens are: {' '.join(tokens[:30])}")
