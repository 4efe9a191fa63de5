"""``textlds score``: how likely a text is, and which of its tokens are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.cli.texts import Text, open_texts, read_texts

if TYPE_CHECKING:
    from textlds.corpus.reading import Source
    from textlds.model.scoring import TokenScores
    from textlds.model.textlds import TextLDS

_BATCH_CHARACTERS = 1 << 19  # scored together: about a hundred thousand tokens


def scored_texts(
    model: TextLDS, sources: list[Source], *, method: Literal["filter", "exact"], threads: int | None
) -> Iterator[tuple[Text, TokenScores]]:
    """Yield every text with the scores of its tokens."""
    for batch in _batches(read_texts(sources)):
        scores = model.log_likelihood([text.content for text in batch], method=method, threads=threads)
        yield from zip(batch, scores, strict=True)


def _batches(texts: Iterator[Text]) -> Iterator[list[Text]]:
    batch: list[Text] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.content)
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def command(
    model: opt.Model,
    files: opt.TextFiles = None,
    n: Annotated[int, typer.Option("-n", min=0, help="How many of the most surprising tokens to show.")] = 3,
    per_token: Annotated[bool, typer.Option(help="The score of every token.")] = False,
    method: Annotated[
        Literal["filter", "exact"], typer.Option(help="exact: exact also at the beginning of a line.")
    ] = "filter",
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Score every line: mean log-likelihood a token, relative to a model without context, in nats.

    Tokens with a low score are surprising where they stand.
    """
    from textlds.pipeline import load

    sources = open_texts(files or [], text_column=text_column, encoding_errors=encoding_errors, quiet=quiet)
    total, tokens = 0.0, 0
    several = len(sources) > 1
    for text, scores in scored_texts(load(model), sources, method=method, threads=threads):
        place = f"{sources[text.file].name}:{text.line}" if several else str(text.line)
        total, tokens = total + float(scores.values.sum()), tokens + len(scores)
        if as_json:
            print_json(_record(text, scores, sources[text.file].name if files else None, n=n, per_token=per_token))
        elif per_token:
            for token, value in zip(scores.tokens, scores.values.tolist(), strict=True):
                sys.stdout.write(f"{place}\t{value:.4f}\t{token}\n")
        else:
            surprising = "  ".join(f"{token} ({value:.2f})" for token, value in scores.surprising(n))
            sys.stdout.write(f"{place}\t{_mean(scores):.4f}\t{surprising}\n")
    if tokens:
        say(f"Mean {total / tokens:.4f} nats a token, {tokens:,} tokens.", quiet=quiet)


def _mean(scores: TokenScores) -> float:
    return float(scores.values.mean()) if len(scores) else 0.0


def _record(text: Text, scores: TokenScores, file: str | None, *, n: int, per_token: bool) -> dict[str, object]:
    record: dict[str, object] = {} if file is None else {"file": file}
    record |= {"line": text.line, "tokens": len(scores), "log_likelihood": _mean(scores)}
    if per_token:
        return {**record, "tokens": list(scores.tokens), "values": scores.values.tolist()}
    return {**record, "surprising": [{"token": token, "value": value} for token, value in scores.surprising(n)]}


EXAMPLES = (
    "textlds score model essay.txt",
    ("textlds score model essay.txt | sort -t $'\\t' -k 2 -g | head", "the least likely lines"),
    "echo 'The bank raised rats.' | textlds score model --per-token",
)
