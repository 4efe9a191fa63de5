"""``textlds embed``: a vector for every token, or one for every text."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import local_output, number_of, parts_made, print_json, say
from textlds.cli.texts import Text, check_some, open_texts, read_texts, total_size
from textlds.progress import Rate

if TYPE_CHECKING:
    from textlds.cli.vector_files import VectorWriter
    from textlds.corpus.reading.opening import Source
    from textlds.model.textlds import TextLDS, TokenVectors
    from textlds.progress import Progress

_CLUSTER = "Cluster"
_SHOWN_EVERY = 1000  # lines between updates of the progress


def embed_files(
    path: Path,
    files: list[str],
    output: Path | None,
    *,
    options: dict[str, Any],
    pooling: str = "none",
    text_column: str = "text",
    encoding_errors: str = "strict",
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Embed every line of files, or of standard input, into a file or to standard output.

    Args:
        path: The model folder.
        files: What to read; empty for standard input.
        output: A .npz, .parquet or .jsonl file, or None for JSON lines on standard output.
        options: Arguments of :meth:`TextLDS.embed`.
        pooling: One vector per text, or ``"none"``: one per token.
        text_column: Of .jsonl and .parquet files.
        encoding_errors: What to do about bytes that are not UTF-8.
        force: Overwrite the output.
        quiet: Show no progress.

    Returns:
        How much was done: texts, tokens, dimensions and seconds.
    """
    from textlds.api import load
    from textlds.cli.vector_files import JsonLinesWriter, Shape, check_format, vector_file
    from textlds.progress import resolve
    from textlds.storage.folders import check_output
    from textlds.vectors.recipes import check_recipe

    if output is not None:
        check_output(output, force=force)
        check_format(output)
    check_recipe(options["recipe"])
    sources = open_texts(files, text_column=text_column, encoding_errors=encoding_errors, quiet=quiet)
    model = load(path)
    dimensions = model.dimensions(options["recipe"])
    names = [source.name for source in sources]
    shape = Shape(dimensions, options["dtype"], pooled=pooling != "none")
    writer: contextlib.AbstractContextManager[VectorWriter]
    if output is None:
        writer = contextlib.nullcontext(JsonLinesWriter(sys.stdout.buffer, names if files else [], shape))
    else:
        writer = vector_file(output, names, shape, force=force)
    began = time.perf_counter()
    with writer as target:
        texts, tokens = _embed(model, sources, target, options, pooling, resolve(not quiet))
    return {"texts": texts, "tokens": tokens, "dimensions": dimensions, "seconds": time.perf_counter() - began}


def _embed(
    model: TextLDS,
    sources: list[Source],
    target: VectorWriter,
    options: dict[str, Any],
    pooling: str,
    progress: Progress,
) -> tuple[int, int]:
    from textlds.vectors.pooling import pooled
    from textlds.vectors.space import TokenVectors

    texts = tokens = size = shown = 0
    rate = Rate()
    total = total_size(sources)
    with progress.task("Embed", total, "bytes") as task:
        for text, vectors in _with_vectors(model, read_texts(sources), options):
            own = vectors
            if pooling != "none":
                own = TokenVectors([], pooled(vectors, pooling, model.token_weights)[None])  # type: ignore[arg-type]  # checked by the command
            target.add(text.file, text.line, own)
            texts, tokens, size = texts + 1, tokens + len(vectors), size + text.size
            if texts % _SHOWN_EVERY == 0:
                task.advance(size, f"{number_of(texts, 'text')}, {rate.note(tokens - shown)}")
                size, shown = 0, tokens
        task.advance(size, f"{number_of(texts, 'text')}, {rate.note(tokens - shown)}")
    check_some(texts, sources)
    return texts, tokens


def _with_vectors(
    model: TextLDS, texts: Iterator[Text], options: dict[str, Any]
) -> Iterator[tuple[Text, TokenVectors]]:
    """Pair each text with its vectors; the model reads ahead, so texts wait for theirs."""
    waiting: deque[Text] = deque()

    def contents() -> Iterator[str | list[str]]:
        for text in texts:
            waiting.append(text)
            yield text.content

    for vectors in model.embed(contents(), **options):
        yield waiting.popleft(), vectors


def embed_on_scheduler(
    scheduler: str,
    model: Path,
    files: list[str],
    output: str | None,
    *,
    options: dict[str, Any],
    encoding_errors: str,
    quiet: bool,
) -> dict[str, int]:
    """Embed files on a Dask cluster into a folder of Parquet files, and return how much was done.

    Args:
        scheduler: Address of the cluster.
        model: The model folder, which every worker must see.
        files: What to read; every worker must see it.
        output: The folder, or a URL.
        options: Of :class:`textlds.Embedder`.
        encoding_errors: What to do about bytes that are not UTF-8.
        quiet: Show no progress.
    """
    from textlds.corpus.settings import ReadSettings
    from textlds.errors import ArgumentError
    from textlds.integrations.cluster import connect
    from textlds.integrations.dask_embedding import embed_on_cluster
    from textlds.integrations.embedder import Embedder
    from textlds.model.installed import find_model

    if output is None or not files:
        raise ArgumentError("on a cluster, name the files to embed and a folder for the parts: --output FOLDER.")
    # workers have another working folder
    embedder = Embedder(find_model(model).absolute(), **options)
    paths = [str(Path(file).absolute()) if "://" not in file else file for file in files]
    settings = ReadSettings(encoding_errors=encoding_errors)  # type: ignore[arg-type]  # checked there
    with connect(scheduler) as client:
        return embed_on_cluster(client, embedder, paths, output, settings=settings, progress=not quiet)


def command(
    model: opt.Model,
    files: opt.TextFiles = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default="standard output",
            help="The file to write; its name ends in .npz, .parquet or .jsonl. On a cluster, a folder or its URL.",
        ),
    ] = None,
    recipe: opt.Recipe = "context",
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="Precision of the vectors.")] = "float32",
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    pooling: Annotated[
        Literal["none", "mean", "max", "sum", "weighted"],
        typer.Option(
            metavar="WORD",
            help="One vector per text: the mean, max, sum or weighted mean of its tokens; none: no pooling.",
        ),
    ] = "none",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Embed on the Dask cluster at this address.", rich_help_panel=_CLUSTER),
    ] = None,
) -> None:
    """Give every token of a text a vector in its context, or every text one vector. One text per line.

    Without --output, each text is printed as a line of JSON with its line number, tokens and vectors. On a cluster,
    --output is a folder of Parquet files, one per piece of the input; running the command again adds those that are
    missing.
    """
    if scheduler is not None:
        from textlds.integrations.cluster import refuse_options

        refuse_options(
            {"--threads": threads is not None, "--force": force},
            "Start each worker with one thread per core; to make parts again, remove the folder.",
        )
        done = embed_on_scheduler(
            scheduler, model, files or [], output,
            options={"recipe": recipe, "dtype": dtype, "pooling": pooling, "column": text_column},
            encoding_errors=encoding_errors, quiet=quiet,
        )  # fmt: skip
        if as_json:
            print_json({"output": output, **done})
        say(parts_made(output or "", done), quiet=quiet)
        return
    path = None if output is None else local_output(
        output, remedy="Name a file here, or embed on a cluster, which writes to URLs (--scheduler)."
    )  # fmt: skip
    options = {"recipe": recipe, "dtype": dtype, "threads": threads}
    done = embed_files(
        model, files or [], path, options=options, pooling=pooling, text_column=text_column,
        encoding_errors=encoding_errors, force=force, quiet=quiet,
    )  # fmt: skip
    if path is not None:
        if as_json:
            print_json({"output": str(path), **done})
        tokens, texts = number_of(done["tokens"], "token"), number_of(done["texts"], "text")
        vectors = f"{tokens} of {texts}" if pooling == "none" else f"{texts} of {tokens}"
        say(f"Wrote {path}: {vectors}, {done['dimensions']} numbers each.", quiet=quiet)


EXAMPLES = (
    "textlds embed model reviews.txt -o vectors.npz",
    ("textlds embed model *.txt.gz -o vectors.parquet --recipe features", "for tagging"),
    ("textlds embed model reviews.txt -o vectors.npz --pooling mean", "one vector per line"),
    ("textlds embed model data/*.parquet -o vectors --scheduler tcp://host:8786 --pooling mean", "on a Dask cluster"),
    ("echo 'The bank raised rates.' | textlds embed model", "to standard output"),
)
