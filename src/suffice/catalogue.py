"""The table of models: what each can do.

Documentation, command line and contract tests are made from this table.  A model listed
with an ability it lacks fails its tests, and so does a public estimator that is missing.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One model and its abilities.

    Attributes
    ----------
    name : str
        The public name.
    module : str
        Where it is defined.
    task : {"regression", "classification", "density", "decomposition", "preprocessing"}
    objective : str
        What a fit minimises, or else what it finds, in a line.
    docs : str
        Its page in the documentation.
    merge, forget : bool
        Whether its statistic can be merged, and rows subtracted from it.
    refit : tuple of str
        Parameters that can be changed without the data.
    stream : bool
        Whether it fits from files, block by block.
    distribute : bool
        Whether it fits on a cluster.
    weights, missing, sparse : bool
        Whether it takes row weights, NaN cells, and CSR matrices.
    """

    name: str
    module: str
    task: str
    objective: str
    docs: str
    merge: bool = False
    forget: bool = False
    refit: tuple[str, ...] = ()
    stream: bool = True
    distribute: bool = False
    weights: bool = True
    missing: bool = False
    sparse: bool = False

    def load(self) -> type[Any]:
        """The class."""
        found: type[Any] = getattr(importlib.import_module(self.module), self.name)
        return found


MODELS: tuple[Entry, ...] = (
    Entry(
        name="LinearRegression",
        module="suffice.linear.linear_regression",
        task="regression",
        objective="½ Σ w (θ·x + b − y)²",
        merge=True,
        forget=True,
        refit=("fit_intercept",),
        sparse=True,
        docs="linear-regression.md",
    ),
    Entry(
        name="Ridge",
        module="suffice.linear.ridge",
        task="regression",
        objective="½ Σ w (θ·x + b − y)² + (α/2) ‖θ‖²",
        merge=True,
        forget=True,
        refit=("alpha", "fit_intercept", "standardize"),
        sparse=True,
        docs="ridge.md",
    ),
    Entry(
        name="LocallyWeightedRegression",
        module="suffice.linear.locally_weighted_regression",
        task="regression",
        objective="at each query q: Σ w exp(−‖x − q‖²/2τ²) (b + β·(x − q) − y)² + α ‖β‖²",
        docs="locally-weighted-regression.md",
    ),
    Entry(
        name="BayesianLinearRegression",
        module="suffice.linear.bayesian_linear_regression",
        task="regression",
        objective="−log p(θ, b, σ² ∣ y), its mean and spread",
        merge=True,
        forget=True,
        refit=(
            "prior_precision",
            "prior_mean",
            "a0",
            "b0",
            "fit_intercept",
            "noise_variance",
            "evidence",
        ),
        sparse=True,
        docs="bayesian-linear-regression.md",
    ),
    Entry(
        name="Lasso",
        module="suffice.linear.lasso",
        task="regression",
        objective="(1/2W) Σ w (θ·x + b − y)² + α ‖θ‖₁",
        merge=True,
        forget=True,
        refit=("alpha", "fit_intercept", "positive", "standardize"),
        sparse=True,
        docs="lasso.md",
    ),
    Entry(
        name="ElasticNet",
        module="suffice.linear.elastic_net",
        task="regression",
        objective="(1/2W) Σ w (θ·x + b − y)² + α (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²)",
        merge=True,
        forget=True,
        refit=("alpha", "l1_ratio", "fit_intercept", "positive", "standardize"),
        sparse=True,
        docs="lasso.md",
    ),
    Entry(
        name="GeneralizedLinearModel",
        module="suffice.linear.generalized_linear_model",
        task="regression",
        objective="(1/2W) Σ w d(y, g⁻¹(θ·x + b)) + (α/2) ‖θ‖²",
        sparse=True,
        docs="generalized-linear-model.md",
    ),
    Entry(
        name="Perceptron",
        module="suffice.linear.perceptron",
        task="classification",
        objective="a boundary with every row on its side",
        weights=False,
        sparse=True,
        docs="perceptron.md",
    ),
    Entry(
        name="LogisticRegression",
        module="suffice.linear.logistic_regression",
        task="classification",
        objective="−Σ w log P(y ∣ x) + (1/C) (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²)",
        sparse=True,
        docs="logistic-regression.md",
    ),
    Entry(
        name="OneVsRest",
        module="suffice.ensembles.one_vs_rest",
        task="classification",
        objective="that of a binary model for each class against the rest",
        sparse=True,
        docs="one-vs-rest.md",
    ),
    Entry(
        name="PCA",
        module="suffice.decomposition.pca",
        task="decomposition",
        objective="Σ w ‖(x − m) − Vᵀ V (x − m)‖²",
        merge=True,
        forget=True,
        refit=("n_components", "whiten", "standardize"),
        sparse=True,
        docs="pca.md",
    ),
    Entry(
        name="GaussianNB",
        module="suffice.generative.gaussian_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ N(xⱼ; θᵧⱼ, vᵧⱼ + ε)",
        merge=True,
        forget=True,
        refit=("priors", "var_smoothing", "tied_variance", "prior_alpha"),
        missing=True,
        docs="gaussian-nb.md",
    ),
    Entry(
        name="CategoricalNB",
        module="suffice.generative.categorical_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ (Nᵧⱼₓ + α)/(nᵧⱼ + Kⱼ α)",
        merge=True,
        forget=True,
        refit=(
            "alpha",
            "force_alpha",
            "fit_prior",
            "class_prior",
            "min_categories",
            "prior_alpha",
        ),
        missing=True,
        docs="mixed-nb.md",
    ),
    Entry(
        name="MultinomialNB",
        module="suffice.generative.multinomial_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ θᵧⱼ^xⱼ, with pseudo-counts α",
        merge=True,
        forget=True,
        refit=("alpha", "force_alpha", "fit_prior", "class_prior", "prior_alpha"),
        missing=True,
        sparse=True,
        docs="naive-bayes.md",
    ),
    Entry(
        name="BernoulliNB",
        module="suffice.generative.bernoulli_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ θᵧⱼ^xⱼ (1 − θᵧⱼ)^(1 − xⱼ), with pseudo-counts α",
        merge=True,
        forget=True,
        refit=("alpha", "force_alpha", "fit_prior", "class_prior", "prior_alpha"),
        missing=True,
        sparse=True,
        docs="naive-bayes.md",
    ),
    Entry(
        name="ComplementNB",
        module="suffice.generative.complement_nb",
        task="classification",
        objective="the shares of the events in the rows of all other classes",
        merge=True,
        forget=True,
        refit=("alpha", "force_alpha", "fit_prior", "class_prior", "norm", "prior_alpha"),
        missing=True,
        sparse=True,
        docs="naive-bayes.md",
    ),
    Entry(
        name="PoissonNB",
        module="suffice.generative.poisson_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ λᵧⱼ^xⱼ exp(−λᵧⱼ), with α pseudo-events in β pseudo-rows",
        merge=True,
        forget=True,
        refit=("alpha", "beta", "force_alpha", "fit_prior", "class_prior", "prior_alpha"),
        missing=True,
        sparse=True,
        docs="naive-bayes.md",
    ),
    Entry(
        name="LinearDiscriminantAnalysis",
        module="suffice.generative.linear_discriminant_analysis",
        task="classification",
        objective="−Σ w log πᵧ N(x; μᵧ, Σ)",
        merge=True,
        forget=True,
        refit=(
            "solver",
            "shrinkage",
            "priors",
            "n_components",
            "store_covariance",
            "tol",
            "covariance_estimator",
        ),
        docs="discriminant-analysis.md",
    ),
    Entry(
        name="QuadraticDiscriminantAnalysis",
        module="suffice.generative.quadratic_discriminant_analysis",
        task="classification",
        objective="−Σ w log πᵧ N(x; μᵧ, Σᵧ)",
        merge=True,
        forget=True,
        refit=(
            "solver",
            "shrinkage",
            "priors",
            "reg_param",
            "store_covariance",
            "tol",
            "covariance_estimator",
        ),
        docs="discriminant-analysis.md",
    ),
    Entry(
        name="KNeighborsClassifier",
        module="suffice.neighbors.k_neighbors_classifier",
        task="classification",
        objective="votes of the k nearest rows",
        merge=True,
        forget=True,
        refit=(
            "n_neighbors",
            "algorithm",
            "leaf_size",
            "p",
            "metric",
            "metric_params",
            "weights",
        ),
        weights=False,
        sparse=True,
        docs="nearest-neighbours.md",
    ),
    Entry(
        name="KNeighborsRegressor",
        module="suffice.neighbors.k_neighbors_regressor",
        task="regression",
        objective="mean over the k nearest rows",
        merge=True,
        forget=True,
        refit=(
            "n_neighbors",
            "algorithm",
            "leaf_size",
            "p",
            "metric",
            "metric_params",
            "weights",
        ),
        weights=False,
        sparse=True,
        docs="nearest-neighbours.md",
    ),
    Entry(
        name="KNeighborsDensity",
        module="suffice.neighbors.k_neighbors_density",
        task="density",
        objective="k/(n V), V the volume that holds the k nearest rows",
        merge=True,
        forget=True,
        refit=(
            "n_neighbors",
            "algorithm",
            "leaf_size",
            "p",
            "metric",
            "metric_params",
        ),
        weights=False,
        sparse=True,
        docs="nearest-neighbours.md",
    ),
    Entry(
        name="KernelDensity",
        module="suffice.neighbors.kernel_density",
        task="density",
        objective="Σ w K((q − x)/h) / (W hᵈ ∫ K), the density at q",
        merge=True,
        forget=True,
        refit=("bandwidth", "kernel", "bandwidths", "folds"),
        docs="kernel-density.md",
    ),
    Entry(
        name="MixedNB",
        module="suffice.generative.mixed_nb",
        task="classification",
        objective="−Σ w log πᵧ Πⱼ pⱼ(xⱼ ∣ y), each column of its own kind",
        merge=True,
        forget=True,
        refit=(
            "alpha",
            "beta",
            "force_alpha",
            "min_categories",
            "var_smoothing",
            "tied_variance",
            "fit_prior",
            "class_prior",
            "prior_alpha",
        ),
        missing=True,
        docs="mixed-nb.md",
    ),
    Entry(
        name="StandardScaler",
        module="suffice.preprocessing.standard_scaler",
        task="preprocessing",
        objective="mean and variance of each column",
        merge=True,
        forget=True,
        refit=("with_mean", "with_std"),
        missing=True,
        docs="preprocessing.md",
    ),
    Entry(
        name="MinMaxScaler",
        module="suffice.preprocessing.min_max_scaler",
        task="preprocessing",
        objective="range of each column",
        merge=True,
        refit=("feature_range", "clip"),
        missing=True,
        docs="preprocessing.md",
    ),
    Entry(
        name="OneHotEncoder",
        module="suffice.preprocessing.one_hot_encoder",
        task="preprocessing",
        objective="distinct values of each column",
        merge=True,
        forget=True,
        refit=("drop", "sparse_output", "handle_unknown", "min_frequency", "max_categories"),
        weights=False,
        missing=True,
        docs="preprocessing.md",
    ),
    Entry(
        name="SimpleImputer",
        module="suffice.preprocessing.simple_imputer",
        task="preprocessing",
        objective="mean, median or most frequent value of each column",
        merge=True,
        forget=True,
        refit=("strategy", "fill_value", "add_indicator", "keep_empty_features"),
        missing=True,
        sparse=True,
        docs="preprocessing.md",
    ),
)

