"""Names for the arrays of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Values = NDArray[Any]  # counts: uint32, int64 or float64
