"""``textlds plot``: a model in a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textlds.cli import options as opt
from textlds.cli.output import print_json, say

if TYPE_CHECKING:
    from textlds.model.textlds import TextLDS

FORMATS = (".png", ".svg", ".pdf")
_INK, _BLUE, _ORANGE, _GREEN, _GREY = "#222222", "#2c6fbb", "#d9652b", "#3a8f5c", "#b5b5b5"


def plot_model(path: Path, output: Path, *, force: bool = False) -> None:
    """Draw the likelihood curve and the spectra of A, F and J into a file."""
    from textlds.errors import ArgumentError
    from textlds.storage.folders import check_output, new_file

    check_output(output, force=force)
    suffix = output.suffix.lower()
    if suffix not in FORMATS:
        raise ArgumentError(f"--output {output}: the name must end in {', '.join(FORMATS)} (the format).")
    _matplotlib()
    from textlds.api import load

    drawing = figure(load(path), title=path.resolve().name)
    with new_file(output, force=force) as file:
        drawing.savefig(file, format=suffix[1:], dpi=160)


def figure(model: TextLDS, *, title: str) -> Any:
    """Return the matplotlib figure of a model.

    Eigenvalues do not depend on the coordinates of the state. Singular values do: those shown are in coordinates with
    Q = I. J = Σ_filt Fᵀ Σ_filt⁻¹ has the eigenvalues of F.
    """
    import numpy as np

    from textlds.lds.steady import steady_state

    matplotlib = _matplotlib()
    params = model.params.normalised()
    steady = steady_state(params)
    style = {
        "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": _INK,
        "axes.titlesize": 10, "axes.titlelocation": "left", "svg.hashsalt": "textlds", "axes.unicode_minus": True,
    }  # fmt: skip
    with matplotlib.rc_context(style):
        from matplotlib.figure import Figure

        drawing = Figure(figsize=(10, 7), layout="constrained")
        halves: Any = drawing.subfigures(2, 1, height_ratios=[1, 1.15])
        upper, lower = halves
        drawing.suptitle(
            f"{title}: {model.state_size} dimensions, {len(model.vocabulary):,} words", x=0.01, ha="left", weight="bold"
        )
        left, right = upper.subplots(1, 2, width_ratios=[1.6, 1])
        _draw_likelihood(left, model)
        _draw_singular_values(right, {"A": params.A, "F": steady.F, "J": steady.J})
        for axes, (name, matrix) in zip(
            lower.subplots(1, 2), {"A": params.A, "F (and of J)": steady.F}.items(), strict=True
        ):
            _draw_eigenvalues(axes, np.linalg.eigvals(matrix), f"Eigenvalues of {name}")
    return drawing


def _draw_likelihood(axes: Any, model: TextLDS) -> None:
    history = model.history
    start = [] if history.start is None else [history.start]
    values = [*start, *history.log_likelihood]
    first = 0 if start else 1
    axes.plot(range(first, first + len(values)), values, color=_BLUE, marker="o", markersize=2.5, linewidth=1.4)
    axes.set(title="Log-likelihood", xlabel="EM iteration", ylabel="nats per token, over the static model")
    axes.grid(axis="y", color=_GREY, linewidth=0.4)
    if values:
        axes.annotate(
            f"{values[-1]:.3f}", (first + len(values) - 1, values[-1]), xytext=(0, 6), textcoords="offset points",
            ha="right", color=_BLUE,
        )  # fmt: skip
        axes.margins(y=0.12)


def _draw_singular_values(axes: Any, matrices: dict[str, Any]) -> None:
    import numpy as np

    for (name, matrix), color in zip(matrices.items(), (_INK, _ORANGE, _GREEN), strict=True):
        values = np.linalg.svd(matrix, compute_uv=False)
        axes.plot(range(1, len(values) + 1), values, color=color, linewidth=1.4, label=name)
    axes.set(title="Singular values", xlabel="rank", yscale="log")
    axes.grid(axis="y", color=_GREY, linewidth=0.4)
    axes.legend(frameon=False)


def _draw_eigenvalues(axes: Any, values: Any, title: str) -> None:
    import numpy as np
    from matplotlib.patches import Circle

    modulus = np.abs(values)
    axes.add_patch(Circle((0, 0), 1, fill=False, color=_GREY, linewidth=1))
    axes.axhline(0, color=_GREY, linewidth=0.4)
    axes.axvline(0, color=_GREY, linewidth=0.4)
    points = axes.scatter(values.real, values.imag, c=modulus, cmap="viridis", vmin=0, vmax=1, s=14, linewidths=0)
    axes.set(
        title=f"{title}, largest modulus {modulus.max():.3f}", xlabel="real", ylabel="imaginary",
        xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal",
    )  # fmt: skip
    axes.figure.colorbar(points, ax=axes, label="modulus", shrink=0.8)


def _matplotlib() -> Any:
    from textlds.errors import MissingExtraError

    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("plotting", "plot") from error
    return matplotlib


def command(
    model: opt.Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg or .pdf file to write.")],
    force: opt.Force = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Draw the likelihood curve and the spectra of the transition (A), the filter (F) and the smoother (J)."""
    plot_model(model, output, force=force)
    if as_json:
        print_json({"output": str(output)})
    else:
        say(f"Wrote {output}.", quiet=quiet)


EXAMPLES = ("textlds plot model -o model.png",)
