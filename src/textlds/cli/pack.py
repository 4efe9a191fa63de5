"""``textlds pack``: a model in few bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.info import folder_size
from textlds.cli.output import print_json, say
from textlds.errors import ArgumentError

_PRECISIONS = {8: "int8", 16: "float16", 32: "float32"}


def pack_folder(
    model: Path,
    output: Path,
    *,
    bits: int,
    vocab_size: int | None,
    dimensions: int | None,
    buckets: int | None = None,
    force: bool,
) -> dict[str, Any]:
    """Pack a model, write it, and return what became of it.

    Args:
        model: The model folder to read.
        output: The model folder to write.
        bits: Of the numbers in tables with a row per word.
        vocab_size: Words to keep; None keeps all.
        dimensions: Numbers per part of a vector, meaning included; None keeps all.
        buckets: Rows of the regression from spelling, fitted again; None keeps it.
        force: Overwrite the output.
    """
    from textlds.api import load
    from textlds.storage.folders import check_output

    if bits not in _PRECISIONS:
        raise ArgumentError(f"--bits {bits} is not one of {', '.join(map(str, _PRECISIONS))}.")
    check_output(output, force=force)
    precision: Any = _PRECISIONS[bits]
    packed = load(model).quantized(precision, vocab_size=vocab_size, dimensions=dimensions, buckets=buckets)
    packed.save(output, force=force)
    return {
        "output": str(output),
        "bytes": folder_size(output),
        "vocabulary": packed.vocabulary.n_types,
        "dimensions": packed.state_size,
        "meaning_size": packed.meaning_size,
        "precision": precision,
    }


def command(
    model: opt.Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model folder to write.")],
    bits: Annotated[int, typer.Option(metavar="8|16|32", help="Bits per number in the word tables.")] = 8,
    vocab_size: Annotated[
        int | None,
        typer.Option(
            "--vocab-size",
            "--vocab",
            min=1,
            metavar="NUMBER",
            help="Keep this many words; others are read by spelling.",
            show_default="all",
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Numbers per part of a vector, also of meaning.", show_default="all"
        ),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(
            "--spelling-buckets",
            metavar="NUMBER",
            help="Rows of the spelling table, a power of two.",
            show_default="all",
        ),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Make a small copy of a model that loads at once and gives vectors with equal weighting.

    It has no parameters: likelihoods and the recipe paper need the original.
    """
    done = pack_folder(
        model, output, bits=bits, vocab_size=vocab_size, dimensions=dimensions, buckets=buckets, force=force
    )
    if as_json:
        print_json(done)
    other = done["meaning_size"] not in (0, done["dimensions"])
    meaning = f" ({done['meaning_size']} of meaning)" if other else ""
    say(
        f"Wrote {output}: {done['bytes'] / 1e6:.1f} MB, {done['vocabulary']:,} words, {done['dimensions']} numbers per "
        f"part{meaning}, {done['precision']}.",
        quiet=quiet,
    )


EXAMPLES = (
    ("textlds pack model -o small", "a quarter of the size"),
    ("textlds pack model -o tiny --bits 8 --vocab-size 40000 --dimensions 100 --spelling-buckets 16384", "12 MB"),
)
