"""Names of a model's kinds of vectors, such as ``"state"`` or ``"left + word + right, equal evidence"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import textlds
from benchmarks.paper import settings
from textlds.evaluation.features import Features, model_features
from textlds.vectors.space import Part
from textlds.vectors.weighting import Evidence

_EQUAL = ", equal evidence"


def kind_name(parts: Sequence[Part], evidence: Evidence = "model") -> str:
    """Return the name of a kind of vectors."""
    return " + ".join(parts) + (_EQUAL if evidence == "equal" else "")


def kind_features(model: textlds.TextLDS, kind: str) -> Features:
    """Return the vectors of a kind as features."""
    parts: Any = kind.removesuffix(_EQUAL).split(" + ")
    return model_features(model, parts=parts, evidence="equal" if kind.endswith(_EQUAL) else "model")


STATE = kind_name(settings.STATE)  # the paper's
BEST = kind_name(settings.PARTS, settings.EVIDENCE)  # ours
