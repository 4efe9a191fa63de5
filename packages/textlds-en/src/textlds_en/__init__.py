"""An English model for textlds: ``textlds.load("en")``."""

from __future__ import annotations

from pathlib import Path

MODEL = Path(__file__).parent / "model"
