"""Bags of words: a naive counter, scikit-learn's vectoriser, laws of the vocabulary, bad input."""

from __future__ import annotations

import inspect
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

import suffice
from suffice.text import BagOfWords

VERSES = [
    "the rose is red the violet is blue",
    "the honey is sweet and so are you",
    "thou art my love and I am thine",
    "I drew thee to my valentine",
    "",
    "the lot was cast and then I drew",
    "and fortune said it should be you YOU you",
]
NEW = ["the rose that I drew", "Quidquid latine dictum sit", ""]


def naive(train, documents, min_count=1):
    """Words one by one."""

    def words(document):
        return [
            w
            for w in "".join(c if c.isalnum() else " " for c in document.lower()).split()
            if len(w) > 1
        ]

    counts = Counter(word for document in train for word in words(document))
    known = sorted(word for word, n in counts.items() if n >= min_count)
    table = []
    for document in documents:
        found = Counter(word if word in known else "<unk>" for word in words(document))
        table.append([found[word] for word in [*known, "<unk>"]])
    return [*known, "<unk>"], np.array(table)


# --- what is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize("min_count", [1, 2, 3])
def test_a_naive_counter(min_count):
    bag = BagOfWords(min_count=min_count)
    names, table = naive(VERSES, VERSES, min_count)
    found = bag.fit_transform(VERSES)
    assert isinstance(found, sparse.csr_array)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), table)
    assert bag.get_feature_names_out().tolist() == names
    assert bag.vocabulary_ == {word: j for j, word in enumerate(names)}
    np.testing.assert_array_equal(bag.transform(VERSES).toarray(), table)
    np.testing.assert_array_equal(bag.transform(NEW).toarray(), naive(VERSES, NEW, min_count)[1])


def test_no_word_is_lost():
    """A row adds up to the length of its document, whatever is known."""
    for min_count in (1, 2, 4):
        bag = BagOfWords(min_count=min_count).fit(VERSES)
        lengths = [len(CountVectorizer().build_analyzer()(document)) for document in NEW]
        assert bag.transform(NEW).sum(axis=1).tolist() == lengths


PARAMETERS = [
    {},
    {"ngram_range": (1, 2)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (3, 3)},
    {"stop_words": "english"},
    {"stop_words": ["the", "and"]},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"analyzer": str.split},
    {"max_df": 0.5},
    {"min_df": 2},
    {"min_df": 0.2, "max_df": 3},
    {"max_features": 4},  # no ties here: theirs are broken by whatever the sort does
    {"max_features": 2, "binary": True},
    {"binary": True, "dtype": np.float32},
    {"vocabulary": ["rose", "red", "blue"]},
    {"vocabulary": {"rose": 2, "red": 0, "blue": 1}},
    {"vocabulary": {"rose", "red", "blue"}},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_without_the_unknown_it_is_scikit_learns(parameters):
    theirs, ours = CountVectorizer(**parameters), BagOfWords(unknown=None, **parameters)
    expected = theirs.fit_transform(VERSES).toarray()
    np.testing.assert_array_equal(ours.fit_transform(VERSES).toarray(), expected)
    np.testing.assert_array_equal(ours.transform(NEW).toarray(), theirs.transform(NEW).toarray())
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.transform(NEW).dtype == theirs.transform(NEW).dtype
    back, other = (model.inverse_transform(expected) for model in (ours, theirs))
    assert [sorted(words.tolist()) for words in back] == [sorted(words.tolist()) for words in other]
    with_unknown = BagOfWords(**parameters).fit(VERSES)
    np.testing.assert_array_equal(with_unknown.transform(VERSES).toarray()[:, :-1], expected)


def test_every_parameter_of_scikit_learns():
    theirs = inspect.signature(CountVectorizer).parameters
    ours = inspect.signature(BagOfWords).parameters
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default, name


