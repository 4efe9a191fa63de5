"""A recurrent network that starts from a linear dynamical system, and one that starts at random (Table 4, Figure 1).

    python -m benchmarks.rnn --ptb FOLDER [--state-size 100] [--tuning whole] [--softmax full] [--results FOLDER]
    python -m benchmarks.rnn --ptb FOLDER --state-size 300 --tuning near --softmax sampled --results FOLDER

FOLDER holds ptb.train.txt, ptb.valid.txt and ptb.test.txt, the language-model split of the Penn Treebank. Four starts:

random     Gaussian weights, their scale tuned, and the log frequencies of words as bias
em         a linear dynamical system of one-hot words: subspace identification, then EM, a few iterations
profiles   the same that observes profiles of words
subspace   as em, without EM

Everything is chosen on the development set, for each start alike. With --tuning whole: the settings of the start and a
learning rate by short runs; then, by whole runs of the first seed, smaller or larger rates and the decay. With --tuning
near: what --tuning whole chose at h = 100 is taken, and only the rate, that one or its half, and the decay are chosen
again, by whole runs of the first seed. With --tuning decay: the rate too is the one of h = 100. The schedule is the
paper's: the rate stays until an epoch gains too little on the development set, then shrinks geometrically until one
gains too little again. The test set is read by the weights that are best on the development set, and decides nothing.

What is done is kept in --work after every epoch, and an interrupted study resumes from there; calls with different
--starts may run side by side. Writes rnn.json, rnn.md and rnn.png, from as many runs as are finished, beside the
studies of other sizes that rnn.json holds.
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

import textlds
from benchmarks.recurrent import Floats, Ids, Trainer, inclusion_probabilities, perplexity
from benchmarks.rnn_report import read_work, write_report
from benchmarks.texts import PENN_TREEBANK, PENN_TREEBANK_WORDS
from textlds.corpus.encoding import Encoder
from textlds.integrations.torch import RecurrentLM

# The first of each is what was best at h = 100; for profiles, as many iterations as for one-hot words.
STARTS: dict[str, list[dict[str, float]]] = {
    "random": [{"scale": a, "recurrent": b} for a, b in ((0.1, 0.6), (0.05, 0.6), (0.1, 0.9))],
    "em": [{"pseudocount": kappa, "iterations": n} for kappa, n in ((30, 20), (30, 5), (100, 20))],
    "profiles": [{"pseudocount": 0, "iterations": n} for n in (20, 50)],
    "subspace": [{"pseudocount": kappa, "iterations": 0} for kappa in (100, 30)],
}
FIRST_RATE = 1.0  # with which the settings of a start are compared; then it is doubled or halved while that helps
DECAYS = (0.5, 0.3)
NEAR_RATES = (0.5, 0.25)  # the best at h = 100 for all starts, and its half
NEAR_DECAYS = {"random": 0.3, "em": 0.5, "profiles": 0.5, "subspace": 0.5}  # the best there
# Relative gains on the development set below which the rate begins to shrink, and a run ends.
SWITCH, STOP = 0.01, 0.004
WORTH = 0.005  # relative gain for which a rate is halved or doubled once more
MOST_EPOCHS = 40
TRIAL_TOKENS = 20_000  # of the development set that short runs are compared on


class OutOfTime(Exception):
    """The minutes given are over; all that was done is kept."""


@dataclass
class Study:
    """The data, and what has been done so far."""

    arguments: argparse.Namespace
    counts: textlds.LagCounts
    train: Ids
    dev: Ids
    test: Ids
    dev_lines: list[str]
    began: float = field(default_factory=time.perf_counter)
    done: dict[str, Any] = field(default_factory=dict)  # starts, trials and runs, by name

    @property
    def frequencies(self) -> Floats:
        """Of words, none zero."""
        counts = self.counts.unigrams + 0.5
        return counts / counts.sum()

    def keep(self, name: str, value: Any) -> Any:
        """Remember a result, also on disk: a file each, so that other starts can be studied at the same time."""
        self.done[name] = value
        path = self.arguments.work / f"{name.replace(' ', '-')}.json"
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({name: value}, indent=1) + "\n")
        unfinished.replace(path)
        return value

    def read(self) -> None:
        """Look at all that was kept, by this call or another."""
        self.done |= read_work(self.arguments.work)

    @property
    def watched(self) -> Ids:
        """What of the development set is looked at after every epoch."""
        return self.dev if self.arguments.watch is None else self.dev[: self.arguments.watch + 1]

    def trainer(self, lm: RecurrentLM, seed: int = 0) -> Trainer:
        """Return what trains a network."""
        a, inclusion = self.arguments, np.ones(len(self.frequencies))
        if a.softmax == "sampled":
            inclusion = inclusion_probabilities(self.frequencies, min(a.sample, len(inclusion)))
        options = {"batch": a.batch, "steps": a.steps, "momentum": a.momentum, "recurrent_rate": a.recurrent_rate}
        return Trainer(lm, inclusion, seed=seed, **options)

    def check_time(self) -> None:
        """Stop if the minutes are over."""
        if time.perf_counter() - self.began > 60 * self.arguments.minutes:
            raise OutOfTime


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
    parser.add_argument("--sample", type=int, default=500, help="words a sampled softmax is estimated from, on average")
    parser.add_argument("--tuning", choices=("whole", "near", "decay"), default="whole")
    parser.add_argument("--watch", type=int, help="tokens of the development set to look at after an epoch, if not all")
    parser.add_argument("--tuning-tokens", type=int, default=150_000, help="of each short run")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after the epoch in which they are over")
    parser.add_argument("--work", type=Path, default=Path("scratch/rnn"), help="folder for unfinished work")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    study = prepare(arguments)
    try:
        for work in plan(study):
            study.check_time()
            work()
    except OutOfTime:
        print("out of time; the same command goes on")
    study.read()
    if arguments.results:
        write_report(study.done, arguments.results)


def prepare(arguments: argparse.Namespace) -> Study:
    """Count, encode, and read what an earlier call has done."""
    arguments.work.mkdir(parents=True, exist_ok=True)
    wall, cpu = time.perf_counter(), time.process_time()
    train = arguments.ptb / "ptb.train.txt"
    counts = textlds.count([train], threads=1, text=PENN_TREEBANK, counting=PENN_TREEBANK_WORDS)
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    encoder = Encoder(counts.vocabulary)

    def encode(part: str) -> Ids:
        """Return a text with the end of a sentence before it, so that its first word is predicted too."""
        ids = encoder.encode((arguments.ptb / f"ptb.{part}.txt").read_text(encoding="utf-8")).ids
        return np.append(counts.vocabulary.id("</s>"), ids).astype(np.int64)

    lines = (arguments.ptb / "ptb.valid.txt").read_text(encoding="utf-8").splitlines()
    study = Study(arguments, counts, encode("train"), encode("valid"), encode("test"), lines)
    study.read()
    settings = {name: value for name, value in vars(arguments).items() if name in SETTINGS}
    if study.done.setdefault("settings", settings) != settings:
        raise SystemExit(f"{arguments.work} holds a study with other settings: {study.done['settings']}")
    facts = {
        "settings": settings,
        "schedule": {"switch": SWITCH, "stop": STOP},
        "counting": seconds,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}, 1 thread",
        "tokens": {"train": len(study.train) - 1, "dev": len(study.dev) - 1, "test": len(study.test) - 1},
        "vocabulary": len(counts.vocabulary),
    }
    for name, value in facts.items():
        study.keep(name, value)
    return study


SETTINGS = (
    "state_size", "batch", "steps", "momentum", "recurrent_rate", "softmax", "sample", "watch", "tuning",
    "tuning_tokens",
)  # fmt: skip


def plan(study: Study) -> list[Callable[[], object]]:
    """Return the work in an order in which every beginning of it is worth something."""
    starts = [start for start in STARTS if start in study.arguments.starts]
    work: list[Callable[[], object]] = []
    work += [partial(near_run, study, start, rate) for rate in rates(study) for start in starts]
    return work + [partial(finish, study, start, seed) for seed in range(study.arguments.seeds) for start in starts]


def finish(study: Study, start: str, seed: int) -> None:
    """Do the run of a seed; the first seed's is done with several rates and decays, and the best are kept to."""
    if near := rates(study):
        settings, rate = STARTS[start][0], min(near, key=lambda one: near_run(study, start, one))
    else:
        settings, rate = tuned(study, start)
        rate = best_rate(lambda one: run(study, start, settings, 0, one, DECAYS[0]), rate)
    decay = min(DECAYS, key=lambda one: run(study, start, settings, 0, rate, one))
    run(study, start, settings, seed, rate, decay)


