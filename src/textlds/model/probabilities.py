"""What a model says of the words of a text: likelihoods, the next word, surprisal, perplexity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from textlds.corpus.encoding import Encoder, Text
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import check_choice
from textlds.inference.engine import Engine
from textlds.inference.scoring import Scores, score_texts
from textlds.inference.windows import check_texts
from textlds.language.calibrating import Fitted, calibrate
from textlds.language.language import LanguageModel, Link
from textlds.language.predictor import Predictor, make_predictor
from textlds.language.reading import next_context, surprisals
from textlds.language.results import NextWord, Perplexity, TokenSurprisals
from textlds.lds.params import LDSParams
from textlds.learn.history import History
from textlds.linalg.threads import check_threads
from textlds.linalg.types import Vector
from textlds.model.lazy import LazyResults
from textlds.progress import ProgressOption, resolve
from textlds.vectors.spaces import Spaces

if TYPE_CHECKING:
    from textlds.counts.lagcounts import LagCounts
    from textlds.model.words import Words

Gains = Literal["steady", "exact"]


class Probabilities:
    """The methods of a :class:`~textlds.model.textlds.TextLDS` that score texts."""

    vocabulary: Vocabulary
    frequencies: Vector
    history: History
    language: LanguageModel | None
    encoder: Encoder
    spaces: Spaces
    _word_terms: Vector | None = None
    _predictor: Predictor | None = None

    if TYPE_CHECKING:

        @property
        def params(self) -> LDSParams:
            """Those of one-hot words."""

        @property
        def words(self) -> Words:
            """The words."""

        def _with(self, **changes: Any) -> Self: ...

    def log_likelihood(self, texts: Iterable[Text], *, gains: Gains = "steady", threads: int | None = None) -> Scores:
        """Score every token given the words before it, relative to the static model, in nats.

        The result is a sequence with one :class:`TokenScores` per text; ``float(result)`` is the mean per token.

        Args:
            texts: Strings or lists of tokens.
            gains: ``"steady"``: those of the steady state; ``"exact"``: exact also at the beginning of a text.
            threads: How many; all cores by default.
        """
        check_choice("gains", gains, get_args(Gains))
        check_texts(texts)
        engine = self.spaces.engine("float64")
        if self._word_terms is None:
            params = self.params
            self._word_terms = params.noise.word_terms(params.C, np.sqrt(self.frequencies))
        return score_texts(
            engine, self._word_terms, self.encoder, texts, exact=gains == "exact", threads=check_threads(threads)
        )

    def next_word(self, context: Text = "") -> NextWord:
        """Return the distribution of the word that follows a context. O(V h).

        Args:
            context: A string or a list of tokens; it is not taken to be over, unless it ends with a newline.
        """
        engine, predictor = self.language_filter()
        (probabilities,) = predictor.all(next_context(engine, self.encoder, context))
        return NextWord(self.vocabulary, probabilities, self.words.counts)

    def surprisal(self, texts: Iterable[Text], *, threads: int | None = None) -> LazyResults[TokenSurprisals]:
        """Yield, for each text, −log₂ of the probability of every token given the tokens before it in the text.

        Args:
            texts: Strings or lists of tokens; any iterable will do.
            threads: How many; all cores by default.
        """
        check_texts(texts)
        engine, predictor = self.language_filter()
        found = surprisals(predictor, engine, self.encoder, texts, threads=check_threads(threads))
        return LazyResults(found, "next(model.surprisal([text]))")

    def perplexity(self, texts: Iterable[Text], *, threads: int | None = None) -> Perplexity:
        """Return the perplexity of texts: 2 to the mean surprisal of their tokens, boundary tokens among them.

        Args:
            texts: As for :meth:`surprisal`.
            threads: How many; all cores by default.
        """
        return sum((Perplexity.of(text) for text in self.surprisal(texts, threads=threads)), Perplexity.of())

    def with_language_model(
        self,
        texts: Iterable[Text],
        *,
        held_out: Iterable[Text] | None = None,
        counts: LagCounts | None = None,
        link: Link = "log-linear",
        tokens: int = 1_000_000,
        threads: int | None = None,
        progress: ProgressOption = False,
    ) -> Self:
        """Return the same model with a calibrated language model, which is saved with it. It takes minutes.

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

    @property
    def predicts(self) -> bool:
        """Whether the model gives probabilities of words; a packed one may not."""
        return True

    def language_filter(self) -> tuple[Engine, Predictor]:
        """Return the filter whose states say what comes next, and what makes probabilities of them."""
        engine = self.spaces.engine("float32")
        if self._predictor is None:
            C, settings = self.params.C, self.history.settings
            self._predictor = make_predictor(self.language, engine, C, self.frequencies, settings)
        return engine, self._predictor
