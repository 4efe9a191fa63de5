"""scikit-learn's own checks, its pipelines and searches, and the vectors that the model itself gives."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from model.worlds import (
    CLASSES,
    SETTINGS,
    class_of,
    counts_of,
    fit,
    grammar_text,
    names,
    random_model,
    with_meaning,
)  # fmt: skip
from textlds import TextLDS
from textlds.errors import ArgumentError, FormatError, MissingExtraError
from textlds.integrations.sklearn import TextLDSVectorizer, TokenClassifier, TokenEmbedder
from textlds.model.loading import open_model
from textlds.vectors.recipes import Recipe

WORDS = names(39)
SMALL = with_meaning(random_model(0, V=40, h=3))
DOCUMENTS = ["aaa aab aac", "", "zzz aad", "aae aaf aag aah aai"]


# scikit-learn runs none of its checks on an estimator of texts. These read a row of numbers as a text, so that it runs
# all of them: what is checked is the estimator, and the numbers by validate_data.


class _OnNumbers:
    def fit(self, X, y=None):
        validate_data(self, X)
        return super().fit(X, y)

    def _texts(self, X):
        check_is_fitted(self, "n_features_in_")
        rows = validate_data(self, X, reset=False)
        return [[WORDS[int(value * 7) % len(WORDS)] for value in row] for row in rows]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.requires_fit = True, True
        tags.input_tags.one_d_array = tags.input_tags.string = False
        return tags


class VectorizerOfNumbers(_OnNumbers, TextLDSVectorizer):
    """Documents that are rows of numbers."""

    def transform(self, X):
        return np.asarray(super().transform(self._texts(X)))


class EmbedderOfNumbers(_OnNumbers, TokenEmbedder, auto_wrap_output_keys=None):
    """Token lists that are rows of numbers."""

    def transform(self, X):
        return np.stack(super().transform(self._texts(X)))


class ClassifierOfRows(ClassifierMixin, TokenClassifier):
    """Texts of one token."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        return super().fit(X[:, None], y[:, None])

    def score(self, X, y):
        return TokenClassifier.score(self, self._rows(X), np.asarray(y)[:, None])

    def predict(self, X):
        return np.concatenate(super().predict(self._rows(X)))

    def predict_proba(self, X):
        return np.concatenate(super().predict_proba(self._rows(X)))

    def _rows(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False)[:, None]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        return tags


@parametrize_with_checks(
    [
        VectorizerOfNumbers(SMALL),
        VectorizerOfNumbers(SMALL, pooling="max", recipe="left_context+word, filter"),
        EmbedderOfNumbers(SMALL, recipe="context"),
        ClassifierOfRows(LogisticRegression()),
    ]
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("library", "check"),
    [
        ("", "check_set_output_transform"),
        ("pandas", "check_set_output_transform_pandas"),
        ("pandas", "check_global_output_transform_pandas"),
        ("polars", "check_set_output_transform_polars"),
        ("polars", "check_global_set_output_transform_polars"),
    ],
)
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")  # the checks mix frames and arrays
def test_its_checks_of_set_output(library, check):
    if library:
        pytest.importorskip(library)
    getattr(estimator_checks, check)("VectorizerOfNumbers", VectorizerOfNumbers(SMALL))


def test_tags_say_what_the_input_is():
    for estimator in (TextLDSVectorizer(SMALL), TokenEmbedder(SMALL)):
        tags = get_tags(estimator)
        assert (tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit) == (True, False, False)


@pytest.fixture
def path(tmp_path):
    SMALL.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("pooling", ["mean", "max", "sum"])
def test_documents_are_pooled(pooling):
    found = TextLDSVectorizer(SMALL, pooling=pooling, recipe="left_context+word").fit_transform(DOCUMENTS)
    assert found.shape == (4, 6)
    assert found.dtype == np.float32
    for row, text in zip(found, DOCUMENTS, strict=True):
        # one at a time, by hand
        vectors = next(SMALL.embed([text], recipe="left_context+word")).vectors.astype(np.float64)
        expected = [[getattr(np, pooling)(column) for column in vectors.T]] if len(vectors) else np.zeros((1, 6))
        np.testing.assert_allclose(row, np.ravel(expected), atol=5e-6)  # one text and a batch round differently
    assert TextLDSVectorizer(SMALL).transform([]).shape == (0, 5)