def rates(study: Study) -> tuple[float, ...]:
    """Return what the rate is chosen from by whole runs with what was best at h = 100; nothing if all is tuned."""
    return {"whole": (), "near": NEAR_RATES, "decay": NEAR_RATES[:1]}[study.arguments.tuning]


def near_run(study: Study, start: str, rate: float) -> float:
    """Do the run of the first seed at a rate with what was best at h = 100."""
    return run(study, start, STARTS[start][0], 0, rate, NEAR_DECAYS[start])


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
    name = f"start {start} {described(settings)} seed={seed}"
    if name in study.done:
        return load(study, name), study.done[name]
    wall, cpu = time.perf_counter(), time.process_time()
    facts: dict[str, Any] = {}
    if start == "random":
        torch.manual_seed(seed)
        log_frequencies, size = np.log(study.frequencies), study.arguments.state_size
        lm = RecurrentLM(len(log_frequencies), size, scale=settings["scale"], recurrent_scale=settings["recurrent"])
        lm.readout.bias.data.copy_(torch.from_numpy(log_frequencies))
    else:
        model = textlds.fit(
            study.counts,
            state_size=study.arguments.state_size,
            iterations=int(settings["iterations"]),
            pseudocount=settings["pseudocount"],
            seed=seed,
            observations="profiles" if start == "profiles" else "words",
            settings=textlds.FitSettings(start="subspace"),
            threads=1,
        )
        lm = RecurrentLM.from_lds(model, held_out=study.dev_lines)
        assert lm.scales is not None
        facts = {"state scale": lm.scales.state, "readout cap": lm.scales.readout}
    save(study, name, lm)
    facts |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return lm, study.keep(name, facts)


