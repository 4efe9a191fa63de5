"""Options that several commands share. They are named as the arguments of the Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

_FIT, _TEXT = "Fitting", "Text"

# What every command may have

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages; errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output, and throw away unfinished work for it.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with interrupted work.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="How many threads; the result is the same.", show_default="all cores")
]
Recipe = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What a vector is made of: context, features (for classifiers), paper, a name stored with the model, or "
        "spelled out, such as 'state+word, fitted, filter'.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.", show_default=False)]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Text, one paragraph a line: files (also .gz .bz2 .xz .zst .jsonl .parquet), folders, patterns, URLs, "
        "or - for standard input.",
        show_default=False,
    ),
]

TextFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Text, one a line (also .gz .bz2 .xz .zst .jsonl .parquet).",
        show_default="standard input",
    ),
]

# How text becomes tokens and counts

VocabSize = Annotated[
    int, typer.Option(min=1, help="Keep this many of the most frequent words.", rich_help_panel=_TEXT)
]
MaxLag = Annotated[int, typer.Option(min=1, help="Count words up to this far apart.", rich_help_panel=_TEXT)]
Tokenizer = Annotated[
    Literal["words", "whitespace"],
    typer.Option(help="words: raw text; whitespace: text that is tokenised already.", rich_help_panel=_TEXT),
]
Digits = Annotated[
    Literal["num", "zero", "keep"],
    typer.Option(help="Runs of digits become NUM, or each digit becomes 0, or stays.", rich_help_panel=_TEXT),
]
Unknown = Annotated[
    Literal["shape", "single"],
    typer.Option(help="Unknown words fall into classes by their shape, or into one.", rich_help_panel=_TEXT),
]
Boundaries = Annotated[
    Literal["line", "sentence", "document", "none"],
    typer.Option(help="What no context crosses the end of.", rich_help_panel=_TEXT),
]
BoundaryToken = Annotated[
    str | None,
    typer.Option(help="Put this token at boundaries and let contexts run across it.", rich_help_panel=_TEXT),
]
Vocab = Annotated[
    Path | None, typer.Option("--vocab", help="Use the words of this file, one a line.", rich_help_panel=_TEXT)
]
MinCount = Annotated[int, typer.Option(min=1, help="Keep no word that occurs less often.", rich_help_panel=_TEXT)]
Memory = Annotated[str, typer.Option(help="Budget for counting, such as 4GB.", rich_help_panel=_TEXT)]
TextColumn = Annotated[str, typer.Option(help="Column of .jsonl and .parquet with the text.", rich_help_panel=_TEXT)]
EncodingErrors = Annotated[
    Literal["strict", "replace"], typer.Option(help="What to do about bytes that are not UTF-8.", rich_help_panel=_TEXT)
]

# How a model is fitted to counts

StateSize = Annotated[int, typer.Option(min=1, help="Length of a token's vector.")]
Iterations = Annotated[int, typer.Option(min=0, help="EM iterations at most.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same model, to the last bit.")]
PseudocountOption = Annotated[
    str,
    typer.Option(
        metavar="NUMBER|paper", help="Added to the count of each word; paper: 0.2 T / V.", rich_help_panel=_FIT
    ),
]
NoiseOption = Annotated[
    Literal["full", "diagonal", "spherical", "bohning"],
    typer.Option(help="Covariance of the observation noise.", rich_help_panel=_FIT),
]
StartOption = Annotated[
    Literal["subspace", "random"],
    typer.Option(help="Where EM starts: subspace identification or random parameters.", rich_help_panel=_FIT),
]
SsidHorizon = Annotated[int, typer.Option(min=2, help="Horizon r of subspace identification.", rich_help_panel=_FIT)]
EmHorizon = Annotated[int, typer.Option(min=1, help="Horizon r of EM.", rich_help_panel=_FIT)]
SsidOutput = Annotated[
    Literal["first", "regression"],
    typer.Option(help="C from the first block, or by regression on all of them.", rich_help_panel=_FIT),
]
SsidCovariance = Annotated[
    Literal["matched", "paper"],
    typer.Option(help="Scale of the state matched to the counts, or the paper's rule.", rich_help_panel=_FIT),
]
SsidWhitened = Annotated[
    bool, typer.Option(help="Whether subspace identification sees whitened counts.", rich_help_panel=_FIT)
]
AccelerationOption = Annotated[
    Literal["none", "overrelaxed"],
    typer.Option(help="overrelaxed: longer steps, half the iterations.", rich_help_panel=_FIT),
]
CompressionOption = Annotated[
    str,
    typer.Option(
        metavar="NUMBER|auto|none",
        help="Learn on a sketch of the counts with this many dimensions, or in the full space.",
        rich_help_panel=_FIT,
    ),
]
Polish = Annotated[int, typer.Option(min=0, help="EM iterations in the full space afterwards.", rich_help_panel=_FIT)]
Tolerance = Annotated[
    float, typer.Option(min=0, help="Stop when an iteration gains less, nats a token.", rich_help_panel=_FIT)
]


def number_or_word(name: str, value: str, kind: type[int] | type[float], *words: str) -> Any:
    """Read an option that is a number or one of some words; anything else is a usage error."""
    if value in words:
        return value
    try:
        return kind(value)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise typer.BadParameter(
            f"{value!r} is neither {wanted} nor {' or '.join(words)}.", param_hint=f"--{name}"
        ) from error


def fit_settings(*, pseudocount: str, compression: str, **others: Any) -> dict[str, Any]:
    """Return the arguments of :func:`textlds.fit` that the options stand for."""
    return {
        "pseudocount": number_or_word("pseudocount", pseudocount, float, "paper"),
        "compression": number_or_word("compression", compression, int, "auto", "none"),
        **others,
    }
