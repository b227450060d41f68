"""Rows of counts that the tests of naive Bayes models share."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from suffice import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB

MODELS = {
    "multinomial": MultinomialNB(),
    "Bernoulli": BernoulliNB(),
    "complement": ComplementNB(),
    "norm": ComplementNB(norm=True),
    "Poisson": PoissonNB(),
}
"""One of each event model."""

LAYOUTS = {"dense": np.asarray, "CSR": sparse.csr_array}


def counts(n=400, d=6, classes=3, seed=0):
    """Counts whose rates depend on the class, and labels that are text."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(1.0, 1.0, size=(classes, d))
    y = rng.integers(0, classes, size=n)
    names = np.array([f"Klasse {'äöüß'[k % 4]}{k}" for k in range(classes)], dtype=object)
    return rng.poisson(rates[y]).astype(float), names[y]


def holed(X, share=0.1, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def joint_without_each(model, X, y, weight=None, rows=None):
    """What fits without each row say about it, in the classes of all rows."""
    classes = np.unique(y)
    rows = range(len(y)) if rows is None else rows
    out = np.full((len(rows), len(classes)), -np.inf)
    from sklearn.base import clone

    for place, i in enumerate(rows):
        rest = np.arange(len(y)) != i
        one = clone(model).fit(X[rest], y[rest], None if weight is None else weight[rest])
        known = np.searchsorted(classes, one.classes_)
        out[place, known] = one.predict_joint_log_proba(X[i : i + 1])[0]
    return out
