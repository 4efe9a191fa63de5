"""What is attacked: folders of every kind, finished and unfinished; how one is made, and what is done with one."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import textlds
import textlds.counts.counting as counting
import textlds.counts.pieces as pieces
import textlds.learn.run as learning
import textlds.search.building as building
import textlds.tagging.training as training
from textlds.cli.tagger.train import train_files
from textlds.corpus.reading.tagged import read_tagged
from textlds.corpus.settings import CountSettings
from textlds.counts.blocks import RowRange
from textlds.counts.lagcounts import LagCounts, counts_bytes, write_shards
from textlds.counts.shards import Place, write_shard
from textlds.learn.checkpoint import Checkpoint
from textlds.learn.settings import FitSettings
from textlds.lexicon.streamed import load_within
from textlds.model.packed import PackedModel
from textlds.model.training import fit_to_folder, train_to_folder
from textlds.search import OccurrenceIndex
from textlds.tagging.settings import TaggerSettings
from textlds.tagging.tagger import Tagger

# small: what an attack shows does not depend on size, as there are several pieces, runs, steps and rounds anyway
TEXT = "\n".join(f"the w{i % 7} of w{i * i % 13} is Number{i % 3} a w{i % 5} ." for i in range(120))
TEXTS = ["the w1 of w4 is", ["w3", "unheard", "a"], ""]
TAGGED = "\n\n".join(
    "\n".join(f"{word}\t{'N' if word[0] == 'w' else word[:1]}" for word in line.split())
    for line in TEXT.split("\n")[:20]
)
_OF_TAGGER = TaggerSettings(hidden=4, rounds=2)


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of folder: how one is made, and what is done with one; the latter returns all results as bytes."""

    make: Callable[[Path], None]
    use: Callable[[Path], bytes]


