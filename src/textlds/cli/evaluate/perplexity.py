"""``textlds evaluate perplexity``: how well a model predicts the words of a text."""

from __future__ import annotations

from textlds.cli import options as opt
from textlds.cli.output import print_json, print_table, say
from textlds.cli.texts import open_texts, read_documents


def command(
    model: opt.Model,
    files: opt.TextFiles = None,
    threads: opt.Threads = None,
    text_column: opt.TextColumn = "text",
    encoding_errors: opt.EncodingErrors = "strict",
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
) -> None:
    """Measure the perplexity of a text, read with the text settings of the model.

    The events are the words of the vocabulary, its unknown classes and, if the model has one, the boundary token. Only
    perplexities over the same vocabulary can be compared.
    """
    from textlds.api import load
    from textlds.evaluation.perplexity import evaluate_perplexity

    sources = open_texts(files or [], text_column=text_column, encoding_errors=encoding_errors, quiet=quiet)
    result = evaluate_perplexity(load(model), read_documents(sources), threads=threads, progress=not quiet)
    if as_json:
        print_json(result.to_json())
        return
    named = (("model", result.model), ("frequencies of words", result.unigram))
    rows = [[name, f"{p.perplexity:.2f}", f"{p.bits_per_token:.3f}", f"{p.known_perplexity:.2f}"] for name, p in named]
    print_table(["predicted by", "perplexity", "bits per token", "known words"], rows, right=range(1, 4))
    facts = result.model
    say(
        f"{facts.tokens:,} tokens, {facts.boundaries:,} of them boundaries, {facts.unknown:,} outside the vocabulary.",
        quiet=quiet,
    )
    if not result.calibrated:
        say("The model is not calibrated (textlds calibrate); its probabilities are rough.", quiet=quiet)


EXAMPLES = (
    "textlds evaluate perplexity calibrated test.txt",
    "textlds evaluate perplexity calibrated news.jsonl --json",
)
