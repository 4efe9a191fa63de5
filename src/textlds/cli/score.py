"""``textlds score``: how likely a text is, and which of its tokens are not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say
from textlds.cli.texts import Text, check_some, open_texts, read_texts

if TYPE_CHECKING:
    from textlds.corpus.reading.opening import Source
    from textlds.inference.scoring import TokenScores
    from textlds.language.results import TokenSurprisals
    from textlds.model.textlds import TextLDS

_BATCH_CHARACTERS = 1 << 19  # scored together: about a hundred thousand tokens

Measure = Literal["likelihood", "surprisal"]
Gains = Literal["steady", "exact"]


@dataclass(frozen=True)
class Scored:
    """The scores of one line.

    Attributes:
        tokens: Its tokens.
        values: The score of each.
        surprising: The n most surprising tokens, with their scores.
        total: The sum of all scores, that of the boundary token too if one was predicted.
        count: How many they are.
    """

    tokens: Sequence[str]
    values: list[float]
    surprising: list[tuple[str, float]]
    total: float
    count: int

    @property
    def mean(self) -> float:
        """The mean score; zero without tokens."""
        return self.total / self.count if self.count else 0.0


def scored_texts(
    model: TextLDS, sources: list[Source], *, measure: Measure, gains: Gains, n: int, threads: int | None
) -> Iterator[tuple[Text, Scored]]:
    """Yield every text with the scores of its tokens, the n most surprising ones apart."""
    texts = 0
    for batch in _batches(read_texts(sources)):
        texts += len(batch)
        contents = [text.content for text in batch]
        if measure == "likelihood":
            scores = [_likelihood(s, n) for s in model.log_likelihood(contents, gains=gains, threads=threads)]
        else:
            scores = [_surprisal(s, n) for s in model.surprisal(contents, threads=threads)]
        yield from zip(batch, scores, strict=True)
    check_some(texts, sources)


def _likelihood(scores: TokenScores, n: int) -> Scored:
    values = scores.values.tolist()
    return Scored(scores.tokens, values, scores.surprising(n), float(scores.values.sum()), len(values))


def _surprisal(scores: TokenSurprisals, n: int) -> Scored:
    whole = scores.perplexity
    return Scored(scores.tokens, scores.bits.tolist(), scores.surprising(n), whole.bits, whole.tokens)


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
    measure: Annotated[
        Measure,
        typer.Option(
            metavar="WORD",
            help="likelihood: log-likelihood of the Gaussian model, relative to a model without context, in nats; "
            "surprisal: -log2 of the word's probability, in bits.",
        ),
    ] = "likelihood",
    n: Annotated[
        int, typer.Option("-n", min=0, metavar="NUMBER", help="How many of the most surprising tokens to show.")
    ] = 3,
    per_token: Annotated[bool, opt.flag("--per-token", "Print the score of every token.")] = False,
    gains: Annotated[
        Gains, typer.Option(help="Gains of the filter; exact: also exact at the beginning of a line.")
    ] = "steady",
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Score every line: the mean per token, and the tokens that do not fit their context.

    A low likelihood or a high surprisal means that a token is unexpected. Surprisals are rough until the model has been
    calibrated (textlds calibrate).
    """
    from textlds.api import load

    if measure == "surprisal" and gains != "steady":
        raise typer.BadParameter("exact gains are for --measure likelihood only.", param_hint="--gains")
    sources = open_texts(files or [], text_column=text_column, encoding_errors=encoding_errors, quiet=quiet)
    total, count = 0.0, 0
    several = len(sources) > 1
    options = {"measure": measure, "gains": gains, "n": n, "threads": threads}
    for text, scored in scored_texts(load(model), sources, **options):  # type: ignore[arg-type]
        place = f"{sources[text.file].name}:{text.line}" if several else str(text.line)
        total, count = total + scored.total, count + scored.count
        if as_json:
            file = sources[text.file].name if files else None
            print_json(_record(text, scored, file, measure=measure, per_token=per_token))
        elif per_token:
            for token, value in zip(scored.tokens, scored.values, strict=True):
                sys.stdout.write(f"{place}\t{value:.4f}\t{token}\n")
        else:
            surprising = "  ".join(f"{token} ({value:.2f})" for token, value in scored.surprising)
            sys.stdout.write(f"{place}\t{scored.mean:.4f}\t{surprising}\n")
    if count:
        say(_summary(measure, total / count, count), quiet=quiet)


def _summary(measure: Measure, mean: float, count: int) -> str:
    if measure == "likelihood":
        return f"Mean {mean:.4f} nats per token, {count:,} tokens."
    return f"Mean {mean:.4f} bits per token, {count:,} tokens, perplexity {2**mean:.2f}."


def _record(text: Text, scored: Scored, file: str | None, *, measure: Measure, per_token: bool) -> dict[str, object]:
    name = "log_likelihood" if measure == "likelihood" else "surprisal"
    record: dict[str, object] = {} if file is None else {"file": file}
    record |= {"line": text.line, "tokens": len(scored.tokens), name: scored.mean}
    if per_token:
        return {**record, "tokens": list(scored.tokens), "values": scored.values}
    return {**record, "surprising": [{"token": token, "value": value} for token, value in scored.surprising]}


EXAMPLES = (
    "textlds score model essay.txt",
    ("textlds score model essay.txt | sort -t $'\\t' -k 2 -g | head", "the least likely lines"),
    ("echo 'The bank raised rats.' | textlds score model --per-token --measure surprisal", "bits, word by word"),
)