def test_documents_of_any_kind():
    expected = TextLDSVectorizer(SMALL).transform(DOCUMENTS)
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    lists = [text.split() for text in DOCUMENTS]
    kinds = [
        iter(DOCUMENTS), np.array(DOCUMENTS), np.array(DOCUMENTS, object), pandas.Series(DOCUMENTS),
        polars.Series(DOCUMENTS), lists, pandas.Series([np.array(text, object) for text in lists]),
        polars.Series(lists), [np.array(text) if text else [] for text in lists],
    ]  # fmt: skip
    for kind in kinds:
        np.testing.assert_allclose(TextLDSVectorizer(SMALL).transform(kind), expected, atol=1e-6)


def test_token_matrices_are_those_of_the_model():
    lists = [text.split() for text in DOCUMENTS]
    found = TokenEmbedder(SMALL).fit_transform(lists)
    for matrix, text in zip(found, SMALL.embed(lists, recipe="features"), strict=True):
        np.testing.assert_array_equal(matrix, text.vectors)
    filtered = TokenEmbedder(SMALL, recipe=Recipe("state", method="filter")).transform(lists[:1])
    np.testing.assert_array_equal(filtered[0], next(SMALL.embed(lists[:1], recipe="context, filter")).vectors)


@pytest.mark.parametrize("estimator", [TextLDSVectorizer, TokenEmbedder])
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("aaa aab", "a single string"),
        (["aaa", 3.5], "text 1 is 3.5, of type float"),
        ([["aaa"], None], "text 1 is None, of type NoneType"),
        ([["aaa"], b"aab"], "text 1 is b'aab', of type bytes"),
        ([{"aaa": 1}], "of type dict"),
        ([["aaa", 7]], "7 is among its tokens"),
        (np.zeros((2, 2)), "X has 2 dimensions"),
        (5, "of type int"),
    ],
)
def test_wrong_types_are_told(estimator, X, message):
    if estimator is TokenEmbedder and message.startswith("text 1 is 3.5"):
        X = [["aaa"], 3.5]
    with pytest.raises(ArgumentError, match=message):
        estimator(SMALL).transform(X)


def test_a_data_frame_is_not_a_column():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ArgumentError, match="one column"):
        TextLDSVectorizer(SMALL).transform(pandas.DataFrame({"text": DOCUMENTS}))
    with pytest.raises(ArgumentError, match="text 0 is the string 'aaa'; give lists of tokens"):
        TokenEmbedder(SMALL).transform(["aaa", "aab"])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TextLDSVectorizer(SMALL, pooling="median"), "pooling='median' is not one of 'mean', 'max', 'sum'"),
        (TextLDSVectorizer(SMALL, recipe="up"), "'up' is not a recipe"),
        (TextLDSVectorizer(SMALL, recipe="right_context, filter"), "which method='filter' does not use"),
        (TokenEmbedder(SMALL, recipe="state, exact"), "which weighting='equal' replaces"),
        (TextLDSVectorizer(12), "a TextLDS or the path of a model folder, not int"),
        (TokenEmbedder(SMALL, form="tuples"), "form='tuples' is not one of 'arrays', 'dicts'"),
    ],
)
def test_wrong_arguments_are_told_by_fit_and_by_transform(estimator, message):
    with pytest.raises(ArgumentError, match=message):
        estimator.fit([["aaa"]])
    with pytest.raises(ArgumentError, match=message):
        estimator.transform([["aaa"]])


def test_a_path_is_read_when_it_is_needed(path, tmp_path):
    late = TextLDSVectorizer(tmp_path / "later")
    with pytest.raises(FormatError, match="later does not exist"):
        late.fit(DOCUMENTS)
    SMALL.save(tmp_path / "later")
    np.testing.assert_array_equal(late.transform(DOCUMENTS), TextLDSVectorizer(SMALL).transform(DOCUMENTS))
    other = with_meaning(random_model(1, V=40, h=5))
    other.save(tmp_path / "later", force=True)
    np.testing.assert_array_equal(late.transform(DOCUMENTS), TextLDSVectorizer(other).transform(DOCUMENTS))
    late.set_params(model=str(path))
    assert late.transform(DOCUMENTS).shape == (4, 5)


