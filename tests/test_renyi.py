"""Renyi promises and accounts: curves, conversions, filters, DP-SGD and posterior samples."""

import copy
import itertools
import pickle
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from pdpbook.gradient import calibrate_noise_multiplier, dpsgd_epsilon, dpsgd_renyi
from pdpbook.guarantees import (
    RENYI_ORDERS,
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PACPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    compose,
    renyi_budget,
)
from pdpbook.per_instance import ops_renyi
from pdpbook.posterior import worst_case_gamma, worst_case_renyi
from pdpbook.release import charge, release

ONE = {"neighbors": "replace-one"}
ZERO = {"neighbors": "zero-out"}
ORDERS = np.array([2.0, 4.0, 8.0])
orders_above_1 = st.floats(1.001, 500)
sizes = st.floats(-9, 2).map(lambda power: float(10**power))


def curve(epsilon, orders=ORDERS, **neighbors):
    return RenyiDP(orders, epsilon, **(neighbors or ZERO))


# ------------------------------------------------------------------ curves that theorems derive
def divergence_of_coins(epsilon, order):
    """Renyi divergence of randomized response, from its definition, in many digits."""
    with mp.workdps(60):
        e, a = mp.mpf(epsilon), mp.mpf(order)
        p = mp.exp(e) / (1 + mp.exp(e))
        return mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)


def assert_just_above(found, true, rtol=1e-13):
    with mp.workdps(60):
        assert true <= mp.mpf(float(found)) <= true * (1 + mp.mpf(rtol)) + mp.mpf(1e-300)


@given(sizes, orders_above_1)
def test_curve_of_a_pure_promise(epsilon, order):
    found = PureDP(epsilon, **ONE).to_renyi([order]).epsilon[0]
    assert_just_above(found, divergence_of_coins(epsilon, order))


@given(sizes, orders_above_1)
def test_curves_of_normals_and_of_concentrated_promises(size, order):
    with mp.workdps(60):
        normals = mp.mpf(order) * mp.mpf(size) ** 2 / 2
        concentrated = mp.mpf(order) * mp.mpf(size)
    assert_just_above(GaussianDP(size, **ONE).to_renyi([order]).epsilon[0], normals)
    assert_just_above(ZeroConcentratedDP(size, **ONE).to_renyi([order]).epsilon[0], concentrated)


def test_tiny_and_absent_budgets_have_their_curves():
    for promise in (PureDP([1e-300, 5e-324, 0.0, 700.0], **ONE), GaussianDP([1e-300, 0.0], **ONE)):
        found = promise.to_renyi(ORDERS).epsilon
        (size,) = promise._parameters().values()
        assert_array_equal(found > 0, np.broadcast_to(size[:, None] > 0, found.shape))
    assert_allclose(PureDP(700.0, **ONE).to_renyi([200]).epsilon, 700.0, rtol=0.01)


def test_a_curve_by_hand_and_what_has_none():
    assert_allclose(GaussianDP(1.0, **ONE).to_renyi([2, 4, 8]).epsilon, [1, 2, 4])
    assert len(PureDP(1.0, **ONE).to_renyi().orders) == len(RENYI_ORDERS)
    for promise in (ApproximateDP(1.0, 1e-6, **ONE), PACPrivacy(0.6)):
        with pytest.raises(TypeError, match=r"cannot turn .* into RenyiDP: no theorem does"):
            promise.to_renyi(ORDERS)
    one = curve([0.1, 0.2, 0.4])
    assert one.to_renyi(ORDERS) is one
    for refused in (one.to_zcdp, one.to_gaussian):
        with pytest.raises(TypeError, match=r"cannot turn RenyiDP into"):
            refused()
    with pytest.raises(
        ValueError, match=r"^orders must agree: .* 2, 4, 8, and 2, 4 are asked for$"
    ):
        one.to_renyi([2, 4])


