"""Text that the tests of counting make themselves: Zipf-distributed words in sentences, several files."""

from __future__ import annotations

import numpy as np

from textlds.corpus.reading.records import IterableSource
from textlds.corpus.reading.sources import Source
from textlds.corpus.settings import CountSettings, ReadSettings
from textlds.counts import counting

STEMS = "the of and a to in is was he for it with as his on be at by i this had not are but from or have an they which"
CLITICS = [".", ",", "n't", "'s", "(", ")", "1984", "3.14", "U.S."]


def flat(options: dict) -> dict:
    """Put the options of counting that are given one by one into their settings."""
    own = {name: options.pop(name) for name in CountSettings.options() if name in options}
    return {"settings": CountSettings(**own), **options}


def count_corpus(sources, **options):
    return counting.count_corpus(sources, **flat(options))


def count_to_folder(sources, output, **options):
    counting.count_to_folder(sources, output, **flat(options))


def words(seed: int, n_types: int) -> list[str]:
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxzéüñ"))
    made = dict.fromkeys(STEMS.split() + CLITICS)
    while len(made) < n_types:
        word = "".join(rng.choice(letters, rng.integers(2, 9)))
        made[rng.choice([word, word.capitalize(), word.upper(), word + "ing", word + "s", f"{word}-{word[:2]}"])] = None
    return list(made)


def make_text(seed: int, n_tokens: int, n_types: int = 2000, blank_every: int = 12) -> str:
    """Lines of about 15 tokens, with blank lines between documents."""
    rng = np.random.default_rng(seed)
    types = words(seed % 3, n_types)
    ranks = np.minimum(rng.zipf(1.25, n_tokens) - 1, n_types - 1)
    lines, done = [], 0
    while done < n_tokens:
        n = int(rng.integers(1, 30))
        lines.append(" ".join(types[r] for r in ranks[done : done + n]))
        if rng.integers(blank_every) == 0:
            lines.append("")
        done += n
    return "\n".join(lines) + "\n"


def sources(*texts: str) -> list[Source]:
    """Each text a source of its own, as if it were a file."""
    return [IterableSource([text], ReadSettings()) for text in texts]
