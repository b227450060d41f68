"""Classical machine learning from sufficient statistics.

Models learn from sums over rows, so the same code fits an array, a folder of Parquet files
larger than memory, or merged parts, with the same answer; and each fit carries a
certificate of what was proved about it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.catalogue import load as load
    from suffice.catalogue import save as save
    from suffice.clustering.k_means import KMeans as KMeans
    from suffice.decomposition.factor_analysis import FactorAnalysis as FactorAnalysis
    from suffice.decomposition.kernel_pca import KernelPCA as KernelPCA
    from suffice.decomposition.pca import PCA as PCA
    from suffice.engines.settings import config as config
    from suffice.ensembles.anomaly_detector import AnomalyDetector as AnomalyDetector
    from suffice.ensembles.bagging_classifier import BaggingClassifier as BaggingClassifier
    from suffice.ensembles.bagging_regressor import BaggingRegressor as BaggingRegressor
    from suffice.ensembles.extra_trees_classifier import (
        ExtraTreesClassifier as ExtraTreesClassifier,
    )
    from suffice.ensembles.extra_trees_regressor import (
        ExtraTreesRegressor as ExtraTreesRegressor,
    )
    from suffice.ensembles.one_vs_rest import OneVsRest as OneVsRest
    from suffice.ensembles.random_forest_classifier import (
        RandomForestClassifier as RandomForestClassifier,
    )
    from suffice.ensembles.random_forest_regressor import (
        RandomForestRegressor as RandomForestRegressor,
    )
    from suffice.fitting.merging_models import merge as merge
    from suffice.generative.bernoulli_nb import BernoulliNB as BernoulliNB
    from suffice.generative.categorical_nb import CategoricalNB as CategoricalNB
    from suffice.generative.complement_nb import ComplementNB as ComplementNB
    from suffice.generative.gaussian_nb import GaussianNB as GaussianNB
    from suffice.generative.linear_discriminant_analysis import (
        LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    )
    from suffice.generative.mixed_nb import MixedNB as MixedNB
    from suffice.generative.multinomial_nb import MultinomialNB as MultinomialNB
    from suffice.generative.poisson_nb import PoissonNB as PoissonNB
    from suffice.generative.quadratic_discriminant_analysis import (
        QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    )
    from suffice.linear.bayesian_linear_regression import (
        BayesianLinearRegression as BayesianLinearRegression,
    )
    from suffice.linear.elastic_net import ElasticNet as ElasticNet
    from suffice.linear.generalized_linear_model import (
        GeneralizedLinearModel as GeneralizedLinearModel,
    )
    from suffice.linear.lasso import Lasso as Lasso
    from suffice.linear.linear_regression import LinearRegression as LinearRegression
    from suffice.linear.locally_weighted_regression import (
        LocallyWeightedRegression as LocallyWeightedRegression,
    )
    from suffice.linear.logistic_regression import LogisticRegression as LogisticRegression
    from suffice.linear.paths import enet_path as enet_path
    from suffice.linear.paths import lasso_path as lasso_path
    from suffice.linear.perceptron import Perceptron as Perceptron
    from suffice.linear.ridge import Ridge as Ridge
    from suffice.mixtures.gaussian_mixture import GaussianMixture as GaussianMixture
    from suffice.mixtures.mixture import Mixture as Mixture
    from suffice.neighbors.k_neighbors_classifier import (
        KNeighborsClassifier as KNeighborsClassifier,
    )
    from suffice.neighbors.k_neighbors_density import KNeighborsDensity as KNeighborsDensity
    from suffice.neighbors.k_neighbors_regressor import (
        KNeighborsRegressor as KNeighborsRegressor,
    )
    from suffice.neighbors.kernel_density import KernelDensity as KernelDensity
    from suffice.selection.cross_validation import cross_validate as cross_validate
    from suffice.selection.cv_estimators.lasso_cv import ElasticNetCV as ElasticNetCV
    from suffice.selection.cv_estimators.lasso_cv import LassoCV as LassoCV
    from suffice.selection.cv_estimators.logistic_regression_cv import (
        LogisticRegressionCV as LogisticRegressionCV,
    )
    from suffice.selection.cv_estimators.ridge_cv import RidgeCV as RidgeCV
    from suffice.selection.grid_search import GridSearchCV as GridSearchCV
    from suffice.sources.scan import scan as scan
    from suffice.svm.kernel_ridge import KernelRidge as KernelRidge
    from suffice.svm.linear_svc import LinearSVC as LinearSVC
    from suffice.svm.svc import SVC as SVC
    from suffice.svm.svr import SVR as SVR
    from suffice.trees.c45_classifier import C45Classifier as C45Classifier
    from suffice.trees.decision_tree_classifier import (
        DecisionTreeClassifier as DecisionTreeClassifier,
    )
    from suffice.trees.decision_tree_regressor import (
        DecisionTreeRegressor as DecisionTreeRegressor,
    )
    from suffice.trees.id3_classifier import ID3Classifier as ID3Classifier

__version__ = "0.1.0"

# Public name → the module that defines it, imported when the name is first used.
_PUBLIC = {
    "BaggingClassifier": "suffice.ensembles.bagging_classifier",
    "AnomalyDetector": "suffice.ensembles.anomaly_detector",
    "BaggingRegressor": "suffice.ensembles.bagging_regressor",
    "ExtraTreesClassifier": "suffice.ensembles.extra_trees_classifier",
    "ExtraTreesRegressor": "suffice.ensembles.extra_trees_regressor",
    "RandomForestClassifier": "suffice.ensembles.random_forest_classifier",
    "RandomForestRegressor": "suffice.ensembles.random_forest_regressor",
    "BayesianLinearRegression": "suffice.linear.bayesian_linear_regression",
    "C45Classifier": "suffice.trees.c45_classifier",
    "DecisionTreeClassifier": "suffice.trees.decision_tree_classifier",
    "DecisionTreeRegressor": "suffice.trees.decision_tree_regressor",
    "CategoricalNB": "suffice.generative.categorical_nb",
    "FactorAnalysis": "suffice.decomposition.factor_analysis",
    "GridSearchCV": "suffice.selection.grid_search",
    "GaussianMixture": "suffice.mixtures.gaussian_mixture",
    "GaussianNB": "suffice.generative.gaussian_nb",
    "PoissonNB": "suffice.generative.poisson_nb",
    "MultinomialNB": "suffice.generative.multinomial_nb",
    "ComplementNB": "suffice.generative.complement_nb",
    "BernoulliNB": "suffice.generative.bernoulli_nb",
    "GeneralizedLinearModel": "suffice.linear.generalized_linear_model",
    "ElasticNet": "suffice.linear.elastic_net",
    "ElasticNetCV": "suffice.selection.cv_estimators.lasso_cv",
    "ID3Classifier": "suffice.trees.id3_classifier",
    "KMeans": "suffice.clustering.k_means",
    "KNeighborsClassifier": "suffice.neighbors.k_neighbors_classifier",
    "KNeighborsDensity": "suffice.neighbors.k_neighbors_density",
    "KNeighborsRegressor": "suffice.neighbors.k_neighbors_regressor",
    "KernelDensity": "suffice.neighbors.kernel_density",
    "KernelPCA": "suffice.decomposition.kernel_pca",
    "KernelRidge": "suffice.svm.kernel_ridge",
    "Lasso": "suffice.linear.lasso",
    "LassoCV": "suffice.selection.cv_estimators.lasso_cv",
    "LinearDiscriminantAnalysis": "suffice.generative.linear_discriminant_analysis",
    "LinearRegression": "suffice.linear.linear_regression",
    "LinearSVC": "suffice.svm.linear_svc",
    "LocallyWeightedRegression": "suffice.linear.locally_weighted_regression",
    "LogisticRegression": "suffice.linear.logistic_regression",
    "LogisticRegressionCV": "suffice.selection.cv_estimators.logistic_regression_cv",
    "MixedNB": "suffice.generative.mixed_nb",
    "Mixture": "suffice.mixtures.mixture",
    "OneVsRest": "suffice.ensembles.one_vs_rest",
    "PCA": "suffice.decomposition.pca",
    "Perceptron": "suffice.linear.perceptron",
    "QuadraticDiscriminantAnalysis": "suffice.generative.quadratic_discriminant_analysis",
    "Ridge": "suffice.linear.ridge",
    "RidgeCV": "suffice.selection.cv_estimators.ridge_cv",
    "SVC": "suffice.svm.svc",
    "SVR": "suffice.svm.svr",
    "bayes": "suffice.bayes",
    "catalogue": "suffice.catalogue",
    "config": "suffice.engines.settings",
    "enet_path": "suffice.linear.paths",
    "lasso_path": "suffice.linear.paths",
    "cross_validate": "suffice.selection.cross_validation",
    "families": "suffice.families",
    "load": "suffice.catalogue",
    "merge": "suffice.fitting.merging_models",
    "mixtures": "suffice.mixtures",
    "preprocessing": "suffice.preprocessing",
    "save": "suffice.catalogue",
    "scan": "suffice.sources.scan",
    "svm": "suffice.svm",
    "text": "suffice.text",
    "theory": "suffice.theory",
}

# Those among them that are modules themselves.
_MODULES = ("bayes", "catalogue", "families", "mixtures", "preprocessing", "svm", "text", "theory")

__all__ = [
    "PCA",
    "SVC",
    "SVR",
    "AnomalyDetector",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianLinearRegression",
    "BernoulliNB",
    "C45Classifier",
    "CategoricalNB",
    "ComplementNB",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ElasticNet",
    "ElasticNetCV",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FactorAnalysis",
    "GaussianMixture",
    "GaussianNB",
    "GeneralizedLinearModel",
    "GridSearchCV",
    "ID3Classifier",
    "KMeans",
    "KNeighborsClassifier",
    "KNeighborsDensity",
    "KNeighborsRegressor",
    "KernelDensity",
    "KernelPCA",
    "KernelRidge",
    "Lasso",
    "LassoCV",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LocallyWeightedRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MixedNB",
    "Mixture",
    "MultinomialNB",
    "OneVsRest",
    "Perceptron",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
    "RidgeCV",
    "__version__",
    "bayes",
    "catalogue",
    "config",
    "cross_validate",
    "enet_path",
    "families",
    "lasso_path",
    "load",
    "merge",
    "mixtures",
    "preprocessing",
    "save",
    "scan",
    "svm",
    "text",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    module = importlib.import_module(_PUBLIC[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
