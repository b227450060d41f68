"""From joint to conditional probabilities of the classes."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from suffice.numerics.double_double import Array


def log_posterior(joint: Array) -> Array:
    """log p(y = k | x) from log p(x, y = k); where no class is possible, none is preferred.

    Parameters
    ----------
    joint : array of shape (rows, classes)
        −∞ for an impossible class; classes of infinite density share all probability.

    Returns
    -------
    array of shape (rows, classes)

    Examples
    --------
    >>> np.exp(log_posterior(np.array([[-1e9, -1e9], [np.inf, 0.0], [-np.inf, -np.inf]])))
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """
    # Far from every class log Σ exp would be lost beside joint: only differences count.
    highest = joint.max(axis=1, keepdims=True)
    if np.isinf(highest).any():
        tied = np.where(joint == highest, 0.0, -np.inf)
        joint = np.where(np.isinf(highest), tied, joint)
        highest = np.where(np.isinf(highest), 0.0, highest)
    joint = joint - highest
    return joint - logsumexp(joint, axis=1, keepdims=True)
