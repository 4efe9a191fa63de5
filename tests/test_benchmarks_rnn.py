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


@pytest.mark.parametrize("momentum", [0.8, 0.0])
def test_training_by_hand_is_that_of_autograd(momentum):
    from benchmarks.recurrent import Trainer

    lm, twin = networks(2)
    ids = torch.randint(0, V - 5, (3 * 41 + 1,), generator=torch.Generator().manual_seed(1))
    trainer = Trainer(lm, np.ones(V), batch=3, steps=7, momentum=momentum, clip=1e9, recurrent_rate=0.25)
    groups = [
        {"params": [twin.recurrent.weight], "lr": 0},
        {"params": [twin.inputs.weight, *twin.readout.parameters()], "lr": 0},
    ]
    optimizer = torch.optim.SGD(groups, momentum=momentum)
    words, targets = ids[:-1].view(3, 41), ids[1:].view(3, 41)
    for rate in (0.3, 0.05):  # momentum goes on where the rate changes
        state, losses = None, []
        for group, relative in zip(optimizer.param_groups, (0.25, 1), strict=True):
            group["lr"] = rate * relative
        for t in range(0, 41, 7):
            logits, state = twin(words[:, t : t + 7], state)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets[:, t : t + 7].flatten())
            losses += [loss.item()] * logits.shape[0] * logits.shape[1]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = state.detach()
        assert trainer.epoch(ids.numpy(), rate) == pytest.approx(np.exp(np.mean(losses)))
        assert_same_weights(lm, twin)


def test_rows_move_on_while_nobody_looks():
    from benchmarks.recurrent import Table

    rng = np.random.default_rng(0)
    weights, momentum, rate = rng.standard_normal((5, 3)), 0.7, 0.2
    table, velocity = Table(weights, momentum), np.zeros((5, 3))
    table.pace(rate)
    for step in range(40):
        rows = rng.choice(4, 2, replace=False)
        np.testing.assert_allclose(table.read(rows), weights[rows], rtol=1e-12)
        velocity *= momentum
        if step % 3 == 0:
            for some in (rows, rows[:1]):  # a row may have gradients from two sides
                gradients = rng.standard_normal((len(some), 3))
                table.add(some, gradients)
                velocity[some] += gradients
        weights = weights - rate * velocity
        table.tick()
    np.testing.assert_allclose(table.read(np.arange(5)), weights, rtol=1e-12)


def test_words_are_drawn_by_a_power_of_their_frequency():
    from benchmarks.recurrent import inclusion_probabilities

    frequencies = np.array([0.04, 0.45, 0.4, 0.01, 0.1])
    found = inclusion_probabilities(frequencies, 3)
    assert found.sum() == pytest.approx(3)
    assert found[1] == found[2] == 1
    np.testing.assert_allclose(found[[0, 3, 4]] / found[3], np.array([4, 1, 10]) ** 0.7)
    np.testing.assert_array_equal(inclusion_probabilities(frequencies, 5), 1)


def test_a_sample_estimates_the_denominator_without_bias():
    from benchmarks.recurrent import Trainer, inclusion_probabilities

    (lm,) = networks(1)
    generator = torch.Generator().manual_seed(4)
    rows, targets = torch.randn(6, H, dtype=torch.float64, generator=generator), torch.tensor([0, 3, 9, 17, 22, 29])
    inclusion = inclusion_probabilities(np.arange(V, 0, -1.0), 15)
    trainer = Trainer(lm, inclusion, batch=2, steps=3)
    with torch.no_grad():
        logits = lm.readout(rows)
        exact = (logits.exp().sum(1).log() - logits[torch.arange(6), targets]).exp().sum().item()
        ratios = [self_normaliser(trainer, rows[[i]].numpy(), targets[[i]].numpy()) for i in range(6)]
    assert sum(ratios) == pytest.approx(exact, rel=0.05)


def self_normaliser(trainer, row, target):
    """Return the mean over draws of Z / exp(y_target), which is linear in Z; no rate is set, so nothing is learnt."""
    return float(np.mean([np.exp(trainer._readout(row, target)[0]) for _ in range(500)]))


def test_gradients_of_states_are_clipped():
    from benchmarks.recurrent import Trainer

    lm, twin = networks(2)
    ids = torch.randint(0, V, (9,), generator=torch.Generator().manual_seed(5)).numpy()
    Trainer(lm, np.ones(V), batch=2, steps=4, clip=1e-9).epoch(ids, 1.0)
    assert (lm.inputs.weight - twin.inputs.weight).abs().max() < 1e-8
    assert (lm.readout.weight - twin.readout.weight).abs().max() > 1e-3


def test_perplexity_by_hand_is_that_of_the_network(monkeypatch):
    from benchmarks import recurrent

    (lm,) = networks(1)
    ids = torch.randint(0, V, (600,), generator=torch.Generator().manual_seed(6))
    for rows in (256, 7, 599, 1000):
        monkeypatch.setattr(recurrent, "_ROWS", rows)
        assert recurrent.perplexity(lm, ids.numpy()) == pytest.approx(lm.perplexity(ids), rel=1e-12)


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
        "em": [{"pseudocount": 5, "iterations": 3}],
        "profiles": [{"pseudocount": 0, "iterations": 3}],
        "subspace": [{"pseudocount": 5, "iterations": 0}],
    })  # fmt: skip
    monkeypatch.setattr(module, "MOST_EPOCHS", 4)
    module.main()
    return json.loads((tmp_path / "results" / "rnn.json").read_text(encoding="utf-8"))["sizes"]


