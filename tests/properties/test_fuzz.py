"""Fuzz targets: the array format and the tokeniser, on bytes that nobody would write.

Under hypothesis they run with every test. With ``atheris`` installed, ``python tests/properties/test_fuzz.py arrays``
(or ``tokens``, ``json``) runs one for as long as it is let.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from textlds.corpus.settings import TextSettings
from textlds.corpus.tokens.tokenizer import ChunkTokenizer
from textlds.errors import FormatError
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import read_json

EXAMPLES = 300


def fuzz_arrays(data: bytes) -> None:
    """Any bytes are arrays that lie within them, or a FormatError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        path.write_bytes(data)
        try:
            arrays = read_arrays(path)
        except FormatError:
            return
        for array in arrays.values():
            assert array.nbytes <= len(data)
            array.tobytes()  # reads every byte: beyond the end of the file that would be a signal


def fuzz_json(data: bytes) -> None:
    """Any bytes are JSON that can be written again, or a FormatError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(data)
        try:
            content = read_json(path)
        except FormatError:
            return
        json.dumps(content, ensure_ascii=False).encode("utf-8")


_TOKENIZERS = [
    TextSettings(tokenizer=tokenizer, digits=digits, boundaries=boundaries)
    for tokenizer, digits, boundaries in itertools.product(
        ("words", "whitespace"), ("num", "zero", "keep"), ("line", "sentence")
    )
]


def fuzz_tokens(data: bytes) -> None:
    """Any bytes, once they are UTF-8, have tokens; the same ones whenever they are asked for."""
    text = data.decode("utf-8", "replace").encode("utf-8")
    chosen = _TOKENIZERS[len(data) % len(_TOKENIZERS)]
    tokenizer = ChunkTokenizer(chosen)
    ids = tokenizer.ids(text, end=True)
    words = tokenizer.table.words()
    assert ids.max(initial=-1) < len(words)
    assert ids.min(initial=0) >= -2
    again = ChunkTokenizer(chosen)
    assert np.array_equal(again.ids(text, end=True), ids)


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """Headers that are nearly right: the reader's checks are met one by one."""
    numbers = st.one_of(
        st.integers(-3, 40), st.sampled_from([2**31, 2**40, 2**62, 2**63, 2**64, -(2**63)]), st.floats()
    )
    facts = st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["F64", "F32", "I64", "I32", "U8", "BF16", "", 3]),
            "shape": st.one_of(st.lists(numbers, max_size=4), st.integers()),
            "data_offsets": st.one_of(st.lists(numbers, min_size=2, max_size=2), st.lists(numbers, max_size=3)),
        }
    )
    content = draw(st.dictionaries(st.text(max_size=3), st.one_of(facts, st.none(), st.integers()), max_size=4))
    text = json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text + draw(st.binary(max_size=64))


@given(st.one_of(st.binary(max_size=200), headers()))
@settings(max_examples=EXAMPLES)
@example(b"")
@example((2**63).to_bytes(8, "little") + b"{}")
@example(b"\x02\0\0\0\0\0\0\0{}")
def test_arrays(data: bytes) -> None:
    fuzz_arrays(data)


@given(st.data())
@settings(max_examples=EXAMPLES)
def test_altered_arrays(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        write_arrays(
            path, {"x": np.arange(6.0).reshape(2, 3), "i": np.arange(4, dtype=np.int32), "e": np.empty((0, 2))}
        )
        whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    fuzz_arrays(bytes(whole[: data.draw(st.integers(0, len(whole)))]) if data.draw(st.booleans()) else bytes(whole))


@given(
    st.one_of(st.binary(max_size=100), st.text(alphabet='[]{}":,\\udE0189.-NaInfty \n', max_size=60).map(str.encode))
)
@settings(max_examples=EXAMPLES)
def test_json(data: bytes) -> None:
    fuzz_json(data)


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
@settings(max_examples=EXAMPLES)
@example(b"\xf0\x9f\x98\x80 a\r\nb\0\xe2\x80\xa8c 12,5")
def test_tokens(data: bytes) -> None:
    fuzz_tokens(data)


if __name__ == "__main__":
    import atheris

    targets = {"arrays": fuzz_arrays, "json": fuzz_json, "tokens": fuzz_tokens}
    atheris.Setup([sys.argv[0], *sys.argv[2:]], targets[sys.argv[1]])
    atheris.Fuzz()