def test_files_and_bytes(tmp_path):
    paths = []
    for i, verse in enumerate(VERSES):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text(verse, encoding="utf-8")
    expected = BagOfWords().fit_transform(VERSES).toarray()
    np.testing.assert_array_equal(
        BagOfWords(input="filename").fit_transform(paths).toarray(), expected
    )
    as_bytes = [verse.encode() for verse in VERSES]
    np.testing.assert_array_equal(BagOfWords().fit_transform(as_bytes).toarray(), expected)
    np.testing.assert_array_equal(BagOfWords().fit_transform(iter(VERSES)).toarray(), expected)
    series = pd.Series(VERSES)
    np.testing.assert_array_equal(BagOfWords().fit_transform(series).toarray(), expected)
    with pytest.raises(ValueError, match=r"document 1 \(counted from 0\).*decode"):
        BagOfWords().fit([b"fine", b"\xff\xfe"])


def test_unicode():
    documents = ["Straße Übermut naïve", "東京 大阪 東京", "🌹 rose Ωμέγα", "ÜBERMUT übermut"]
    bag = BagOfWords(min_count=2).fit(documents)
    assert bag.get_feature_names_out().tolist() == ["übermut", "東京", "<unk>"]
    assert bag.transform(["東京 😀 京都"]).toarray().tolist() == [[0, 1, 1]]


def test_a_word_like_the_unknown():
    bag = BagOfWords(unknown="rose").fit(VERSES)
    assert list(bag.vocabulary_).count("rose") == 1
    assert bag.transform(["rose is tulip"]).toarray()[0, bag.vocabulary_["rose"]] == 2


# --- the vocabulary's algebra -------------------------------------------------------------------


def same(one, other):
    assert one.vocabulary_ == other.vocabulary_
    assert one.statistics_.count == other.statistics_.count
    for name in ("words", "occurrences", "documents"):
        a, b = getattr(one.statistics_, name), getattr(other.statistics_, name)
        np.testing.assert_array_equal(a, b)


def test_update_merge_forget():
    whole = BagOfWords(min_count=2).fit(VERSES)
    first, rest = (BagOfWords(min_count=2).fit(part) for part in (VERSES[:3], VERSES[3:]))
    same(first + rest, whole)
    same(sum([rest, first]), whole)
    same(suffice.merge(first, rest), whole)
    same(BagOfWords(min_count=2).update(VERSES[:3]).partial_fit(VERSES[3:]), whole)
    same(clone(whole).fit(VERSES).forget(VERSES[3:]), first)
    assert (first + rest).trace_.step == ("merge",)
    # A word that is rare in each part is not rare in both.
    assert "drew" not in BagOfWords(min_count=2).fit(VERSES[:4]).vocabulary_
    assert "drew" in whole.vocabulary_


def test_what_was_not_learned_cannot_be_forgotten():
    bag = BagOfWords().fit(VERSES)
    before = bag.statistics_
    for documents in (["tulip"], ["rose rose"], ["rose"] * 9):
        with pytest.raises(ValueError, match="part of"):
            bag.forget(documents)
    with pytest.raises(ValueError, match=r"no row would stay|no documents"):
        bag.forget(VERSES)
    with pytest.raises(ValueError, match="accepted are strings"):
        bag.update(["fine", 3])
    assert bag.statistics_ is before


def test_refit_needs_no_documents():
    bag = BagOfWords().fit(VERSES)
    for parameters in (
        {"min_count": 2},
        {"unknown": None},
        {"max_features": 3},
        {"vocabulary": ["rose"]},
    ):
        same(clone(bag).fit(VERSES).refit(**parameters), BagOfWords(**parameters).fit(VERSES))
    with pytest.raises(ValueError, match="ngram_range"):
        bag.refit(ngram_range=(1, 2))


def test_different_parameters_do_not_merge():
    with pytest.raises(ValueError, match="min_count=1"):
        BagOfWords().fit(VERSES) + BagOfWords(min_count=2).fit(VERSES)
    with pytest.raises(ValueError, match="only models of one kind"):
        suffice.merge(BagOfWords().fit(VERSES), suffice.Ridge().fit([[1.0], [2.0]], [1.0, 2.0]))


