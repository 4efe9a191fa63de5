"""The packages with models: they build, and what is installed is found by its name."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import textlds
from model.worlds import counts_of, markov_sentence
from textlds.api import fit

PACKAGE = Path(__file__).parent.parent / "packages" / "textlds-en"


@pytest.fixture(scope="module")
def model():
    return fit(counts_of([markov_sentence(0, 20_000, V=60)]), state_size=8, iterations=2)


@pytest.fixture(scope="module")
def site(model, tmp_path_factory):
    """The wheel, with a small model instead of the large one, unpacked as pip would."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("model"))
    model.quantized("int8", vocab_size=20, dimensions=4).save(folder / "source" / "src" / "textlds_en" / "model")
    run = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "dist")]
    done = subprocess.run(run, cwd=folder / "source", capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
        names = archive.namelist()
    assert {"textlds_en/model/config.json", "textlds_en/model/packed.safetensors"} <= set(names)
    assert not any("make_model" in name for name in names)
    return folder / "site"


def test_the_model_is_found_by_its_name(site, model, tmp_path):
    code = "import textlds; m = textlds.load('en'); print(m('aaa aab').vectors.tolist())"
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH"), *sys.path])])
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        text=True, check=True, timeout=900,
    )  # fmt: skip
    expected = model.quantized("int8", vocab_size=20, dimensions=4)("aaa aab").vectors
    np.testing.assert_allclose(eval(run.stdout), expected, atol=1e-6)


def test_the_extra_names_the_package():
    own = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    extras = tomllib.loads((PACKAGE.parent.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["en"] == [own["name"]]
    assert own["license"] == "CC-BY-SA-4.0"
    assert own["entry-points"]["textlds_models"] == {"en": "textlds_en:MODEL"}


def test_the_script_packs_a_model_and_writes_its_card(model, tmp_path, monkeypatch):
    model.save(tmp_path / "model")
    lines = [" ".join(markov_sentence(seed, 40, V=60)) for seed in range(2000)]  # of which probabilities see one in 29
    (tmp_path / "wiki.txt").write_text("\n".join(lines) + "\n")
    shutil.copytree(PACKAGE, tmp_path / "source", ignore=shutil.ignore_patterns("model"))
    monkeypatch.setattr(sys, "argv", ["make_model.py", str(tmp_path / "wiki.txt"), "--model", str(tmp_path / "model")])
    names = runpy.run_path(str(tmp_path / "source" / "make_model.py"))
    names["PACKED"].update(vocab_size=20, dimensions=4)
    names["main"]()
    packed = textlds.load(tmp_path / "source" / "src" / "textlds_en" / "model")
    assert packed.state_size == 4
    card = (tmp_path / "source" / "src" / "textlds_en" / "CARD.md").read_text()
    assert "CC BY-SA 4.0" in card
    assert "wiki.txt" in card
