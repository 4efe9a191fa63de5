"""Models that come as Python packages: ``textlds.load("en")`` finds them by an entry point.

A package offers a model by an entry point of the group ``textlds_models`` whose name is that of the model and whose
object is the path of the model's folder, or a function that returns it. docs/how-to-packages.md shows one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from textlds.errors import ArgumentError, FormatError

GROUP = "textlds_models"
_EXTRAS = ("en",)  # names that textlds itself has an extra for


@dataclass(frozen=True)
class InstalledModel:
    """A model of an installed package.

    Attributes:
        name: What :func:`textlds.load` takes.
        package: The distribution that offers it.
        version: Of the package.
    """

    name: str
    package: str
    version: str
    _entry: EntryPoint

    def folder(self) -> Path:
        """Return the path of the model's folder."""
        try:
            found: Any = self._entry.load()
            return Path(found() if callable(found) else found)
        except Exception as error:  # whatever the package's own code raises
            raise FormatError(
                f"the package {self.package} {self.version} offers the model {self.name!r} but does not give its "
                f"folder ({type(error).__name__}: {error}). Install it again: pip install --force-reinstall "
                f"{self.package}"
            ) from error


def installed_models() -> list[InstalledModel]:
    """Return the models of installed packages, by name."""
    found = []
    for entry in entry_points(group=GROUP):
        package = getattr(entry, "dist", None)
        name, version = (package.name, package.version) if package is not None else (entry.value, "of unknown version")
        found.append(InstalledModel(entry.name, name, version, entry))
    return sorted(found, key=lambda model: (model.name, model.package))


def find_model(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a model: a path as it is, unless nothing is there and an installed model has that name."""
    name = os.fspath(path)
    if os.path.exists(name) or os.path.basename(name) != name or not name:
        return Path(name)
    models = installed_models()
    offered = {model.package: model for model in models if model.name == name}
    if len(offered) > 1:
        raise ArgumentError(
            f"the packages {' and '.join(sorted(offered))} both offer a model {name!r}. Uninstall one, or give the "
            f"path of a folder."
        )
    for model in offered.values():
        return model.folder()
    others = ", ".join(sorted({model.name for model in models})) or "none"
    remedy = (
        f"Get it with: pip install 'textlds[{name}]'" if name in _EXTRAS else "Check the path; the model comes first."
    )
    raise FormatError(
        f"{name} does not exist, and no installed package offers a model of that name (installed: {others}). {remedy}"
    )
