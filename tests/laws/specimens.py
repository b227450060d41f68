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
from suffice.statistics.moments import Moments
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
    """

    name: str
    statistic: type
    rows: st.SearchStrategy[Rows]
    summarize: Callable[[Rows], Any]
    zero: Callable[[int], Any]
    agree: Callable[[Any, Any], None]

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
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def mergeable_classes(package: Any = statistics) -> set[type]:
    """The classes of a package that have a `merge` class method of their own."""
    found = set()
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                merge = inspect.getattr_static(cls, "merge", None)
                if isinstance(merge, classmethod):
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


SPECIMENS = [
    *moments_specimens(),
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
]