def write_inputs(folder: Path) -> None:
    """Write the corpus, and the same with tags."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text.txt").write_text(TEXT + "\n")
    (folder / "tags.tsv").write_text(TAGGED + "\n")


@contextlib.contextmanager
def as_if_large() -> Iterator[None]:
    """Let a small text take the way of a large one: pieces of 1 KB, runs of 500 tokens, all that can be kept is."""
    make_plan, small = counting.make_plan, {"piece_bytes": 1000, "block_tokens": 500}
    patches: list[tuple[Any, str, Any]] = [
        (counting, "make_plan", lambda *a, **o: dataclasses.replace(make_plan(*a, **o), **small)),
        (pieces, "DURABLE_AFTER", 0.0),
        (learning, "_SAVE_EVERY", 0.0),
        (training, "_SAVED_EVERY", 0.0),
        (training, "_FEWEST_STEPS", 5),
    ]
    with _patched(*patches):
        yield


@contextlib.contextmanager
def _patched(*patches: tuple[Any, str, Any]) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    try:
        for owner, name, value in patches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def content(place: Path) -> dict[str, str]:
    """Return the sum of every file below a folder, the time that things took left out."""
    found: dict[str, str] = {}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if file.is_dir():
            found[name] = "a folder"
            continue
        data = file.read_bytes()
        with contextlib.suppress(ValueError):  # half of it, in a temporary folder of a process that was killed
            if file.name == "history.json":
                data = json.dumps({**json.loads(data), "seconds": None}).encode()
            elif file.name == "config.json":
                config = json.loads(data)
                config.get("files", {}).pop("history.json", None)
                config.get("report", {}).pop("seconds", None)
                for name_of_sum in ("model_sha256", "config_sha256"):
                    config.pop(name_of_sum, None)
                data = json.dumps(config).encode()
        found[name] = hashlib.sha256(data).hexdigest()
    return found


def _counts() -> LagCounts:
    return textlds.count(texts=[TEXT], max_lag=3, vocab_size=40, threads=1)


def _settings(observations: Any) -> FitSettings:
    of_words = {"ssid_horizon": 2, "compression": 12} if observations == "words" else {}
    return FitSettings(state_size=4, iterations=4, em_horizon=3, observations=observations, **of_words)


def _model(observations: Any = "words") -> textlds.TextLDS:
    return textlds.fit(_counts(), settings=_settings(observations), threads=1)


def _finite(*arrays: Any) -> bytes:
    if not all(np.isfinite(array).all() for array in arrays):
        raise AssertionError("a result is not finite")
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def use_counts(path: Path) -> bytes:
    """Load counts, add them to themselves, and make moments of them."""
    counts = LagCounts.load(path)
    twice = counts + counts
    found = [counts.unigrams, *(lag.data for lag in counts.lags), *(lag.indices for lag in twice.lags)]
    return _finite(*found) + repr(counts.vocabulary.words).encode()


def use_streamed(path: Path) -> bytes:
    """Read counts block by block, as a fit within a limit of memory does."""
    counts = load_within(path, max(counts_bytes(path) // 4, 1), threads=1)
    found = [array for lag in counts.lags for block, _ in lag.blocks() for array in (block.indices, block.data)]
    return _finite(counts.unigrams, *found) + repr(counts.vocabulary.words).encode()


def use_model(path: Path) -> bytes:
    """Load a model and ask it for everything."""
    model = textlds.load(path)
    packed = isinstance(model, PackedModel)
    recipes = ("context", "features", *(["paper"] if model.observations == "words" and not packed else []))
    found = [text.vectors for recipe in recipes for text in model.embed(TEXTS, recipe=recipe, threads=1)]
    if not packed:
        found += [scores.values for scores in model.log_likelihood(TEXTS, threads=1)]
    words = model.similar(model.vocabulary.words[0], n=3)
    return _finite(*found, [score for _, score in words]) + repr(words).encode()


def use_index(path: Path) -> bytes:
    """Open an index and search in it."""
    index = OccurrenceIndex.load(path)
    found = index.find("w1", "the w1 of w4 is", n=3) + index.find("w4", "the w1 of w4 is", n=3, match="any")
    return _finite([hit.score for hit in found]) + repr([dataclasses.replace(hit, score=0) for hit in found]).encode()


def use_tagger(path: Path) -> bytes:
    """Load a tagger and tag with it."""
    found = list(Tagger.load(path).tag(TEXTS, threads=1))
    return (
        _finite([sure for sentence in found for sure in sentence.confidences])
        + repr([(sentence.tokens, sentence.tags) for sentence in found]).encode()
    )


def _make_shards(path: Path) -> None:
    """Write counts as a cluster does: in row shards."""
    counts, n_shards = _counts(), 3
    place, bounds = Place.at(path), np.linspace(0, len(counts.vocabulary), n_shards + 1).astype(int).tolist()
    path.mkdir()
    shards = [
        write_shard(place, f"rows-{number:05}-0.safetensors", [_rows(lag, *span) for lag in counts.lags])
        for number, span in enumerate(itertools.pairwise(bounds))
    ]
    write_shards(place, counts.vocabulary, np.asarray(counts.unigrams), bounds, shards)


def _rows(lag: Any, low: int, high: int) -> RowRange:
    part = slice(lag.indptr[low], lag.indptr[high])
    lengths = np.diff(lag.indptr[low : high + 1]).astype(np.int64)
    return RowRange(0, lengths, lag.indices[part].astype(np.int32), lag.data[part].astype(np.int64))


def _make_language(path: Path) -> None:
    """Save a model that can tell how probable words are."""
    _model("profiles").with_language_model(TEXT.split("\n"), held_out=TEXT.split("\n"), counts=_counts()).save(path)


def use_language(path: Path) -> bytes:
    """Load such a model and ask it for probabilities."""
    model = textlds.load(path)
    following = model.next_word("the w1 of").top(3)
    numbers = [float(model.perplexity(TEXTS[:1])), *(probability for _, probability in following)]
    return _finite(numbers) + repr(following).encode()


def _make_index(path: Path) -> None:
    OccurrenceIndex.build(_model("profiles"), iter(TEXT.split("\n")), path, threads=1)


def _make_named(path: Path) -> None:
    """Make a tagger whose folder names that of its model."""
    _make_tagger(path, textlds.load(path.parent / "profiles"))


def _make_tagger(path: Path, model: textlds.TextLDS | None = None) -> None:
    labels = read_tagged(str(path.parent / "inputs" / "tags.tsv"))
    names = {"places": [["w1"], ["w4", "is"]]}
    Tagger.train(model or _model("profiles"), list(labels), gazetteers=names, settings=_OF_TAGGER, threads=1).save(path)


def _unfinished(run: Callable[[Path, Path], None], use: Callable[[Path], bytes], *stop: tuple[Any, str, Any]) -> Target:
    """Return the target of unfinished work: ``run`` makes an output, and something that it calls stops it."""

    def make(path: Path) -> None:
        path.mkdir()
        with as_if_large(), _patched(*stop), contextlib.suppress(KeyboardInterrupt):
            run(path.parent / "inputs", path / "out")
        if not (path / "out.work" / "manifest.json").exists():
            raise AssertionError(f"{path} holds no unfinished work")

    used: dict[str, bytes] = {}  # by the sums of all files: the same files give the same results

    def resume(path: Path) -> bytes:
        with as_if_large():
            run(path.parent / "inputs", path / "out")
        found = repr(content(path))
        if found not in used:
            used[found] = use(path / "out")
        return used[found] + found.encode()

    return Target(make, resume)


def _interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def _second_step(save_step: Callable[..., None]) -> Callable[..., None]:
    def save(self: Checkpoint, step: Any) -> None:
        save_step(self, step)
        if step.done == 2:
            raise KeyboardInterrupt

    return save


def _second_round(one_round: Callable[..., float]) -> Callable[..., float]:
    return lambda run: _interrupt() or one_round(run) if run.round else one_round(run)


def _count(inputs: Path, output: Path) -> None:
    textlds.count(inputs / "text.txt", max_lag=2, vocab_size=40, output=output, resume=True, threads=1)


def _train(inputs: Path, output: Path) -> None:
    sizes = CountSettings(max_lag=3, vocab_size=40)
    train_to_folder(inputs / "text.txt", output, _settings("profiles"), counting=sizes, resume=True, threads=1)


def _fit(inputs: Path, output: Path) -> None:
    fit_to_folder(inputs.parent / "counts", output, _settings("words"), resume=True, threads=1)


def _index(inputs: Path, output: Path) -> None:
    OccurrenceIndex.build(inputs.parent / "profiles", inputs / "text.txt", output, resume=True, threads=1)


def _tag(inputs: Path, output: Path) -> None:
    options = {"settings": dataclasses.replace(_OF_TAGGER, lexical=False), "recipe": "context"}
    sentences = list(read_tagged(str(inputs / "tags.tsv")))
    train_files(
        inputs.parent / "profiles", sentences, None, output, column=None, gazetteer=[], counts=None, options=options,
        bundle=True, threads=1, resume=True, force=False, quiet=True,
    )  # fmt: skip


_STEPS = (Checkpoint, "save_step", _second_step(Checkpoint.save_step))
_ROUNDS = (training._Run, "one_round", _second_round(training._Run.one_round))

# in an order in which each finds what it is made of
TARGETS = {
    "counts": Target(lambda path: _counts().save(path), use_counts),
    "streamed": Target(lambda path: _counts().save(path), use_streamed),
    "shards": Target(_make_shards, use_counts),
    "shards streamed": Target(_make_shards, use_streamed),
    "model": Target(lambda path: _model().save(path), use_model),
    "language": Target(_make_language, use_language),
    "profiles": Target(lambda path: _model("profiles").save(path), use_model),
    "packed": Target(lambda path: _model("profiles").quantized().save(path), use_model),
    "index": Target(_make_index, use_index),
    "tagger": Target(_make_tagger, use_tagger),
    "tagger by name": Target(_make_named, use_tagger),
    "count.work": _unfinished(_count, use_counts, (counting, "write_folder", _interrupt)),
    "fit.work": _unfinished(_fit, use_model, _STEPS),
    "train.work": _unfinished(_train, use_model, _STEPS),
    "index.work": _unfinished(_index, use_index, (building, "write_vectors", _interrupt)),
    "tagger.work": _unfinished(_tag, use_tagger, _ROUNDS),
}
