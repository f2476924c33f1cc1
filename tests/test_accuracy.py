"""Error bounds, exact mean squares and public penalties: by hand, by simulation, by rivals."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from pdpbook.noise import sample_l2_laplace
from pdpbook.personalized import (
    ErrorTerms,
    error_bound,
    mean_square_error,
    pdp_weights,
    prediction_error_bound,
    public_penalty,
)
from pdpbook.ridge import weighted_ridge
from pdpbook.sensitivity import ridge_constant

SEED = 20261123
PROOFS = ["published", "eigenvalue", "sharp"]


def people(n=40, d=4, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), pdp_weights(rng.uniform(0.01, 1, n)), rng.normal(size=d)


def parts(terms):
    return [terms.bias, terms.privacy_noise, terms.label_noise]


# ---------------------------------------------------------------- bounds, by hand and by matrices


def test_one_person_by_hand():
    # S = 1, H = 2, M = 1/2; q is the quantile of a unit exponential, -ln(delta / 2)
    case = dict(theta=[-3.0], sigma=0.5, delta=0.08)
    published = error_bound([[1.0]], 1.0, None, 2.0, **case)
    assert_allclose(parts(published), [1.5, (1 + 5) / 2, 0.5 * 5], rtol=1e-14)
    eigenvalue = error_bound([[1.0]], 1.0, None, 2.0, proof="eigenvalue", **case)
    assert_allclose(parts(eigenvalue), [1.5, 3, 1.25], rtol=1e-14)
    sharp = error_bound([[1.0]], 1.0, None, 2.0, proof="sharp", **case)
    spread = 0.25 * (1 + math.sqrt(2 * math.log(25)))
    assert_allclose(parts(sharp), [1.5, math.log(25) / 2, spread], rtol=1e-12)
    assert sharp.total == sum(parts(sharp))


@given(st.integers(1, 12), st.integers(1, 8), st.floats(1e-3, 1e3), st.integers(0, 999))
def test_the_matrices_written_out(n, d, lam, seed):
    X, w, theta = people(n, d, seed)
    inverse = np.linalg.inv((X.T * w) @ X + lam * np.eye(d))
    M = inverse @ (X.T * w)
    exact = mean_square_error(X, lam, w, 3.0, theta=theta, sigma=0.7)
    bias = lam * np.linalg.norm(inverse @ theta)
    squares = [bias**2, d * (d + 1) / 9, 0.49 * np.sum(M**2)]
    assert_allclose(parts(exact), squares, rtol=1e-6, atol=1e-12)
    sharp = error_bound(X, lam, w, 3.0, theta=theta, sigma=0.7, delta=0.1, proof="sharp")
    spread = np.linalg.norm(M) + np.linalg.norm(M, 2) * math.sqrt(2 * math.log(20))
    radius = stats.gamma.ppf(0.95, d) / 3
    assert_allclose(parts(sharp), [bias, radius, 0.7 * spread], rtol=1e-6, atol=1e-12)
    known = error_bound(
        X, lam, w, 3.0, theta=np.linalg.norm(theta), sigma=0.7, delta=0.1, proof="sharp"
    )
    published = error_bound(X, lam, w, 3.0, theta=theta, sigma=0.7, delta=0.1)
    assert_allclose(known.bias, published.bias, rtol=1e-12)
    assert_allclose(
        published.bias, lam * np.linalg.norm(inverse, 2) * np.linalg.norm(theta), rtol=1e-6
    )


@given(st.integers(1, 30), st.integers(1, 9), st.floats(1e-4, 1e4), st.floats(1e-9, 0.2))
def test_a_later_proof_is_never_larger(n, d, lam, delta):
    X, w, theta = people(n, d, n + d)
    terms = [
        parts(error_bound(X, lam, w, 1.0, theta=theta, sigma=1.0, delta=delta, proof=proof))
        for proof in PROOFS
    ]
    assert np.all(np.diff(terms, axis=0) <= 1e-12 * np.abs(terms[:-1]))


def test_too_few_people_leave_the_whole_bias():
    X, w, theta = people(n=3, d=5)
    for lam in (1e-6, 1.0, 1e6):
        terms = error_bound(X, lam, w, 1.0, theta=theta, sigma=0.0, delta=0.1)
        assert_allclose(terms.bias, np.linalg.norm(theta), rtol=1e-12)
        assert mean_square_error(X, lam, w, 1.0, theta=theta).bias <= theta @ theta * (1 + 1e-12)


def test_weights_are_one_over_n_by_default():
    X, _, theta = people()
    same = np.full(len(X), 1 / len(X))
    assert mean_square_error(X, 1.0, None, 1.0, theta=theta) == mean_square_error(
        X, 1.0, same, 1.0, theta=theta
    )


# ---------------------------------------------------------------- simulation


@cache
def simulated(lam, eta, sigma, draws, noise="gaussian"):
    """Lengths of the error: labels are drawn and fitted, and the fit is released."""
    X, w, theta = people()
    rng = np.random.default_rng(SEED)
    size = (draws, len(X))
    xi = rng.standard_normal(size) if noise == "gaussian" else rng.choice([-1.0, 1.0], size)
    fits = [weighted_ridge(X, X @ theta + sigma * row, lam, w) for row in xi]
    return np.linalg.norm(fits + sample_l2_laplace(X.shape[1], eta, draws, rng=rng) - theta, axis=1)


def mean_square_agrees(claim, eta=8.0, sigma=1.0, noise="gaussian"):
    # 5 standard errors: a false alarm in two million
    X, w, theta = people()
    squares = simulated(0.3, eta, sigma, 3000, noise) ** 2
    exact = mean_square_error(X, 0.3, w, eta, theta=theta, sigma=sigma)
    error = squares.std() / math.sqrt(len(squares))
    return bool(abs(squares.mean() - claim(exact)) < 5 * error)


@pytest.mark.parametrize("noise", ["gaussian", "two-point"])
def test_mean_square_is_the_simulated_one(noise):
    assert mean_square_agrees(lambda terms: terms.total, noise=noise)


@pytest.mark.parametrize(
    ("bug", "eta", "sigma"),  # where the term in question is most of the error
    [
        (lambda t: t.bias + t.privacy_noise * 4 / 5 + t.label_noise, 1.0, 1.0),  # d^2, not d (d+1)
        (lambda t: t.privacy_noise + t.label_noise, 8.0, 1.0),
        (lambda t: t.bias + t.privacy_noise, 8.0, 10.0),
        (lambda t: t.bias + t.privacy_noise + t.label_noise / 10, 8.0, 10.0),  # not squared
    ],
)
def test_planted_mean_squares_are_caught(bug, eta, sigma):
    assert mean_square_agrees(lambda terms: terms.total, eta, sigma)
    assert not mean_square_agrees(bug, eta, sigma)


REGIMES = {  # lam, eta, sigma: which of the three terms is most of the error
    "bias": (1e3, 1e3, 0.1),
    "privacy": (1e-3, 1.0, 1e-4),
    "labels": (1e-2, 1e3, 1.0),
}


def coverage(regime, claim, delta, proof):
    X, w, theta = people()
    lam, eta, sigma = REGIMES[regime]
    errors = simulated(lam, eta, sigma, 1000)
    terms = error_bound(X, lam, w, eta, theta=theta, sigma=sigma, delta=delta, proof=proof)
    return np.mean(errors <= claim(terms))


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("regime", REGIMES)
def test_bounds_cover(regime, proof):
    # the largest true failure rate here is about delta / 2; 0.1 is seven standard errors above
    assert coverage(regime, lambda terms: terms.total, 0.1, proof) >= 0.9


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize(
    ("regime", "dropped"),
    [("bias", "bias"), ("privacy", "privacy_noise"), ("labels", "label_noise")],
)
def test_a_bound_without_one_of_its_terms_does_not_cover(regime, dropped, proof):
    assert coverage(regime, lambda terms: terms.total - getattr(terms, dropped), 0.1, proof) < 0.5


# ---------------------------------------------------------------- public quantities alone


def squared_bias(X, w, lam, directions, newcomers):
    """Mean over newcomers of the squared bias of their prediction, for every direction."""
    H = (X.T * w) @ X + lam * np.eye(X.shape[1])
    return np.mean((newcomers @ np.linalg.solve(H, lam * directions)) ** 2, axis=0)


def designs(d):
    """Samplers of rows in the cube, from harmless to hostile."""

    def few_levels(n, rng):
        return np.eye(d)[rng.integers(d, size=n)] * rng.choice([0.1, 1.0], (n, 1))

    return {
        "uniform": lambda n, rng: rng.random((n, d)),
        "one point": lambda n, rng: np.ones((n, d)),
        "one column at a time": few_levels,
        "rare": lambda n, rng: np.ones((n, d)) * (rng.random((n, 1)) < 0.2),
    }


@pytest.mark.parametrize("design", ["uniform", "one point", "one column at a time", "rare"])
@pytest.mark.parametrize("lam", [0.3, 3.0, 30.0])
def test_prediction_bound_holds_for_every_direction(design, lam):
    n, d = 30, 3
    rng = np.random.default_rng(SEED)
    epsilon = rng.uniform(0.1, 1, n)
    w = pdp_weights(epsilon)
    directions = rng.normal(size=(d, 20))
    directions = np.column_stack(
        [directions / np.linalg.norm(directions, axis=0), np.ones(d) / np.sqrt(d), np.eye(d)]
    )
    draw = designs(d)[design]
    bias = np.mean(
        [squared_bias(draw(n, rng), w, lam, directions, draw(50, rng)) for _ in range(100)], axis=0
    )
    worst = prediction_error_bound(lam, epsilon, d, theta_norm=1.0)
    assert bias.max() <= worst.bias
    isotropic = prediction_error_bound(lam, epsilon, d, theta_norm=1.0, prior="isotropic")
    assert bias[-d:].mean() <= isotropic.bias <= worst.bias  # the mean over an orthonormal basis


@pytest.mark.parametrize("lam", [0.5, 2.0, 40.0])
def test_prediction_bias_is_attained_by_a_crowd_of_one_kind(lam):
    # identical rows of squared norm min(d, lam), many people: tau is below 1e-3
    n, d = 20_000, 2
    X = np.full((n, d), math.sqrt(min(d, lam) / d))
    attained = squared_bias(X, np.full(n, 1 / n), lam, np.ones((d, 1)) / math.sqrt(d), X[:1])
    bound = prediction_error_bound(lam, np.ones(n), d, theta_norm=1.0).bias
    assert_allclose(attained[0], bound, rtol=1e-3)
    assert attained[0] <= bound


def test_prediction_bound_by_hand():
    # n = 10 equal budgets of 2, d = 4, lam = 8: R^2 = 4, tau = 0.05, phi = 4 / 1.5^2
    terms = prediction_error_bound(8.0, [2.0] * 10, 4, theta_norm=0.5, sigma=0.2, proof="published")
    constant = 4 / 8 * (1 + 2 * 2 / 8)
    assert_allclose(
        parts(terms),
        [0.25 * 1.1**2 * 4 / 2.25, 5 * 4 * constant**2 / 400, 0.04 * 0.05 / 4],
        rtol=1e-13,
    )
    isotropic = prediction_error_bound(0.5, [2.0] * 1000, 4, theta_norm=1.0, prior="isotropic")
    assert_allclose(isotropic.bias, (1 + 2 * 0.008) ** 2 * 0.5 / 4, rtol=1e-13)  # s = 1 > lam
    capped = prediction_error_bound(1e-3, [2.0] * 10, 4, theta_norm=0.5)
    assert capped.bias == 0.25 * 4


@pytest.mark.parametrize("prior", ["worst-case", "isotropic"])
@pytest.mark.parametrize(("n", "d"), [(200, 2), (1070, 12), (20_000, 12)])
def test_public_penalty_is_the_best_on_a_fine_grid(prior, n, d):
    epsilon = np.linspace(0.01, 1, n)
    choice = public_penalty(epsilon, d, theta_norm=0.5, sigma=0.1, prior=prior)
    grid = choice.lam * np.geomspace(1e-2, 1e2, 101)
    values = [
        prediction_error_bound(lam, epsilon, d, theta_norm=0.5, sigma=0.1, prior=prior).total
        for lam in grid
    ]
    assert choice.bound <= min(values) * (1 + 1e-6)
    assert_allclose(
        prediction_error_bound(
            choice.lam, epsilon, d, theta_norm=0.5, sigma=0.1, prior=prior
        ).total,
        choice.bound,
        rtol=1e-15,
    )


def test_more_budget_never_hurts_and_large_budgets_ask_for_little_penalty():
    penalties, bounds = [], []
    for factor in (1, 10, 100, 1000):
        choice = public_penalty(factor * np.ones(10_000), 5, theta_norm=1.0)
        penalties.append(choice.lam)
        bounds.append(choice.bound)
    assert np.all(np.diff(penalties) < 0)
    assert np.all(np.diff(bounds) < 0)


def test_too_few_people_are_told_to_predict_zero():
    choice = public_penalty([0.01, 1.0], 30, theta_norm=0.3)
    assert choice.lam == math.inf
    assert_allclose(choice.bound, 0.09, rtol=1e-14)
    assert public_penalty([0.01, 1.0], 30, theta_norm=0.0).bound == 0


def test_row_norm_enters_squared_and_never_beyond_the_cube():
    near = prediction_error_bound(5.0, np.ones(50), 12, theta_norm=1.0, row_norm=math.sqrt(7))
    far = prediction_error_bound(5.0, np.ones(50), 12, theta_norm=1.0, row_norm=99.0)
    plain = prediction_error_bound(5.0, np.ones(50), 12, theta_norm=1.0)
    assert far == plain
    assert near.total < plain.total
    constant = ridge_constant(5.0, 12, row_norm=math.sqrt(7))
    assert_allclose(near.privacy_noise, 13 * 7 * constant**2 / 2500, rtol=1e-13)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta must be above 0 and below 1; got 0"),
        ({"delta": 1.0}, "delta must be above 0 and below 1; got 1"),
        ({"delta": math.nan}, "delta must be above 0 and below 1; got nan"),
        ({"sigma": -1.0}, "sigma must be finite and at least 0; got -1"),
        ({"theta": [1.0, 2.0]}, r"theta must be a bound on a norm or have shape \(4,\)"),
        ({"theta": [1.0, math.nan, 0, 0]}, r"theta must be finite; got theta\[1\] = nan"),
        ({"theta": -1.0}, "theta must be finite and at least 0; got -1"),
        ({"proof": "tight"}, "proof must be one of 'published', 'eigenvalue', 'sharp'"),
        ({"lam": 0.0}, "lam must be finite and above 0; got 0"),
        ({"eta": math.inf}, "eta must be finite and above 0; got inf"),
        ({"eta": [1.0]}, r"^eta must be a single number; got shape \(1,\)"),
        ({"weights": [1.0]}, r"weights must have shape \(40,\)"),
        ({"X": [1.0, 2.0]}, r"X must have shape \(n, d\)"),
        ({"X": [[math.inf]]}, r"X must be finite; got X\[0, 0\] = inf"),
    ],
)
def test_bad_values_of_a_bound_are_named(change, message):
    X, w, theta = people()
    good = dict(X=X, lam=1.0, weights=w, eta=1.0, theta=theta, sigma=0.1, delta=0.1)
    with pytest.raises(ValueError, match=message):
        error_bound(**{**good, **change})


@pytest.mark.parametrize("name", ["lam", "eta", "theta", "sigma", "delta"])
@pytest.mark.parametrize("value", [True, "1", None])
def test_wrong_kinds_are_type_errors(name, value):
    X, w, theta = people()
    good = dict(X=X, lam=1.0, weights=w, eta=1.0, theta=theta, sigma=0.1, delta=0.1)
    with pytest.raises(TypeError, match=f"{name} must be a number"):
        error_bound(**{**good, name: value})


def test_an_exact_mean_needs_the_coefficients():
    X, w, _ = people()
    with pytest.raises(ValueError, match=r"theta must have shape \(4,\): an exact mean needs"):
        mean_square_error(X, 1.0, w, 1.0, theta=1.0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"epsilon": [1.0, math.nan]}, ValueError, r"epsilon must be finite and at least 0"),
        ({"epsilon": 1.0}, ValueError, r"epsilon must have shape \(n,\)"),
        ({"d": 0}, ValueError, "d must be at least 1; got 0"),
        ({"d": 2.0}, TypeError, "d must be a whole number"),
        ({"theta_norm": -1.0}, ValueError, "theta_norm must be finite and at least 0"),
        ({"theta_norm": [1.0]}, ValueError, "theta_norm must be a single number"),
        ({"sigma": math.nan}, ValueError, "sigma must be finite and at least 0"),
        ({"prior": "flat"}, ValueError, "prior must be one of 'worst-case', 'isotropic'"),
        ({"proof": "sharp"}, ValueError, "proof must be one of 'published', 'exact-norm', 'tight'"),
        ({"row_norm": 0.0}, ValueError, "row_norm must be finite and above 0"),
    ],
)
def test_bad_values_of_a_public_penalty_are_named(change, error, message):
    good = dict(epsilon=[1.0, 2.0], d=2, theta_norm=1.0)
    with pytest.raises(error, match=message):
        public_penalty(**{**good, **change})
    with pytest.raises(error, match=message):
        prediction_error_bound(1.0, **{**good, **change})


def test_results_are_frozen():
    with pytest.raises(AttributeError):
        ErrorTerms(1.0, 1.0, 1.0).bias = 0.0
