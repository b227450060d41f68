"""Which of scikit-learn's tests for kernel methods are left out here, and which fail, with reasons.

What is on neither list passes.
"""

from __future__ import annotations

from peers.lines import Line

LEFT_OUT: tuple[Line, ...] = ()

DIFFERENT: tuple[Line, ...] = (
    Line(
        "the values of no kernel are unsymmetric: such a matrix is refused, not read in part",
        ("test_kernel_pca.py::test_kernel_pca_precomputed_non_symmetric*",),
        says="not symmetric",
    ),
    Line(
        "eigen_solver='randomized' finds the largest eigenvalues here, not the largest in modulus",
        ("test_kernel_pca.py::test_precomputed_kernel_not_psd[randomized]",),
        says="DID NOT RAISE",
    ),
)
