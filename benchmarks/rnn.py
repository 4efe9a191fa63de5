"""A recurrent network that starts from a linear dynamical system, and one that starts at random (Table 4, Figure 1).

    python -m benchmarks.rnn --ptb FOLDER [--state-size 100] [--seeds 3] [--softmax full] [--results FOLDER]

FOLDER holds ptb.train.txt, ptb.valid.txt and ptb.test.txt, the language-model split of the Penn Treebank. Three starts:

random     Gaussian weights, their scale tuned, and the log frequencies of words as bias
subspace   a linear dynamical system by subspace identification, no EM
em         the same after EM, a few iterations

Everything is chosen on the development set, for each start alike: the settings of the start and a learning rate by
short runs; then, by whole runs of the first seed, smaller rates and the decay. The schedule is the paper's: the rate
stays until an epoch gains too little on the development set, then shrinks geometrically until one gains too little
again. The test set is read by the weights that are best on the development set, and decides nothing.

What is done is kept in --work after every epoch, and an interrupted study resumes from there. Writes rnn.json, rnn.md
and rnn.png, from as many runs as are finished.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import textlds
from benchmarks.recurrent import SampledTrainer, Trainer
from benchmarks.rnn_report import write_report
from textlds.corpus.encoding import Encoder
from textlds.integrations.torch import RecurrentLM

TEXT = textlds.TextSettings(tokenizer="whitespace", digits="keep", unknown="single", boundary_token="</s>")
STARTS: dict[str, list[dict[str, float]]] = {
    "random": [{"scale": a, "recurrent": b} for a, b in ((0.05, 0.6), (0.1, 0.6), (0.1, 0.9))],
    "em": [{"pseudocount": kappa, "iterations": n} for kappa, n in ((30, 5), (30, 20), (100, 20))],
    "subspace": [{"pseudocount": kappa, "iterations": 0} for kappa in (30, 100)],
}
FIRST_RATE = 1.0  # with which the settings of a start are compared; then it is doubled or halved while that helps
DECAYS = (0.5, 0.3)
# Relative gains on the development set below which the rate begins to shrink, and a run ends.
SWITCH, STOP = 0.01, 0.004
WORTH = 0.005  # relative gain for which a rate is halved or doubled once more
MOST_EPOCHS = 40
TRIAL_TOKENS = 20_000  # of the development set that short runs are compared on


@dataclass
class Study:
    """The data, and what has been done so far."""

    arguments: argparse.Namespace
    counts: textlds.LagCounts
    train: Tensor
    dev: Tensor
    test: Tensor
    dev_lines: list[str]
    done: dict[str, Any] = field(default_factory=dict)  # trials and runs, by name

    @property
    def bias(self) -> Tensor:
        """The log frequencies of words."""
        counts = torch.from_numpy(self.counts.unigrams + 0.5)
        return torch.log(counts / counts.sum()).float()

    def keep(self, name: str, value: Any) -> Any:
        """Remember a result, also on disk."""
        self.done[name] = value
        path = self.arguments.work / "done.json"
        path.with_suffix(".new").write_text(json.dumps(self.done, indent=1) + "\n")
        path.with_suffix(".new").replace(path)
        return value

    def trainer(self, lm: RecurrentLM, seed: int = 0) -> Trainer:
        """Return what trains a network."""
        a = self.arguments
        options = {"batch": a.batch, "steps": a.steps, "momentum": a.momentum, "recurrent_rate": a.recurrent_rate}
        if a.softmax == "full":
            return Trainer(lm, **options)
        common, sample = min(a.common, len(self.bias) - 1), a.sample
        return SampledTrainer(lm, self.bias, common=common, sample=sample, seed=seed, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptb", type=Path, required=True)
    parser.add_argument("--state-size", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--starts", nargs="+", default=list(STARTS), choices=list(STARTS))
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20, help="of truncated back-propagation")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument(
        "--recurrent-rate", type=float, default=0.05, help="of the h x h matrix, relative to the others"
    )
    parser.add_argument("--softmax", choices=("full", "sampled"), default="full", help="in training")
    parser.add_argument("--common", type=int, default=1000, help="words a sampled softmax sums exactly")
    parser.add_argument("--sample", type=int, default=250, help="others that stand for the rest")
    parser.add_argument("--tuning-tokens", type=int, default=150_000, help="of each short run")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after the epoch in which they are over")
    parser.add_argument("--work", type=Path, default=Path("scratch/rnn"), help="folder for unfinished work")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    study = prepare(arguments)
    for work in plan(study):
        work()
        if time.perf_counter() - study.done["began"] > 60 * arguments.minutes:
            print("out of time; the same command goes on")
            break
    if arguments.results:
        write_report(study.done, arguments.results)


def prepare(arguments: argparse.Namespace) -> Study:
    """Count, encode, and read what an earlier call has done."""
    arguments.work.mkdir(parents=True, exist_ok=True)
    wall, cpu = time.perf_counter(), time.process_time()
    counts = textlds.count([arguments.ptb / "ptb.train.txt"], threads=1, text=TEXT)
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    encoder = Encoder(counts.vocabulary)

    def encode(part: str) -> Tensor:
        """Return a text with the end of a sentence before it, so that its first word is predicted too."""
        ids = encoder.encode((arguments.ptb / f"ptb.{part}.txt").read_text(encoding="utf-8")).ids
        return torch.from_numpy(np.append(counts.vocabulary.id("</s>"), ids).astype(np.int64))

    lines = (arguments.ptb / "ptb.valid.txt").read_text(encoding="utf-8").splitlines()
    study = Study(arguments, counts, encode("train"), encode("valid"), encode("test"), lines)
    path = arguments.work / "done.json"
    if path.exists():
        study.done = json.loads(path.read_text())
    settings = {name: value for name, value in vars(arguments).items() if name in SETTINGS}
    if study.done.setdefault("settings", settings) != settings:
        raise SystemExit(f"{arguments.work} holds a study with other settings: {study.done['settings']}")
    study.done["counting"], study.done["schedule"] = seconds, {"switch": SWITCH, "stop": STOP}
    study.done["machine"] = f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}, 1 thread"
    study.done["tokens"] = {"train": len(study.train) - 1, "dev": len(study.dev) - 1, "test": len(study.test) - 1}
    study.done["vocabulary"] = len(counts.vocabulary)
    study.done["began"] = time.perf_counter()
    return study


SETTINGS = (
    "state_size", "batch", "steps", "momentum", "recurrent_rate", "softmax", "common", "sample", "tuning_tokens",
)  # fmt: skip


def plan(study: Study) -> list[Callable[[], None]]:
    """Return the work in an order in which every beginning of it is worth something: subspace identification last."""
    starts = study.arguments.starts
    work = []
    for some in (set(starts) - {"subspace"}, set(starts) & {"subspace"}):
        ordered = [start for start in STARTS if start in some]
        work += [partial(finish, study, start, seed) for seed in range(study.arguments.seeds) for start in ordered]
    return work


def finish(study: Study, start: str, seed: int) -> None:
    """Do the run of a seed; the first seed's is done with several rates and decays, and the best are kept to."""
    settings, rate = tuned(study, start)
    rate = best_rate(lambda one: run(study, start, settings, 0, one, DECAYS[0]), rate)
    decay = min(DECAYS, key=lambda one: run(study, start, settings, 0, rate, one))
    study.done["chosen"] = {**study.done.get("chosen", {}), start: {"rate": rate, "decay": decay}}
    run(study, start, settings, seed, rate, decay)


