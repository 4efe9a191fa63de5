"""A model as a folder: config.json, model.safetensors, vocabulary.json, history.json; language.* if calibrated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textlds._version import __version__
from textlds.corpus.settings import TextSettings
from textlds.corpus.vocabulary import Vocabulary
from textlds.errors import REMEDY, FormatError, check_choice
from textlds.language.language import LanguageModel
from textlds.lds.noise import NOISE_KINDS, noise_from_arrays
from textlds.lds.params import LDSParams
from textlds.lds.second_moments import PosteriorMoments
from textlds.learn.history import History
from textlds.lexicon.lexicon import Lexicon
from textlds.lexicon.observed import ObservedLexicon
from textlds.linalg.types import Array, Vector
from textlds.storage.arrays import expect_arrays, read_arrays, width, write_arrays
from textlds.storage.folders import CONFIG, new_folder, read_config, read_json, write_config, write_json
from textlds.vectors.recipes import RECIPES, Recipe, own_recipes

ARRAYS, VOCABULARY, HISTORY = "model.safetensors", "vocabulary.json", "history.json"
LANGUAGE_ARRAYS, LANGUAGE_FACTS = "language.safetensors", "language.json"


def write_model(
    path: str | os.PathLike[str],
    params: LDSParams,
    vocabulary: Vocabulary,
    frequencies: Vector,
    moments: PosteriorMoments,
    *,
    lexicon: Lexicon | None,
    history: History,
    language: LanguageModel | None,
    recipes: Mapping[str, Recipe],
    force: bool,
) -> None:
    """Write a model folder, whole or not at all; what :func:`read_model` would refuse is not written."""
    arrays: dict[str, Array] = {
        "A": params.A,
        "C": params.C,
        "Q": params.Q,
        "frequencies": frequencies,
        **vars(moments),
        **({} if lexicon is None else lexicon.arrays()),
        **{f"noise.{name}": array for name, array in params.noise.arrays().items()},
    }
    observed = isinstance(lexicon, ObservedLexicon)
    _expect_arrays(Path(path), arrays, params.noise.kind, len(params.A), len(vocabulary), observed=observed)
    with new_folder(path, force=force) as folder:
        write_arrays(folder / ARRAYS, arrays)
        write_json(folder / VOCABULARY, vocabulary.to_json())
        write_json(folder / HISTORY, history.to_json())
        if language is not None:
            write_arrays(folder / LANGUAGE_ARRAYS, language.arrays())
            write_json(folder / LANGUAGE_FACTS, language.facts)
        content = {
            "textlds_version": __version__,
            "state_size": len(arrays["A"]),
            "vocabulary_size": len(vocabulary),
            "noise": params.noise.kind,
            "observations": "profiles" if observed else "words",
            "lexicon": "profiles" in arrays,
            "text": vocabulary.settings.to_json(),
            **({"recipes": {name: str(recipe) for name, recipe in recipes.items()}} if recipes else {}),
        }
        write_config(folder, kind="model", content=content)


def is_packed(folder: Path) -> bool:
    """Tell whether a folder holds a packed model (:mod:`textlds.model.packed`); what is no folder is none."""
    path = folder / CONFIG
    config = read_json(path) if path.is_file() else None
    return isinstance(config, dict) and "packed" in config


def check_listed(folder: Path, config: dict[str, Any], names: Sequence[str]) -> None:
    """Refuse a folder whose config.json does not list files that it needs."""
    for name in names:
        if name not in config["files"]:
            raise FormatError(f"{folder} is incomplete: its config.json does not list {name}.")


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of a TextLDS from its folder; anything missing, altered or inconsistent is a FormatError."""
    config = read_config(path, kind="model")
    folder = Path(path)
    check_listed(folder, config, (ARRAYS, VOCABULARY, HISTORY))
    try:
        settings = TextSettings.from_json(config["text"])
        vocabulary = Vocabulary.from_json(read_json(folder / VOCABULARY), settings)
        kind, h = str(config["noise"]), int(config["state_size"])
        check_choice("observations", config.get("observations", "words"), ("profiles", "words"))
        recipes = own_recipes(config.get("recipes", {}), RECIPES, stored=True)
    except FormatError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # ArgumentError is a ValueError
        raise FormatError(f"{folder / 'config.json'} is not that of a model: {error}") from error
    if kind not in NOISE_KINDS:
        raise FormatError(f"{folder / 'config.json'}: noise {kind!r} is not one of {', '.join(NOISE_KINDS)}.")
    noise = NOISE_KINDS[NOISE_KINDS.index(kind)]
    if config.get("vocabulary_size") != len(vocabulary):
        raise FormatError(
            f"{folder / 'config.json'} says {config.get('vocabulary_size')!r} words, but the vocabulary has "
            f"{len(vocabulary)}. Restore it from a copy, or write it again."
        )
    arrays = read_arrays(folder / ARRAYS, writable=True)
    observed = config.get("observations") == "profiles"
    _expect_arrays(folder / ARRAYS, arrays, noise, h, len(vocabulary), observed=observed)
    of_noise = {name.removeprefix("noise."): array for name, array in arrays.items() if name.startswith("noise.")}
    frequencies = arrays["frequencies"]
    return {
        "params": LDSParams(
            arrays["A"], arrays["C"], arrays["Q"], noise_from_arrays(noise, of_noise, np.sqrt(frequencies))
        ),
        "vocabulary": vocabulary,
        "frequencies": frequencies,
        "moments": PosteriorMoments(arrays["filt_filt"], arrays["smooth_filt"], arrays["smooth_smooth"]),
        "lexicon": _lexicon(arrays),
        "history": read_history(folder),
        "language": _read_language(folder, len(vocabulary), h) if LANGUAGE_ARRAYS in config["files"] else None,
        "recipes": recipes,
    }


