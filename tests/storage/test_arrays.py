"""Arrays on disk: the safetensors format, written and read without the library, and checked against it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from textlds.errors import FormatError
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import read_json

DTYPES = ["f8", "f4", "i8", "i4", "u8", "u4", "u2", "u1"]


def example_arrays():
    rng = np.random.default_rng(0)
    arrays = {f"{code}-{i}": (100 * rng.random((3, i + 1))).astype(code) for i, code in enumerate(DTYPES)}
    return arrays | {
        "zero": np.zeros((0, 4), np.float32),
        "scalar": np.array(3.5),
        "fortran": np.asfortranarray(rng.random((4, 5))),
        "strided": np.arange(20)[::3],
        "big-endian": np.arange(4, dtype=">i4"),
        "bytes": np.arange(3, dtype=np.uint8),  # an odd length, to put what follows off its alignment
    }


def test_arrays_come_back_as_they_were(tmp_path):
    arrays = example_arrays()
    write_arrays(tmp_path / "a.safetensors", arrays)
    found = read_arrays(tmp_path / "a.safetensors")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].shape == array.shape, name
        assert found[name].dtype == array.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(found[name], array)
        assert not found[name].flags.writeable or found[name].size == 0
        assert found[name].flags.aligned, name


def test_writable_arrays_are_mapped_changed_in_memory_only_and_outlive_their_file(tmp_path):
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.arange(6.0).reshape(2, 3)})
    found = read_arrays(path, writable=True)["x"]
    assert type(found) is np.ndarray
    assert found.flags.writeable
    assert isinstance(found.base, np.memmap)
    found[0] = -1
    assert read_arrays(path)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    path.unlink()
    assert found.tolist() == [[-1, -1, -1], [3, 4, 5]]


def test_the_real_library_reads_what_we_write(tmp_path):
    arrays = example_arrays()
    write_arrays(tmp_path / "a.safetensors", arrays)
    found = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape


def test_we_read_what_the_real_library_writes(tmp_path):
    arrays = {name: np.array(a, a.dtype.newbyteorder("="), order="C") for name, a in example_arrays().items()}
    safetensors.numpy.save_file(arrays, tmp_path / "a.safetensors", metadata={"made by": "somebody"})
    found = read_arrays(tmp_path / "a.safetensors")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape


def test_the_same_arrays_are_the_same_bytes_in_any_order(tmp_path):
    arrays = example_arrays()
    write_arrays(tmp_path / "a", arrays)
    write_arrays(tmp_path / "b", dict(reversed(arrays.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_arrays(tmp_path):
    write_arrays(tmp_path / "a", {})
    assert read_arrays(tmp_path / "a") == {}


@given(
    shape=st.lists(st.integers(0, 5), max_size=3),
    code=st.sampled_from(DTYPES),
    names=st.lists(st.text(min_size=1, max_size=5).filter(lambda n: n != "__metadata__"), unique=True, max_size=3),
)
def test_any_shape_and_name_survives(tmp_path_factory, shape, code, names):
    path = tmp_path_factory.mktemp("arrays") / "a"
    arrays = {name: np.full(shape, i, code) for i, name in enumerate(names)}
    write_arrays(path, arrays)
    found = read_arrays(path)
    assert set(found) == set(names)
    for name in names:
        assert found[name].shape == tuple(shape)
        np.testing.assert_array_equal(found[name], arrays[name])


def raw_safetensors(header, data=bytes(64), length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F64", shape=(2, 4), offsets=(0, 64)):
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


BAD_FILES = {
    "empty": b"",
    "short": b"\x02\x00",
    "no header": (0).to_bytes(8, "little"),
    "header longer than the file": raw_safetensors({}, length=10_000),
    "header longer than memory": raw_safetensors({}, length=2**63),
    "header is not JSON": raw_safetensors(b"{x}"),
    "header is not UTF-8": raw_safetensors(b'{"\xff": 1}'),
    "header is a list": raw_safetensors([1, 2]),
    "header is a number": raw_safetensors(b"12"),
    "header is nested": raw_safetensors(b"[" * 200_000),
    "entry is a number": raw_safetensors({"x": 1}),
    "entry is a list": raw_safetensors({"x": []}),
    "no dtype": raw_safetensors({"x": {"shape": [8], "data_offsets": [0, 64]}}),
    "unknown dtype": raw_safetensors(entry(dtype="O")),
    "dtype is a list": raw_safetensors(entry(dtype=["F64"])),
    "shape is a number": raw_safetensors(entry(shape=8)),
    "shape of words": raw_safetensors(entry(shape=["a"])),
    "shape is negative": raw_safetensors(entry(shape=[-2, -4])),
    "shape is infinite": raw_safetensors(entry(shape=[float("inf")])),
    "shape overflows": raw_safetensors(entry(shape=[2**32, 2**32], offsets=[0, 0])),
    "shape is astronomical": raw_safetensors(entry(shape=[10**30])),
    "shape is wrong": raw_safetensors(entry(shape=[3, 4])),
    "offsets beyond the end": raw_safetensors(entry(offsets=[8, 72])),
    "offsets before the start": raw_safetensors(entry(offsets=[-8, 56])),
    "offsets backwards": raw_safetensors(entry(shape=[], offsets=[16, 8])),
    "offsets of words": raw_safetensors(entry(offsets=["a", "b"])),
    "offsets of fractions": raw_safetensors(entry(offsets=[0.5, 64.5])),
    "one offset": raw_safetensors(entry(offsets=[0])),
    "three offsets": raw_safetensors(entry(offsets=[0, 64, 64])),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_safetensors_file_is_refused(tmp_path, content):
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.safetensors is not a valid safetensors file"):
        read_arrays(path)


def test_a_good_file_made_by_hand_is_accepted(tmp_path):
    """The bad ones above are refused for what is bad in them."""
    (tmp_path / "a").write_bytes(raw_safetensors(entry()))
    assert read_arrays(tmp_path / "a")["x"].shape == (2, 4)


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_fail_in_another_way(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "a"
    path.write_bytes(content)
    with contextlib.suppress(FormatError):
        read_arrays(path)


@given(st.integers(0, 300), st.integers(0, 255))
def test_no_altered_byte_makes_reading_fail_in_another_way(tmp_path_factory, position, value):
    path = tmp_path_factory.mktemp("altered") / "a"
    write_arrays(path, {"A": np.ones((2, 2)), "ids": np.arange(3, dtype=np.int32)})
    content = bytearray(path.read_bytes())
    content[position % len(content)] = value
    path.write_bytes(content)
    try:
        found = read_arrays(path)
    except FormatError:
        return
    assert all(isinstance(array.sum().item(), int | float) for array in found.values())


@pytest.mark.parametrize("read", [read_arrays, read_json])
def test_a_file_that_is_not_there(tmp_path, read):
    with pytest.raises(FormatError, match="is missing"):
        read(Path(tmp_path / "a"))
