from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from storage.sealing import edit_config
from textlds.errors import ArgumentError, FormatError, OutputExistsError
from textlds.storage import folders as storage
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import (
    CONFIG,
    check_output,
    new_file,
    new_folder,
    read_config,
    read_json,
    write_config,
    write_json,
)
from textlds.storage.work import Work


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


def test_what_others_wrote_is_never_overwritten(tmp_path):
    theirs = tmp_path / "bert"
    theirs.mkdir()
    (theirs / "config.json").write_text('{"model_type": "bert"}')
    file = tmp_path / "thesis.txt"
    file.write_text("years of work")
    for path in (theirs, file):
        with pytest.raises(OutputExistsError):
            write_example(path, force=True)
    assert (theirs / "config.json").exists()
    assert file.read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert", "thesis.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two names in one step")
def test_overwriting_exchanges_two_names_in_one_step(example, tmp_path, monkeypatch):
    def forbidden(source, target):
        raise AssertionError("a rename: between two of them nothing would stand in the folder's place")

    monkeypatch.setattr(storage.os, "replace", forbidden)
    write_example(example, value=2.0, force=True)
    assert value_of(example) == 2.0
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("failing", [1, 2])
def test_an_error_while_folders_change_places_leaves_the_old_one(example, tmp_path, monkeypatch, failing):
    calls, replace = [], os.replace

    def fails_once(source, target):
        calls.append(source)
        if len(calls) == failing:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(storage, "_exchange", lambda one, other: False)  # a system that takes two renames
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
    from textlds.storage.arrays import write_arrays
    from textlds.storage.folders import new_folder, write_config
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
    from textlds.storage.arrays import write_arrays
    from textlds.storage.folders import new_folder
    with new_folder(Path(sys.argv[1]), force=True) as folder:
        write_arrays(folder / "small.safetensors", {"x": np.zeros(10)})
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run_python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


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


@pytest.mark.parametrize("force", [False, True])
def test_another_process_may_be_quicker_by_a_moment(force, tmp_path, monkeypatch):
    """It puts its output there after this one has looked and before it is renamed."""
    replace, target = os.replace, tmp_path / "out"

    def too_late(source, destination):
        if Path(destination) == target and not target.exists():
            monkeypatch.setattr(os, "replace", replace)
            write_example(target, value=1.0)
        replace(source, destination)

    monkeypatch.setattr(os, "replace", too_late)
    if force:
        write_example(target, value=2.0, force=True)
    else:
        with pytest.raises(OutputExistsError, match="exists already"):
            write_example(target, value=2.0)
    monkeypatch.setattr(os, "replace", replace)
    assert read_config(target)["note"] == (2.0 if force else 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_does_not_overwrite_a_folder_that_is_not_ours(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputExistsError, match="did not write"):
        check_output(tmp_path / "home", force=True)
    with pytest.raises(OutputExistsError), new_folder(tmp_path / "home", force=True):
        pass
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


def test_force_overwrites_an_empty_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    assert value_of(write_example(tmp_path / "empty", force=True)) == 1.0


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
    with pytest.raises(FormatError, match="is a file, but a folder that textlds wrote is needed here"):
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
    with pytest.raises(FormatError, match=r"is a model, but counts are needed here.*textlds train"):
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ('{"a": ' + "1" * 5000 + "}", "4300 digits"),
        ("[" * 100_000, "recursion"),
        ("[" * 60 + "]" * 60, "nested more than 50 deep"),
        ('{"a": "\\ud800"}', "surrogates not allowed"),
        ('{"a": 1', "delimiter"),
        ('{"a": "\udcff"}', "can't decode byte"),
    ],
)
def test_json_that_is_never_written_is_refused_with_its_file(tmp_path, text, reason):
    path = tmp_path / "history.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(FormatError, match=rf"history.json is not valid JSON \(.*{reason}"):
        read_json(path)


def test_json_as_it_is_written_is_read(tmp_path):
    content = {"words": ["ä", "\x1f", "\U0001f600", "\\ud800"], "deep": [[[[1.5]]]], "large": 10**400}
    write_json(tmp_path / "a.json", content)
    assert read_json(tmp_path / "a.json") == content
    (tmp_path / "a.json").write_text('"\\ud83d\\ude00"')  # a pair is a character
    assert read_json(tmp_path / "a.json") == "\U0001f600"


def test_a_config_that_was_altered_is_refused_and_one_of_before_sums_is_not(example):
    config = read_json(example / CONFIG)
    text = json.dumps({**config, "textlds_version": "9.9"})
    (example / CONFIG).write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"config.json was altered: its SHA-256 is not the one it states"):
        read_config(example)
    del config["config_sha256"]
    (example / CONFIG).write_text(json.dumps(config, indent=4), encoding="utf-8")
    assert read_config(example) == config


@pytest.mark.parametrize("output", ["s3://bucket/model", Path("file:///tmp/model"), "gs://b/x.npz"])
def test_a_url_is_no_output_on_this_machine(output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="is a URL"), new_folder(output):
        pass
    with pytest.raises(ArgumentError, match="is a URL"):
        Work(output, {})
    assert not list(tmp_path.iterdir())


def test_a_folder_whose_settings_are_nested_too_deeply_is_not_ours(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / CONFIG).write_text("[" * 100_000)
    with pytest.raises(OutputExistsError, match="did not write"):
        check_output(tmp_path / "out", force=True)
