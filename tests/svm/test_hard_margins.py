"""Hard margins: whether there is one, the proof that there is none, starts from other labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from suffice import SVC
from suffice.svm.margins.separability import common_point
from tests.svm.test_svc import multipliers, real


def test_a_hard_margin():
    X, y = real("iris")
    X, y = X[:100], y[:100]
    hard = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
    soft = svm.SVC(kernel="linear", C=1e6, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-6)
    assert hard.geometric_margin_ == pytest.approx(1 / np.linalg.norm(soft.coef_), rel=1e-6)
    assert hard.certificate_.gap <= 1e-6 * hard.certificate_.dual
    gaussian = SVC(C=float("inf")).fit(*real("wine"))
    assert gaussian.certificate_.holds
    assert (np.nan_to_num(gaussian.functional_margins_, nan=1.0) > 0.99).all()


def test_no_hard_margin():
    X, y = real("iris")
    with pytest.raises(ValueError, match=r"classes 1 and 2 are not separable.*coincide"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    twins = np.vstack([X[:50], X[:1]])
    with pytest.raises(ValueError, match="not separable"):
        SVC(C=np.inf).fit(twins, [0] * 50 + [1])
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        SVC(C=np.inf, max_iter=3).fit(X, y)


def test_many_steps_are_no_proof_that_there_is_no_margin():
    """The classes are separable, as the linear programme says; the way there is long."""
    X, y = real("breast_cancer")
    assert common_point(X, np.where(y == 1, 1.0, -1.0)) is None
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        model = SVC(kernel="poly", degree=1, gamma=1.0, C=np.inf, max_iter=1_500_000).fit(X, y)
    assert not model.certificate_.holds


def test_the_proof_of_no_margin_is_a_common_point():
    X, y = real("iris")
    X, signs = X[50:], np.where(y[50:] == 1, 1.0, -1.0)
    for rows in (X, sparse.csr_array(X)):
        weights = common_point(rows, signs)
        assert (weights >= -1e-12).all()
        np.testing.assert_allclose([weights[:50].sum(), weights[50:].sum()], 1)
        np.testing.assert_allclose(X.T @ (weights * signs), 0, atol=1e-8)
        assert common_point(rows[:50], np.where(X[:50, 0] > 0, 1.0, -1.0)) is None


def test_a_start_of_other_labels_is_no_start():
    """Of a row that is now of another class, the multipliers do not sum to 0."""
    X, y = real("wine")
    model = SVC(C=np.inf, warm_start=True).fit(X, y)
    moved = model.support_[(y[model.support_] == 2) & model.dual_coef_.all(axis=0)][0]
    y[moved] = 1
    model.fit(X, y)
    assert all(abs(beta.sum()) < 1e-12 for beta in multipliers(model, X))
    fresh = SVC(C=np.inf).fit(X, y)
    assert model.certificate_.dual == pytest.approx(fresh.certificate_.dual, rel=1e-9)
