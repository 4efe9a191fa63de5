"""Static word vectors for gensim, and in the file formats that gensim and many others read.

word2vec           text; a line with the number of words and of dimensions, then a word and its numbers per line
word2vec-binary    the same beginning, then a word, a space and its numbers as little-endian float32
glove              as word2vec, without the first line

Only :func:`keyed_vectors` needs gensim itself (``textlds[gensim]``).
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from textlds.errors import ArgumentError, MissingExtraError, check_choice
from textlds.model.loading import ModelLike, open_model
from textlds.model.static import ClassRows, VectorKind, WordVectors, word_vectors
from textlds.progress import ProgressOption, resolve
from textlds.storage.folders import check_output, new_file

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

FileFormat = Literal["word2vec", "word2vec-binary", "glove"]
FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_ROWS = 1000  # written between two looks at the progress


def keyed_vectors(model: ModelLike, *, vectors: VectorKind = "meaning", classes: ClassRows = "keep") -> KeyedVectors:
    """Return the word vectors of a model as gensim's ``KeyedVectors``.

    Args:
        model: A model or the path of its folder.
        vectors: ``"meaning"``, ``"use"``, ``"input"`` or ``"output"``: see :mod:`textlds.model.static`.
        classes: ``"keep"`` or ``"drop"`` the classes of unknown words, which appear under their names, ``<unk>`` ...
    """
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise MissingExtraError("KeyedVectors", "gensim") from error
    table = word_vectors(open_model(model), vectors, classes=classes)
    result = KeyedVectors(table.vectors.shape[1], dtype=np.float32)
    result.add_vectors(table.words, table.vectors)
    return result


def save_vectors(
    model: ModelLike,
    path: str | os.PathLike[str],
    *,
    format: FileFormat = "word2vec",
    vectors: VectorKind = "meaning",
    classes: ClassRows = "keep",
    force: bool = False,
    progress: ProgressOption = False,
) -> WordVectors:
    """Write the word vectors of a model to a file, whole or not at all; text takes about 0.2 µs a number.

    Args:
        model: A model or the path of its folder.
        path: The file.
        format: ``"word2vec"``, ``"word2vec-binary"`` or ``"glove"``.
        vectors: As for :func:`keyed_vectors`.
        classes: As for :func:`keyed_vectors`.
        force: Overwrite a file that is there.
        progress: True for a progress bar, or an object that shows it.

    Returns:
        What was written.
    """
    check_choice("format", format, FORMATS)
    check_output(path, force=force)
    table = word_vectors(open_model(model), vectors, classes=classes)
    _check_words(table.words, format)
    with new_file(path, force=force) as file, resolve(progress).task("Export", len(table), "words") as task:
        if format != "glove":
            file.write(b"%d %d\n" % table.vectors.shape)
        write = _write_binary if format == "word2vec-binary" else _write_text
        for start in range(0, len(table), _ROWS):
            rows = slice(start, start + _ROWS)
            write(file, table.words[rows], table.vectors[rows])
            task.advance(len(table.words[rows]))
    return table


def _check_words(words: list[str], format: str) -> None:
    for word in words:
        if not word or any(character.isspace() for character in word):
            raise ArgumentError(
                f"the word {word!r} has white space, which separates words from numbers in the format {format}. "
                f"Use the format spacy, or keyed_vectors and its own save()."
            )


def _write_text(file: IO[bytes], words: list[str], vectors: NDArray[Any]) -> None:
    # nine digits are enough to read the same float32 back
    line = "%s" + " %.9g" * vectors.shape[1] + "\n"
    for word, row in zip(words, vectors.tolist(), strict=True):
        file.write((line % (word, *row)).encode())


def _write_binary(file: IO[bytes], words: list[str], vectors: NDArray[Any]) -> None:
    for word, row in zip(words, vectors.astype("<f4"), strict=True):
        file.write(word.encode() + b" " + row.tobytes())
