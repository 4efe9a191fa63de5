"""Put the measured figures into the README: the table between its two markers is made from docs/results/*.json.

python -m benchmarks.figures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> None:
    rows = [
        *similarity(), *counting(), *learning(), *scale(), *inference(), *serving(), *taggers(), *tagging(),
        *entities(), *language(), *recurrent(),
    ]  # fmt: skip
    table = ["| what | textlds | next to | script |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    titles = {
        "taggers": "Whole taggers: accuracy against speed",
        "tradeoff": "Tagging accuracy against speed",
        "learning": "Training time",
    }
    there = [name for name in titles if (RESULTS / f"{name}.png").exists()]
    if "taggers" in there and "tradeoff" in there:
        there.remove("tradeoff")  # of vectors alone, where whole taggers were not measured
    pictures = [f"![{titles[name]}](docs/results/{name}.png)" for name in there]
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2] if END in rest else rest
    block = "\n\n".join([BEGIN, "\n".join(table), *pictures, END])
    readme.write_text(before + block + after, encoding="utf-8")
    print("\n".join(table))


def load(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content


def similarity() -> list[tuple[str, str, str, str]]:
    cells = load("paper/similarity").get("cells", {})
    own, other = (cells.get(f"{name} / seed 0", {}).get("figures") for name in ("default", "word2vec"))
    if not own or not other:
        return []
    alone = [name for name in own if " / " not in name and not name.startswith("SCWS")]

    def told(found: dict[str, Any], names: list[str]) -> str:
        return " / ".join(f"{100 * found[name]['rho']:.1f}" for name in names)

    names = ", ".join(alone)
    return [
        (f"similarity of words to people's judgements, {names}", told(own, alone), f"word2vec {told(other, alone)}",
         "`paper`"),
        ("words in context, SCWS", told(own, ["SCWS, meaning in context"]),
         f"word2vec {told(other, ['SCWS, word2vec'])}", "`paper`"),
    ]  # fmt: skip


def scale() -> list[tuple[str, str, str, str]]:
    found = load("scale")
    if not found.get("growth") or "fitting" not in found["growth"][-1]:
        return []
    last = found["growth"][-1]
    both = [last["counting"], last["fitting"]]
    amount = f"{last['tokens'] / 1e6:,.0f}M tokens{' (repeated text)' if last['repeated'] else ''}"
    return [
        (
            f"raw text to model, {amount}, V = {found['vocab_size']:,}, h = {found['state_size']}, "
            f"threads: {found['threads']}",
            f"{sum(one['seconds'] for one in both) / 60:.1f} min",
            f"{max(one['peak bytes'] for one in both) / 1e9:.1f} GB at most",
            "`scale.py`",
        )
    ]


def serving() -> list[tuple[str, str, str, str]]:
    found = load("serving")
    if not found:
        return []
    share = found["share of the library, Arrow, 64 clients"]["tokens/s"]
    return [
        (
            "server with 64 clients, of the library's own rate; one client, 20 tokens, p99",
            f"{share:.0%}, {found['latency']['1']['p99']:.1f} ms",
            f"a small transformer behind the same server {found['transformer']['8']['tokens/s']:,.0f} tokens/s",
            "`serving.py`",
        )
    ]


def counting() -> list[tuple[str, str, str, str]]:
    found, rows = load("counting"), []
    if "kernel" in found:
        rate = found["kernel"]["textlds, 1 thread"]["rate"] / 1e6
        ratio = found["kernel"]["ratio_to_scipy"]
        rows.append(
            (
                "counting, token·lags/s, one thread",
                f"{rate:.0f} M",
                f"{ratio:.1f} times as fast as scipy coo→csr",
                "`counting.py`",
            )
        )
    if "gensim" in found:
        both = found["gensim"]["2 threads"]
        best = min(both["textlds count"], key=lambda run: run["seconds"])
        rows.append(
            (
                f"raw text to counts on disk, {best['tokens'] / 1e6:.0f}M tokens, two threads",
                f"{best['seconds']:.1f} s",
                f"{both['ratios of the least']['seconds']:.1f} times as fast as one epoch of gensim's CBOW",
                "`counting.py`",
            )
        )
    return rows


def learning() -> list[tuple[str, str, str, str]]:
    found, rows = load("learning"), []
    if "sketch" in found:
        rows.append(
            (
                "counts to model, 20M tokens, V = 50,000, h = 100, 50 iterations, two threads",
                f"{found['sketch']['auto']['seconds']:.0f} s",
                f"{found['sketch']['cpu_ratio']:.1f} times as fast as EM in the full space (processor time)",
                "`learning.py`",
            )
        )
    if "train" in found:
        last = found["train"]["textlds"][-1]
        rows.append(
            (
                f"raw text to model, {last['tokens'] / 1e6:.0f}M tokens, V = 100,000, h = 200, two threads",
                f"{last['seconds']:.0f} s",
                f"{found['train']['ratio']:.1f} times as fast as gensim's CBOW, five epochs",
                "`learning.py`",
            )
        )
    return rows


def inference() -> list[tuple[str, str, str, str]]:
    found, rows = load("inference"), []
    if "textlds" in found:
        own, peers = found["textlds"], found["peers"]
        raw = own["from raw text, 1 thread"]
        others = ", ".join(f"{name} {rate:,.0f}" for name, rate in peers.items())
        rows += [
            (
                "tokens/s, smoothed vectors from token ids, h = 200, one thread",
                f"{own['from ids, float32, 1 thread']:,.0f}",
                "",
                "`inference.py`",
            ),
            ("tokens/s from raw text, one thread", f"{raw:,.0f}", others, "`inference.py`"),
            *(
                (
                    f"tokens/s from raw paragraphs, recipe `{recipe}`, one thread",
                    f"{found['paragraphs'][f'{recipe}, 1 thread']:,.0f}",
                    f"two threads {found['paragraphs'][f'{recipe}, 2 threads']:,.0f}",
                    "`inference.py`",
                )
                for recipe in ("context", "features")
                if "paragraphs" in found
            ),
            (
                "one sentence of 20 tokens",
                f"{own['one sentence of 20 tokens, microseconds']:.0f} µs",
                "",
                "`inference.py`",
            ),
        ]
    return rows


def taggers() -> list[tuple[str, str, str, str]]:
    rows = []
    for title, found in load("taggers").items():
        cells = {row["name"]: row for row in found.get("rows", [])}
        own = cells.pop("textlds", None)
        if own is None:
            continue
        others = ", ".join(f"{name} {row['mean']:.1f}" for name, row in cells.items())
        measure = "per cent right" if found["task"] == "tags" else "F1"
        rows.append((f"taggers: {title}, {own['set']}, {measure}", f"{own['mean']:.1f}", others, "`taggers.py`"))
        same = {name: row for name, row in cells.items() if "tokens_per_second" in row and not row.get("before")}
        timed = {name: row["tokens_per_second"] for name, row in same.items()}
        if timed and "tokens_per_second" in own and len(rows) == 1:
            rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in timed.items())
            rows.append(("tokens/s from raw text to tags, one thread", f"{own['tokens_per_second']:,.0f}", rates,
                         "`taggers.py`"))  # fmt: skip
    return rows


def tagging() -> list[tuple[str, str, str, str]]:
    cells = load("paper/pos").get("cells", {})
    units = "universal, 128"

    def accuracy(column: str, part: str = "test") -> float:
        cell = cells.get(f"ewt / {column} / 128 units") or cells[f"ewt / {column} / seed 0"]  # the newer first
        return float(cell["figures"]["scores"][units][part]["all"])

    columns = dict.fromkeys(
        key.split(" / ")[1] for key in cells if key.startswith("ewt / ") and ("seed" in key or " / 128" in key)
    )
    own = max(
        (name for name in columns if name.startswith(("EM", "default"))),
        key=lambda name: accuracy(name, "dev"),
        default=None,
    )
    if own is None or "transformer" not in columns:
        return []
    others = ("word2vec", "word2vec ± 1", "word2vec ± 1, spelling", "transformer")
    listed = ", ".join(f"{name}: {accuracy(name):.1f}" for name in others if name in columns)
    return [("universal tags of UD EWT, test, %, 128 hidden units", f"{accuracy(own):.1f}", listed, "`paper`")]


def entities() -> list[tuple[str, str, str, str]]:
    cells = load("paper/ner").get("cells", {})
    found = {key.removesuffix(" / seed 0"): cell["figures"].get("test") for key, cell in cells.items()}
    if found.get("Lex + LDS") is None:
        return []
    others = ", ".join(f"{name} {found[name]:.1f}" for name in ("Lex", "Lex + Brown", "Lex + word2vec"))
    return [("entities of CoNLL-2003, test F1, Lex + LDS", f"{found['Lex + LDS']:.1f}", others, "`paper`")]


def language() -> list[tuple[str, str, str, str]]:
    found = {" + ".join(row["parts"]): row["test"] for row in load("language").get("rows", [])}
    if not found:
        return []
    return [
        (
            "test perplexity of the Penn Treebank, the counts and the state, no gradient descent",
            f"{found['unigram + state + lag 1 + lag 2']:.0f}",
            f"Kneser–Ney bigram {found['KN bigram']:.0f}, trigram {found['KN trigram']:.0f}",
            "`language.py`",
        )
    ]


def recurrent() -> list[tuple[str, str, str, str]]:
    studies = {size: study["summary"] for size, study in load("rnn").get("sizes", {}).items()}
    finished = [size for size, found in studies.items() if {"random", "em"} <= set(found)]
    if not finished:
        return []
    size = max(finished, key=int)
    found = studies[size]
    own = min((found[name] for name in ("em", "profiles") if name in found), key=lambda one: float(one["dev"]["mean"]))
    other, reached = found["random"], own["epochs to the best dev of random"]
    epochs = f"{sum(reached) / len(reached):.1f} epochs" if reached else "never"
    return [
        (
            f"test perplexity of a recurrent network, h = {size}, started from the model; epochs to the other's best",
            f"{own['test']['mean']:.1f} ± {own['test']['sd']:.1f}, {epochs}",
            f"at random {other['test']['mean']:.1f} ± {other['test']['sd']:.1f}, {other['epochs']['mean']:.0f} epochs",
            "`rnn.py`",
        )
    ]


if __name__ == "__main__":
    main()
