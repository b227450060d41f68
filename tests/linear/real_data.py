"""Real data with labels: what scikit-learn and statsmodels ship."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets


class Data(NamedTuple):
    """Rows and the number of each row's class."""

    X: Any
    codes: Any

    @property
    def standardised(self) -> Data:
        X = self.X - self.X.mean(axis=0)
        spread = X.std(axis=0)
        return Data(X / np.where(spread > 0, spread, 1.0), self.codes)


def _split(X: Any, numbers: Any) -> Data:
    """Numbers made two classes: at or below the median, and above."""
    numbers = np.asarray(numbers, dtype=float)
    return Data(np.asarray(X, dtype=float), (numbers > np.median(numbers)).astype(int))


def _statsmodels(name: str) -> Any:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def fair() -> Data:
    table = _statsmodels("fair")
    return Data(table.drop(columns="affairs").to_numpy(float), (table["affairs"] > 0).to_numpy(int))


def spector() -> Data:
    table = _statsmodels("spector")
    return Data(table.drop(columns="GRADE").to_numpy(float), table["GRADE"].to_numpy(int))


def anes96() -> Data:
    """Seven party identifications."""
    table = _statsmodels("anes96")
    columns = ["logpopul", "selfLR", "age", "educ", "income"]
    return Data(table[columns].to_numpy(float), table["PID"].to_numpy(int))


def star98() -> Data:
    table = _statsmodels("star98")
    share = table["NABOVE"] / (table["NABOVE"] + table["NBELOW"])
    return _split(table.drop(columns=["NABOVE", "NBELOW"]).to_numpy(float)[:, :8], share)


def modechoice() -> Data:
    """Four ways to travel, chosen or not."""
    table = _statsmodels("modechoice")
    columns = ["ttme", "invc", "invt", "gc", "hinc", "psize"]
    return Data(table[columns].to_numpy(float), table["choice"].to_numpy(int))


def randhie() -> Data:
    table = _statsmodels("randhie")
    X = table.drop(columns="mdvis").to_numpy(float)
    return Data(X, (table["mdvis"] > 0).to_numpy(int))


def sklearn_set(name: str) -> Data:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Data(X, y)


def diabetes() -> Data:
    return _split(*datasets.load_diabetes(return_X_y=True, scaled=False))


def linnerud() -> Data:
    X, Y = datasets.load_linnerud(return_X_y=True)
    return _split(X, Y[:, 0])


SETS = {
    "iris": lambda: sklearn_set("iris"),
    "wine": lambda: sklearn_set("wine"),
    "breast cancer": lambda: sklearn_set("breast_cancer"),
    "digits": lambda: sklearn_set("digits"),
    "diabetes": diabetes,
    "linnerud": linnerud,
    "fair": fair,
    "spector": spector,
    "anes96": anes96,
    "star98": star98,
    "modechoice": modechoice,
    "randhie": randhie,
}
