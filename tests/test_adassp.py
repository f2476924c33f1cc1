"""AdaSSP: its noise, its penalty, its promise, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from pdpbook.noise import gaussian_mu, gaussian_profile
from pdpbook.sufficient_statistics import AdaSSP, adassp_coefficients, adassp_scale

SEED = 21


@pytest.fixture
def people():
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1, 1, (300, 3))
    return X, X @ [0.4, -0.3, 0.1]


def test_the_release_is_the_sums_when_there_is_no_noise_to_speak_of(people):
    X, y = people
    model = AdaSSP(epsilon=1e12, delta=0.1, random_state=0).fit(X, y)
    assert_allclose(model.coef_, [0.4, -0.3, 0.1], rtol=1e-4)
    rows = X / np.sqrt(3)
    gram = rows.T @ rows
    expected = [np.linalg.eigvalsh(gram)[0], *gram[np.triu_indices(3)], *(rows.T @ y)]
    assert_allclose(model.output_law(X, y).center, expected, rtol=1e-12)


def test_the_three_releases_move_by_at_most_the_root_of_three():
    rng = np.random.default_rng(SEED)
    model = AdaSSP(row_norm=1.0)
    largest = 0.0
    for _ in range(300):
        X = rng.normal(size=(6, 3))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = rng.choice([-1.0, 1.0], 6)
        X[0] = np.eye(3)[0] if rng.random() < 0.5 else X[0]
        one, two = model.output_law(X, y), model.output_law(X[1:], y[1:])
        largest = max(largest, np.linalg.norm(one.center - two.center))
    assert largest <= np.sqrt(3) + 1e-12
    X, y = np.eye(1), np.ones(1)  # attained: one direction, one person more
    one, two = (model.output_law(np.repeat(X, k, 0), np.repeat(y, k)) for k in (2, 1))
    assert_allclose(np.linalg.norm(one.center - two.center), np.sqrt(3))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-9)])
def test_both_calibrations_keep_the_budget_and_the_exact_one_is_tight(epsilon, delta):
    exact = adassp_scale(epsilon, delta)
    assert_allclose(gaussian_profile(epsilon, np.sqrt(3) / exact), delta, rtol=1e-6)
    published = adassp_scale(epsilon, delta, "published")
    assert published > exact
    assert gaussian_profile(epsilon, np.sqrt(3) / published) < delta


@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_each_published_release_alone_is_not_what_a_third_would_be(delta):
    sigma = adassp_scale(1.0, delta, "published")
    assert gaussian_profile(1 / 3, 1 / sigma) > delta / 3


@pytest.mark.parametrize("calibration", ["exact", "published"])
def test_the_promise_is_gaussian(people, calibration):
    model = AdaSSP(calibration=calibration).fit(*people)
    assert_allclose(model.guarantee_.mu, np.sqrt(3) / model.noise_.scale, rtol=1e-12)
    assert model.guarantee_.neighbors == "add-remove"
    assert model.guarantee_.to_approximate(1e-6).epsilon <= 1 + 1e-9


def test_the_law_realizes_the_promise():
    X, y = np.ones((3, 1)), np.ones(3)
    model = AdaSSP(row_norm=1.0)
    one, two = model.output_law(X, y), model.output_law(X[1:], y[1:])
    distance = np.linalg.norm((one.center - two.center) / one.scale)
    assert_allclose(distance, gaussian_mu(1.0, 1e-6), rtol=1e-9)


def test_the_penalty_vanishes_on_strong_data_and_is_ridge_otherwise(people):
    X, y = people
    gram, moment = X.T @ X, X.T @ y
    upper = gram[np.triu_indices(3)]
    for eigenvalue, sigma in [(1e6, 2.0), (0.0, 2.0)]:
        theta = adassp_coefficients([eigenvalue, *upper, *moment], 3, sigma)
        lam = 0.0 if eigenvalue else sigma * np.sqrt(3 * np.log(18 / 0.05))
        ridge = Ridge(alpha=lam, fit_intercept=False).fit(X, y) if lam else None
        expected = ridge.coef_ if lam else np.linalg.solve(gram, moment)
        assert_allclose(theta, expected, rtol=1e-8)


@pytest.mark.parametrize("calibration", ["exact", "published"])
def test_fit_lowers_the_eigenvalue_by_its_shift(people, calibration):
    # the published shift is the published scale without its 3 / epsilon
    (X, y), lams = people, []
    for seed in range(5):
        model = AdaSSP(calibration=calibration, epsilon=2.0, row_norm=2.0, random_state=seed)
        model.set_params(y_bounds=(-0.9, 0.9)).fit(X, y)
        sigma, released = model.noise_.scale, model.release_
        shift = 3.0 if calibration == "exact" else 2.0 * sigma / 3
        gram = np.zeros((3, 3))
        gram[np.triu_indices(3)] = released[1:7]
        gram += np.triu(gram, 1).T
        lam = sigma * np.sqrt(3 * np.log(18 / 0.05)) - max(released[0] - shift * sigma, 0)
        lam = max(lam, 0)
        lams.append(lam)
        theta = np.linalg.solve(gram + lam * np.eye(3), released[7:])
        assert_allclose(model.coef_, theta * 0.9 / np.sqrt(3), rtol=1e-9)
    assert any(0 < lam < 4 * sigma for lam in lams)  # the eigenvalue counts


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"delta": 0.0}, "delta must be"),
        ({"failure": 1.0}, "failure must be"),
        ({"calibration": "loose"}, "calibration must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"row_norm": 0.5}, "X must have rows of norm at most row_norm = 0.5"),
        ({"bounds": (0.0, 1.0)}, "X must lie in"),
    ],
)
def test_bad_settings_are_refused(bad, message, people):
    with pytest.raises(ValueError, match=message):
        AdaSSP(**bad).fit(*people)


def test_a_release_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"release must have shape \(6,\)"):
        adassp_coefficients(np.ones(5), 2, 1.0)
