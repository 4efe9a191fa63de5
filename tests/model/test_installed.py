"""Models of installed packages, found by real entry points of packages made here."""

from __future__ import annotations

import importlib
import json
import sys

import pytest
from typer.testing import CliRunner

import textlds
from model.worlds import random_model
from textlds.cli import build_app
from textlds.errors import ArgumentError, FormatError
from textlds.model.installed import find_model, installed_models
from textlds.model.loading import open_model


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path; the function installs a package with a model into it."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def install(package, name, *, code=None):
        module = package.replace("-", "_")
        monkeypatch.delitem(sys.modules, module, raising=False)
        (folder / module).mkdir()
        if code is None:
            random_model(0, V=9, h=3).save(folder / module / "model")
            code = "from pathlib import Path\nMODEL = Path(__file__).parent / 'model'\n"
        (folder / module / "__init__.py").write_text(code)
        facts = folder / f"{module}-1.2.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (facts / "entry_points.txt").write_text(f"[textlds_models]\n{name} = {module}:MODEL\n")
        importlib.invalidate_caches()
        return folder / module / "model"

    return install


def test_a_model_is_loaded_by_its_name(site):
    folder = site("textlds-tlh", "tlh")
    assert find_model("tlh") == folder
    (model,) = (m for m in installed_models() if m.name == "tlh")
    assert (model.package, model.version) == ("textlds-tlh", "1.2")
    assert len(textlds.load("tlh").vocabulary) == len(random_model(0, V=9, h=3).vocabulary)
    assert open_model("tlh").state_size == 3
    assert textlds.Embedder("tlh")(["aaa aab"]).shape == (1, 3)


def test_a_function_may_give_the_folder(site):
    folder = site("textlds-tlh", "tlh")
    site("textlds-other", "other", code=f"def MODEL():\n    return {str(folder)!r}\n")
    assert find_model("other") == folder


def test_a_folder_of_that_name_comes_first(site, tmp_path, monkeypatch):
    site("textlds-tlh", "tlh")
    monkeypatch.chdir(tmp_path)
    random_model(1, V=9, h=2).save("tlh")
    assert textlds.load("tlh").state_size == 2


def test_two_packages_with_the_same_name_are_an_error(site):
    site("textlds-tlh", "tlh")
    site("klingon", "tlh")
    with pytest.raises(ArgumentError, match="klingon and textlds-tlh both offer a model 'tlh'"):
        textlds.load("tlh")


@pytest.mark.parametrize(("code", "message"), [("MODEL = 1 / 0", "ZeroDivisionError"), ("", "AttributeError")])
def test_a_package_that_does_not_work_is_named(site, code, message):
    site("textlds-tlh", "tlh", code=code)
    with pytest.raises(FormatError, match=rf"textlds-tlh 1.2 offers the model 'tlh' .*{message}.*--force-reinstall"):
        textlds.load("tlh")
    assert "error" in next(row for row in _listed() if row["name"] == "tlh")


def _listed():
    result = CliRunner().invoke(build_app(), ["models", "--json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)["models"]


def test_what_is_not_installed_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("textlds.model.installed.entry_points", lambda group: [])
    with pytest.raises(FormatError, match=r"en does not exist.*installed: none.*pip install 'textlds\[en\]'"):
        textlds.load("en")
    with pytest.raises(FormatError, match=r"moddel does not exist.*Check the path"):
        textlds.load("moddel")
    with pytest.raises(FormatError, match="does not exist"):
        textlds.load("some/where")


def test_the_command_lists_them(site):
    folder = site("textlds-tlh", "tlh")
    row = next(row for row in _listed() if row["name"] == "tlh")
    assert row["folder"] == str(folder)
    assert (row["state_size"], row["package"]) == (3, "textlds-tlh")
    result = CliRunner().invoke(build_app(), ["models"])
    assert "tlh" in result.stdout
    assert "textlds-tlh 1.2" in result.stdout
    assert CliRunner().invoke(build_app(), ["info", "tlh"]).exit_code == 0
