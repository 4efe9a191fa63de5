"""The settings of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textlds.errors import ArgumentError
from textlds.lds.noise import NOISE_KINDS, NoiseKind
from textlds.learn.moments import Pseudocount

Start = Literal["subspace", "random"]
Compression = Literal["auto", "none"] | int
Acceleration = Literal["none", "overrelaxed"]


@dataclass(frozen=True)
class FitSettings:
    """Everything that decides what a fit gives, besides the counts. See :func:`textlds.fit`."""

    state_size: int = 200
    iterations: int = 50
    seed: int = 0
    pseudocount: Pseudocount = "paper"
    noise: NoiseKind = "full"
    start: Start = "subspace"
    ssid_horizon: int = 4
    em_horizon: int = 7
    ssid_output: Literal["first", "regression"] = "first"
    ssid_covariance: Literal["matched", "paper"] = "matched"
    ssid_whitened: bool = True
    compression: Compression = "auto"
    polish: int = 0
    acceleration: Acceleration = "none"
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("state_size", 1), ("iterations", 0), ("seed", 0), ("em_horizon", 1), ("polish", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ArgumentError(f"{name}={value!r} must be a whole number of at least {least}.")
        if not isinstance(self.ssid_whitened, bool):
            raise ArgumentError(f"ssid_whitened={self.ssid_whitened!r} must be True or False.")
        for name, options in _OPTIONS.items():
            if getattr(self, name) not in options:
                raise ArgumentError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, options))}.")
        if not isinstance(self.tolerance, int | float) or not self.tolerance >= 0:
            raise ArgumentError(f"tolerance={self.tolerance!r} must be 0 or more.")
        if self.compression not in ("auto", "none") and (
            not isinstance(self.compression, int) or self.compression < self.state_size
        ):
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


_OPTIONS: dict[str, Sequence[str]] = {
    "noise": NOISE_KINDS,
    "start": ("subspace", "random"),
    "acceleration": ("none", "overrelaxed"),
    "ssid_output": ("first", "regression"),
    "ssid_covariance": ("matched", "paper"),
}
