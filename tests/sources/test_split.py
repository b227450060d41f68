"""Rows to learn from and rows to hold out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from suffice import Ridge
from suffice.preprocessing import StandardScaler
from suffice.sources import MappedSource, as_source, scan
from suffice.sources.derived.relabelled import RelabelledSource

N = 40_000
RNG = np.random.default_rng(0)
X = np.column_stack([np.arange(N), RNG.normal(size=(N, 2))])
y, WEIGHT = RNG.normal(size=N), RNG.uniform(size=N)
FRAME = pd.DataFrame(X, columns=["row", "a", "b"]).assign(y=y, w=WEIGHT)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same rows in many places."""
    folder = tmp_path_factory.mktemp("split")
    FRAME.to_csv(folder / "whole.csv", index=False)
    FRAME.to_parquet(folder / "whole.parquet", row_group_size=7_000)
    parts = folder / "parts"
    parts.mkdir()
    for i, (start, stop) in enumerate([(0, 11), (11, 30_000), (30_000, N)]):
        FRAME[start:stop].to_csv(parts / f"{i}.csv", index=False, sep=";")
    names = {"target": "y", "weight": "w"}
    array = as_source(X, y, WEIGHT)
    return {
        "array": array,
        "sparse": as_source(sparse.csr_array(X), y, WEIGHT),
        "frame": as_source(FRAME[["row", "a", "b"]], y, WEIGHT),
        "csv": scan(folder / "whole.csv", **names),
        "parquet": scan(folder / "whole.parquet", **names),
        "parts": scan(parts, **names),
        "mapped": MappedSource(array, np.array, n_columns=3),
        "relabelled": RelabelledSource(array, np.array),
    }


def rows(source):
    blocks = [piece.load() for piece in source.pieces()]
    dense = [block.X.toarray() if source.sparse else block.X for block in blocks]
    return tuple(
        np.concatenate(parts)
        for parts in (dense, [b.y for b in blocks], [b.weight for b in blocks])
    )


NAMES = ("array", "sparse", "frame", "csv", "parquet", "parts", "mapped", "relabelled")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_rows_are_held_out_wherever_they_come_from(sources, name, monkeypatch):
    monkeypatch.setattr("suffice.sources.derived.subset.ROWS_AT_ONCE", 4_096)
    train, test = sources[name].split(test=0.3, seed=5)
    reference = rows(sources["array"].split(test=0.3, seed=5)[1])
    for found, expected in zip(rows(test), reference, strict=True):
        np.testing.assert_array_equal(found, expected)
    held_out = reference[0][:, 0].astype(int)
    kept = rows(train)[0][:, 0].astype(int)
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(N))
    assert (np.diff(kept) > 0).all()
    assert (np.diff(held_out) > 0).all()
    for part, numbers in ((train, kept), (test, held_out)):
        assert part.n_rows == part.count_rows() == len(numbers)
        for row in (7, len(numbers) // 2, len(numbers) - 1):
            assert part.row_label(row) == sources[name].row_label(numbers[row])
        for one in ("n_columns", "feature_names", "target_names", "has_target", "has_weight",
                    "sparse", "kinds", "column_kinds", "target_shape", "engine"):  # fmt: skip
            assert getattr(part, one) == getattr(sources[name], one)


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.99])
def test_the_share_is_that_of_independent_draws(sources, share):
    counts = [sources["array"].split(share, seed)[1].n_rows for seed in range(20)]
    spread = np.sqrt(N * share * (1 - share))
    assert np.abs(np.array(counts) - N * share).max() < 4 * spread
    assert abs(np.mean(counts) - N * share) < 4 * spread / np.sqrt(20)
    assert len(set(counts)) > 1


def test_rows_side_by_side_and_seeds_side_by_side_are_independent(sources):
    masks = np.zeros((10, N))
    for seed in range(10):
        numbers = rows(sources["array"].split(0.5, seed)[1])[0][:, 0].astype(int)
        masks[seed, numbers] = 1
    between = np.corrcoef(masks)[np.triu_indices(10, 1)]
    lags = [np.corrcoef(masks[0, lag:], masks[0, :-lag])[0, 1] for lag in (1, 2, 3, 256, 16_384)]
    assert np.abs([*between, *lags]).max() < 4.5 / np.sqrt(N - 16_384)


def test_a_larger_test_share_holds_out_more_rows_and_all_of_the_same(sources):
    few, more = (set(rows(sources["array"].split(s)[1])[0][:, 0]) for s in (0.1, 0.2))
    assert few < more


def test_a_fit_of_the_split_is_a_fit_of_the_rows(sources):
    for name in ("csv", "array"):
        train, test = sources[name].split(test=0.25, seed=1)
        features, target, weight = rows(train)
        plain = Ridge().fit(features, target, weight)
        np.testing.assert_allclose(Ridge().fit(train).coef_, plain.coef_, rtol=1e-9, atol=1e-12)
        assert Ridge().fit(train).predict(test).shape == (test.n_rows,)
    a, b = (Ridge().fit(sources[name].split()[0]).coef_ for name in ("csv", "parts"))
    np.testing.assert_array_equal(a, b)


def test_parts_of_parts_and_other_sources_from_them(sources):
    train, _ = sources["csv"].split(test=0.2)
    inner, outer = train.split(test=0.5)
    assert inner.count_rows() + outer.count_rows() == train.count_rows()
    scaled = StandardScaler().fit(train).transform(train)
    assert scaled.n_rows == train.n_rows
    again = pickle.loads(pickle.dumps(outer))
    for found, expected in zip(rows(again), rows(outer), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_csv_files_are_not_counted_before_it_is_asked_for(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    source = scan(tmp_path / "a.csv", target="y")
    train, _ = source.split()
    assert source.n_rows is None
    assert train.n_rows is None
    assert repr(train).startswith("some rows of FileSource(")
    assert train.count_rows() == train.n_rows


@pytest.mark.parametrize("share", [0, 1, 0.0, 1.0, -0.1, 1.5, np.nan, "0.2", None, True])
def test_shares_that_are_none(share):
    with pytest.raises(ValueError, match=r"test is .*; give the share .* between 0 and 1"):
        as_source(X).split(share)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", None, 1 << 64])
def test_seeds_that_are_none(seed):
    with pytest.raises(ValueError, match=r"seed is .*; give a whole number"):
        as_source(X).split(seed=seed)


def test_a_part_without_rows():
    with pytest.raises(ValueError, match="No row is left to learn from"):
        as_source(X[:2]).split(test=1 - 1e-9)
    with pytest.raises(ValueError, match="No row is left to hold out"):
        as_source(X[:20]).split(test=1e-9)
    with pytest.raises(ValueError, match="No row is left"):
        as_source(X[:1]).split(test=0.5)