def test_weights_are_repetitions():
    weight = [1, 2, 0, 3, 1, 0, 1]
    repeated = [verse for verse, n in zip(VERSES, weight, strict=True) for _ in range(n)]
    same(BagOfWords().fit(VERSES, sample_weight=weight), BagOfWords().fit(repeated))
    for bad in ([0.5] * 7, [-1] * 7, [[1]] * 7):
        with pytest.raises(ValueError, match="whole numbers"):
            BagOfWords().fit(VERSES, sample_weight=bad)
    for n in (6, 8):
        with pytest.raises(ValueError, match="not as many documents"):
            BagOfWords().fit(VERSES, sample_weight=[1] * n)


# --- scikit-learn's conventions -----------------------------------------------------------------


def test_clone_pickle_save(tmp_path):
    bag = BagOfWords(min_count=2, stop_words=["the"]).fit(VERSES)
    assert clone(bag).get_params() == bag.get_params()
    expected = bag.transform(NEW).toarray()
    copied = pickle.loads(pickle.dumps(bag))
    bag.save(tmp_path / "bag")
    loaded = suffice.load(tmp_path / "bag")
    for model in (copied, loaded):
        np.testing.assert_array_equal(model.transform(NEW).toarray(), expected)
        same(model, bag)
        same(model.update(["rose"]), clone(bag).fit([*VERSES, "rose"]))
    assert type(loaded) is BagOfWords
    assert suffice.catalogue.find("BagOfWords") is BagOfWords  # whoever loads need not import it
    with pytest.raises(TypeError, match="tokenizer"):
        BagOfWords(tokenizer=str.split, token_pattern=None).fit(VERSES).save(tmp_path / "other")
    with pytest.raises(NotFittedError):
        BagOfWords().save(tmp_path / "other")


@pytest.mark.parametrize(
    "vocabulary",
    [["rose"], {"rose": 0}, {"rose": 0, "<unk>": 0}, {"<unk>": 0, "rose": 1}, {1: 0, "<unk>": 1}],
    ids=str,
)
def test_forged_vocabularies(tmp_path, vocabulary):
    bag = BagOfWords().fit(VERSES)
    bag.vocabulary_ = vocabulary
    bag.save(tmp_path / "bag")
    with pytest.raises(ValueError, match="its vocabulary"):
        suffice.load(tmp_path / "bag")


def test_frames():
    bag = BagOfWords(min_count=2, sparse_output=False).set_output(transform="pandas")
    frame = bag.fit_transform(VERSES)
    assert frame.columns.tolist() == bag.get_feature_names_out().tolist()
    pd.testing.assert_frame_equal(bag.transform(VERSES), frame)
    with pytest.raises(ValueError, match="sparse"):
        bag.set_params(sparse_output=True).transform(VERSES)


def test_in_pipelines_and_searches():
    y = np.array([0, 0, 1, 1, 0, 1, 0])
    model = make_pipeline(BagOfWords(), MultinomialNB())
    search = GridSearchCV(model, {"bagofwords__min_count": [1, 2]}, cv=3).fit(VERSES, y)
    assert search.predict(NEW).shape == (3,)
    assert model.fit(VERSES, y).n_features_in_ == 1


def test_ties_go_by_the_alphabet():
    bag = BagOfWords(max_features=2).fit(["cherry banana apple date"])
    assert list(bag.vocabulary_) == ["apple", "banana", "<unk>"]


def test_parameters_changed_after_a_fit_leave_it_alone():
    bag = BagOfWords(min_count=2).fit(VERSES)
    expected = bag.transform(NEW).toarray()
    for parameters in ({"unknown": None}, {"unknown": "other"}, {"min_count": 9}):
        np.testing.assert_array_equal(
            bag.set_params(**parameters).transform(NEW).toarray(), expected
        )


