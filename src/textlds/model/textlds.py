"""TextLDS: a fitted model with its vocabulary, the object that users hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from textlds.corpus.encoding import Encoder
from textlds.corpus.encoding import Text as Text
from textlds.corpus.vocabulary import Vocabulary
from textlds.counts.lagcounts import LagCounts
from textlds.errors import ArgumentError
from textlds.inference.engine import Engine, Method
from textlds.inference.posterior import SequencePosterior, sequence_posterior
from textlds.inference.scoring import Scores, TokenScores, score_writer
from textlds.inference.windows import check_texts, flatten, visible, windows
from textlds.language.calibrating import Fitted, calibrate
from textlds.language.language import LanguageModel, Link
from textlds.language.predictor import Predictor, make_predictor
from textlds.language.reading import next_context, surprisals
from textlds.language.results import NextWord, Perplexity, TokenSurprisals
from textlds.lds.noise import noise_from_arrays
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.learn.history import History
from textlds.lexicon.lexicon import Lexicon
from textlds.linalg.sphere import on_sphere
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Array, Vector
from textlds.model.exploring import Transition, nearest, require_known, transitions
from textlds.model.files import read_model, write_model
from textlds.progress import ProgressOption, resolve
from textlds.vectors.space import Part, check_parts
from textlds.vectors.space import TokenVectors as TokenVectors
from textlds.vectors.spaces import Spaces
from textlds.vectors.streaming import TokenStream
from textlds.vectors.weighting import Evidence, check_evidence

Parts = Part | Sequence[Part]
Dtype = Literal["float32", "float64"]


class TextLDS:
    """A linear dynamical system fitted to text.

    Get one from :func:`textlds.fit`, :func:`textlds.train` or :func:`textlds.load`.

    Attributes:
        vocabulary: The words, in the order of the rows of every word-sized array.
        frequencies: Smoothed frequency of each word, (V,).
        moments: Second moments of the posterior means over the corpus.
        lexicon: What words are like by themselves, which ``evidence="equal"`` goes by; or None.
        history: How the model was learnt.
        language: The calibrated language model, or None; see :meth:`calibrated`.
        encoder: Turns text into rows of the vocabulary, as the corpus was.
        spaces: The filters, smoothers and spaces of its vectors, made when they are first needed.
    """

    def __init__(
        self,
        params: LDSParams,
        vocabulary: Vocabulary,
        frequencies: Vector,
        moments: PosteriorMoments,
        *,
        lexicon: Lexicon | None = None,
        history: History | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        language: LanguageModel | None = None,
    ) -> None:
        self._A, self._Q, self._noise = params.A, params.Q, params.noise
        # rounded once, here, so that a model in memory and the same model from disk agree to the last bit
        self._C = np.ascontiguousarray(params.C, np.float32)
        self.vocabulary = vocabulary
        self.frequencies = frequencies
        self.moments = moments
        self.lexicon = lexicon
        self.history = history or History()
        self.language = language
        self.encoder = Encoder(vocabulary, tokenizer=tokenizer)
        stored = LDSParams(self._A, self._C, self._Q, self._noise)  # as in memory: C in float32
        self.spaces = Spaces(stored, vocabulary, frequencies, moments, lexicon)
        self._word_terms: Vector | None = None
        self._predictor: Predictor | None = None

    def __repr__(self) -> str:
        return f"TextLDS(state_size={self.state_size}, vocabulary={len(self.vocabulary):,})"

    def __deepcopy__(self, memo: object) -> TextLDS:
        return self  # nothing of it changes; scikit-learn copies the arguments of an estimator at every fold

    @property
    def state_size(self) -> int:
        """The size of the state, h."""
        return len(self._A)

    @property
    def params(self) -> LDSParams:
        """The parameters A, C, Q and D, in the coordinates in which they were learnt."""
        return LDSParams(self._A, self._C.astype(np.float64), self._Q, self._noise)

    def embed(
        self,
        texts: Iterable[Text],
        *,
        method: Method = "smooth",
        parts: Parts = "state",
        evidence: Evidence = "model",
        dtype: Dtype = "float32",
        threads: int | None = None,
    ) -> Iterator[TokenVectors]:
        """Yield the tokens of each text with a vector for each.

        Args:
            texts: Strings, which are tokenised, or lists of tokens, which are taken as they are. Any iterable will
                do; it is read as the vectors are taken.
            method: ``"smooth"``: the whole text counts; ``"filter"``: only what stands before a token, and the token;
                ``"exact"``: smooth, and exact also at the beginning of a text, where the steady state is approximate.
            parts: What a vector is made of, side by side: any of ``"state"``, ``"left"``, ``"word"``, ``"right"``,
                ``"before"``, ``"after"``.
            evidence: How much a word counts: as the ``"model"`` was fitted, the paper's vectors; or ``"equal"``:
                all words speak equally loud, by the lexicon, unknown ones by their spelling. Better for taggers.
            dtype: Of the vectors and of the computation.
            threads: How many; all cores by default.
        """
        names = check_parts(parts, method)
        check_evidence(evidence, method)
        check_texts(texts)
        space = self.spaces.space(dtype, evidence)
        threads = check_threads(threads)

        def generate() -> Iterator[TokenVectors]:
            for window in windows(self.encoder, texts):
                vectors, offsets = space.embed(window, names, method, threads=threads)
                for text, offset in zip(window, offsets, strict=True):
                    yield TokenVectors(text.tokens, visible(vectors, text, offset))

        return generate()

    def log_likelihood(
        self, texts: Iterable[Text], *, method: Literal["filter", "exact"] = "filter", threads: int | None = None
    ) -> Scores:
        """Score every token given the words before it, relative to the static model, in nats.

        The result is a sequence with one :class:`TokenScores` a text; ``float(result)`` is the mean a token.

        Args:
            texts: Strings or lists of tokens.
            method: ``"filter"``: the steady-state filter; ``"exact"``: exact also at the beginning of a text.
            threads: How many; all cores by default.
        """
        if method not in ("filter", "exact"):
            raise ArgumentError(f"method={method!r} is not one of 'filter', 'exact'.")
        check_texts(texts)
        engine = self.spaces.engine("float64")
        if self._word_terms is None:
            self._word_terms = self._noise.word_terms(self.params.C, np.sqrt(self.frequencies))
        results: list[TokenScores] = []
        for window in windows(self.encoder, texts):
            ids, starts, offsets = flatten(window)
            values = np.empty(len(ids))
            write = score_writer(engine, self._word_terms, ids, values, exact=method == "exact")
            engine.run(ids, starts, method, write, threads=check_threads(threads))
            for text, offset in zip(window, offsets, strict=True):
                results.append(TokenScores(list(text.tokens), visible(values, text, offset)))
        return Scores(results)

    def next_word(self, context: Text = "") -> NextWord:
        """Return the distribution of the word that follows a context. O(V h).

        Args:
            context: A string or a list of tokens; it is not taken to be over, unless it ends with a newline.
        """
        engine = self.spaces.engine("float32")
        (probabilities,) = self._language(engine).all(next_context(engine, self.encoder, context))
        return NextWord(self.vocabulary, probabilities)

    def surprisal(self, texts: Iterable[Text], *, threads: int | None = None) -> Iterator[TokenSurprisals]:
        """Yield, for each text, −log₂ of the probability of every token given what stands before it in the text.

        Args:
            texts: Strings or lists of tokens; any iterable will do.
            threads: How many; all cores by default.
        """
        check_texts(texts)
        engine = self.spaces.engine("float32")
        return surprisals(self._language(engine), engine, self.encoder, texts, threads=check_threads(threads))

    def perplexity(self, texts: Iterable[Text], *, threads: int | None = None) -> Perplexity:
        """Return the perplexity of texts: 2 to the mean surprisal of their tokens, boundary tokens among them.

        Args:
            texts: As for :meth:`surprisal`.
            threads: How many; all cores by default.
        """
        return sum((Perplexity.of(text) for text in self.surprisal(texts, threads=threads)), Perplexity.of())

    def calibrated(
        self,
        texts: Iterable[Text],
        *,
        held_out: Iterable[Text] | None = None,
        counts: LagCounts | None = None,
        link: Link = "log-linear",
        tokens: int = 1_000_000,
        threads: int | None = None,
        progress: ProgressOption = False,
    ) -> TextLDS:
        """Return the same model with a calibrated language model, which is saved with it.

        Args:
            texts: To fit the readout on; text the model was trained on will do.
            held_out: To choose the weights of the parts on: text that is in neither ``texts`` nor ``counts``. Without
                it the last tenth of ``texts`` is set aside; do not give ``counts`` of the same texts then.
            counts: Mix in Kneser–Ney bigrams of lags 1 and 2 from these counts.
            link: ``"log-linear"``: fit a readout of the state; ``"clipped"``: the Gaussian's own linear prediction.
            tokens: Read no more than this many of each text. They take 4 h bytes each.
            threads: How many; all cores by default. The result is the same.
            progress: True for a progress bar, or an object that shows it.
        """
        fitted = Fitted(
            self.spaces.engine("float32"), self.encoder, self.params.C, self.frequencies, self.history.settings
        )
        language = calibrate(
            fitted, texts, held_out, counts,
            link=link, limit=tokens, threads=check_threads(threads), progress=resolve(progress),
        )  # fmt: skip
        return self._with(language=language)

    def stream(self, *, parts: Parts = "state", evidence: Evidence = "model") -> TokenStream:
        """Return an online filter: push one token, get its filtered vector; constant memory.

        Args:
            parts: Any of ``"state"``, ``"left"``, ``"word"``, ``"before"``; the words to the right are not known yet.
            evidence: See :meth:`embed`.
        """
        check_evidence(evidence)
        engine, space = self.spaces.engine("float32", evidence), self.spaces.space("float32", evidence)
        return TokenStream(engine, space, self.vocabulary, check_parts(parts, "filter"))

    def posterior(self, text: Text, *, method: Literal["smooth", "exact"] = "smooth") -> SequencePosterior:
        """Return means and covariances of the state at every token of a text, filtered and smoothed.

        They are in the coordinates of inference, in which the steady filtered covariance is the identity.

        Args:
            text: A string or a list of tokens.
            method: Steady-state gains, or ``"exact"`` ones.
        """
        if method not in ("smooth", "exact"):
            raise ArgumentError(f"method={method!r} is not one of 'smooth', 'exact'.")
        return sequence_posterior(self.spaces.engine("float64"), self.encoder.encode(text), method)

    def similar(self, word: str, *, context: Text | None = None, n: int = 10) -> list[tuple[str, float]]:
        """Return the n words most similar to a word, with their cosines.

        Args:
            word: A word of the vocabulary; with a context, any word that occurs in it.
            context: A text that holds the word: the words nearest to the word *as it is used there*.
            n: How many.
        """
        if n < 1:
            raise ArgumentError(f"n={n} must be at least 1.")
        space = self.spaces.space("float32")
        if context is None:
            require_known(self.vocabulary, word)
            return nearest(space.words[self.vocabulary.id(word)], space.words, self.vocabulary, n, without=word)
        text = self.encoder.encode(context)
        places = [i for i, token in enumerate(text.tokens) if token == word]
        if not places:
            raise ArgumentError(
                f"the word {word!r} is not a token of the context. Its tokens are: {' '.join(list(text.tokens)[:30])}"
            )
        posterior = sequence_posterior(self.spaces.engine("float64"), text, "smooth", covariances=False)
        state = posterior.smooth[places].mean(axis=0).astype(np.float32)
        whitener = space.whitener("state")
        words = on_sphere(self.spaces.engine("float32").gains @ whitener)
        return nearest(state @ whitener, words, self.vocabulary, n, without=word)

    def dynamics(self, n: int = 6, *, words: int = 9) -> list[Transition]:
        """Return the n strongest transitions of the state, as the words likely before and after (the paper's Table 1).

        Args:
            n: How many singular vector pairs of A.
            words: How many words for each.
        """
        if n < 1 or words < 1:
            raise ArgumentError(f"n={n} and words={words} must be at least 1.")
        params = self.params.normalised()
        known = np.arange(self.vocabulary.n_types)
        return transitions(params.A, params.C, self.vocabulary, n, words, common=known)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model to a folder, whole or not at all; an existing one is only replaced with ``force``."""
        arrays: dict[str, Array] = {
            "A": self._A,
            "C": self._C,
            "Q": self._Q,
            "frequencies": self.frequencies,
            "filt_filt": self.moments.filt_filt,
            "smooth_filt": self.moments.smooth_filt,
            "smooth_smooth": self.moments.smooth_smooth,
            **({} if self.lexicon is None else vars(self.lexicon)),
            **{f"noise.{name}": array for name, array in self._noise.arrays().items()},
        }
        write_model(
            path, arrays=arrays, noise=self._noise.kind, vocabulary=self.vocabulary, history=self.history,
            language=self.language, force=force,
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Callable[[str], Sequence[str]] | None = None) -> TextLDS:
        """Read a model from a folder.

        Args:
            path: A folder that :meth:`save` wrote.
            tokenizer: The callable the corpus was tokenised with, if it was not a built-in one.
        """
        mapped, kind, vocabulary, history, language = read_model(path)
        arrays = {name: np.array(array) for name, array in mapped.items()}  # the files may go away
        frequencies = arrays["frequencies"]
        noise_arrays = {name.removeprefix("noise."): a for name, a in arrays.items() if name.startswith("noise.")}
        noise = noise_from_arrays(kind, noise_arrays, np.sqrt(frequencies))
        params = LDSParams(arrays["A"], arrays["C"], arrays["Q"], noise)
        moments = PosteriorMoments(arrays["filt_filt"], arrays["smooth_filt"], arrays["smooth_smooth"])
        lexicon = Lexicon(arrays["profiles"], arrays["spelling"]) if "profiles" in arrays else None
        return cls(
            params, vocabulary, frequencies, moments,
            lexicon=lexicon, history=history, tokenizer=tokenizer, language=language,
        )  # fmt: skip

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool = False,
        license: str | None = None,
        revision: str | None = None,
        message: str = "Upload a textlds model",
        token: str | None = None,
    ) -> str:
        """Upload the model to the Hugging Face Hub in one commit, with a card from its history; return its address.

        Args:
            name: ``"user/name"``. The repository is made if there is none.
            private: Whether a new repository is private.
            license: An identifier for the card, such as ``"cc-by-sa-4.0"``; say what the text you trained on allows.
            revision: Branch to write to, made if there is none; the main one by default.
            message: Of the commit.
            token: For writing; by default that of ``hf auth login`` or of the variable HF_TOKEN.
        """
        from textlds.integrations.huggingface import push_model

        return push_model(
            self, name, private=private, license=license, revision=revision, message=message, token=token
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        revision: str | None = None,
        token: str | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
    ) -> TextLDS:
        """Read a model from a folder, or from the Hugging Face Hub; what was fetched before is taken from its cache.

        Args:
            name: A folder, or ``"user/name"``.
            revision: A branch, tag or commit on the Hub.
            token: For private models; by default that of ``hf auth login`` or of the variable HF_TOKEN.
            tokenizer: As for :meth:`load`.
        """
        from textlds.integrations.huggingface import model_folder

        return cls.load(model_folder(name, revision=revision, token=token), tokenizer=tokenizer)

    def with_tokenizer(self, tokenizer: Callable[[str], Sequence[str]] | None) -> TextLDS:
        """Return the same model with a callable that tokenises its strings."""
        return self._with(tokenizer=tokenizer)

    def _with(self, **changes: Any) -> TextLDS:
        kept = {name: getattr(self, name) for name in ("lexicon", "history", "language")}
        options = {**kept, "tokenizer": self.encoder.tokenizer, **changes}
        return TextLDS(self.params, self.vocabulary, self.frequencies, self.moments, **options)

    def _language(self, engine: Engine) -> Predictor:
        if self._predictor is None:
            C, settings = self.params.C, self.history.settings
            self._predictor = make_predictor(self.language, engine, C, self.frequencies, settings)
        return self._predictor
