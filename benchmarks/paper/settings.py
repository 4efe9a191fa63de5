"""What "the model" is in every study, and how large the studies are. The only place where these are chosen.

They were chosen on development sets alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Options = Mapping[str, Any]

COUNT: Options = {"vocab_size": 100_000, "boundaries": "line", "unknown": "shape"}  # of textlds.count
FIT: Options = {"state_size": 200, "iterations": 50, "observations": "words"}  # of textlds.fit: the paper's model
DEFAULT_COUNT: Options = {**COUNT, "repeats": 1}  # what textlds.train does where nothing is asked for
DEFAULT_FIT: Options = {"state_size": 200, "iterations": 20, "observations": "profiles"}
# vectors, by the names of stored figures (benchmarks.recorded)
STATE = ("state",)  # the paper's vector
PARTS = ("state", "before", "word", "after")  # the best of ours where words are observed
FEATURES = ("state", "word", "neighbours", "spelling", "word_meaning")  # the recipe "features" of the default model
EVIDENCE = "equal"  # with which the best of ours is made; the paper's is made with the model's
WORDS = "profiles and spelling"  # what words are known by where all count the same

TEXTS = ("text", "reuters")  # what is learnt from for named entities; all others see "text" alone
WORD2VEC: Options = {"size": 200, "window": 3, "epochs": 5}  # of gensim's CBOW; the paper's best had window 3


@dataclass(frozen=True)
class Scale:
    """How large the studies are.

    Attributes:
        tokens: Unlabelled text for the main studies, about; None is all of it.
        search_tokens: The same for choosing word2vec's settings.
        base_tokens: The same for the studies of many fits (ablations, likelihood).
        amounts: Amounts of text for the ablation of that name.
        count: Arguments of :func:`textlds.count`, in place of those above.
        fit: Arguments of :func:`textlds.fit`, likewise.
        base_count: Of the studies of many fits.
        base_fit: Of the studies of many fits.
        iterations: EM iterations of the likelihood study.
        every: Iterations between two looks at tagging accuracy there.
        stops: Iterations among which the parts of speech choose.
        clusters: Brown clusters.
        rounds: Of approximate randomisation.
        sentences: Labelled training sentences; None is all.
        base_sentences: The same for the studies of many fits.
    """

    tokens: float | None = None
    search_tokens: float = 5e6
    base_tokens: float = 5e6
    amounts: tuple[float, ...] = (1e6, 5e6, 20e6, 75e6)
    count: Options = field(default_factory=dict)
    fit: Options = field(default_factory=dict)
    base_count: Options = field(default_factory=lambda: {"vocab_size": 30_000})
    base_fit: Options = field(default_factory=lambda: {"state_size": 100})
    iterations: int = 100
    every: int = 10
    stops: tuple[int, ...] = (10, 20, 30, 40, 50, 75, 100)
    clusters: int = 1000
    rounds: int = 10_000
    sentences: int | None = None
    base_sentences: int | None = 5000


SCALES = {
    "full": Scale(),
    "tiny": Scale(
        tokens=1e5,
        search_tokens=2e4,
        base_tokens=2e4,
        amounts=(1e4, 2e4),
        count={"vocab_size": 60},
        fit={"state_size": 4, "iterations": 3},
        base_count={"vocab_size": 60},
        base_fit={"state_size": 4, "iterations": 3},
        iterations=4,
        every=2,
        stops=(2, 4),
        clusters=6,
        rounds=50,
    ),
}
