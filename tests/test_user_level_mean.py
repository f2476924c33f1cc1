"""Private means of users: each user's loss by exact densities, and plants that break it."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.domains import label_width
from pdpbook.user_level import (
    SampleLimitedMean,
    WeightedMean,
    limit_rows,
    sample_limit,
    sample_limit_value,
    tradeoff_weights,
)

SEED = 20261121
USERS = np.repeat([0, 1, 2, 3, 4], [1, 2, 5, 20, 60])
BUDGETS = {0: 1.0, 1: 0.2, 2: 0.5, 3: 2.0, 4: 0.8}
BOTH = [WeightedMean(), SampleLimitedMean(), SampleLimitedMean(max_rows=4)]
both = pytest.mark.parametrize("model", BOTH, ids=str)


def loss_of(model, user, epsilon, rng, users=USERS, bounds=(-1.0, 1.0)):
    """Largest log-ratio of the two densities when all rows of `user` are replaced."""
    y = rng.uniform(*bounds, len(users))
    realized = 0.0
    for low, high in (bounds, bounds[::-1]):
        one, two = y.copy(), y.copy()
        one[users == user], two[users == user] = low, high
        laws = [model.output_law(y, v, users=users, epsilon=epsilon) for v in (one, two)]
        far = 50 * sum(law.scale[0] for law in laws)
        centers = [law.center[0] for law in laws]
        points = np.r_[
            centers, min(centers) - far, max(centers) + far, laws[0].sample(200, rng=rng).T[0]
        ]
        gap = laws[0].logpdf(points[:, None]) - laws[1].logpdf(points[:, None])
        realized = max(realized, np.abs(gap).max())
    return realized


def test_which_rows_of_a_user_are_kept_is_their_own_affair():
    """However the others' rows are sorted among them."""
    model, rng = SampleLimitedMean(max_rows=2, random_state=7), np.random.default_rng(0)
    y = rng.uniform(-1, 1, len(USERS))
    expected = model.fit(y, y, users=USERS).mean_
    order = np.lexsort([np.arange(len(USERS)), rng.permutation(5)[USERS]])
    assert model.fit(y, y[order], users=USERS[order]).mean_ == pytest.approx(expected, rel=1e-12)


def test_a_table_sorted_by_labels_keeps_the_promise():
    """As files often are: new labels of one user then move the rows of all others."""
    rng = np.random.default_rng(SEED)
    rest, who = rng.random(400), np.r_[["ann"] * 3, np.repeat([f"u{k:02d}" for k in range(40)], 10)]

    def law(model, ann):
        y = np.r_[ann, rest]
        order = np.argsort(y, kind="stable")
        return model.output_law(y, y[order], users=who[order], epsilon=1.0)

    for model in (WeightedMean(y_bounds=(0, 1)), SampleLimitedMean(y_bounds=(0, 1), max_rows=1)):
        low, high = law(model, [0.0] * 3), law(model, [1.0] * 3)
        assert_allclose(low.scale, high.scale, rtol=1e-12)
        assert_allclose(np.abs(low.center - high.center) / low.scale, 1.0, rtol=1e-9)


# ---------------------------------------------------------------- by hand


def test_the_plan_by_hand():
    # B = 1, epsilon = 1, sigma2 = 2: A = 1 and sizes 1, 2, 10 give h = 1.25
    users = np.repeat(["a", "b", "c"], [1, 2, 10])
    model = WeightedMean(sigma2=2.0, y_bounds=(0, 1)).fit(users, np.zeros(13), users=users)
    assert_allclose(model.h_, 1.25, rtol=1e-15)
    assert_allclose(model.weights_, np.array([1, 1.25, 1.25]) / 3.5, rtol=1e-15)
    assert_allclose(model.noise_.scale, 1.25 / 3.5, rtol=1e-15)
    assert_allclose(model.exposure_, [0.8, 1, 1], rtol=1e-15)
    assert_array_equal(model.users_, ["a", "b", "c"])
    assert model.guarantee_.neighbors == "user"
    limited = SampleLimitedMean(sigma2=2.0, y_bounds=(0, 1))
    limited.fit(users, np.zeros(13), users=users)
    assert limited.max_rows_ == 2
    assert_allclose(limited.noise_.scale, 2 / 5, rtol=1e-15)
    assert_allclose(limited.exposure_, [0.5, 1, 1], rtol=1e-15)


