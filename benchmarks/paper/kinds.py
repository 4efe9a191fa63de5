"""Names of a model's kinds of vectors, such as ``"state"`` or ``"left + word + right, equal evidence"``."""

from __future__ import annotations

from collections.abc import Sequence

import textlds
from benchmarks.paper import settings
from benchmarks.recorded import recipe_of
from textlds.evaluation.features import Features, model_features

_EQUAL = ", equal evidence"


def kind_name(parts: Sequence[str], evidence: str = "model") -> str:
    """Return the name of a kind of vectors."""
    return " + ".join(parts) + (_EQUAL if evidence == "equal" else "")


def kind_features(model: textlds.TextLDS, kind: str) -> Features:
    """Return the vectors of a kind as features."""
    parts = kind.removesuffix(_EQUAL).split(" + ")
    return model_features(model, recipe=recipe_of(parts, "equal" if kind.endswith(_EQUAL) else "model"))


STATE = kind_name(settings.STATE)  # the paper's
BEST = kind_name(settings.PARTS, settings.EVIDENCE)  # ours
FEATURES = kind_name(settings.FEATURES, settings.EVIDENCE)  # the recipe of that name
