"""A budget instead of settings: the largest model that time and memory allow.

The rates of this machine are measured for about a second: how fast a sample of the text is counted, how fast its
counts are multiplied by panels, and how fast matrices are. What a model costs follows from them. With T tokens, V
words, h dimensions, n iterations, R lags, p the size of the sketch, and E entries in all counts:

    counting   T                               tokens
    products   E p + E_1 · 16 h + M · 4.5 d    entries times columns: the moments, profiles, meaning
               + V · 600 (h + d)               and spelling
    dense      6 V p² + 12 n R p² h            flops: bases and whitening; EM
    memory     8 E + 12 max(M, V p)            bytes of fitting; counting has a budget of its own. What the process
               + 12 V h + (18 K + 8 V) d       has at the start, libraries and compiled code, is part of it: 0.2 GB

8 E are the counts (no more than half of the memory: larger ones are read as they are used), M the entries of the merged
counts of the K = 50,000 most frequent words, which meaning comes from (three quarters of E at 75M tokens; no more than
K²), and d its length. p = h, and
where one-hot words are observed, the size of the sketch; its basis takes 8 E p / R products more. E is
extrapolated from a corpus of 75M tokens: it grows as T^0.8 V^0.2, up to R V². V is no more than the text has: the words
of the sample, which grow as T^0.7 at most. h is no more than little text serves: what it would be without a budget.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from textlds.corpus.reading.sources import Source
from textlds.corpus.settings import CountSettings, TextSettings
from textlds.counts.counting import count_corpus
from textlds.counts.plan import parse_memory
from textlds.errors import ArgumentError, TextLDSError
from textlds.learn.settings import AUTO_STATE_SIZE, FitSettings, auto_meaning_size, auto_state_size
from textlds.lexicon.meaning import CORE
from textlds.lexicon.profiles import PRODUCTS
from textlds.linalg.sparse import SparseMatrix
from textlds.linalg.threads import check_threads, one_blas_thread
from textlds.storage.work import BUDGET, read_work, work_folder

# Words, state size, iterations: from what is hardly worth having to more than most need.
LADDER: tuple[tuple[int, int, int], ...] = (
    (5_000, 50, 10), (10_000, 50, 20), (20_000, 100, 20), (50_000, 100, 20), (50_000, 200, 20),
    (100_000, 200, 20), (200_000, 200, 20), (200_000, 300, 20), (200_000, 400, 20),
)  # fmt: skip
_SAMPLE = 4 << 20  # bytes of text that are counted to measure how fast it goes
_SAMPLING = "1GB"  # for counting it, more than it takes
_PANEL = 64  # columns
_ENOUGH = 200_000  # entries that a product has to have for its time to be that of entries, not of the call
_NEW_WORDS = 0.7  # the exponent with which words grow, at most
_REFERENCE = (75e6, 1e5, 104e6)  # tokens, words and entries of all lags of the corpus that E is extrapolated from
_FIRST_LAG = 0.08  # its share of the entries
_MERGED = 0.75  # entries of the merged counts per entry of all lags
_MEANING = 4.5  # products per column of meaning
_SPELLING = 600  # features of a word times products that their regression takes
_UNPACKED = 4.0  # bytes of text per byte of a compressed file
_TOKENS_PER_WORD = 20  # fewer would leave most words with too few occurrences
_MARGIN = 1.3  # on all costs


@dataclass(frozen=True)
class Rates:
    """What this machine does with this text, on all its threads.

    Attributes:
        tokens_per_byte: Of text.
        counting: Seconds per token.
        products: Seconds per entry of a sparse matrix and column of a panel.
        dense: Seconds per floating-point operation.
        rows: Of the vocabulary of a sample, unknown classes included.
        sampled: Tokens of the sample.
        resident: Bytes of memory that the process has already.
    """

    tokens_per_byte: float
    counting: float
    products: float
    dense: float
    rows: float = math.inf
    sampled: float = math.inf
    resident: float = 0.0


@dataclass(frozen=True)
class Choice:
    """Settings that fit a budget, and what they are expected to cost.

    Attributes:
        counting: With the number of words.
        settings: With the state size and the iterations.
        tokens: How many the text is expected to have.
        words: How many the model is expected to have, at most.
        seconds: From text to model.
        bytes: At most, of memory.
    """

    counting: CountSettings
    settings: FitSettings
    tokens: float
    words: float
    seconds: float
    bytes: float

    def __str__(self) -> str:
        steps = "1 iteration" if self.settings.iterations == 1 else f"{self.settings.iterations} iterations"
        return (
            f"about {_tokens(self.tokens)}: up to {self.words:,.0f} words, "
            f"state size {self.settings.state_size}, {steps}; "
            f"expected to take {_duration(self.seconds)} and {_size(self.bytes)}"
        )


def _tokens(number: float) -> str:
    return f"{number / 1e6:,.1f}M tokens" if number >= 1e5 else f"{number:,.0f} tokens"


def _size(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{max(1, round(number / 1e6)):,} MB"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{max(math.ceil(seconds), 2)} seconds"


def choose_settings(
    sources: Sequence[Source],
    *,
    minutes: float,
    text: TextSettings | None = None,
    counting: CountSettings | None = None,
    settings: FitSettings | None = None,
    threads: int | None = None,
) -> Choice:
    """Return the settings of the largest model within a budget. Settings that are not the defaults are kept.

    Args:
        sources: The text; its size must be known.
        minutes: From text to model.
        text: How text becomes tokens.
        counting: Its ``memory`` is the other budget.
        settings: Of the fit.
        threads: How many.
    """
    if not minutes > 0:
        raise ArgumentError(f"minutes={minutes} must be more than 0.")
    counting, settings = counting or CountSettings(), settings or FitSettings()
    sizes = [source.size for source in sources]
    unknown = next((source.name for source in sources if source.size is None), None)
    if unknown is not None:
        raise ArgumentError(f"the size of {unknown} is not known, so no budget can be kept. Give a file, or settings.")
    packed = [source.name.endswith((".gz", ".bz2", ".xz", ".zst", ".parquet")) for source in sources]
    size = sum((s or 0) * (_UNPACKED if p else 1) for s, p in zip(sizes, packed, strict=True))
    rates = measure(sources, text, counting, threads=check_threads(threads))
    return choose(size * rates.tokens_per_byte, rates, counting, settings, minutes=minutes)


def chosen(choice: Choice, minutes: float) -> dict[str, Any]:
    """Return what is kept of a choice with unfinished work, as JSON: a second one might be another."""
    settings = choice.settings
    sizes = {"state_size": settings.state_size, "iterations": settings.iterations}
    return {"minutes": minutes, "vocab_size": choice.counting.vocab_size, **sizes}


def chosen_before(
    output: str | os.PathLike[str], minutes: float, counting: CountSettings, settings: FitSettings
) -> tuple[dict[str, Any] | None, CountSettings, FitSettings] | None:
    """Return what the work that is resumed was begun with, and the settings of then; None if there is no such work.

    What is finished has no work: its settings are those of the model, whatever would be chosen now.
    """
    folder = work_folder(output)
    if not folder.exists():
        return (None, counting, settings) if Path(output).exists() else None
    try:
        kept = read_work(folder)[0].get(BUDGET)
    except (TextLDSError, OSError):  # resuming says what is wrong
        return None
    if not isinstance(kept, dict) or set(kept) != {"minutes", "vocab_size", "state_size", "iterations"}:
        return None
    then = kept["minutes"]
    if then != minutes:
        shown = f"{then:g}" if isinstance(then, int | float) else f"{then!r:.20}"
        raise ArgumentError(
            f"{folder} was begun with --minutes {shown}, not {minutes:g}. Give the same to resume it, or start again "
            f"with --force and without --resume."
        )
    if counting.vocab_size == CountSettings().vocab_size:
        counting = replace(counting, vocab_size=kept["vocab_size"])
    own = {name: kept[name] for name in ("state_size", "iterations") if getattr(settings, name) == "auto"}
    return kept, counting, replace(settings, **own)


def choose(tokens: float, rates: Rates, counting: CountSettings, settings: FitSettings, *, minutes: float) -> Choice:
    """Return the highest step of the ladder that fits; an error names the least budget that would do."""
    memory = parse_memory(counting.memory)
    steps = [_choice(step, tokens, rates, counting, settings) for step in LADDER]
    steps = [step for step in steps if step.counting.vocab_size * _TOKENS_PER_WORD <= tokens] or steps[:1]
    fitting = [step for step in steps if step.seconds <= 60 * minutes and step.bytes <= memory]
    if fitting:  # counting and loading take what they are given, beside what is there
        found = fitting[-1]
        return replace(found, counting=replace(found.counting, memory=int(memory - rates.resident)))
    least = steps[0]
    unit = "minute" if minutes == 1 else "minutes"
    raise ArgumentError(
        f"a budget of {minutes:g} {unit} and {_size(memory)} is too small for any model of this text (about "
        f"{_tokens(tokens)}): the smallest takes {_duration(least.seconds)}, of which counting "
        f"{_duration(tokens * rates.counting * _MARGIN)}, and {_size(least.bytes)}. Give more (--minutes, --memory), "
        f"or less text."
    )


def entries(tokens: float, vocab_size: int, max_lag: int) -> float:
    """Return how many entries the counts of a corpus are expected to have."""
    reference_tokens, words, known = _REFERENCE
    growth: float = (tokens / reference_tokens) ** 0.8 * (vocab_size / words) ** 0.2
    return known * growth * max_lag / 7


def _choice(
    step: tuple[int, int, int], tokens: float, rates: Rates, counting: CountSettings, settings: FitSettings
) -> Choice:
    """Return the settings of a step with its costs; what is not a default is kept."""
    default = CountSettings()
    words, state, iterations = step
    if counting.vocab_size == default.vocab_size:
        counting = replace(counting, vocab_size=words)
    # a part of the text has no more words than all of it, so that all of it can serve what its sample can
    served = auto_state_size(tokens, int(min(rates.rows, counting.vocab_size)))
    if served == AUTO_STATE_SIZE:
        served = counting.vocab_size
    if settings.state_size == "auto":
        settings = replace(settings, state_size=int(min(state, served)))
    if settings.iterations == "auto":
        settings = replace(settings, iterations=iterations)
    grown = rates.rows * max(1.0, tokens / rates.sampled) ** _NEW_WORDS
    V, h, n, R = int(min(counting.vocab_size, grown)), settings.size, int(settings.iterations), counting.max_lag
    p = settings.sketch_size(V) or h
    d = auto_meaning_size(h, V) if settings.meaning_size == "auto" else settings.about
    E = min(entries(tokens, V, R), R * float(V) ** 2)
    M = min(_MERGED * E, float(min(V, CORE)) ** 2)
    columns = E * p + _FIRST_LAG * E * PRODUCTS * h + _MEANING * M * d + _SPELLING * V * (h + d)
    if settings.observations == "words":
        columns += 8 * E * p / R
    flops = 6.0 * V * p * p + 12.0 * n * R * p * p * h
    seconds = tokens * rates.counting + columns * rates.products + flops * rates.dense
    room = max(parse_memory(counting.memory) - rates.resident, 0.0)
    tables = 12.0 * V * h + 18.0 * min(V, CORE) * d + 8.0 * V * d
    held = rates.resident + min(8 * E, room / 2) + _MARGIN * (12.0 * max(M, V * p) + tables)
    return Choice(counting, settings, tokens, V, _MARGIN * seconds, held)


def measure(sources: Sequence[Source], text: TextSettings | None, counting: CountSettings, *, threads: int) -> Rates:
    """Measure the rates; kernels that are not compiled yet are compiled first, which is not counted."""
    sample = list(_sample(sources))
    size = max(sum(len(line.encode()) + 1 for line in sample), 1)
    with _quiet():  # all that counting has to say, it says when it counts the text
        sampled = counting.for_training(text)
        sampled = replace(sampled, vocab_size=min(counting.vocab_size, 20_000), vocabulary=None, memory=_SAMPLING)
        count_corpus(iter(["a b c d e f g h", "b c a d"]), text=text, settings=sampled, threads=threads)
        began = time.perf_counter()
        counts = count_corpus(iter(sample), text=text, settings=sampled, threads=threads)
        seconds = time.perf_counter() - began
    tokens, rows = max(int(counts.unigrams.sum()), 1), float(len(counts.vocabulary))
    some = counts.lags[-1]
    if some.nnz < _ENOUGH:
        some = _any_matrix()
    matrix = SparseMatrix.from_scipy(some, threads=threads)
    panel = np.ones((matrix.shape[1], _PANEL), np.float32)
    product = _best(lambda: matrix.matmat(panel)) / (some.nnz * _PANEL)
    square = np.ones((400, 400))
    with one_blas_thread():
        dense = _best(lambda: square @ square) / (2 * 400**3)
    known = counts.vocabulary.n_types < sampled.vocab_size
    rows = rows if known else math.inf
    return Rates(tokens / size, seconds / tokens, product, dense, rows, tokens, resident_bytes())


def resident_bytes() -> float:
    """Return how much memory the process has; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _any_matrix(size: int = 20_000) -> sp.csr_array:
    """Return a matrix with enough entries, ten or more in every row."""
    per_row = -(-_ENOUGH // size)
    columns = np.sort(np.random.default_rng(0).integers(0, size, (size, per_row), np.int32), axis=1)
    starts = np.arange(0, columns.size + 1, per_row, dtype=np.int32)
    return sp.csr_array((np.ones(columns.size, np.float32), columns.ravel(), starts), shape=(size, size))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    log = logging.getLogger("textlds")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats + 1):  # the first may compile
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def _sample(sources: Sequence[Source]) -> Iterator[str]:
    """Yield lines from the beginning of the sources, about ``_SAMPLE`` bytes."""
    size = 0
    for chunk in itertools.chain.from_iterable(source.chunks(1 << 18) for source in sources):
        for line in chunk.data.decode("utf-8").splitlines():
            yield line.replace("\x1f", " ")
        size += len(chunk.data)
        if size >= _SAMPLE:
            return
