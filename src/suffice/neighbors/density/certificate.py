"""What is proved about kernel sums, and about a bandwidth that was chosen.

With ε = 2⁻⁵², d columns and n rows, and besides the rounding of the logarithm itself:

Kernels without an end.  A squared distance is right to (d + 2) ε, and hence an exponent, with the
logarithm of the row's weight relative to the largest in it, to (d + 6) ε of itself.  With shares pᵢ
of the sum, Σ pᵢ Eᵢ is the entropy of the shares less the sum's logarithm, and so at most log n more
than the least exponent E: exponents move the logarithm by no more than (d + 6) ε (E + log n).
Given them, a term is right to 2 ε, the sum of a leaf adds 4 ε, what is carried from leaf to leaf
next to nothing, a change of the largest term (once a leaf, at most) 2 ε, and what is left out 2⁻⁶⁰.

Kernels with an end.  A term is right to (d + 12) ε of the largest that K can be, and so is a sum to
this share of the weight within reach; summing a leaf adds 4 ε.  A row that is no farther from the
edge of a window than its distance is rounded may count as within or without.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.fitting.certificate import Certificate
from suffice.kernels.density.smooth import LEAF
from suffice.neighbors.density.bandwidth import Choice
from suffice.neighbors.density.kernels import DensityKernel
from suffice.statistics.rows.weighted import WeightedRows

EPSILON = 2.0**-52


def proof_of_sums(rows: WeightedRows, kernel: DensityKernel, bandwidth: float) -> Certificate:
    """How exact every density is.

    Parameters
    ----------
    rows : WeightedRows
    kernel : DensityKernel
    bandwidth : float

    Returns
    -------
    Certificate
    """
    columns, leaves = rows.X.shape[1], -(-rows.count // LEAF)
    if kernel.endless:
        exponents = EPSILON * (columns + 6)
        error = EPSILON * (12 + 2 * leaves) + exponents * np.log(rows.count)
        claim = (
            f"every log density is that of all rows, to {error:.0e} and {exponents:.0e} of the "
            "exponent of the nearest row's term"
        )
    else:
        error = EPSILON * (columns + 18)
        claim = f"every sum is that of all rows, to {error:.0e} of the weight within reach"
    measures = {"rows": float(rows.count), "bandwidth": bandwidth, "error": float(error)}
    return Certificate(True, claim, "sums over rows in leaves", measures)


def proof_of_choice(sums: Certificate, choice: Choice, rule: str, given: bool) -> Certificate:
    """That no better bandwidth was found, and that smaller and larger ones are worse.

    Parameters
    ----------
    sums : Certificate
        What is proved about the densities.
    choice : Choice
    rule : {"leave-one-out", "held-out"}
    given : bool
        Whether the user gave the bandwidths to choose from; then the best may be the first or last.

    Returns
    -------
    Certificate
    """
    holds = bool(np.isfinite(choice.log_likelihood)) and (given or choice.inside)
    notes = choice.notes
    if not holds:
        notes += ("the likelihood is highest at an end of the bandwidths that were tried",)
    claim = f"of {len(choice.tried)} bandwidths the one with the highest {rule} likelihood"
    if not given:
        claim += ", with lower ones on both sides"
    return replace(
        sums,
        holds=holds,
        claim=f"{claim}; {sums.claim}",
        path=f"{rule} likelihood, then {sums.path}",
        measures={**sums.measures, "log_likelihood": choice.log_likelihood},
        notes=notes,
    )
