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
    task : {"regression", "classification", "clustering", "density", "decomposition",\
 "preprocessing", "anomalies"}
    objective : str
        What a fit minimises, or else what it finds, in a line.
    docs : str
        Its page in the documentation.
    merge, forget : bool
        Whether its statistic can be merged, and rows subtracted from it.
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
    stream: bool = False
    distribute: bool = False
    weights: bool = False
    missing: bool = False
    sparse: bool = False

    def load(self) -> type[Any]:
        """The class."""
        found: type[Any] = getattr(importlib.import_module(self.module), self.name)
        return found

    @property
    def refit(self) -> tuple[str, ...]:
        """Parameters that can be changed without the data, as the class declares them."""
        return tuple(getattr(self.load(), "_refit_parameters", ()))


def model(name: str, module: str, task: str, objective: str, docs: str, can: str) -> Entry:
    """A row of the table; `can` names its abilities."""
    abilities = dict.fromkeys(can.split(), True)
    return Entry(name, f"suffice.{module}", task, objective, docs, **abilities)


# fmt: off
MODELS: tuple[Entry, ...] = (
    model("LinearRegression", "linear.linear_regression", "regression",
          "½ Σ w (θ·x + b − y)²",
          "linear-regression.md", "merge forget stream weights sparse"),
    model("Ridge", "linear.ridge", "regression",
          "½ Σ w (θ·x + b − y)² + (α/2) ‖θ‖²",
          "ridge.md", "merge forget stream weights sparse"),
    model("KernelRidge", "svm.kernel_ridge", "regression",
          "½ Σ w (f(x) − y)² + (α/2) ‖f‖², f in the space of a kernel",
          "kernel-methods.md", "stream weights sparse"),
    model("LocallyWeightedRegression", "linear.locally_weighted_regression", "regression",
          "at each query q: Σ w exp(−‖x − q‖²/2τ²) (b + β·(x − q) − y)² + α ‖β‖²",
          "locally-weighted-regression.md", "stream weights"),
    model("BayesianLinearRegression", "linear.bayesian_linear_regression", "regression",
          "−log p(θ, b, σ² ∣ y), its mean and spread",
          "bayesian-linear-regression.md", "merge forget stream weights sparse"),
    model("Lasso", "linear.lasso", "regression",
          "(1/2W) Σ w (θ·x + b − y)² + α ‖θ‖₁",
          "lasso.md", "merge forget stream weights sparse"),
    model("ElasticNet", "linear.elastic_net", "regression",
          "(1/2W) Σ w (θ·x + b − y)² + α (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²)",
          "lasso.md", "merge forget stream weights sparse"),
    model("GeneralizedLinearModel", "linear.generalized_linear_model", "regression",
          "(1/2W) Σ w d(y, g⁻¹(θ·x + b)) + (α/2) ‖θ‖²",
          "generalized-linear-model.md", "stream weights sparse"),
    model("Perceptron", "linear.perceptron", "classification",
          "a boundary with every row on its side",
          "perceptron.md", "stream sparse"),
    model("LogisticRegression", "linear.logistic_regression", "classification",
          "−Σ w log P(y ∣ x) + (1/C) (ρ ‖θ‖₁ + ½ (1 − ρ) ‖θ‖²)",
          "logistic-regression.md", "stream weights sparse"),
    model("LinearSVC", "svm.linear_svc", "classification",
          "½ ‖w‖² + C Σ s max(0, 1 − y (w·x + b))², or without the square",
          "linear-svm.md", "stream weights sparse"),
    model("OneVsRest", "ensembles.one_vs_rest", "classification",
          "that of a binary model for each class against the rest",
          "one-vs-rest.md", "stream weights sparse"),
    model("BaggingClassifier", "ensembles.bagging_classifier", "classification",
          "that of each member on rows drawn anew; their mean has less variance",
          "bagging.md", "stream weights missing sparse"),
    model("BaggingRegressor", "ensembles.bagging_regressor", "regression",
          "that of each member on rows drawn anew; their mean has less variance",
          "bagging.md", "stream weights missing sparse"),
    model("SVC", "svm.svc", "classification",
          "½ ‖w‖² + C Σ w max(0, 1 − y f(x)), f(x) = w·φ(x) + b",
          "svm.md", "stream weights sparse"),
    model("SVR", "svm.svr", "regression",
          "½ ‖w‖² + C Σ w max(0, |y − f(x)| − ε), f(x) = w·φ(x) + b",
          "svm.md", "stream weights sparse"),
    model("PCA", "decomposition.pca", "decomposition",
          "Σ w ‖(x − m) − Vᵀ V (x − m)‖²",
          "pca.md", "merge forget stream weights sparse"),
    model("KernelPCA", "decomposition.kernel_pca", "decomposition",
          "Σ w ‖φ(x) − m − its projection‖², φ the features of a kernel, m their mean",
          "kernel-methods.md", "stream weights sparse"),
    model("KMeans", "clustering.k_means", "clustering",
          "Σ w ‖x − μ_z‖², z the nearest of k centres μ",
          "k-means.md", "stream weights sparse"),
    model("FactorAnalysis", "decomposition.factor_analysis", "decomposition",
          "−Σ w log N(x; μ, Λᵀ Λ + Ψ), Ψ diagonal",
          "factor-analysis.md", "merge forget stream weights"),
    model("GaussianNB", "generative.gaussian_nb", "classification",
          "−Σ w log πᵧ Πⱼ N(xⱼ; θᵧⱼ, vᵧⱼ + ε)",
          "gaussian-nb.md", "merge forget stream weights missing"),
    model("CategoricalNB", "generative.categorical_nb", "classification",
          "−Σ w log πᵧ Πⱼ (Nᵧⱼₓ + α)/(nᵧⱼ + Kⱼ α)",
          "mixed-nb.md", "merge forget stream weights missing"),
    model("MultinomialNB", "generative.multinomial_nb", "classification",
          "−Σ w log πᵧ Πⱼ θᵧⱼ^xⱼ, with pseudo-counts α",
          "naive-bayes.md", "merge forget stream weights missing sparse"),
    model("BernoulliNB", "generative.bernoulli_nb", "classification",
          "−Σ w log πᵧ Πⱼ θᵧⱼ^xⱼ (1 − θᵧⱼ)^(1 − xⱼ), with pseudo-counts α",
          "naive-bayes.md", "merge forget stream weights missing sparse"),
    model("ComplementNB", "generative.complement_nb", "classification",
          "the shares of the events in the rows of all other classes",
          "naive-bayes.md", "merge forget stream weights missing sparse"),
    model("PoissonNB", "generative.poisson_nb", "classification",
          "−Σ w log πᵧ Πⱼ λᵧⱼ^xⱼ exp(−λᵧⱼ), with α pseudo-events in β pseudo-rows",
          "naive-bayes.md", "merge forget stream weights missing sparse"),
    model("LinearDiscriminantAnalysis", "generative.linear_discriminant_analysis", "classification",
          "−Σ w log πᵧ N(x; μᵧ, Σ)",
          "discriminant-analysis.md", "merge forget stream weights"),
    model("QuadraticDiscriminantAnalysis", "generative.quadratic_discriminant_analysis",
          "classification", "−Σ w log πᵧ N(x; μᵧ, Σᵧ)",
          "discriminant-analysis.md", "merge forget stream weights"),
    model("DecisionTreeClassifier", "trees.decision_tree_classifier", "classification",
          "greedily, Σ w i(leaf of x), with i the Gini index, the entropy or 1 − max p",
          "decision-trees.md", "stream weights missing sparse"),
    model("DecisionTreeRegressor", "trees.decision_tree_regressor", "regression",
          "greedily, Σ w (y − value of the leaf of x)², |y − …| or the Poisson deviance",
          "decision-trees.md", "stream weights missing sparse"),
    model("ID3Classifier", "trees.id3_classifier", "classification",
          "a branch for every value of the column of the largest gain",
          "id3-and-c45.md", "stream weights missing"),
    model("C45Classifier", "trees.c45_classifier", "classification",
          "branches by the largest gain ratio, pruned by the errors to be expected",
          "id3-and-c45.md", "stream weights missing"),
    model("RandomForestClassifier", "ensembles.random_forest_classifier", "classification",
          "the mean of trees from drawn rows and columns",
          "random-forests.md", "stream weights missing sparse"),
    model("RandomForestRegressor", "ensembles.random_forest_regressor", "regression",
          "the mean of trees from drawn rows and columns",
          "random-forests.md", "stream weights missing sparse"),
    model("ExtraTreesClassifier", "ensembles.extra_trees_classifier", "classification",
          "the mean of trees whose cuts are drawn",
          "random-forests.md", "stream weights missing sparse"),
    model("ExtraTreesRegressor", "ensembles.extra_trees_regressor", "regression",
          "the mean of trees whose cuts are drawn",
          "random-forests.md", "stream weights missing sparse"),
    model("KNeighborsClassifier", "neighbors.k_neighbors_classifier", "classification",
          "votes of the k nearest rows",
          "nearest-neighbours.md", "merge forget stream sparse"),
    model("KNeighborsRegressor", "neighbors.k_neighbors_regressor", "regression",
          "mean over the k nearest rows",
          "nearest-neighbours.md", "merge forget stream sparse"),
    model("KNeighborsDensity", "neighbors.k_neighbors_density", "density",
          "k/(n V), V the volume that holds the k nearest rows",
          "nearest-neighbours.md", "merge forget stream sparse"),
    model("KernelDensity", "neighbors.kernel_density", "density",
          "Σ w K((q − x)/h) / (W hᵈ ∫ K), the density at q",
          "kernel-density.md", "merge forget stream weights"),
    model("AnomalyDetector", "ensembles.anomaly_detector", "anomalies",
          "rows with p(x) < δ, δ from densities of rows held out",
          "anomalies.md", "stream weights"),
    model("GaussianMixture", "mixtures.gaussian_mixture", "density",
          "−Σ w log Σ_c π_c N(x; μ_c, Σ_c)",
          "gaussian-mixture.md", "stream weights missing"),
    model("Mixture", "mixtures.mixture", "density",
          "−Σ w log Σ_c π_c Πⱼ p(xⱼ; η_cj), p of exponential families",
          "mixtures.md", "stream weights missing"),
    model("MixedNB", "generative.mixed_nb", "classification",
          "−Σ w log πᵧ Πⱼ pⱼ(xⱼ ∣ y), each column of its own kind",
          "mixed-nb.md", "merge forget stream weights missing"),
    model("StandardScaler", "preprocessing.standard_scaler", "preprocessing",
          "mean and variance of each column",
          "preprocessing.md", "merge forget stream weights missing"),
    model("MinMaxScaler", "preprocessing.min_max_scaler", "preprocessing",
          "range of each column",
          "preprocessing.md", "merge stream weights missing"),
    model("OneHotEncoder", "preprocessing.one_hot_encoder", "preprocessing",
          "distinct values of each column",
          "preprocessing.md", "merge forget stream missing"),
    model("SimpleImputer", "preprocessing.simple_imputer", "preprocessing",
          "mean, median or most frequent value of each column",
          "preprocessing.md", "merge forget stream weights missing sparse"),
)
# fmt: on

