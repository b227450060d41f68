"""One or more specimens of every statistic: how to make it from rows, and how to compare two.

A new statistic gets a specimen here; `test_every_statistic_has_a_specimen` insists.  The laws in
`test_laws.py` then hold for it, or fail.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from suffice import statistics
from suffice.sources import Columns
from suffice.statistics.by_group import Grouped
from suffice.statistics.counts.labelled import LabelledSums
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.counts.values import ValueCounts
from suffice.statistics.counts.values_by_class import ClassValueCounts
from suffice.statistics.counts.words import WordCounts
from suffice.statistics.curvature import Curvature, Derivatives
from suffice.statistics.exponential_family import SufficientSums
from suffice.statistics.extremes import Extremes
from suffice.statistics.moments.by_class import ClassMoments
from suffice.statistics.moments.columns import ColumnMoments
from suffice.statistics.moments.fourth import FourthMoments
from suffice.statistics.moments.full import Moments
from suffice.statistics.moments.labelled import LabelledMoments
from suffice.statistics.moments.pooled import PooledMoments
from suffice.statistics.moments.soft import SoftMoments
from suffice.statistics.observed import Observed
from suffice.statistics.residuals import LineAt, ResidualSums
from suffice.statistics.rows.weighted import WeightedRows
from suffice.statistics.rows.with_targets import RowsAndTargets, as_table
from suffice.statistics.side_by_side import SideBySide
from suffice.statistics.sums import Sums
from tests.numerics.rational import U, exactly
from tests.statistics.rows import Rows, mean_of, rows


@dataclasses.dataclass(frozen=True)
class Specimen:
    """A statistic in one of its forms.

    Attributes
    ----------
    name : str
    statistic : type
    rows : strategy
        Rows, with weights or without, to make it from.
    summarize : callable
        From rows to the statistic.
    zero : callable
        From the number of columns to the statistic of no rows.
    agree : callable
        Fails unless two could be the same, within the errors that they admit; without
        errors, unless they are equal.  How many rows there were is not compared.
    hands_on : bool
        Whether a merge may hand on, as it is, what only one part has: nothing writes to it.
    """

    name: str
    statistic: type
    rows: st.SearchStrategy[Rows]
    summarize: Callable[[Rows], Any]
    zero: Callable[[int], Any]
    agree: Callable[[Any, Any], None]
    hands_on: bool = False

    @property
    def subtracts(self) -> bool:
        return hasattr(self.statistic, "subtract")

    def __str__(self) -> str:
        return self.name


# --- any statistic -------------------------------------------------------------------------


def contents(value: Any) -> Iterator[Any]:
    """The arrays and numbers that a statistic is made of, in order."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from contents(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield len(value)
        for key in value:
            yield key
            yield from contents(value[key])
    elif isinstance(value, tuple | list):
        yield len(value)
        for item in value:
            yield from contents(item)
    else:
        yield value


def arrays(value: Any) -> list[Any]:
    return [part for part in contents(value) if isinstance(part, np.ndarray)]


