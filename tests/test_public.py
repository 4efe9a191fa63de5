"""What `import textlds` gives, and what it costs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import textlds

HEAVY = ["numba", "llvmlite", "scipy", "torch", "dask", "distributed", "pyarrow", "rich", "typer", "safetensors"]
HEAVY += ["zstandard", "fsspec", "tokenizers", "matplotlib", "sklearn", "spacy", "gensim", "pandas", "threadpoolctl"]
OPTIONAL = ["torch", "dask", "distributed", "pyarrow", "zstandard", "fsspec", "tokenizers", "matplotlib", "pandas"]
NAMES = {
    "CountSettings",
    "FitSettings",
    "Embedder",
    "LagCounts",
    "Recipe",
    "Tagger",
    "TextLDS",
    "TextLDSError",
    "TextSettings",
    "Vocabulary",
    "count",
    "fit",
    "load",
    "select",
    "train",
}


def modules_after(code):
    """Return the top-level modules loaded in a fresh interpreter after some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_importing_is_cheap():
    loaded = modules_after("import textlds")
    assert "textlds" in loaded
    assert not loaded & set(HEAVY)


def test_importing_loads_nothing_of_the_package_but_itself():
    script = "import textlds, sys; print(sorted(name for name in sys.modules if name.startswith('textlds')))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['textlds', 'textlds._version']"


def test_using_it_needs_no_optional_library():
    """Counting, fitting and embedding a text load nothing that the base installation lacks."""
    code = (
        "import textlds\n"
        "model = textlds.train(texts=['a b c d e f g h i j'] * 3, state_size=2, iterations=1)\n"
        "list(model.embed(['a b c']))"
    )
    assert not modules_after(code) & set(OPTIONAL)


def test_names():
    assert set(textlds.__all__) == NAMES | {"__version__"}
    assert len(textlds.__all__) <= 16
    assert dir(textlds) == sorted(textlds.__all__)
    for name in NAMES:
        assert getattr(textlds, name).__doc__, name
    assert textlds.__version__.count(".") == 2


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'embed'; it has CountSettings, Embedder, FitSettings"):
        _ = textlds.embed
    assert not hasattr(textlds, "nothing")


def test_defaults_are_the_papers():
    defaults = {"ssid_horizon": 4, "em_horizon": 7, "seed": 0}
    assert {name: getattr(textlds.FitSettings(), name) for name in defaults} == defaults
    words = textlds.FitSettings(observations="words").resolved(75e6, 100_000)
    assert (words.state_size, words.iterations, words.pseudocount, words.start) == (200, 50, "paper", "subspace")
    assert (textlds.CountSettings().vocab_size, textlds.CountSettings().max_lag) == (100_000, 7)


@pytest.mark.parametrize("function", ["count", "fit", "train", "select"])
def test_settings_are_given_in_one_place_with_one_default(function):
    """An argument that is a field of settings has no default of its own, and its documentation gives theirs."""
    kinds = (textlds.FitSettings, textlds.CountSettings, textlds.TextSettings)
    parameters = inspect.signature(getattr(textlds, function)).parameters
    assert len(parameters) <= 12
    text = " ".join(getattr(textlds, function).__doc__.split())
    for kind in kinds:
        for name, field in kind.options().items():
            if name in parameters:
                assert parameters[name].default is None
                shown = f"{field.default:,}" if isinstance(field.default, int) else str(field.default)
                about = text.partition(f" {name}: ")[2].partition(": ")[0]
                assert shown in about or "As for" in about or field.default is None, name


@pytest.mark.parametrize("function", ["count", "fit", "train", "load"])
def test_all_but_the_obvious_argument_is_named(function):
    parameters = list(inspect.signature(getattr(textlds, function)).parameters.values())
    assert parameters[0].kind is parameters[0].POSITIONAL_OR_KEYWORD
    assert {p.kind for p in parameters[1:]} == {inspect.Parameter.KEYWORD_ONLY}
    assert all(p.name in getattr(textlds, function).__doc__ for p in parameters)


def test_every_error_is_a_textlds_error():
    from textlds import errors

    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    kinds = [kind for kind in found if not issubclass(kind, Warning)]
    assert len(kinds) > 10
    assert all(issubclass(kind, textlds.TextLDSError) and kind.__doc__ for kind in kinds)