OF_TEXT = {"BagOfWords": "suffice.text.bag_of_words"}
"""Models that learn from documents, which the table's abilities do not describe."""

OF_MODELS = {
    "ColumnTransformer": "suffice.preprocessing.column_transformer",
    "ElasticNetCV": "suffice.selection.cv_estimators.lasso_cv",
    "GridSearchCV": "suffice.selection.grid_search",
    "LassoCV": "suffice.selection.cv_estimators.lasso_cv",
    "LogisticRegressionCV": "suffice.selection.cv_estimators.logistic_regression_cv",
    "RidgeCV": "suffice.selection.cv_estimators.ridge_cv",
}
"""What is made of models or chooses among them, and has their abilities."""


def models() -> Iterator[Entry]:
    """Every model of the library."""
    yield from MODELS


def find(name: str) -> type[Any] | None:
    """The class of a model by its public name, or None."""
    for entry in MODELS:
        if entry.name == name:
            return entry.load()
    others = OF_TEXT | OF_MODELS
    if name in others:
        found: type[Any] = getattr(importlib.import_module(others[name]), name)
        return found
    return None


def save(model: Any, path: str | PathLike[str], notes: dict[str, Any] | None = None) -> None:
    """Write a fitted model to one file; `load` reads it back.

    The file is written whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted model of this library; or a Pipeline, FeatureUnion, ColumnTransformer or search
        whose parts are.
    path : str or PathLike
    notes : dict, optional
        What to remember beside the model: strings, numbers, booleans, None, and lists and dicts
        of these.  `suffice.fitting.files.storage.read_notes` reads them without the model.

    Raises
    ------
    TypeError
        If the model, one of its parts or a note cannot be stored; the message says which.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import suffice
    >>> from suffice.fitting.files.storage import read_notes
    >>> model = suffice.Ridge().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ridge.safetensors")
    ...     suffice.save(model, path, notes={"rows": "three of them"})
    ...     read_notes(path)
    {'rows': 'three of them'}
    """
    from sklearn.utils.validation import check_is_fitted

    from suffice.fitting.files.storage import save_model

    if hasattr(model, "get_params"):
        check_is_fitted(model)
    save_model(model, path, find, notes)


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
    abilities = [field.name for field in fields(Entry)][5:]
    shown = ["objective", *abilities[:2], "refit", *abilities[2:]]
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
