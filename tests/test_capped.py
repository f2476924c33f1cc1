"""Weights from the capped sensitivity: the equation, the promise, planted bugs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook import audit
from pdpbook.personalized import (
    PDPRidge,
    capped_weights,
    pdp_weights,
    sensitivity_weights,
)
from pdpbook.personalized.weights import CappedPlan, capped_plan
from pdpbook.ridge import weighted_ridge
from pdpbook.sensitivity import capped_sensitivity, joint_factor, norm_bound, ridge_constant

SEED = 18
MIXED = np.array([0.1, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 3.0])


def spent(epsilon, lam, d, row_norm=None):
    """Budgets per unit of the bound on a move: equal where all are spent at one rate."""
    weights = sensitivity_weights(epsilon, lam, d, row_norm)
    return epsilon / capped_sensitivity(weights, lam, d, row_norm)


@pytest.fixture(autouse=True)
def plan_once(monkeypatch):
    """A plan sees no data: one is enough for all neighbors with the same budgets."""
    plans = {}

    def planned(epsilon, *rest):
        key = epsilon.tobytes(), rest
        if key not in plans:
            plans[key] = capped_plan(epsilon, *rest)
        return plans[key]

    monkeypatch.setattr("pdpbook.personalized.ridge.capped_plan", planned)


# --------------------------------------------------------------------------- the equation


@pytest.mark.parametrize(
    ("lam", "d"), [(1e-12, 2), (0.01, 3), (0.1, 12), (1.0, 1), (1.0, 12), (30.0, 4)]
)
@pytest.mark.parametrize("decades", [0.5, 2, 6])
@pytest.mark.parametrize("n", [2, 3, 50])
def test_every_budget_is_spent(n, decades, lam, d):
    epsilon = 10 ** np.random.default_rng([SEED, n]).uniform(-decades, 0, n)
    weights, rates = sensitivity_weights(epsilon, lam, d), spent(epsilon, lam, d)
    assert_allclose(weights.sum(), 1.0, rtol=1e-14)
    assert_allclose(rates, rates.min(), rtol=1e-5)  # a kink at the cap; most are equal to 1e-12
    assert rates.min() >= epsilon.sum() / ridge_constant(lam, d) * (1 - 1e-12)
    assert np.all(np.diff(weights[np.argsort(epsilon)]) >= -1e-12)


@pytest.mark.parametrize(("lam", "d"), [(0.1, 3), (1.0, 12)])
def test_no_other_weights_allow_a_larger_rate(lam, d):
    rng = np.random.default_rng(SEED)
    epsilon = 10 ** rng.uniform(-2, 0, 12)
    best = spent(epsilon, lam, d).min()
    weights = sensitivity_weights(epsilon, lam, d)
    for scale in (1e-3, 0.03, 1.0):
        for _ in range(40):
            other = weights * np.exp(scale * rng.normal(size=12))
            other /= other.sum()
            assert np.min(epsilon / capped_sensitivity(other, lam, d)) <= best * (1 + 1e-9)


def test_two_people_by_hand():
    # lam = 1, d = 12: at the cap 2 B = 1 the generous one may take any weight, so eta = 1, and
    # the careful one, of budget 0.05, weighs what moves the fit by 0.05, hardly above 0.05 / C
    weights = sensitivity_weights([0.05, 1.0], 1.0, 12)
    assert_allclose(capped_sensitivity(weights[0], 1.0, 12), 0.05, rtol=1e-12)
    assert_allclose(capped_sensitivity(weights[1], 1.0, 12), 2 * norm_bound(1.0, 12), rtol=1e-12)
    assert 1 < weights[0] * ridge_constant(1.0, 12) / 0.05 < 1.01


def test_those_who_tie_at_the_cap_share_the_rest():
    weights = sensitivity_weights([1e-3, 1.0, 1.0], 0.01, 12)
    assert weights[1] == weights[2]
    assert capped_sensitivity(weights[1], 0.01, 12) == 2 * norm_bound(0.01, 12)


def test_for_many_people_they_are_in_proportion():
    epsilon = np.random.default_rng(SEED).uniform(0.1, 1, 20_000)
    assert_allclose(sensitivity_weights(epsilon, 1.0, 10), pdp_weights(epsilon), rtol=1e-4)


def test_equal_budgets_get_equal_weights():
    assert_allclose(sensitivity_weights(np.full(7, 0.3), 0.1, 2), np.full(7, 1 / 7), rtol=1e-14)
    assert_array_equal(sensitivity_weights([2.0], 1.0, 3), [1.0])


def test_a_budget_of_0_weighs_nothing():
    weights = sensitivity_weights([0.0, 0.1, 0.5], 1.0, 12)
    assert weights[0] == 0
    assert_allclose(weights[1:], sensitivity_weights([0.1, 0.5], 1.0, 12), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 0.3, 1e6])
def test_only_ratios_of_budgets_count(unit):
    ours = sensitivity_weights(unit * MIXED, 0.3, 4)
    assert_allclose(ours, sensitivity_weights(MIXED, 0.3, 4), rtol=1e-7)


@given(st.floats(1e-3, 1e3), st.integers(1, 40), st.floats(0.1, 1))
def test_the_capped_sensitivity_never_falls_with_the_weight(lam, d, share):
    moves = capped_sensitivity(np.linspace(0, 1, 101), lam, d, row_norm=share * math.sqrt(d))
    assert np.all(np.diff(moves) >= -1e-12 * moves[-1])


# ---------------------------------------------------------------------------- the promise


def shift(model, pair, epsilon):
    """Loss over promise of everybody at one pair of neighbors, by the exact densities."""
    laws = [model.output_law(*data, epsilon=epsilon) for data in pair]
    assert laws[0].eta == laws[1].eta
    return laws[0].eta * np.linalg.norm(laws[0].center - laws[1].center)


def loudest(model, epsilon, d):
    """Largest loss over budget: each person alone, silent crowds and crowds that agree."""
    n, worst = len(epsilon), 0.0
    for i in range(n):
        for level in (0.0, 0.15, 0.4):
            X, y = np.full((n, d), level), np.ones(n)
            for row in (np.ones(d), np.eye(d)[0], np.full(d, 0.3)):
                one, two = (X.copy(), y.copy()), (X.copy(), y.copy())
                one[0][i], one[1][i], two[0][i], two[1][i] = row, -1.0, 1 - row, 1.0
                three = (one[0].copy(), y.copy())
                for pair in ((one, two), (one, three)):
                    worst = max(worst, shift(model, pair, epsilon) / epsilon[i])
    return worst


@pytest.mark.parametrize("lam", [0.1, 1.0, 20.0])
@pytest.mark.parametrize(
    "settings", [{}, {"fit_intercept": True}, {"row_norm": 1.2, "clip": True}], ids=str
)
@pytest.mark.parametrize("weights", ["proportional", "capped"])
def test_promises_are_kept(weights, settings, lam):
    model = PDPRidge(lam, weights=weights, **settings)
    assert loudest(model, MIXED, 3) <= 1 + 1e-12


@pytest.mark.parametrize("weights", ["proportional", "capped"])
@pytest.mark.parametrize("settings", [{}, {"row_norm": 1.2, "clip": True}], ids=str)
def test_promises_are_nearly_attained(weights, settings):
    # d / lam = 0.01: constants are nearly attained by whoever flips a label among silent people
    assert loudest(PDPRidge(400.0, weights=weights, **settings), MIXED, 4) > 0.85


@pytest.mark.parametrize("lam", [400.0, 1.0, 0.1])
def test_a_search_over_neighbors_finds_nothing(lam):
    worst = audit.search_neighbors(
        PDPRidge(lam, weights="capped"),
        8,
        4,
        epsilon=1.0,
        trials=60,
        climbs=1,
        rng=np.random.default_rng(5),
    ).worst.ratio
    assert 0.6 < worst <= 1 + 1e-12


def test_the_law_is_the_one_of_the_weights():
    rng = np.random.default_rng(SEED)
    X, y = rng.random((8, 3)), rng.uniform(-1, 1, 8)
    law = PDPRidge(0.3, weights="capped").output_law(X, y, epsilon=MIXED)
    weights = sensitivity_weights(MIXED, 0.3, 3)
    assert_allclose(law.center, weighted_ridge(X, y, 0.3, weights), rtol=1e-12)
    assert_allclose(law.eta, np.min(MIXED / capped_sensitivity(weights, 0.3, 3)), rtol=1e-14)
    assert law.eta > PDPRidge(0.3).output_law(X, y, epsilon=MIXED).eta
    model = PDPRidge(0.3, weights="capped", random_state=4).fit(X, y, epsilon=MIXED)
    assert_allclose(model.coef_, law.sample(rng=np.random.default_rng(4)), rtol=1e-12)
    assert model.noise_.rate == law.eta
    assert_array_equal(model.guarantee_.epsilon, MIXED)


def test_with_a_delta_the_larger_losses_are_spread():
    X, y = np.full((8, 2), 0.5), np.zeros(8)
    model = PDPRidge(0.3, weights="capped", delta=1e-3).fit(X, y, epsilon=MIXED)
    losses = model.pure_guarantee_.epsilon
    assert np.all(losses > MIXED)
    assert_allclose(model.noise_.rate, capped_plan(losses, 0.3, 2, None).eta, rtol=1e-14)


class NormalizedWrongly(PDPRidge):
    """The weights of the right rate, rescaled after the rate was set."""

    def capped_plan(self, parameters, d):
        plan = super().capped_plan(parameters, d)
        return CappedPlan(np.sqrt(plan.weights) / np.sqrt(plan.weights).sum(), plan.eta)


class LinearWeights(PDPRidge):
    """The weights of the linear bound with the rate of the capped one."""

    def capped_plan(self, parameters, d):
        return CappedPlan(pdp_weights(parameters), super().capped_plan(parameters, d).eta)


class LinearPromise(PDPRidge):
    """Noise for the capped sensitivity, promises read off the linear bound: no longer the same."""

    def capped_plan(self, parameters, d):
        plan = super().capped_plan(parameters, d)
        least = np.min(parameters / (plan.weights * self.constant(d)))
        return CappedPlan(plan.weights, plan.eta**2 / least)


class CubeConstant(PDPRidge):
    """The factor of the cube beside a row norm."""

    def constant(self, d):
        return 2 * self.row_norm / self.lam * joint_factor(self.row_norm**2 / self.lam)


class FactorDropped(PDPRidge):
    """A flipped label counted once."""

    def constant(self, d):
        return super().constant(d) / 2


@pytest.mark.parametrize("bug", [NormalizedWrongly, LinearWeights, LinearPromise])
def test_planted_plans_are_caught(bug):
    wide = np.array([1e-3, 1e-2, 0.1, 1.0])
    assert loudest(PDPRidge(0.1, weights="capped"), wide, 3) <= 1 + 1e-12
    assert loudest(bug(0.1, weights="capped"), wide, 3) > 1.05


def test_the_factor_of_the_cube_beside_a_row_norm_is_caught():
    epsilon, rows = np.array([1e-4, 1.0]), 1.2 * np.array([[1, 1, 0, 0], [0, 0, 1, 1]]) / 2**0.5

    def worst(model):
        """The person turns by a right angle, and the other one points between."""
        ratios = []
        for c in np.linspace(0.01, 0.3, 30):
            one, two = (np.array([row, np.full(4, c)]) for row in rows)
            pair = (one, np.array([-1.0, 1.0])), (two, np.array([-1.0, 1.0]))
            ratios.append(shift(model, pair, epsilon) / epsilon[0])
        return max(ratios)

    assert 0.85 < worst(PDPRidge(0.02, row_norm=1.2)) <= 1
    assert worst(CubeConstant(0.02, row_norm=1.2)) > 1.05


def test_a_dropped_factor_is_caught():
    assert loudest(FactorDropped(400.0), MIXED, 4) > 1.5


# -------------------------------------------------------------------- errors, report, penalty


@pytest.mark.parametrize(
    "settings", [{"loss": "huber"}, {"proof": "tight"}, {"bound": 0.1}], ids=str
)
def test_capped_weights_need_the_proof_they_have(settings):
    with pytest.raises(ValueError, match="weights must be 'proportional' unless loss='square'"):
        PDPRidge(weights="capped", **settings).fit(np.zeros((3, 1)), np.zeros(3))


def test_weights_are_one_of_two():
    with pytest.raises(ValueError, match="weights must be one of 'proportional', 'capped'"):
        PDPRidge(weights="equal").fit(np.zeros((3, 1)), np.zeros(3))


def test_they_are_not_the_weights_that_cap_budgets():
    assert not np.allclose(sensitivity_weights(MIXED, 0.1, 3), capped_weights(MIXED, 1.0))