def test_clones_share_the_model(path):
    assert clone(TextLDSVectorizer(SMALL)).model is SMALL
    assert open_model(path) is open_model(str(path))


def test_pickles(path):
    estimators = [TextLDSVectorizer(SMALL).fit(DOCUMENTS), TextLDSVectorizer(path).fit(DOCUMENTS)]
    expected = estimators[0].transform(DOCUMENTS)
    data = [pickle.dumps(estimator) for estimator in estimators]
    assert len(data[1]) < 1000 < len(data[0])  # a path alone, a model
    script = (
        "import pickle, sys\n"
        "for _ in range(2):\n"
        f"    sys.stdout.buffer.write(pickle.load(sys.stdin.buffer).transform({DOCUMENTS!r}).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", script], input=b"".join(data), capture_output=True, check=True)
    assert done.stdout == 2 * expected.tobytes()


def test_a_model_pickles_with_all_it_holds():
    again = pickle.loads(pickle.dumps(SMALL))
    assert isinstance(again, TextLDS)
    assert again.vocabulary == SMALL.vocabulary
    assert again.similar("aaa") == SMALL.similar("aaa")


def test_data_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    series = pandas.Series(DOCUMENTS, index=[7, 8, 9, 3])
    frame = TextLDSVectorizer(SMALL).set_output(transform="pandas").fit_transform(series)
    assert frame.columns.tolist() == [f"word_meaning{k}" for k in range(5)]
    assert frame.index.tolist() == [7, 8, 9, 3]
    columns = make_column_transformer((TextLDSVectorizer(SMALL), "text"), remainder="passthrough")
    both = columns.set_output(transform="polars").fit_transform(polars.DataFrame({"text": DOCUMENTS, "n": range(4)}))
    assert both.columns == [*(f"textldsvectorizer__word_meaning{i}" for i in range(5)), "remainder__n"]
    np.testing.assert_allclose(both.to_numpy()[:, :5], frame.to_numpy())


def test_a_frame_for_every_matrix():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    lists = [["aaa", "aab"], [], ["aac"]]
    expected = TokenEmbedder(SMALL).transform(lists)
    sizes = {"state": 3, "word": 3, "neighbours": 2, "spelling": 3, "word_meaning": 5}
    columns = [f"{part}{i}" for part, size in sizes.items() for i in range(size)]
    for library in (pandas, polars):
        embedder = clone(TokenEmbedder(SMALL).set_output(transform=library.__name__))
        frames = embedder.transform(lists)
        assert all(isinstance(frame, library.DataFrame) for frame in frames)
        assert list(frames[0].columns) == columns
        for frame, matrix in zip(frames, expected, strict=True):
            np.testing.assert_array_equal(frame.to_numpy().reshape(matrix.shape), matrix)
    assert embedder.set_output().transform(lists)[0].shape == (2, 16)
    assert isinstance(embedder.set_output(transform="default").transform(lists)[0], np.ndarray)
    with pytest.raises(ArgumentError, match="transform='arrow' is not one of 'default', 'pandas', 'polars'"):
        embedder.set_output(transform="arrow")


@pytest.fixture(scope="module")
def grammar():
    """A model of a little language, and sentences of it with the class of each word."""
    text = grammar_text(0, 3000)
    model = fit(counts_of([text], settings=SETTINGS), state_size=12, iterations=10)
    ends = [i + 1 for i, word in enumerate(text) if word in CLASSES["end"]]
    sentences = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    sentences = [sentence for sentence in sentences if "bank" not in sentence][:200]
    return model, sentences, [[class_of(word) for word in sentence] for sentence in sentences]