def assert_identical(a: Any, b: Any) -> None:
    """The same class with the same contents, bit for bit."""
    assert type(a) is type(b)
    for x, y in zip(contents(a), contents(b), strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        if np.asarray(x).dtype == object:  # whose bytes are addresses
            # By what they print: a NaN equals only itself, and no copy of it.
            assert list(map(repr, np.asarray(x).flat)) == list(map(repr, np.asarray(y).flat))
        else:
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def mergeable_classes(package: Any = statistics) -> set[type]:
    """The classes of a package that have a `merge` class method of their own."""
    found = set()
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                merge = inspect.getattr_static(cls, "merge", None)
                if isinstance(merge, classmethod) and not inspect.isabstract(cls):
                    found.add(cls)
    return found


# --- moments -------------------------------------------------------------------------------


def moments_agree(a: Moments, b: Moments) -> None:
    """No difference is larger than the two error bounds together (see `Moments`)."""
    weight = exactly(a.weight)
    assert abs(weight - exactly(b.weight)) <= 64 * U**2 * weight
    if not weight:
        assert_identical(a, b)
        return
    roots = [Fraction(m.error_unit) * exactly(np.sqrt(m.magnitude * (1 + 1e-15))) for m in (a, b)]
    units = [exactly(np.sqrt(m.magnitude * (1 + 1e-15))) for m in (a, b)]
    mean_bound = sum(roots)
    assert np.all((mean_of(a) - mean_of(b)) ** 2 * weight <= mean_bound**2)
    bound = sum(np.multiply.outer(r, g) for r, g in zip(roots, units, strict=True))
    assert np.all(abs(exactly(a.scatter) - exactly(b.scatter)) <= bound)


def moments_specimens() -> Iterator[Specimen]:
    for precision in ("float64", "double-double"):
        for layout, make in (("dense", np.asarray), ("sparse", sparse.csr_array)):
            yield Specimen(
                name=f"{precision} moments of {layout} rows",
                statistic=Moments,
                rows=rows(most=8, columns=2),
                summarize=lambda block, make=make, precision=precision: Moments.summarize(
                    make(block.Z), None, block.weight, precision
                ),
                zero=lambda d, precision=precision: Moments.zero(d, precision),
                agree=moments_agree,
            )


# --- moments of columns by themselves ------------------------------------------------------


def holed(block: Rows) -> Rows:
    """Some cells of the second column missing; a row decides by its own value."""
    Z = np.array(block.Z)
    Z[np.frexp(Z[:, 0])[0] > 0.8, 1] = np.nan
    return Rows(Z, block.weight)


def labels_of(block: Rows) -> Any:
    """Three classes; a row decides by its own value."""
    return (np.abs(np.frexp(block.Z[:, 0])[0]) * 64).astype(np.int64) % 3


def column_moments_agree(a: ColumnMoments, b: ColumnMoments) -> None:
    """No difference is larger than the two error bounds together (see `ColumnMoments`)."""
    assert a.count.shape == b.count.shape
    weight = exactly(a.weight)
    assert np.all(abs(weight - exactly(b.weight)) <= 64 * U**2 * weight)
    roots = [Fraction(m.error_unit) * exactly(np.sqrt(m.magnitude * (1 + 1e-15))) for m in (a, b)]
    assert np.all((mean_of(a) - mean_of(b)) ** 2 * weight <= sum(roots) ** 2)
    bound = sum(Fraction(m.error_unit) * exactly(m.magnitude) for m in (a, b))
    assert np.all(abs(exactly(a.scatter) - exactly(b.scatter)) <= bound)
    for m in (a, b):
        nothing = m.count == 0
        assert not any(np.any(v[nothing]) for v in (m.mean.hi, m.rounded_scatter, m.weight.hi))


def class_moments_agree(a: ClassMoments, b: ClassMoments) -> None:
    assert a.labels.tolist() == b.labels.tolist()
    weight = exactly(a.weight)
    assert np.all(abs(weight - exactly(b.weight)) <= 64 * U**2 * weight)
    column_moments_agree(a.columns, b.columns)


def column_specimens() -> Iterator[Specimen]:
    for precision in ("float64", "double-double"):
        yield Specimen(
            name=f"{precision} moments of columns with missing cells",
            statistic=ColumnMoments,
            rows=rows(most=8, columns=2).map(holed),
            summarize=lambda block, precision=precision: ColumnMoments.summarize(
                block.Z, block.weight, precision
            ),
            zero=lambda d, precision=precision: ColumnMoments.zero(d, precision),
            agree=column_moments_agree,
        )
        yield Specimen(
            name=f"{precision} moments of classes",
            statistic=ClassMoments,
            rows=rows(most=8, columns=2).map(holed),
            summarize=lambda block, precision=precision: ClassMoments.summarize(
                block.Z, labels_of(block), block.weight, precision
            ),
            zero=lambda d, precision=precision: ClassMoments.zero(d, precision),
            agree=class_moments_agree,
        )


# --- moments of classes --------------------------------------------------------------------


def pooled_moments_agree(a: PooledMoments, b: PooledMoments) -> None:
    """No difference is larger than the two error bounds together (see `PooledMoments`)."""
    class_moments_agree(a.classes, b.classes)
    roots = [exactly(np.sqrt(m.magnitude * (1 + 1e-15))) for m in (a, b)]
    bound = sum(
        Fraction(m.error_unit) * np.multiply.outer(r, r) for m, r in zip((a, b), roots, strict=True)
    )
    assert np.all(abs(exactly(a.scatter) - exactly(b.scatter)) <= bound)


def fourth_moments_agree(a: FourthMoments, b: FourthMoments) -> None:
    """No difference is larger than the two error bounds together (see `FourthMoments`)."""
    moments_agree(a.moments, b.moments)
    roots = [np.sqrt(m.height) for m in (a, b)]
    sizes = [np.sqrt(m.moments.magnitude) for m in (a, b)]
    units = [m.error_unit * (1 + 1e-12) for m in (a, b)]
    of_fourth = sum(u * np.multiply.outer(r, r) for u, r in zip(units, roots, strict=True))
    assert np.all(np.abs(a.fourth - b.fourth) <= of_fourth)
    of_third = sum(u * np.multiply.outer(r, s) for u, r, s in zip(units, roots, sizes, strict=True))
    assert np.all(np.abs(a.third - b.third) <= of_third)


def labelled_moments_agree(a: LabelledMoments, b: LabelledMoments) -> None:
    assert a.labels.tolist() == b.labels.tolist()
    for one, other in zip(a.parts, b.parts, strict=True):
        (fourth_moments_agree if isinstance(one, FourthMoments) else moments_agree)(one, other)


def moments_of_classes() -> Iterator[Specimen]:
    for precision in ("float64", "double-double"):
        yield Specimen(
            name=f"{precision} pooled moments",
            statistic=PooledMoments,
            rows=rows(most=8, columns=2),
            summarize=lambda block, precision=precision: PooledMoments.summarize(
                block.Z, labels_of(block), block.weight, precision
            ),
            zero=lambda d, precision=precision: PooledMoments.zero(d, precision),
            agree=pooled_moments_agree,
        )
        yield Specimen(
            name=f"{precision} moments up to the fourth",
            statistic=FourthMoments,
            rows=rows(most=8, columns=2),
            summarize=lambda block, precision=precision: FourthMoments.summarize(
                block.Z, block.weight, precision
            ),
            zero=lambda d, precision=precision: FourthMoments.zero(d, precision),
            agree=fourth_moments_agree,
        )
        for fourth in (False, True):
            yield Specimen(
                name=f"{precision} {'fourth ' if fourth else ''}moments by label",
                statistic=LabelledMoments,
                rows=rows(most=8, columns=2),
                summarize=lambda block, p=precision, fourth=fourth: LabelledMoments.summarize(
                    block.Z, labels_of(block), block.weight, p, fourth
                ),
                zero=LabelledMoments.zero,
                agree=labelled_moments_agree,
                hands_on=True,
            )


# --- sums ----------------------------------------------------------------------------------


@st.composite
def integer_rows(draw: st.DrawFn) -> Rows:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 8))
    Z = rng.integers(-(2**20), 2**20, size=(n, 2)).astype(np.float64)
    weighted = draw(st.booleans())
    return Rows(Z, rng.integers(0, 5, size=n).astype(np.float64) if weighted else None)