# ------------------------------------------------------------------ the conversion to a delta
def best_conversion(found, at):
    """The smallest delta over the orders, in many digits (Canonne, Kamath and Steinke, 2020)."""
    with mp.workdps(60):
        deltas = [
            mp.exp((a - 1) * (mp.mpf(float(e)) - mp.mpf(at))) / (a - 1) * (1 - 1 / a) ** a
            for a, e in zip(map(mp.mpf, found.orders.tolist()), found.epsilon, strict=True)
        ]
        return min(mp.mpf(1), *deltas)


@given(st.lists(sizes, min_size=3, max_size=3), st.floats(0, 150))
def test_profile_of_a_curve(sizes, at):
    found = curve(np.sort(sizes))
    true = best_conversion(found, at)
    assert_just_above(found.profile(at), true, 1e-9)


@given(sizes, st.floats(0, 20))
def test_a_curve_of_normals_implies_no_less_than_the_concentrated_promise(mu, at):
    promise = GaussianDP(mu, **ONE)
    fine = promise.to_renyi(1 + np.geomspace(1e-3, 1e5, 2000))
    assert promise.profile(at) <= fine.profile(at)
    assert promise.to_zcdp().profile(at) <= fine.profile(at) * (1 + 1e-9)
    if mu > 0.05 and 1e-200 < fine.profile(at) < 1:  # the best order is on this grid
        assert fine.profile(at) <= promise.to_zcdp().profile(at) * 1.01


def test_to_approximate_is_the_known_conversion():
    epsilon, delta = [0.1, 0.2, 0.4], 1e-3
    a = ORDERS
    known = epsilon + np.log(1 - 1 / a) - np.log(delta * a) / (a - 1)
    found = curve(epsilon).to_approximate(delta)
    assert_allclose(found.epsilon, known.min(), rtol=1e-9)
    assert curve(epsilon).best_order(delta) == a[np.argmin(known)]
    several = curve([epsilon, [0.0, 0.0, 0.0], [1.0, 2.0, np.inf]]).to_approximate(delta)
    assert_allclose(several.epsilon[0], known.min(), rtol=1e-9)
    assert (several.epsilon[1], several.delta[1]) == (0.0, 0.0)
    assert curve([epsilon, [1.0, 2.0, np.inf]]).best_order(delta) == 4.0
    with pytest.raises(ValueError, match="delta must be at least what RenyiDP allows"):
        curve([np.inf] * 3).to_approximate(1e-3)


def test_people_are_on_the_last_axis_of_a_profile():
    found = curve([[0.1, 0.2, 0.4], [0.2, 0.4, 0.8], [0, 0, 0]])
    assert (found.n, curve([0.1, 0.2, 0.4]).n) == (3, None)
    assert found.profile(0.5).shape == (3,)
    assert found.profile([0.1, 0.2, 0.3]).shape == (3,)
    assert found.profile(np.ones((5, 1))).shape == (5, 3)
    assert found.profile(0.5)[2] == 0
    assert curve([0.1, 0.2, 0.4]).profile(np.ones((2, 2))).shape == (2, 2)
    assert isinstance(curve([0.1, 0.2, 0.4]).profile(0.5), float)


# ------------------------------------------------------------------ the promise as an object
def test_a_curve_prints_as_one_sentence_and_is_a_value():
    one = curve([0.1, 0.2, 0.4])
    assert str(one) == (
        "Each person is promised Renyi differential privacy at 3 orders from 2 to 8, epsilon from "
        "0.1 to 0.4, against removing what their record adds to every step, with the number of "
        "people public."
    )
    assert str(RenyiDP([4], [[0.5], [0.5]], **ONE)) == (
        "Each person i is promised Renyi differential privacy at order 4, epsilon_i = 0.5, "
        "against replacing their record."
    )
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied == one
        assert hash(copied) == hash(one)
        with pytest.raises(ValueError, match="read-only"):
            copied.epsilon[0] = 9
    assert one != curve([0.1, 0.2, 0.5])
    assert one != RenyiDP([2, 4, 9], [0.1, 0.2, 0.4], **ZERO)
    assert one.weakest() == one
    assert curve([[0.1, 0.3, 0.4], [0.2, 0.2, 0.5]]).weakest() == curve([0.2, 0.3, 0.5])