def best_rate(score: Callable[[float], float], rate: float) -> float:
    """Return the rate of the lowest score: halve it while that is worth a run, or else double it likewise.

    Halving comes first: short runs, by which the first rate was chosen, like larger rates than long ones.
    """
    scores = {rate: score(rate)}
    for factor in (0.5, 2.0):
        while True:
            before, rate = scores[rate], rate * factor
            scores[rate] = score(rate)
            if scores[rate] > (1 - WORTH) * before:
                break
        rate = min(scores, key=lambda one: scores[one])
        if factor < 1 and rate < max(scores):
            break
    return rate


def network(study: Study, start: str, settings: dict[str, float], seed: int) -> tuple[RecurrentLM, dict[str, Any]]:
    """Return an untrained network, and what it took to make it."""
    wall, cpu = time.perf_counter(), time.process_time()
    facts: dict[str, Any] = {}
    if start == "random":
        torch.manual_seed(seed)
        size = study.arguments.state_size
        lm = RecurrentLM(len(study.bias), size, scale=settings["scale"], recurrent_scale=settings["recurrent"])
        lm.readout.bias.data.copy_(study.bias)
    else:
        model = textlds.fit(
            study.counts,
            state_size=study.arguments.state_size,
            iterations=int(settings["iterations"]),
            pseudocount=settings["pseudocount"],
            seed=seed,
            observations="words",
            threads=1,
        )
        lm = RecurrentLM.from_lds(model, held_out=study.dev_lines)
        assert lm.scales is not None
        facts = {"state scale": lm.scales.state, "readout cap": lm.scales.readout}
    return lm, facts | {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def tuned(study: Study, start: str) -> tuple[dict[str, float], float]:
    """Return the settings and the rate for a start, each the best of some short runs."""
    settings = min(STARTS[start], key=lambda one: trial(study, start, one, FIRST_RATE))
    rate = FIRST_RATE
    for factor in (2.0, 0.5):
        while trial(study, start, settings, rate * factor) < trial(study, start, settings, rate):
            rate *= factor
        if rate != FIRST_RATE:
            break
    return settings, rate


def trial(study: Study, start: str, settings: dict[str, float], rate: float) -> float:
    """Return the perplexity on the development set after a short run."""
    name = f"trial {start} {' '.join(f'{key}={value:g}' for key, value in settings.items())} rate={rate:g}"
    if name not in study.done:
        lm, facts = network(study, start, settings, 0)
        held_out = study.dev[:TRIAL_TOKENS]
        before = lm.perplexity(held_out)
        study.trainer(lm).epoch(study.train[: study.arguments.tuning_tokens], rate)
        after = lm.perplexity(held_out)
        study.keep(name, {"before": before, "dev": after if math.isfinite(after) else 1e9} | facts)
        print(f"{name}: {before:.1f} before, {after:.1f} after", flush=True)
    return float(study.done[name]["dev"])


def run_name(start: str, seed: int, rate: float, decay: float | None) -> str:
    return f"run {start} seed={seed} rate={rate:g} " + ("constant" if decay is None else f"decay={decay:g}")


def run(study: Study, start: str, settings: dict[str, float], seed: int, rate: float, decay: float) -> float:
    """Train one network to the end: at a constant rate, shared by all decays, and then at a shrinking one.

    Returns:
        Its best perplexity on the development set.
    """
    constant, name = run_name(start, seed, rate, None), run_name(start, seed, rate, decay)
    if constant not in study.done:
        lm, facts = network(study, start, settings, seed)
        first = {"epoch": 0, "rate": rate, "train": None, "dev": lm.perplexity(study.dev), "wall": 0.0, "cpu": 0.0}
        save(study, constant, lm)
        study.keep(constant, {"settings": settings, "lds": facts, "curve": [first], "finished": False})
    go_on(study, constant, seed, None)
    if name not in study.done:
        save(study, name, load(study, constant))
        study.keep(name, {**study.done[constant], "seed": seed, "decay": decay, "finished": False})
    go_on(study, name, seed, decay)
    return float(min(record["dev"] for record in study.done[name]["curve"]))


def go_on(study: Study, name: str, seed: int, decay: float | None) -> None:
    """Take a run up where it is, and bring it to its end."""
    facts = study.done[name]
    lm = load(study, name)
    offset = (
        seed * len(study.train) // (study.arguments.seeds + 7)
    )  # another place to begin: other neighbours in a batch
    while not facts["finished"]:
        curve = facts["curve"]
        rate = next_rate([record["dev"] for record in curve], curve[0]["rate"], decay)
        if rate is None or len(curve) > MOST_EPOCHS:
            test = None if decay is None else lm.perplexity(study.test)
            study.keep(name, facts | {"finished": True, "test": test})
            return
        wall, cpu = time.perf_counter(), time.process_time()
        train = study.trainer(lm, seed=len(curve)).epoch(torch.roll(study.train[1:], -offset), rate)
        dev = lm.perplexity(study.dev)
        record = {"epoch": len(curve), "rate": rate, "train": train, "dev": dev}
        record |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if dev < min(point["dev"] for point in curve):
            save(study, name, lm)
        else:
            lm = load(study, name)  # an epoch that did harm is taken back
        facts = study.keep(name, facts | {"curve": [*curve, record]})
        print(f"{name}: {record}", flush=True)


def next_rate(perplexities: list[float], rate: float, decay: float | None) -> float | None:
    """Return the rate of the next epoch after these perplexities, the first before any training; None at the end."""
    best, shrinking = perplexities[0], False
    for perplexity in perplexities[1:]:
        gain = 1 - perplexity / best
        if shrinking and gain < STOP:
            return None
        if not shrinking and gain < SWITCH:
            if decay is None:
                return None
            shrinking = True
        if shrinking and decay is not None:
            rate *= decay
        best = min(best, perplexity)
    return rate


def save(study: Study, name: str, lm: RecurrentLM) -> None:
    path = study.arguments.work / f"{name.replace(' ', '-')}.pt"
    torch.save(lm.state_dict(), path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def load(study: Study, name: str) -> RecurrentLM:
    lm = RecurrentLM(len(study.bias), study.arguments.state_size)
    lm.load_state_dict(torch.load(study.arguments.work / f"{name.replace(' ', '-')}.pt", weights_only=True))
    return lm


if __name__ == "__main__":
    main()