def plain_sums(block: Rows) -> Sums:
    weight = np.ones(len(block)) if block.weight is None else block.weight
    weighed = block.Z * weight[:, None]
    return Sums((np.asarray(weight.sum()), weighed.sum(axis=0), block.Z.T @ weighed))


def sufficient_sums_agree(a: SufficientSums, b: SufficientSums) -> None:
    """No difference is larger than double-double rounding of the magnitudes together."""
    assert abs(exactly(a.weight) - exactly(b.weight)) <= 64 * U**2 * exactly(a.weight)
    bound = 64 * U**2 * (exactly(a.magnitude) + exactly(b.magnitude))
    assert np.all(abs(exactly(a.total) - exactly(b.total)) <= bound[:-1])
    assert abs(exactly(a.log_base) - exactly(b.log_base)) <= bound[-1]


# --- sums of classes -----------------------------------------------------------------------


def class_sums_agree(a: ClassSums, b: ClassSums) -> None:
    """No difference is larger than the two error bounds together, and none if all is exact."""
    assert a.labels.tolist() == b.labels.tolist()
    weight = exactly(a.weight)
    assert np.all(abs(weight - exactly(b.weight)) <= 64 * U**2 * weight)
    for name, error in (("sums", "error"), ("missing", "weight_error")):
        bound = exactly(getattr(a, error)) + exactly(getattr(b, error))
        assert np.all(abs(wide(a, name) - wide(b, name)) <= bound)


