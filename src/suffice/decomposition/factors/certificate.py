"""What is proved about factors: the slope of the likelihood that is left, and where bounds hold."""

from __future__ import annotations

import numpy as np

from suffice.decomposition.factors.maximum import NoiseMaximum
from suffice.decomposition.factors.number_of_factors import degrees_of_freedom
from suffice.fitting.certificate import Certificate, digits_within
from suffice.fitting.inputs import shown
from suffice.numerics.double_double import UNIT
from suffice.statistics.moments.full import Moments


def certified(found: NoiseMaximum, moments: Moments, least: float) -> Certificate:
    """The certificate of a maximum for noise of at least this share of the variances."""
    d, k, bounded = len(found.bounded), found.at.n_factors, np.flatnonzero(found.bounded)
    notes = []
    if not found.converged:
        notes.append(
            f"after {len(found.objectives)} iterations the likelihood still grows: raise max_iter"
        )
    if len(bounded):
        notes.append(
            f"noise at its lower bound, min_uniqueness={least:g} of the variance (a Heywood case): "
            f"columns {shown([str(j) for j in bounded])}, from 0"
        )
    if k and degrees_of_freedom(d, k) < 0:
        notes.append(
            f"{k} factors of {d} columns have more parameters than there are covariances: other "
            "loadings and noise variances are as likely"
        )
    claim = (
        "the likelihood is stationary, and the largest of the maxima found, with noise of at least "
        f"{least:g} of each column's variance"
    )
    measures = {
        "stationarity": found.slope,
        "at_bound": float(len(bounded)),
        "digits": digits_within(_error(found, moments)),
    }
    path = f"moments in {moments.precision}, {len(found.objectives)} iterations"
    return Certificate(found.converged, claim, path, measures, tuple(notes))


def _error(found: NoiseMaximum, moments: Moments) -> float:
    """Relative error of U⁻½ R U⁻½, from which all is computed: that of R, divided by the noise."""
    spread = float((moments.magnitude / np.diagonal(moments.rounded_scatter)).max())
    noise = float(np.exp(found.at.log_noise.min()))
    return (2 * moments.error_unit * spread + 4 * UNIT) * len(found.bounded) / noise