def test_documents_through_pipeline_and_search(grammar):
    model, sentences, tags = grammar
    labels = ["adj" in of_sentence for of_sentence in tags]
    texts = [" ".join(sentence) for sentence in sentences]
    pipeline = make_pipeline(TextLDSVectorizer(model), LogisticRegression(C=100))
    grid = {"textldsvectorizer__pooling": ["mean", "max"], "textldsvectorizer__recipe": ["word", "left_context+state"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(texts[:150], labels[:150])
    assert search.score(texts[150:], labels[150:]) > 0.95
    assert set(search.best_params_) == set(grid)


def test_tokens_through_pipeline_and_search(grammar):
    model, sentences, tags = grammar
    pipeline = make_pipeline(TokenEmbedder(model), TokenClassifier(LogisticRegression()))
    grid = {"tokenembedder__recipe": ["left_context", "word"], "tokenclassifier__estimator__C": [1, 100]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(sentences[:30], tags[:30])
    assert search.best_params_["tokenembedder__recipe"] == "word"
    assert search.score(sentences[30:], tags[30:]) > 0.95
    predicted = search.predict(sentences[30:])
    assert [len(labels) for labels in predicted] == [len(sentence) for sentence in sentences[30:]]
    pipeline.set_output(transform="pandas").fit(sentences[:30], tags[:30])
    pooled = np.concatenate(pipeline.predict(sentences[30:]))
    pipeline.set_output(transform="default").fit(sentences[:30], tags[:30])
    np.testing.assert_array_equal(np.concatenate(pipeline.predict(sentences[30:])), pooled)


def test_features_for_a_crf(grammar, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    model, sentences, tags = grammar
    features = TokenEmbedder(model, form="dicts", recipe="left_context+word").fit_transform(sentences)
    names = TokenEmbedder(model, recipe="left_context+word").get_feature_names_out()
    assert list(features[0][0]) == names.tolist()
    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in zip(features[:30], tags[:30], strict=True):
        trainer.append(items, labels)
    trainer.train(str(tmp_path / "crf"))
    with pycrfsuite.Tagger().open(str(tmp_path / "crf")) as tagger:
        predicted = [tagger.tag(items) for items in features[30:]]
    right = [
        a == b for found, wanted in zip(predicted, tags[30:], strict=True) for a, b in zip(found, wanted, strict=True)
    ]
    assert np.mean(right) > 0.95


def test_a_classifier_of_tokens():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 4)) for n in (3, 0, 5, 1)]
    y = [["+" if row[0] > 0 else "-" for row in matrix] for matrix in X]
    flat = [label for labels in y for label in labels]
    classifier = TokenClassifier(LogisticRegression()).fit(X, y)
    plain = LogisticRegression().fit(np.concatenate(X), flat)
    np.testing.assert_array_equal(np.concatenate(classifier.predict(X)), plain.predict(np.concatenate(X)))
    probabilities = classifier.predict_proba(X)
    assert [matrix.shape for matrix in probabilities] == [(3, 2), (0, 2), (5, 2), (1, 2)]
    np.testing.assert_array_equal(np.concatenate(probabilities), plain.predict_proba(np.concatenate(X)))
    assert classifier.score(X, y) == plain.score(np.concatenate(X), flat)
    assert classifier.classes_.tolist() == ["+", "-"]
    assert [len(labels) for labels in classifier.predict(X[1:2])] == [0]
    assert classifier.predict_proba(X[1:2])[0].shape == (0, 2)
    assert classifier.predict([]) == []


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([np.ones((2, 1))], [["a"], ["b"]], "X has 1 texts but y has labels for 2"),
        ([np.ones((1, 1)), np.ones((2, 1))], [["a"], ["b"]], "text 1 has 2 tokens and 1 labels"),
        ([np.ones((0, 1))], [[]], "no text has a token"),
        ([np.ones((2, 1)), iter([1])], [["a", "b"], ["a"]], r"text 1 is of type list_iterator with the shape \(\)"),
        ([np.ones(2)], [["a", "b"]], r"text 0 is of type ndarray with the shape \(2,\); give a matrix"),
    ],
)
def test_labels_that_do_not_fit_are_told(X, y, message):
    with pytest.raises(ArgumentError, match=message):
        TokenClassifier(LogisticRegression()).fit(X, y)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "textlds.integrations.sklearn")
    with pytest.raises(MissingExtraError, match=r"pip install 'textlds\[sklearn\]'"):
        __import__("textlds.integrations.sklearn")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_the_library_of_frames(monkeypatch, library):
    embedder = TokenEmbedder(SMALL).set_output(transform=library)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'textlds\[{library}\]'"):
        embedder.transform([["aaa"]])
