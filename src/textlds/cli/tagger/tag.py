"""``textlds tagger tag``: tags for every token of a text."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import local_output, parts_made, print_json, say
from textlds.cli.tagger import options as own
from textlds.cli.texts import open_texts, read_texts
from textlds.errors import ArgumentError


def tag_files(
    tagger: Path,
    files: list[str],
    output: Path | None,
    *,
    to: str,
    input: str,
    model: Path | None = None,
    min_confidence: float = 0.0,
    encoding_errors: str = "strict",
    threads: int | None = None,
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Tag files, or standard input, into a file or to standard output.

    Args:
        tagger: The tagger folder.
        files: What to read; empty for standard input.
        output: A .conllu, .jsonl, .tsv or .parquet file, or None for standard output.
        to: The format there.
        input: ``"text"``, ``"tokens"``, ``"conllu"``, or ``"auto"``: what the name of a file says.
        model: Where the tagger's model is, if it was moved.
        min_confidence: See :meth:`Tagger.tag`.
        encoding_errors: What to do about bytes that are not UTF-8.
        threads: How many.
        force: Overwrite the output.
        quiet: Show no progress.

    Returns:
        How much was done: sentences, tokens and seconds.
    """
    from textlds.progress import resolve
    from textlds.storage.folders import check_output, new_file
    from textlds.tagging.reading import read_documents
    from textlds.tagging.tagger import Tagger
    from textlds.tagging.writing import format_of, sentence_writer

    if output is not None:
        check_output(output, force=force)
    kind = to if output is None else format_of(output)
    opened = Tagger.load(tagger, model=model)

    number = itertools.count()
    given: dict[int, Iterator[list[str]]] = {}  # text -> the lines of its sentences, until they are written

    def texts() -> Any:
        for name in files or ["-"]:
            if input in ("conllu", "tokens") or (input == "auto" and ".conllu" in Path(name).name):
                for document in read_documents(name, tokens=input == "tokens"):
                    given[next(number)] = iter([sentence.lines for sentence in document])
                    yield [sentence.tokens for sentence in document]
            else:
                sources = open_texts([name], text_column="text", encoding_errors=encoding_errors, quiet=quiet)
                for text in read_texts(sources):
                    next(number)
                    yield text.content

    sentences = tokens = 0
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        file = sys.stdout.buffer if output is None else stack.enter_context(new_file(output, force=force))
        task = stack.enter_context(resolve(not quiet).task("Tag", None, "sentences"))
        with sentence_writer(file, kind, opened.task, opened.report.get("column")) as write:
            for sentence in opened.tag(texts(), min_confidence=min_confidence, threads=threads):
                if sentence.first == 0:
                    given.pop(sentence.text - 1, None)
                write(sentence, next(given[sentence.text]) if sentence.text in given else ())
                sentences, tokens = sentences + 1, tokens + len(sentence)
                if sentences % 1000 == 0:
                    task.advance(1000, f"{tokens / (time.perf_counter() - began):,.0f} tokens/s")
        task.advance(sentences % 1000, f"{tokens / max(time.perf_counter() - began, 1e-9):,.0f} tokens/s")
    return {"sentences": sentences, "tokens": tokens, "seconds": time.perf_counter() - began}


def tag_on_scheduler(
    scheduler: str, tagger: Path, files: list[str], output: str | None, *, min_confidence: float, quiet: bool
) -> dict[str, int]:
    """Tag files on a Dask cluster into a folder of Parquet files; returns how many parts and texts there are."""
    from textlds.integrations.cluster import connect
    from textlds.integrations.dask_embedding import embed_on_cluster
    from textlds.integrations.tags import BatchTagger

    if output is None or not files:
        raise ArgumentError("on a cluster, name the files to tag and a folder for the parts: --output FOLDER.")
    # workers have another working folder
    paths = [file if "://" in file else str(Path(file).absolute()) for file in files]
    with connect(scheduler) as client:
        batches = BatchTagger(tagger.absolute(), min_confidence=min_confidence)
        return embed_on_cluster(client, batches, paths, output, progress=not quiet)


def command(
    tagger: own.Tagger,
    files: opt.TextFiles = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; its name ends in .conllu, .jsonl, .tsv or .parquet.",
            show_default="standard output",
        ),
    ] = None,
    to: Annotated[Literal["conllu", "jsonl", "tsv"], typer.Option(help="The format on standard output.")] = "conllu",
    input: Annotated[
        Literal["auto", "text", "tokens", "conllu"],
        typer.Option(
            "--input",
            metavar="WORD",
            help="What the files hold. text: one paragraph per line; tokens: one sentence per line with spaces between "
            "them; conllu; auto: conllu if the name says so, otherwise text.",
        ),
    ] = "auto",
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, metavar="NUMBER", help="Leave out tags and entities with a lower confidence.")
    ] = 0.0,
    encoding_errors: opt.EncodingErrors = "strict",
    model: own.Model = None,
    threads: opt.Threads = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Tag on the Dask cluster at this address, into a folder of Parquet files: --output."
        ),
    ] = None,
) -> None:
    """Tag every token of a text, or find its entities.

    Entities are written in IOB2: in CoNLL-U as NER=B-PER in the column MISC, in JSON and Parquet with their characters
    too. CoNLL-U that is read and written as CoNLL-U keeps its comments and its other columns.
    """
    if scheduler is not None:
        from textlds.integrations.cluster import refuse_options

        refuse_options(
            {"--input": input != "auto", "--model": model is not None, "--force": force, "--threads": bool(threads)},
            "Workers read raw text or Parquet with the tagger's own model, and keep the parts that are there: leave it "
            "out.",
        )
        parts = tag_on_scheduler(scheduler, tagger, files or [], output, min_confidence=min_confidence, quiet=quiet)
        if as_json:
            print_json({"output": str(output), **parts})
        say(parts_made(str(output), parts), quiet=quiet)
        return
    target = None if output is None else local_output(output, remedy="With --scheduler, it may be one.")
    done = tag_files(
        tagger, files or [], target, to=to, input=input, model=model, min_confidence=min_confidence,
        encoding_errors=encoding_errors, threads=threads, force=force, quiet=quiet or output is None,
    )  # fmt: skip
    if output is not None:
        if as_json:
            print_json({"output": str(output), **done})
        rate = done["tokens"] / max(done["seconds"], 1e-9)
        say(
            f"Wrote {output}: {done['tokens']:,} tokens of {done['sentences']:,} sentences, {rate:,.0f} tokens/s.",
            quiet=quiet,
        )


EXAMPLES = (
    "textlds tagger tag tagger book.txt -o tagged.conllu",
    ("echo 'The bank raised rates.' | textlds tagger tag tagger --to tsv", "to standard output"),
    ("textlds tagger tag names *.txt.gz -o names.jsonl --min-confidence 0.8", "only confident entities"),
)
