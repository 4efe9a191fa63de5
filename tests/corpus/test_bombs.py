"""Little that unpacks to much is read in bounded memory, whatever packed it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from textlds.corpus.reading.opening import open_sources
from textlds.errors import CorpusError

SIZE = 250 << 20  # unpacked
ALLOWED = 150 << 20  # above what a small file needs
LINE = b"ab cd\n" * 1024

# Reads its arguments and prints how much more memory the second took than the first.
PROGRAM = """
import re, sys, textlds.errors
from textlds.corpus.reading.opening import open_sources
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
def read(path):
    size = 0
    try:
        for chunk in open_sources(path)[0].chunks():
            size += len(chunk.data)
    except textlds.errors.CorpusError as error:
        return type(error).__name__ + ": " + str(error)
    return size
first = read(sys.argv[1])
before = peak()
print(read(sys.argv[2]))
print(peak() - before)
"""


def packed(pack: Callable[[bytes], bytes], end: Callable[[], bytes], size: int) -> bytes:
    parts = [pack(LINE * 64) for _ in range(size // (64 * len(LINE)))]
    return b"".join([*parts, end()])


def gz(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packed(packer.compress, packer.flush, size)


def gz_members(size: int) -> bytes:
    return gzip.compress(LINE * 64, 9) * (size // (64 * len(LINE)))


def bzip2(size: int) -> bytes:
    return bz2.compress(LINE * 640) * (size // (640 * len(LINE)))  # packing is slow, unpacking is not


def xz(size: int) -> bytes:
    packer = lzma.LZMACompressor(preset=1)
    return packed(packer.compress, packer.flush, size)


def zst(size: int) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    return packed(packer.compress, packer.flush, size)


def parquet(size: int) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    pages = pytest.importorskip("pyarrow.parquet")
    file, text = io.BytesIO(), LINE.decode() * 8
    # read back as plain strings: a value of 48 KB in a dictionary stands for every row
    pages.write_table(
        pyarrow.table({"text": [text] * (size // len(text))}), file, compression="zstd", store_schema=False
    )
    return file.getvalue()


BOMBS = {
    "a.txt.gz": gz, "b.txt.gz": gz_members, "a.txt.bz2": bzip2, "a.txt.xz": xz, "a.txt.zst": zst, "a.parquet": parquet,
}  # fmt: skip


def measured(tmp_path: Path, name: str, small: bytes, large: bytes) -> tuple[str, int]:
    paths = [tmp_path / f"small-{name}", tmp_path / f"large-{name}"]
    for path, data in zip(paths, (small, large), strict=True):
        path.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", PROGRAM, *paths], capture_output=True, text=True, check=True)
    result, more = done.stdout.splitlines()
    return result, int(more)


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_read_in_bounded_memory(name: str, tmp_path: Path) -> None:
    large = BOMBS[name](SIZE)
    assert len(large) < SIZE // 50
    result, more = measured(tmp_path, name, BOMBS[name](SIZE // 60), large)
    assert int(result) > 0.98 * SIZE
    assert more < ALLOWED, f"{more:,} bytes for {len(large):,}"


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_page_that_cannot_be_held_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pages = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    pages.write_table(pyarrow.table({"text": ["ab " * 100_000_000]}), file, compression="zstd")
    result, more = measured(tmp_path, "a.parquet", parquet(1 << 20), file.getvalue())
    assert "has a page of 300,0" in result
    assert "268,435,456" in result
    assert more < ALLOWED


def test_sizes_of_pages_are_those_of_their_headers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pages = pytest.importorskip("pyarrow.parquet")
    from textlds.corpus.reading.pages import largest_page

    words = [[f"w{i * k % 997}" for k in range(i % 7)] for i in range(5000)]
    table = pyarrow.table({"text": [f"text {i} " * (i % 50) for i in range(5000)], "tokens": words})
    for options in ({}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"write_page_checksum": True}):
        path = tmp_path / "a.parquet"
        pages.write_table(table, path, compression="gzip", data_page_size=2000, row_group_size=2500, **options)
        metadata = pages.read_metadata(path)
        for group in range(metadata.num_row_groups):
            for number in range(2):
                chunk = metadata.row_group(group).column(number)
                with path.open("rb") as file:
                    largest = largest_page(file, chunk)
                # pages of 2000 bytes are cut every 1024 values at the latest; a dictionary is one page
                assert 500 < largest < chunk.total_uncompressed_size


@pytest.mark.parametrize("cut", [1, 20, 100])
@pytest.mark.parametrize("name", ["a.txt.xz", "a.txt.zst", "a.txt.bz2", "a.txt.gz"])
def test_a_stream_without_its_end_is_an_error(name: str, cut: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name](1 << 24)[:-cut])
    with pytest.raises(CorpusError, match="truncated or damaged"):
        list(open_sources(path)[0].chunks())


def test_streams_of_xz_may_follow_one_another_with_zeros_between(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(400_000) + lzma.compress(b"two\n") + bytes(8))
    assert b"".join(chunk.data for chunk in open_sources(path)[0].chunks()) == b"one\ntwo\n"


def test_a_window_larger_than_is_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
    path.write_bytes(lzma.compress(b"one\n", filters=filters))
    with pytest.raises(CorpusError, match="emory"):
        list(open_sources(path)[0].chunks())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"text": ' * 100_000, "nested too deeply"),
        ("9" * 5000, "not JSON"),
        ('{"text": NaN}', "neither a string"),
        ('{"text": "\\ud800"}', "surrogate"),
        ('{"text": {"a": 1}}', "neither a string"),
    ],
)
def test_a_line_of_json_that_is_no_text_is_an_error_with_its_place(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "fine"}) + "\n" + line + "\n")
    with pytest.raises(Exception, match=message) as caught:
        list(open_sources(path)[0].chunks())
    assert "line 2" in str(caught.value) or "a.jsonl" in str(caught.value)
    assert isinstance(caught.value, CorpusError | ValueError)
