"""The array types that the mathematics is written in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Matrix = NDArray[np.floating[Any]]
Vector = NDArray[np.floating[Any]]