def test_one_row_a_user_is_the_plain_private_mean():
    y = np.linspace(-1, 1, 11)
    for model in BOTH:
        law = model.output_law(y, y, epsilon=0.5)
        assert_allclose(law.center, [0], atol=1e-15)
        assert_allclose(law.scale, [2 / (11 * 0.5)], rtol=1e-15)


def test_the_default_variance_is_that_of_a_uniform_label():
    users = np.repeat([0, 1, 2], [1, 7, 30])
    y = np.zeros(38)
    one = WeightedMean(y_bounds=(-3, 9)).fit(y, y, users=users)
    two = WeightedMean(y_bounds=(-3, 9), sigma2=12.0).fit(y, y, users=users)
    assert one.h_ == two.h_
    rows = WeightedMean(sigma2=1e9).fit(y, y, users=users)
    assert_allclose(rows.weights_, np.array([1, 7, 30]) / 38, rtol=1e-6)
    heads = WeightedMean(sigma2=0.0).fit(y, y, users=users)
    assert_array_equal(heads.weights_, [1 / 3] * 3)


def test_thresholds():
    y = np.zeros(len(USERS))
    for threshold, expected in (("max", 60), (7, 7), (1000, 60), (1, 1)):
        model = SampleLimitedMean(max_rows=threshold).fit(y, y, users=USERS)
        assert model.max_rows_ == expected
        n_h = np.minimum([1, 2, 5, 20, 60], expected).sum()
        assert_allclose(model.noise_.scale, 2 * expected / n_h, rtol=1e-15)
    A = (4 / 12) / (2 * 2**2)
    assert (
        SampleLimitedMean().fit(y, y, users=USERS).max_rows_
        == sample_limit([1, 2, 5, 20, 60], A).threshold
    )


# ---------------------------------------------------------------- identities


@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_users_and_rows_may_come_in_any_order(seed, factor):
    rng = np.random.default_rng(seed)
    y = rng.uniform(-1, 1, len(USERS))
    law = WeightedMean().output_law(y, y, users=USERS, epsilon=BUDGETS)
    order = rng.permutation(len(y))
    names = np.array(["e", "d", "c", "b", "a"])
    renamed = {names[k]: e for k, e in BUDGETS.items()}
    same = WeightedMean().output_law(y[order], y[order], users=names[USERS[order]], epsilon=renamed)
    assert_allclose(same.center, law.center, rtol=1e-9, atol=1e-12)
    assert_allclose(same.scale, law.scale, rtol=1e-12)
    # in other units
    unit = WeightedMean(y_bounds=(3 - factor, 3 + factor))
    moved = unit.output_law(y, 3 + factor * y * (1 - 1e-12), users=USERS, epsilon=BUDGETS)
    assert_allclose(moved.center, 3 + factor * law.center, rtol=1e-9)
    assert_allclose(moved.scale, factor * law.scale, rtol=1e-12)


def test_budgets_by_user_and_by_row_agree():
    y = np.zeros(len(USERS))
    by_row = np.array([BUDGETS[u] for u in USERS])
    for model in BOTH:
        one = model.fit(y, y, users=USERS, epsilon=BUDGETS)
        assert_array_equal(one.guarantee_.epsilon, list(BUDGETS.values()))
        scale = one.noise_.scale
        assert model.fit(y, y, users=USERS, epsilon=by_row).noise_.scale == scale


def test_personal_budgets_lower_the_noise():
    sizes = np.array([3, 3, 3, 3])
    users = np.repeat(range(4), sizes)
    y = np.zeros(12)
    model = WeightedMean(sigma2=1e-9)
    own = model.fit(y, y, users=users, epsilon={0: 1, 1: 1, 2: 4, 3: 4}).noise_.scale
    least = model.fit(y, y, users=users, epsilon=1.0).noise_.scale
    assert_allclose((least / own) ** 2, (2.5 / 1) ** 2, rtol=1e-6)  # mean over smallest, squared


# ---------------------------------------------------------------- second routes


