"""Documents as words: scikit-learn's analysis, and matrices of counts."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from suffice.fitting.categories import is_nan
from suffice.sources.memory.frames import is_frame

Analyzer = Callable[[Any], Iterable[str]]

NOWHERE = -1
"""The column of words that are left out."""

NOT_DOCUMENTS = "Iterable over raw text documents expected, {} received."


def analyzer_of(parameters: dict[str, Any]) -> Analyzer:
    """From a document to its words, as scikit-learn's `CountVectorizer` takes it apart."""
    vectorizer = CountVectorizer(**parameters)
    try:
        low, high = (index(end) for end in vectorizer.ngram_range)
    except (TypeError, ValueError):
        raise ValueError(
            f"ngram_range={vectorizer.ngram_range!r} is not supported: give two whole numbers"
        ) from None
    if low > high:
        raise ValueError(
            f"Invalid value for ngram_range=({low}, {high}) lower boundary larger than the upper "
            "boundary."
        )
    analyze: Analyzer = vectorizer.build_analyzer()
    # Callables of a user's may take what they like; else a document is text, or a file of text.
    plain = vectorizer.input == "content" and vectorizer.preprocessor is None
    if not plain or callable(vectorizer.analyzer):
        return analyze

    def checked(document: Any) -> Iterable[str]:
        if not isinstance(document, (str, bytes)):
            shown = "NaN" if is_nan(document) else f"of type {type(document).__name__}"
            raise ValueError(f"a document is {shown}; accepted are strings")
        return analyze(document)

    return checked


def analyzed(documents: Any, analyze: Analyzer) -> Iterator[Iterable[str]]:
    """The words of each document; an error says which document it is."""
    if isinstance(documents, (str, bytes)) or not hasattr(documents, "__iter__"):
        kind = "string object" if isinstance(documents, str) else type(documents).__name__
        raise ValueError(NOT_DOCUMENTS.format(kind))
    if is_frame(documents):
        raise ValueError(
            "documents are in a data frame, which may have several columns: pass the one of text"
        )
    for i, document in enumerate(documents):
        try:
            words = analyze(document)
        except ValueError as error:
            raise ValueError(f"document {i} (counted from 0): {error}") from error
        yield words


def counted(
    documents: Iterable[Iterable[str]], vocabulary: Mapping[str, int], unknown: int | None
) -> sparse.csr_array:
    """How often each word of a vocabulary occurs in each document.

    Parameters
    ----------
    documents : iterable of iterables of str
    vocabulary : mapping from word to column
    unknown : int, optional
        The column of all other words; by default they are left out.
    """
    other = repeat(NOWHERE if unknown is None else unknown)
    columns, ends = _columns(documents, lambda words: map(vocabulary.get, words, other))
    return _table(columns, np.ones_like(columns), ends, len(vocabulary))


def collected(documents: Iterable[Iterable[str]]) -> tuple[list[str], sparse.csr_array]:
    """All words in the order in which they first occur, and how often they do in each document."""
    seen: defaultdict[str, int] = defaultdict()
    seen.default_factory = seen.__len__  # a new word gets the next number
    columns, ends = _columns(documents, lambda words: map(seen.__getitem__, words))
    return list(seen), _table(columns, np.ones_like(columns), ends, len(seen))


def moved(counts: sparse.csr_array, places: Sequence[int | None], size: int) -> sparse.csr_array:
    """Columns moved to other places, and added up where these are the same; None is nowhere."""
    to = np.array([NOWHERE if place is None else place for place in places], dtype=np.int64)
    return _table(to[counts.indices], counts.data, counts.indptr, size)


def _columns(
    documents: Iterable[Iterable[str]], places: Callable[[Iterable[str]], Iterable[int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The columns of the words of all documents, and where each document ends."""
    columns, ends = array("q"), array("q", [0])
    for words in documents:
        columns.extend(places(words))
        ends.append(len(columns))
    return np.array(columns, dtype=np.int64), np.array(ends, dtype=np.int64)


def _table(columns: Any, numbers: Any, ends: Any, size: int) -> sparse.csr_array:
    """Entries as a matrix: those of one column added up, those that are nowhere left out."""
    stay = columns >= 0
    ends = np.concatenate([[0], np.cumsum(stay)])[ends]
    shape = (len(ends) - 1, size)
    out = sparse.csr_array((numbers[stay], columns[stay], ends), shape=shape)
    out.sum_duplicates()
    return out
