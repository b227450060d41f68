"""Mixtures of Gaussians: EM from a start that is given, 20 steps and the likeliest components.

All contenders make the same steps at two threads, so that their answers can be compared: the mean
log-likelihood that the last step began with, the weights and the means.  daal4py does not predict,
and is timed without.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Answer, Bar, Options, Race, Row
from benchmarks.tables import factors

Floats = NDArray[np.float64]

K = 10
STEPS = 20
THREADS = 2
KAPPA = 30.0

# --- data ----------------------------------------------------------------------------------


def clouds(
    options: Options, *, rows: int, columns: int, k: int = K, seed: int = 0
) -> tuple[Floats, None]:
    """K clouds of different shapes that overlap."""
    rows = rows // 10 if options.quick else rows
    rng = np.random.default_rng(seed)
    means = 2 * rng.standard_normal((k, columns))
    shapes = rng.standard_normal((k, columns, columns)) / np.sqrt(columns) + np.eye(columns)
    component = rng.integers(k, size=rows)
    X = np.empty((rows, columns))
    for c in range(k):
        here = component == c
        X[here] = means[c] + rng.standard_normal((int(here.sum()), columns)) @ shapes[c].T
    return X, None


def correlated(options: Options, *, rows: int, columns: int) -> tuple[Floats, None]:
    """Six factors, κ = 30, columns of deviation 1 up to ten of these away from zero."""
    X = factors(rows // 10 if options.quick else rows, columns, KAPPA, seed=3)
    return X / X.std(axis=0), None


def start(X: Floats, kind: str, k: int = K) -> dict[str, Any]:
    """Rows by lot, in equal shares, and the identity for all covariances."""
    d = X.shape[1]
    precisions = {
        "full": np.tile(np.eye(d), (k, 1, 1)),
        "tied": np.eye(d),
        "diag": np.ones((k, d)),
        "spherical": np.ones(k),
    }
    return {
        "means_init": X[np.random.default_rng(1).choice(len(X), k, replace=False)],
        "weights_init": np.full(k, 1 / k),
        "precisions_init": precisions[kind],
    }


# --- contenders ----------------------------------------------------------------------------


def answer(likelihood: float, weights: Any, means: Any) -> Answer:
    return np.concatenate([[likelihood], np.ravel(weights), np.ravel(means)])


def climbed(
    X: Floats, y: None, *, model: Any, kind: str, k: int, steps: int, reg_covar: float
) -> Answer:
    import warnings

    from threadpoolctl import threadpool_limits

    given = start(X, kind, k)
    made = model(k, covariance_type=kind, tol=0, max_iter=steps, reg_covar=reg_covar, **given)
    with warnings.catch_warnings(), threadpool_limits(THREADS):
        warnings.simplefilter("ignore")  # so few steps are not enough for tol=0
        made.fit_predict(X)
    return answer(made.lower_bound_, made.weights_, made.means_)


def ours(
    X: Floats, y: None, *, kind: str, k: int = K, steps: int = STEPS, reg_covar: float = 1e-6
) -> Answer:
    from suffice import GaussianMixture

    model = partial(GaussianMixture, n_jobs=THREADS)
    return climbed(X, y, model=model, kind=kind, k=k, steps=steps, reg_covar=reg_covar)


def sklearn(
    X: Floats, y: None, *, kind: str, k: int = K, steps: int = STEPS, reg_covar: float = 1e-6
) -> Answer:
    from sklearn.mixture import GaussianMixture as Theirs

    return climbed(X, y, model=Theirs, kind=kind, k=k, steps=steps, reg_covar=reg_covar)


def daal(X: Floats, y: None) -> Answer:
    """EM without anything added to the variances."""
    import daal4py

    daal4py.daalinit(THREADS)
    given, d = start(X, "full"), X.shape[1]
    algorithm = daal4py.em_gmm(
        nComponents=K, maxIterations=STEPS, accuracyThreshold=0.0, covarianceStorage="full"
    )
    found = algorithm.compute(X, given["weights_init"][None], given["means_init"], [np.eye(d)] * K)
    return answer(np.ravel(found.goalFunction)[0] / len(X), found.weights, found.means)


# --- rows ----------------------------------------------------------------------------------


def race(kind: str, data: Any, name: str = "") -> Race:
    return Race(
        f"GaussianMixture, {kind}, {K} components, {STEPS} steps{name}",
        data,
        partial(ours, kind=kind),
        {"scikit-learn": partial(sklearn, kind=kind)},
        Bar(LIMITS[kind], strict=False),
        reference="scikit-learn",
        tolerance=1e-7,
        rounds=3,
        once=frozenset({"scikit-learn"}),
    )


LIMITS = {"full": 0.2, "tied": 0.1, "diag": 0.3, "spherical": 0.3}
LARGE = partial(clouds, rows=200_000, columns=20)
FACTORS = partial(correlated, rows=200_000, columns=20)

ROWS: tuple[Row, ...] = (
    *(race(kind, LARGE) for kind in LIMITS),
    Race(
        f"GaussianMixture, full, {K} components, {STEPS} steps, next to daal4py",
        LARGE,
        partial(ours, kind="full", reg_covar=0.0),
        {"daal4py": daal},
        Bar(0.8),
        reference=partial(sklearn, kind="full", reg_covar=0.0),
        truth="scikit-learn",
        tolerance=1e-7,
        rounds=5,
    ),
    *(race(kind, FACTORS, ", correlated columns") for kind in ("full", "tied")),
)