def wide(sums: ClassSums, name: str) -> Any:
    """A table of class sums, exactly; one without columns is zero."""
    table = getattr(sums, name)
    return exactly(table if table.shape == sums.sums.shape else np.zeros(sums.sums.shape))


def class_sums_specimens() -> Iterator[Specimen]:
    kinds = {
        "whole numbers in CSR": (integer_rows(), sparse.csr_array),
        "fractions": (rows(most=8, columns=2), np.asarray),
    }
    for kind, (strategy, make) in kinds.items():
        yield Specimen(
            name=f"sums of {kind} by class",
            statistic=ClassSums,
            rows=strategy.map(holed),
            summarize=lambda block, make=make: ClassSums.summarize(
                make(np.abs(block.Z)), labels_of(block), block.weight
            ),
            zero=ClassSums.zero,
            agree=class_sums_agree,
        )


# --- values and ranges ---------------------------------------------------------------------


@st.composite
def rows_with_gaps(draw: st.DrawFn) -> Rows:
    """Few distinct whole numbers, some of them missing, and whole weights."""
    block = draw(integer_rows())
    Z = np.mod(block.Z, 5.0)
    return Rows(np.where(Z == 4.0, np.nan, Z), block.weight)


def as_text(Z: Any) -> Columns:
    names = np.array(["Ulm", "Köln", "Rome", "東京", None], dtype=object)
    return Columns([names[np.where(np.isnan(column), 4, column % 4).astype(int)] for column in Z.T])


def as_objects(Z: Any) -> Columns:
    """Python's objects, among which None and NaN are two."""
    items = np.array([3, None, 1.5, float("nan"), True], dtype=object)
    return Columns([items[np.nan_to_num(column % 5, nan=4.0).astype(int)] for column in Z.T])


def as_large_integers(Z: Any) -> Any:
    return np.nan_to_num(Z, nan=4.0).astype(np.int64) + 2**53


def observed(block: Rows) -> Observed:
    there = np.ones(len(block), bool) if block.weight is None else block.weight > 0
    Z = block.Z[there]
    values = ValueCounts.summarize(block.Z, block.weight)
    return Observed(len(Z), np.isnan(Z).sum(axis=0), values)


def counts_agree(a: ValueCounts, b: ValueCounts) -> None:
    """The same values with the same weights; the numbers of rows are not compared."""
    assert (a.count == 0) == (b.count == 0)
    assert_identical(a.values, b.values)
    assert_identical(a.weights, b.weights)


def observed_agree(a: Observed, b: Observed) -> None:
    counts_agree(a.values, b.values)  # type: ignore[arg-type]
    assert ((a.missing > 0) == (b.missing > 0)).all()