def test_variances_by_simulation():
    rng = np.random.default_rng(SEED)
    sizes = np.array([1, 2, 5, 20, 60])
    y = rng.choice([-1.0, 1.0], (4000, len(USERS)))  # sigma2 = 1
    A, kappa = 1 / (2 * 2**2), 2 * 2**2
    cases = [
        (WeightedMean(sigma2=1.0), tradeoff_weights(sizes, A).value),
        (SampleLimitedMean(sigma2=1.0, max_rows=5), float(sample_limit_value(5, sizes, A))),
    ]
    for model, value in cases:
        plan_law = model.output_law(y[0], y[0], users=USERS)
        rows = row_weights_of(model)
        centers = y @ rows
        assert_allclose(centers[0], plan_law.center[0], atol=1e-14)
        draws = centers + rng.laplace(0, plan_law.scale[0], 4000)
        error = np.sqrt(np.mean((draws**2 - np.mean(draws**2)) ** 2) / 4000)
        assert abs(np.mean(draws**2) - kappa * value) < 5 * error


def row_weights_of(model):
    """Weights of rows, read off the law: one label at a time."""
    labels = np.eye(len(USERS))
    laws = [model.output_law(v, v, users=USERS) for v in labels]
    return np.array([law.center[0] for law in laws])


def test_the_law_is_the_law_of_the_release():
    y = np.linspace(-1, 1, len(USERS))
    rng = np.random.default_rng(SEED)
    for model in BOTH:
        law = model.output_law(y, y, users=USERS, epsilon=BUDGETS)
        fits = [
            model.set_params(random_state=rng).fit(y, y, users=USERS, epsilon=BUDGETS).mean_
            for _ in range(400)
        ]
        model.set_params(random_state=None)
        z = (np.array(fits) - law.center[0]) / law.scale[0]
        assert abs(np.mean(np.abs(z)) - 1) < 5 / 20  # |z| is exponential: mean and sd 1
        assert abs(np.mean(np.sign(z))) < 5 / 20


# ---------------------------------------------------------------- privacy


@both
@pytest.mark.parametrize("epsilon", [0.7, BUDGETS], ids=["one", "personal"])
def test_no_user_loses_more_than_their_budget(model, epsilon):
    rng = np.random.default_rng(SEED)
    y = np.zeros(len(USERS))
    exposure = model.fit(y, y, users=USERS, epsilon=epsilon).exposure_
    for user in range(5):
        budget = BUDGETS[user] if isinstance(epsilon, dict) else epsilon
        realized = loss_of(model, user, epsilon, rng)
        assert realized <= budget * (1 + 1e-12)
        assert_allclose(realized, exposure[user], rtol=1e-9)  # attained by an extreme neighbor
    assert_allclose(max(model.exposure_ / model.guarantee_.epsilon), 1, rtol=1e-15)


def test_whoever_is_at_the_limit_gets_the_whole_budget():
    y = np.zeros(len(USERS))
    model = WeightedMean(sigma2=10.0).fit(y, y, users=USERS, epsilon=BUDGETS)
    tau = np.array(list(BUDGETS.values())) / 2.0
    limited = np.array([1, 2, 5, 20, 60]) >= model.h_ * tau
    assert 0 < limited.sum() < 5
    assert_allclose(model.exposure_[limited], model.guarantee_.epsilon[limited], rtol=1e-12)
    assert np.all(model.exposure_[~limited] < model.guarantee_.epsilon[~limited])


class CountsRecords(WeightedMean):
    """Calibrated to one record of a user instead of all of them."""

    def contributions(self, row_weights, users):
        most = np.zeros(len(users.labels))
        np.maximum.at(most, users.codes, row_weights)
        return most


class AverageBudget(WeightedMean):
    """Weights and noise for one budget, the average of all."""

    def plan(self, users, budgets):
        return super().plan(users, np.full(len(budgets), budgets.mean()))

    def noise_scale(self, row_weights, users, budgets):
        return super().noise_scale(row_weights, users, np.full(len(budgets), budgets.mean()))


class NoiseOfTheAverageUser(WeightedMean):
    """A mean where the largest share belongs."""

    def noise_scale(self, row_weights, users, budgets):
        return label_width(self.y_bounds) * np.mean(
            self.contributions(row_weights, users) / budgets
        )


class KeepsTheLargest(SampleLimitedMean):
    """The rows that are kept depend on the labels."""

    def law(self, people, plan):
        labels = people.y
        order = np.lexsort([-labels, USERS])
        best = np.zeros(len(labels))
        best[order] = plan.weights[np.lexsort([-plan.weights, USERS])]
        return super().law(people, dataclasses.replace(plan, weights=best))


