"""Half of the rows of real tables are forgotten, and six digits of what stays are right.

The oracle is rational arithmetic on the rows that stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from suffice import LinearRegression, Ridge
from tests.linear.exact import least_squares, standardised_digits


def shipped(name: str) -> tuple[Any, Any]:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y.astype(float)


def statsmodels_table(name: str, target: str) -> tuple[Any, Any]:
    import statsmodels.api as sm

    table = getattr(sm.datasets, name).load_pandas().data.select_dtypes("number").dropna()
    X = table.drop(columns=target).to_numpy(float)
    return X[:, np.ptp(X, axis=0) > 0], table[target].to_numpy(float)


TABLES = {
    "diabetes": lambda: shipped("diabetes"),
    "iris": lambda: shipped("iris"),
    "wine": lambda: shipped("wine"),
    "breast cancer": lambda: shipped("breast_cancer"),
    "linnerud": lambda: (datasets.load_linnerud().data, datasets.load_linnerud().target[:, 0]),
    "fair": lambda: statsmodels_table("fair", "affairs"),
    "anes96": lambda: statsmodels_table("anes96", "vote"),
    "grunfeld": lambda: statsmodels_table("grunfeld", "invest"),
    "ccard": lambda: statsmodels_table("ccard", "AVGEXP"),
    "copper": lambda: statsmodels_table("copper", "WORLDCONSUMPTION"),
    "longley": lambda: statsmodels_table("longley", "TOTEMP"),
    "stackloss": lambda: statsmodels_table("stackloss", "STACKLOSS"),
}


@pytest.mark.parametrize("in_float64", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_half_of_a_real_table_can_be_forgotten(
    name: str, in_float64: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_float64:
        monkeypatch.setattr(LinearRegression, "_cheap_exact", (0, 0))
        monkeypatch.setattr(Ridge, "_cheap_exact", (0, 0))
    X, y = TABLES[name]()
    order = np.random.default_rng(0).permutation(len(y))
    gone, stay = np.split(order, [len(y) // 2])
    model = (Ridge(alpha=0.1) if name == "linnerud" else LinearRegression()).fit(X, y)
    assert model.statistics_.precision == ("float64" if in_float64 else "double-double")
    model.forget(X[gone], y[gone])
    assert model.certificate_.holds
    truth = least_squares(X[stay], y[stay], penalty=getattr(model, "alpha", 0.0))
    right = standardised_digits(model, truth.coef, X[stay], y[stay], None)
    assert right >= model.certificate_.digits >= 6