def value_specimens() -> Iterator[Specimen]:
    makers = {
        "numbers": np.asarray,
        "CSR": sparse.csr_array,
        "text": as_text,
        "objects": as_objects,
        "large integers": as_large_integers,
    }
    for kind, make in makers.items():
        yield Specimen(
            name=f"value counts of {kind}",
            statistic=ValueCounts,
            rows=rows_with_gaps(),
            summarize=lambda block, make=make: ValueCounts.summarize(make(block.Z), block.weight),
            zero=ValueCounts.zero,
            agree=counts_agree,
        )
    yield Specimen(
        name="observed cells",
        statistic=Observed,
        rows=rows_with_gaps(),
        summarize=observed,
        zero=lambda d: Observed.zero(d, ValueCounts.zero(d)),
        agree=observed_agree,
    )
    yield Specimen(
        name="extremes",
        statistic=Extremes,
        rows=rows_with_gaps(),
        summarize=lambda block: Extremes.summarize(block.Z, block.weight),
        zero=Extremes.zero,
        agree=lambda a, b: assert_identical((a.low, a.high), (b.low, b.high)),
    )


# --- values by class -----------------------------------------------------------------------


def class_counts_agree(a: ClassValueCounts, b: ClassValueCounts) -> None:
    """The same classes, values and weights; the numbers of rows are not compared."""
    assert (a.count == 0) == (b.count == 0)
    assert a.labels.tolist() == b.labels.tolist()
    assert_identical(a.values, b.values)
    assert_identical((a.weight, a.weights), (b.weight, b.weights))


def class_counts(block: Rows, make: Callable[[Any], Any] = np.asarray) -> ClassValueCounts:
    return ClassValueCounts.summarize(make(block.Z), labels_by_first(block), block.weight)


def labels_by_first(block: Rows) -> Any:
    return np.array(["ham", "spam", "eggs"], dtype=object)[
        np.nan_to_num(block.Z[:, 0]).astype(int) % 3
    ]


def moments_and_counts(block: Rows) -> SideBySide:
    y = labels_by_first(block)
    first = ClassMoments.summarize(block.Z[:, :1], y, block.weight)
    return SideBySide((first, ClassValueCounts.summarize(block.Z[:, 1:], y, block.weight)))


def moments_and_counts_agree(a: SideBySide, b: SideBySide) -> None:
    class_moments_agree(a.parts[0], b.parts[0])
    class_counts_agree(a.parts[1], b.parts[1])


def class_value_specimens() -> Iterator[Specimen]:
    makers = {"numbers": np.asarray, "text": as_text, "large integers": as_large_integers}
    for kind, make in makers.items():
        yield Specimen(
            name=f"{kind} counted by class",
            statistic=ClassValueCounts,
            rows=rows_with_gaps(),
            summarize=lambda block, make=make: class_counts(block, make),
            zero=ClassValueCounts.zero,
            agree=class_counts_agree,
        )
    yield Specimen(
        name="moments and counts side by side",
        statistic=SideBySide,
        rows=rows_with_gaps(),
        summarize=moments_and_counts,
        zero=lambda d: SideBySide.zero(ClassMoments.zero(d - 1), ClassValueCounts.zero(1)),
        agree=moments_and_counts_agree,
        hands_on=True,
    )


# --- curvature -----------------------------------------------------------------------------


def squared_loss(y: Any, eta: Any, order: int) -> Derivatives:
    """(η − y)² of whole numbers: nothing rounds."""
    bend = np.full((len(eta), len(eta), len(y)), 2.0) if order == 2 else None
    left = eta.sum(axis=0) - y
    return Derivatives(np.square(left), np.tile(2 * left, (len(eta), 1)), bend)


