"""The models that a mixed naive Bayes is made of: one for each kind of column that occurs.

Each learns from the columns of its kind alone, with those of the whole's parameters that it takes
and that concern columns; classes and their prior are the whole's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.generative.bernoulli_nb import BernoulliNB
from suffice.generative.categorical_nb import CategoricalNB
from suffice.generative.gaussian_nb import GaussianNB
from suffice.generative.multinomial_nb import MultinomialNB
from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.poisson_nb import PoissonNB

MODELS: dict[str, type[NaiveBayes]] = {
    "gaussian": GaussianNB,
    "categorical": CategoricalNB,
    "bernoulli": BernoulliNB,
    "multinomial": MultinomialNB,
    "poisson": PoissonNB,
}
"""The model of each kind of column."""

NOT_OF_PARTS = {"fit_prior", "class_prior", "unlabelled", "max_iter", "tol"}
"""Parameters that concern the classes, not the columns."""


def unfitted_part(kind: str, n_columns: int, parameters: Mapping[str, Any]) -> Any:
    """A model of columns of a kind.

    Parameters
    ----------
    kind : str
    n_columns : int
    parameters : mapping of str to value
        Those of the whole.
    """
    cls = MODELS[kind]
    shared = (set(cls._get_param_names()) & set(parameters)) - NOT_OF_PARTS
    part: Any = cls(**{name: parameters[name] for name in shared})
    part.n_features_in_ = n_columns
    return part


def least_categories(given: Any, columns: Sequence[int], n_columns: int) -> Any:
    """Of some of all columns the least numbers of categories, as `CategoricalNB` takes them.

    Parameters
    ----------
    given : int, array of shape (n_columns,), or None
        For all columns.
    columns : sequence of int
    n_columns : int
    """
    least = np.asarray(given)
    if least.ndim == 0:
        return given
    if least.shape != (n_columns,):
        raise ValueError(
            f"'min_categories' should have shape ({n_columns},) when an array-like is "
            f"provided. Got {least.shape} instead."
        )
    return least[list(columns)]


def proved_together(parts: Mapping[str, Certificate]) -> Certificate:
    """What is proved about all parts, from what is about that of each kind."""
    found = parts.values()
    return Certificate(
        all(one.holds for one in found),
        "; ".join(f"{kind}: {one.claim}" for kind, one in parts.items()),
        "; ".join(dict.fromkeys(one.path for one in found)),
        {"digits": min(one.digits for one in found)},
        tuple(f"{kind}: {note}" for kind, one in parts.items() for note in one.notes),
    )
