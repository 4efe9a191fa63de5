"""scikit-learn: documents as vectors, tokens as vectors, and a classifier of tokens.

    make_pipeline(TextLDSVectorizer("model"), LogisticRegression())                      a label per document
    make_pipeline(TokenEmbedder("model"), TokenClassifier(LogisticRegression()))         a label per token

Nothing is learnt here: a model is fitted by :func:`textlds.fit`, and the transformers only apply it. A model given as a
path is read when it is first needed, and a pickle of the estimator holds the path alone; one given as an object goes
into the pickle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, cast, get_args

import numpy as np

from textlds.errors import ArgumentError, MissingExtraError, check_choice
from textlds.linalg.types import Array
from textlds.model.loading import ModelLike, open_model
from textlds.model.textlds import Text
from textlds.tagging.classifier import ChainClassifier
from textlds.vectors.pooling import Pooling, check_pooling
from textlds.vectors.recipes import RecipeLike

try:
    from sklearn.base import BaseEstimator, TransformerMixin, clone
    from sklearn.utils.validation import check_is_fitted
except ImportError as _error:
    raise MissingExtraError("textlds.integrations.sklearn", "sklearn") from _error

TokenForm = Literal["arrays", "dicts"]


class _ModelTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What the transformers share: a model and the options of its :meth:`~textlds.TextLDS.embed`."""

    model: ModelLike
    recipe: RecipeLike
    threads: int | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the arguments; nothing is learnt."""
        self._check()
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns, (d,): state0, state1, ..."""
        model = open_model(self.model)
        parts = model.recipe(self.recipe).parts
        names = [f"{part}{number}" for part in parts for number in range(model.dimensions(part))]
        return np.array(names, dtype=object)

    def _check(self) -> None:
        open_model(self.model).recipe(self.recipe)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # text has none
        tags.requires_fit = False
        return tags