def curvature_agrees(a: Curvature, b: Curvature) -> None:
    """The same but for the Hessian, which goes by roots of weights: it is below 2²⁴."""
    first, second = ((c.weight, c.loss, c.gradient) for c in (a, b))
    assert_identical(list(map(np.asarray, first)), list(map(np.asarray, second)))
    assert a.hessian.shape == b.hessian.shape
    assert np.all(np.abs(a.hessian - b.hessian) <= 2.0**24 * 2.0**-48)


def curvature_specimens() -> Iterator[Specimen]:
    def exact_rows(block: Rows) -> Rows:
        return Rows(np.mod(block.Z, 64.0), block.weight)

    for layout, make in (("dense", np.asarray), ("sparse", sparse.csr_array)):
        for order in (1, 2):
            yield Specimen(
                name=f"curvature of {layout} rows up to derivative {order}",
                statistic=Curvature,
                rows=integer_rows().map(exact_rows),
                summarize=lambda block, make=make, order=order: Curvature.summarize(
                    make(block.Z[:, :1]),
                    block.Z[:, 1],
                    block.weight,
                    squared_loss,
                    np.array([[3.0, -1.0], [2.0, 5.0]]),
                    order,
                ),
                zero=lambda d, order=order: Curvature.zero(2, 2, order),
                agree=curvature_agrees,
            )


# --- groups --------------------------------------------------------------------------------


