"""Columns of an ordinary file made ready for a model, by rules that `docs/command-line.md` states.

Numbers       missing cells get the column's mean, unless the model takes them as they are
text          a column of zeros and ones for each value, a missing cell being a value of its own,
              unless the model takes text as it is; without the first value where the model has no
              penalty, for its column would follow from the others
left out      what numbers the rows, columns without a value, text that is always the same, and
              text with more than 50 values or with more than half as many as there are rows

What was learned is a `ColumnTransformer` in front of the model; where nothing had to be done, there
is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.cli.inventory import ColumnNames, Inventory
from suffice.preprocessing import ColumnTransformer, OneHotEncoder, SimpleImputer
from suffice.sources import Columns, Source
from suffice.statistics.counts.distinct import locate
from suffice.statistics.counts.values import ValueCounts

MOST_LEVELS = 50
NUMBERS, TEXT = "numbers", "text"
ROW_NAMES = {"unnamed: 0", "rownames", "row.names", "row_names", ""}
NO_PENALTY = {
    "LinearRegression", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
}  # fmt: skip


def useless_columns(names: Sequence[str], found: Inventory) -> dict[str, str]:
    """Those of some columns that say nothing about other rows, each with the reason."""
    useless: dict[str, str] = {}
    is_counter = found.counts_from in (0, 1) and len(names) > 1
    if names[0].lower() in ROW_NAMES or is_counter:
        useless[names[0]] = "it numbers the rows"
    for name, missing in found.missing().items():
        if missing == found.count:
            useless.setdefault(name, "it holds no value")
    for name, counts in found.counts().items():
        levels = MOST_LEVELS + 1 if counts is None else len(counts.values[0])
        if levels > MOST_LEVELS:
            useless.setdefault(name, f"text with more than {MOST_LEVELS} values")
        elif levels > max(found.count / 2, 1):
            useless.setdefault(name, f"text with {levels} values in {found.count} rows")
        elif levels == 1:
            empty = counts is not None and counts.values[0][0] is None
            useless.setdefault(name, "it holds no value" if empty else "always the same text")
    return useless


def preparation(model: Any, source: Source, found: Inventory) -> ColumnTransformer | None:
    """What makes the columns of a source ready for a model; None if they are.

    Parameters
    ----------
    model : estimator
    source : Source
        Of the columns that the model is to learn from.
    found : Inventory
        Of these columns, and maybe others.
    """
    columns = ColumnNames.of(source, np.inf)
    fills = not model._takes_missing() and any(found.missing()[name] for name in columns.numbers)
    encodes = bool(columns.texts) and not model._takes_text
    if not (fills or encodes):
        return None
    imputer = "passthrough" if model._takes_missing() else SimpleImputer()
    drop = "first" if has_no_penalty(model) else None
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop=drop)
    parts = [(NUMBERS, imputer, list(columns.numbers))] if columns.numbers else []
    if columns.texts:
        parts.append((TEXT, encoder if encodes else "passthrough", list(columns.texts)))
    prepared = ColumnTransformer(parts, verbose_feature_names_out=False)
    known = {NUMBERS: found.of_numbers(columns.numbers), TEXT: found.of_texts(columns.texts)}
    prepared._fit_source(source, statistics=known)
    try:
        prepared.get_feature_names_out()
    except ValueError:  # a column's name with a value of it is the name of another column
        prepared.set_params(verbose_feature_names_out=True)
    return prepared


def has_no_penalty(model: Any) -> bool:
    """Whether columns that follow from each other leave a model's solution open."""
    if type(model).__name__ in NO_PENALTY:
        return True
    given = model.get_params(deep=False)
    linear = type(model).__module__.startswith("suffice.linear.")
    return linear and (
        given.get("alpha") == 0 or given.get("C") == np.inf or given.get("penalty", 0) is None
    )


def differ(a: Any, b: Any) -> str | None:
    """In what two preparations differ; None if the same row becomes the same numbers in both."""
    if a is None or b is None:
        return None if a is b else "one of them has none"
    if not (isinstance(a, ColumnTransformer) and isinstance(b, ColumnTransformer)):
        return "by transformers that cannot be compared"
    if a.feature_names_in_.tolist() != b.feature_names_in_.tolist():
        return "the columns"
    if a.get_feature_names_out().tolist() != b.get_feature_names_out().tolist():
        return "the values of the text columns"
    one, other = (which.named_transformers_.get(NUMBERS) for which in (a, b))
    if isinstance(one, SimpleImputer) and isinstance(other, SimpleImputer):
        # What would have been filled in matters only where it was.
        places = sorted({*one._with_missing, *other._with_missing})
        if not np.array_equal(one.statistics_[places], other.statistics_[places]):
            return "the means that missing cells got"
    return None


class Unseen:
    """How many cells of each text column hold values that a fit did not see."""

    def __init__(self, prepared: Any) -> None:
        self.known: list[tuple[str, int, NDArray[Any]]] = []
        self.counts_as: list[str] = []
        is_ours = isinstance(prepared, ColumnTransformer)
        encoder = prepared.named_transformers_.get(TEXT) if is_ours else None
        if isinstance(encoder, OneHotEncoder):
            names = prepared.feature_names_in_.tolist()
            self.known = [
                (name, names.index(name), values)
                for name, values in zip(encoder.feature_names_in_, encoder._known, strict=True)
            ]
            self.counts_as = ["none of the known ones"] * len(self.known)
            if encoder.drop_idx_ is not None:  # no column stands for it: zeros mean this value
                first = zip(encoder.categories_, encoder.drop_idx_, strict=True)
                self.counts_as = [f"the reference level {values[i]!r}" for values, i in first]
        self.cells = np.zeros(len(self.known), np.int64)

    def count(self, X: Columns) -> NDArray[np.int64]:
        """Of some rows."""
        strange = [np.sum(locate(X.column(j), values) < 0) for _, j, values in self.known]
        return np.array(strange, np.int64)

    def of_counts(self, counts: Mapping[str, ValueCounts | None]) -> NDArray[np.int64]:
        """Of all rows, of whose values it is known how often each occurs."""
        found = [(counts.get(name), values) for name, _, values in self.known]
        strange = [one.counts[0][locate(one.values[0], v) < 0].sum() for one, v in found if one]
        return np.array(strange, np.int64)

    def add(self, cells: NDArray[np.int64]) -> None:
        """Count them in."""
        self.cells += cells

    def lines(self) -> list[str]:
        """One for each column that has any."""
        return [
            f"cells of column {name!r} with values that the fit did not see, which count as "
            f"{what}: {n:,}"
            for (name, _, _), what, n in zip(
                self.known, self.counts_as, self.cells.tolist(), strict=True
            )
            if n
        ]
