"""Word similarity, in isolation and in context, against word2vec learnt from the same tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper import settings
from benchmarks.paper.job import Job
from benchmarks.paper.store import Cell, Store
from textlds.errors import ArgumentError
from textlds.evaluation.features import Features, model_features

TITLE = "Word similarity"
NEEDS = ("text", "similarity")
SETS = {"SimLex-999": "simlex", "WS-353": "ws-353-all", "MEN": "men", "RW": "rw", "SCWS, in context": "scws"}
