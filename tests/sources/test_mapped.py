"""Mapped sources: the same blocks as the mapped array, changed on the thread that uses them."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from suffice import Ridge, config
from suffice.sources import ArraySource, Columns, MappedSource, as_source
from suffice.sources.base import Source


def widened(X):
    return np.hstack([X * k for k in range(1, 41)])


def narrowed(X):
    return X[:, :1] - X[:, 1:2]


def thinned(X):
    return csr_array(np.where(X > 0.5, X, 0.0))


MAPS = {
    "wider": (widened, 1600, False),
    "narrower": (narrowed, 1, False),
    "CSR": (thinned, 40, True),
}


def rows(n_rows, n_columns=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X.sum(axis=1), rng.random(n_rows)


def loaded(source):
    return [piece.load() for piece in source.pieces()]


def dense(X):
    return X.toarray() if issparse(X) else X


@pytest.mark.parametrize(("function", "n_columns", "sparse"), MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("n_rows", [1, 255, 5000])
def test_blocks_are_those_of_the_mapped_array(function, n_columns, sparse, n_rows):
    X, y, weight = rows(n_rows)
    mapped = MappedSource(ArraySource(X, y, weight), function, n_columns, sparse=sparse)
    expected = loaded(as_source(function(X), y, weight))
    for source in (mapped, pickle.loads(pickle.dumps(mapped))):
        found = loaded(source)
        assert [b.start for b in found] == [b.start for b in expected]
        assert [p.n_rows for p in source.pieces()] == [b.n_rows for b in expected]
        for a, b in zip(found, expected, strict=True):
            assert issparse(a.X) == sparse
            np.testing.assert_array_equal(dense(a.X), dense(b.X))
            np.testing.assert_array_equal(a.y, b.y)
            np.testing.assert_array_equal(a.weight, b.weight)
    assert mapped.n_rows == mapped.count_rows() == n_rows
    assert (mapped.has_target, mapped.has_weight, mapped.target_shape) == (True, True, ())


@pytest.mark.parametrize("name", ["narrower", "CSR"])
@pytest.mark.parametrize("threads", [1, 2])
def test_models_have_the_same_bits(name, threads):
    function, n_columns, sparse = MAPS[name]
    X, y, weight = rows(70_000)
    with config(threads=threads):
        mapped = MappedSource(ArraySource(X, y, weight), function, n_columns, sparse=sparse)
        a, b = Ridge().fit(mapped), Ridge().fit(function(X), y, weight)
        assert (a.coef_ == b.coef_).all()
        assert (a.predict(mapped) == b.predict(function(X))).all()


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 400))
def test_maps_of_maps(n_rows, first, second):
    X = np.arange(n_rows, dtype=float)[:, None]
    source = MappedSource(ArraySource(X), lambda X: np.repeat(X, first, axis=1), first)
    source = MappedSource(source, lambda X: np.repeat(X[:, :1], second, axis=1), second)
    found = np.concatenate([block.X for block in loaded(source)])
    np.testing.assert_array_equal(found, np.repeat(X, second, axis=1))


class Counting(Source):
    """A source that counts how often its pieces are loaded."""

    def __init__(self, X):
        self.base = ArraySource(X)
        self.n_rows, self.n_columns = X.shape
        self.loads, self.open = 0, 0
        self.lock = threading.Lock()

    def pieces(self):
        self.open += 1
        try:
            for piece in self.base.pieces():
                yield CountedPiece(self, piece)
        finally:
            self.open -= 1


class CountedPiece:
    def __init__(self, source, piece):
        self.source, self.piece = source, piece
        self.start, self.n_rows = piece.start, piece.n_rows

    def load(self):
        with self.source.lock:
            self.source.loads += 1
        return self.piece.load()


def test_a_block_that_serves_several_is_loaded_once():
    source = Counting(rows(40_000)[0])
    mapped = MappedSource(source, widened, 1600)
    pieces = list(mapped.pieces())
    threads = [threading.Thread(target=lambda p=p: p.load()) for p in pieces[:8]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.loads == 1
    assert len(pieces) > 8


def test_an_abandoned_pass_closes_the_base():
    source = Counting(rows(40_000)[0])
    pieces = MappedSource(source, widened, 1600).pieces()
    next(pieces)
    assert source.open == 1
    pieces.close()
    assert source.open == 0


def test_names_of_rows_and_columns_reach_messages():
    X, y, _ = rows(10, 2)
    X[7, 1] = np.nan
    base = ArraySource(X, y, feature_names=["a", "b"])
    named = MappedSource(base, np.negative, 2, ["c", "d"])
    labelled = MappedSource(base, np.negative, 2, labels=["c", "d"])
    plain = MappedSource(base, np.negative, 2)
    assert (named.feature_names, labelled.feature_names) == (("c", "d"), None)
    for source, words in ((named, "column 'd'"), (labelled, "column 'd'"), (plain, "column 1")):
        with pytest.raises(ValueError, match=rf"contains NaN: {words}, row 7 "):
            Ridge().fit(source)
    assert repr(plain) == "MappedSource(ArraySource(10 rows x 2 columns of float64) to 2 columns)"


def test_functions_that_break_their_promise():
    base = ArraySource(rows(10, 2)[0])
    with pytest.raises(ValueError, match=r"shape \(10, 2\) for 10 rows; 3 columns were announced"):
        loaded(MappedSource(base, np.negative, 3))
    with pytest.raises(ValueError, match="there are 2 columns, but 1 feature names"):
        MappedSource(base, np.negative, 2, ["a"])


def test_text_passes_through():
    cities = np.array(["Ulm", None, "Rome"] * 20_000, dtype=object)
    base = as_source(Columns([np.arange(60_000.0), cities]), y=np.arange(60_000))
    mapped = MappedSource(base, lambda X: X.take([1, 0, 1]), 3, kinds=["text", "number", "text"])
    assert mapped.kinds == ("text", "number", "text")
    blocks = loaded(mapped)
    assert np.concatenate([b.X.column(0) for b in blocks]).tolist() == cities.tolist()
    assert np.concatenate([b.X.column(1) for b in blocks]).tolist() == list(range(60_000))
    with pytest.raises(ValueError, match="Column 0 has type text"):
        Ridge().fit(mapped)
    numbers = MappedSource(base, lambda X: X.take([0]), 1, kinds=["number"])
    assert numbers.kinds is None
    assert Ridge(alpha=0).fit(numbers).coef_[0] == pytest.approx(1)


def test_columns():
    columns = Columns([np.array([1.0, 2.0]), np.array(["a", None], dtype=object)])
    assert len(columns) == 2
    assert columns.kinds == ("number", "text")
    assert columns.take([0, 0]).tolist() == [[1, 1], [2, 2]]
    assert columns[np.array([False, True])].column(1).tolist() == [None]
    assert columns.to_objects().tolist() == [[1.0, "a"], [2.0, None]]
    assert repr(columns) == "Columns(2 rows: number, text)"
    for bad in ([], [np.zeros(2), np.zeros(3)], [np.zeros((2, 2))]):
        with pytest.raises(ValueError, match="at least one array"):
            Columns(bad)
