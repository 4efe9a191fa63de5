"""spaCy: vectors in context on its tokens, features for its taggers, and static vectors for its vocabulary.

    nlp.add_pipe("textlds", config={"model": "model"})     token.vector, doc.vector, similarity; doc.tensor on request
    @architectures = "textlds.Tok2Vec.v1"                  a token-to-vector layer for tagger, parser, ner ...

Both read a :class:`~spacy.tokens.Doc` as the model's corpus was read: white space is no token, and contexts end where
they ended in the corpus (at lines, sentences or blank lines). Both carry the model with them: a pipeline that was saved
needs the model folder no more.

spaCy imports this module for every pipeline in an environment that has textlds, used or not. So the model, which takes
a third of a second to import, is imported where it is used.
"""

from __future__ import annotations

import errno
import inspect
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from textlds._version import __version__
from textlds.errors import ArgumentError, FormatError, MissingExtraError, check_choice
from textlds.linalg.types import Array
from textlds.storage.folders import CONFIG, FORMAT_VERSION, check_output, new_folder, write_json

try:
    import spacy
    import srsly
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span, Token
    from spacy.util import minibatch, registry
    from spacy.vectors import Vectors
    from thinc.api import Maxout, Model, Shim, chain, concatenate, with_array
except ImportError as _error:
    raise MissingExtraError("textlds.integrations.spacy", "spacy") from _error

if TYPE_CHECKING:
    from textlds.corpus.settings import TextSettings
    from textlds.model.loading import ModelLike
    from textlds.model.static import ClassRows, VectorKind, WordVectors
    from textlds.model.textlds import TextLDS
    from textlds.vectors.recipes import RecipeLike

Layer = Model[Any, Any]
Assign = Literal["extension", "tensor", "both"]
EXTENSION = "textlds"


class StoredModel(Shim):
    """A model that is read when it is first needed, and saved with the pipeline that uses it.

    A saved pipeline is rebuilt from its configuration before its data are read, and the folder that the configuration
    names may no longer exist: so nothing is read before it is needed.

    Args:
        source: The path of a model folder.
    """

    def __init__(self, source: str | os.PathLike[str] | None) -> None:
        super().__init__(None)
        self._source = source

    @property
    def model(self) -> TextLDS:
        """The model."""
        from textlds.model.loading import open_model

        if self._model is None:
            if self._source is None:
                raise ArgumentError('no model was named. Add config={"model": PATH}, the path of a model folder.')
            self._model = open_model(self._source)
        model: TextLDS = self._model
        return model

    def to_disk(self, path: str | Path) -> None:
        """Write the model folder, whole or not at all."""
        self.model.save(path, force=True)

    def from_disk(self, path: str | Path) -> StoredModel:
        """Read the model folder."""
        from textlds.model.textlds import TextLDS

        self._model = TextLDS.load(path)
        return self

    def to_bytes(self) -> bytes:
        """Return the files of the model folder."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            self.model.save(path)
            data: bytes = srsly.msgpack_dumps({file.name: file.read_bytes() for file in path.iterdir()})
        return data

    def from_bytes(self, data: bytes) -> StoredModel:
        """Read what :meth:`to_bytes` returned; it is checked as a folder is."""
        files = srsly.msgpack_loads(data)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                if os.path.basename(name) != name:
                    raise FormatError(f"the stored model names a file outside its folder: {name!r}.")
                Path(folder, name).write_bytes(content)
            return self.from_disk(folder)

    def finish_update(self, optimizer: Any) -> None:
        """Nothing here is trained."""

    def to_device(self, device_type: str, device_id: int) -> None:
        """The model stays on the processor; its vectors are copied to where they are used."""


class BatchComponent(Pipe):
    """A component that annotates a batch of documents at a time."""

    name: str

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate many documents; a batch that fails goes to the error handler."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            try:
                self.annotate(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Set the annotations of all these documents."""
        raise NotImplementedError


