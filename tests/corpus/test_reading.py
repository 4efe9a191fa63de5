from __future__ import annotations

import bz2
import functools
import gzip
import http.server
import io
import json
import lzma
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.texts import sample_text
from textlds.corpus.reading.opening import Chunk, Source, open_sources, split
from textlds.corpus.reading.sources import find_invalid
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError, CorpusError, CorpusNotFoundError, EncodingError, MissingExtraError

TEXT = sample_text(seed=7, n_lines=120)
DATA = TEXT.encode()


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    half = len(data) // 2  # two frames, as parallel compressors write them
    return b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(part) for part in (data[:half], data[half:]))


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


def read(source: Source, chunk_bytes: int = 1 << 22) -> list[Chunk]:
    """Read all chunks and check what is true of every source."""
    chunks = list(source.chunks(chunk_bytes))
    assert [chunk.end for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert all(chunk.data.endswith(b"\n") for chunk in chunks[:-1])
    if source.size is not None:
        assert sum(chunk.size for chunk in chunks) == source.size
    return chunks


def whole(source: Source, chunk_bytes: int = 1 << 22) -> bytes:
    return b"".join(chunk.data for chunk in read(source, chunk_bytes))


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("chunk_bytes", [1, 1000, 1 << 22])
def test_text_files(tmp_path: Path, suffix: str, chunk_bytes: int) -> None:
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(COMPRESSORS[suffix](DATA))
    (source,) = open_sources(path)
    assert source.name == str(path)
    assert source.size == path.stat().st_size
    chunks = read(source, chunk_bytes)
    offset = 0
    for chunk in chunks:
        assert chunk.offset == offset
        assert DATA[offset:].startswith(chunk.data)
        assert not chunk.separated
        offset += len(chunk.data)
    assert offset == len(DATA)
    assert [c.data for c in read(source, chunk_bytes)] == [c.data for c in chunks]  # can be read again
    if chunk_bytes == 1000:
        assert all(1000 <= len(chunk.data) < 3000 for chunk in chunks[:-1])
    known = source.identity()
    assert known is not None
    assert (known["path"], known["bytes"]) == (str(path), source.size)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_truncated_or_damaged_archives(tmp_path: Path, suffix: str) -> None:
    packed = COMPRESSORS[suffix](os.urandom(5000).hex().encode())
    path = tmp_path / f"a.txt{suffix}"
    for damaged in (packed[:-20], b"not compressed at all\n" * 9, packed[:200] + b"\xff" * 300 + packed[500:]):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match=rf"a\.txt\{suffix}"):
            list(open_sources(path)[0].chunks())


def test_ends_of_lines_and_files(tmp_path: Path) -> None:
    for data, expected in [
        (b"", b""),
        (b"a", b"a"),
        (b"\xef\xbb\xbfa\r\nb\0c", b"a\r\nb\0c"),
        (b"\xef\xbb\xbf", b""),
        (b"\n\n", b"\n\n"),
    ]:
        path = tmp_path / "x"
        path.write_bytes(data)
        for chunk_bytes in (1, 2, 100):
            chunks = list(open_sources(path)[0].chunks(chunk_bytes))
            assert b"".join(chunk.data for chunk in chunks) == expected
            assert chunks[-1].end


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt.gz"
    path.write_bytes(gzip.compress(b"fine\n" * 1000 + b"caf\xe9\n"))
    for chunk_bytes in (100, 1 << 20):
        with pytest.raises(EncodingError, match=r"latin\.txt\.gz is not UTF-8: byte 0xe9 at offset 5,003.*replace"):
            list(open_sources(path)[0].chunks(chunk_bytes))
    (source,) = open_sources(path, ReadSettings(encoding_errors="replace"))
    assert whole(source) == b"fine\n" * 1000 + "caf\ufffd\n".encode()
    path = tmp_path / "wide.txt"
    path.write_bytes("wide".encode("utf-16"))
    with pytest.raises(EncodingError, match="looks like UTF-16"):
        list(open_sources(path)[0].chunks())
    with pytest.raises(ArgumentError, match="encoding_errors='ignore' is not one of"):
        open_sources(path, ReadSettings(encoding_errors="ignore"))  # type: ignore[arg-type]


@given(st.lists(st.one_of(st.binary(max_size=5), st.text(max_size=5).map(lambda t: t.encode("utf-8", "replace")))))
def test_validation_agrees_with_python(parts: list[bytes]) -> None:
    data = b"".join(parts)
    try:
        data.decode("utf-8")
        expected = -1
    except UnicodeDecodeError as error:
        expected = error.start
    assert find_invalid(data) == expected


def test_validation_of_every_pair_of_first_bytes() -> None:
    for lead in range(0x80, 0x100):
        for second in range(0x70, 0x100):
            for tail in (b"", b"\x80", b"\x80\x80"):
                data = b"12345678" + bytes([lead, second]) + tail + b"."
                try:
                    data.decode("utf-8")
                    expected = -1
                except UnicodeDecodeError as error:
                    expected = error.start
                assert find_invalid(data) == expected, data


