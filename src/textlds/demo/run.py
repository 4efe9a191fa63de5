"""The steps of the demonstration, each with a sentence on what it shows."""

from __future__ import annotations

import bisect
import itertools
import os
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textlds.demo.corpus import read_corpus, source_files

if TYPE_CHECKING:
    from rich.console import Console

    from textlds.counts.lagcounts import LagCounts
    from textlds.model.exploring import Transition
    from textlds.model.textlds import TextLDS

VOCAB_SIZE, MIN_COUNT = 6_000, 5
PSEUDOCOUNT = 100.0  # much for so little text: what rare words teach here is mostly noise

# Chosen once by looking at what this text is about.
WORDS = ("should", "list", "first", "None", "returns", "because")
IN_CONTEXT = (
    ("key", "The key of the dictionary is a string.", "Press the key on the keyboard to move the cursor."),
    ("order", "The order of the polynomial is the degree of the spline.", "The items are sorted in ascending order."),
    ("function", "The Bessel function of the first kind.", "The function is called with the arguments."),
)
ENGLISH = "en"
ENGLISH_IN_CONTEXT = (
    ("bank", "They walked along the bank of the river.", "The bank raised its interest rates."),
    ("Java", "They sailed from Sumatra to Java.", "The Java compiler translates code."),
    ("mouse", "The cat caught a mouse.", "The mouse and the keyboard are connected to the computer."),
)
ENGLISH_UNSEEN = (
    ("zorbium", "The zorbium atom has a nucleus and electrons.", "The zorbium was served with rice and sauce."),
)
_EMBED_CHARACTERS = 2_000_000  # about 400,000 tokens, in a second or two


def run_demo(
    *,
    state_size: int = 100,
    iterations: int = 30,
    seed: int = 0,
    output: Path | None = None,
    force: bool = False,
    threads: int | None = None,
    console: Console | None = None,
) -> TextLDS:
    """Train on documentation strings and print what came out.

    Args:
        state_size: Length of a token's vector.
        iterations: EM iterations.
        seed: Of the fit.
        output: Where to keep the model; nothing is written without it.
        force: Overwrite the output.
        threads: How many; all cores by default.
        console: Where to print; standard output by default.
    """
    from rich.console import Console

    from textlds.linalg.threads import check_threads
    from textlds.storage.folders import check_output

    if output is not None:
        check_output(output, force=force)
    show = _Show(console or Console(highlight=False))
    threads = check_threads(threads)
    began = time.perf_counter()
    english = _installed(show)
    texts, counts = _read_and_count(show, threads)
    model = _fit(show, counts, {"state_size": state_size, "iterations": iterations, "seed": seed, "threads": threads})
    if output is not None:
        model.save(output, force=force)
    _neighbours(show, model)
    _contexts(show, model)
    _transitions(show, model)
    _speed(show, model, texts, threads)
    show.last_words(time.perf_counter() - began, output, english=english)
    return model


def _read_and_count(show: _Show, threads: int) -> tuple[list[str], LagCounts]:
    from textlds.api import count
    from textlds.corpus.settings import CountSettings
    from textlds.progress import RichProgress

    show.step(
        "Text",
        "The corpus is already on this machine: the documentation strings of Python and of the libraries that textlds "
        "uses, read from their source files.",
    )
    files = source_files()
    began = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(_compile)  # while other processes read
        with RichProgress().task("Read", len(files), "files") as task:
            texts = list(read_corpus(files, processes=min(threads, 4), on_files=task.advance))
        if not compiled.done():
            show.note("Compiling, once per machine ...")
        compiled.result()
    read = time.perf_counter()
    counts = count(
        texts=iter(texts), counting=CountSettings(vocab_size=VOCAB_SIZE, min_count=MIN_COUNT, memory="1GB"),
        threads=threads, progress=True,
    )  # fmt: skip
    show.result(
        f"{counts.tokens:,} tokens of {len(texts):,} docstrings in {len(files):,} files ({read - began:.0f} s); "
        f"{counts.vocabulary.n_types:,} words kept, pairs of words counted up to {counts.max_lag} apart "
        f"({time.perf_counter() - read:.1f} s)."
    )
    return texts, counts


def _compile() -> None:
    """Have the counter compiled by letting it count a little."""
    from textlds.api import count

    count(texts=iter(["A few words in a row.", "And a few more."]), vocab_size=4, threads=1)


def _fit(show: _Show, counts: LagCounts, settings: dict[str, Any]) -> TextLDS:
    from textlds.api import fit

    show.step(
        "Learning",
        "From here on, only the counts are needed, not the text. The likelihood increases with every iteration of EM:",
    )
    model = fit(counts, pseudocount=PSEUDOCOUNT, progress=True, **settings)
    history = model.history
    values = [history.start or 0.0, *history.log_likelihood]
    show.curve(values, history.seconds[-1] if history.seconds else 0.0)
    return model


def _installed(show: _Show) -> bool:
    """Show the English model, if its package is installed; it takes some seconds."""
    from textlds.errors import TextLDSError
    from textlds.model.installed import find_model
    from textlds.model.textlds import TextLDS

    try:
        model = TextLDS.load(find_model(ENGLISH))
    except TextLDSError:  # not installed, or not as it should be: the demonstration continues with its own
        return False
    show.step(
        "A model of English",
        f"The package textlds-en has read Wikipedia and knows {model.vocabulary.n_types:,} words. What a word is like "
        "depends on the text around it. The same word in two contexts, and the words most similar to it in each:",
    )
    _in_contexts(show, model, ENGLISH_IN_CONTEXT)
    show.sentence("A word that nobody has ever read has a vector as well, from its spelling and from its context:")
    _in_contexts(show, model, ENGLISH_UNSEEN)
    return True


