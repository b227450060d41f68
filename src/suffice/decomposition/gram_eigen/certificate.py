"""What is proved about eigenvalues of a kernel's matrix.

With V as good as orthonormal, each computed λ is no further than ‖K v − λ v‖ from an eigenvalue of
K (Weyl).  That none is larger follows if what is left, ‖K‖² − Σ λ² in squared Frobenius norms,
leaves no room for one.
"""

from __future__ import annotations

import numpy as np

from suffice.decomposition.gram_eigen.solve import EigenPairs, product, strips
from suffice.engines.passes import each
from suffice.fitting.certificate import ENOUGH_DIGITS, Certificate, digits_within, rounded_down
from suffice.numerics.kernel_functions import Floats, KernelFunction

EPS = float(np.finfo(np.float64).eps)

MOST_TURNED = 1e-8
"""How far from orthonormal the vectors may be."""


def certify(
    K: Floats, pairs: EigenPairs, centring: float, kernel: KernelFunction, n_jobs: int | None
) -> Certificate:
    """Measure the residuals of the pairs, and say what follows.

    `centring` bounds the rounding that is in the matrix itself.
    """
    n, (values, vectors, path) = len(K), pairs
    squares = each(strips(n), lambda cut, stopped: float(np.vdot(K[cut], K[cut])), n_jobs)
    norm = float(np.sqrt(sum(squares)))
    left = product(K, vectors, n_jobs) - vectors * values
    residual = float(np.linalg.norm(left, axis=0).max())
    turned = float(np.linalg.norm(vectors.T @ vectors - np.eye(len(values))))
    rounding = n * EPS * norm + centring
    largest = float(np.abs(values).max())
    # Rows that are all alike have no variance: none of the values is more than rounding.
    scale = largest if largest > rounding else max(centring / EPS, 1.0)
    digits = digits_within((residual + rounding) / scale + EPS) if turned <= MOST_TURNED else 0.0
    smallest = float(values.min())
    measures = {
        "residual": residual / scale,
        "orthogonality": turned,
        "negative": min(smallest, 0.0),
        "digits": digits,
    }
    notes = _notes(norm, pairs, kernel, smallest, rounding)
    claim = f"eigenvalues of the centred kernel matrix, to {rounded_down(digits)} digits or more"
    return Certificate(digits >= ENOUGH_DIGITS, f"{claim} of the largest", path, measures, notes)


def _notes(
    norm: float, pairs: EigenPairs, kernel: KernelFunction, smallest: float, rounding: float
) -> tuple[str, ...]:
    notes = []
    values = pairs.values
    if smallest < -rounding:
        notes.append(
            "there are negative eigenvalues: the kernel is not positive semi-definite, and their "
            "components are left out"
        )
    elif not kernel.is_semi_definite and len(values) < len(pairs.vectors):
        notes.append(
            "the kernel may have negative eigenvalues, which were not looked for: "
            "suffice.svm.mercer_check does"
        )
    room = np.sqrt(max(norm**2 - float(values @ values), 0.0))
    if pairs.path == "ARPACK" and room >= smallest:
        notes.append("that no larger eigenvalue was passed over is likely, not proved")
    return tuple(notes)
