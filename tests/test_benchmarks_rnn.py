"""The study of recurrent networks: training by hand against autograd, the schedule, and all of it on a tiny text."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
V, H = 30, 5


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def networks(copies):
    from textlds.integrations.torch import RecurrentLM

    torch.manual_seed(0)
    first = RecurrentLM(V, H, scale=0.5).double()
    found = [first]
    for _ in range(copies - 1):
        found.append(RecurrentLM(V, H).double())
        found[-1].load_state_dict(first.state_dict())
    return found


def assert_same_weights(one, other, tolerance=1e-12):
    for (name, found), expected in zip(one.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}")


def test_training_by_hand_is_that_of_autograd():
    from benchmarks.recurrent import Trainer

    lm, twin = networks(2)
    ids = torch.randint(0, V, (3 * 41 + 1,), generator=torch.Generator().manual_seed(1))
    found = Trainer(lm, batch=3, steps=7, momentum=0.8, clip=1e9, recurrent_rate=0.25).epoch(ids, 0.3)
    groups = [
        {"params": [twin.recurrent.weight], "lr": 0.3 * 0.25},
        {"params": [twin.inputs.weight, *twin.readout.parameters()], "lr": 0.3},
    ]
    optimizer, state, losses = torch.optim.SGD(groups, momentum=0.8), None, []
    words, targets = ids[:-1].view(3, 41), ids[1:].view(3, 41)
    for t in range(0, 41, 7):
        logits, state = twin(words[:, t : t + 7], state)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets[:, t : t + 7].flatten())
        losses += [loss.item()] * logits.shape[0] * logits.shape[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = state.detach()
    assert_same_weights(lm, twin)
    assert found == pytest.approx(np.exp(np.mean(losses)))


def test_a_sample_of_all_words_is_the_full_softmax():
    from benchmarks.recurrent import SampledTrainer, Trainer

    lm, sampled = networks(2)
    ids = torch.randint(0, V, (200,), generator=torch.Generator().manual_seed(2))
    frequencies = torch.rand(V, generator=torch.Generator().manual_seed(3))
    one = Trainer(lm, batch=4, steps=5).epoch(ids, 0.2)
    other = SampledTrainer(sampled, frequencies, common=8, sample=V - 8, batch=4, steps=5).epoch(ids, 0.2)
    assert other == pytest.approx(one)
    assert_same_weights(sampled, lm)


def test_a_sample_estimates_the_denominator_without_bias():
    from benchmarks.recurrent import SampledTrainer

    (lm,) = networks(1)
    generator = torch.Generator().manual_seed(4)
    rows, targets = torch.randn(6, H, dtype=torch.float64, generator=generator), torch.tensor([0, 3, 9, 17, 22, 29])
    trainer = SampledTrainer(lm, torch.arange(V, 0, -1), common=10, sample=5, batch=2, steps=3)
    with torch.no_grad():
        logits = lm.readout(rows)
        exact = (logits.exp().sum(1).log() - logits[torch.arange(6), targets]).exp().sum().item()
        ratios = [self_normaliser(trainer, rows[[i]], targets[[i]]) for i in range(6)]
    assert sum(ratios) == pytest.approx(exact, rel=0.05)


def self_normaliser(trainer, row, target):
    """Return the mean over draws of Z / exp(y_target), which is linear in Z."""
    return float(np.mean([np.exp(trainer._readout(row, target, 0.0)[0]) for _ in range(500)]))


def test_gradients_of_states_are_clipped():
    from benchmarks.recurrent import Trainer

    lm, twin = networks(2)
    ids = torch.randint(0, V, (2, 4), generator=torch.Generator().manual_seed(5)).T
    Trainer(lm, batch=2, steps=4, clip=1e-9).step(ids, ids, torch.zeros(2, H, dtype=torch.float64), 1.0)
    assert (lm.inputs.weight - twin.inputs.weight).abs().max() < 1e-8
    assert (lm.readout.weight - twin.readout.weight).abs().max() > 1e-3


def test_the_schedule():
    from benchmarks.rnn import next_rate

    assert next_rate([700], 2.0, 0.5) == 2
    assert next_rate([700, 300, 250], 2.0, 0.5) == 2
    assert next_rate([700, 300, 299], 2.0, None) is None  # the constant part is over
    assert next_rate([700, 300, 299], 2.0, 0.5) == 1
    assert next_rate([700, 300, 310, 280], 2.0, 0.5) == 0.5  # still gaining while it shrinks
    assert next_rate([700, 300, 310, 280, 279.5], 2.0, 0.5) is None


@pytest.mark.parametrize(("best", "asked"), [(0.25, [1, 0.5, 0.25, 0.125]), (1, [1, 0.5, 2]), (4, [1, 0.5, 2, 4, 8])])
def test_rates_are_halved_or_doubled_while_that_is_worth_it(best, asked):
    from benchmarks.rnn import best_rate

    seen = []

    def score(rate):
        seen.append(rate)
        return 100 + abs(np.log2(rate / best))

    assert best_rate(score, 1) == best
    assert seen == asked


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """A folder with the three parts of a text in which words of one class follow those of another."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("ptb")
    for part, lines in (("train", 800), ("valid", 60), ("test", 60)):
        sentences = (
            " ".join(f"{kind}{'abcdefghij'[i]}" for kind, i in zip("xyzx", rng.integers(0, 10, 4), strict=True))
            for _ in range(lines)
        )
        (folder / f"ptb.{part}.txt").write_text("\n".join(sentences) + "\n")
    return folder


