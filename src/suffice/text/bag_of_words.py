"""A bag of words, with a word for all that are unknown.

    xᵢⱼ = how often word j occurs in document i;     the last column: how often any other word

Nothing was learned about a word that is first seen when a model predicts, and leaving it out hides
that it was there.  So rare words, those that occur fewer than `min_count` times among the documents
of the fit, are counted as one word, the unknown one; and so are words that come later.  What was
learned about rare words then speaks for new ones.

The counts of words (`WordCounts`) are sufficient for the vocabulary.  They merge and subtract, so
that a vocabulary can grow with a stream, be put together from parts, and forget.

Documents are taken apart by scikit-learn's `CountVectorizer`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from suffice.fitting.all_or_nothing import all_or_nothing
from suffice.fitting.certificate import Certificate
from suffice.fitting.files.registry import register, register_model
from suffice.fitting.merging_models import same_value
from suffice.fitting.one_pass import OnePass, Solved
from suffice.sources import Block
from suffice.statistics.counts.words import WordCounts
from suffice.statistics.moments.full import Precision
from suffice.text.vocabulary import chosen_words, given_words
from suffice.text.words import analyzed, analyzer_of, collected, counted, moved

register(WordCounts)

OF_SCIKIT_LEARN = tuple(inspect.signature(CountVectorizer).parameters)
"""The parameters of `CountVectorizer`, all of which `BagOfWords` has."""

MOST_WEIGHT = 1 << 53
"""How often all documents together may count."""


@register_model
class BagOfWords(TransformerMixin, OnePass):
    """Counts of words, rare and new ones counted as one unknown word.

    Parameters
    ----------
    unknown : str or None, default="<unk>"
        What the column of unknown words is called.  None leaves them out.
    min_count : int, default=1
        Words that occur less often in the fit are unknown.
    sparse_output : bool, default=True
        Whether to give CSR arrays; dense ones are needed for frames (`set_output`).
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, stop_words,
    token_pattern, ngram_range, analyzer, max_df, min_df, max_features, vocabulary, binary, dtype
        As of scikit-learn's `CountVectorizer`.  Words that `min_df`, `max_df` and `max_features`
        leave out are unknown, and so are all outside a given `vocabulary`; stop words are no
        words at all.  A count that `dtype` cannot hold, such as 128 as int8, is an error and not
        wrapped around, as it is by `CountVectorizer`; booleans say whether a word occurs.

    Attributes
    ----------
    vocabulary_ : dict from str to int
        The column of each word; the unknown word is in the last.
    unknown_column_ : int or None
        That column; None if unknown words are left out.
    statistics_ : WordCounts
    certificate_ : Certificate
    trace_ : Trace

    Examples
    --------
    >>> from suffice.text import BagOfWords
    >>> bag = BagOfWords(min_count=2)
    >>> bag.fit_transform(["a rose is a rose", "a daisy is a daisy too"]).toarray()
    array([[0, 1, 2, 0],
           [2, 1, 0, 1]])
    >>> bag.get_feature_names_out().tolist()
    ['daisy', 'is', 'rose', '<unk>']
    >>> bag.transform(["my daisy is no orchid"]).toarray()
    array([[1, 1, 0, 3]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CountVectorizer._parameter_constraints,
        "unknown": [str, None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "sparse_output": ["boolean"],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "unknown",
        "min_count",
        "max_df",
        "min_df",
        "max_features",
        "vocabulary",
        "binary",
        "sparse_output",
        "dtype",
    )
    exact = True
    """Whole numbers lose nothing in any precision."""

    _saved_private = ("_analysis",)
    _analysis: dict[str, Any]
    """How the documents of the fit were taken apart: those that follow are, the same way."""

    n_features_in_ = 1
    """One column, of text."""

    def __init__(
        self,
        unknown: str | None = "<unk>",
        min_count: int = 1,
        *,
        sparse_output: bool = True,
        input: str = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Callable[..., Any] | None = None,
        tokenizer: Callable[..., Any] | None = None,
        stop_words: Any = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Any = "word",
        max_df: Any = 1.0,
        min_df: Any = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: Any = np.int64,
    ) -> None:
        self.unknown = unknown
        self.min_count = min_count
        self.sparse_output = sparse_output
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be a fitted vocabulary."""
        words = vars(self).get("vocabulary_")
        if words is None:
            return
        if not isinstance(words, dict) or not all(type(word) is str for word in words):
            raise ValueError("its vocabulary is not of words")
        if sorted(map(str, words.values())) != sorted(map(str, range(len(words)))):
            raise ValueError("its vocabulary does not number its words")
        if vars(self).get("unknown_column_") not in (None, len(words) - 1):
            raise ValueError("its vocabulary does not end with the unknown word")
        analysis = vars(self).get("_analysis")
        if not isinstance(analysis, dict) or set(analysis) != set(self._asked_analysis()):
            raise ValueError("it does not say how documents are taken apart")
        CountVectorizer(**analysis)._validate_params()

    # --- fitting --------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of str
            Documents; of files or their names with `input="file"` and `"filename"`.
        y : ignored
        sample_weight : array of shape (documents,), optional
            How often each document counts: whole numbers.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self._validate_params()
        self._analysis = self._asked_analysis()
        return self._adopt(self._statistic_of((X, sample_weight), "double-double"), began)

    @all_or_nothing
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the vocabulary, and count its words; each document is taken apart once.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`

        Returns
        -------
        As of `transform`.
        """
        began = time.perf_counter()
        self._validate_params()
        self._analysis = self._asked_analysis()
        words, counts = collected(self._taken_apart(X))
        self._adopt(WordCounts.of_table(words, counts, _checked_weight(sample_weight)), began)
        places = [self.vocabulary_.get(word, self.unknown_column_) for word in words]
        return self._as_asked(moved(counts, places, len(self.vocabulary_)))

    def _adopt(self, statistic: WordCounts, began: float) -> Self:
        self.__dict__.pop("trace_", None)
        self._resolve("fit", statistic, began)
        return self

    def _training_source(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Any:
        return X, sample_weight

    def _statistic_of(self, source: Any, precision: str) -> WordCounts:
        X, weight = source
        return WordCounts.summarize(self._taken_apart(X), _checked_weight(weight))

    def _solve(self, counts: WordCounts, final: bool) -> Solved:
        if self.vocabulary is not None:
            words = given_words(self.vocabulary, self.unknown)
        else:
            words = chosen_words(
                counts,
                unknown=self.unknown,
                min_count=self.min_count,
                min_df=self.min_df,
                max_df=self.max_df,
                max_features=self.max_features,
                binary=self.binary,
            )
        self.vocabulary_ = words
        self.unknown_column_ = None if self.unknown is None else words[self.unknown]
        known = f"{len(words) - (self.unknown is not None)} words"
        claim = f"the occurrences of all words in {counts.count} documents, of which {known} stay"
        return Solved(Certificate(True, claim, "whole numbers, added up"), float("nan"))

    # --- what a model that keeps its statistic is asked --------------------------------------

    def _join(self, models: Sequence[Self]) -> None:
        # The words of all must be words of the same kind.
        for name, value in models[0]._analysis.items():
            for theirs in (other._analysis[name] for other in models[1:]):
                if not same_value(value, theirs):
                    raise ValueError(
                        f"cannot merge vocabularies fitted with {name}={value!r} and "
                        f"{name}={theirs!r}: fit both with one"
                    )

    def _summarize(self, block: Block, precision: Precision) -> WordCounts:
        raise TypeError("BagOfWords learns from documents, and not from rows")

    def _asked_analysis(self) -> dict[str, Any]:
        """The parameters that say how documents are taken apart."""
        mine = self.get_params(deep=False)
        return {name: mine[name] for name in OF_SCIKIT_LEARN if name not in self._refit_parameters}

    def _taken_apart(self, X: Any) -> Iterator[Iterable[str]]:
        """The words of each document, found as in the fit."""
        return analyzed(X, analyzer_of(vars(self).get("_analysis") or self._asked_analysis()))

    # --- counting -------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Count the words of the vocabulary, and the unknown ones.

        Parameters
        ----------
        X : iterable of str

        Returns
        -------
        csr_array of shape (documents, words), or a dense array with `sparse_output=False`
        """
        known, other = self._known()
        return self._as_asked(counted(self._taken_apart(X), known, other))

    def inverse_transform(self, X: Any) -> list[NDArray[Any]]:
        """The words that occur in each document, in the order of the columns.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
        """
        names = self.get_feature_names_out()
        rows = sparse.csr_array(X, copy=True)
        if rows.shape[1:] != (len(names),):
            raise ValueError(
                f"X has {rows.shape[-1]} columns in {rows.ndim} dimensions, and the vocabulary "
                f"{len(names)} words: accepted are arrays of shape (documents, words)"
            )
        rows.sort_indices()
        rows.eliminate_zeros()
        return [
            names[rows.indices[a:b]] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The words, in the order of the columns; `input_features` is ignored."""
        known, _ = self._known()
        names = np.empty(len(known), dtype=object)
        for word, j in known.items():
            names[j] = word
        return names

    def _known(self) -> tuple[dict[str, int], int | None]:
        """The vocabulary, learned or else given, and the column of unknown words."""
        if self.vocabulary is not None and not hasattr(self, "vocabulary_"):
            given = given_words(self.vocabulary, self.unknown)
            return given, None if self.unknown is None else given[self.unknown]
        check_is_fitted(self, "vocabulary_")
        return self.vocabulary_, self.unknown_column_

    def _as_asked(self, counts: sparse.csr_array) -> Any:
        if self.binary:
            counts.data[:] = 1
        cast = _cast(counts, self.dtype)
        return cast if self.sparse_output else cast.toarray()


def _cast(counts: sparse.csr_array, dtype: Any) -> sparse.csr_array:
    """The counts in another type.

    Raises
    ------
    ValueError
        If one of them is no number of that type.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        cast = counts.astype(dtype)
    changed = cast.data != counts.data
    if cast.dtype.kind != "b" and np.any(changed):
        at = int(np.argmax(changed))
        row = int(np.searchsorted(counts.indptr, at, side="right")) - 1
        raise ValueError(
            f"a word occurs {counts.data[at]} times in document {row} (counted from 0), which "
            f"dtype={cast.dtype} cannot hold: take a wider type, such as int64"
        )
    return cast


def _checked_weight(weight: Any) -> Sequence[Any] | None:
    if weight is None:
        return None
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1 or not ((values >= 0) & (np.trunc(values) == values)).all():
        raise ValueError("sample_weight must hold whole numbers: how often each document counts")
    if values.sum() > MOST_WEIGHT:
        raise ValueError("sample_weight adds up to more than 2^53 documents: make weights smaller")
    whole: list[int] = values.astype(np.int64).tolist()
    return whole
