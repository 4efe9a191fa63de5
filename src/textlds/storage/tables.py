"""Tables of other libraries."""

from __future__ import annotations

from typing import Any

from textlds.errors import MissingExtraError


def parquet_library() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet, for writing; an error names the extra where they are missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet
