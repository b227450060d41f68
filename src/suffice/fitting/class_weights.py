"""Factors by which classes weigh more or less than their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_factors(
    class_weight: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The factor of each class.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        By label, 1 for those that are not named; or such that all classes weigh the same.
    labels : array of shape (classes,)
    weight : float64 array of shape (classes,)
        What the rows of each weigh.

    Returns
    -------
    float64 array of shape (classes,), or None where all are 1

    Examples
    --------
    >>> import numpy as np
    >>> class_factors("balanced", np.array(["no", "yes"]), np.array([90.0, 10.0]))
    array([0.55555556, 5.        ])
    """
    if class_weight is None:
        return None
    if not isinstance(class_weight, dict):
        return np.asarray(weight.sum() / (len(labels) * weight))
    known = labels.tolist()
    strangers = [label for label in class_weight if label not in known]
    if strangers and len(class_weight) - len(strangers) < len(known):
        raise ValueError(
            f"class_weight names {strangers[0]!r}, which is no label of the target; those are "
            f"{', '.join(map(repr, known[:10]))}"
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors).all() and (factors >= 0).all() and factors.any()):
        raise ValueError(
            f"class_weight must be finite, not negative and not all 0, got {class_weight!r}"
        )
    return factors


def positive_factors(
    class_weight: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The factor of each class, for models to which a class without weight is no class.

    The parameters are those of `class_factors`; a factor of 0 raises ValueError.
    """
    factors = class_factors(class_weight, labels, weight)
    if factors is None:
        return np.ones(len(labels))
    if not factors.all():
        nothing = labels[factors == 0].tolist()[0]
        raise ValueError(
            f"class_weight gives class {nothing!r} the weight 0: leave its rows out, or choose a "
            "weight above 0"
        )
    return factors