def test_a_given_vocabulary_needs_no_fit():
    bag = BagOfWords(vocabulary=["rose", "tulip"])
    assert bag.transform(["rose and tulip and rose"]).toarray().tolist() == [[2, 1, 2]]
    assert bag.get_feature_names_out().tolist() == ["rose", "tulip", "<unk>"]
    assert not hasattr(bag, "vocabulary_")


def test_certificate_and_trace():
    bag = BagOfWords().fit(VERSES).fit(VERSES[:3])
    assert bag.certificate_.holds
    assert "3 documents" in bag.certificate_.claim
    assert bag.trace_.step == ("fit",)


# --- bad input ----------------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(ValueError, match="string object received"):
        BagOfWords().fit("one document")
    with pytest.raises(ValueError, match="int received"):
        BagOfWords().fit(3)
    with pytest.raises(ValueError, match="string object received"):
        BagOfWords().fit(VERSES).transform("one document")
    with pytest.raises(
        ValueError, match=r"document 1 \(counted from 0\): a document is of type int"
    ):
        BagOfWords().fit(["fine", 3])
    with pytest.raises(ValueError, match="a document is NaN"):
        BagOfWords().fit(["fine", np.nan])
    with pytest.raises(ValueError, match="no documents"):
        BagOfWords().fit([])
    with pytest.raises(ValueError, match="empty vocabulary"):
        BagOfWords().fit(["", "  "])
    with pytest.raises(ValueError, match="empty vocabulary"):
        BagOfWords(stop_words="english").fit(["the of and"])
    with pytest.raises(ValueError, match="no terms remain"):
        BagOfWords(min_count=100).fit(VERSES)
    with pytest.raises(ValueError, match="max_df corresponds to < documents than min_df"):
        BagOfWords(min_df=5, max_df=2).fit(VERSES)
    with pytest.raises(NotFittedError):
        BagOfWords().transform(VERSES)
    with pytest.raises(NotFittedError):
        BagOfWords().get_feature_names_out()
    for parameters in (
        {"min_count": 0},
        {"unknown": 3},
        {"analyzer": "letters"},
        {"max_df": 1.5},
        {"vocabulary": 3},
        {"ngram_range": (2, 1)},
    ):
        with pytest.raises((InvalidParameterError, ValueError), match=next(iter(parameters))):
            BagOfWords(**parameters).fit(VERSES)
    with pytest.raises(ValueError, match="stands for all other words"):
        BagOfWords(vocabulary=["rose", "<unk>"]).fit(VERSES)
    with pytest.raises(ValueError, match="each once"):
        BagOfWords(vocabulary={"rose": 0, "red": 2}).fit(VERSES)
    with pytest.raises(ValueError, match="a word twice"):
        BagOfWords(vocabulary=["rose", "rose"]).fit(VERSES)
    with pytest.raises(ValueError, match="empty vocabulary"):
        BagOfWords(vocabulary=[]).fit(VERSES)
    with pytest.raises(ValueError, match="X has 2 columns"):
        BagOfWords().fit(VERSES).inverse_transform([[1, 2]])


def test_a_failed_fit_changes_nothing():
    bag = BagOfWords().fit(VERSES)
    before = dict(vars(bag))
    for documents in ([], ["fine", 3]):
        for method in (bag.fit, bag.fit_transform, bag.update):
            if method == bag.update and not documents:
                continue
            with pytest.raises(ValueError):
                method(documents)
            assert vars(bag) == before


# --- what a hostile user tries ------------------------------------------------------------------


def test_how_documents_are_taken_apart_is_that_of_the_fit():
    bag = BagOfWords().fit(VERSES)
    before = bag.transform(NEW).toarray()
    bag.set_params(lowercase=False, ngram_range=(2, 2))
    np.testing.assert_array_equal(bag.transform(NEW).toarray(), before)
    bag.update(NEW)
    assert bag.vocabulary_ == BagOfWords().fit(VERSES + NEW).vocabulary_
    again = pickle.loads(pickle.dumps(bag))
    assert again.forget(NEW).vocabulary_ == BagOfWords().fit(VERSES).vocabulary_
    bag.fit(VERSES)
    assert (
        bag.vocabulary_ == BagOfWords(lowercase=False, ngram_range=(2, 2)).fit(VERSES).vocabulary_
    )


