"""Perplexity: how well a model's probabilities predict a text, next to the frequencies of words alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from textlds.progress import ProgressOption, resolve

if TYPE_CHECKING:
    from textlds.corpus.encoding import Text
    from textlds.language.results import Perplexity
    from textlds.model.textlds import TextLDS


@dataclass(frozen=True)
class PerplexityResult:
    """Perplexities of one text.

    Attributes:
        calibrated: Whether the model's probabilities were calibrated.
        model: By the model.
        unigram: By the frequencies of words alone.
    """

    calibrated: bool
    model: Perplexity
    unigram: Perplexity

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {"calibrated": self.calibrated, "model": _facts(self.model), "unigram": _facts(self.unigram)}


def evaluate_perplexity(
    model: TextLDS, texts: Iterable[Text], *, threads: int | None = None, progress: ProgressOption = False
) -> PerplexityResult:
    """Return the perplexity of texts by a model and by the frequencies of words alone.

    Args:
        model: Calibrated or not.
        texts: As for :meth:`textlds.TextLDS.surprisal`; read once.
        threads: How many; all cores by default.
        progress: True for a progress bar, or an object that shows it.
    """
    import numpy as np

    from textlds.language.language import smoothed_unigram
    from textlds.language.predictor import corpus_counts
    from textlds.language.results import Perplexity, TokenSurprisals

    counts = model.language.counts if model.language else corpus_counts(model.frequencies, model.history.settings)[0]
    static = -np.log2(smoothed_unigram(counts))
    boundary = model.vocabulary.settings.boundary_token
    ours = theirs = Perplexity.of()
    with resolve(progress).task("Perplexity", None) as task:
        for text in model.surprisal(texts, threads=threads):
            bits = static[model.vocabulary.ids(text.tokens)]
            ends = static[[model.vocabulary.id(boundary)] * len(text.boundary_bits)] if boundary else text.boundary_bits
            ours += Perplexity.of(text)
            theirs += Perplexity.of(TokenSurprisals(text.tokens, bits, ends, text.unknown))
            task.advance(len(text), f"{ours.tokens:,} tokens, perplexity {ours.perplexity:.2f}")
    return PerplexityResult(model.language is not None, ours, theirs)


def _facts(perplexity: Perplexity) -> dict[str, Any]:
    return {
        "perplexity": perplexity.perplexity,
        "bits_per_token": perplexity.bits_per_token,
        "known_perplexity": perplexity.known_perplexity,
        **asdict(perplexity),
    }