@pytest.fixture(autouse=True)
def _as_before():
    """The study makes settings of PyTorch's that other tests must not see."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


def check_runs(study):
    assert study["vocabulary"] == 32  # 30 words, the end of a sentence, the unknown word
    assert study["tokens"]["dev"] == 60 * 5
    for start in ("random", "em", "profiles", "subspace"):
        assert [run["seed"] for run in study["runs"][start]] == [0, 1]
        for run in study["runs"][start]:
            devs = [record["dev"] for record in run["curve"]]
            assert min(devs) < devs[0]
            assert 10 ** (4 / 5) < run["test"] < 9  # the end of a sentence is certain, the other four of five are not
    summary = study["summary"]
    for start in ("em", "profiles"):
        assert summary[start]["dev before training"]["mean"] < summary["random"]["dev before training"]["mean"]
        assert summary["random"]["LDS cpu seconds"]["mean"] == 0 < summary[start]["LDS cpu seconds"]["mean"]


def test_the_study(treebank, tmp_path, monkeypatch):
    found = run_study(treebank, tmp_path, monkeypatch)
    check_runs(found["4"])
    near = run_study(
        treebank, tmp_path, monkeypatch,
        "--state-size", 5, "--tuning", "near", "--work", tmp_path / "near", "--softmax", "sampled", "--sample", 25,
        "--watch", 150,
    )  # fmt: skip
    assert near["4"] == found["4"]  # stays beside the new one
    check_runs(near["5"])
    assert not near["5"]["tuning"]
    for start, (first, _) in near["5"]["runs"].items():
        tried = {
            name: one for name, one in near["5"]["rates and decays"].items() if name.startswith(f"run {start} seed=0")
        }
        assert {one["rate"] for one in tried.values()} == {0.5, 0.25}
        assert {one["decay"] for one in tried.values() if one["rate"] == first["curve"][0]["rate"]} == {0.5, 0.3}
        assert min(one["dev"] for one in tried.values()) == first["dev"] != min(one["dev"] for one in first["curve"])
    page = (tmp_path / "results" / "rnn.md").read_text(encoding="utf-8")
    assert page.count("| LDS of words, EM |") == page.count("| LDS of profiles, EM |") == 4  # two tables of two sizes
    assert page.index("## h = 4") < page.index("## h = 5")
    assert (tmp_path / "results" / "rnn.png").stat().st_size > 1000


def check_networks_of_the_language_study(treebank, work, run):
    """The other study of the treebank mixes in what is kept of these networks."""
    from benchmarks.language import Table, add_networks
    from benchmarks.texts import PENN_TREEBANK, PENN_TREEBANK_WORDS

    import textlds
    from textlds.corpus.encoding import Encoder

    counts = textlds.count([treebank / "ptb.train.txt"], text=PENN_TREEBANK, counting=PENN_TREEBANK_WORDS)
    encoder, table = Encoder(counts.vocabulary), Table({})
    ids = {
        part: encoder.encode((treebank / f"ptb.{file}.txt").read_text(encoding="utf-8")).ids
        for part, file in (("dev", "valid"), ("test", "test"))
    }
    found = add_networks(table, work, ids, counts.vocabulary.id("</s>"))
    assert list(found) == ["random"]
    for part in ("dev", "test"):
        p = table.columns["network, random"][part]
        assert np.exp(-np.log(p).mean()) == pytest.approx(run[part], rel=1e-4)


def test_an_interrupted_study_goes_on(treebank, tmp_path, monkeypatch):
    options = ("--starts", "random", "--softmax", "sampled", "--sample", 20)
    whole = run_study(treebank, tmp_path / "whole", monkeypatch, *options)["4"]
    module = importlib.import_module("benchmarks.rnn")
    keep, left = module.Study.keep, [12]

    def interrupted(self, name, value):
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return keep(self, name, value)

    with monkeypatch.context() as patch:
        patch.setattr(module.Study, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(treebank, tmp_path / "parts", monkeypatch, *options)
    assert run_study(treebank, tmp_path / "parts", monkeypatch, *options, "--minutes", 0)["4"]["runs"] == {}
    again = run_study(treebank, tmp_path / "parts", monkeypatch, *options)["4"]
    for run, expected in zip(again["runs"]["random"], whole["runs"]["random"], strict=True):
        assert [record["dev"] for record in run["curve"]] == [record["dev"] for record in expected["curve"]]
        assert run["test"] == expected["test"]
    check_networks_of_the_language_study(treebank, tmp_path / "parts" / "work", again["runs"]["random"][0])
    with pytest.raises(SystemExit, match="other settings"):
        run_study(treebank, tmp_path / "parts", monkeypatch, *options, "--momentum", 0.5)