def test_words_and_pairs_of_words_do_not_merge_under_one_name(tmp_path):
    words, pairs = BagOfWords().fit(VERSES), BagOfWords(ngram_range=(2, 2)).fit(VERSES)
    words.set_params(ngram_range=(2, 2))
    with pytest.raises(ValueError, match=r"ngram_range=\(1, 1\) and ngram_range=\(2, 2\)"):
        words + pairs
    words.save(tmp_path / "words.sfc")
    loaded = suffice.load(tmp_path / "words.sfc")
    np.testing.assert_array_equal(
        loaded.transform(NEW).toarray(), BagOfWords().fit(VERSES).transform(NEW).toarray()
    )


def test_the_words_of_a_matrix_leave_it_as_it_was():
    bag = BagOfWords(vocabulary=["rose", "thou", "you"], unknown=None).fit(VERSES)
    X = sparse.csr_array((np.array([0, 2]), np.array([2, 1]), np.array([0, 2])), shape=(1, 3))
    assert [words.tolist() for words in bag.inverse_transform(X)] == [["thou"]]
    assert X.data.tolist() == [0, 2]
    assert X.indices.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("parameters", "documents", "weight", "message"),
    [
        ({}, pd.DataFrame({"text": VERSES}), None, "in a data frame"),
        ({}, pd.Series(["a rose", None], dtype="string"), None, "document 1 .* NAType"),
        ({}, VERSES, [np.inf] * 7, r"more than 2\^53"),
        ({}, VERSES, [1e19] * 7, r"more than 2\^53"),
        ({}, VERSES, "seldom", "whole numbers"),
        ({"vocabulary": "rose"}, VERSES, None, "a list of words"),
        ({"vocabulary": {"rose": 0, "red": "1"}}, VERSES, None, "columns from 0 to 1"),
        ({"ngram_range": (1, 2, 3)}, VERSES, None, "two whole numbers"),
        ({"ngram_range": (1, "2")}, VERSES, None, "two whole numbers"),
    ],
)
def test_more_that_is_refused(parameters, documents, weight, message):
    with pytest.raises(ValueError, match=message):
        BagOfWords(**parameters).fit(documents, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        BagOfWords(**parameters).fit_transform(documents, sample_weight=weight)


@pytest.mark.parametrize("dense", [False, True])
def test_counts_do_not_wrap_around(dense):
    documents = ["a rose", "rose " * 128 + "red"]
    bag = BagOfWords(dtype=np.int8, sparse_output=not dense)
    message = "occurs 128 times in document 1 .* dtype=int8 cannot hold"
    with pytest.raises(ValueError, match=message):
        bag.fit_transform(documents)
    assert not hasattr(bag, "vocabulary_")
    with pytest.raises(ValueError, match=message):
        bag.fit(documents).transform(documents)
    for dtype in (np.uint8, np.int16, np.float32):
        found = BagOfWords(dtype=dtype).fit_transform(documents)
        assert found.dtype == dtype
        assert found.toarray().tolist() == [[0, 1, 0], [1, 128, 0]]
    known = BagOfWords(dtype=np.int8).fit(documents)
    assert known.transform(["rose " * 127]).toarray().tolist() == [[0, 127, 0]]
    assert BagOfWords(dtype=np.int8, binary=True).fit_transform(documents).max() == 1
    assert BagOfWords(dtype=bool).fit_transform(documents).toarray()[1].tolist() == [1, 1, 0]


def test_one_row_of_counts_is_no_matrix():
    bag = BagOfWords().fit(VERSES)
    with pytest.raises(ValueError, match="in 1 dimensions"):
        bag.inverse_transform(np.ones(len(bag.vocabulary_)))
