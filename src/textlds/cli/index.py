"""``textlds index``: the occurrences of words in a corpus, for ``textlds find``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say

if TYPE_CHECKING:
    from textlds.search.sampling import Words

_CHOICES = ("all", "content")


def index_files(
    model: Path,
    files: list[str],
    output: Path,
    *,
    words: str,
    options: dict[str, Any],
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Index the words of files.

    Args:
        model: The model folder.
        files: What to read.
        output: The folder to be made.
        words: ``"all"``, ``"content"``, or a file with one word per line.
        options: Other arguments of :meth:`OccurrenceIndex.build`.
        force: Overwrite the output.
        quiet: Show no progress.

    Returns:
        How much there is: occurrences, words and bytes.
    """
    from textlds.cli.info import folder_size
    from textlds.search import OccurrenceIndex
    from textlds.storage.folders import check_output

    check_output(output, force=force)
    index = OccurrenceIndex.build(
        model, files, output, words=given_words(words), force=force, progress=not quiet, **options
    )
    return {"occurrences": len(index), "words": len(index.words), "bytes": folder_size(output)}


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


def command(
    model: opt.Model,
    files: opt.Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="INDEX", help="The folder to be made.")],
    words: Annotated[
        str,
        typer.Option(
            metavar="all|content|FILE",
            help="content: without the 100 most frequent ones; or those of a file, one per line.",
        ),
    ] = "all",
    min_count: Annotated[int, typer.Option(min=1, help="Leave out words that occur less often.")] = 1,
    per_word: Annotated[
        str, typer.Option(metavar="NUMBER|all", help="Keep so many occurrences of a word, drawn at random.")
    ] = "1000",
    seed: Annotated[int, typer.Option(min=0, help="Of that draw.")] = 0,
    recipe: opt.Recipe = "paper",
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Index the words of a corpus as they are used, so that textlds find can look for a sense.

    One text per line: the other words of a line are the context of a word. The index holds the texts and a copy of the
    model, and needs neither afterwards.
    """
    from textlds.cli.info import human_size

    kept = opt.number_or_word("per-word", per_word, int, "all")
    options = {
        "min_count": min_count, "per_word": None if kept == "all" else kept, "seed": seed, "recipe": recipe,
        "threads": threads, "text_column": text_column, "encoding_errors": encoding_errors,
    }  # fmt: skip
    done = index_files(model, files, output, words=words, options=options, force=force, quiet=quiet)
    if as_json:
        print_json({"output": str(output), **done})
    say(
        f"Wrote {output}: {done['occurrences']:,} occurrences of {done['words']:,} words, {human_size(done['bytes'])}.",
        quiet=quiet,
    )


EXAMPLES = (
    "textlds index model corpus.txt -o index",
    ("textlds index model *.txt.gz -o index --per-word 200 --min-count 5", "a smaller one"),
    ("textlds index model corpus.txt -o index --words terms.txt --per-word all", "some words, every occurrence"),
)
