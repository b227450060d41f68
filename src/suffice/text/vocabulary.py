"""Which words have columns: chosen by how often they occur, or given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from suffice.statistics.counts.words import WordCounts


def chosen_words(
    counts: WordCounts,
    *,
    unknown: str | None,
    min_count: int,
    min_df: Any,
    max_df: Any,
    max_features: int | None,
    binary: bool,
) -> dict[str, int]:
    """The column of each word that stays, in the alphabet's order; see `BagOfWords`."""
    if not counts.count:
        raise ValueError("there are no documents to learn words from")
    if not len(counts.words):
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    # Whole numbers are documents, and others shares of them.
    low, high = (
        float(df) if isinstance(df, Integral) else df * counts.count for df in (min_df, max_df)
    )
    if high < low:
        raise ValueError("max_df corresponds to < documents than min_df")
    stay = (counts.documents <= high) & (counts.documents >= low)
    stay &= (counts.occurrences >= min_count) & (counts.words != unknown)
    chosen = np.flatnonzero(stay)
    if max_features is not None:
        often = counts.documents if binary else counts.occurrences
        order = np.argsort(-often[chosen], kind="stable")
        chosen = np.sort(chosen[order[:max_features]])
    if not len(chosen):
        raise ValueError(
            "After pruning, no terms remain. Try a lower min_count or min_df, or a higher max_df."
        )
    return with_unknown({word: j for j, word in enumerate(counts.words[chosen].tolist())}, unknown)


def given_words(
    vocabulary: Mapping[str, int] | Iterable[str], unknown: str | None
) -> dict[str, int]:
    """The column of each word of a vocabulary that a user names."""
    if isinstance(vocabulary, (str, bytes)):
        raise ValueError(f"vocabulary is {vocabulary!r}: give a list of words, or a mapping")
    if isinstance(vocabulary, Mapping):
        words = dict(vocabulary)
        whole = all(isinstance(column, Integral) for column in words.values())
        if not whole or sorted(words.values()) != list(range(len(words))):
            raise ValueError(
                f"vocabulary must map its {len(words)} words to the columns from 0 to "
                f"{len(words) - 1}, each once"
            )
    else:
        as_set = isinstance(vocabulary, (set, frozenset))
        listed = sorted(vocabulary, key=str) if as_set else list(vocabulary)
        words = {word: j for j, word in enumerate(listed)}
        if len(words) < len(listed):
            raise ValueError("vocabulary holds a word twice")
    if not words:
        raise ValueError("empty vocabulary passed to fit")
    if unknown in words:
        raise ValueError(
            f"vocabulary holds {unknown!r}, which stands for all other words: name them otherwise "
            "by unknown="
        )
    return with_unknown(words, unknown)


def with_unknown(words: dict[str, int], unknown: str | None) -> dict[str, int]:
    """The words, and the unknown one last."""
    return words if unknown is None else {**words, unknown: len(words)}