@pytest.mark.parametrize("bug", [CountsRecords, AverageBudget, NoiseOfTheAverageUser])
def test_planted_mechanisms_are_caught(bug):
    rng = np.random.default_rng(SEED)
    # label variance so large that rows matter: with little, everybody weighs their budget, and
    # the record of a user who has no other hides the first plant
    model, honest = bug(sigma2=40.0), WeightedMean(sigma2=40.0)
    ratios = [loss_of(model, u, BUDGETS, rng) / BUDGETS[u] for u in range(5)]
    assert max(ratios) > 1.2
    assert max(loss_of(honest, u, BUDGETS, rng) / BUDGETS[u] for u in range(5)) < 1 + 1e-9


def test_keeping_rows_by_their_labels_biases_the_mean():
    # no privacy is lost, which is why this audit is one of the center
    y = np.random.default_rng(SEED).uniform(-1, 1, len(USERS))
    honest = SampleLimitedMean(max_rows=4).output_law(y, y, users=USERS).center[0]
    planted = KeepsTheLargest(max_rows=4).output_law(y, y, users=USERS).center[0]
    assert planted > honest + 0.3


def test_the_rows_that_are_kept_are_public():
    y = np.zeros(len(USERS))
    model = SampleLimitedMean(max_rows=3)
    one, two = (model.output_law(v, v, users=USERS) for v in (y, y))
    assert_array_equal(one.center, two.center)
    rows = row_weights_of(model)
    kept = limit_rows(USERS, 3, rng=np.random.default_rng(0))
    assert_array_equal(rows > 0, kept)
    other = row_weights_of(SampleLimitedMean(max_rows=3, selection_seed=1))
    assert not np.array_equal(rows, other)


# ---------------------------------------------------------------- bad input


@both
def test_bad_users_and_budgets(model):
    y = np.zeros(4)
    with pytest.raises(ValueError, match=r"users must have shape \(4,\)"):
        model.fit(y, y, users=[0, 1])
    with pytest.raises(ValueError, match="users must have no missing label"):
        model.fit(y, y, users=[0, 1, np.nan, 1])
    with pytest.raises(ValueError, match="epsilon must have a budget for every user; it has no"):
        model.fit(y, y, users=[0, 1, 1, 1], epsilon={0: 1.0})
    with pytest.raises(ValueError, match="epsilon must be the same on all rows of a user"):
        model.fit(y, y, users=[0, 1, 1, 1], epsilon=[1.0, 1.0, 2.0, 1.0])
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="epsilon must be finite and above 0"):
            model.fit(y, y, epsilon=wrong)


@both
def test_bad_labels_and_settings(model):
    y = np.zeros(4)
    with pytest.raises(ValueError, match=r"y must lie in \[-1, 1\]; got y\[0\] = 7"):
        model.fit(y, y + 7)
    with pytest.raises(ValueError, match="y must be finite"):
        model.fit(y, y + np.nan)
    for settings, message in (
        ({"y_bounds": (1, 1)}, "y_bounds must have low < high"),
        ({"y_bounds": (-1e308, 1.7e308)}, "y_bounds must have a finite width"),
        ({"sigma2": -1.0}, "sigma2 must be finite and at least 0"),
        ({"sigma2": [1.0]}, "sigma2 must be a single number"),
    ):
        with pytest.raises(ValueError, match=message):
            type(model)(**settings).fit(y, y)
    with pytest.raises(TypeError, match="clip must be True or False"):
        type(model)(clip=1).fit(y, y)
    assert type(model)(clip=True).output_law(y, y + 7).center[0] == pytest.approx(1)


@pytest.mark.parametrize("threshold", [0, 1.5, "least", None, True])
def test_bad_thresholds(threshold):
    with pytest.raises((TypeError, ValueError), match="max_rows must be"):
        SampleLimitedMean(max_rows=threshold).fit([0.0], [0.0])


def test_bad_selection_seed():
    with pytest.raises(TypeError, match="selection_seed must be a whole number"):
        SampleLimitedMean(selection_seed=None).fit([0.0], [0.0])


def test_the_limit_is_that_of_the_smallest_budget_for_all():
    users, y = np.repeat(np.arange(30), np.arange(1, 31)), np.zeros(465)
    careful = SampleLimitedMean(epsilon=0.3).fit(y, y, users=users)
    freely = SampleLimitedMean(epsilon=3.0).fit(y, y, users=users)
    mixed = SampleLimitedMean().fit(y, y, users=users, epsilon=np.where(users == 4, 0.3, 3.0))
    assert mixed.max_rows_ == careful.max_rows_ < freely.max_rows_
