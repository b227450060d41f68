"""The way of the means through the steps of EM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class MeansPath:
    """A callback that keeps the means after every step of a fit.

    Of several starts (`n_init`) it sees the first.  A fit begins a new path.

    Attributes
    ----------
    means : list of float64 arrays of shape (components, columns)
        One a step.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianMixture
    >>> from suffice.mixtures import MeansPath
    >>> path = MeansPath()
    >>> model = GaussianMixture(3, random_state=0).set_callbacks(path).fit(load_iris().data)
    >>> len(path.means) == model.n_iter_, bool((path.means[-1] == model.means_).all())
    (True, True)
    """

    means: list[NDArray[np.float64]]

    def __init__(self) -> None:
        self.means = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a new path."""
        self.means = []

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing: means are known after a step."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep the means, if the pass was a step of EM."""
        if context.task_name == "pass" and hasattr(fitted_estimator, "means_"):
            self.means.append(np.array(fitted_estimator.means_))

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing: the path stays."""
