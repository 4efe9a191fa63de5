"""Where the data of the studies lies. Nothing is looked for until a study needs it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

from textlds.errors import ArgumentError

# part of a data set -> how its file may be called; CoNLL-2003 calls its development set testa
_SPLITS = {"train": ("train",), "dev": ("dev", "valid", "testa"), "test": ("test",)}


@dataclass(frozen=True)
class Data:
    """Paths of the data sets; None for those that are not at hand.

    Attributes:
        text: Unlabelled text, one paragraph per line (plain or compressed).
        reuters: More of it, near to the domain of the named entities.
        ewt: Folder of a treebank in CoNLL-U, with train, dev and test.
        ptb: Folder of ``word<TAB>tag`` files, with train, dev and test, and a map ``*.map`` to universal tags.
        conll: Folder of the CoNLL-2003 files, ``eng.train``, ``eng.testa``, ``eng.testb``.
        similarity: Folder of word similarity sets.
    """

    text: Path | None = None
    reuters: Path | None = None
    ewt: Path | None = None
    ptb: Path | None = None
    conll: Path | None = None
    similarity: Path | None = None

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all data sets."""
        return [field.name for field in fields(cls)]

    def path(self, name: str) -> Path:
        """Return the path of a data set."""
        path: Path | None = getattr(self, name)
        if path is None:
            raise ArgumentError(f"this study needs --{name}. Give it, or --data with a folder that holds it.")
        if not path.exists():
            raise ArgumentError(f"--{name}: {path} does not exist. Check the path.")
        return path

    def split(self, name: str, part: str) -> Path:
        """Return the file of a data set that is its "train", "dev" or "test" part."""
        folder = self.path(name)
        words = _SPLITS[part]
        others = [word for key, some in _SPLITS.items() if key != part for word in some]
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and _is_part(file.name, words, others)]
        if len(files) != 1:
            found = ", ".join(file.name for file in files) or "none"
            raise ArgumentError(
                f"--{name}: {folder} must hold exactly one file with {' or '.join(words)} in its name; found {found}."
            )
        return files[0]

    def files(self, name: str) -> list[Path]:
        """Return all files of a data set, the ones that checksums are taken of."""
        path = self.path(name)
        return [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())


# folder or file under --data, in the layout in which the sets are published
LAYOUT = {
    "text": "wikipedia/*",
    "reuters": "reuters21578/reuters*.txt",
    "ewt": "ud-english-ewt",
    "ptb": "ptb-sample",
    "conll": "conll2003",
    "similarity": "similarity",
}


def under(folder: Path) -> dict[str, Path]:
    """Return the data sets that a folder of the usual layout holds."""
    found = {name: sorted(folder.glob(pattern)) for name, pattern in LAYOUT.items()}
    return {name: paths[0] for name, paths in found.items() if paths}


def sha256(path: Path) -> str:
    """Return the SHA-256 sum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_part(name: str, words: tuple[str, ...], others: list[str]) -> bool:
    stem = name.lower()
    # "testa" holds "test": the longest word that a name has decides
    best = max((word for word in (*words, *others) if word in stem), key=len, default="")
    return best in words
