"""StandardScaler and MinMaxScaler: exact oracles, scikit-learn, sources, the verbs, bad input."""

import copy
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.preprocessing as peer
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice.preprocessing import (
    ColumnTransformer,
    MinMaxScaler,
    OneHotEncoder,
    SimpleImputer,
    StandardScaler,
)
from suffice.sources import ArraySource, MappedSource, SparseSource, as_source, scan
from suffice.statistics.moments.full import Moments
from tests.contract import contract

SCALERS = [(StandardScaler, peer.StandardScaler), (MinMaxScaler, peer.MinMaxScaler)]
PLAIN = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False, exact=True),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-2, 3), clip=True),
]


@contract([], switched=PLAIN[1:])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def rows(n_rows=1000, missing=True, seed=0, shift=1e3):
    """Columns of many kinds: shifted, constant, with gaps, of whole numbers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            shift + rng.normal(size=n_rows),
            rng.random(n_rows),
            np.full(n_rows, 0.1),
            rng.integers(0, 4, n_rows),
        ]
    )
    if missing:
        X[rng.random(n_rows) < 0.2, 2] = np.nan
        X[: n_rows // 2, 4] = np.nan
    return X


def attributes(model, names):
    return {name: getattr(model, name) for name in names}


LEARNED = {
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    MinMaxScaler: ("data_min_", "data_max_", "data_range_", "scale_", "min_", "n_samples_seen_"),
}


def assert_alike(mine, theirs, rtol=1e-9):
    for name in LEARNED[type(mine)]:
        a, b = getattr(mine, name), getattr(theirs, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12, err_msg=name)


# --- exact oracles -------------------------------------------------------------------------


def test_moments_are_those_of_exact_arithmetic():
    X = rows(200, shift=1e9)
    weight = np.random.default_rng(1).integers(0, 4, 200).astype(float)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    for j in range(X.shape[1]):
        cells = [
            (Fraction(x), Fraction(w))
            for x, w in zip(X[:, j], weight, strict=True)
            if x == x and w > 0
        ]
        total = sum(w for _, w in cells)
        mean = sum(w * x for x, w in cells) / total
        variance = sum(w * (x - mean) ** 2 for x, w in cells) / total
        bound = 10.0**-scaler.certificate_.digits
        assert abs(Fraction(scaler.var_[j]) - variance) <= bound * float(variance)
        unit = max(abs(float(mean)), float(variance) ** 0.5)
        assert abs(Fraction(scaler.mean_[j]) - mean) <= bound * unit
    assert scaler.certificate_.holds
    assert scaler.certificate_.digits > 10


def test_a_constant_column_is_exactly_constant():
    X = np.full((100_000, 2), 0.1)
    X[:, 1] = 1e9 + 1 / 3
    scaler = StandardScaler().fit(X)
    assert scaler.var_.tolist() == [0.0, 0.0]
    assert scaler.scale_.tolist() == [1.0, 1.0]
    assert not scaler.transform(X).any()
    assert "2 columns are constant" in scaler.certificate_.notes[0]


def test_units_of_a_column_do_not_matter():
    X = rows(500, missing=False)
    tiny = StandardScaler().fit(X * 1e-120)
    np.testing.assert_allclose(tiny.transform(X * 1e-120), StandardScaler().fit_transform(X))
    np.testing.assert_allclose(
        MinMaxScaler().fit_transform(X * 1e-120), MinMaxScaler().fit_transform(X), atol=1e-9
    )


# --- scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "theirs"), SCALERS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "fortran", "pandas", "polars"])
def test_results_of_scikit_learn(ours, theirs, missing, kind):
    X = rows(3000, missing)
    if kind == "int64":
        X = np.nan_to_num(X * 100).astype(np.int64)
    elif kind == "float32":
        X = X.astype(np.float32)
        X[:, 1] -= 1e3
    elif kind == "fortran":
        X = np.asfortranarray(X)
    elif kind == "pandas":
        X = pd.DataFrame(X, columns=list("abcde"))
    elif kind == "polars":
        X = pl.DataFrame(X, schema=list("abcde"))
    mine, other = ours().fit(X), theirs().fit(X)
    tolerance = 1e-4 if kind == "float32" else 1e-9
    assert_alike(mine, other, tolerance)
    a, b = mine.transform(X), other.transform(X)
    assert a.dtype == b.dtype
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    back = 1e-5 if kind == "float32" else 1e-9
    np.testing.assert_allclose(mine.inverse_transform(a), np.asarray(X), rtol=back, atol=back)
    assert mine.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_switches(with_mean, with_std):
    X = rows(300)
    switches = {"with_mean": with_mean, "with_std": with_std}
    mine, other = StandardScaler(**switches).fit(X), peer.StandardScaler(**switches).fit(X)
    assert_alike(mine, other)
    np.testing.assert_allclose(mine.transform(X), other.transform(X), atol=1e-9)


def test_weights_of_scikit_learn():
    X, weight = rows(500), np.random.default_rng(3).random(500)
    weight[::7] = 0
    mine = StandardScaler().fit(X, sample_weight=weight)
    assert_alike(mine, peer.StandardScaler().fit(X, sample_weight=weight))
    # What has weight 0 does not exist, whatever it holds.
    X[::7] = 1e100
    assert_alike(StandardScaler().fit(X, sample_weight=weight), mine)


@pytest.mark.parametrize("weighted", [False, True])
def test_csr_rows(weighted):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((400, 6)) < 0.3, rng.normal(size=(400, 6)), 0.0)
    dense[:, 5] = 0.0
    dense[3, 1] = np.nan
    weight = rng.integers(0, 3, 400).astype(float) if weighted else None
    mine = StandardScaler(with_mean=False).fit(csr_matrix(dense), sample_weight=weight)
    same = StandardScaler(with_mean=False).fit(dense, sample_weight=weight)
    assert_alike(mine, same)
    other = peer.StandardScaler(with_mean=False).fit(csr_matrix(dense), sample_weight=weight)
    np.testing.assert_allclose(mine.scale_, other.scale_)
    scaled = mine.transform(csr_array(dense))
    assert issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), same.transform(dense))
    np.testing.assert_allclose(mine.inverse_transform(scaled).toarray(), dense)


def test_csr_rows_cannot_be_centred_in_memory_but_a_source_of_them_can():
    X = csr_matrix(np.eye(50))
    with pytest.raises(ValueError, match="Cannot center sparse matrices: pass `with_mean=False`"):
        StandardScaler().fit(X)
    with pytest.raises(ValueError, match="Cannot center sparse"):
        StandardScaler().fit(X.toarray()).transform(X)
    source = SparseSource(X)
    out = StandardScaler().fit(source).transform(source)
    assert not out.sparse
    expected = peer.StandardScaler().fit_transform(X.toarray())
    np.testing.assert_allclose(next(out.pieces()).load().X, expected)
    for refused in (X, source):
        with pytest.raises(TypeError, match="does not support sparse"):
            MinMaxScaler().fit(refused)


@pytest.mark.parametrize(("ours", "theirs"), SCALERS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_out_where_asked_for(ours, theirs, library):
    X = pd.DataFrame(rows(20), columns=list("abcde"), index=range(5, 25))
    mine = ours().set_output(transform=library).fit(X)
    other = theirs().set_output(transform=library).fit(X)
    a, b = mine.transform(X), other.transform(X)
    assert type(a) is type(b)
    assert list(a.columns) == list("abcde")
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), atol=1e-9)
    # A source has names then, as a frame would.
    assert mine.transform(ArraySource(X.to_numpy())).feature_names == tuple("abcde")


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_names_are_checked(ours):
    X = pd.DataFrame(rows(20), columns=list("abcde"))
    scaler = ours().fit(X)
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(X.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(ArraySource(X.to_numpy(), feature_names=list("bacde")))
    with pytest.raises(ValueError, match="4 features"):
        scaler.transform(ArraySource(X.to_numpy()[:, :4]))


def test_a_range_and_clipping():
    X = rows(100)
    for settings in ({"feature_range": (-3, 5)}, {"clip": True}):
        mine = MinMaxScaler(**settings).fit(X)
        other = peer.MinMaxScaler(**settings).fit(X)
        np.testing.assert_allclose(mine.transform(3 * X), other.transform(3 * X), atol=1e-9)
    for bad in ((1, 1), (2, 0)):
        with pytest.raises(ValueError, match="must be smaller than maximum"):
            MinMaxScaler(feature_range=bad).fit(X)


# --- sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_from_files_bit_for_bit(ours, tmp_path):
    X = rows(40_000)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=1.0, w=np.arange(40_000) % 3)
    for i in range(3):
        frame.iloc[i * 15_000 : (i + 1) * 15_000].to_parquet(tmp_path / f"{i}.parquet")
    source = scan(tmp_path, target="y", weight="w")
    mine = ours().fit(source)
    same = ours().fit(X, sample_weight=frame.w)
    for name in LEARNED[ours]:
        np.testing.assert_array_equal(getattr(mine, name), getattr(same, name))
    out = mine.transform(source)
    assert isinstance(out, MappedSource)
    assert (out.has_target, out.has_weight, out.n_rows) == (True, True, 40_000)
    assert out.column_label(1) == "column 'b'"
    found = np.concatenate([piece.load().X for piece in pickle.loads(pickle.dumps(out)).pieces()])
    np.testing.assert_array_equal(found, same.transform(X))
    back = mine.inverse_transform(out)
    found = np.concatenate([piece.load().X for piece in back.pieces()])
    np.testing.assert_allclose(found, X, rtol=1e-9, atol=1e-9)


def test_a_mapped_source_keeps_what_was_learned_then():
    X = rows(100, missing=False)
    scaler = StandardScaler().fit(X)
    expected, out = scaler.transform(X), scaler.transform(ArraySource(X))
    scaler.fit(X + 5)
    np.testing.assert_array_equal(next(out.pieces()).load().X, expected)


# --- update, merge, forget, refit, save ----------------------------------------------------


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_update_and_merge_are_the_fit_on_all_rows(ours):
    X = rows(900)
    whole = ours().fit(X)
    updated = ours().partial_fit(X[:300]).update(X[300:500]).partial_fit(X[500:])
    merged = suffice.merge(*(ours().fit(X[i::3]) for i in range(3)))
    for model in (updated, merged):
        assert_alike(model, whole, 1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_forgotten_rows_leave_nothing(exact):
    X = rows(900)
    scaler = StandardScaler(exact=exact).fit(X).forget(X[600:])
    assert_alike(scaler, StandardScaler().fit(X[:600]), 1e-9)
    assert scaler.certificate_.digits > 8
    assert scaler.statistics_.precision == ("double-double" if exact else "float64")


def test_forgetting_what_is_far_larger_needs_exact():
    X = rows(200, missing=False)[:, :1]
    X[150:] *= 1e9
    scaler = StandardScaler().fit(X)
    before = copy.deepcopy(vars(scaler))
    with pytest.raises(ValueError, match="digits could be guaranteed"):
        scaler.forget(X[150:])
    assert scaler.mean_ == before["mean_"]
    exact = StandardScaler(exact=True).fit(X).forget(X[150:])
    assert_alike(exact, StandardScaler().fit(X[:150]), 1e-13)


def test_extremes_cannot_forget():
    X = rows(20)
    with pytest.raises(ValueError, match="MinMaxScaler cannot forget"):
        MinMaxScaler().fit(X).forget(X[:5])


def test_refit_needs_no_rows():
    X = rows(50)
    scaler = StandardScaler().fit(X).refit(with_std=False)
    assert scaler.scale_ is None
    assert_alike(scaler.refit(with_std=True), StandardScaler().fit(X))
    moved = MinMaxScaler().fit(X).refit(feature_range=(0, 10))
    assert_alike(moved, peer.MinMaxScaler(feature_range=(0, 10)).fit(X))


@pytest.mark.parametrize("model", PLAIN, ids=str)
def test_saved_and_loaded(model, tmp_path):
    X = rows(60)
    model = copy.deepcopy(model).fit(pd.DataFrame(X, columns=list("abcde")))
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    again.update(frame)


# --- from full moments, for cross-validation in one pass -----------------------------------


@pytest.mark.parametrize("precision", ["float64", "double-double"])
@pytest.mark.parametrize("switches", [{}, {"with_mean": False}, {"with_std": False}], ids=str)
def test_moments_of_scaled_columns(precision, switches):
    X = rows(500, missing=False)
    y = (X @ np.arange(1.0, 6.0) + 3)[:, None]
    moments = Moments.summarize(X, y, None, precision)
    scaler = StandardScaler(**switches)
    fitted = scaler._from_columns(moments.columns_seen(5))
    assert not hasattr(scaler, "mean_")
    assert_alike(fitted, StandardScaler(**switches).fit(X))
    found = moments.rescaled(*fitted._centre_and_scale(), 5)
    expected = Moments.summarize(fitted.transform(X), y, None, precision)
    np.testing.assert_allclose(found.mean.hi, expected.mean.hi, atol=1e-9)
    np.testing.assert_allclose(
        found.rounded_scatter, expected.rounded_scatter, rtol=1e-9, atol=1e-6
    )
    assert found.precision == precision
    np.testing.assert_array_equal(found.mean.hi[5:], moments.mean.hi[5:])
    assert (found.magnitude >= np.diagonal(found.rounded_scatter) * (1 - 1e-9)).all()


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_infinity_is_named_and_nan_is_not(ours):
    X = rows(30)
    X[17, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity .*column 1, row 17 "):
        ours().fit(X)
    with pytest.raises(ValueError, match=r"infinity .*column 1, row 17 "):
        ours().fit(ArraySource(X))


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_text_is_named(ours):
    with pytest.raises(ValueError, match=r"Column 'city' has type str.*OneHotEncoder"):
        ours().fit(pd.DataFrame({"x": [1.0], "city": ["Ulm"]}))


@pytest.mark.parametrize(("ours", "theirs"), SCALERS)
def test_a_column_without_any_value(ours, theirs):
    X = rows(30)
    X[:, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs().fit(X)
    assert_alike(ours().fit(X), other)


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_one_row_and_no_row(ours):
    assert ours().fit_transform([[3.0, 4.0]]).tolist() == [[0.0, 0.0]]
    with pytest.raises(ValueError, match=r"minimum of 1 is required|no rows"):
        ours().fit(np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"no rows|weight"):
        ours().fit(rows(10), sample_weight=np.zeros(10))


@pytest.mark.parametrize("ours", [StandardScaler, MinMaxScaler])
def test_only_rows_of_the_fits_width_are_changed_back(ours):
    model = ours().fit(np.arange(12.0).reshape(4, 3))
    for rows in (np.ones((4, 1)), ArraySource(np.ones((4, 1)))):
        with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 3"):
            model.inverse_transform(rows)


def test_a_range_has_two_ends():
    with pytest.raises(ValueError, match=r"\(low, high\), got \(0, 1, 2\)"):
        MinMaxScaler(feature_range=(0, 1, 2)).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="so small that its inverse"):
        MinMaxScaler().fit([[1e-310], [2e-310]])


@pytest.mark.parametrize("model", [StandardScaler(), MinMaxScaler(), suffice.PCA()])
def test_a_source_stays_one_where_frames_are_asked_for(model):
    source = ArraySource(np.random.default_rng(0).normal(size=(9, 3)), feature_names=list("abc"))
    out = model.set_output(transform="pandas").fit_transform(source)
    assert isinstance(out, MappedSource)
    assert out.feature_names == tuple(model.get_feature_names_out())


def test_the_certificate_tells_of_columns_without_any_value():
    model = StandardScaler().fit([[1.0, np.nan], [2.0, np.nan]])
    assert model.certificate_.notes == ("1 columns have no value in any row: they come out as NaN",)


def test_copy_is_accepted_and_nothing_is_overwritten():
    X = np.arange(6.0).reshape(3, 2)
    model = StandardScaler().fit(X)
    assert (model.transform(X, copy=False) == model.transform(X)).all()
    assert (np.arange(6.0).reshape(3, 2) == X).all()


def test_too_few_digits_are_not_called_proved():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1e-160, 1, 1]
    with pytest.warns(ConvergenceWarning, match="rescale"):
        scaler = StandardScaler().fit(X)
    assert scaler.certificate_.digits < 6
    assert not scaler.certificate_.holds


# --- rows that do not exist, and refits ----------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        StandardScaler(),
        StandardScaler(exact=True),
        MinMaxScaler(),
        OneHotEncoder(),
        SimpleImputer(),
        SimpleImputer(strategy="median"),
        ColumnTransformer([("all", StandardScaler(), ["a", "b"])]),
    ],
)
def test_weights_that_are_all_zero(model, tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(w=0.0).to_parquet(tmp_path / "a.parquet")
    source = as_source(frame, None, np.zeros(3))
    for rows_of_no_weight in (source, scan(tmp_path / "a.parquet", weight="w")):
        with pytest.raises(ValueError, match="every row has weight zero"):
            clone(model).fit(rows_of_no_weight)
    if isinstance(model, StandardScaler | MinMaxScaler):
        with pytest.raises(ValueError, match="at least one non-zero"):
            clone(model).fit(X, sample_weight=np.zeros(3))
        # More rows of weight 0 change nothing.
        fitted = clone(model).fit(frame)
        before = fitted.scale_.copy()
        np.testing.assert_array_equal(fitted.update(source).scale_, before)


def test_columns_of_nothing_but_nan_are_no_reason_to_complain():
    X = np.full((3, 2), np.nan)
    for weight in (None, np.ones(3)):
        mine = StandardScaler().fit(X, sample_weight=weight)
        assert np.isnan(mine.mean_).all()
        assert mine.n_samples_seen_ == 0


def test_clip_is_refitted():
    X, new = np.arange(6.0).reshape(3, 2), np.array([[-9.0, 99.0]])
    mine = MinMaxScaler().fit(X).refit(clip=True, feature_range=(-1, 2))
    other = peer.MinMaxScaler(clip=True, feature_range=(-1, 2)).fit(X)
    np.testing.assert_array_equal(mine.transform(new), other.transform(new))
    assert mine.refit(clip=False).transform(new).min() < -1
