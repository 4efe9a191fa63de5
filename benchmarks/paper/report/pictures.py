"""One look for all pictures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLUE, ORANGE, GREEN, RED, GREY = "#1f6fb4", "#e07b00", "#2a8f4a", "#c23b3b", "#7a7a7a"
_LOOK: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 150,
}


@contextlib.contextmanager
def picture(path: Path, *args: Any, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, as ``matplotlib.pyplot.subplots`` makes them, and save them as PNG in the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(_LOOK):
        figure, axes = plt.subplots(*args, layout="constrained", **options)
        try:
            yield figure, axes
            figure.savefig(path, metadata={"Software": None})  # the same figures give the same file
        finally:
            plt.close(figure)
