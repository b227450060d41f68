"""EM as a tool: a mixture of two coins, which is no model of the library."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy

from suffice.fitting.certificate import Certificate
from suffice.fitting.em import EM_STEP, Ascent, Expected, LatentModel, ascended, soft_blocks
from suffice.fitting.estimator import Estimator
from suffice.fitting.requests import Found
from suffice.statistics.sums import Sums

TOSSES = 10
HEADS = np.array([[5.0], [9], [8], [4], [7]])


class TwoCoins(LatentModel, Estimator):
    """In each row one of two coins was tossed ten times; nobody saw which.

    Do and Batzoglou, "What is the expectation maximization algorithm?" (2008).
    """

    rows, remedy = "tosses", "toss more often"

    def __init__(self, max_iter=10, tol=0.0):
        self.max_iter = max_iter
        self.tol = tol

    def _passes(self, source):
        self.shares_ = np.array([0.6, 0.5])
        ascent = yield from ascended(self)
        return Found({"n_iter_": len(ascent.objectives)}, ascent.certificate(self))

    def expect(self, block):
        heads = block.X
        logs = xlogy(heads, self.shares_) + xlogy(TOSSES - heads, 1 - self.shares_) + np.log(0.5)
        log_likelihood = logsumexp(logs, axis=1, keepdims=True)
        parts = []
        for soft in soft_blocks(block, np.exp(logs - log_likelihood), np.arange(2)):
            heads = np.bincount(soft.y, soft.weight * soft.X[:, 0], minlength=2)
            parts.append(Sums((heads, np.bincount(soft.y, soft.weight * TOSSES, minlength=2))))
        return Expected(Sums.merge(parts), float(log_likelihood.sum()))

    def objective(self, found):
        return -found.total

    def maximise(self, found):
        heads, tosses = found.statistic.values
        self.shares_ = heads / tosses
        return Certificate(True, "shares of heads", "sums")

    def learned(self):
        return {"shares_": self.shares_}


@pytest.mark.parametrize(("steps", "expected"), [(1, [0.71, 0.58]), (10, [0.80, 0.52])])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_published_example(steps, expected):
    model = TwoCoins(max_iter=steps).fit(HEADS)
    np.testing.assert_allclose(model.shares_, expected, atol=0.005)
    assert model.trace_.step == (EM_STEP,) * steps


def test_the_certificate_of_a_climb():
    model = TwoCoins(max_iter=500, tol=1e-12).fit(HEADS)
    proof = model.certificate_
    assert proof.holds
    assert proof.claim.startswith("EM on tosses: the log posterior never fell")
    assert proof.change <= 1e-12
    assert proof.largest_fall == 0
    assert (np.diff(model.trace_.objective) <= 1e-14).all()
    assert model.n_iter_ == len(model.trace_) < 500


def test_a_fall_is_found_out():
    solution = Certificate(True, "a maximum", "sums")
    ascent = Ascent([9.0, 5.0, 6.0, 4.0, 4.0], solution)
    assert ascent.change == 0
    assert ascent.largest_rise == 1 / 6
    proof = ascent.certificate(TwoCoins())
    assert not proof.holds
    assert "the log posterior fell in a step" in "".join(proof.notes)


def test_rows_are_summarised_some_at_a_time(monkeypatch):
    expected = TwoCoins(max_iter=500, tol=1e-12).fit(HEADS).shares_
    monkeypatch.setattr("suffice.fitting.em.ROWS_AT_ONCE", 3)
    np.testing.assert_allclose(TwoCoins(500, 1e-12).fit(HEADS).shares_, expected, rtol=1e-13)
