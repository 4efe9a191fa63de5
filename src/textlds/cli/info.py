"""``textlds info``: what a folder is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import FAILED, print_facts, print_json
from textlds.errors import FormatError

_WORDS = 10  # of the most frequent ones shown


def describe(path: Path) -> dict[str, Any]:
    """Return the facts of counts, a model, an index, a tagger or unfinished work. Checks every file."""
    from textlds.model.installed import find_model
    from textlds.storage.folders import read_config

    path = find_model(path)
    if (path / "manifest.json").is_file():
        return _work(path)
    config = read_config(path)
    kind = config["format"].removeprefix("textlds-")
    facts = {
        "path": str(path),
        "kind": kind,
        "textlds_version": config.get("textlds_version"),
        "bytes": folder_size(path),
    }
    try:
        return facts | (_FACTS[kind](path, config) if kind in _FACTS else {})
    except (KeyError, TypeError, IndexError) as error:
        raise FormatError(
            f"{path} is not complete: {error!r} is missing. Restore it from a copy, or write it again."
        ) from error


def _model(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    from textlds.model.files import LANGUAGE_FACTS, VOCABULARY, read_history
    from textlds.storage.folders import read_json

    history = read_history(path)
    likelihoods, seconds = history.log_likelihood, history.seconds
    settings = {name: value for name, value in history.settings.items() if name != "text"}
    vocabulary, packed = read_json(path / VOCABULARY), config.get("packed")
    facts = {
        "words": vocabulary["n_types"],
        "state_size": config["state_size"],
        "vocabulary": config["vocabulary_size"],
        "tokens": settings.pop("tokens", None),
        "observations": config.get("observations", "words"),
        "noise": config["noise"],
        "iterations": len(likelihoods),
        "log_likelihood": likelihoods[-1] if likelihoods else history.start,
        "log_likelihood_start": history.start,
        "seconds": seconds[-1] if seconds else 0.0,
        "text": config["text"],
        "lexicon": config.get("lexicon", False),
        "meaning_size": _meaning_size(path, packed=packed is not None),
        "fit": settings,
        "frequent_words": vocabulary["words"][:_WORDS],
        "language": read_json(path / LANGUAGE_FACTS) if LANGUAGE_FACTS in config["files"] else None,
    }
    return facts if packed is None else facts | _packed(path, config, settings)


def _packed(path: Path, config: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Return what is different of a packed model: its config.json has nothing of the model it was packed from."""
    from textlds.corpus.unknown import unknown_classes
    from textlds.model.packed import ARRAYS
    from textlds.model.packed_checks import observed
    from textlds.storage.arrays import read_arrays

    packed = config["packed"]
    language = packed.get("language")
    return {
        "packed": {
            "precision": packed["precision"],
            "state_size": packed["state_size"],
            "words_before": packed["vocabulary_size_before"] - len(unknown_classes(config["text"]["unknown"])),
            "transitions": len(packed.get("transitions", [])),
        },
        "observations": observed(read_arrays(path / ARRAYS), lexicon=config["lexicon"]),
        "noise": settings.get("noise"),
        "language": None if language is None else language["facts"],
    }


def _meaning_size(path: Path, *, packed: bool) -> int:
    """Return how many numbers a vector of meaning has; 0 where there are none."""
    from textlds.model.files import ARRAYS
    from textlds.model.packed import ARRAYS as PACKED
    from textlds.storage.arrays import read_arrays, width

    file, name = (PACKED, "meaning") if packed else (ARRAYS, "meaning.vectors")
    table = read_arrays(path / file).get(name)
    return 0 if table is None else width(table)


