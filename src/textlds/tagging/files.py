"""A tagger as a folder: config.json, tagger.safetensors, words.json; the folder ``model`` in it if it is bundled.

The model is known by the sum of its files' sums, so that a tagger is never read with another model than its own.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from textlds._version import __version__
from textlds.errors import REMEDY, ArgumentError, FormatError
from textlds.linalg.types import Array
from textlds.model.installed import find_model
from textlds.model.loading import ModelLike, open_model
from textlds.model.textlds import TextLDS
from textlds.storage.arrays import read_arrays, write_arrays
from textlds.storage.folders import new_folder, read_config, read_json, write_config, write_json
from textlds.tagging.features import BUCKETS, MOST_TERMS
from textlds.tagging.inputs import Design
from textlds.tagging.labels import TASKS
from textlds.tagging.network import Weights
from textlds.vectors.recipes import resolve_recipe

if TYPE_CHECKING:
    from textlds.tagging.tagger import Tagger

T = TypeVar("T")

KIND, ARRAYS, WORDS, BUNDLED = "tagger", "tagger.safetensors", "words.json", "model"
_FARTHEST = 100  # places from a token to a word that its features are made of
_OF_VECTORS = ("model.safetensors", "packed.safetensors", "vocabulary.json")  # files of a model that decide its vectors


@dataclasses.dataclass(eq=False)
class ModelSource:
    """The model of a tagger: an object, or a folder that is read when it is first needed.

    Attributes:
        path: Its folder, if it has one.
        checksum: Of its files, if they are known.
    """

    path: Path | None
    checksum: str | None
    _model: TextLDS | None = None

    @classmethod
    def of(cls, model: ModelLike) -> ModelSource:
        """Return the source of a model that was given."""
        if isinstance(model, TextLDS):
            return cls(None, None, model)
        path = Path(os.path.abspath(find_model(model)))
        return cls(path, model_checksum(path))

    @property
    def model(self) -> TextLDS:
        """The model."""
        if self._model is None:
            assert self.path is not None
            self._model = open_model(self.path)
        return self._model

    def hold(self, model: TextLDS) -> None:
        """Use a model that was read from the same folder already."""
        self._model = model


def model_checksum(path: Path) -> str:
    """Return what tells a model from all others: the SHA-256 of the sums of its tables and of its vocabulary."""
    files = read_config(path, kind="model", check="sizes")["files"]
    sums = {name: facts["sha256"] for name, facts in files.items() if name in _OF_VECTORS}
    return hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()


def _words_sum(model: TextLDS) -> str:
    """Return what tells the vocabulary of a model from others."""
    return hashlib.sha256("\n".join(model.vocabulary.words).encode("utf-8", "surrogatepass")).hexdigest()


def write_tagger(tagger: Tagger, path: str | os.PathLike[str], *, bundle: bool | None, force: bool) -> None:
    """Write a tagger to a folder; see :meth:`Tagger.save`."""
    source = tagger.source
    if bundle is None:
        bundle = source.path is None
    if not bundle and source.path is None:
        raise ArgumentError(
            "the model of this tagger is in no folder that could be named. Bundle it (bundle=True), or save it and "
            "train with its path."
        )
    with new_folder(path, force=force) as folder:
        fill_folder(tagger, folder, Path(path), bundle=bundle)


def fill_folder(tagger: Tagger, folder: Path, target: Path, *, bundle: bool) -> None:
    """Write the files of a tagger into an empty folder that is to become ``target``."""
    weights, design = tagger.weights, tagger.design
    arrays: dict[str, Array] = {f.name: getattr(weights, f.name) for f in dataclasses.fields(Weights)}
    used = np.flatnonzero(weights.features.any(axis=1)) if len(weights.features) else np.empty(0, np.int64)
    arrays |= {"features": weights.features[used], "buckets": used.astype(np.int32), "clusters": design.clusters}
    arrays["transitions"] = np.maximum(
        weights.transitions, np.float32(-1e30)
    )  # −inf is no JSON, nor everywhere a number
    write_arrays(folder / ARRAYS, arrays)
    gazetteers = {name: sorted(map(list, names)) for name, names in design.gazetteers.items()}
    write_json(folder / WORDS, {"known": sorted(tagger.known), "gazetteers": gazetteers}, indent=None)
    if bundle:
        tagger.model.save(folder / BUNDLED)
        model = {"path": BUNDLED, "absolute": None, "checksum": model_checksum(folder / BUNDLED)}
    else:
        assert tagger.source.path is not None
        near = os.path.relpath(tagger.source.path, os.path.abspath(target))
        model = {"path": near, "absolute": str(tagger.source.path), "checksum": tagger.source.checksum}
    model["words"] = _words_sum(tagger.model)
    content = {
        "textlds_version": __version__,
        "task": tagger.task,
        "tags": list(tagger.names),
        "recipe": None if design.recipe is None else str(design.recipe),
        "memory": design.memory,
        "cases": design.cases,
        "templates": design.templates,
        "temperature": tagger.temperature,
        "model": model,
        "report": tagger.report,
    }
    write_config(folder, kind=KIND, content=content)


def read_tagger(path: str | os.PathLike[str], model: ModelLike | None) -> dict[str, Any]:
    """Read a tagger from a folder, as arguments of :class:`Tagger`."""
    folder = Path(path)
    config = read_config(folder, kind=KIND)
    try:
        return _checked(folder, config, model)
    except FormatError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise FormatError(
            f"{folder} does not hold a tagger that this textlds can read ({error!r}). {REMEDY}"
        ) from error


def _checked(folder: Path, config: dict[str, Any], model: ModelLike | None) -> dict[str, Any]:
    arrays = {name: np.array(array) for name, array in read_arrays(folder / ARRAYS).items()}
    if "around_bias" not in arrays:  # made before there was a second layer
        H, K = arrays["out"].shape
        arrays |= {"around": np.zeros((H, 0), np.float32), "around_out": np.zeros((0, K), np.float32)}
        arrays["around_bias"] = np.zeros(0, np.float32)
    words = read_json(folder / WORDS)
    clusters, buckets = arrays.pop("clusters"), arrays.pop("buckets")
    templates = tuple(
        tuple((_of(str, column), _of(int, place)) for column, place in template) for template in config["templates"]
    )
    if any(not 0 < len(template) <= MOST_TERMS for template in templates):
        raise ValueError(f"features of no or of more than {MOST_TERMS} terms")
    if any(abs(place) > _FARTHEST for template in templates for _, place in template):
        raise ValueError(f"features of words more than {_FARTHEST} places away")
    design = Design(
        recipe=None if config["recipe"] is None else resolve_recipe(config["recipe"]),
        templates=templates,
        memory=_of(bool, config["memory"]),
        cases=_of(bool, config.get("cases", False)),  # one made before sees none
        clusters=clusters,
        gazetteers={name: _names(entries) for name, entries in words["gazetteers"].items()},
    )
    names = tuple(_of(str, name) for name in _of(list, config["tags"]))
    if config["task"] not in TASKS:
        raise ValueError(f"the task {config['task']!r:.40}")
    _check_arrays(arrays, buckets, clusters, len(names), lexical=bool(templates))
    table = np.zeros((BUCKETS if templates else 0, len(arrays["bias"])), np.float32)
    table[buckets] = arrays["features"]
    arrays["features"] = table
    arrays["transitions"][arrays["transitions"] <= -1e30] = -np.inf
    temperature = float(config["temperature"])
    if not 1e-3 <= temperature <= 1e3:
        raise ValueError(f"a temperature of {temperature}")
    return {
        "source": _source(folder, config["model"], model),
        "task": config["task"],
        "names": names,
        "design": design,
        "weights": Weights(**arrays),
        "temperature": temperature,
        "known": frozenset(_of(str, word) for word in words["known"]),
        "report": _of(dict, config["report"]),
    }


def _names(entries: Any) -> set[tuple[str, ...]]:
    """Return the names of a gazetteer, each of one token or more."""
    names = {tuple(_of(str, token) for token in _of(list, tokens)) for tokens in _of(list, entries)}
    if () in names:
        raise ValueError("a gazetteer with a name of no token")
    return names


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.40} instead of a {kind.__name__}")
    return value


def _check_arrays(arrays: dict[str, Array], buckets: Array, clusters: Array, K: int, *, lexical: bool) -> None:
    """Raise unless all arrays have the shapes of a network with K tags, and finite numbers: kernels rely on it."""
    (H,), (C,), d = arrays["bias"].shape, arrays["around_bias"].shape, len(arrays["vectors"])
    expected = {
        "vectors": (d, H), "features": (len(buckets), H), "bias": (H,), "around": (H, 3 * C), "around_bias": (C,),
        "around_out": (C, K), "out": (H, K), "out_bias": (K,), "first": (K,), "last": (K,), "transitions": (K, K),
    }  # fmt: skip
    found = {name: array.shape for name, array in arrays.items()}
    if found != expected or K < 1:
        raise ValueError(f"arrays {found} instead of {expected}")
    for name, array in arrays.items():
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise ValueError(f"{name} holds {array.dtype} or numbers that are not finite")
    rows = BUCKETS if lexical else 0
    if buckets.dtype != np.int32 or buckets.ndim != 1 or not ((buckets >= 0) & (buckets < rows)).all():
        raise ValueError(f"buckets that are not among {rows:,}")
    if clusters.dtype != np.int32 or clusters.ndim != 2:
        raise ValueError(f"clusters of {clusters.dtype}{clusters.shape}")


def _source(folder: Path, facts: dict[str, Any], given: ModelLike | None) -> ModelSource:
    """Find the model of a tagger: the one that is given, or the one in its folder or at the path that it names."""
    if isinstance(given, TextLDS):
        if facts.get("words") not in (None, _words_sum(given)):  # taggers made before do not say
            raise FormatError(
                f"the model that was given is not the one that the tagger {folder} was trained with: it has other "
                f"words. Give that one, or train again."
            )
        return ModelSource(None, None, given)
    paths = (
        [folder / facts["path"], *map(Path, filter(None, [facts["absolute"]]))]
        if given is None
        else [find_model(given)]
    )
    there = [Path(os.path.abspath(path)) for path in paths if path.exists()]
    if not there:
        raise FormatError(
            f"the model of the tagger {folder} is missing: there is nothing at {' nor at '.join(map(str, paths))}. Say "
            f"where it is (model=..., --model), or train again with bundle (--bundle)."
        )
    for path in there:
        if model_checksum(path) == facts["checksum"]:
            return ModelSource(path, facts["checksum"])
    raise FormatError(
        f"{there[0]} is not the model that the tagger {folder} was trained with: its checksum differs. Give that one "
        f"(model=..., --model), or train again."
    )
