"""The settings of a fit. Importing this module is cheap."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Literal, cast

from textlds.errors import ArgumentError, RankError
from textlds.lexicon.windows import check_lags, check_window
from textlds.settings import ADVANCED, Settings, option, settings_class

if TYPE_CHECKING:
    from textlds.lds.noise import NoiseKind
    from textlds.learn.moments import Pseudocount

Observations = Literal["profiles", "words"]
Start = Literal["auto", "subspace", "neighbours", "random"]
Compression = Literal["auto", "none"] | int
Acceleration = Literal["none", "overrelaxed"]

_PANEL = "Fitting"


@settings_class
@dataclasses.dataclass(frozen=True)
class FitSettings(Settings):
    """Everything that decides what a fit gives, besides the counts.

    Attributes:
        state_size: h, the length of the state and of a token's vector; ``"auto"``: 200, fewer for little text.
        iterations: EM iterations at most; ``"auto"``: 20, or 50 where one-hot words are observed.
        seed: The same seed gives the same bits, for any number of threads.
        observations: What the model observes of a word: its ``"profiles"``, so that words like each other are alike to
            it, or the one-hot ``"words"`` of the paper.
        pseudocount: κ per type, or ``"paper"``: 0.2 T / V, the paper's 1000 at a billion tokens and 200,000 types;
            ``"auto"``: 0, or the paper's where one-hot words are observed.
        noise: Covariance of the observation noise: ``"full"`` (diagonal minus low rank), ``"diagonal"``,
            ``"spherical"`` or ``"bohning"``; the last three are there to be compared.
        start: EM starts from ``"subspace"`` identification, from the moments of ``"neighbours"`` or from ``"random"``
            parameters; ``"auto"``: from neighbours, or from subspace identification where one-hot words are observed.
        em_horizon: r of EM's approximate statistics; the default follows counts that have fewer lags.
        compression: Learn on a sketch of the moments with this many dimensions; ``"auto"`` chooses, ``"none"`` learns
            in the full space.
        polish: EM iterations in the full space after those on the sketch.
        acceleration: ``"overrelaxed"`` takes longer steps: the same likelihood in half the iterations. The paper stops
            early, so that more likelihood is not always better vectors.
        tolerance: Stop when an iteration gains less than this, nats per token.
        meaning_size: d, the length of the vectors of meaning; ``"auto"``: three times the state, up to 300,
            fewer for small vocabularies, never fewer than the state has.
        meaning_window: What lag k of R counts for the meaning of a word: ``"near"``, 1 / max(1, k − 1);
            ``"triangular"``, 1 − (k − 1) / R; ``"flat"``, 1; ``"harmonic"``, 1 / k; or weights of lags 1, 2,
            … such as ``"1,0.5"``, all others 0.
        ssid_horizon: r of subspace identification, which needs lags up to 2 r − 1.
        ssid_output: C from the ``"first"`` block or by ``"regression"`` on all of them.
        ssid_covariance: Scale of the state ``"matched"`` to the moments, or by the ``"paper"``'s rule.
        ssid_whitened: Whether subspace identification sees whitened moments.
    """

    state_size: int | Literal["auto"] = option(
        "auto",
        "Length of a token's vector; auto: by the amount of text, up to 200.",
        words=("auto",),
        kind=int,
        minimum=1,
    )
    iterations: int | Literal["auto"] = option(
        "auto", "EM iterations, at most; auto: 20, or 50 for one-hot words.", words=("auto",), kind=int, minimum=0
    )
    seed: int = option(0, "The same seed gives the same model, to the last bit.", kind=int, minimum=0)
    observations: Observations = option(
        "profiles", "What the model observes: profiles of words, or one-hot words as in the paper.",
        words=("profiles", "words"), panel=_PANEL,
    )  # fmt: skip
    pseudocount: Pseudocount = option(
        "auto", "Added to the count of each word; paper: 0.2 T / V; auto: 0, or paper for one-hot words.",
        words=("auto", "paper"), kind=float, minimum=0, panel=_PANEL,
    )  # fmt: skip
    noise: NoiseKind = option(
        "full", "Covariance of the observation noise.",
        words=("full", "diagonal", "spherical", "bohning"), panel=_PANEL,
    )  # fmt: skip
    start: Start = option(
        "auto", "Where EM starts; auto: neighbours, or subspace for one-hot words.",
        words=("auto", "subspace", "neighbours", "random"), panel=_PANEL,
    )  # fmt: skip
    em_horizon: int = option(
        7, "Largest lag that EM uses; 7, or fewer if the counts have fewer.", kind=int, minimum=1, panel=_PANEL
    )
    compression: Compression = option(
        "auto", "Dimensions of the sketch on which one-hot words are learnt; none: the full space.",
        words=("auto", "none"), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    polish: int = option(
        0, "EM iterations in the full space after those on the sketch.", kind=int, minimum=0, panel=_PANEL
    )
    acceleration: Acceleration = option(
        "none", "overrelaxed: longer steps, about half the iterations.", words=("none", "overrelaxed"), panel=_PANEL
    )
    tolerance: float = option(
        0.0, "Stop when an iteration gains less than this, in nats per token.", kind=float, minimum=0, panel=_PANEL
    )
    meaning_size: int | Literal["auto"] = option(
        "auto", "Length of the vectors of meaning; auto: three times the state, up to 300.",
        words=("auto",), kind=int, minimum=1, panel=_PANEL,
    )  # fmt: skip
    meaning_window: str = option(
        "near",
        "What near and far words count for meaning: near, triangular, flat, harmonic, or weights like 1,0.5.",
        kind=str, panel=_PANEL, metavar="SHAPE",
    )  # fmt: skip
    ssid_horizon: int = option(
        4, "Horizon r of subspace identification, which uses lags up to 2r - 1.", kind=int, minimum=2, panel=ADVANCED
    )
    ssid_output: Literal["first", "regression"] = option(
        "first", "Take C from the first block, or by regression on all blocks.",
        words=("first", "regression"), panel=ADVANCED,
    )  # fmt: skip
    ssid_covariance: Literal["matched", "paper"] = option(
        "matched", "Match the scale of the state to the counts, or follow the paper.",
        words=("matched", "paper"), panel=ADVANCED,
    )  # fmt: skip
    ssid_whitened: bool = option(
        True, "Do not whiten the counts for subspace identification.", kind=bool, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.meaning_window)
        if self.observations == "profiles":
            for name, value in _OF_WORDS.items():
                if getattr(self, name) != value:
                    raise ArgumentError(
                        f"{name}={getattr(self, name)!r} is about one-hot words, but observations='profiles'. "
                        f"Add observations='words', or leave {name} out."
                    )
        if self.start == "neighbours" and self.noise != "full":
            raise ArgumentError(f"start='neighbours' needs noise='full', not {self.noise!r}. Use start='subspace'.")
        if (
            isinstance(self.compression, int)
            and isinstance(self.state_size, int)
            and self.compression < self.state_size
        ):
            raise ArgumentError(
                f"compression={self.compression!r} must be 'auto', 'none', or a whole number of at least "
                f"state_size={self.state_size}."
            )

    @property
    def size(self) -> int:
        """h, once it is chosen."""
        return cast("int", self.state_size)

    @property
    def about(self) -> int:
        """d of meaning, once it is chosen."""
        return cast("int", self.meaning_size)

    def horizon(self, max_lag: int) -> int:
        """Return r of EM for counts with so many lags: the default follows them, any other value is kept."""
        default: int = self.options()["em_horizon"].default  # type: ignore[assignment]
        return min(default, max_lag) if self.em_horizon == default else self.em_horizon

    def resolved(self, tokens: float, rows: int, max_lag: int | None = None) -> FitSettings:
        """Return the settings with a value in place of every ``"auto"`` but that of compression.

        Args:
            tokens: T.
            rows: V.
            max_lag: R; the default of ``em_horizon`` follows it.
        """
        words = self.observations == "words"
        state_size = auto_state_size(tokens, rows) if self.state_size == "auto" else self.size
        chosen = {
            "state_size": state_size,
            "meaning_size": auto_meaning_size(state_size, rows),
            "iterations": 50 if words else 20,
            "pseudocount": "paper" if words else 0,
            "start": "subspace" if words else "neighbours",
        }
        changes = {name: value for name, value in chosen.items() if getattr(self, name) == "auto"}
        return self.replace(**changes, em_horizon=self.em_horizon if max_lag is None else self.horizon(max_lag))

    def sketch_size(self, vocabulary: int) -> int | None:
        """Return the number of dimensions of the sketch, or None to learn in the full space or from profiles."""
        if self.compression == "none" or self.observations == "profiles":
            return None
        if self.compression != "auto":
            return min(int(self.compression), vocabulary - 1)
        size = 4 * self.size + 100
        fits = self.noise in ("full", "spherical") and self.ssid_whitened and 2 * size <= vocabulary
        return size if fits else None

    def check_counts(self, rows: int, max_lag: int) -> None:
        """Refuse what no counts with at most so many rows and lags can serve, before they are made."""
        if self.state_size != "auto" and self.state_size >= rows:
            raise RankError(
                f"state_size={self.state_size} exceeds what a vocabulary of {rows:,} words supports. "
                f"Lower it to at most {rows - 1:,}, or count more words."
            )
        if self.meaning_size != "auto" and self.meaning_size >= rows:
            raise RankError(
                f"meaning_size={self.meaning_size} exceeds what a vocabulary of {rows:,} words supports. "
                f"Lower it to at most {rows - 1:,}, or count more words."
            )
        check_lags(self.meaning_window, max_lag)
        needed, possible = 2 * self.ssid_horizon - 1, (max_lag + 1) // 2
        if self.resolved(1, rows).start == "subspace" and needed > max_lag:
            raise ArgumentError(
                f"ssid_horizon={self.ssid_horizon} needs lags up to {needed}, but the counts hold {max_lag}. "
                f"Count with max_lag={max(needed, self.em_horizon)}"
                f"{f', or set ssid_horizon={possible}' if possible > 1 else ''}."
            )
        if self.horizon(max_lag) > max_lag:
            raise ArgumentError(
                f"em_horizon={self.em_horizon} is not between 1 and {max_lag}, the largest lag in the counts. "
                f"Count with max_lag={self.em_horizon}, or lower em_horizon."
            )


# settings that mean nothing where profiles are observed, and their values then
_OF_WORDS = {"noise": "full", "compression": "auto", "polish": 0, "ssid_whitened": True}


AUTO_STATE_SIZE = 200  # at most


def auto_state_size(tokens: float, rows: int) -> int:
    """Return h for so many tokens and rows: 200 from 75 million tokens on, 100 at 5 million, 40 at 100,000."""
    size = 10 * int(0.215 * math.sqrt(math.sqrt(tokens)) + 0.5)
    return max(1, min(AUTO_STATE_SIZE, max(size, 10), rows // 4))


_AUTO_MEANING_SIZE = 300  # at most


def auto_meaning_size(state_size: int, rows: int) -> int:
    """Return d of meaning for h and so many rows: 3 h, up to 300 and an eighth of the rows, and at least h.

    The sum of the correlations with five sets of pairs of words, on the half for choices, with 100, 200, 300, 400 and
    500 numbers: 231, 250, 257, 260 and 263 at 75 million tokens; at 20 million 221, 236, 244 and 243; at 5 million 199,
    212, 215 and 212; at 1 million 179, 175, 177 and 178.
    """
    return max(state_size, min(3 * state_size, _AUTO_MEANING_SIZE, rows // 8))