def _neighbours(show: _Show, model: TextLDS) -> None:
    show.step("Words", "Words with similar meanings have similar vectors. The nearest neighbours of some words:")
    show.pairs([(word, _names(model.similar(word, n=7))) for word in WORDS if word in model.vocabulary])


def _contexts(show: _Show, model: TextLDS) -> None:
    show.step("Words in context", "Vectors depend on the context: the same word, two contexts, other neighbours.")
    _in_contexts(show, model, [example for example in IN_CONTEXT if example[0] in model.vocabulary])


def _in_contexts(show: _Show, model: TextLDS, examples: Sequence[tuple[str, ...]]) -> None:
    for word, *contexts in examples:
        show.contexts(word, [(text, _names(model.similar(word, context=text, n=6))) for text in contexts])


def _transitions(show: _Show, model: TextLDS) -> None:
    show.step(
        "Transitions",
        "The state changes from word to word. Three of its transitions, as words that are likely before and after:",
    )
    readable = sorted(model.dynamics(24, words=5), key=_strange_words)[:3]  # sorted() keeps equal ones by strength
    show.pairs([(" ".join(pair.source), " ".join(pair.target)) for pair in readable], arrow=True)


def _strange_words(pair: Transition) -> int:
    """Count what is not a word: punctuation leads many transitions of technical text."""
    return sum(not word.isalpha() for word in (*pair.source, *pair.target))


def _speed(show: _Show, model: TextLDS, texts: Sequence[str], threads: int) -> None:
    show.step("Speed", "A vector for every token, which depends on the whole sentence:")
    lengths = itertools.accumulate(len(text) for text in texts)
    sample = texts[: bisect.bisect(list(lengths), _EMBED_CHARACTERS)]
    sum(len(text) for text in model.embed(texts[:10], threads=threads))  # compile
    began = time.perf_counter()
    tokens = sum(len(text) for text in model.embed(sample, threads=threads))
    seconds = time.perf_counter() - began
    show.result(
        f"{tokens:,} tokens in {seconds:.2f} s: {tokens / seconds:,.0f} tokens per second on {threads} "
        f"thread{'s' if threads > 1 else ''}."
    )


def _names(found: Sequence[tuple[str, float]]) -> str:
    return " ".join(word for word, _ in found)


class _Show:
    """Prints the steps."""

    def __init__(self, console: Console) -> None:
        self._console, self._steps = console, 0

    def step(self, title: str, sentence: str) -> None:
        self._steps += 1
        self._console.print(f"\n[bold cyan]{self._steps}. {title}[/bold cyan]")
        self._console.print(sentence)

    def sentence(self, text: str) -> None:
        self._console.print(f"\n{text}", markup=False)

    def result(self, text: str, *, style: str = "green") -> None:
        from rich.padding import Padding

        self._console.print(Padding(_text(text), (0, 0, 0, 3)), style=style)

    def note(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False)

    def pairs(self, rows: Sequence[tuple[str, str]], *, arrow: bool = False) -> None:
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_column()
        table.add_column(style="bold", no_wrap=not arrow)
        for left, right in rows:
            table.add_row(" ", _text(left), *([_text("→")] if arrow else []), _text(right))
        self._console.print(table)

    def contexts(self, word: str, rows: Sequence[tuple[str, str]]) -> None:
        from rich.padding import Padding

        self._console.print()
        for context, neighbours in rows:
            shown = _text(context)
            shown.highlight_words([word], "bold underline")
            self._console.print(Padding(shown, (0, 0, 0, 3)))
            self._console.print(Padding(_text(neighbours), (0, 0, 0, 7)), style="green")

    def curve(self, values: Sequence[float], seconds: float) -> None:
        self.result(sparkline(values), style="bold green")
        self.result(
            f"{values[0]:.2f} → {values[-1]:.2f} nats per token relative to a model without context, "
            f"{len(values) - 1} iterations, {seconds:.0f} s."
        )

    def last_words(self, seconds: float, output: Path | None, *, english: bool) -> None:
        kept = f" The model is in {output}." if output else ""
        self._console.print(f"\n[bold]That took {seconds:.0f} s.[/bold]{kept} Go on with:\n")
        for arguments in (
            *(["similar en Mercury --context 'Mercury is a planet.'"] if english else []),
            "train your-text.txt -o model",
            "similar model bank --context 'The bank of the river.'",
            "embed model your-text.txt -o vectors.npz",
        ):
            self._console.print(f"   [cyan]{command_name()} {arguments}[/cyan]", soft_wrap=True)


def command_name() -> str:
    """Return how `textlds` is called from here: by its name, or by its path where it is not on the search path."""
    if shutil.which("textlds"):
        return "textlds"
    command = Path(sys.executable).parent / "textlds"
    return os.path.relpath(command) if command.exists() else f"{sys.executable} -m textlds"


def _text(value: str) -> Any:
    from rich.text import Text

    return Text(value)


def sparkline(values: Sequence[float], *, width: int = 60) -> str:
    """Return values as a line of blocks, the lowest and the highest of them as the shortest and the tallest block."""
    blocks = "▁▂▃▄▅▆▇█"
    step = max(1, -(-len(values) // width))
    shown = [*values[:-1:step], values[-1]]
    low, high = min(shown), max(shown)
    scale = (len(blocks) - 1) / (high - low) if high > low else 0.0
    return "".join(blocks[round((value - low) * scale)] for value in shown)