def described(settings: dict[str, float]) -> str:
    return " ".join(f"{key}={value:g}" for key, value in settings.items())


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
    name = f"trial {start} {described(settings)} rate={rate:g}"
    if name not in study.done:
        lm, facts = network(study, start, settings, 0)
        held_out = study.dev[:TRIAL_TOKENS]
        before = perplexity(lm, held_out)
        study.trainer(lm).epoch(study.train[: study.arguments.tuning_tokens], rate)
        after = perplexity(lm, held_out)
        study.keep(name, {"before": before, "dev": after if math.isfinite(after) else 1e9} | facts)
        print(f"{name}: {before:.1f} before, {after:.1f} after", flush=True)
        study.check_time()
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
        first = {"epoch": 0, "rate": rate, "train": None, "dev": perplexity(lm, study.watched), "wall": 0.0, "cpu": 0.0}
        save(study, constant, lm)
        study.keep(constant, {"settings": settings, "lds": facts, "curve": [first], "finished": False})
    go_on(study, constant, seed, None)
    if name not in study.done:
        save(study, name, load(study, constant))
        study.keep(name, {**study.done[constant], "seed": seed, "decay": decay, "finished": False})
    go_on(study, name, seed, decay)
    return float(study.done[name]["dev"])


def go_on(study: Study, name: str, seed: int, decay: float | None) -> None:
    """Take a run up where it is, and bring it to its end."""
    facts = study.done[name]
    if facts["finished"]:
        return
    lm = load(study, name)
    offset = seed * len(study.train) // 10  # another place to begin: other neighbours in a batch
    while True:
        curve = facts["curve"]
        rate = next_rate([record["dev"] for record in curve], curve[0]["rate"], decay)
        if rate is None or len(curve) > MOST_EPOCHS:
            if decay is not None:
                facts |= {"dev": perplexity(lm, study.dev), "test": perplexity(lm, study.test)}
            study.keep(name, facts | {"finished": True})
            return
        wall, cpu = time.perf_counter(), time.process_time()
        train = study.trainer(lm, seed=len(curve)).epoch(np.roll(study.train[1:], -offset), rate)
        dev = perplexity(lm, study.watched)
        record = {"epoch": len(curve), "rate": rate, "train": train, "dev": dev}
        record |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if dev < min(point["dev"] for point in curve):
            save(study, name, lm)
        else:
            lm = load(study, name)  # an epoch that did harm is taken back
        facts = study.keep(name, facts | {"curve": [*curve, record]})
        print(f"{name}: {record}", flush=True)
        study.check_time()


def next_rate(perplexities: list[float], rate: float, decay: float | None) -> float | None:
    """Return the rate of the next epoch after these perplexities, the first before any training; None at the end."""
    best, shrinking = perplexities[0], False
    for reached in perplexities[1:]:
        gain = 1 - reached / best
        if shrinking and gain < STOP:
            return None
        if not shrinking and gain < SWITCH:
            if decay is None:
                return None
            shrinking = True
        if shrinking and decay is not None:
            rate *= decay
        best = min(best, reached)
    return rate


def save(study: Study, name: str, lm: RecurrentLM) -> None:
    path = study.arguments.work / f"{name.replace(' ', '-')}.pt"
    torch.save(lm.state_dict(), path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def load(study: Study, name: str) -> RecurrentLM:
    lm = RecurrentLM(len(study.frequencies), study.arguments.state_size)
    lm.load_state_dict(torch.load(study.arguments.work / f"{name.replace(' ', '-')}.pt", weights_only=True))
    return lm


if __name__ == "__main__":
    main()
