"""Which of scikit-learn's tests for k-means are left out here, and which fail, with the reasons.

What is on neither list passes.  A star stands for anything.
"""

from __future__ import annotations

from peers.lines import Line

LEFT_OUT: tuple[Line, ...] = (
    Line(
        "about scikit-learn's private methods and attributes alone",
        (
            "test_k_means.py::test_kmeans_init_auto_with_initial_centroids[KMeans-*",
            "test_k_means.py::test_n_init_auto[KMeans-*",
            "test_k_means.py::test_sample_weight_init*",
            "test_k_means.py::test_sample_weight_zero*",
        ),
    ),
)

DIFFERENT: tuple[Line, ...] = (
    Line(
        "nothing is printed: `trace_` tells how the fit went",
        ("test_k_means.py::test_kmeans_verbose*",),
        says="assert None",
    ),
    Line(
        "centres of float32 rows are float64: nothing is gained by rounding them",
        ("test_k_means.py::test_float_precision*-KMeans-*",),
        says="float64",
    ),
    Line(
        "one cluster needs no other algorithm, so there is nothing to warn of",
        ("test_k_means.py::test_warning_elkan_1_cluster",),
        says="DID NOT WARN",
    ),
)