@pytest.mark.parametrize("orders", [[], [1.0, 2.0], [0.5], [2, 2], [3, 2], [2, np.inf], [[2]], 2])
def test_orders_that_are_no_grid_are_refused(orders):
    with pytest.raises(ValueError, match=r"^orders must"):
        RenyiDP(orders, [0.1], **ONE)
    with pytest.raises(ValueError, match=r"^orders must"):
        PureDP(1.0, **ONE).to_renyi(orders)


@pytest.mark.parametrize(
    "epsilon",
    [
        [0.1, 0.2],
        0.1,
        [0.1, 0.2, -0.1],
        [0.1, np.nan, 0.2],
        [0.0] * 3,
        [0, 0.1, 0.2],
        np.zeros((2, 3)),
        np.zeros((0, 3)),
        np.ones((1, 1, 3)),
    ],
)
def test_curves_that_are_none_are_refused(epsilon):
    with pytest.raises(ValueError, match=r"^epsilon must"):
        curve(epsilon)
    with pytest.raises(ValueError, match=r"^neighbors must be one of"):
        curve([0.1, 0.2, 0.4], neighbors="household")


# ------------------------------------------------------------------ sums, order by order
def test_curves_add_order_by_order_with_what_has_a_curve():
    one = curve([0.1, 0.2, 0.4])
    assert_array_equal(compose(one, one, one).epsilon, [0.3, 0.6, 1.2])  # decimals, exactly
    both = compose(one, curve([[0.1, 0.1, 0.1], [0.2, 0.2, np.inf]]))
    assert_array_equal(both.epsilon, [[0.2, 0.3, 0.5], [0.3, 0.4, np.inf]])
    pure = PureDP([0.5, 0.1], **ZERO)
    mixed = compose(one, pure, GaussianDP(0.5, **ZERO), ZeroConcentratedDP(0.1, **ZERO))
    known = np.array(one.epsilon) + pure.to_renyi(ORDERS).epsilon + ORDERS * (0.125 + 0.1)
    assert_allclose(mixed.epsilon, known, rtol=1e-13)
    with pytest.raises(ValueError, match=r"^orders must agree: .* 2, 4, and 2, 4, 8 are asked for"):
        compose(one, RenyiDP([2, 4], [0.1, 0.1], **ZERO))
    with pytest.raises(TypeError, match=r"cannot turn ApproximateDP into RenyiDP.*to_approximate"):
        compose(one, ApproximateDP(0.1, 1e-6, **ZERO))
    with pytest.raises(ValueError, match="promises to 2 and 3 people"):
        compose(both, curve(np.ones((3, 3))))


