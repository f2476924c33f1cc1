"""Public design weights through mechanisms that weigh by budget: weights, exact losses, price."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Ridge

from pdpbook.logistic import LogisticObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean


def survey(n=30, seed=5):
    """Rows, answers in [-1, 1], design weights and budgets that people agreed to."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, 2)), rng.uniform(-1, 1, n)
    return X, y, rng.choice([1.0, 2.0, 6.0], n), rng.choice([0.5, 1.0, 3.0], n)


def respected(v, agreed):
    """Budgets in proportion to the design weights, nobody's above what they agreed to."""
    return v * (agreed / v).min()


def losses(budgets_of, v, agreed):
    """Exact loss of each person who answers 1 in place of -1, over what they agreed to."""
    n = len(v)
    budgets, found = budgets_of(v, agreed), []
    for person in range(n):
        y, other = np.zeros(n), np.zeros(n)
        y[person], other[person] = -1, 1
        one, two = (
            PersonalizedMean().output_law(np.zeros((n, 1)), labels, epsilon=budgets)
            for labels in (y, other)
        )
        far = np.array([[-9.0], [9.0]])
        found.append(np.abs(one.logpdf(far) - two.logpdf(far)).max())
    return np.array(found) / agreed


weights = st.lists(st.floats(0.1, 50), min_size=2, max_size=12).map(np.array)


@given(weights, st.integers(0, 10**6))
def test_each_loses_in_proportion_to_their_weight_and_one_spends_all(v, seed):
    agreed = np.random.default_rng(seed).choice([0.1, 1.0, 3.0], len(v))
    found = losses(respected, v, agreed)
    assert_allclose(found, v * (agreed / v).min() / agreed, rtol=1e-9)
    assert np.all(found <= 1 + 1e-12)
    assert_allclose(found.max(), 1, rtol=1e-9)


def scaled_to_mean_one(v, agreed):
    """What survey software does to weights: whoever weighs more than the mean overspends."""
    return agreed * v / v.mean()


def scaled_by_the_least_budget(v, agreed):
    """The smallest budget over the mean weight, in place of the smallest ratio."""
    return v * agreed.min() / v.mean()


@pytest.mark.parametrize("bug", [scaled_to_mean_one, scaled_by_the_least_budget])
def test_planted_scales_are_caught(bug):
    _, _, v, _ = survey()
    agreed = np.ones(len(v))
    assert losses(respected, v, agreed).max() <= 1 + 1e-12
    assert losses(bug, v, agreed).max() > 1.5


def test_the_centers_are_those_of_sampling_weights_in_other_code():
    X, y, v, agreed = survey()
    budgets = respected(v, agreed)
    mean = PersonalizedMean().output_law(X, y, epsilon=budgets)
    assert_allclose(mean.center, [np.average(y, weights=v)], rtol=1e-12)
    ridge = PDPRidge(0.1).output_law(X, y, epsilon=budgets)
    fit = Ridge(0.1, fit_intercept=False).fit(X, y, sample_weight=v / v.sum())
    assert_allclose(ridge.center, fit.coef_, rtol=1e-9)
    labels = np.where(y > 0, 1, 0)
    logistic = LogisticObjectivePerturbation(1.0, classes=(0, 1), bounds=(-1, 1))
    law = logistic.output_law(X, labels, epsilon=budgets)
    # the volume is free at this penalty, and a thousandth of the least budget is the solver's
    assert_allclose(law.weights, v / v.sum(), rtol=1e-2)
    fit = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12, max_iter=10_000)
    fit.fit(X, labels, sample_weight=law.weights)
    assert_allclose(law.center, fit.coef_[0], rtol=1e-5)


@given(weights)
def test_the_price_is_higher_than_that_of_sampling(v):
    n = len(v)
    law = PersonalizedMean().output_law(
        np.zeros((n, 1)), np.zeros(n), epsilon=respected(v, np.ones(n))
    )
    effective = 2 * law.eta  # the rate for labels in [-1, 1] is half of what n people would have
    assert_allclose(effective, v.sum() / v.max(), rtol=1e-9)
    assert effective <= v.sum() ** 2 / (v @ v) * (1 + 1e-12)
    assert v.sum() ** 2 / (v @ v) <= n * (1 + 1e-12)


def by_groups(group):
    """Post-stratification to two groups of equal size, of which the sample knows too little."""
    return (500 / np.bincount(group))[group]


def by_plan(group):
    return np.repeat([100.0, 500 / 15], [5, 15])


def group_loss(weights_of, far):
    """Loss of person 0 who reports the other group, at outputs this far out."""
    laws = []
    for reported in (0, 1):
        group = np.repeat([reported, 0, 1], [1, 4, 15])
        budgets = respected(weights_of(group), np.ones(20))
        laws.append(
            PersonalizedMean().output_law(np.zeros((20, 1)), 2.0 * group - 1, epsilon=budgets)
        )
    points = np.array([[-far], [far]])
    return np.abs(laws[0].logpdf(points) - laws[1].logpdf(points)).max()


def test_weights_from_private_groups_have_no_bound_and_those_of_the_plan_have():
    for far in (2.0, 100.0, 10_000.0):
        assert group_loss(by_plan, far) <= 1 + 1e-9
    assert group_loss(by_groups, 10_000.0) > 90 * group_loss(by_groups, 100.0) > 90
