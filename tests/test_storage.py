from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from textlds import storage
from textlds.errors import FormatError, OutputExistsError
from textlds.storage import (
    CONFIG,
    check_output,
    new_file,
    new_folder,
    read_arrays,
    read_config,
    read_json,
    write_arrays,
    write_config,
    write_json,
)

DTYPES = ["f8", "f4", "i8", "i4", "u8", "u4", "u2", "u1"]


def write_example(path, *, kind="model", value=1.0, force=False):
    with new_folder(path, force=force) as folder:
        write_arrays(folder / "weights.safetensors", {"A": np.full((3, 2), value)})
        write_json(folder / "words.json", ["a", "b"])
        write_config(folder, kind=kind, content={"note": value})
    return path


@pytest.fixture
def example(tmp_path):
    return write_example(tmp_path / "model")


def value_of(folder):
    read_config(folder, kind="model")
    return read_arrays(folder / "weights.safetensors")["A"][0, 0]


def leftovers(folder):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


def edit_config(folder, **changes):
    config = read_json(folder / CONFIG)
    (folder / CONFIG).write_text(json.dumps(config | changes), encoding="utf-8")


# -- whole or not at all


def test_a_folder_appears_with_everything_in_it(example, tmp_path):
    assert sorted(p.name for p in example.iterdir()) == [CONFIG, "weights.safetensors", "words.json"]
    config = read_config(example, kind="model")
    assert (config["format"], config["format_version"], config["note"]) == ("textlds-model", 1, 1.0)
    assert set(config["files"]) == {"weights.safetensors", "words.json"}
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_an_error_in_the_block_leaves_nothing(tmp_path, error):
    def write():
        with new_folder(tmp_path / "model") as folder:
            write_json(folder / "half.json", [])
            raise error

    with pytest.raises(error):
        write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_block_leaves_the_old_folder(example, tmp_path, error):
    def write():
        with new_folder(example, force=True) as folder:
            write_json(folder / "half.json", [])
            raise error

    with pytest.raises(error):
        write()
    assert value_of(example) == 1.0
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("failing", [1, 2])
def test_an_error_while_folders_change_places_leaves_the_old_one(example, tmp_path, monkeypatch, failing):
    calls, replace = [], os.replace

    def fails_once(source, target):
        calls.append(source)
        if len(calls) == failing:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(storage.os, "replace", fails_once)
    with pytest.raises(KeyboardInterrupt):
        write_example(example, value=2.0, force=True)
    assert value_of(example) == 1.0
    assert leftovers(tmp_path) == []


def test_the_target_is_untouched_until_the_block_ends(example):
    with new_folder(example, force=True) as folder:
        write_arrays(folder / "weights.safetensors", {"A": np.full((3, 2), 2.0)})
        assert value_of(example) == 1.0
        write_config(folder, kind="model", content={})
    assert value_of(example) == 2.0


def test_overwriting_leaves_nothing_of_the_old_folder(example, tmp_path):
    write_json(example / "extra.json", [])
    write_example(example, value=3.0, force=True)
    assert value_of(example) == 3.0
    assert not (example / "extra.json").exists()
    assert leftovers(tmp_path) == []


def test_parents_are_made_and_permissions_are_ordinary(tmp_path):
    mask = os.umask(0o022)
    try:
        path = write_example(tmp_path / "deep" / "er" / "model")
        with new_file(tmp_path / "new" / "file.txt", text=True) as file:
            file.write("ä")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "new" / "file.txt").stat().st_mode) == 0o644
    assert (tmp_path / "new" / "file.txt").read_text(encoding="utf-8") == "ä"


FULL_DISK = """
    import resource, signal, sys
    import numpy as np
    from pathlib import Path
    from textlds.storage import new_folder, write_arrays, write_config
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails with an error instead of a signal
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    with new_folder(Path(sys.argv[1]), force=True) as folder:
        write_arrays(folder / "small.safetensors", {"x": np.zeros(10)})
        write_arrays(folder / "large.safetensors", {"x": np.zeros(1_000_000)})
        write_config(folder, kind="model", content={})
"""

