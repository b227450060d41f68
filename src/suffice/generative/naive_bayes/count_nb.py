"""What the naive Bayes models of counts share: class sums as a statistic, pseudo-counts.

Multinomial, Bernoulli, complement and Poisson models learn from the same sums over the rows of
each class (`suffice.statistics.counts.sums_by_class`), of arrays or of sparse matrices.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from suffice.generative.naive_bayes.base import NaiveBayes
from suffice.generative.naive_bayes.counts import summed
from suffice.generative.naive_bayes.smoothing import CONSTRAINTS, pseudo_counts
from suffice.numerics.double_double import Array
from suffice.sources import Block
from suffice.statistics.counts.sums_by_class import ClassSums
from suffice.statistics.moments.full import Precision


class CountNB(NaiveBayes):
    """Base of the naive Bayes models whose statistic is `ClassSums`."""

    alpha: float | ArrayLike
    force_alpha: bool

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "n_jobs": [None, Integral],
    }
    _refit_parameters: ClassVar[tuple[str, ...]] = (
        "alpha",
        "force_alpha",
        "fit_prior",
        "class_prior",
        "prior_alpha",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags

    def _pseudo_counts(self) -> Array:
        """α, one number a column."""
        return pseudo_counts("alpha", self.alpha, self.n_features_in_, self.force_alpha)

    def _summarize(self, block: Block, precision: Precision) -> ClassSums:
        return summed(self, block, block.X)
