"""Races of vectorisers on documents in memory."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row

DOCUMENTS, WORDS, LENGTH = 10_000, 30_000, 80


def documents(options: Options) -> tuple[NDArray[Any], None]:
    """Documents of 80 words each, as frequent as Zipf's law has it; one column of text."""
    n = DOCUMENTS // 10 if options.quick else DOCUMENTS
    rng = np.random.default_rng(12)
    shares = 1.0 / np.arange(1, WORDS + 1)
    codes = rng.choice(WORDS, size=(n, LENGTH), p=shares / shares.sum())
    words = np.array([f"w{code:05d}" for code in range(WORDS)], dtype=object)
    texts = [" ".join(words[row]) for row in codes]
    return np.array(texts, dtype=object)[:, None], None


def counts(X: NDArray[Any], vectorizer: Any) -> Answer:
    """How often each word occurs in all documents."""
    table = vectorizer.fit_transform(X[:, 0])
    return np.asarray(table.sum(axis=0), dtype=np.float64).ravel()


def ours(X: NDArray[Any], y: None) -> Answer:
    text = importlib.import_module("suffice.text")
    return counts(X, text.BagOfWords())[:-1]  # every word is known: the last column is empty


def sklearn(X: NDArray[Any], y: None) -> Answer:
    text = importlib.import_module("sklearn.feature_extraction.text")
    return counts(X, text.CountVectorizer())


ROWS: tuple[Row, ...] = (
    Race(
        "BagOfWords().fit_transform, documents of 80 words",
        documents,
        ours,
        {"scikit-learn CountVectorizer": sklearn},
        Bar(1),
        reference="scikit-learn CountVectorizer",
        rounds=5,
    ),
)
