"""EM as a tool: two coins, and waiting times of two kinds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp, xlogy

import suffice
from suffice.mixtures import em

HEADS = np.array([[5.0], [9], [8], [4], [7]])
START = np.array([0.6, 0.5])


def coins(rows, p):
    return np.log(0.5) + xlogy(rows, p) + xlogy(10 - rows, 1 - p)


def tosses(rows, r):
    return r.T @ rows[:, 0], 10 * r.sum(axis=0)


def share(heads, all_tosses):
    return heads / all_tosses


def waiting(rows, parameters):
    weights, rates = parameters
    return np.log(weights) + np.log(rates) - rows * rates


def time_waited(rows, r):
    return np.stack([r.sum(axis=0), r.T @ rows[:, 0]])


def rates(sums):
    count, time = sums
    return count / count.sum(), count / time


def times(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(np.where(rng.random(n) < 0.4, 1.0, 8.0))[:, None]


TIMES = np.array([0.5, 0.5]), np.array([2.0, 0.1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("steps", "expected"), [(1, [0.71, 0.58]), (10, [0.80, 0.52])])
def test_the_published_example(steps, expected):
    """Do and Batzoglou, "What is the expectation maximization algorithm?" (2008)."""
    found = em(HEADS, coins, tosses, share, START, max_iter=steps, tol=0.0)
    np.testing.assert_allclose(found.parameters, expected, atol=0.005)
    assert found.n_iter == steps
    assert not found.certificate.holds


def test_rates_are_those_of_a_plain_loop():
    X, (weights, speeds) = times(), TIMES
    for _ in range(200):
        joint = np.log(weights) + np.log(speeds) - X * speeds
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        weights, speeds = r.mean(axis=0), r.sum(axis=0) / (r.T @ X[:, 0])
    found = em(X, waiting, time_waited, rates, TIMES, tol=1e-13, max_iter=1000)
    np.testing.assert_allclose(found.parameters[1], speeds, rtol=1e-4)
    np.testing.assert_allclose(found.parameters[0], weights, rtol=1e-4)
    assert found.certificate.holds
    assert found.log_likelihood == pytest.approx(logsumexp(waiting(X, found.parameters), 1).sum())


def by_brute_force(X, log_joint, q, parameters):
    """Log-likelihood, bound and divergence, row by row and value by value."""
    likelihood = elbo = divergence = 0.0
    for row, shares in zip(X, q, strict=True):
        joint = log_joint(row[None], parameters)[0]
        log_p = np.log(np.exp(joint).sum())
        likelihood += log_p
        for z, log_z in zip(shares, joint, strict=True):
            elbo += z * (log_z - np.log(z))
            divergence += z * (np.log(z) - (log_z - log_p))
    return likelihood, elbo, divergence


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("X", "log_joint", "statistic", "m_step", "start"),
    [(HEADS, coins, tosses, share, START), (times(50), waiting, time_waited, rates, TIMES)],
    ids=["coins", "waiting times"],
)
def test_bound_and_divergence_add_up_to_the_likelihood_in_every_half_step(
    X, log_joint, statistic, m_step, start
):
    found = em(X, log_joint, statistic, m_step, start, max_iter=6, tol=0.0)
    assert [one.step for one in found.half_steps] == ["E", "M"] * 6
    parameters = start
    for expected, maximised in zip(found.half_steps[::2], found.half_steps[1::2], strict=True):
        joint = log_joint(X, parameters)
        q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        np.testing.assert_allclose(
            expected[1:4], by_brute_force(X, log_joint, q, parameters), rtol=1e-12, atol=1e-12
        )
        assert expected.divergence == 0
        sums = statistic(X, q)
        parameters = m_step(*sums) if isinstance(sums, tuple) else m_step(sums)
        np.testing.assert_allclose(
            maximised[1:4], by_brute_force(X, log_joint, q, parameters), rtol=1e-10, atol=1e-12
        )
        assert maximised.elbo >= expected.elbo
        assert maximised.divergence >= 0
        assert maximised.elbo + maximised.divergence == pytest.approx(maximised.log_likelihood)
    likelihoods = [one.log_likelihood for one in found.half_steps]
    assert (np.diff(likelihoods) >= -1e-12).all()


def test_a_prior_is_part_of_what_climbs():
    def log_prior(p):
        return 3 * np.log(p).sum() + 3 * np.log(1 - p).sum()

    def with_rows(heads, all_tosses):
        return (heads + 3) / (all_tosses + 6)

    options = {"tol": 1e-12, "max_iter": 2000}
    found = em(HEADS, coins, tosses, with_rows, START, log_prior=log_prior, **options)
    assert found.certificate.holds
    assert "log posterior never fell" in found.certificate.claim
    climbed = [one.log_likelihood + one.log_prior for one in found.half_steps[::2]]
    assert (np.diff(climbed) >= -1e-12).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_step_that_is_no_maximum_is_found_out():
    def wrong(heads, all_tosses):
        return 1 - heads / all_tosses

    found = em(HEADS, coins, tosses, wrong, START, max_iter=10)
    assert not found.certificate.holds
    assert "log-likelihood fell in a step" in " ".join(found.certificate.notes)


def test_weights_count_as_repetitions():
    weight = np.array([2.0, 1, 0, 3, 1])
    one = em(HEADS, coins, tosses, share, START, sample_weight=weight)
    other = em(np.repeat(HEADS, weight.astype(int), axis=0), coins, tosses, share, START)
    np.testing.assert_allclose(one.parameters, other.parameters, rtol=1e-12)
    assert one.log_likelihood == pytest.approx(other.log_likelihood)


def test_files_and_threads_change_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(suffice.sources.base, "LARGEST_BLOCK", 512)
    X = times(3000)
    pq.write_table(pa.table({"t": X[:, 0]}), tmp_path / "t.parquet", row_group_size=700)
    args = (waiting, time_waited, rates, TIMES)
    one = em(X, *args, n_jobs=1)
    for other in (em(X, *args, n_jobs=3), em(suffice.scan(tmp_path / "t.parquet"), *args)):
        assert other.half_steps == one.half_steps
        assert other.parameters[1].tobytes() == one.parameters[1].tobytes()


def test_impossible_values_have_no_share():
    def log_joint(rows, p):
        table = np.array([[1.0, 0.0], [p, 1 - p]])
        with np.errstate(divide="ignore"):
            return np.log(table[rows[:, 0].astype(int)])

    X = np.array([[0.0], [1], [1], [0]])
    found = em(X, log_joint, lambda rows, r: r.sum(axis=0), lambda n: n[0] / n.sum(), 0.9)
    assert all(np.isfinite(one.elbo) for one in found.half_steps)


@pytest.mark.parametrize(
    ("log_joint", "message"),
    [
        (lambda rows, p: rows[:, 0], r"shape \(5,\) for 5 rows"),
        (lambda rows, p: np.full((5, 2), np.nan), "NaN or infinity"),
    ],
)
def test_what_a_model_must_give(log_joint, message):
    with pytest.raises(ValueError, match=message):
        em(HEADS, log_joint, tosses, share, START)


def test_bad_input():
    with pytest.raises(ValueError, match="NaN"):
        em(np.array([[np.nan]]), coins, tosses, share, START)
    with pytest.raises(ValueError, match="max_iter"):
        em(HEADS, coins, tosses, share, START, max_iter=0)