def test_lines_that_are_too_long(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"short\n" + b"x" * 100 + b"\n" + b"y" * 5)
    for chunk_bytes in (1, 50, 1 << 20):
        assert len(whole(open_sources(path, ReadSettings(max_line_bytes=100))[0], chunk_bytes)) == 112
        with pytest.raises(CorpusError, match=r"more than 99 bytes at offset 6 of the text.*max_line_bytes"):
            list(open_sources(path, ReadSettings(max_line_bytes=99))[0].chunks(chunk_bytes))


def test_json_lines(tmp_path: Path) -> None:
    values = [{"text": "a\n\n b \u2028\n", "n": 1}, {"text": None}, {"text": ["New York", "x"]}, "plain", {"text": ""}]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, values)).encode()))
    chunks = read(open_sources(path)[0])
    assert [(c.data, c.separated) for c in chunks] == [
        ("a\n b \u2028\n\n".encode(), False),
        (b"New York\x1fx\n\n", True),
        (b"plain\n\n\n", False),
    ]
    assert [c.offset for c in chunks] == [0, len(chunks[0].data), len(chunks[0].data) + len(chunks[1].data)]
    assert b"".join(c.data for c in read(open_sources(path)[0], chunk_bytes=1)) == b"".join(c.data for c in chunks)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"body": "x", "id": 3}', r"line 2 has no 'text'; it has 'body', 'id'.*text_column"),
        ("{broken", "line 2 is not JSON"),
        ('{"text": 3}', "line 2 is neither a string nor a list of strings: 3"),
        ('{"text": ["a", 3]}', "line 2 is neither"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text('{"text": "ok"}\n' + line + "\n")
    with pytest.raises((CorpusError, ArgumentError), match=message):
        list(open_sources(path)[0].chunks())


def test_json_surrogates(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"text": "a \\ud800 b"}\n')
    with pytest.raises(EncodingError, match="lone surrogate"):
        list(open_sources(path)[0].chunks())
    assert whole(open_sources(path, ReadSettings(encoding_errors="replace"))[0]) == b"a ? b\n\n"


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"body": ["one\ntwo", None, "three"], "tokens": [["a b"], [], ["c", "d"]], "n": [1, 2, 3]})
    parquet.write_table(table, path, row_group_size=2)
    assert whole(open_sources(path, ReadSettings(text_column="body"))[0]) == b"one\ntwo\n\nthree\n\n"
    assert whole(open_sources(path, ReadSettings(text_column="tokens"))[0]) == b"a b\n\n\n\nc\x1fd\n\n"
    with pytest.raises(CorpusError, match="has no 'text'; it has 'body', 'tokens', 'n'"):
        list(open_sources(path)[0].chunks())
    with pytest.raises(ArgumentError, match=r"column 'n' .* neither a string nor"):
        list(open_sources(path, ReadSettings(text_column="n"))[0].chunks())
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorpusError, match="not a whole Parquet file"):
        list(open_sources(path)[0].chunks())


def test_iterables() -> None:
    texts = ["one\n\ntwo", "", ["a", "b c"], "three"]
    for items in (iter(texts), (text for text in texts)):
        (source,) = open_sources(items)
        assert source.size is None
        assert source.identity() is None
        chunks = read(source)
        assert [c.data for c in chunks] == [b"one\ntwo\n\n\n", b"a\x1fb c\n\n", b"three\n\n"]
        assert [c.separated for c in chunks] == [False, True, False]
    (source,) = open_sources([["a", "b"], ("c",)])
    assert [(c.data, c.separated) for c in read(source)] == [(b"a\x1fb\n\nc\n\n", True)]
    assert whole(open_sources(iter([]))[0]) == b""
    with pytest.raises(ArgumentError, match="item 1 of the iterable is neither"):
        list(open_sources(iter(["a", 3]))[0].chunks())


def test_folders_patterns_and_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.txt", "sub/.hidden", ".git/x", "[odd].txt", "d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def names(*paths: str) -> list[str]:
        return [os.path.relpath(source.name, tmp_path) for source in open_sources([f"{tmp_path}/{p}" for p in paths])]

    assert names("") == ["[odd].txt", "a.txt", "b.txt", "d.csv", "sub/c.txt"]
    assert names("*.txt") == ["[odd].txt", "a.txt", "b.txt"]
    assert names("**/*.txt") == ["[odd].txt", "a.txt", "b.txt", "sub/c.txt"]
    assert names("[odd].txt", "sub", "[ab].txt") == ["[odd].txt", "sub/c.txt", "a.txt", "b.txt"]
    assert open_sources(open_sources(tmp_path / "a.txt"))[0].name == str(tmp_path / "a.txt")


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match="list of paths is empty"):
        open_sources([])
    with pytest.raises(CorpusNotFoundError, match=r"no file matches the pattern .*\*\.txt"):
        open_sources(f"{tmp_path}/*.txt")
    with pytest.raises(CorpusNotFoundError, match="has no files in it"):
        open_sources(tmp_path)
    with pytest.raises(CorpusNotFoundError, match="there is no file or folder"):
        open_sources(tmp_path / "missing.txt")
    with pytest.raises(CorpusNotFoundError, match=r"pass texts=\[\.\.\.\]"):
        open_sources(["this is a text"])
    with pytest.raises(ArgumentError, match="not 3"):
        open_sources(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"holds 3.*pass texts="):
        open_sources(["a", 3][1:])
    path = tmp_path / "gone.txt"
    path.write_text("x")
    (source,) = open_sources(path)
    path.unlink()
    with pytest.raises(CorpusNotFoundError, match=r"gone\.txt"):
        list(source.chunks())