KILLED = """
    import os, signal, sys
    import numpy as np
    from pathlib import Path
    from textlds.storage import new_folder, write_arrays
    with new_folder(Path(sys.argv[1]), force=True) as folder:
        write_arrays(folder / "small.safetensors", {"x": np.zeros(10)})
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run_python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes to be set")
def test_a_full_disk_leaves_the_old_folder(example, tmp_path):
    result = run_python(FULL_DISK, example)
    assert result.returncode != 0
    assert "OSError" in result.stderr
    assert "large.safetensors" not in os.listdir(example)
    assert value_of(example) == 1.0
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_killed_process_leaves_the_old_folder(example):
    assert run_python(KILLED, example).returncode < 0
    assert value_of(example) == 1.0


# -- outputs that exist


def test_an_existing_output_is_refused_before_any_work(example):
    worked = []
    with pytest.raises(OutputExistsError, match=r"exists already.*--force"), new_folder(example):
        worked.append(True)
    assert not worked
    with pytest.raises(FileExistsError):
        check_output(example)
    assert value_of(example) == 1.0


def test_force_does_not_overwrite_a_folder_that_is_not_ours(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputExistsError, match="did not write"):
        check_output(tmp_path / "home", force=True)
    with pytest.raises(OutputExistsError), new_folder(tmp_path / "home", force=True):
        pass
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


def test_force_overwrites_an_empty_folder_and_a_file(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    assert value_of(write_example(tmp_path / "empty", force=True)) == 1.0
    assert value_of(write_example(tmp_path / "file", force=True)) == 1.0


def test_a_new_path_is_accepted(tmp_path):
    assert check_output(str(tmp_path / "new")) == tmp_path / "new"


# -- single files


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.bin"

    def write(content, error=None, **options):
        with new_file(path, **options) as file:
            file.write(content)
            if error:
                raise error

    with pytest.raises(KeyboardInterrupt):
        write(b"half", KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []
    write(b"whole")
    assert path.read_bytes() == b"whole"
    with pytest.raises(OutputExistsError):
        write(b"other")
    with pytest.raises(ValueError):
        write(b"half", ValueError, force=True)
    assert path.read_bytes() == b"whole"
    write(b"other", force=True)
    assert path.read_bytes() == b"other"
    assert leftovers(tmp_path) == []


def test_a_file_does_not_replace_a_folder(example, tmp_path):
    worked = []
    with pytest.raises(OutputExistsError, match="is a folder"), new_file(example, force=True):
        worked.append(True)
    assert not worked
    assert value_of(example) == 1.0
    assert leftovers(tmp_path) == []


# -- folders that are refused


def test_a_missing_folder(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        read_config(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"not a textlds folder.*config\.json"):
        read_config(tmp_path / "file")
    with pytest.raises(FormatError, match="not a textlds folder"):
        read_config(tmp_path)


def test_a_missing_file(example):
    (example / "words.json").unlink()
    with pytest.raises(FormatError, match=r"incomplete: words\.json is missing"):
        read_config(example)


def test_a_truncated_file(example):
    weights = example / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"truncated or altered: .* bytes instead of"):
        read_config(example)


def test_a_single_altered_bit(example):
    weights = example / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(FormatError, match="SHA-256"):
        read_config(example)


def test_another_version(example):
    edit_config(example, format_version=2, textlds_version="9.1")
    with pytest.raises(FormatError, match=r"format version 2; this textlds reads version 1.*textlds 9\.1"):
        read_config(example)


def test_another_kind(example):
    with pytest.raises(FormatError, match="holds model, but counts is needed"):
        read_config(example, kind="counts")
    assert read_config(example, kind=None)["note"] == 1.0


@pytest.mark.parametrize(
    "content", ["", "{", "null", "[]", "[1]", "{}", '{"format": "other"}', '{"format": 3}', "\xff"]
)
def test_a_config_that_is_not_ours(example, content):
    (example / CONFIG).write_bytes(content.encode("latin-1"))
    with pytest.raises(FormatError, match=r"config\.json"):
        read_config(example)


def test_a_config_nested_too_deeply(example):
    (example / CONFIG).write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(FormatError, match="not valid JSON"):
        read_config(example)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "sub/file", "..", ".", ""])
def test_files_outside_the_folder_are_not_looked_at(example, tmp_path, name):
    (tmp_path / "secret").write_text("x")
    edit_config(example, files={name: {"bytes": 1, "sha256": "0"}})
    with pytest.raises(FormatError, match=r"outside its folder|is missing"):
        read_config(example)


@pytest.mark.parametrize("files", [None, [], "words.json", 3])
def test_a_list_of_files_that_is_none(example, files):
    edit_config(example, files=files)
    with pytest.raises(FormatError, match="does not list"):
        read_config(example)


@pytest.mark.parametrize("facts", [None, 5, "x", [], {}, {"bytes": 10}, {"bytes": "10", "sha256": ""}])
def test_facts_about_a_file_that_are_none(example, facts):
    edit_config(example, files={"words.json": facts})
    with pytest.raises(FormatError, match=r"words\.json"):
        read_config(example)


def test_a_file_that_is_not_json(tmp_path):
    (tmp_path / "a.json").write_text("{'a': 1}")
    with pytest.raises(FormatError, match=r"a\.json is not valid JSON"):
        read_json(tmp_path / "a.json")


def test_json_is_the_same_bytes_and_refuses_what_is_not_json(tmp_path):
    content = {"word": "naïve", "list": [1, 2.5, None]}
    write_json(tmp_path / "a", content)
    write_json(tmp_path / "b", dict(content))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_json(tmp_path / "a") == content
    assert "naïve" in (tmp_path / "a").read_text(encoding="utf-8")
    with pytest.raises(ValueError):
        write_json(tmp_path / "c", {"x": float("nan")})


# -- arrays


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
