"""Per-instance losses of smooth fits: refits, kernels, tilted objectives and intervals."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression

from lab import chapters as ch
from pdpbook.noise import gaussian_profile
from pdpbook.ridge import leave_one_out, weighted_ridge

SEED = 20261121


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(60, 3))
    y = (rng.random(60) < special.expit(X @ [1.0, -1.0, 0.5])).astype(float)
    X[0], y[0] = [-6.0, 6.0, 0.0], 1.0  # one person against the model
    return X, y


def ridge_sum(X, y, lam):
    return weighted_ridge(X, y, lam, np.ones(len(y)))


# --- the identity of stationary points -----------------------------------------------------------


def logistic_pieces(X, y, lam):
    def hessian(theta):
        p = special.expit(X @ theta)
        return (X.T * (p * (1 - p))) @ X + lam * np.eye(X.shape[1])

    def score(theta, i):
        return (special.expit(X[i] @ theta) - y[i]) * X[i]

    return hessian, score


def test_constant_hessian_by_hand():
    shift = ch.stationary_shift(lambda theta: np.array([[2.0]]), [3.0], [5.0], [1.0])
    assert_allclose(shift, [1.5], rtol=1e-14)


def test_identity_both_ways_for_logistic(votes):
    X, y = votes
    full, rest = ch.logistic_ridge(X, y, 1.0), ch.logistic_ridge(X[1:], y[1:], 1.0)
    with_person, score = logistic_pieces(X, y, 1.0)
    without, _ = logistic_pieces(X[1:], y[1:], 1.0)
    # both fits have gradients below 6e-10, against a smallest curvature of 1
    for hessian, at in [(with_person, rest), (without, full)]:
        shift = ch.stationary_shift(hessian, score(at, 0), rest, full)
        assert_allclose(shift, rest - full, rtol=0, atol=2e-9)


def test_no_single_hessian_will_do(votes):
    X, y = votes
    full, rest = ch.logistic_ridge(X, y, 1.0), ch.logistic_ridge(X[1:], y[1:], 1.0)
    hessian, score = logistic_pieces(X, y, 1.0)
    share = np.linspace(0, 1, 2001)
    miss = [
        np.linalg.norm(
            np.linalg.solve(hessian(t * rest + (1 - t) * full), score(rest, 0)) - (rest - full)
        )
        for t in share
    ]
    assert min(miss) > 1e-3 * np.linalg.norm(rest - full)


def test_logistic_ridge_is_sklearn_and_a_minimum(votes):
    X, y = votes
    theta = ch.logistic_ridge(X, y, 2.0)
    other = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    assert_allclose(theta, other.coef_[0], atol=1e-6)
    far = ch.logistic_ridge(1e3 * X, y, 1e-3)  # nearly separable, steps must be halved
    p = special.expit(1e3 * X @ far)
    assert np.linalg.norm(1e3 * (p - y) @ X + 1e-3 * far) < 1e-9


@pytest.mark.parametrize("size", [2.0**20, 2.0**27, 2.0**34])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_logistic_ridge_in_other_units(votes, size, lam):
    """Rows so long that the rounding of the gradient is above any fixed stop."""
    X, y = votes
    far = ch.logistic_ridge(size * X, y, size**2 * lam)
    assert_allclose(size * far, ch.logistic_ridge(X, y, lam), rtol=1e-9)


# --- one Newton step -----------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.05, 1.0, 30.0])
def test_the_newton_error_is_below_its_certificate_and_not_far(votes, lam):
    X, y = votes
    fit = ch.logistic_leave_one_out(X, y, lam)
    theta = fit.theta
    refits = [ch.logistic_ridge(np.delete(X, i, 0), np.delete(y, i), lam) for i in range(60)]
    error = np.linalg.norm(theta - refits - fit.move, axis=1)
    assert np.all(error <= fit.error)
    assert np.median(error / fit.error) > 0.5
    assert np.median(error / np.linalg.norm(fit.move, axis=1)) < 0.05


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("lam", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_the_certificate_holds_where_everybody_agrees(size, lam, label):
    """The score of equal rows with equal labels solves u + log(u) + log(1 + e^-u) = a constant."""

    def fit(n):
        constant = np.log(n * size**2 / lam)
        # in log u, which may be far below 0
        v = optimize.brentq(
            lambda v: np.exp(v) + v + np.log1p(np.exp(-np.exp(v))) - constant, -800, 6, xtol=1e-14
        )
        return (2 * label - 1) * np.exp(v) / size

    n = 5
    X, y = np.full((n, 1), size), np.full(n, label)
    got = ch.logistic_leave_one_out(X, y, lam)
    theta, move = fit(n), fit(n) - fit(n - 1)
    assert abs(got.theta[0] - theta) <= 1e-9 * abs(theta)
    assert np.all(np.abs(got.move - move) <= got.error[:, None] + 1e-13 * abs(theta))


@pytest.mark.parametrize("lam", [1.0, 100.0])
def test_the_certificate_is_the_stated_formula(votes, lam):
    X, y = votes
    fit, longest = ch.logistic_leave_one_out(X, y, lam), []
    for i in [0, 7, 30]:
        rest, labels = np.delete(X, i, 0), np.delete(y, i)
        candidate = fit.theta - fit.move[i]
        p = special.expit(rest @ candidate)
        inverse = np.linalg.inv(rest.T @ (rest * (p * (1 - p))[:, None]) + lam * np.eye(3))
        g = rest.T @ (p - labels) + lam * candidate
        nu = np.sqrt(g @ inverse @ g)
        S = np.sqrt(np.einsum("ij,jk,ik->i", rest, inverse, rest).max())
        bound = -np.log1p(-S * nu) / S * np.sqrt(np.linalg.eigvalsh(inverse)[-1])
        assert_allclose(fit.error[i], bound, rtol=1e-7)  # the gradient cancels to 8 digits
        longest.append(S)
    assert (max(longest) < 1) == (lam == 100.0)


def test_where_the_certificate_fails_it_says_infinite():
    X, y = np.array([[50.0], [0.3], [-0.4]]), np.array([0.0, 1.0, 0.0])
    fit = ch.logistic_leave_one_out(X, y, 1e-3)
    refit = ch.logistic_ridge(X[1:], y[1:], 1e-3)
    assert np.isinf(fit.error[0])
    assert np.abs(fit.theta - refit - fit.move[0]) > 1


# --- output perturbation -------------------------------------------------------------------------


def test_output_losses_are_those_of_refits():
    rng = np.random.default_rng(SEED)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    root = rng.normal(size=(3, 3))
    A = root @ root.T + np.eye(3)
    losses = ch.output_perturbation_losses(leave_one_out(X, y, 2.0, np.ones(40)).move, 3.0, 1e-5, A)
    full = ridge_sum(X, y, 2.0)
    for i in [0, 7, 39]:
        v = full - ridge_sum(np.delete(X, i, 0), np.delete(y, i), 2.0)
        assert_allclose(losses.mu[i], np.sqrt(3 * v @ A @ v), rtol=1e-10)
    delta = gaussian_profile(losses.epsilon, losses.mu)
    assert np.all(delta <= 1e-5)
    assert_allclose(delta[losses.epsilon > 0], 1e-5, rtol=1e-6)


def test_three_metrics_have_the_closed_forms_of_the_table():
    rng = np.random.default_rng(SEED)
    X, y, lam = rng.normal(size=(40, 3)), rng.normal(size=40), 2.0
    fit = leave_one_out(X, y, lam, np.ones(40))
    i, H = 4, X[np.arange(40) != 4].T @ X[np.arange(40) != 4] + lam * np.eye(3)
    x, r_in = X[i], fit.residual_in[i]
    wanted = [
        (np.eye(3), abs(r_in) * np.linalg.norm(np.linalg.solve(H, x))),
        (H @ H, abs(r_in) * np.linalg.norm(x)),
        (H, abs(r_in) * np.sqrt(fit.leverage[i])),
        (H + np.outer(x, x), abs(fit.residual[i]) * np.sqrt(fit.leverage_in[i])),
    ]
    for A, length in wanted:
        losses = ch.output_perturbation_losses(fit.move, 1.0, 1e-3, A)
        assert_allclose(losses.mu[i], length, rtol=1e-9)


def test_zero_infinite_and_uncertain_moves():
    losses = ch.output_perturbation_losses([[0.0], [np.inf], [1.0]], 4.0, 1e-3, error=[0, 0, 0.5])
    assert losses.epsilon[0] == 0
    assert losses.epsilon[1] == np.inf
    assert_allclose(losses.mu, [0, np.inf, 3], rtol=1e-14)


# --- kernels -------------------------------------------------------------------------------------


@given(st.floats(1e-3, 1e3), st.integers(1, 6))
def test_linear_kernel_is_ridge(lam, d):
    rng = np.random.default_rng(SEED)
    X, y = rng.normal(size=(12, d)), rng.normal(size=12)
    fit, ridge = (
        ch.kernel_leave_one_out(X @ X.T, y, lam),
        leave_one_out(X, y, lam, np.ones(12)),
    )
    for name in ["leverage", "leverage_in", "residual", "residual_in"]:
        assert_allclose(getattr(fit, name), getattr(ridge, name), rtol=1e-8, atol=1e-12)


def rbf(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


def test_outsider_of_the_rest_is_the_participant():
    rng = np.random.default_rng(SEED)
    Z, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    K = rbf(Z, Z)
    fit = ch.kernel_leave_one_out(K, y, 0.3)
    for i in [0, 11]:
        keep = np.arange(20) != i
        rest = K[np.ix_(keep, keep)]
        image = np.linalg.solve(rest + 0.3 * np.eye(19), np.stack([K[i, keep], y[keep]], axis=1))
        leverage, fitted = (1.0 - K[i, keep] @ image[:, 0]) / 0.3, K[i, keep] @ image[:, 1]
        residual = y[i] - fitted
        assert_allclose([leverage, residual], [fit.leverage[i], fit.residual[i]], rtol=1e-11)


def test_small_leverages_keep_their_digits():
    K = np.full((2, 2), 1e-14)
    assert_allclose(ch.kernel_leave_one_out(K, [1.0, 2.0], 1.0).leverage, 1e-14, rtol=1e-9)


# --- objective perturbation ----------------------------------------------------------------------


def slow_profile(epsilon, mu, rho, tau):
    """Add direction, 20 digits, as P(L > eps) - e^eps Q(L > eps): half lines in the tilt."""
    mp.mp.dps = 20
    epsilon, mu, rho, tau = map(mp.mpf, (epsilon, mu, rho, tau))

    def tail(center, deviation, cov, sign):
        rest = mp.sqrt(1 - (cov / deviation) ** 2)

        def chance(w):
            edge = (epsilon + mp.log1p(mu) - sign * w**2 / 2) / w
            z = (cov * (w - center) / deviation**2 - edge) / rest
            return mp.ncdf(z if w > 0 else -z) * mp.npdf(w, center, deviation)

        ends = [center + deviation * k for k in range(-9, 10, 3)] + [mp.mpf(0)]
        return mp.quad(chance, sorted(ends))

    out = tail(rho, tau, mu, 1)
    inside = tail(rho / (1 + mu), tau / (1 + mu), mu / (1 + mu), -1)
    return float(out - mp.exp(epsilon) * inside)


@pytest.mark.parametrize("person", [(1, 0.1, 1, 0.101), (2, 3, 0.5, 9), (5, 0.01, 3, 0.5)])
def test_profile_against_20_digits(person):
    assert_allclose(
        ch.objective_perturbation_profile(*person).add, slow_profile(*person), atol=1e-12
    )


def test_one_dimension_is_two_normals():
    mu, rho = 0.4, 1.3
    p, q = stats.norm(rho, mu), stats.norm(rho / (1 + mu), mu / (1 + mu))
    for epsilon in [0.0, 0.2, 1.0]:

        def gap(w, a=p, b=q, epsilon=epsilon):
            return a.logpdf(w) - b.logpdf(w) - epsilon

        w = np.linspace(rho - 12 * mu, rho + 12 * mu, 400_001)
        for ours, a, b in zip(
            ch.objective_perturbation_profile(epsilon, mu, rho, mu), (p, q), (q, p), strict=True
        ):
            sign = np.flatnonzero(np.diff(np.sign(gap(w, a, b))))
            roots = [optimize.brentq(gap, w[k], w[k + 1], args=(a, b)) for k in sign]
            ends = np.array([-np.inf, *roots, np.inf])
            middle = np.array(
                [roots[0] - 1, *np.convolve(roots, [0.5, 0.5], "valid"), roots[-1] + 1]
            )
            positive = gap(middle, a, b) > 0
            mass = np.diff(a.cdf(ends)) - np.exp(epsilon) * np.diff(b.cdf(ends))
            assert_allclose(ours, mass[positive].sum(), atol=1e-12)


def simulated(X, y, x, label, lam, sigma, epsilon, draws=200_000):
    """Standard errors between the package and the two Gaussian densities themselves."""
    rng = np.random.default_rng(SEED)
    d = X.shape[1]
    laws = []
    for rows, labels in [(X, y), (np.vstack([X, x]), np.append(y, label))]:
        H = rows.T @ rows + lam * np.eye(d)
        inverse = np.linalg.inv(H)
        laws.append(
            stats.multivariate_normal(inverse @ rows.T @ labels, sigma**2 * inverse @ inverse)
        )
    H = X.T @ X + lam * np.eye(d)
    image, length = np.linalg.solve(H, x), np.linalg.norm(x)
    rho = length * (label - x @ laws[0].mean) / sigma
    ours = ch.objective_perturbation_profile(
        epsilon, x @ image, rho, length * np.linalg.norm(image)
    )
    errors = []
    for value, (a, b) in zip(ours, [laws, laws[::-1]], strict=True):
        points = a.rvs(draws, random_state=rng)
        gain = np.maximum(0, -np.expm1(epsilon - a.logpdf(points) + b.logpdf(points)))
        errors.append(abs(value - gain.mean()) / (gain.std() / np.sqrt(draws)))
    return max(errors)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_profile_against_densities_in_four_dimensions(epsilon):
    rng = np.random.default_rng(SEED + 1)
    X, y, x = rng.normal(size=(20, 4)) / 2, rng.normal(size=20), rng.normal(size=4)
    # beyond 5 standard errors in 6 comparisons: less than once in 250,000
    assert simulated(X, y, x, 1.5, 0.7, 1.3, epsilon) < 5


people = st.tuples(st.floats(-4, 1), st.floats(-2, 1), st.floats(0, 2))


@given(people, st.floats(0, 5), st.floats(0.01, 2))
def test_profile_falls_and_meets_at_zero(person, epsilon, more):
    mu, rho, tau = 10 ** person[0], 10 ** person[1], 10 ** (person[0] + person[2])
    add, remove = ch.objective_perturbation_profile([0, epsilon, epsilon + more], mu, rho, tau)
    for delta in (add, remove):
        assert 1 >= delta[0] >= delta[1] - 1e-8
        assert delta[1] >= delta[2] - 1e-8
    assert_allclose(add[0], remove[0], atol=1e-7)
    mirrored = ch.objective_perturbation_profile(epsilon, mu, -rho, tau)
    assert_allclose(mirrored, [add[1], remove[1]], rtol=1e-12)


def test_epsilon_keeps_its_delta():
    rng = np.random.default_rng(SEED)
    mu = 10 ** rng.uniform(-4, 0, 40)
    rho, tau = 10 ** rng.uniform(-2, 0.7, 40), mu * (1 + rng.exponential(size=40))
    for target in [1e-8, 1e-3]:
        epsilon = ch.objective_perturbation_epsilon(target, mu, rho, tau)
        found = np.maximum(*ch.objective_perturbation_profile(epsilon, mu, rho, tau))
        assert np.all(found <= target)
        assert_allclose(found[epsilon > 0], target, rtol=1e-5)


def test_losses_from_one_factorization_are_those_of_refits():
    rng = np.random.default_rng(SEED)
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    X[3] = 0
    losses = ch.objective_perturbation_losses(X, y, 0.5, 2.0, 1e-4)
    assert losses.epsilon[3] == 0
    for i in [0, 9]:
        rest, labels = np.delete(X, i, 0), np.delete(y, i)
        H = rest.T @ rest + 0.5 * np.eye(3)
        image, length = np.linalg.solve(H, X[i]), np.linalg.norm(X[i])
        r = y[i] - X[i] @ ridge_sum(rest, labels, 0.5)
        numbers = [X[i] @ image, length * abs(r) / 2, length * np.linalg.norm(image)]
        assert_allclose(
            [losses.leverage[i], losses.scaled_residual[i], losses.spread[i]], numbers, rtol=1e-10
        )
        assert_allclose(
            losses.epsilon[i], ch.objective_perturbation_epsilon(1e-4, *numbers), rtol=1e-8
        )


def test_planted_determinant_is_caught():
    """Half of the log-determinant, as for posterior sampling, is not this mechanism's."""
    mu, rho, tau = 0.5, 1.0, 0.8
    rng = np.random.default_rng(SEED)
    w = rho + tau * rng.standard_normal(200_000)
    slope = mu / tau**2
    a = slope * (w - rho) + np.sqrt(1 - (mu / tau) ** 2) * rng.standard_normal(w.size)
    exact = ch.objective_perturbation_profile(0.3, mu, rho, tau).add

    def errors(share):
        gain = np.maximum(0, -np.expm1(0.3 + share * np.log1p(mu) - a * w - w**2 / 2))
        return abs(gain.mean() - exact) / (gain.std() / np.sqrt(w.size))

    assert errors(1.0) < 5
    assert errors(0.5) > 20