def _lexicon(arrays: Mapping[str, Array]) -> Lexicon | None:
    if "profiles" not in arrays:
        return None
    return (ObservedLexicon if "centre" in arrays else Lexicon).from_arrays(arrays)


def read_history(folder: Path) -> History:
    """Read how a model was learnt."""
    try:
        return History.from_json(read_json(folder / HISTORY))
    except FormatError as error:
        if str(folder / HISTORY) in str(error):
            raise
        raise FormatError(f"{folder / HISTORY}: {error} {REMEDY}") from error


def _read_language(folder: Path, size: int, h: int) -> LanguageModel:
    try:
        facts = read_json(folder / LANGUAGE_FACTS)
        return LanguageModel.from_arrays(read_arrays(folder / LANGUAGE_ARRAYS), facts, size=size, h=h)
    except FormatError as error:
        raise FormatError(f"{folder / LANGUAGE_ARRAYS}: {error} Restore it from a copy, or calibrate again.") from error


def _expect_arrays(path: Path, arrays: Mapping[str, Array], noise: str, h: int, size: int, *, observed: bool) -> None:
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "A": ((h, h), "float64"),
        "Q": ((h, h), "float64"),
        "C": ((size, h), "float32"),
        "frequencies": ((size,), "float64"),
        "filt_filt": ((h, h), "float64"),
        "smooth_filt": ((h, h), "float64"),
        "smooth_smooth": ((h, h), "float64"),
    }
    if noise == "full":
        expected["noise.M"] = ((h, h), "float64")
    elif noise != "bohning":
        expected["noise.d"] = ((size,) if noise == "diagonal" else (1,), "float64")
    if "profiles" in arrays:  # a model made of parameters alone has no lexicon
        buckets = arrays["spelling"].shape[0] if "spelling" in arrays else 0
        expected |= {"profiles": ((size, h), "float32"), "spelling": ((buckets, h), "float32")}
        if any(name.startswith("meaning.") for name in arrays):  # one made before has none
            d = width(arrays.get("meaning.vectors"))
            shapes = {"vectors": (size, d), "spelling": (buckets, d), "contexts": (d, d)}
            expected |= {f"meaning.{name}": (shape, "float32") for name, shape in shapes.items()}
    if observed:  # C is that of the observations, of which there are as many as numbers in the state
        expected |= {"C": ((h, h), "float64"), "centre": ((h,), "float64"), "whitening": ((h, h), "float64")}
    expect_arrays(path, arrays, expected)
    if "spelling" in arrays and (buckets < 1 or buckets & (buckets - 1)):
        raise FormatError(f"{path}: spelling has {buckets} rows, which is not a power of two.")
    if "noise.d" in arrays and not (arrays["noise.d"] > 0).all():
        raise FormatError(f"{path}: noise.d holds a variance that is not positive.")
    for name in ("Q", "filt_filt", "smooth_smooth"):
        values = np.linalg.eigvalsh(0.5 * (arrays[name] + arrays[name].T))
        if values[0] < -1e-6 * max(abs(values[-1]), 1e-300):
            raise FormatError(f"{path}: {name} is not a covariance: it has the eigenvalue {values[0]:.3g}.")
    if (arrays["frequencies"] < 0).any() or abs(float(arrays["frequencies"].sum()) - 1) > 1e-6:
        raise FormatError(f"{path}: the word frequencies are not a probability distribution.")