OF_TEXT = {"BagOfWords": "suffice.text.bag_of_words"}
"""Models that learn from documents, which the table's abilities do not describe."""


def models() -> Iterator[Entry]:
    """Every model of the library."""
    yield from MODELS


def find(name: str) -> type[Any] | None:
    """The class of a model by its public name, or None."""
    for entry in MODELS:
        if entry.name == name:
            return entry.load()
    if name in OF_TEXT:
        found: type[Any] = getattr(importlib.import_module(OF_TEXT[name]), name)
        return found
    return None


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is executed.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    The fitted model.

    Raises
    ------
    ValueError
        If the file is damaged, truncated, newer than this library or no model at all.

    Examples
    --------
    >>> import os, tempfile
    >>> import suffice
    >>> model = suffice.Ridge().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ridge.safetensors")
    ...     model.save(path)
    ...     suffice.load(path).predict([[3.0]]) == model.predict([[3.0]])
    array([ True])
    """
    from suffice.fitting.files.storage import load_model

    return load_model(path, find_model=find)


TITLES = {
    "merge": "statistic merges",
    "forget": "statistic subtracts",
    "refit": "solved anew from the statistic for",
    "stream": "files",
    "distribute": "cluster",
    "missing": "NaN",
}
"""Headings for people."""


def as_markdown() -> str:
    """The table for the documentation."""
    shown = [f.name for f in fields(Entry) if f.name not in ("name", "module", "docs", "task")]
    titles = [TITLES.get(name, name) for name in shown]
    lines = [
        "| model | " + " | ".join(titles) + " |",
        "|---" * (len(shown) + 1) + "|",
    ]
    for entry in MODELS:
        cells = [_cell(getattr(entry, name)) for name in shown]
        lines.append(f"| [`{entry.name}`]({entry.docs}) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "–"
    if isinstance(value, tuple):
        return ", ".join(f"`{name}`" for name in value) or "–"
    return str(value)
