"""The settings of a fit. Importing this module is cheap."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from textlds.errors import ArgumentError, RankError
from textlds.settings import ADVANCED, Settings, option, settings_class

if TYPE_CHECKING:
    from textlds.lds.noise import NoiseKind
    from textlds.learn.moments import Pseudocount

Start = Literal["subspace", "random"]
Compression = Literal["auto", "none"] | int
Acceleration = Literal["none", "overrelaxed"]

_PANEL = "Fitting"


@settings_class
@dataclasses.dataclass(frozen=True)
class FitSettings(Settings):
    """Everything that decides what a fit gives, besides the counts.

    Attributes:
        state_size: h, the length of the state and of a token's vector.
        iterations: EM iterations at most.
        seed: The same seed gives the same bits, for any number of threads.
        pseudocount: κ per type, or ``"paper"``: 0.2 T / V, the paper's 1000 at a billion tokens and 200,000 types.
        noise: Covariance of the observation noise: ``"full"`` (diagonal minus low rank), ``"diagonal"``,
            ``"spherical"`` or ``"bohning"``; the last three are there to be compared.
        start: EM starts from ``"subspace"`` identification or from ``"random"`` parameters.
        em_horizon: r of EM's approximate statistics.
        compression: Learn on a sketch of the moments with this many dimensions; ``"auto"`` chooses, ``"none"`` learns
            in the full space.
        polish: EM iterations in the full space after those on the sketch.
        acceleration: ``"overrelaxed"`` takes longer steps: the same likelihood in half the iterations. The paper stops
            early, so that more likelihood is not always better vectors.
        tolerance: Stop when an iteration gains less than this, nats per token.
        ssid_horizon: r of subspace identification, which needs lags up to 2 r − 1.
        ssid_output: C from the ``"first"`` block or by ``"regression"`` on all of them.
        ssid_covariance: Scale of the state ``"matched"`` to the moments, or by the ``"paper"``'s rule.
        ssid_whitened: Whether subspace identification sees whitened moments.
    """

    state_size: int = option(200, "Length of a token's vector.", kind=int, minimum=1)
    iterations: int = option(50, "EM iterations at most.", kind=int, minimum=0)
    seed: int = option(0, "The same seed gives the same model, to the last bit.", kind=int, minimum=0)
    pseudocount: Pseudocount = option(
        "paper", "Added to the count of each word; paper: 0.2 T / V.",
        words=("paper",), kind=float, minimum=0, panel=_PANEL,
    )  # fmt: skip
    noise: NoiseKind = option(
        "full", "Covariance of the observation noise.",
        words=("full", "diagonal", "spherical", "bohning"), panel=_PANEL,
    )  # fmt: skip
    start: Start = option(
        "subspace", "Where EM starts: subspace identification or random parameters.",
        words=("subspace", "random"), panel=_PANEL,
    )  # fmt: skip
    em_horizon: int = option(7, "Horizon r of EM.", kind=int, minimum=1, panel=_PANEL)
    compression: Compression = option(
        "auto", "Learn on a sketch of the counts with this many dimensions, or in the full space.",
        words=("auto", "none"), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    polish: int = option(0, "EM iterations in the full space afterwards.", kind=int, minimum=0, panel=_PANEL)
    acceleration: Acceleration = option(
        "none", "overrelaxed: longer steps, half the iterations.", words=("none", "overrelaxed"), panel=_PANEL
    )
    tolerance: float = option(
        0.0, "Stop when an iteration gains less, nats per token.", kind=float, minimum=0, panel=_PANEL
    )
    ssid_horizon: int = option(4, "Horizon r of subspace identification.", kind=int, minimum=2, panel=ADVANCED)
    ssid_output: Literal["first", "regression"] = option(
        "first", "C from the first block, or by regression on all of them.",
        words=("first", "regression"), panel=ADVANCED,
    )  # fmt: skip
    ssid_covariance: Literal["matched", "paper"] = option(
        "matched", "Scale of the state matched to the counts, or the paper's rule.",
        words=("matched", "paper"), panel=ADVANCED,
    )  # fmt: skip
    ssid_whitened: bool = option(
        True, "Whether subspace identification sees whitened counts.", kind=bool, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.compression, int) and self.compression < self.state_size:
            raise ArgumentError(
                f"compression={self.compression!r} must be 'auto', 'none', or a whole number of at least "
                f"state_size={self.state_size}."
            )

    def sketch_size(self, vocabulary: int) -> int | None:
        """Return the number of dimensions of the sketch, or None to learn in the full space."""
        if self.compression == "none":
            return None
        if self.compression != "auto":
            return min(int(self.compression), vocabulary - 1)
        size = 4 * self.state_size + 100
        fits = self.noise in ("full", "spherical") and self.ssid_whitened and 2 * size <= vocabulary
        return size if fits else None

    def check_counts(self, rows: int, max_lag: int) -> None:
        """Refuse what no counts with at most so many rows and lags can serve, before they are made."""
        if self.state_size >= rows:
            raise RankError(
                f"state_size={self.state_size} exceeds what a vocabulary of {rows} words supports. "
                f"Lower it to at most {rows - 1}, or raise vocab_size."
            )
        needed = 2 * self.ssid_horizon - 1
        if self.start == "subspace" and needed > max_lag:
            raise ArgumentError(
                f"ssid_horizon={self.ssid_horizon} needs lags up to {needed}, but the counts hold {max_lag}. "
                f"Count with max_lag={max(needed, self.em_horizon)}, or lower ssid_horizon."
            )
        if self.em_horizon > max_lag:
            raise ArgumentError(
                f"em_horizon={self.em_horizon} is not between 1 and {max_lag}, the largest lag in the counts. "
                f"Count with max_lag={self.em_horizon}, or lower em_horizon."
            )
