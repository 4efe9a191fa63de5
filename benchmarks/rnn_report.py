"""The table, the figure and the page of the study of recurrent networks, made from its finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

NAMES = {
    "random": "random",
    "em": "LDS of words, EM",
    "profiles": "LDS of profiles, EM",
    "subspace": "LDS of words, subspace identification",
}


def write_report(done: dict[str, Any], folder: Path) -> None:
    """Put a study beside those of other sizes in rnn.json; write rnn.md and rnn.png from all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "rnn.json"
    sizes = json.loads(path.read_text(encoding="utf-8"))["sizes"] if path.exists() else {}
    runs = final_runs(done)
    facts = {name: value for name, value in done.items() if " " not in name}
    sizes[str(done["settings"]["state_size"])] = facts | {
        "how": how(done["settings"], done["schedule"]),
        "summary": summary(runs, done["counting"]),
        "runs": runs,
        "tuning": {name.removeprefix("trial "): value for name, value in done.items() if name.startswith("trial ")},
        "rates and decays": {name: test_free(value) for name, value in done.items() if is_end(name, value)},
    }
    sizes = {size: sizes[size] for size in sorted(sizes, key=int)}
    path.write_text(json.dumps({"sizes": sizes}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "rnn.md").write_text(page(sizes), encoding="utf-8")
    plot({size: study for size, study in sizes.items() if study["runs"]}, folder / "rnn.png")


def read_work(folder: Path) -> dict[str, Any]:
    """Return all that a study keeps in its folder, by name."""
    done: dict[str, Any] = {}
    for path in sorted(folder.glob("*.json")):
        done |= json.loads(path.read_text(encoding="utf-8"))
    return done


def is_end(name: str, value: Any) -> bool:
    return name.startswith("run ") and "decay" in value and bool(value["finished"])


def test_free(run: dict[str, Any]) -> dict[str, float]:
    """Return what rates and decays were chosen by."""
    return {"rate": run["curve"][0]["rate"], "decay": run["decay"], "dev": run["dev"], "epochs": len(run["curve"]) - 1}


def best(run: dict[str, Any]) -> float:
    """Return the lowest perplexity on what was watched of the development set."""
    return float(min(record["dev"] for record in run["curve"]))


def final_runs(done: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the finished runs of each start with its best rate and decay, one per seed.

    They are the best on the development set of what was tried with the first seed, so far.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for start in NAMES:
        ended = [run for name, run in done.items() if name.startswith(f"run {start} ") and is_end(name, run)]
        first = min((run for run in ended if run["seed"] == 0), key=lambda run: float(run["dev"]), default=None)
        if first is not None:
            alike = [run for run in ended if pace(run) == pace(first)]
            found[start] = sorted(alike, key=lambda run: int(run["seed"]))
    return found


def pace(run: dict[str, Any]) -> tuple[float, float]:
    """Return the first rate of a run and its decay."""
    return float(run["curve"][0]["rate"]), float(run["decay"])


def summary(runs: dict[str, list[dict[str, Any]]], counting: dict[str, float]) -> dict[str, dict[str, Any]]:
    """Return mean and spread over seeds of what the table shows."""
    goal = float(np.mean([best(run) for run in runs["random"]])) if "random" in runs else None
    rows: dict[str, dict[str, Any]] = {}
    for start, some in runs.items():
        lds = [0.0 if start == "random" else run["lds"]["cpu"] + counting["cpu"] for run in some]
        training = [sum(record["cpu"] for record in run["curve"]) for run in some]
        counted = 0.0 if start == "random" else counting["wall"]
        wall = [sum(record["wall"] for record in run["curve"]) + run["lds"]["wall"] + counted for run in some]
        reached = [epochs_to(run, goal) for run in some] if goal is not None else []
        rows[start] = {
            "seeds": len(some),
            "dev before training": spread([run["curve"][0]["dev"] for run in some]),
            "dev after one epoch": spread([run["curve"][1]["dev"] for run in some]),
            "epochs": spread([len(run["curve"]) - 1 for run in some]),
            "epochs to the best dev of random": [epoch for epoch in reached if epoch is not None],
            "runs that reach it": f"{sum(epoch is not None for epoch in reached)} of {len(some)}",
            "dev": spread([run["dev"] for run in some]),
            "test": spread([run["test"] for run in some]),
            "LDS cpu seconds": spread(lds),
            "cpu seconds": spread([a + b for a, b in zip(lds, training, strict=True)]),
            "wall seconds": spread(wall),
        }
    return rows


def spread(values: list[float]) -> dict[str, float]:
    """Return mean, standard deviation and range."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "sd": deviation, "least": float(min(values)), "most": float(max(values))}


def epochs_to(run: dict[str, Any], goal: float) -> int | None:
    """Return the first epoch at whose end the development set's perplexity is no higher than the goal."""
    return next((int(record["epoch"]) for record in run["curve"] if record["dev"] <= goal), None)


def page(sizes: dict[str, dict[str, Any]]) -> str:
    lines = [
        "# A recurrent network from a linear dynamical system",
        "",
        *wrap(what(list(sizes.values())[-1]), 118),
        "",
        "The paper (h = 300, tuned alike): from EM 122.8 on test, at random 124.0; 12 epochs instead of 17; subspace",
        "identification alone no better than random.",
        "",
        "![Perplexity against epochs](rnn.png)",
        "",
    ]
    for size, study in sizes.items():
        lines += [f"## h = {size}", "", *table(study["summary"]), "", *verdict(study["summary"]), ""]
    for size, study in sizes.items():
        lines += [f"## How, h = {size}", "", *details(study)]
    return "\n".join(lines)


def details(study: dict[str, Any]) -> list[str]:
    lines = [
        *wrap(study["how"], 118),
        "",
        "| start | settings | rate | decay |",
        "|---|---|---|---|",
        *(chosen(start, runs[0]) for start, runs in study["runs"].items()),
        "",
        "| run of the first seed | epochs | dev |",
        "|---|---|---|",
        *(tried(name, run) for name, run in study["rates and decays"].items() if " seed=0 " in name),
        "",
    ]
    if study["tuning"]:
        short = (f"| {name} | {value['before']:.1f} | {value['dev']:.1f} |" for name, value in study["tuning"].items())
        lines += ["| short run | dev before | dev after |", "|---|---|---|", *short, ""]
    return lines


def what(study: dict[str, Any]) -> str:
    tokens = study["tokens"]
    return (
        f"Made by `benchmarks/rnn.py` ({study['machine']}). Penn Treebank, {tokens['train']:,} tokens to learn from, "
        f"{tokens['dev']:,} to choose by, {tokens['test']:,} to test on; V = {study['vocabulary']:,}, tanh. The linear "
        "dynamical system sees the same text as the network and no other. ± is the standard deviation over seeds. On a "
        "machine that does other work, compare processor seconds."
    )


def how(settings: dict[str, Any], schedule: dict[str, float]) -> str:
    sampled = "The softmax is over all words."
    if settings["softmax"] == "sampled":
        sampled = (
            f"In training, the denominator of the softmax is estimated from the target and {settings['sample']} words "
            "on average, drawn anew at each step, common words more often; perplexities are always those of the full "
            "softmax."
        )
    watched = ""
    if settings["watch"] is not None:
        watched = (
            f"After an epoch, only the first {settings['watch']:,} tokens of the development set are looked at: the "
            "curves and the epochs to random's best are about these, the column dev about all. "
        )
    tuning = (
        "Settings of the start are those chosen at h = 100 (for profiles those of EM on words, but no pseudocount), "
        f"and so is the first rate{' or its half' if settings['tuning'] == 'near' else ''}; the better of two decays "
        "was chosen by whole runs of the first seed."
    )
    if settings["tuning"] == "whole":
        tuning = (
            f"Settings of the start and rates are the best of short runs ({settings['tuning_tokens']:,} tokens); "
            "smaller or larger rates, and the better of two decays, were then tried in whole runs of the first seed."
        )
    return (
        f"Stochastic gradient descent on {settings['batch']} streams x {settings['steps']} words, momentum "
        f"{settings['momentum']}, back-propagation through {settings['steps']} words, the rate of the h x h matrix "
        f"{settings['recurrent_rate']} of the others'. {sampled} The rate stays until an epoch gains less than "
        f"{100 * schedule['switch']:g} % on the development set, then shrinks geometrically until one gains less than "
        f"{100 * schedule['stop']:g} %; an epoch that did harm is taken back. {watched}{tuning} Random weights have "
        "the log frequencies of words as bias, as the others do. The test set was read by the weights that were best "
        "on the development set, and decided nothing."
    )


def table(rows: dict[str, dict[str, Any]]) -> list[str]:
    lines = [
        "| start | seeds | dev before training | after one epoch | epochs | to random's best dev | dev | test "
        "| processor seconds | of these the LDS's | wall seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for start, row in rows.items():
        epochs = row["epochs to the best dev of random"]
        reached = f"{np.mean(epochs):.1f} ({row['runs that reach it']})" if epochs else f"({row['runs that reach it']})"
        cells = [
            NAMES[start],
            row["seeds"],
            f"{row['dev before training']['mean']:.0f}",
            f"{row['dev after one epoch']['mean']:.1f}",
            f"{row['epochs']['mean']:.1f}",
            reached,
            f"{row['dev']['mean']:.2f} ± {row['dev']['sd']:.2f}",
            f"{row['test']['mean']:.2f} ± {row['test']['sd']:.2f}",
            f"{row['cpu seconds']['mean']:.0f}",
            f"{row['LDS cpu seconds']['mean']:.0f}",
            f"{row['wall seconds']['mean']:.0f}",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def verdict(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Say what the figures say."""
    if "random" not in rows:
        return []
    random, lines = rows["random"], ["Against random:", ""]
    for start in [start for start in NAMES if start in rows and start != "random"]:
        row, epochs = rows[start], rows[start]["epochs to the best dev of random"]
        apart = row["test"]["most"] < random["test"]["least"] or row["test"]["least"] > random["test"]["most"]
        lines.append(
            f"- {NAMES[start]}: {row['test']['mean'] - random['test']['mean']:+.2f} on test; the ranges over seeds "
            f"{'do not overlap' if apart else 'overlap'} ({bounds(row['test'])}, random {bounds(random['test'])}). "
            f"Epochs to random's best on dev: {f'{np.mean(epochs):.1f}' if epochs else 'never'}; "
            f"random's runs last {random['epochs']['mean']:.1f}."
        )
    for other in [start for start in ("profiles", "subspace") if start in rows and "em" in rows]:
        names = ("dev before training", "dev after one epoch", "test")
        pairs = [f"{name} {rows['em'][name]['mean']:.1f} and {rows[other][name]['mean']:.1f}" for name in names]
        lines.append(f"- {NAMES['em']}, and {NAMES[other]}: {', '.join(pairs)}.")
    return lines


def bounds(values: dict[str, float]) -> str:
    return f"{values['least']:.2f} to {values['most']:.2f}"


def chosen(start: str, run: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} {value:g}" for name, value in run["settings"].items())
    scales = ", ".join(f"{name} {run['lds'][name]:g}" for name in ("state scale", "readout cap") if name in run["lds"])
    how = ", ".join(filter(None, (settings, scales)))
    return f"| {NAMES[start]} | {how} | {run['curve'][0]['rate']:g} | {run['decay']:g} |"


def tried(name: str, run: dict[str, float]) -> str:
    start = NAMES[name.split()[1]]
    return f"| {start}, rate {run['rate']:g}, decay {run['decay']:g} | {run['epochs']} | {run['dev']:.2f} |"


def plot(sizes: dict[str, dict[str, Any]], path: Path) -> None:
    if not sizes:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, several = plt.subplots(1, len(sizes), figsize=(1 + 5 * len(sizes), 4), squeeze=False)
    for axes, (size, study) in zip(several[0], sizes.items(), strict=True):
        highest = 0.0
        for start, runs in study["runs"].items():
            for number, run in enumerate(runs):
                points = [(record["epoch"], record["dev"]) for record in run["curve"][1:]]
                label = NAMES[start] if number == 0 else None
                axes.plot(*zip(*points, strict=True), color=f"C{list(NAMES).index(start)}", alpha=0.8, label=label)
                highest = max(highest, points[0][1])
        axes.set(xlabel="epochs", ylabel="perplexity, development set", yscale="log", ylim=(None, 1.05 * highest))
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_minor_formatter("{x:.0f}")
        axes.set_title(f"Penn Treebank, h = {size}, {max(map(len, study['runs'].values()))} seeds")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