def soft_moments(block: Rows) -> SoftMoments:
    """Two components: one sees rows as they are, the other half as often and from the point 1."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    there = weight > 0
    coordinates, weight = np.stack([block.Z, block.Z - 1.0], axis=1)[there], weight[there]
    return SoftMoments.summarize(coordinates, np.stack([weight, 0.5 * weight]))


def by_parity(block: Rows) -> Grouped:
    """Sums of the rows whose first number is even, and of the others; no rows, no group."""
    there = np.ones(len(block), dtype=bool) if block.weight is None else block.weight > 0
    group = np.where(there, block.Z[:, 0].astype(np.int64) % 2, -1)
    return Grouped.summarize(group, lambda rows: plain_sums(block[rows]))


def groups_identical(a: Grouped, b: Grouped) -> None:
    def plain(grouped: Grouped) -> Grouped:
        return Grouped(
            {g: Sums(tuple(map(np.asarray, part.values))) for g, part in grouped.parts.items()}
        )

    assert_identical(plain(a), plain(b))


def by_remainder(block: Rows) -> LabelledSums:
    """Sums of the rows with the same remainder of their first number."""
    there = np.arange(len(block)) if block.weight is None else np.flatnonzero(block.weight)
    Z = block.Z[there]
    weight = np.ones(len(there)) if block.weight is None else block.weight[there]
    return LabelledSums.summarize(Z[:, 0].astype(np.int64) % 3, Z * weight[:, None])


def repeated(block: Rows, as_sparse: bool = False) -> RowsAndTargets:
    """Rows as often as their weights say, with their first number as the target."""
    there = np.ones(len(block)) if block.weight is None else block.weight
    Z = np.repeat(block.Z, there.astype(np.int64), axis=0)
    X = sparse.csr_array(Z) if as_sparse else Z
    return RowsAndTargets.summarize(X, Z[:, 0].astype(np.int64))


def targets_agree(a: RowsAndTargets, b: RowsAndTargets) -> None:
    """The same rows with the same targets, in any order."""

    def listed(rows: RowsAndTargets) -> list[Any]:
        return sorted(
            (*x, y)
            for X, Y in zip(rows.X, rows.y, strict=True)
            for x, y in zip(sparse.csr_array(as_table(X)).toarray(), Y, strict=True)
        )

    assert listed(a) == listed(b)


def weighted_rows_agree(a: WeightedRows, b: WeightedRows) -> None:
    """The same values with the same weights, in any order and however often each is listed."""

    def weights(rows: WeightedRows) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for x, w in zip(rows.X.tolist(), rows.weight.tolist(), strict=True):
            found[tuple(x)] = found.get(tuple(x), Fraction(0)) + Fraction(w)
        return found

    assert weights(a) == weights(b)


def words_counted(block: Rows) -> WordCounts:
    """Each row as a document, some words in it more than once."""
    words = np.array(["Ulm", "Köln", "東京", "a", "b"], dtype=object)
    documents = [words[row.astype(int)].tolist() for row in np.mod(block.Z, 5.0)]
    return WordCounts.summarize(documents, block.weight)


def residuals_of_integers(block: Rows) -> ResidualSums:
    """Of a line with whole coefficients: nothing is rounded."""
    line = LineAt(np.array([[2.0], [-3.0]]), np.array([1.0, 0.0]), np.array([5.0]))
    return ResidualSums.summarize(block.Z, block.Z[:, :1] * 7 - 2, block.weight, line)


def residual_sums_equal(a: ResidualSums, b: ResidualSums) -> None:
    for name in ("products", "totals", "squares"):
        one, other = getattr(a, name), getattr(b, name)
        assert np.array_equal(one.hi, other.hi)
        assert np.array_equal(one.lo, other.lo)


SPECIMENS = [
    *moments_specimens(),
    *column_specimens(),
    *moments_of_classes(),
    *class_sums_specimens(),
    *value_specimens(),
    *class_value_specimens(),
    Specimen(
        name="soft moments of integers",
        statistic=SoftMoments,
        rows=integer_rows(),
        summarize=soft_moments,
        zero=lambda d: SoftMoments.zero(2, d),
        agree=assert_identical,
    ),
    Specimen(
        name="sums of integers",
        statistic=Sums,
        rows=integer_rows(),
        summarize=plain_sums,
        zero=lambda d: Sums.zero((), (d,), (d, d)),
        agree=lambda a, b: assert_identical(
            Sums(tuple(map(np.asarray, a.values))), Sums(tuple(map(np.asarray, b.values)))
        ),
    ),
    Specimen(
        name="sums of a sufficient statistic",
        statistic=SufficientSums,
        rows=rows(most=8, columns=2),
        summarize=lambda block: SufficientSums.summarize(block.Z, -block.Z[:, 0], block.weight),
        zero=SufficientSums.zero,
        agree=sufficient_sums_agree,
    ),
    *curvature_specimens(),
    Specimen(
        name="sums of integers by group",
        statistic=Grouped,
        rows=integer_rows(),
        summarize=by_parity,
        zero=lambda d: Grouped.zero(),
        agree=groups_identical,
        hands_on=True,
    ),
    Specimen(
        name="rows with weights",
        statistic=WeightedRows,
        rows=rows(most=8, columns=2),
        summarize=lambda block: WeightedRows.summarize(block.Z, block.weight),
        zero=WeightedRows.zero,
        agree=weighted_rows_agree,
    ),
    Specimen(
        name="rows and targets",
        statistic=RowsAndTargets,
        rows=integer_rows(),
        summarize=repeated,
        zero=RowsAndTargets.zero,
        agree=targets_agree,
        hands_on=True,
    ),
    Specimen(
        name="sparse rows and targets",
        statistic=RowsAndTargets,
        rows=integer_rows(),
        summarize=lambda block: repeated(block, as_sparse=True),
        zero=RowsAndTargets.zero,
        agree=targets_agree,
        hands_on=True,
    ),
    Specimen(
        name="sums of residuals",
        statistic=ResidualSums,
        rows=integer_rows(),
        summarize=residuals_of_integers,
        zero=ResidualSums.zero,
        agree=residual_sums_equal,
    ),
    Specimen(
        name="counts of words",
        statistic=WordCounts,
        rows=integer_rows(),
        summarize=words_counted,
        zero=lambda d: WordCounts.zero(),
        agree=assert_identical,
    ),
    Specimen(
        name="sums of integers by label",
        statistic=LabelledSums,
        rows=integer_rows(),
        summarize=by_remainder,
        zero=LabelledSums.zero,
        agree=assert_identical,
    ),
]