def run_study(treebank, tmp_path, monkeypatch, *more):
    arguments = ["rnn", "--ptb", treebank, "--state-size", 4, "--seeds", 2, "--tuning-tokens", 500, "--batch", 5]
    arguments += ["--steps", 5, "--work", tmp_path / "work", "--results", tmp_path / "results", *more]
    monkeypatch.setattr(sys, "argv", [str(argument) for argument in arguments])
    module = importlib.import_module("benchmarks.rnn")
    monkeypatch.setattr(module, "STARTS", {
        "random": [{"scale": 0.1, "recurrent": 0.6}],
        "subspace": [{"pseudocount": 5, "iterations": 0}],
        "em": [{"pseudocount": 5, "iterations": 3}],
    })  # fmt: skip
    monkeypatch.setattr(module, "MOST_EPOCHS", 4)
    module.main()
    return json.loads((tmp_path / "results" / "rnn.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _as_before():
    """The study makes settings of PyTorch's that other tests must not see."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


def test_the_study(treebank, tmp_path, monkeypatch):
    found = run_study(treebank, tmp_path, monkeypatch)
    assert found["vocabulary"] == 32  # 30 words, the end of a sentence, the unknown word
    assert found["tokens"]["dev"] == 60 * 5
    for start in ("random", "subspace", "em"):
        assert [run["seed"] for run in found["runs"][start]] == [0, 1]
        for run in found["runs"][start]:
            devs = [record["dev"] for record in run["curve"]]
            assert min(devs) < devs[0]
            assert 10 ** (4 / 5) < run["test"] < 9  # the end of a sentence is certain, the other four of five are not
    summary = found["summary"]
    assert summary["em"]["dev before training"]["mean"] < summary["random"]["dev before training"]["mean"]
    assert summary["random"]["LDS cpu seconds"]["mean"] == 0 < summary["em"]["LDS cpu seconds"]["mean"]
    page = (tmp_path / "results" / "rnn.md").read_text(encoding="utf-8")
    assert page.count("| LDS, EM |") == 2
    assert (tmp_path / "results" / "rnn.png").stat().st_size > 1000


def test_an_interrupted_study_goes_on(treebank, tmp_path, monkeypatch):
    whole = run_study(
        treebank, tmp_path / "whole", monkeypatch, "--starts", "random", "--softmax", "sampled", "--common", 9
    )
    options = ("--starts", "random", "--softmax", "sampled", "--common", 9)
    module = importlib.import_module("benchmarks.rnn")
    keep, left = module.Study.keep, [6]

    def interrupted(self, name, value):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return keep(self, name, value)

    with monkeypatch.context() as patch:
        patch.setattr(module.Study, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(treebank, tmp_path / "parts", monkeypatch, *options)
    again = run_study(treebank, tmp_path / "parts", monkeypatch, *options)
    for run, expected in zip(again["runs"]["random"], whole["runs"]["random"], strict=True):
        assert [record["dev"] for record in run["curve"]] == [record["dev"] for record in expected["curve"]]
        assert run["test"] == expected["test"]
    with pytest.raises(SystemExit, match="other settings"):
        run_study(treebank, tmp_path / "parts", monkeypatch, *options, "--momentum", 0.5)