# --- intervals -----------------------------------------------------------------------------------


def coverage(variance, *, degrees=None, claimed=2.0, releases=2000, level=0.9):
    """Share of intervals that cover; `claimed` is the gamma that the intervals are told."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(30, 2))
    G, theta, sigma, gamma = X.T @ X, np.array([0.5, -1.0]), 0.7, 2.0
    chol = np.linalg.cholesky(np.linalg.inv(G))
    labels = X @ theta + sigma * rng.standard_normal((releases, 30))
    fits = np.linalg.solve(G, X.T @ labels.T).T
    released = fits + rng.standard_normal((releases, 2)) @ chol.T / np.sqrt(gamma)
    block = 1 if degrees else 50  # with a known variance, 50 studies side by side are one
    gram, hits = np.kron(np.eye(block), G), 0
    for some in released.reshape(-1, block * 2):
        used = variance if degrees is None else variance * rng.chisquare(degrees) / degrees
        low, high = ch.release_intervals(some, gram, claimed, used, level, degrees).T
        hits += ((low <= np.tile(theta, block)) & (np.tile(theta, block) <= high)).sum()
    return hits / (2 * releases)


def test_intervals_cover():
    error = np.sqrt(0.09 / 2000)  # of one coordinate; the mean of two errs no more
    assert abs(coverage(0.49) - 0.9) < 5 * error
    assert coverage(0.49, degrees=5) > 0.9 - 3 * error


@pytest.mark.parametrize("degrees", [1, 4, 30])
@pytest.mark.parametrize("gamma", [0.1, 2.0, 100.0])
def test_an_estimated_variance_costs_no_coverage(degrees, gamma):
    """Exact: the estimate integrated out. With the normal quantile the interval is too short."""

    def missed(square, told=degrees):
        high = ch.release_intervals([0.0], [[1.0]], gamma, square / degrees, 0.9, told)[0, 1]
        return 2 * stats.norm.sf(high / np.sqrt(1 + 1 / gamma))

    student = stats.chi2(degrees).expect(missed)
    normal = stats.chi2(degrees).expect(lambda square: missed(square, None))
    assert student <= 0.1 < normal


def test_forgetting_the_noise_of_the_release_is_caught():
    assert coverage(0.49, claimed=1e12) < 0.8


# --- bad input -----------------------------------------------------------------------------------

ONE = np.ones((2, 1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ch.logistic_ridge(ONE, [0.0, 2.0], 1.0),
            ValueError,
            r"y must lie in \[0, 1\]",
        ),
        (
            lambda: ch.logistic_ridge(ONE, [0.0, 1.0], 0.0),
            ValueError,
            "lam must be finite and",
        ),
        (lambda: ch.logistic_ridge(ONE, [0.0, np.nan], 1), ValueError, "y must be finite"),
        (
            lambda: ch.logistic_ridge(1e8 * np.ones((4, 2)), [0, 1, 0, 0], 1e-12),
            ValueError,
            "lam must be large enough for Newton's method",
        ),
        (
            lambda: ch.kernel_leave_one_out(ONE, [1.0, 1.0], 1),
            ValueError,
            "K must have shape",
        ),
        (
            lambda: ch.kernel_leave_one_out([[np.inf]], [1], 1),
            ValueError,
            r"^K must be finite",
        ),
        (
            lambda: ch.kernel_leave_one_out([[0, 1], [2, 0]], [1, 1], 1),
            ValueError,
            "K must be sym",
        ),
        (
            lambda: ch.kernel_leave_one_out([[0, 1], [1, 0]], [1, 1], 1),
            ValueError,
            "K must be pos",
        ),
        (
            lambda: ch.kernel_leave_one_out(np.eye(2), [1, 1], 0),
            ValueError,
            "lam must be finite",
        ),
        (
            lambda: ch.output_perturbation_losses([1.0], 1, 0.1),
            ValueError,
            "move must have shape",
        ),
        (
            lambda: ch.output_perturbation_losses([[0], [np.nan]], 1, 0.1),
            ValueError,
            "got it in row 1",
        ),
        (
            lambda: ch.output_perturbation_losses(ONE, 0, 0.1),
            ValueError,
            "gamma must be finite",
        ),
        (
            lambda: ch.output_perturbation_losses(ONE, 1, 1.0),
            ValueError,
            "delta must be above 0",
        ),
        (
            lambda: ch.output_perturbation_losses(ONE, 1, 0.1, [[-1]]),
            ValueError,
            "metric must be",
        ),
        (
            lambda: ch.output_perturbation_losses(np.ones((1, 2)), 1, 0.1, [[2, 0.1], [0.05, 1]]),
            ValueError,
            "metric must be symmetric",
        ),
        (
            lambda: ch.output_perturbation_losses(ONE, 1, 0.1, error=-1),
            ValueError,
            "error must be",
        ),
        (lambda: ch.objective_perturbation_profile(1, 0.2, 1, 0.1), ValueError, "spread must be"),
        (lambda: ch.objective_perturbation_profile(-1, 0.1, 1, 1), ValueError, "epsilon must be"),
        (lambda: ch.objective_perturbation_profile(1, True, 1, 1), TypeError, "leverage must be"),
        (lambda: ch.objective_perturbation_epsilon(0, 0.1, 1, 1), ValueError, "delta must be abo"),
        (
            lambda: ch.objective_perturbation_profile([1, 2], 0.1, [1, 2, 3], 1),
            ValueError,
            r"epsilon or delta and .*\(2,\), \(\), \(3,\), \(\)",
        ),
        (
            lambda: ch.objective_perturbation_losses(ONE, [1, 1], 1, -2, 0.1),
            ValueError,
            "sigma must be",
        ),
        (lambda: ch.release_intervals([1], [[0]], 1, 1), ValueError, "gram must be positive"),
        (
            lambda: ch.release_intervals([1], [[1]], np.inf, 1),
            ValueError,
            "gamma must be finite",
        ),
        (
            lambda: ch.release_intervals([1], [[1]], [1], 1),
            ValueError,
            "^gamma must be a single",
        ),
        (
            lambda: ch.release_intervals([1], [[1]], 1, 1, [0.5]),
            ValueError,
            "^level must be a sin",
        ),
        (
            lambda: ch.release_intervals([1], [[1]], 1, 1, degrees=0),
            ValueError,
            "^degrees must be finite",
        ),
        (
            lambda: ch.release_intervals([1], [[1]], 1, 1, degrees=[3]),
            ValueError,
            "^degrees must be a single",
        ),
        (
            lambda: ch.release_intervals([1], [1], 1, 1),
            ValueError,
            r"gram must have shape \(d, d\)",
        ),
        (
            lambda: ch.stationary_shift(lambda t: np.zeros((1, 1)), [1.0], [0.0], [1.0]),
            ValueError,
            "hessian must have an inv",
        ),
        (
            lambda: ch.stationary_shift(lambda t: np.eye(1), [1.0], [0.0, 1.0], [1.0]),
            ValueError,
            "score, start and end",
        ),
        (
            lambda: ch.stationary_shift(lambda t: np.eye(1), [1.0], [0.0], [1.0], nodes=0),
            ValueError,
            "^nodes must be at least 1",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
