"""Draw the pictures of docs/pictures: the way of the data, and what filter and smoother do.

python tools/make_pictures.py [FOLDER]

The second is computed: a walk of one number, seen through noise, and both estimates with two standard deviations.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
STEPS = (
    ("text", ("any corpus,", "read once")),
    ("counts", ("exact integers;", "add, subtract, merge")),
    ("model", ("A, C and noise,", "learnt from counts")),
    ("vectors", ("one for every token,", "in its context")),
)
ARROWS = (("count", "one pass"), ("fit", "no text needed"), ("embed", "small matrix products"))
BOX, GAP, HEIGHT = 170, 160, 120


def flow() -> str:
    """Return an SVG of the way from text to vectors."""
    width = 4 * BOX + 3 * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 20} {HEIGHT + 20}" role="img" '
        'font-family="system-ui, sans-serif" text-anchor="middle">',
        "<title>From text to counts, from counts to a model, from a model to vectors</title>",
        f'<rect width="{width + 20}" height="{HEIGHT + 20}" rx="8" fill="#ffffff"/>',
    ]
    for number, (name, lines) in enumerate(STEPS):
        left = 10 + number * (BOX + GAP)
        middle = left + BOX / 2
        parts.append(
            f'<rect x="{left}" y="30" width="{BOX}" height="80" rx="8" fill="#e0f2f1" stroke="#00796b" '
            'stroke-width="1.5"/>'
        )
        parts.append(f'<text x="{middle}" y="56" font-size="18" font-weight="600" fill="#004d40">{name}</text>')
        parts += [f'<text x="{middle}" y="{77 + 18 * i}" font-size="13" fill="#37474f">{t}</text>'
                  for i, t in enumerate(lines)]  # fmt: skip
    for number, (name, about) in enumerate(ARROWS):
        start = 10 + BOX + number * (BOX + GAP) + 6
        end, middle = start + GAP - 12, start + GAP / 2 - 6
        parts.append(f'<path d="M{start} 70H{end - 9}" stroke="#00796b" stroke-width="2"/>')
        parts.append(f'<path d="M{end - 10} 64L{end} 70L{end - 10} 76Z" fill="#00796b"/>')
        parts.append(f'<text x="{middle}" y="60" font-size="15" font-weight="600" fill="#00796b">{name}</text>')
        parts.append(f'<text x="{middle}" y="92" font-size="11" fill="#546e7a">{about}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class Tracked:
    """A hidden walk, what was seen of it, and both estimates, (T,) each."""

    state: Floats
    seen: Floats
    mean_filt: Floats
    var_filt: Floats
    mean_smooth: Floats
    var_smooth: Floats


def track(length: int = 60, *, a: float = 0.92, q: float = 0.15, d: float = 0.8, seed: int = 0) -> Tracked:
    """Run the Kalman filter and the RTS smoother on x' = a x + N(0, q), seen as x + N(0, d)."""
    rng = np.random.default_rng(seed)
    state = np.zeros(length)
    state[0] = rng.normal(0, np.sqrt(q / (1 - a * a)))
    for t in range(1, length):
        state[t] = a * state[t - 1] + rng.normal(0, np.sqrt(q))
    seen = state + rng.normal(0, np.sqrt(d), length)
    mean, var, mean_pred, var_pred = (np.zeros(length) for _ in range(4))
    expected, spread = 0.0, q / (1 - a * a)  # the stationary law
    for t in range(length):
        mean_pred[t], var_pred[t] = expected, spread
        gain = spread / (spread + d)
        mean[t], var[t] = expected + gain * (seen[t] - expected), (1 - gain) * spread
        expected, spread = a * mean[t], a * a * var[t] + q
    mean_smooth, var_smooth = mean.copy(), var.copy()
    for t in range(length - 2, -1, -1):
        back = a * var[t] / var_pred[t + 1]  # J = Σ_filt Aᵀ Σ_pred⁻¹
        mean_smooth[t] += back * (mean_smooth[t + 1] - mean_pred[t + 1])
        var_smooth[t] += back * back * (var_smooth[t + 1] - var_pred[t + 1])
    return Tracked(state, seen, mean, var, mean_smooth, var_smooth)


def draw_tracking(path: Path) -> None:
    """Draw what filter and smoother say about a hidden walk, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "textlds", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    found = track()
    time = np.arange(len(found.state))
    panels = (
        ("filter: the text so far", found.mean_filt, found.var_filt, "#ef6c00"),
        ("smoother: the whole text", found.mean_smooth, found.var_smooth, "#00796b"),
    )
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
    for axis, (title, mean, var, colour) in zip(axes, panels, strict=True):
        band = 2 * np.sqrt(var)
        axis.fill_between(time, mean - band, mean + band, color=colour, alpha=0.18, linewidth=0)
        axis.plot(time, found.seen, ".", color="#90a4ae", label="observed")
        axis.plot(time, found.state, color="#263238", linewidth=1.2, label="hidden state")
        axis.plot(time, mean, color=colour, linewidth=2, label="estimate")
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("position in the text")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("state")
    marks, names = axes[1].get_legend_handles_labels()
    figure.legend(marks, names, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    """Write both pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flow.svg").write_text(flow(), encoding="utf-8")
    draw_tracking(folder / "tracking.svg")


if __name__ == "__main__":
    main()
