"""The page of the study of language models, made from its figures."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

NAMES = {
    "unigram": "unigram",
    "clipped link": "clipped link",
    "state": "log-linear readout of the state",
    "lag 1": "bigram of the lag-1 counts",
    "lag 2": "skip-bigram of the lag-2 counts",
    "KN bigram": "Kneser–Ney bigram",
    "KN trigram": "Kneser–Ney trigram",
    "network, random": "recurrent network, random start",
    "network, em": "recurrent network, started from the LDS",
}


def page(results: dict[str, Any]) -> str:
    chosen, tokens = results["chosen"], results["tokens"]
    rows = {tuple(row["parts"]): row for row in results["rows"]}
    lines = [
        "# A language model without gradient descent",
        "",
        *paragraph(
            f"Made by `benchmarks/language.py` ({results['machine']}). Penn Treebank, language-model split:",
            f"{tokens['train']:,} / {tokens['dev']:,} / {tokens['test']:,} tokens, the end of a sentence among them,",
            f"{results['vocabulary']:,} words. The model: h = {chosen['state_size']},",
            f"{chosen['pseudocount']:g} pseudocounts per type, {results['iterations']} EM iterations, chosen on the",
            "development set (below). Contexts run across sentences, except those of Kneser–Ney bigram and trigram,",
            "an implementation independent of textlds. The weights of mixtures are chosen on the development set, so",
            "that only the test column is held out; every mixture holds the unigram too.",
        ),
        "",
        *perplexities(results),
        "",
        *paragraph(
            f"Without calibration, the clipped link with its default weights gives {results['default']['dev']:.1f} and",
            f"{results['default']['test']:.1f}. With every sentence read by itself, readout and bigrams give",
            f"{results['sentences alone']['dev']:.1f} and {results['sentences alone']['test']:.1f}.",
        ),
        "",
        *paragraph(
            f"Processor time, seconds: counting {results['count_seconds']:.1f}, fitting {chosen['fit_seconds']:.0f},",
            f"calibrating {results['calibrate_seconds']:.0f}. The parts of the calibrated model predict",
            f"{results['predict_rate']:,.0f} tokens per second on one core.",
        ),
        "",
        "## What the state adds to the n-grams",
        "",
        *findings(rows),
        "",
        "Bits per token of the test set, all n-grams mixed, without and with the state, by what the trigram had seen:",
        "",
        "| tokens | share | without | with | gain |",
        "|---|---|---|---|---|",
    ]
    for row in results["adds"]:
        gain = row["without"] - row["with"]
        cells = [f"{100 * row['share']:.1f} %", *(f"{value:.3f}" for value in (row["without"], row["with"], gain))]
        lines.append(f"| {row['tokens']} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Choosing the model",
        "",
        f"A readout of {results['tuning_tokens']:,} tokens of the training text; perplexity on the development set.",
        "",
        "| observations | h | pseudocounts | state | with bigrams | fit, s |",
        "|---|---|---|---|---|---|",
    ]
    for kind, found in (("one-hot words", results), ("profiles", results.get("profiles", {}))):
        for trial in sorted(found.get("trials", []), key=lambda trial: (trial["state_size"], trial["pseudocount"])):
            cells = [f"{trial['state']:.1f}", f"{trial['dev']:.1f}", f"{trial['fit_seconds']:.0f}"]
            lines.append(f"| {kind} | {trial['state_size']} | {trial['pseudocount']:g} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def perplexities(results: dict[str, Any]) -> list[str]:
    """Return the table of perplexities; beside them those with the state of the default model, if it was measured."""
    other = results.get("profiles")
    lines = ["| predicted by | dev | test |", "|---|---|---|"]
    if other is None:
        return lines + [f"| {label(row['parts'])} | {row['dev']:.1f} | {row['test']:.1f} |" for row in results["rows"]]
    beside = {tuple(row["parts"]): row for row in other["rows"]}
    chosen = other["chosen"]
    lines = [
        *paragraph(
            f"The right half is of the default model, which observes profiles: h = {chosen['state_size']},",
            f"{other['iterations']} EM iterations, no pseudocounts, chosen in the same way; it was measured later.",
        ),
        "",
        "| predicted by | one-hot words, dev | test | profiles, dev | test |",
        "|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        also = beside.get(tuple(row["parts"]))
        cells = [f"{one[part]:.1f}" if one else "–" for one in (row, also) for part in ("dev", "test")]
        lines.append(f"| {label(row['parts'])} | {' | '.join(cells)} |")
    return lines


def label(parts: tuple[str, ...] | list[str]) -> str:
    named = [NAMES.get(part, part) for part in parts if part != "unigram" or len(parts) == 1]
    return " + ".join(named)


def findings(rows: dict[tuple[str, ...], dict[str, Any]]) -> list[str]:
    """Say in words what the figures say."""
    state, bigrams = ("unigram", "state"), ("unigram", "lag 1", "lag 2")
    both, trigram = (*state, "lag 1", "lag 2"), ("KN trigram",)
    found = [
        ("The state with the bigrams of the very same counts", both, "the Kneser–Ney bigram", ("KN bigram",)),
        ("It", both, "the bigrams of both lags without the state", bigrams),
        ("It", both, "the Kneser–Ney trigram, which it has not seen", trigram),
        ("All n-grams and the state", (*both, "KN trigram"), "all n-grams without it", (*bigrams, "KN trigram")),
        ("The readout of the state alone", state, "the clipped link", ("unigram", "clipped link")),
    ]
    for name in ("network, em", "network, random"):
        mixed, without = (*both[:2], name, *both[2:], "KN trigram"), ("unigram", name, "KN trigram")
        found.append((f"All of this and the {NAMES[name]}", mixed, "that network with the trigram", without))
    sentences = [compare(one, rows[its], other, rows[theirs]) for one, its, other, theirs in found if its in rows]
    return [f"- {sentence}" for sentence in sentences]


def paragraph(*pieces: str) -> list[str]:
    return wrap(" ".join(pieces), 120, break_on_hyphens=False)


def compare(one: str, its: dict[str, Any], other: str, theirs: dict[str, Any]) -> str:
    ratio = 100 * (1 - its["test"] / theirs["test"])
    relation = f"{abs(ratio):.1f} % {'below' if ratio > 0 else 'above'}"
    return f"{one}: {its['test']:.1f} on the test set, {relation} {other} ({theirs['test']:.1f})."