@given(st.lists(st.lists(sizes, min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_an_account_is_charged_is_what_compose_says(curves):
    account = BudgetAccount(curve([1e9, np.inf, np.inf]))
    for one in curves:
        account.spend(curve(one))
    assert_array_equal(account.spent, compose(*map(curve, curves)).epsilon)
    exact = [sum(Fraction(repr(v)) for v in column) for column in zip(*curves, strict=True)]
    assert account._spent == [tuple(exact)]


# ------------------------------------------------------------------ accounts
def test_a_budget_binds_at_every_order_and_infinity_binds_nobody():
    account = BudgetAccount(curve([[0.3, 0.6, np.inf], [1.0, 1.0, 1.0]]))
    for _ in range(3):
        account.spend(curve([0.1, 0.2, 0.3]))
    assert_array_equal(account.spent, [[0.3, 0.6, 0.9]] * 2)
    assert_array_equal(account.remaining[0], [0.0, 0.0, np.inf])
    assert_allclose(account.remaining[1], [0.7, 0.4, 0.1])
    with pytest.raises(ValueError, match=r"person 0 asks 1e-09 at order 2 and has 0\.0 left$"):
        account.spend(curve([[1e-9, 1e-9, 1.0], [1e-9, 1e-9, 1e-9]]))
    with pytest.raises(ValueError, match=r"person 1 asks inf at order 8 and has 0\.1 left"):
        account.spend(curve([[0, 0, 0], [1e-9, 1e-9, np.inf]]))
    account.spend(curve([[0, 0, 0], account.remaining[1]]))
    assert_array_equal(account.remaining[1], 0.0)
    with pytest.raises(ValueError, match=r"the curve has 2, 4, 9, and 2, 4, 8 are asked for$"):
        account.spend(RenyiDP([2, 4, 9], [0.1, 0.2, 0.3], **ZERO))
    with pytest.raises(TypeError, match="cannot turn ApproximateDP into RenyiDP"):
        account.spend(ApproximateDP(0.1, 1e-6, **ZERO))
    for kind in (PureDP, GaussianDP, ZeroConcentratedDP):
        with pytest.raises(TypeError, match="cannot turn RenyiDP into"):
            BudgetAccount(1.0, kind=kind, **ZERO).spend(curve([0.1, 0.2, 0.3]))
    with pytest.raises(TypeError, match=r"^promise must say its delta"):
        BudgetAccount(ApproximateDP(1.0, 1e-6, **ZERO)).spend(curve([0.1, 0.2, 0.3]))


def test_an_infinite_cost_at_an_order_without_budget_is_spent_for_good():
    account = BudgetAccount(curve([1.0, np.inf, np.inf]))
    account.spend(curve([0.1, 0.2, np.inf]))
    account.spend(curve([0.1, 0.2, 0.3]))
    assert_array_equal(account.spent, [0.2, 0.4, np.inf])
    assert_array_equal(account.remaining, [0.8, np.inf, np.inf])
    assert "inf" in repr(account)


def test_other_promises_are_charged_by_their_curves():
    account = BudgetAccount(curve(np.full((2, 3), 9.0)), people=["Ana", "Ben"])
    account.spend(GaussianDP([0.5, 0.0], **ZERO), people=["Ben", "Zoe"])
    assert_allclose(account.spent, [[0, 0, 0], ORDERS / 8], rtol=1e-12)
    account.spend(PureDP(0.5, **ZERO), people=["Ana"])
    assert_array_equal(account.spent[0], PureDP(0.5, **ZERO).to_renyi(ORDERS).epsilon)


def test_curves_come_back_from_a_file(tmp_path):
    path = tmp_path / "club.json"
    budget = curve([[0.3, np.inf, 7e-300], [0.1, 1.0, 1e300]])
    account = BudgetAccount(budget, people=["Ana", 7], leave_out=True)
    account.spend(curve([[0.1, np.inf, 1e-300], [0.0, 0.0, 0.0]]))
    account.save(path)
    again = BudgetAccount.open(path, kind=RenyiDP, **ZERO)
    assert (again.budget, again._spent, again._limit) == (budget, account._spent, account._limit)
    assert (again.people, again.leave_out) == (("Ana", 7), True)
    again.spend(curve([0.1, 0.1, 1e-301]))
    assert_array_equal(account.spent, again.spent)
    one = tmp_path / "one.json"
    BudgetAccount(curve([0.1, 0.2, np.inf])).save(one)
    assert BudgetAccount.open(one, kind=RenyiDP, **ZERO).budget == curve([0.1, 0.2, np.inf])


def test_admit_takes_curves_of_ones_own():
    account = BudgetAccount(curve([[0.5, 1.0, 2.0], [0.5, 1.0, 2.0]]))
    assert_array_equal(account.admit(curve([[0.4, 0.4, 0.4], [0.4, 1.1, 0.4]])), [True, False])
    assert_array_equal(account.admit(curve([0.1, 0.1, 0.1])), [True, True])
    assert_array_equal(account.admit(curve([[0.1, 0.1, 0.1], [0, 0, 0]])), [False, True])
    assert_allclose(account.spent, [[0.5] * 3, [0.1] * 3])


# ------------------------------------------------------------------ a budget for one order
@given(st.floats(0.3, 20), st.floats(-9, -1), st.sampled_from([4.0, 16.0, 64.0]))
def test_a_budget_at_one_order_is_the_largest_that_keeps_the_promise(epsilon, power, order):
    promise, grid = ApproximateDP(epsilon, 10**power, **ZERO), [2, 4, 16, 64]
    try:
        budget = renyi_budget(promise, order, grid)
    except ValueError:
        known = epsilon + (power * np.log(10) + np.log(order - 1)) / (order - 1)
        assert known - order * np.log1p(-1 / order) / (order - 1) <= 1e-12
        return
    assert_array_equal(np.isfinite(budget.epsilon), np.array(grid) == order)
    assert budget.profile(epsilon) <= promise.delta * (1 + 1e-9)
    more = np.where(np.array(grid) == order, budget.epsilon * (1 + 1e-9) + 1e-9, np.inf)
    assert RenyiDP(grid, more, **ZERO).profile(epsilon) > promise.delta
    assert (
        best_conversion(RenyiDP([order], budget.epsilon[[grid.index(order)]], **ZERO), epsilon)
        <= promise.delta
    )


def test_budgets_of_people_at_one_order():
    promise = ApproximateDP([1.0, 2.0, 0.0], [1e-6, 1e-3, 0.0], **ZERO)
    budget = renyi_budget(promise, 48)
    assert budget.epsilon.shape == (3, len(RENYI_ORDERS))
    assert_array_equal(budget.epsilon[2], 0.0)
    for k in range(2):
        one = renyi_budget(ApproximateDP(promise.epsilon[k], promise.delta[k], **ZERO), 48)
        assert_array_equal(budget.epsilon[k], one.epsilon)
    with pytest.raises(ValueError, match=r"^order must be one of orders; got 7"):
        renyi_budget(promise, 7)
    with pytest.raises(ValueError, match=r"^order must be larger, or else epsilon: .*; got 4"):
        renyi_budget(promise, 4)
    with pytest.raises(TypeError, match=r"^promise must be an ApproximateDP"):
        renyi_budget(PureDP(1.0, **ZERO), 4)


# ------------------------------------------------------------------ DP-SGD
def moment_by_quadrature(order, sigma, q, remove):
    """Renyi divergence of one step by integrating densities, in either direction."""
    z = np.linspace(-12 * sigma - 2 * order, 12 * sigma + 2 * order, 400_001)
    without = stats.norm.logpdf(z, scale=sigma)
    inside = np.logaddexp(np.log1p(-q) + without, np.log(q) + stats.norm.logpdf(z, 1, sigma))
    p, r = (inside, without) if remove else (without, inside)
    return np.log(integrate.simpson(np.exp(order * p + (1 - order) * r), x=z)) / (order - 1)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 4.0])
@pytest.mark.parametrize("q", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("order", [1.25, 1.7, 2, 3, 3.5, 6])
def test_one_step_by_quadrature_in_both_directions(sigma, q, order):
    found = dpsgd_renyi(sigma, q, 1, [order])[0]
    exact = max(moment_by_quadrature(order, sigma, q, remove) for remove in (True, False))
    assert exact <= found * (1 + 1e-8)
    if order == int(order):
        assert_allclose(found, exact, rtol=1e-7)


@given(st.floats(0.3, 50), st.floats(-6, -0.01), st.integers(2, 200))
def test_moments_at_whole_orders_in_many_digits(sigma, power, order):
    q = 10**power
    with mp.workdps(80):
        s, rate = mp.mpf(sigma), mp.mpf(q)
        terms = [
            mp.binomial(order, j)
            * (1 - rate) ** (order - j)
            * rate**j
            * mp.exp(j * (j - 1) / (2 * s**2))
            for j in range(order + 1)
        ]
        true = 7 * mp.log(mp.fsum(terms)) / (order - 1)
    assert_just_above(dpsgd_renyi(sigma, q, 7, [order])[0], true, 1e-10)


def test_everybody_in_every_batch_is_gaussian_noise():
    found = dpsgd_renyi(2.0, 1.0, 30, RENYI_ORDERS)
    assert_allclose(found, 30 * np.array(RENYI_ORDERS) / 8, rtol=1e-13)


@pytest.mark.parametrize(("sigma", "q", "steps"), [(1.0, 0.01, 1000), (4.0, 0.1, 200)])
def test_epsilons_of_a_run_agree_with_dp_accounting(sigma, q, steps):
    fine = np.arange(2, 300)
    found = RenyiDP(fine, dpsgd_renyi(sigma, q, steps, fine), **ZERO).to_approximate(1e-5)
    assert_allclose(
        found.epsilon, dpsgd_epsilon(sigma, q, steps, 1e-5, accountant="rdp"), rtol=2e-2
    )
    assert found.epsilon >= dpsgd_epsilon(sigma, q, steps, 1e-5)


# ------------------------------------------------------------------ posterior samples
def divergence_of_normals(order, mean, cov, other, other_cov):
    """Renyi divergence of two normal vectors, from its closed form with determinants."""
    mixed = order * other_cov + (1 - order) * cov
    if np.linalg.eigvalsh(mixed)[0] <= 0:
        return np.inf
    move = mean - other
    logs = [np.linalg.slogdet(m)[1] for m in (mixed, cov, other_cov)]
    log_ratio = logs[0] - (1 - order) * logs[1] - order * logs[2]
    return order / 2 * move @ np.linalg.solve(mixed, move) - log_ratio / (2 * (order - 1))


def posterior(X, y, lam, gamma):
    H = X.T @ X + lam * np.eye(X.shape[1])
    return np.linalg.solve(H, X.T @ y), np.linalg.inv(gamma * H)


def attack(rng, n, d):
    """A random data set on the domain that agrees along a random direction, and a person."""
    X = rng.normal(size=(n, d))
    X *= (rng.random(n) ** rng.integers(0, 3) / np.linalg.norm(X, axis=1))[:, None]
    if rng.random() < 0.7:
        X = np.outer(rng.random(n) ** 0.1 * rng.random(), np.eye(d)[0])
    x = np.eye(d)[0] if rng.random() < 0.7 else rng.normal(size=d)
    y = np.sign(X @ x) if rng.random() < 0.7 else rng.uniform(-1, 1, n)
    return X, y, x / np.linalg.norm(x), -1.0


def test_no_data_set_exceeds_the_curve_and_one_attains_it():
    rng, n, gamma, lam = np.random.default_rng(5), 12, 0.8, 6.0
    orders = np.array([1.5, 2, 4, 6])
    bound, most = worst_case_renyi(lam, gamma, n, orders), np.zeros(4)
    for _ in range(400):
        X, y, x, label = attack(rng, n, 2)
        without = posterior(X, y, lam, gamma)
        joined = posterior(np.vstack([X, x]), np.append(y, label), lam, gamma)
        for k, order in enumerate(orders):
            both = (
                divergence_of_normals(order, *without, *joined),
                divergence_of_normals(order, *joined, *without),
            )
            most[k] = max(most[k], *both)
    assert (most <= bound).all()
    for k, order in enumerate(orders):  # one direction, in which all agree: thm-ops-dp-level
        reached = []
        for S in np.linspace(0, n, 400):
            X = np.full((n, 1), np.sqrt(S / n))
            one = posterior(X, np.ones(n), lam, gamma)
            joined = posterior(np.vstack([X, [[1.0]]]), np.append(np.ones(n), -1), lam, gamma)
            reached.append(divergence_of_normals(order, *one, *joined))
        assert bound[k] * 0.99 <= max(reached) <= bound[k]


@given(st.floats(1, 1e4), st.floats(1e-6, 10), st.integers(1, 10**6))
def test_the_curve_grows_and_ends_at_one_more_than_the_penalty(lam, gamma, n_max):
    orders = np.array([1.25, 2, 8, 1 + 0.99 * lam, 1 + 1.01 * lam])
    found = worst_case_renyi(lam, gamma, n_max, np.unique(orders))
    assert (np.diff(found[np.isfinite(found)]) >= 0).all()
    assert_array_equal(np.isinf(found), np.unique(orders) >= 1 + lam)


@given(st.floats(1.01, 50), st.floats(1e-6, 2), st.floats(0, 5), st.floats(0, 1), st.floats(0, 1))
def test_the_divergence_of_adding_grows_and_is_never_the_smaller(order, mu, rho, less, shorter):
    add, remove = ops_renyi(order, mu, rho)
    assert remove <= add * (1 + 1e-9) + 1e-12
    assert ops_renyi(order, less * mu, shorter * rho).add <= add * (1 + 1e-9) + 1e-12


# ------------------------------------------------------------------ ten of each at one budget
def granted(account, releases):
    """How often the account grants all of these releases."""
    for times in itertools.count():
        try:
            for promise in releases:
                account.spend(promise)
        except ValueError:
            return times


def test_a_curve_grants_more_than_the_sum_of_epsilons_and_the_exact_law_needs_less():
    epsilon, delta, one = 0.5, 1e-6, {"neighbors": "add-remove"}
    sigma = calibrate_noise_multiplier(epsilon, delta, 0.05, 200)
    gamma = worst_case_gamma(100.0, epsilon, delta, 1000)
    run = RenyiDP(RENYI_ORDERS, dpsgd_renyi(sigma, 0.05, 200), **one)
    draw = RenyiDP(RENYI_ORDERS, worst_case_renyi(100.0, gamma, 1000), **one)
    for releases in ([run], [draw], [run, draw]):
        k = len(releases)
        total = ApproximateDP(10 * k * epsilon, 10 * k * delta, **one)
        sums = [ApproximateDP(epsilon, delta, **one)] * k
        assert granted(BudgetAccount(ApproximateDP(5.0 * k, k * 1e-5, **one)), sums) == 10
        order = compose(*releases * 10).best_order(total.delta)  # of what is planned: ten of each
        assert granted(BudgetAccount(renyi_budget(total, order)), releases) >= 15
    ten = compose(*[run] * 10).to_approximate(1e-5).epsilon
    assert dpsgd_epsilon(sigma, 0.05, 2000, 1e-5) < ten < 5


# ------------------------------------------------------------------ how a fit hands over its curve
class Law:
    def sample(self, *, rng):
        return "drawn"


def test_a_release_with_a_curve_is_charged_with_it_where_the_account_adds_curves():
    one = {"neighbors": "add-remove"}
    people = SimpleNamespace(n=3, names=None, named=False, unnamed="X does not")
    guarantee = ApproximateDP(1.0, 1e-6, **one)

    def renyi(orders):
        return RenyiDP(orders, 0.01 * np.asarray(orders), **one)

    account = BudgetAccount(RenyiDP(ORDERS, np.ones((3, 3)), **one))
    assert release(Law(), guarantee, account, None, people=people, renyi=renyi) == "drawn"
    assert_array_equal(account.spent, np.tile(0.01 * ORDERS, (3, 1)))
    with pytest.raises(TypeError, match="cannot turn ApproximateDP into RenyiDP"):
        charge(account, guarantee, people)
    sums = BudgetAccount(ApproximateDP(2.0, 1e-5, **one))
    charge(sums, guarantee, people, renyi=renyi)
    assert sums.spent == (1.0, 1e-6)
    each = RenyiDP(ORDERS, [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0, 0, 0]], **one)
    for_all = BudgetAccount(RenyiDP(ORDERS, [1.0, 1.0, 1.0], **one))
    charge(for_all, each, people)  # whoever loses most counts for all
    assert_array_equal(for_all.spent, [0.2] * 3)


def test_a_budget_that_binds_somebody_at_no_order_is_refused():
    """An account of it would grant everything."""
    for curve in ([np.inf, np.inf], [[1.0, np.inf], [np.inf, np.inf]]):
        with pytest.raises(ValueError, match=r"^budget must be finite at some order"):
            BudgetAccount(RenyiDP([2, 4], curve, neighbors="user"))
    BudgetAccount(RenyiDP([2, 4], [1.0, np.inf], neighbors="user"))
