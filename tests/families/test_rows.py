"""Sufficient sums of rows: merged, weighted, from files, taken away, saved; and bad rows."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    Poisson,
    SufficientSums,
)
from suffice.fitting.files.decoding import Decoder
from suffice.fitting.files.encoding import Encoder
from tests.families.cases import CASES
from tests.laws.specimens import assert_identical

every_family = pytest.mark.parametrize("case", CASES, ids=str)


def rows_of(case, n=400):
    return case.family.sample(case.ordinary[-1], n, 8)


def assert_same_fit(a, b, rtol=1e-13):
    np.testing.assert_allclose(a.eta, b.eta, rtol=rtol, atol=1e-14)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-13)
    assert a.certificate.holds
    assert b.certificate.holds


# --- laws ----------------------------------------------------------------------------------


@every_family
def test_merged_is_whole(case):
    y = rows_of(case)
    whole = case.family.fit(y)
    parts = [case.family.fit(y[i::3]) for i in range(3)]
    assert_same_fit(sum(parts), whole)
    assert_same_fit(parts[0].update(y[1::3]).update(y[2::3]), whole)
    merged = SufficientSums.merge([part.statistics for part in parts])
    assert_same_fit(case.family.fit_from(merged), whole)


@every_family
def test_forgotten_rows_leave_the_others(case):
    y = rows_of(case)
    forgotten = case.family.fit(y).forget(y[:150])
    assert_same_fit(forgotten, case.family.fit(y[150:]))
    assert forgotten.statistics.count == 250


@every_family
def test_a_weight_is_a_number_of_repetitions(case):
    y = rows_of(case, 60)
    weight = np.arange(60) % 4
    assert_same_fit(case.family.fit(y, weight), case.family.fit(np.repeat(y, weight, axis=0)))


@every_family
def test_scaling_all_weights_changes_nothing(case):
    y = rows_of(case, 60)
    weight = 0.5 + np.arange(60) % 3
    ours, scaled = case.family.fit(y, weight), case.family.fit(y, weight * 1e-9)
    np.testing.assert_allclose(scaled.eta, ours.eta, rtol=1e-13, atol=1e-14)
    assert scaled.log_likelihood == pytest.approx(ours.log_likelihood * 1e-9, rel=1e-12)


def test_rows_of_weight_zero_do_not_exist():
    y, weight = np.array([1.0, -5.0, np.nan, 4.0]), np.array([1.0, 0.0, 0.0, 2.0])
    assert_same_fit(Gamma().fit(y, weight), Gamma().fit([1.0, 4.0, 4.0]))
    with pytest.raises(ValueError, match=r"found -2.0 in row 3 \(counted from 0\)"):
        Gamma().fit([1.0, -5.0, 3.0, -2.0], [1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="every row has weight zero"):
        Gamma().fit([1.0, 2.0], [0.0, 0.0])


def test_fits_of_different_families_do_not_merge():
    with pytest.raises(ValueError, match=r"cannot merge fits of Poisson\(\) and Bernoulli\(\)"):
        Poisson().fit([1, 0]) + Bernoulli().fit([1, 0])
    with pytest.raises(TypeError):
        Poisson().fit([1, 0]) + 1.0
    sums = Gaussian().summarize([1.0, 2.0])
    with pytest.raises(ValueError, match=r"sums of 2 numbers a row; Poisson\(\) has 1"):
        Poisson().fit_from(sums)
    with pytest.raises(ValueError, match="different dimensions"):
        SufficientSums.merge([sums, Poisson().summarize([1])])


def test_forgetting_what_was_never_there():
    fitted = Poisson().fit([1, 2])
    with pytest.raises(ValueError, match="cannot take 3 rows away from 2"):
        fitted.forget([1, 2, 3])
    with pytest.raises(ValueError, match="every row has weight zero"):
        fitted.forget([1, 2])
    with pytest.raises(ValueError, match="no weight for them"):
        fitted.forget([1], [7.0])


def test_forgetting_huge_rows_is_honest():
    y = np.array([1.0, 2.0, 4.0])
    fitted = Gaussian().fit(np.append(y, 1e7)).forget([1e7])
    assert fitted.variance == pytest.approx(np.var(y), rel=10.0**-fitted.certificate.digits)
    assert fitted.certificate.digits > 8
    with pytest.warns(ConvergenceWarning, match="rows far larger were taken away") as caught:
        Gaussian().fit(np.append(y, 1e14)).forget([1e14])
    assert caught[0].filename == __file__


# --- sources -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(6)
    n = 40_000
    shares = rng.dirichlet([1.0, 2.0, 3.0], n)
    columns = {
        "x": rng.standard_normal(n),
        "amount": rng.gamma(2.0, 3.0, n),
        "calls": rng.poisson(3.0, n),
        "city": rng.choice(["Köln", "東京", "Ulm"], n),
        "weight": rng.integers(0, 3, n).astype(float),
        **{f"share{j}": shares[:, j] for j in range(3)},
    }
    path = tmp_path_factory.mktemp("families") / "rows.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=7_000)
    return columns, path


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("family", "target"),
    [
        (Gamma(), "amount"),
        (Gaussian(), "amount"),
        (Poisson(), "calls"),
        (Categorical(["Köln", "Ulm", "東京"]), "city"),
        (Dirichlet(3), ["share0", "share1", "share2"]),
    ],
    ids=str,
)
def test_files_give_the_bits_of_arrays(table, family, target):
    columns, path = table
    y = np.stack([columns[t] for t in target], 1) if isinstance(target, list) else columns[target]
    source = suffice.scan(path, target=target, weight="weight", features=["x"])
    expected = family.fit(y, columns["weight"])
    for threads in (1, 2, 3):
        with suffice.config(threads=threads):
            fitted = family.fit(source)
        assert_identical(fitted.statistics, expected.statistics)
        assert fitted.eta.tobytes() == expected.eta.tobytes()
        assert fitted.log_likelihood == expected.log_likelihood


@pytest.mark.compiled
def test_a_bad_row_of_a_file_is_named(tmp_path):
    calls = np.ones(30_000)
    calls[23_456] = -1.0
    path = tmp_path / "calls.parquet"
    parquet.write_table(pa.table({"x": calls, "calls": calls}), path)
    with pytest.raises(ValueError, match=r"Poisson models .*; found -1.0 in row 23456"):
        Poisson().fit(suffice.scan(path, target="calls"))


def test_sources_bring_their_own_target_and_weights(table):
    _, path = table
    with pytest.raises(ValueError, match=r"has no target to model: name it in scan"):
        Poisson().fit(suffice.scan(path, features=["x"]))
    with pytest.raises(ValueError, match="a source brings its own weights"):
        Poisson().fit(suffice.scan(path, target="calls"), np.ones(40_000))
    with pytest.raises(ValueError, match="the target has 2 columns; Gaussian models finite"):
        Gaussian().fit(suffice.scan(path, target=["share0", "share1"]))
    with pytest.raises(ValueError, match="the target has one column; Dirichlet models 3"):
        Dirichlet(3).fit(suffice.scan(path, target="share0"))


@pytest.mark.parametrize(
    "make", [list, tuple, pd.Series, pl.Series, pa.array, lambda y: np.array(y, np.float32)]
)
def test_observations_come_in_many_forms(make):
    y = [1.0, 2.0, 4.0, 0.5]
    assert_same_fit(Gamma().fit(make(y)), Gamma().fit(np.array(y)))
    assert_same_fit(Gamma().fit(np.array(y)[:, None]), Gamma().fit(np.array(y)))
    frame = pd.DataFrame({"a": [0.1, 0.4], "b": [0.9, 0.6]})
    assert_same_fit(Dirichlet(2).fit(frame), Dirichlet(2).fit(frame.to_numpy()))


def test_read_only_rows_and_booleans():
    y = np.array([True, False, True])
    y.setflags(write=False)
    assert Bernoulli().fit(y).probability == pytest.approx(2 / 3, rel=1e-15)
    strided = np.arange(1.0, 9.0)[::2]
    assert_same_fit(Gamma().fit(strided), Gamma().fit(strided.copy()))


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([], None, "there are no rows"),
        (3.0, None, "y is 3.0; give one observation a row"),
        ([1.0, 2.0], [1.0], "y has 2 rows, but sample_weight has 1"),
        ([1.0, 2.0], [1.0, -1.0], "weights must be finite and not negative"),
        ([1.0, 2.0], [1.0, np.nan], "weights must be finite and not negative"),
        ([[1.0, 2.0]], None, "the target has 2 columns"),
        ([1.0, 1e200], None, r"1e\+200 in row 1 .* is too large"),
    ],
)
def test_bad_rows(y, weight, message):
    with pytest.raises(ValueError, match=message):
        Gaussian().fit(y, weight)


def test_values_at_the_end_of_the_range():
    with pytest.raises(ValueError, match="beyond the range of float64: rescale the values"):
        Exponential().fit([1e-310])
    with pytest.warns(ConvergenceWarning, match="decimal digits|no maximum"):
        Gaussian().fit([1e-152, 2e-152, 4e-152])
    tiny = Gaussian().fit(np.array([1.0, 2.0, 4.0]) * 2.0**-480)
    assert tiny.certificate.holds
    assert tiny.variance == pytest.approx(np.var([1.0, 2.0, 4.0]) * 2.0**-960, rel=1e-13)


def test_categories_of_any_kind():
    for labels in (["no", "yes"], [10, 20], [False, True], [0.5, 1.5]):
        fitted = Categorical(labels).fit([labels[1], labels[0], labels[1], labels[1]])
        np.testing.assert_allclose(fitted.probabilities, [0.25, 0.75])
        assert fitted.log_density([labels[1]]) == pytest.approx(np.log(0.75))


# --- values --------------------------------------------------------------------------------


def test_sums_are_saved():
    sums = Gaussian().summarize([1.0, 2.0, 1e8], [1.0, 2.0, 0.5])
    encoder = Encoder()
    node = encoder.encode(sums, "statistics_")
    assert_identical(Decoder(encoder.tensors).decode(node), sums)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": -1}, "its count is -1"),
        ({"count": 2.0}, "its count is 2.0"),
        ({"magnitude": np.zeros(2)}, "its magnitude does not fit its total"),
        ({"magnitude": np.zeros((3, 1))}, "its magnitude of shape"),
        ({"log_base": 1.0}, "its log_base is not of DoubleDouble"),
    ],
)
def test_damaged_sums_are_refused(changes, message):
    damaged = dataclasses.replace(Gaussian().summarize([1.0, 2.0]), **changes)
    encoder = Encoder()
    node = encoder.encode(damaged, "statistics_")
    with pytest.raises(ValueError, match=f"SufficientSums is damaged: {message}"):
        Decoder(encoder.tensors).decode(node)


def test_the_statistic_is_small():
    sums = Beta().summarize(np.linspace(0.1, 0.9, 1000))
    assert sums.count == 1000
    assert sums.nbytes < 200


def test_two_threads_at_once():
    y = np.random.default_rng(7).gamma(2.0, 1.0, 50_000)
    expected, found = Gamma().fit(y).eta, []
    threads = [threading.Thread(target=lambda: found.append(Gamma().fit(y).eta)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(eta, expected) for eta in found)
    assert len(found) == 4


def test_far_values_of_a_known_variance():
    y = 1e8 + np.arange(5.0)
    fitted = GaussianKnownVariance(2.0).fit(y)
    assert fitted.mu == 1e8 + 2
    assert fitted.log_likelihood == pytest.approx(fitted.log_density(y).sum(), rel=1e-7)