def _counts(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    from textlds.counts.lagcounts import VOCABULARY
    from textlds.storage.folders import read_json

    return {
        "tokens": config["tokens"],
        "words": config["types"],
        "vocabulary": config["rows"],
        "types": config["types"],
        "max_lag": config["max_lag"],
        "pairs": config["pairs"],
        "exact": config["exact"],
        **({"repeats": config["repeats"]} if "repeats" in config else {}),
        "text": config["settings"],
        "frequent_words": read_json(path / VOCABULARY)["words"][:_WORDS],
    }


def _index(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    from textlds.storage.folders import read_config

    model = read_config(path / "model", kind="model")
    return {
        "tokens": config["tokens"],
        "words": config["words"],
        "vocabulary": config["words"],
        "occurrences": config["occurrences"],
        "state_size": model["state_size"],
        "text": model["text"],
        "sources": config["sources"],
        "plan": config["plan"],
        "vectors": config["vectors"],
    }


def _tagger(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    report = config["report"]
    return {
        "tokens": report["tokens"],
        "task": config["task"],
        "tags": config["tags"],
        "recipe": config["recipe"],
        "dev": f"{report['dev']:.2f} % {report['measure']} on the development set",
        "model": config["model"]["path"],
        "seconds": report["seconds"],
    }


_FACTS = {"model": _model, "counts": _counts, "index": _index, "tagger": _tagger}


def _work(path: Path) -> dict[str, Any]:
    from textlds.learn.checkpoint import steps_done
    from textlds.storage.work import STAGE, read_work

    job, parts = read_work(path)
    done = steps_done(parts)
    return {
        "path": str(path),
        "kind": "work",
        "bytes": folder_size(path),
        "iterations": len(done),
        "log_likelihood": done[-1] if done else None,
        "fit": parts.noted(STAGE),
        "job": job,
    }


def folder_size(path: Path) -> int:
    """Return the bytes of all files in a folder and below."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def sentences(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return facts for a person to read."""
    kinds = {
        "model": "a model", "counts": "counts", "work": "unfinished work, to be resumed",
        "index": "an index of occurrences of words", "tagger": "a tagger", "spacy-vectors": "word vectors for spaCy",
    }  # fmt: skip
    packed = "packed" in facts
    what = "a packed model" if packed else kinds.get(facts["kind"], facts["kind"])
    lines = [("what", what), ("where", facts["path"])]
    names = {
        "textlds_version": "written by", "packed": "packed", "tokens": "tokens counted", "words": "words",
        "state_size": "dimensions" if packed else "state size", "max_lag": "lags", "pairs": "pairs a lag",
        "exact": "exact integers", "observations": "observes", "noise": "noise", "repeats": "repeats",
        "iterations": "EM iterations", "log_likelihood": "log-likelihood", "log_likelihood_start": "at the start",
        "lexicon": "lexicon", "meaning_size": "meaning", "language": "next word",
        "seconds": "time to fit", "bytes": "on disk", "frequent_words": "frequent words", "text": "text",
        "fit": "packed from" if packed else "fit", "occurrences": "occurrences", "sources": "made from", "job": "job",
        "plan": "what was kept", "vectors": "vectors", "task": "task", "tags": "tags", "recipe": "recipe",
        "dev": "reached", "model": "model",
    }  # fmt: skip
    shown = dict(facts)
    if facts["kind"] == "model":
        rough = "no probabilities" if packed else "rough probabilities"
        shown["language"] = facts["language"] or f"not calibrated, {rough}: see textlds calibrate"
        # its words are counted above, without the classes of unknown ones
        shown["fit"] = {name: value for name, value in facts["fit"].items() if name not in ("vocabulary", "repeats")}
        shown["repeats"] = facts["fit"].get("repeats")
    return lines + [(name, _shown(key, shown[key])) for key, name in names.items() if shown.get(key) is not None]


def _shown(key: str, value: Any) -> str:
    if key == "textlds_version":
        return f"textlds {value}"
    if key == "lexicon":
        return "profiles and spelling of words" if value else "none"
    if key == "meaning_size":
        return f"vectors of what words are about, {value} numbers each" if value else "none"
    if key == "packed":
        size, words = f"{value['state_size']:,}", f"{value['words_before']:,}"
        return f"in {value['precision']}, from a state of {size} dimensions and {words} words"
    if key == "language" and isinstance(value, dict):
        perplexity, tokens = value["held_out_perplexity"], value["held_out_tokens"]
        return f"calibrated, {value['link']} link: perplexity {perplexity:.1f} on {tokens:,} held-out tokens"
    if key == "repeats":
        from textlds.counts.record import said_of_repeats

        return said_of_repeats(value)
    if key == "bytes":
        return human_size(value)
    if key == "seconds":
        return f"{value:.1f} s"
    if key.startswith("log_likelihood"):
        return f"{value:.4f} nats per token"
    if key == "pairs":
        return " ".join(f"{n:,}" for n in value)
    if key in ("frequent_words", "sources", "tags"):
        return " ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={inner}" for name, inner in value.items() if inner is not None)
    if isinstance(value, bool):
        return "yes" if value else "no: weighted"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def human_size(size: float) -> str:
    """Return a number of bytes as a person would say it."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def command(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder that textlds wrote.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", metavar="", help="Check every checksum and every invariant.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Say what a folder of counts, a model, an index or a tagger is, and check that it is whole."""
    if verify:
        _verify(path, as_json=as_json)
        return
    facts = describe(path)
    if as_json:
        print_json(facts)
    else:
        print_facts(sentences(facts))


def _verify(path: Path, *, as_json: bool) -> None:
    from textlds.cli.verifying import what_is_wrong
    from textlds.model.installed import find_model

    wrong = what_is_wrong(find_model(path))
    if as_json:
        print_json({"path": str(path), "sound": not wrong, "wrong": wrong})
    elif wrong:
        sys.stdout.write("".join(f"{line}\n" for line in wrong))
    else:
        sys.stdout.write(f"{path} is sound.\n")
    if wrong:
        raise typer.Exit(FAILED)


EXAMPLES = (
    "textlds info model",
    "textlds info counts --json",
    ("textlds info model --verify", "check every checksum and invariant"),
)