@pytest.mark.skipif(os.name != "posix", reason="no owners and modes of files")
def test_unreadable_file() -> None:
    nobody, before = 65534, os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # so that it is the file that cannot be read, not its folder
        path = Path(folder) / "secret.txt"
        path.write_text("x")
        path.chmod(0)
        (source,) = open_sources(path)
        if before == 0:  # root may read everything
            os.seteuid(nobody)
        try:
            with pytest.raises(CorpusError, match=r"cannot read .*secret\.txt: Permission denied"):
                list(source.chunks())
        finally:
            os.seteuid(before)


def test_a_failing_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")
    (source,) = open_sources(path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(CorpusError, match=r"cannot read .*a\.txt: Input/output error"):
        list(source.chunks())


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DATA)))
    (source,) = open_sources("-")
    assert source.size is None
    assert source.identity() is None
    assert whole(source, 1000) == DATA


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1000])
def test_split(tmp_path: Path, pieces: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(DATA)
    sources = split(path, pieces)
    assert 1 <= len(sources) <= pieces
    found = [list(source.chunks(500)) for source in sources]
    assert b"".join(chunk.data for chunks in found for chunk in chunks) == DATA
    assert found[0][0].offset == 0
    assert [chunk.end for chunks in found for chunk in chunks].count(True) == 1
    assert found[-1][-1].end
    for source, chunks in zip(sources, found, strict=True):
        assert source.size == sum(chunk.size for chunk in chunks) == sum(len(chunk.data) for chunk in chunks)
        assert chunks[0].offset == source.start
        assert source.identity() is not None


def test_what_cannot_be_split(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(DATA))
    with pytest.raises(ArgumentError, match="cannot be split"):
        split(path, 2)
    with pytest.raises(ArgumentError, match="pieces=0"):
        split(path, 0)
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    assert [chunk.end for source in split(empty, 3) for chunk in source.chunks()] == [True]


def test_memory_file_system() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name, data in {
        "c/b.txt.gz": gzip.compress(b"b\n"),
        "c/a.txt": b"a\n",
        "c/d/e.jsonl": b'{"text": "e"}\n',
    }.items():
        files.pipe(f"/corpus-{os.getpid()}/{name}", data)
    root = f"memory://corpus-{os.getpid()}/c"
    assert [whole(source) for source in open_sources(root)] == [b"a\n", b"b\n", b"e\n\n"]
    assert [whole(source) for source in open_sources(f"{root}/*.txt*")] == [b"a\n", b"b\n"]
    assert open_sources(f"{root}/a.txt")[0].size == 2
    assert open_sources(f"{root}/a.txt")[0].identity() is None
    with pytest.raises(CorpusNotFoundError, match="nothing matches"):
        open_sources(f"{root}/*.csv")
    with pytest.raises(CorpusNotFoundError, match="missing"):
        list(open_sources(f"{root}/missing.txt")[0].chunks())
    with pytest.raises(CorpusError, match="Check the part before"):
        open_sources("nosuchprotocol://x/y.txt")


@pytest.fixture
def web_server(tmp_path: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_http(tmp_path: Path, web_server: str) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    (tmp_path / "a.txt").write_bytes(DATA)
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(DATA))
    for name in ("a.txt", "b.txt.xz"):
        (source,) = open_sources(f"{web_server}/{name}")
        assert b"".join(chunk.data for chunk in source.chunks(1000)) == DATA
    with pytest.raises(CorpusNotFoundError, match=r"missing\.txt"):
        list(open_sources(f"{web_server}/missing.txt")[0].chunks())


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("fsspec", "memory://x/a.txt", r"textlds\[remote\]"),
        ("fsspec.core", "memory://x/a.txt", r"textlds\[remote\]"),
        ("pyarrow", "a.parquet", r"textlds\[parquet\]"),
        ("zstandard", "a.txt.zst", r"textlds\[zstd\]"),
    ],
)
def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, message: str) -> None:
    if module == "zstandard" and sys.version_info >= (3, 14):
        pytest.skip("the standard library has zstd")
    monkeypatch.chdir(tmp_path)
    if "://" not in name:
        Path(name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, module, None)
    if module == "fsspec":
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=message):
        list(open_sources(name)[0].chunks())
