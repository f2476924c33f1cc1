"""A published matrix for certificates: its noise, what it bounds, planted bugs, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.per_instance import ops_epsilon, per_instance_epsilon
from pdpbook.posterior import posterior_certificate, release_gram_bound

SEED = 20261123


def rows(n=60, d=3, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 0.3, d)
    return X / (1.0001 * np.linalg.norm(X, axis=1)[:, None]), rng.uniform(-1, 1, n)


def released(X, mu, failure, draws):
    rng = np.random.default_rng(SEED)
    return np.array([release_gram_bound(X, mu, failure=failure, rng=rng) for _ in range(draws)])


# ---------------------------------------------------------------- the matrix


def test_one_column_by_hand():
    # 2 of weight 1: noise of deviation 1 / mu = 2, margin 2 sqrt(2) (1 + sqrt(log 100))
    found = release_gram_bound(np.ones((2, 1)), 0.5, failure=0.01, rng=np.random.default_rng(3))
    noise = np.random.default_rng(3).standard_normal()
    assert_allclose(found, [[2 + 2 * noise - 2 * np.sqrt(2) * (1 + np.sqrt(np.log(100)))]])


def move(row, draws):
    """How far apart the release with a row and that without are, in deviations of its noise."""
    upper = np.triu_indices(len(row))
    covariance = np.cov(draws[:, upper[0], upper[1]], rowvar=False)
    shift = np.outer(row, row)[upper]
    return np.sqrt(shift @ np.linalg.solve(covariance, shift))


@pytest.mark.parametrize("row", [[1.0, 0, 0], [0.6, 0.8, 0], [0.3, 0.3, 0.3]])
def test_a_row_is_hidden_as_promised_and_no_noise_is_wasted(row):
    draws = released(np.zeros((1, 3)), 0.7, 0.01, 6000)
    # the square of the distance is known to 2 / sqrt(6000), five of these
    assert_allclose(move(np.array(row), draws), 0.7 * np.dot(row, row), rtol=0.065)


def test_less_noise_off_the_diagonal_is_caught():
    draws = released(np.zeros((1, 3)), 0.7, 0.01, 6000)
    draws = np.where(np.eye(3, dtype=bool), draws, draws / np.sqrt(2))
    assert move(np.array([0.6, 0.8, 0]), draws) > 1.1 * 0.7


def share_above(X, draws, lift=0.0):
    """How often the matrix is not below, in some direction."""
    gram = X.T @ X
    values = np.linalg.eigvalsh(gram - draws - lift * np.eye(len(gram)))[:, 0]
    return np.mean(values < 0)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_is_below_but_for_its_failure(d):
    X, _ = rows(d=d)
    draws = released(X, 0.3, 0.5, 2000)
    assert share_above(X, draws) <= 0.5
    margin = np.sqrt(2) / 0.3 * (np.sqrt(d) + np.sqrt(np.log(2)))
    assert share_above(X, draws, margin) > 0.5 - 0.06  # no margin: above in some direction
    assert share_above(X, draws, margin / 2) > 0.02  # the margin is not twice what it must be


# ---------------------------------------------------------------- the certificates


def bounds(X, y, matrix, h=20.0):
    settings = {"gamma": 0.5, "h": h, "failure": 1 - 1e-12}  # no margin around the residual
    return posterior_certificate(X, y, np.zeros(X.shape[1]), matrix=matrix, **settings).ex_ante


def test_the_matrix_itself_gives_the_exact_leverage():
    X, y = rows()
    exact = per_instance_epsilon(X, y, 20.0, 0.5, 1e-6).leverage
    expected = ops_epsilon(1e-6, exact, (1 + exact) * np.sqrt(0.5) * np.abs(y))
    assert_allclose(bounds(X, y, X.T @ X + 20 * np.eye(3)), expected, rtol=1e-6)


def test_no_matrix_makes_a_certificate_longer():
    X, y = rows()
    draws = released(X, 0.5, 0.05, 50) + 20 * np.eye(3)
    plain = bounds(X, y, None)
    assert all(np.all(bounds(X, y, one) <= plain) for one in draws)
    assert np.any(bounds(X, y, X.T @ X + 20 * np.eye(3)) < 0.9 * plain)
    assert_array_equal(bounds(X, y, -np.eye(3)), plain)  # it says nothing
    assert_array_equal(bounds(X, y, 1e-12 * np.eye(3)), plain)


def share_wrong(certify, X, y, lam=20.0, mu=2.0):
    """Share of releases in which somebody's loss exceeds the bound, the residual known."""
    loss = per_instance_epsilon(X, y, lam, 0.5, 1e-6)
    theta = loss.theta
    wrong = []
    for one in released(X, mu, 0.05, 100):
        got = certify(X, y, theta, one + lam * np.eye(X.shape[1]), lam)
        wrong.append(np.any(got < loss.epsilon * (1 - 1e-9)))
    return np.mean(wrong)


def package(X, y, theta, matrix, lam):
    return posterior_certificate(
        X, y, theta, gamma=0.5, h=lam, matrix=matrix, failure=1 - 1e-12
    ).ex_ante


def without_the_margin(X, y, theta, matrix, lam):
    lift = np.sqrt(2) / 2.0 * (np.sqrt(3) + np.sqrt(np.log(20)))
    return package(X, y, theta, matrix + lift * np.eye(3), lam)


def by_the_diagonal(X, y, theta, matrix, lam):
    return package(X, y, theta, np.diag(np.diag(matrix)), lam)


def test_losses_are_covered():
    assert share_wrong(package, *rows()) <= 0.05


@pytest.mark.parametrize("bug", [without_the_margin, by_the_diagonal])
def test_planted_certificates_are_caught(bug):
    X, y = rows(seed=2)
    X = X @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    assert share_wrong(bug, X, y) > 0.5


def test_a_participant_taken_for_an_outsider_is_caught():
    X, y = rows()
    loss = per_instance_epsilon(X, y, 20.0, 0.5, 1e-6)
    inside = np.einsum("ij,ji->i", X, np.linalg.solve(X.T @ X + 20 * np.eye(3), X.T))
    assert np.all(inside < loss.leverage)  # without the division by what is left


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mu": 0.0}, "mu must be"),
        ({"failure": 0.0}, "failure must"),
        ({"X": [[2.0, 0.0]]}, "X must have rows in the unit ball"),
        ({"X": [1.0]}, "X must have shape"),
        ({"X": [[np.nan]]}, "X must be finite"),
    ],
)
def test_bad_releases_are_refused(given, message):
    settings = {"X": [[0.5, 0.5]], "mu": 1.0, "failure": 0.1} | given
    X, mu = settings.pop("X"), settings.pop("mu")
    with pytest.raises(ValueError, match=message):
        release_gram_bound(X, mu, rng=np.random.default_rng(1), **settings)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), r"matrix must have shape \(3, 3\)"),
        (np.triu(np.ones((3, 3))), "matrix must be symmetric"),
        (np.full((3, 3), np.inf), "matrix must be finite"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        bounds(X, y, matrix)
