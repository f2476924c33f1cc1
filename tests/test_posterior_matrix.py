"""A published matrix for certificates: its noise, what it bounds, planted bugs, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import eval_hermite, factorial

from pdpbook.per_instance import ops_epsilon, per_instance_epsilon
from pdpbook.posterior import (
    largest_eigenvalue_bound,
    posterior_certificate,
    release_gram_bound,
)
from pdpbook.posterior.certificates import eigenvalues_above

SEED = 20261123


def rows(n=60, d=3, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 0.3, d)
    return X / (1.0001 * np.linalg.norm(X, axis=1)[:, None]), rng.uniform(-1, 1, n)


def released(X, mu, failure, draws):
    rng = np.random.default_rng(SEED)
    return np.array([release_gram_bound(X, mu, failure=failure, rng=rng) for _ in range(draws)])


# ---------------------------------------------------------------- the largest eigenvalue


def by_quadrature(t, d):
    """Mean number of eigenvalues above t from the joint density of all: another route."""

    node, mass = np.polynomial.legendre.leggauss(240)

    def pieces(x):  # the density has a corner at x
        points = [(-9 + x) / 2 + (x + 9) / 2 * node, (x + 9) / 2 + (9 - x) / 2 * node]
        return np.concatenate(points), np.concatenate([(x + 9) / 2 * mass, (9 - x) / 2 * mass])

    def density(x):
        points, masses = pieces(x)
        if d == 2:
            return masses @ (np.abs(points - x) * np.exp(-(points**2 + x**2) / 2))
        gaps = np.abs(points - x)
        both = gaps[:, None] * gaps * np.abs(points[:, None] - points)
        powers = np.exp(-(points[:, None] ** 2 + points**2 + x**2) / 2)
        return masses @ (both * powers) @ masses

    grid, weights = np.polynomial.legendre.leggauss(80)
    above = weights @ [density(t + (9 - t) / 2 * (1 + g)) for g in grid] * (9 - t)
    below = weights @ [density(-9 + (t + 9) / 2 * (1 + g)) for g in grid] * (t + 9)
    return d * above / (above + below)


def test_of_one_number_it_is_the_normal_quantile():
    for failure in (0.9, 0.5, 0.05, 1e-3, 1e-12, 1e-300):
        exact = stats.norm.isf(failure)
        found = largest_eigenvalue_bound(1, failure)
        assert exact <= found <= exact + 1e-8 * max(1, abs(exact))


@pytest.mark.parametrize("t", [-1.0, 0.5, 2.0, 4.0])
def test_eigenvalues_above_a_number_of_two_and_three(t):
    assert_allclose(eigenvalues_above(t, 2), by_quadrature(t, 2), rtol=1e-8)
    # the corner between the two others is not on the grid
    assert_allclose(eigenvalues_above(t, 3), by_quadrature(t, 3), rtol=2e-4)


def in_mehtas_words(t, d):
    """The same from the formula of the book, by polynomials and integrals."""
    node, weight = np.polynomial.legendre.leggauss(200)

    def integral(function, low, high):
        low, high = np.broadcast_arrays(low, high)
        x = low[..., None] + (high - low)[..., None] * (1 + node) / 2
        return (high - low) / 2 * (function(x) @ weight)

    def phi(j, x):
        norm = np.sqrt(2.0**j * factorial(j) * np.sqrt(np.pi))
        return eval_hermite(j, x) * np.exp(-(x**2) / 2) / norm

    def density(x):
        pairs = sum(phi(j, x) ** 2 for j in range(d))
        halves = integral(lambda u: phi(d, u), -14.0, x) - integral(lambda u: phi(d, u), x, 14.0)
        alone = phi(d - 1, x) / integral(lambda u: phi(d - 1, u), -14.0, 14.0) if d % 2 else 0.0
        return pairs + np.sqrt(d / 2) * phi(d - 1, x) * halves / 2 + alone

    return integral(density, t, 14.0)


@pytest.mark.parametrize(("d", "t"), [(1, 1.5), (2, -1.0), (3, 3.0), (6, 4.5), (7, 9.0)])
def test_the_density_is_mehtas(d, t):
    assert_allclose(eigenvalues_above(t, d), in_mehtas_words(t, d), rtol=1e-10)


@pytest.mark.parametrize("t", [-3.0, 0.0, 2.0, 9.0, 37.0])
def test_of_one_number_they_are_a_normal_tail(t):
    assert_allclose(eigenvalues_above(t, 1), stats.norm.sf(t), rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 12, 13, 80])
def test_there_are_d_eigenvalues_in_all_and_half_of_them_above_0(d):
    assert_allclose(eigenvalues_above(-np.sqrt(2 * d) - 9, d), d, rtol=1e-9)
    assert_allclose(eigenvalues_above(0.0, d), d / 2, rtol=1e-9)


def largest(d, draws):
    A = np.random.default_rng(SEED + d).standard_normal((draws, d, d))
    return np.linalg.eigvalsh((A + A.swapaxes(1, 2)) / 2)[:, -1]


@pytest.mark.parametrize("d", [1, 2, 3, 5, 12])
def test_it_fails_as_often_as_it_says_and_hardly_less(d):
    found, n = largest(d, 40_000), 40_000
    for failure in (0.5, 0.05, 0.01, 0.001):
        above = np.mean(found > largest_eigenvalue_bound(d, failure))
        error = 5 * np.sqrt(failure / n)
        assert above <= failure + error
        # two above at once are counted twice, at most one time in thirty, and far out never
        assert above >= failure * (1 - failure / 12) - error


@pytest.mark.parametrize("d", [1, 2, 5, 12, 100, 1000])
def test_it_is_below_the_bound_by_concentration(d):
    """sqrt(2d) + sqrt(2 log(1/failure)), which the package took before: 28 to 40 percent more."""
    for failure in (0.5, 0.05, 1e-3, 1e-9, 1e-100):
        before = np.sqrt(2) * (np.sqrt(d) + np.sqrt(-np.log(failure)))
        assert largest_eigenvalue_bound(d, failure) < before


def test_it_rises_with_the_dimension_and_falls_with_the_failure():
    found = np.array(
        [
            [largest_eigenvalue_bound(d, f) for f in (0.999, 0.5, 0.1, 1e-3, 1e-15)]
            for d in range(1, 30)
        ]
    )
    assert (np.diff(found, axis=0) > 0).all()
    assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.parametrize(("d", "failure"), [(0, 0.1), (2, 0.0), (2, 1.0), (2, np.nan)])
def test_bad_bounds_of_eigenvalues_are_refused(d, failure):
    with pytest.raises(ValueError, match=r"^(d|failure) must be"):
        largest_eigenvalue_bound(d, failure)


# ---------------------------------------------------------------- the matrix


def test_one_column_by_hand():
    # 2 of weight 1: noise of deviation 1 / mu = 2, and 2.326 of them is what 1 of 100 exceed
    found = release_gram_bound(np.ones((2, 1)), 0.5, failure=0.01, rng=np.random.default_rng(3))
    noise = np.random.default_rng(3).standard_normal()
    assert_allclose(found, [[2 + 2 * noise - 2 * stats.norm.isf(0.01)]], atol=1e-7)


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
@pytest.mark.parametrize("failure", [0.5, 0.05])
def test_it_is_below_but_for_its_failure(d, failure):
    X, _ = rows(d=d)
    draws = released(X, 0.3, failure, 4000)
    error = 5 * np.sqrt(failure / 4000)  # five standard errors
    assert failure * (1 - failure / 12) - error < share_above(X, draws) < failure + error
    assert share_above(X, draws, 0.5 / 0.3) > failure + error  # half a deviation less will not do


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
    for one in released(X, mu, 0.05, 600):
        got = certify(X, y, theta, one + lam * np.eye(X.shape[1]), lam)
        wrong.append(np.any(got < loss.epsilon * (1 - 1e-9)))
    return np.mean(wrong)


def package(X, y, theta, matrix, lam):
    return posterior_certificate(
        X, y, theta, gamma=0.5, h=lam, matrix=matrix, failure=1 - 1e-12
    ).ex_ante


def without_the_margin(X, y, theta, matrix, lam):
    lift = largest_eigenvalue_bound(3, 0.05) / 2.0
    return package(X, y, theta, matrix + lift * np.eye(3), lam)


def by_the_diagonal(X, y, theta, matrix, lam):
    return package(X, y, theta, np.diag(np.diag(matrix)), lam)


def test_losses_are_covered():
    assert share_wrong(package, *rows()) <= 0.05 + 5 * np.sqrt(0.05 / 600)  # standard errors


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
