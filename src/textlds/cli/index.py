"""``textlds index``: the occurrences of words in a corpus, for ``textlds find``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.corpus.settings import IndexSettings

if TYPE_CHECKING:
    from textlds.search.sampling import Words

_CHOICES = ("all", "content")


def given_words(words: str) -> Words:
    """Return the choice of words that an option means."""
    from textlds.corpus.settings import TextSettings
    from textlds.corpus.vocabulary import Vocabulary
    from textlds.errors import ArgumentError

    if words in _CHOICES:
        return words
    if not Path(words).is_file():
        raise ArgumentError(f"--words {words}: neither {' nor '.join(_CHOICES)} nor a file with one word per line.")
    known = Vocabulary.read(words, TextSettings(digits="keep", unknown="single"))
    return known.words[: known.n_types]


@opt.with_settings
def command(
    model: opt.Model,
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="INDEX", help="The index folder to write.")],
    words: Annotated[
        str,
        typer.Option(
            metavar="all|content|FILE",
            help="Which words to index; content: all but the 100 most frequent; or a file with one word per line.",
        ),
    ] = "all",
    recipe: opt.Recipe = "meaning",
    threads: opt.Threads = None,
    resume: opt.Resume = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    *,
    settings: IndexSettings,
) -> None:
    """Index the occurrences of words in a corpus, for textlds find and textlds senses.

    One text per line: the line is the context of its words. The index contains the texts and a copy of the model; it
    does not need the originals afterwards.
    """
    from textlds.cli.info import folder_size, human_size
    from textlds.search import OccurrenceIndex

    index = OccurrenceIndex.build(
        model, files, output, words=given_words(words), recipe=recipe, settings=settings,
        threads=threads, resume=resume, force=force, progress=not quiet,
    )  # fmt: skip
    size = folder_size(output)
    if as_json:
        print_json({"output": str(output), "occurrences": len(index), "words": len(index.words), "bytes": size})
    say(f"Wrote {output}: {len(index):,} occurrences of {len(index.words):,} words, {human_size(size)}.", quiet=quiet)


EXAMPLES = (
    "textlds index model corpus.txt -o index",
    ("textlds index model *.txt.gz -o index --per-word 200 --min-count 5", "a smaller one"),
    ("textlds index model corpus.txt -o index --recipe context", "tell uses apart by grammar, not by topic"),
    ("textlds index model corpus.txt -o index --words terms.txt --per-word all", "some words, every occurrence"),
)
