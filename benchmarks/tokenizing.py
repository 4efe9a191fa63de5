"""Raw text to token ids on one thread: textlds and what else people use, in one run on the same text.

    python benchmarks/tokenizing.py TEXT [--megabytes 50] [--repeats 3]

Two jobs. "words": find words, numbers and punctuation marks and the id (or count) of each one's type; the peers use a
simple pattern and know no clitics, abbreviations or normalised digits. "white space": split there, and nothing else.
Every contender gets the same lines in memory, the peers in their own containers, made before the clock starts; textlds
also checks that the text is UTF-8. Rates are in tokens per second (each contender's own tokens) and in megabytes of
text per second, which compares them whatever they call a token. Times are processor time of the whole process.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.update(POLARS_MAX_THREADS="1", RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")

from textlds.corpus.encoding import Encoder
from textlds.corpus.reading.sources import find_invalid
from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.corpus.vocabulary import Vocabulary

Contender = Callable[[], int]  # does the work and returns the number of tokens
PATTERN = r"\w+(?:[-'’.]\w+)*|[^\w\s]"


def textlds_contender(chunks: list[bytes], **settings: str) -> Contender:
    def run() -> int:
        worker = ChunkTokenizer(TextSettings(**settings))  # type: ignore[arg-type]
        for chunk in chunks:
            if find_invalid(chunk) >= 0:
                raise SystemExit("the text is not UTF-8")
            worker.ids(chunk, end=False)
        return int(worker.table.counts.sum())

    return run


def encoder_contender(lines: list[str], chunks: list[bytes]) -> Contender:
    worker = ChunkTokenizer(TextSettings())
    for chunk in chunks:
        worker.ids(chunk, end=False)
    encoder = Encoder(Vocabulary.learn(worker.table, vocab_size=100_000, settings=worker.settings))
    encoder.encode("compile")
    return lambda: sum(len(text.tokens) for text in encoder.encode_many(lines))


def re_contender(lines: list[str]) -> Contender:
    find = re.compile(PATTERN).findall

    def run() -> int:
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(find(line))
        return counts.total()

    return run


def pyarrow_contender(lines: list[str], how: str) -> Contender:
    pyarrow = importlib.import_module("pyarrow")
    compute = importlib.import_module("pyarrow.compute")
    pyarrow.set_cpu_count(1)
    column = pyarrow.array(lines)

    def run() -> int:
        text = column
        if how == "regex":  # it has no way to list the matches of a pattern: set marks apart, then split
            text = compute.replace_substring_regex(column, r"([^\pL\pM\pN\s'.-])", r" \1 ")
            text = compute.replace_substring_regex(text, r"([.'-])(\s|$)", r" \1 ")
        return len(compute.list_flatten(compute.utf8_split_whitespace(text)).dictionary_encode())

    return run


def polars_contender(lines: list[str], how: str) -> Contender:
    polars = importlib.import_module("polars")
    column = polars.Series("text", lines)

    def run() -> int:
        lists = column.str.split(" ") if how == "split" else column.str.extract_all(PATTERN)
        return int(lists.explode().value_counts()["count"].sum())

    return run


def hugging_face_contender(lines: list[str], chunks: list[bytes]) -> Contender:
    tokenizers = importlib.import_module("tokenizers")
    worker = ChunkTokenizer(TextSettings())
    for chunk in chunks:
        worker.ids(chunk, end=False)
    words = Vocabulary.learn(worker.table, vocab_size=100_000, settings=worker.settings).words
    vocabulary = {word: row for row, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    batches = [lines[k : k + 1000] for k in range(0, len(lines), 1000)]
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return lambda: sum(len(found.ids) for batch in batches for found in encode(batch))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="a plain UTF-8 file")
    parser.add_argument("--megabytes", type=int, default=50, help="how much of it to use")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many runs counts")
    options = parser.parse_args()
    with options.text.open("rb") as file:
        data = file.read(options.megabytes * 1_000_000)
    data = data[: data.rfind(b"\n") + 1]
    lines = data.decode().split("\n")[:-1]
    chunks = _cut(data, 1 << 22)

    jobs: dict[str, dict[str, Callable[[], Contender]]] = {
        "words": {
            "textlds": lambda: textlds_contender(chunks),
            "textlds, sentences": lambda: textlds_contender(chunks, boundaries="sentence"),
            "textlds Encoder, str to rows": lambda: encoder_contender(lines, chunks),
            "Python re + Counter": lambda: re_contender(lines),
            "pyarrow regex + dictionary": lambda: pyarrow_contender(lines, "regex"),
            "polars regex + counts": lambda: polars_contender(lines, "regex"),
            "HF tokenizers WordLevel": lambda: hugging_face_contender(lines, chunks),
        },
        "white space": {
            "textlds": lambda: textlds_contender(chunks, tokenizer="whitespace"),
            "pyarrow split + dictionary": lambda: pyarrow_contender(lines, "split"),
            "polars split + counts": lambda: polars_contender(lines, "split"),
        },
    }
    print(f"{len(data) / 1e6:.0f} MB, {len(lines):,} lines; 1 thread each; best of {options.repeats}")
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for job, makers in jobs.items():
        measure(job, makers, options.repeats, len(data))


def measure(job: str, makers: dict[str, Callable[[], Contender]], repeats: int, size: int) -> None:
    """Run the contenders in turns, so that a busy machine slows all of them, and print the best run of each."""
    contenders: dict[str, Contender] = {}
    for name, make in makers.items():
        try:
            contenders[name] = make()
        except ImportError as error:
            print(f"{name}: left out, {error}")
    contenders["textlds"]()  # compiles
    best: dict[str, tuple[float, int]] = {}
    for _ in range(repeats):
        for name, run in contenders.items():
            start = time.process_time()
            tokens = run()
            seconds = time.process_time() - start
            best[name] = min(best.get(name, (seconds, tokens)), (seconds, tokens))
    own = best["textlds"][0]
    print(f"{job}:")
    for name, (seconds, tokens) in best.items():
        rate, speed = tokens / seconds / 1e6, size / seconds / 1e6
        print(f"  {name:30} {rate:7.2f} M tokens/s {speed:8.1f} MB/s   textlds is {seconds / own:5.1f} x as fast")


def _cut(data: bytes, size: int) -> list[bytes]:
    pieces, start = [], 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        pieces.append(data[start:end])
        start = end
    return pieces


if __name__ == "__main__":
    main()
