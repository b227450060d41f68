"""How often each word occurs, and in how many documents.

    n_w = Σ occurrences of w,      d_w = documents in which w occurs

The words are a sorted map, so that new ones may appear at any time.  Whole numbers add up and
subtract without loss: forgotten documents leave nothing behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.statistics.base import Precision
from suffice.statistics.counts.labels import as_objects


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Occurrences of words in documents, mergeable and subtractable.

    Attributes
    ----------
    count : int
        Documents.
    words : object array of shape (words,)
        Sorted.
    occurrences, documents : int64 arrays of shape (words,)
        How often each word occurs, and in how many documents; at least 1.

    Examples
    --------
    >>> counts = WordCounts.summarize([["to", "be", "or", "not", "to", "be"], ["to", "do"]])
    >>> counts.words.tolist(), counts.occurrences.tolist(), counts.documents.tolist()
    (['be', 'do', 'not', 'or', 'to'], [2, 1, 1, 1, 3], [1, 1, 1, 1, 2])
    """

    count: int
    words: NDArray[Any]
    occurrences: NDArray[np.int64]
    documents: NDArray[np.int64]

    @classmethod
    def zero(cls) -> WordCounts:
        """The counts of no documents."""
        return cls(0, np.empty(0, dtype=object), np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def summarize(
        cls, documents: Iterable[Iterable[str]], weight: Sequence[Any] | None = None
    ) -> WordCounts:
        """The counts of documents.

        Parameters
        ----------
        documents : iterable of iterables of str
            The words of each document.
        weight : sequence of whole numbers, optional
            How often each document occurs.
        """
        occurrences: Counter[str] = Counter()
        in_documents: Counter[str] = Counter()
        n = i = 0
        for i, words in enumerate(documents, start=1):
            if weight is not None and i > len(weight):
                break
            times = 1 if weight is None else int(weight[i - 1])
            if times == 0:
                continue
            found = Counter(words)
            if times == 1:
                occurrences.update(found)
                in_documents.update(found.keys())
            else:
                occurrences.update({word: times * number for word, number in found.items()})
                in_documents.update(dict.fromkeys(found, times))
            n += times
        if weight is not None and i != len(weight):
            raise ValueError(f"there are {len(weight)} weights, and not as many documents")
        words = sorted(occurrences)
        return cls(
            n,
            as_objects(words),
            np.array([occurrences[word] for word in words], dtype=np.int64),
            np.array([in_documents[word] for word in words], dtype=np.int64),
        )

    @classmethod
    def of_table(
        cls, words: Sequence[str], table: Any, weight: Sequence[Any] | None = None
    ) -> WordCounts:
        """The same from a table of counts.

        Parameters
        ----------
        words : sequence of str
            Different ones, in any order.
        table : csr_array of shape (documents, words)
            How often each occurs in each document, no zeros among the entries.
        weight : sequence of whole numbers, optional
        """
        times = (
            np.ones(table.shape[0], np.int64) if weight is None else np.asarray(weight, np.int64)
        )
        if len(times) != table.shape[0]:
            raise ValueError(f"there are {len(times)} weights, and not as many documents")
        of_entry = np.repeat(times, np.diff(table.indptr))
        occurrences, documents = np.zeros((2, len(words)), np.int64)
        np.add.at(occurrences, table.indices, of_entry * table.data)
        np.add.at(documents, table.indices, of_entry)
        order = sorted((j for j in range(len(words)) if documents[j]), key=words.__getitem__)
        return cls(
            int(times.sum()),
            as_objects([words[j] for j in order]),
            occurrences[order],
            documents[order],
        )

    @classmethod
    def merge(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """The counts of all documents of the parts together."""
        words = sorted(set().union(*(part.words.tolist() for part in parts)))
        place = {word: j for j, word in enumerate(words)}
        occurrences, documents = np.zeros((2, len(words)), np.int64)
        for part in parts:
            at = [place[word] for word in part.words.tolist()]
            occurrences[at] += part.occurrences
            documents[at] += part.documents
        return cls(sum(part.count for part in parts), as_objects(words), occurrences, documents)

    def subtract(self, part: WordCounts) -> WordCounts:
        """The counts of the documents that stay when those of `part` are taken away."""
        place = {word: j for j, word in enumerate(self.words.tolist())}
        strange = [word for word in part.words.tolist() if word not in place]
        if strange or part.count > self.count:
            found = f"the word {strange[0]!r}" if strange else f"{part.count} documents"
            raise ValueError(
                f"cannot take {found} away from {self.count} documents without it: only documents "
                "that are part of a statistic can be subtracted from it"
            )
        at = [place[word] for word in part.words.tolist()]
        occurrences, documents = self.occurrences.copy(), self.documents.copy()
        occurrences[at] -= part.occurrences
        documents[at] -= part.documents
        if (np.minimum(occurrences, documents) < 0).any() or (
            (occurrences > 0) != (documents > 0)
        ).any():
            raise ValueError(
                "fewer than no occurrences of a word would stay: these documents are not part of "
                "the statistic"
            )
        stay = documents > 0
        return WordCounts(
            self.count - part.count, self.words[stay], occurrences[stay], documents[stay]
        )

    _shapes = "words(words) occurrences(words) documents(words)"

    def _check_loaded(self) -> None:
        """Raise ValueError unless what a file holds could be counts of words."""
        if not all(type(word) is str for word in self.words.tolist()):
            raise ValueError("its words are not text")
        if (np.minimum(self.occurrences, self.documents) < 1).any():
            raise ValueError("its words occur nowhere")

    @property
    def precision(self) -> Precision:
        """Whole numbers lose nothing: as good as double-double."""
        return "double-double"

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take, and about what the words do."""
        return self.occurrences.nbytes + self.documents.nbytes + 64 * len(self.words)
