"""Vectors as bytes: JSON, an Arrow stream or .npy, as the client accepts.

application/json                     lists of numbers
application/vnd.apache.arrow.stream  one column ``vectors``, a row per text: a vector, or a list of vectors
application/x-npy                    one array: a row per text; or a row per token of all texts, one after the
                                     other, with the number of tokens of each text in the header Textlds-Lengths
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from textlds.linalg.types import Array
from textlds.serve.requests import RequestError

JSON, ARROW, NPY = "application/json", "application/vnd.apache.arrow.stream", "application/x-npy"
LENGTHS = "Textlds-Lengths"
_TYPES = {
    JSON: JSON, "application/*": JSON, "*/*": JSON, ARROW: ARROW, "application/vnd.apache.arrow.file": ARROW, NPY: NPY,
    "application/npy": NPY, "application/octet-stream": NPY,
}  # fmt: skip

try:
    import orjson

    def json_bytes(value: Any) -> bytes:
        """Return JSON; arrays of numbers become lists."""
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
except ImportError:

    def json_bytes(value: Any) -> bytes:
        """Return JSON; arrays of numbers become lists."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_list).encode("utf-8", "replace")


def _as_list(value: Any) -> Any:
    return np.round(value.astype(np.float64), 7).tolist() if isinstance(value, np.ndarray) else list(value)


def accepted(header: str | None) -> str:
    """Return the type of answer that an Accept header asks for first, of those there are."""
    if not header:
        return JSON
    offers = []
    for number, item in enumerate(header.split(",")):
        name, *parameters = (part.strip() for part in item.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        try:
            offers.append((-float(quality), number, name.lower()))
        except ValueError:
            offers.append((0.0, number, name.lower()))
    for rank, _, name in sorted(offers):
        if rank < 0 and name in _TYPES:
            return _TYPES[name]
    raise RequestError(406, "Validation", f"Accept: {header:.100} asks for none of {JSON}, {ARROW}, {NPY}.")


def encoded(vectors: Sequence[Array], kind: str) -> tuple[bytes, dict[str, str]]:
    """Return vectors as bytes of a kind: a matrix per text, or a vector per text; and headers to send with them."""
    if kind == JSON:
        return json_bytes([np.ascontiguousarray(vector) for vector in vectors]), {}
    if kind == NPY:
        buffer = io.BytesIO()
        if vectors[0].ndim == 1:
            np.save(buffer, np.stack(vectors), allow_pickle=False)
            return buffer.getvalue(), {}
        np.save(buffer, np.concatenate(vectors), allow_pickle=False)
        return buffer.getvalue(), {LENGTHS: ",".join(str(len(matrix)) for matrix in vectors)}
    return arrow_stream(vectors), {}


def arrow_stream(vectors: Sequence[Array]) -> bytes:
    """Return an Arrow stream of one record batch."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise RequestError(
            406, "Validation", f"{ARROW} needs pyarrow on the server: pip install 'textlds[parquet]'. Accept {NPY}."
        ) from error
    nested = vectors[0].ndim == 2
    flat = np.concatenate(vectors) if nested else np.stack(vectors)
    column = pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])
    if nested:
        starts = np.concatenate([[0], np.cumsum([len(matrix) for matrix in vectors])]).astype(np.int32)
        column = pa.ListArray.from_arrays(pa.array(starts), column)
    batch = pa.record_batch([column], names=["vectors"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def base64_vector(vector: Array) -> str:
    """Return a vector as OpenAI's clients read it: base64 of little-endian float32."""
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode("ascii")
