"""``textlds export``: one vector per word, for tools that know no context."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say

if TYPE_CHECKING:
    from textlds.model.static import ClassRows, VectorKind

Format = Literal["word2vec", "word2vec-binary", "glove", "spacy"]


def export_vectors(
    path: Path,
    output: Path,
    *,
    format: Format = "word2vec",
    vectors: VectorKind = "meaning",
    classes: ClassRows = "keep",
    language: str = "en",
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Write the static word vectors of a model to a file, or to a folder for spaCy.

    Args:
        path: The model folder.
        output: What to write.
        format: ``"word2vec"``, ``"word2vec-binary"``, ``"glove"`` or ``"spacy"``.
        vectors: ``"meaning"``, ``"use"``, ``"input"`` or ``"output"``: see :mod:`textlds.model.static`.
        classes: ``"keep"`` or ``"drop"`` the classes of unknown words.
        language: The code of the language, for spaCy.
        force: Overwrite the output.
        quiet: Show no progress.

    Returns:
        How much was written: words and dimensions.
    """
    options: dict[str, Any] = {"vectors": vectors, "classes": classes, "force": force}
    if format == "spacy":
        from textlds.integrations import spacy

        table = spacy.save_vectors(path, output, language=language, **options)
    else:
        from textlds.integrations import gensim

        table = gensim.save_vectors(path, output, format=format, progress=not quiet, **options)
    return {"words": len(table), "dimensions": table.vectors.shape[1]}


def command(
    model: opt.Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write; for spaCy, the folder.")
    ],
    format: Annotated[
        Format,
        typer.Option(
            metavar="WORD",
            help="word2vec: text with a header; word2vec-binary; glove: text without one; spacy: a folder to load.",
        ),
    ] = "word2vec",
    vectors: Annotated[
        Literal["meaning", "use", "input", "output"],
        typer.Option(
            metavar="WORD",
            help="meaning: what a word is about; use: how it is used; input: what it tells the fitted model (K W); "
            "output: where it is likely (W C).",
        ),
    ] = "meaning",
    words_only: Annotated[
        bool, opt.flag("--words-only", "Leave out the classes of unknown words: <unk>, <unk:Capital> ...")
    ] = False,
    language: Annotated[str, typer.Option(metavar="CODE", help="Language code, for spaCy.")] = "en",
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Write one vector per word, for gensim, spaCy and other tools that read word2vec or GloVe files.

    These vectors do not depend on context; those that do come from textlds embed.
    """
    done = export_vectors(
        model, output, format=format, vectors=vectors, classes="drop" if words_only else "keep", language=language,
        force=force, quiet=quiet,
    )  # fmt: skip
    if as_json:
        print_json({"output": str(output), "format": format, "vectors": vectors, **done})
    say(f"Wrote {output}: {done['words']:,} words, {done['dimensions']} numbers each.", quiet=quiet)


EXAMPLES = (
    "textlds export model -o vectors.txt",
    ("textlds export model -o vectors.bin --format word2vec-binary --words-only", "a third of the size"),
    ("textlds export model -o vectors --format spacy", "then spacy.load('vectors')"),
)
