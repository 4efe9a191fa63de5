"""Small odd corpora with random settings: what is fitted is finite, can be saved and loaded, and EM does not fall."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import textlds
from textlds.corpus.settings import TextSettings
from textlds.errors import TextLDSError
from textlds.learn.settings import FitSettings

RECIPES: list[dict[str, Any]] = [
    {"recipe": "paper"}, {"recipe": "context"}, {"recipe": "features"}, {"recipe": "paper", "dtype": "float64"},
    {"recipe": "state+left_context, fitted, filter"}, {"recipe": "state+right_context, fitted, exact"},
]  # fmt: skip
RECIPES_OF_PROFILES: list[dict[str, Any]] = [
    {"recipe": "context"}, {"recipe": "features"}, {"recipe": "context", "dtype": "float64"},
    {"recipe": "state+left_context, filter"}, {"recipe": "state+right_context, exact"},
]  # fmt: skip
# What an iteration may lose, nats per token. The first of a phase may lose more: its start is no point of EM.
EM_LOSS = 1e-9
_BEGINNING = 1500  # characters


@dataclasses.dataclass(frozen=True)
class Case:
    """One corpus with settings."""

    seed: int
    texts: list[str]
    counting: dict[str, Any]
    fitting: dict[str, Any]


def make_case(seed: int) -> Case:
    """Draw a corpus of at most a few thousand tokens, and settings: mostly within limits, a tenth of each beyond."""
    rng = np.random.default_rng([18, seed])
    texts = _texts(rng)
    boundaries = str(rng.choice(["line", "sentence", "document", "none"]))
    counting = {
        "max_lag": int(rng.integers(3, 9)) if rng.random() < 0.9 else int(rng.integers(1, 3)),
        "vocab_size": int(rng.choice([5, 20, 1000, 1000])),
        "tokenizer": str(rng.choice(["words", "whitespace"])),
        "unknown": str(rng.choice(["shape", "single"])),
        "boundaries": boundaries,
        "boundary_token": "</s>" if boundaries != "none" and rng.random() < 0.2 else None,
    }
    noise = str(rng.choice(["full", "full", "spherical", "diagonal", "bohning"]))
    words = min(len(set(texts[0].split())), counting["vocab_size"])
    state_size, horizon = int(rng.choice([1, 2, 3, 5, 10])), (counting["max_lag"] + 1) // 2
    fitting = {
        "state_size": max(1, min(state_size, words - 2)) if rng.random() < 0.9 else state_size,
        "iterations": int(rng.choice([0, 1, 3, 10, 25])),
        "seed": int(rng.integers(3)),
        "pseudocount": [0, 1e-12, 1e-3, 0.5, 10.0, "paper"][int(rng.integers(6))],
        "noise": noise,
        "start": str(rng.choice(["subspace", "random"])),
        "ssid_horizon": int(rng.integers(2, max(horizon, 2) + 1)) if rng.random() < 0.9 else 1,
        "em_horizon": int(rng.integers(1, counting["max_lag"] + 1)),
        "ssid_output": str(rng.choice(["first", "regression"])),
        "ssid_covariance": str(rng.choice(["matched", "paper"])),
        "compression": ["auto", "none", 12][int(rng.integers(3))] if noise in ("full", "spherical") else "none",
        "polish": int(rng.choice([0, 0, 2])),
        "acceleration": str(rng.choice(["none", "overrelaxed"])),
    }
    if rng.random() < 0.3:
        kept = ("state_size", "iterations", "seed", "em_horizon", "acceleration")
        fitting = {"observations": "profiles", "polish": 0, **{name: fitting[name] for name in kept}}
    else:
        fitting["observations"] = "words"
    return Case(seed, texts, counting, fitting)


def _texts(rng: np.random.Generator) -> list[str]:
    size, length = int(rng.choice([2, 4, 8, 20, 40, 300])), int(rng.choice([20, 200, 2000, 2000]))
    # of letters: words that differ in their digits alone are one word to the tokeniser, which a tenth of corpora shows
    letters = str.maketrans("0123456789", "abcdefghij" if rng.random() < 0.9 else "0123456789")
    names = [f"w{k}" if rng.random() < 0.8 else f"Ünknown{k}ing" for k in range(size)]
    words = np.array([name.translate(letters) for name in names])
    kind = int(rng.integers(6))
    if kind == 0:  # independent, with the frequencies of a power law
        weights = 1 / np.arange(1, size + 1) ** rng.uniform(0, 3)
        ids = rng.choice(size, length, p=weights / weights.sum())
    elif kind == 1:  # a cycle, without any noise
        ids = np.arange(length) % size
    elif kind == 2:  # a Markov chain that hardly ever moves
        ids = np.cumsum(rng.random(length) < rng.choice([0.01, 0.1, 0.9])) % size
    elif kind == 3:  # two halves that share nothing
        half = max(size // 2, 1)
        ids = np.concatenate([rng.integers(0, half, length // 2 + 1), rng.integers(size // 2, size, length)])
    elif kind == 4:  # one word, and others once each
        ids = np.zeros(length, int)
        ids[:: max(length // size, 1)] = np.arange(len(ids[:: max(length // size, 1)])) % size
    else:  # words in pairs
        ids = np.repeat(rng.integers(0, size, length // 2 + 1), 2)
    tokens = words[ids].tolist()
    cuts = np.sort(rng.choice(len(tokens), min(int(rng.choice([0, 1, 10, len(tokens) // 2])), len(tokens))))
    lines = [" ".join(tokens[a:b]) for a, b in zip([0, *cuts], [*cuts, len(tokens)], strict=True)]
    return [str(rng.choice(["\n", " . \n", "\n\n"])).join(lines)]


def run(seed: int) -> str | None:
    """Return what went wrong with the case of a seed, "" if a TextLDSError refused it, or None."""
    case = make_case(seed)
    try:
        model = fitted(case)
    except TextLDSError:
        return ""
    return check(case, model)


def fitted(case: Case) -> textlds.TextLDS:
    """Count and fit a case."""
    sizes = {name: case.counting[name] for name in ("max_lag", "vocab_size")}
    text = TextSettings(**{name: value for name, value in case.counting.items() if name not in sizes})
    counts = textlds.count(texts=case.texts, threads=1, text=text, **sizes)
    return textlds.fit(counts, threads=1, settings=FitSettings(**case.fitting))


def check(case: Case, model: textlds.TextLDS) -> str | None:
    """Return what is wrong with a model, or None."""
    history = model.history
    likelihoods = [history.start, *history.log_likelihood]
    if not np.isfinite(np.array(likelihoods, float)).all():
        return f"likelihoods {likelihoods}"
    done = len(history.log_likelihood)
    polish = case.fitting["polish"] if history.settings["sketch_size"] else 0
    starts = {1, *range(done - polish + 1, done + 1)}
    losses = [a - b for k, (a, b) in enumerate(itertools.pairwise(likelihoods), 1) if k not in starts]
    if losses and max(losses) > EM_LOSS:
        return f"EM lost {max(losses):.3g} nats per token of {likelihoods}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        try:
            loaded = textlds.load(path)
        except TextLDSError as error:
            return f"what was saved does not load: {error}"
        # the whole corpus in one recipe, and its beginning in all: what goes wrong does so in the first few hundred
        recipes = RECIPES if case.fitting["observations"] == "words" else RECIPES_OF_PROFILES
        for number, options in enumerate(recipes):
            whole = number == case.seed % len(recipes)
            texts = [*(text if whole else text[:_BEGINNING] for text in case.texts), "wb wc unheard wb", ""]
            pairs = (one.embed(texts, threads=1, **options) for one in (model, loaded))
            for one, two in zip(*pairs, strict=True):
                if not np.isfinite(one.vectors).all():
                    return f"vectors of {options} are not finite"
                if not np.array_equal(one.vectors, two.vectors):
                    return f"vectors of {options} change when the model is saved"
        if not np.isfinite(float(model.log_likelihood(case.texts, threads=1))):
            return "the likelihood of the corpus is not finite"
    return None