class TextLDSVectorizer(_ModelTransformer):
    """Documents to vectors: those of a document's tokens, pooled. By default, what its words are about.

    Args:
        model: A model or the path of its folder.
        pooling: ``"weighted"``: a mean in which rare words count more; ``"mean"``, ``"max"`` or ``"sum"`` over the
            tokens, dimension by dimension.
        recipe: As for :meth:`~textlds.TextLDS.embed`.
        threads: How many; all cores by default.
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        pooling: Pooling = "weighted",
        recipe: RecipeLike = "word_meaning",
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.recipe = recipe
        self.threads = threads

    def transform(self, X: Iterable[Text]) -> Array:
        """Return a row per document, (n, d) float32; zeros for a document without tokens.

        Args:
            X: n strings, or lists of tokens: a list, an array, a column of a data frame, any iterable.
        """
        self._check()
        model = open_model(self.model)
        return model.encode(_documents(X), recipe=self.recipe, pooling=self.pooling, threads=self.threads)

    def _check(self) -> None:
        super()._check()
        check_pooling(self.pooling)


class TokenEmbedder(_ModelTransformer, auto_wrap_output_keys=None):  # type: ignore[call-arg]  # of TransformerMixin
    """Lists of tokens to matrices: a row for every token, in its context.

    Rows and labels stay aligned, because tokens are taken as they are. ``set_output(transform="pandas")`` (or polars)
    makes a data frame of every matrix.

    Args:
        model: A model or the path of its folder.
        form: ``"arrays"``: a matrix per text; ``"dicts"``: a list of {name: number} per text, as for crfsuite.
        recipe: As for :meth:`~textlds.TextLDS.embed`.
        threads: How many; all cores by default.
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        form: TokenForm = "arrays",
        recipe: RecipeLike = "features",
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.form = form
        self.recipe = recipe
        self.threads = threads

    def transform(self, X: Iterable[Sequence[str]]) -> list[Any]:
        """Return one (tokens, d) float32 matrix per text, as the form and the output set say.

        Args:
            X: Lists of tokens.
        """
        self._check()
        frame = self._frame()
        found = open_model(self.model).embed(_token_lists(X), recipe=self.recipe, threads=self.threads)
        return [frame(text.vectors) for text in found]

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what every matrix is: ``"default"`` (an array), ``"pandas"`` or ``"polars"``."""
        if transform is not None:
            check_choice("transform", transform, _FRAMES)
            self._sklearn_output_config = {"transform": transform}  # where sklearn.clone looks for it
        return self

    def _frame(self) -> Callable[[Array], Any]:
        """Return what turns a matrix into the form that is wanted."""
        from sklearn import get_config

        names = self.get_feature_names_out().tolist()
        if self.form == "dicts":
            return lambda vectors: [dict(zip(names, row, strict=True)) for row in vectors.tolist()]
        own = getattr(self, "_sklearn_output_config", {})
        make = _FRAMES[own.get("transform", get_config()["transform_output"])]
        return lambda vectors: make(vectors, names)

    def _check(self) -> None:
        super()._check()
        check_choice("form", self.form, get_args(TokenForm))


class TokenClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Any classifier, on tokens: fitted to all tokens of all texts, it labels those of a text.

    With it, matrices of :class:`TokenEmbedder` go through a ``Pipeline`` and a ``GridSearchCV`` that splits by text.
    (To scikit-learn it is no classifier: those have one label per sample, and lists of labels are refused for them.)

    Args:
        estimator: A classifier of rows, such as ``LogisticRegression()``; None for the network of
            :class:`textlds.Tagger`, which learns which labels follow which.
        seed: Of that network.

    Attributes:
        estimator_: The fitted classifier.
        classes_: The labels it knows.
    """

    def __init__(self, estimator: Any = None, *, seed: int = 0) -> None:
        self.estimator = estimator
        self.seed = seed

    def fit(self, X: Sequence[Any], y: Sequence[Sequence[Any]]) -> Self:
        """Fit to matrices of tokens and their labels.

        Args:
            X: One (tokens, d) matrix per text.
            y: The labels of its tokens, a list per text.
        """
        matrices, labels = _matrices(X), [list(text) for text in y]
        if len(matrices) != len(labels):
            raise ArgumentError(f"X has {len(matrices)} texts but y has labels for {len(labels)}.")
        for number, (matrix, of_text) in enumerate(zip(matrices, labels, strict=True)):
            if len(matrix) != len(of_text):
                raise ArgumentError(f"text {number} has {len(matrix)} tokens and {len(of_text)} labels.")
        if not any(labels):
            raise ArgumentError("no text has a token; a classifier needs some.")
        if self.estimator is None:
            self.estimator_: Any = ChainClassifier(seed=self.seed).fit(matrices, labels)
        else:
            self.estimator_ = clone(self.estimator).fit(np.concatenate(matrices), list(itertools.chain(*labels)))
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Sequence[Any]) -> list[Array]:
        """Return the labels of every text, an array each."""
        return self._by_text(X, "predict")

    def predict_proba(self, X: Sequence[Any]) -> list[Array]:
        """Return the probabilities of every text's labels, (tokens, classes) each."""
        return self._by_text(X, "predict_proba")

    def score(self, X: Sequence[Any], y: Sequence[Sequence[Any]], sample_weight: None = None) -> float:
        """Return the accuracy, over all tokens."""
        predicted = np.concatenate([np.empty(0, self.classes_.dtype), *self._by_text(X, "predict")])
        return float(np.mean(predicted == np.array(list(itertools.chain(*y)))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True  # the nearest there is to a list of matrices
        return tags

    def _by_text(self, X: Sequence[Any], method: str) -> list[Array]:
        check_is_fitted(self)
        matrices = _matrices(X)
        ends = np.cumsum([len(matrix) for matrix in matrices])
        if isinstance(self.estimator_, ChainClassifier):
            return cast(list[Array], getattr(self.estimator_, method)(matrices))
        if not len(ends) or not ends[-1]:
            shape = (0,) if method == "predict" else (0, len(self.classes_))
            return [np.empty(shape, self.classes_.dtype if method == "predict" else np.float64) for _ in matrices]
        return np.split(getattr(self.estimator_, method)(np.concatenate(matrices)), ends[:-1])


def _documents(X: Any) -> Iterator[Text]:
    for number, text in enumerate(_column(X)):
        yield text if isinstance(text, str) else _tokens(number, text)


def _token_lists(X: Any) -> Iterator[Text]:
    for number, text in enumerate(_column(X)):
        if isinstance(text, str):
            raise ArgumentError(
                f"text {number} is the string {text!r:.60}; give lists of tokens, so that every row has its token."
            )
        yield _tokens(number, text)


def _tokens(number: int, text: Any) -> list[str]:
    """Return a list, an array or the cell of a list column as a list."""
    if not isinstance(text, Iterable) or not hasattr(text, "__len__") or isinstance(text, bytes | dict | set):
        raise ArgumentError(
            f"text {number} is {text!r:.60}, of type {type(text).__name__}; give strings or lists of tokens."
        )
    return list(text)


def _column(X: Any) -> Iterable[Any]:
    """Refuse what iterates over something other than documents."""
    if isinstance(X, str | bytes):
        raise ArgumentError("X is a single string; give a list of texts, such as [text].")
    if hasattr(X, "columns"):
        raise ArgumentError("X is a data frame; give one column of it, such as frame['text'].")
    if getattr(X, "ndim", 1) != 1:
        raise ArgumentError(f"X has {X.ndim} dimensions; give a list of texts or a column of them.")
    if not isinstance(X, Iterable):
        raise ArgumentError(f"X is of type {type(X).__name__}; give a list of texts or a column of them.")
    return X


def _matrices(X: Sequence[Any]) -> list[Array]:
    found = [np.asarray(matrix) for matrix in X]
    for number, (given, matrix) in enumerate(zip(X, found, strict=True)):
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ArgumentError(
                f"text {number} is of type {type(given).__name__} with the shape {matrix.shape}; give a matrix of "
                f"numbers for each text, (tokens, d), such as those of TokenEmbedder."
            )
    return found


def _pandas(vectors: Array, names: list[str]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError('set_output(transform="pandas")', "pandas") from error
    return pandas.DataFrame(vectors, columns=names)


def _polars(vectors: Array, names: list[str]) -> Any:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError('set_output(transform="polars")', "polars") from error
    return polars.DataFrame(vectors, schema=names, orient="row")


_FRAMES: dict[str, Callable[[Array, list[str]], Any]] = {
    "default": lambda vectors, names: vectors,
    "pandas": _pandas,
    "polars": _polars,
}