class TextLDSComponent(BatchComponent):
    """A component that gives every token its vector in context. Get one from ``nlp.add_pipe("textlds", ...)``.

    Args:
        name: Of the component.
        model: The path of a model folder.
        recipe: As for :meth:`~textlds.TextLDS.embed`.
        assign: ``"extension"``: ``token._.textlds``, (d,) float32; ``"tensor"``: ``doc.tensor``, (tokens, d); or
            ``"both"``. White space gets zeros.
        threads: How many; all cores by default.

    In any case ``token.vector`` is a token's vector in context, ``doc.vector`` and ``span.vector`` are the mean over
    their tokens, and ``similarity`` compares these.
    """

    def __init__(
        self,
        name: str,
        model: str | os.PathLike[str] | None,
        *,
        recipe: RecipeLike = "context",
        assign: str = "extension",
        threads: int | None = None,
    ) -> None:
        check_choice("assign", assign, get_args(Assign))
        self.name = name
        self._stored = StoredModel(model)
        self._assign = assign
        self._recipe, self._threads = checked_recipe(recipe), threads
        if not Token.has_extension(EXTENSION):
            Token.set_extension(EXTENSION, default=None)

    @property
    def lds(self) -> TextLDS:  # spaCy looks at an attribute "model" of any component, and so would read the folder
        """The model, read from its folder if it has not been yet."""
        return self._stored.model

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Set the vectors of these documents."""
        found = doc_vectors(self.lds, docs, recipe=self._recipe, threads=self._threads)
        for doc, vectors in zip(docs, found, strict=True):
            _set_hooks(doc, vectors)
            if self._assign != "extension":
                doc.tensor = vectors
            if self._assign != "tensor":
                for token, vector in zip(doc, vectors, strict=True):
                    token._.set(EXTENSION, vector)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into the folder of the pipeline."""
        self._stored.to_disk(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TextLDSComponent:
        """Read the model from the folder of the pipeline."""
        self._stored.from_disk(path)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model as bytes."""
        return self._stored.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> TextLDSComponent:
        """Read the model from bytes."""
        self._stored.from_bytes(data)
        return self


def check_named(path: str | None, kind: str) -> None:
    """Refuse a folder that does not exist, unless spaCy rebuilds a saved pipeline, which brings its own copy."""
    from textlds.model.installed import find_model

    if path is None or Path(path).is_dir():
        return
    rebuilding = Language.from_config.__func__.__code__  # type: ignore[attr-defined]  # a class method
    if any(called.frame.f_code is rebuilding for called in inspect.stack(0)):
        return
    if kind != "model" or not find_model(path).is_dir():
        raise FormatError(f"the {kind} folder {path} does not exist. Check the path.")


@Language.factory(
    "textlds",
    assigns=[f"token._.{EXTENSION}"],
    default_config={"model": None, "recipe": "context", "assign": "extension", "threads": None},
)
def make_component(
    nlp: Language, name: str, model: str | None, recipe: str, assign: str, threads: int | None
) -> TextLDSComponent:
    """Make the component ``textlds`` for ``nlp.add_pipe``."""
    check_named(model, "model")
    return TextLDSComponent(name, model, recipe=recipe, assign=assign, threads=threads)


def _set_hooks(doc: Doc, vectors: Array) -> None:
    """Let spaCy's own ``vector``, ``has_vector``, ``vector_norm`` and ``similarity`` use the vectors in context."""

    places = np.array([token.idx for token in doc])  # by which tokens are found again after others were merged

    def rows(tokens: Iterable[Token]) -> Array:
        wanted = np.array([token.idx for token in tokens], np.int64)
        found = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
        return np.where((places[found] == wanted)[:, None], vectors[found], np.float32(0))

    def vector(what: Doc | Span | Token) -> Array:
        from textlds.vectors.pooling import mean_vector

        own = rows([what] if isinstance(what, Token) else what)
        return mean_vector(own[own.any(axis=1)])  # without white space

    def has_vector(what: Doc | Span | Token) -> bool:
        return bool(vector(what).any())

    def norm(what: Doc | Span | Token) -> float:
        return float(np.linalg.norm(vector(what)))

    def similarity(one: Any, two: Any) -> float:
        lengths = norm(one) * two.vector_norm
        return float(vector(one) @ two.vector / lengths) if lengths else 0.0

    hooks: dict[str, Any] = {"vector": vector, "has_vector": has_vector, "vector_norm": norm, "similarity": similarity}
    for of_kind in (doc.user_hooks, doc.user_span_hooks, doc.user_token_hooks):
        of_kind.update(hooks)


@registry.architectures("textlds.Tok2Vec.v1")  # type: ignore[untyped-decorator]
def tok2vec(
    model: str | None,
    width: int,
    recipe: str = "features",
    embed: Layer | None = None,
) -> Layer:
    """Make a token-to-vector layer of a model: its vectors, which stay as they are, and a maxout layer that is trained.

    Args:
        model: The path of a model folder.
        width: Of the output.
        recipe: As for :meth:`~textlds.TextLDS.embed`.
        embed: Another layer from documents to arrays, such as ``spacy.MultiHashEmbed.v2``: its output is put beside the
            vectors.
    """
    attrs = {"recipe": checked_recipe(recipe)}
    vectors: Layer = Model("textlds", _forward, shims=[StoredModel(model)], attrs=attrs)
    features = vectors if embed is None else concatenate(vectors, embed)
    layer: Layer = chain(features, with_array(Maxout(nO=width, nP=3, normalize=True, dropout=0.0)))
    layer.set_dim("nO", width)
    return layer


def _forward(layer: Layer, docs: list[Doc], is_train: bool) -> tuple[list[Any], Any]:
    stored: Any = layer.shims[0]
    found: list[Any] = doc_vectors(stored.model, docs, **layer.attrs)
    return [layer.ops.asarray2f(vectors) for vectors in found], _no_gradient


def _no_gradient(gradients: list[Any]) -> list[Any]:
    return []  # as other layers over documents: these have none


def checked_recipe(recipe: RecipeLike) -> str:
    """Return a recipe as it is stored with a component; a name is looked up in the model when that is read."""
    from textlds.vectors.recipes import check_recipe

    check_recipe(recipe)
    return str(recipe)


def doc_vectors(model: TextLDS, docs: Sequence[Doc], *, recipe: RecipeLike, threads: int | None = None) -> list[Array]:
    """Return a vector for every token of documents, (tokens, d) float32 each, with zeros for white space."""
    settings = model.vocabulary.settings
    places = [_sequences(doc, settings) for doc in docs]
    words = [[token.text for token in doc] for doc in docs]
    texts = [
        [of_doc[place] if place >= 0 else str(settings.boundary_token) for place in sequence]
        for of_doc, sequences in zip(words, places, strict=True)
        for sequence in sequences
    ]
    found = model.embed(texts, recipe=recipe, threads=threads)
    result = []
    for of_doc, sequences in zip(words, places, strict=True):
        vectors = np.zeros((len(of_doc), model.dimensions(recipe)), np.float32)
        for sequence in sequences:
            rows = np.array(sequence)
            vectors[rows[rows >= 0]] = next(found).vectors[rows >= 0]
        result.append(vectors)
    return result


def _sequences(doc: Doc, settings: TextSettings) -> list[list[int]]:
    """Return the places of a document's words, cut where contexts end; with a boundary token, −1 for it instead."""
    sentences = settings.boundaries == "sentence" and doc.has_annotation("SENT_START")
    newlines = {"line": 1, "sentence": 1, "document": 2}.get(settings.boundaries)  # so many end a context
    found: list[list[int]] = [[]]
    for token in doc:
        if token.is_space:
            if newlines is not None and token.text.count("\n") >= newlines:
                found.append([])
        else:
            if sentences and token.is_sent_start:
                found.append([])
            found[-1].append(token.i)
    found = [sequence for sequence in found if sequence]
    if settings.boundary_token is None or not found:
        return found
    return [[place for sequence in found for place in (-1, *sequence)][1:]]


def save_vectors(
    model: ModelLike,
    path: str | os.PathLike[str],
    *,
    vectors: VectorKind = "meaning",
    classes: ClassRows = "keep",
    language: str = "en",
    force: bool = False,
) -> WordVectors:
    """Write static word vectors as a folder that spaCy loads, whole or not at all.

    It is what ``spacy init vectors`` makes: a pipeline without components for ``spacy.load``, or for ``vectors`` in the
    section ``[initialize]`` of a training configuration.

    Args:
        model: A model or the path of its folder.
        path: The folder.
        vectors: ``"meaning"``, ``"use"``, ``"input"`` or ``"output"``: see :mod:`textlds.model.static`.
        classes: ``"keep"`` or ``"drop"`` the classes of unknown words, which appear under their names, ``<unk>`` ...
        language: The code of the language; spaCy lets no other one use the vectors.
        force: Overwrite a folder that textlds wrote.

    Returns:
        What was written.
    """
    from textlds.model.loading import open_model
    from textlds.model.static import word_vectors

    check_output(path, force=force)
    try:
        nlp = spacy.blank(language)
    except ImportError as error:
        raise ArgumentError(f"language={language!r} is not one that spaCy has: {error}") from error
    table = word_vectors(open_model(model), vectors, classes=classes)
    for word in table.words:
        nlp.vocab.strings.add(word)
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=table.vectors, keys=table.words, name=f"textlds_{vectors}.vectors"
    )
    nlp.meta["vectors"]["name"] = nlp.vocab.vectors.name
    with new_folder(path, force=force) as folder:
        try:
            nlp.to_disk(folder)
        except OSError as error:
            if error.errno is not None:
                raise
            # numpy tells of a full disk by numbers of items alone
            raise OSError(errno.EIO, f"spaCy could not write the vectors ({error})", str(path)) from error
        # a mark of its own, so that it may be overwritten
        about = {"format": "textlds-spacy-vectors", "format_version": FORMAT_VERSION, "textlds_version": __version__}
        write_json(folder / CONFIG, {**about, "vectors": vectors, "state_size": table.vectors.shape[1], "files": {}})
    return table
