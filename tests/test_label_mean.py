"""Labels around a private mean: bounds by hand, the joint law, losses that attain, planted bugs."""

from dataclasses import replace

import numpy as np
import pytest
from densities import audit_density
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from pdpbook import audit
from pdpbook.audit.density import SLACK
from pdpbook.domains import Labels
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.label_mean import LabelMeanLaw, label_bounds
from pdpbook.noise import L2Laplace
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge
from pdpbook.sensitivity import ridge_constant

SEED = 51
MIXED = np.array([1.0, 0.5, 2.0, 0.25, 3.0, 1.0])
LAM = 400.0  # every constant of the fit is nearly attained
MODELS = [
    PDPRidge(LAM),
    PDPRidge(LAM, loss="huber"),
    PDPRidge(LAM, weights="capped"),
    PDPRidge(LAM, fit_intercept=True),
    ObjectivePerturbation(LAM),
    ObjectivePerturbation(LAM, huber_threshold=0.5),
]
SHARES = [0.05, 0.5, 0.9]


def with_share(model, share):
    return type(model)(**model.get_params() | {"label_mean_share": share})


def people(n=30, d=2, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.uniform(-1, -0.2, n), rng.uniform(0.2, 3, n)


def duel(person):
    """Neighbors by hand: one person pulls against nobody, with label 1 or -1."""
    X, y = np.zeros((6, 1)), np.ones(6)
    X[person] = 1.0
    other = y.copy()
    other[person] = -1.0
    return (X, y), (X, other)


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("mean", "pair"),
    [
        (8.0, (-4.0, 20.0)),  # half as much again as the 8 to the nearer end
        (50.0, (35.0, 65.0)),  # above the middle the nearer end is the upper one
        (30.0, (0.0, 60.0)),  # in the middle nothing changes
        (24.0, (-6.0, 54.0)),  # never wider than the public bounds
        (0.0, (-3.0, 3.0)),  # at an end, a twentieth of the range
        (1.0, (-2.0, 4.0)),
        (-5.0, (-3.0, 3.0)),  # a noisy mean beyond an end is cut first
        (1e9, (57.0, 63.0)),
    ],
)
def test_bounds_by_hand(mean, pair):
    assert_allclose(label_bounds(mean, (0.0, 60.0)).pair, pair, atol=1e-12)


@given(st.floats(-1e3, 1e3), st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_bounds_hold_the_mean_and_are_never_wider_nor_empty(mean, low, width):
    center, half_width = label_bounds(mean, (low, low + width))
    assert low <= center <= low + width
    assert 0.05 * (1 - 1e-6) <= half_width / width <= 0.5 * (1 + 1e-6)  # width is rounded


def test_bounds_in_units_are_those_of_the_domain():
    in_units = Labels(y_bounds=(0.0, 60.0), clip=False).to_user_units
    for mean in (-1.4, -0.9, -0.3, 0.0, 0.6, 2.0):
        pair = [in_units(end) for end in label_bounds(mean).pair]
        assert_allclose(label_bounds(in_units(mean), (0.0, 60.0)).pair, pair, atol=1e-12)


def test_labels_are_clipped_to_the_bounds():
    bounds = label_bounds(-0.8)
    assert_allclose(bounds.to_domain(np.array([-1.0, -0.8, -0.65, 0.9])), [-2 / 3, 0.0, 0.5, 1.0])


@pytest.mark.parametrize("mean", [np.nan, np.inf, [0.1, 0.2], "a"])
def test_a_mean_that_is_no_number_is_refused(mean):
    with pytest.raises((ValueError, TypeError), match=r"^mean"):
        label_bounds(mean)


# ---------------------------------------------------------------- the law


@pytest.mark.parametrize("share", SHARES)
def test_the_density_by_hand(share):
    """One feature: both laws are Laplace laws of scipy, and the fit is one quotient."""
    X, y, epsilon = people(d=1)
    lam, x, w = 0.3, X[:, 0], epsilon / epsilon.sum()
    law = PDPRidge(lam, label_mean_share=share).output_law(X, y, epsilon=epsilon)
    scale = ridge_constant(lam, 1) / ((1 - share) * epsilon.sum())
    for m, theta in [(-0.6, 0.1), (0.2, -3.0), (-1.5, 0.0), (0.97, 0.4), (3.0, 2.0)]:
        c = min(1.0, max(-1.0, m))
        h = min(1.0, max(1.5 * (1 - abs(c)), 0.1))
        z = np.minimum(1, np.maximum(-1, (y - c) / h))
        center = w @ (x * z) / (w @ x**2 + lam)
        of_mean = stats.laplace.logpdf(m, w @ y, 2 / (share * epsilon.sum()))
        of_fit = stats.laplace.logpdf(theta, center, scale)
        assert_allclose(law.logpdf([m, theta]), of_mean + of_fit, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("mean", [-0.7, -1.2, 0.4])
def test_the_fit_is_that_between_the_bounds_with_the_rest_of_the_budgets(model, mean):
    X, y, epsilon = people()
    law = with_share(model, 0.3).output_law(X, y, epsilon=epsilon)
    pair = label_bounds(mean).pair
    plain = type(model)(**model.get_params() | {"y_bounds": pair})
    alone = plain.output_law(X, np.clip(y, *pair), epsilon=0.7 * epsilon)
    points = np.random.default_rng(1).normal(size=(4, len(alone.center)))
    joint = law.logpdf(np.column_stack([np.full(4, mean), points]))
    assert_allclose(joint, law.mean.logpdf([mean]) + alone.logpdf(points), rtol=1e-9)


def test_the_density_has_mass_one():
    X, y, epsilon = people(n=5, d=1)
    law = ObjectivePerturbation(2.0, label_mean_share=0.5).output_law(X, y, epsilon=epsilon)

    def over_fits(m):
        fit_of_m = law.fit_around(m)
        (center,) = fit_of_m.center
        ends = center + np.array([-60.0, 0.0, 60.0]) / (fit_of_m.beta * 2 * 2.0)
        mass = sum(
            integrate.quad(
                lambda t: np.exp(law.logpdf([m, t])), *pair, limit=60, epsabs=1e-7, epsrel=1e-7
            )[0]
            for pair in (ends[:2], ends[1:])
        )
        return mass / np.exp(law.mean.logpdf([m]))

    # the fits given a mean; the mean is a law of its own with mass one
    assert_allclose([over_fits(m) for m in (-0.4, 1.3)], 1.0, rtol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fit_draws_from_the_stated_law(model):
    """A fit with a seed is the draw of the law with that seed, in the units of the user."""
    X, y, epsilon = people()
    days = 30 + 30 * y
    model = with_share(model, 0.3).set_params(y_bounds=(0, 60), random_state=7)
    law = model.output_law(X, days, epsilon=epsilon)
    mean, *theta = law.sample(rng=np.random.default_rng(7))
    fitted = model.fit(X, days, epsilon=epsilon)
    center, pair = label_bounds(30 + 30 * mean, (0, 60)), fitted.label_bounds_
    assert fitted.label_mean_ == center.center
    assert pair == center.pair
    half_width = (pair[1] - pair[0]) / 2
    # objective perturbation adds a small noise on top, of rate eta_
    slack = 60 * half_width / getattr(fitted, "eta_", np.inf) + 1e-9 * half_width
    assert_allclose(fitted.coef_, half_width * np.array(theta[:2]), rtol=0, atol=slack)
    constant = half_width * theta[2] if model.fit_intercept else 0.0
    assert_allclose(fitted.intercept_, center.center + constant, rtol=0, atol=slack)
    rate = getattr(law.fit_around(mean), "beta", None) or law.fit_around(mean).eta
    assert_allclose(fitted.noise_.rate, rate, rtol=1e-14)


def test_draws_follow_the_law():
    X, y, epsilon = people(n=6, d=1)
    law = PDPRidge(0.5, label_mean_share=0.5).output_law(X, y, epsilon=epsilon)
    points = law.sample(2000, rng=np.random.default_rng(SEED))
    assert law.sample((2, 3), rng=np.random.default_rng(1)).shape == (2, 3, 2)
    assert law.sample(0, rng=np.random.default_rng(1)).shape == (0, 2)
    fit_of_m = [law.fit_around(m) for m in points[:, 0]]
    residuals = [
        (point[1] - one.center[0]) * one.eta for point, one in zip(points, fit_of_m, strict=True)
    ]
    of_mean = (points[:, 0] - law.mean.center[0]) * law.mean.eta
    for sample in (of_mean, residuals):  # one false alarm in a million
        assert stats.kstest(sample, stats.laplace().cdf).pvalue > 1e-6
    assert abs(np.corrcoef(of_mean, residuals)[0, 1]) < 5 / np.sqrt(2000)


# ---------------------------------------------------------------- the promise


@pytest.mark.parametrize("model", MODELS[:2] + MODELS[4:], ids=str)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("person", [0, 3, 4])
def test_a_flipped_label_spends_the_whole_budget_and_no_more(model, share, person):
    """At a released mean of 0 the bounds are [-1, 1], and a flip moves mean and fit furthest."""
    one, two = duel(person)
    mechanism = with_share(model, share)
    p, q = (mechanism.output_law(*data, epsilon=MIXED) for data in (one, two))
    ends = [law.fit_around(0.0).center[0] for law in (p, q)]
    reach = 10 * abs(ends[0] - ends[1]) + 1e-3
    points = np.column_stack([np.zeros(41), np.linspace(-reach, reach, 41)])
    loss = np.abs(p.logpdf(points) - q.logpdf(points)).max() / MIXED[person]
    assert loss <= 1 + SLACK
    assert loss > 0.99


@pytest.mark.parametrize("model", [MODELS[0], MODELS[4]], ids=str)
def test_no_neighbors_of_a_search_lose_more_than_their_budgets(model):
    found = audit.search_neighbors(
        with_share(model, 0.5).set_params(lam=20.0),
        5,
        2,
        epsilon=MIXED[:5],
        trials=40,
        draws=4,
        climbs=0,
        rng=np.random.default_rng(3),
    )
    assert found.worst.ratio <= 1 + SLACK
    assert found.worst.ratio > 0.6


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
def test_a_delta_is_that_of_the_fit(kind):
    """By draws: the realized delta at the budget stays below the one that is promised."""
    one, two = duel(4)
    model = kind(LAM, delta=0.05, label_mean_share=0.3)
    found = audit.audit_mechanism(
        model, one, two, epsilon=MIXED, draws=1000, rng=np.random.default_rng(2)
    )
    assert found.passed
    fitted = model.fit(*one, epsilon=MIXED)
    assert_array_equal(fitted.guarantee_.epsilon, MIXED)
    of_fit = kind(LAM, delta=0.05).fit(*one, epsilon=0.7 * MIXED)
    pure = of_fit.pure_guarantee_.epsilon + 0.3 * MIXED
    assert_allclose(fitted.pure_guarantee_.epsilon, pure, rtol=1e-12)
    assert np.all(fitted.pure_guarantee_.epsilon > MIXED)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_person_without_budget_takes_no_part_in_either(model):
    X, y, epsilon = people(n=8)
    epsilon[2] = 0.0
    mechanism = with_share(model, 0.4)
    law = mechanism.output_law(X, y, epsilon=epsilon)
    X2, y2 = X.copy(), y.copy()
    X2[2], y2[2] = 1.0, 1.0
    other = mechanism.output_law(X2, y2, epsilon=epsilon)
    points = law.sample(5, rng=np.random.default_rng(1))
    assert_array_equal(law.logpdf(points), other.logpdf(points))


@pytest.mark.parametrize("model", [PDPRidge(loss="huber"), ObjectivePerturbation(1.0)], ids=str)
def test_a_budget_too_small_for_the_solver_is_left_out_of_both(model):
    X, y, epsilon = people()
    epsilon[4] = 1e-12
    mechanism = with_share(model, 0.4)
    law = mechanism.output_law(X, y, epsilon=epsilon)
    assert len(law.y) == len(law.budgets) == 29
    promised = mechanism.fit(X, y, epsilon=epsilon).guarantee_.epsilon
    assert promised[4] == 0
    assert_array_equal(np.delete(promised, 4), np.delete(epsilon, 4))


# ---------------------------------------------------------------- planted bugs


class _TrueMean(LabelMeanLaw):
    def fit_around(self, mean):
        return super().fit_around(float(self.mean.center[0]))


class _WidthOfTheData(LabelMeanLaw):
    def fit_around(self, mean):
        center = label_bounds(mean).center
        width = max(np.abs(self.y - center).max(), 0.05)
        return self.law_of_fit(np.clip((self.y - center) / width, -1, 1))


class _NoNoise(LabelMeanLaw):
    @property
    def mean(self):
        return L2Laplace(LabelMeanLaw.mean.func(self).center, 1e9)


class _SharesOfOthers(LabelMeanLaw):
    @property
    def mean(self):
        moved = replace(self, budgets=np.roll(self.budgets, 1))
        return LabelMeanLaw.mean.func(moved)


def planted(kind, law=None, whole=False):
    """The mechanism with another joint law, or with the whole budget for the fit, too."""

    class Bug(kind):
        def law_around_mean(self, *people):
            joint = super().law_around_mean(*people)
            return joint if law is None else law(joint.y, joint.budgets, joint.law_of_fit)

        def budgets_of_fit(self, budgets):
            return budgets if whole else super().budgets_of_fit(budgets)

    return Bug(LAM, label_mean_share=0.4)


def audited(mechanism, one, two, person):
    rng = np.random.default_rng(4)
    return audit_density(mechanism, one, two, epsilon=MIXED, person=person, draws=40, rng=rng)


def silent(person):
    """Neighbors where one person moves the fit through bounds that read their label, or never."""
    X, y = np.ones((6, 1)), np.full(6, 0.9)
    X[person] = 0.0
    other = y.copy()
    other[person] = -1.0
    return (X, y), (X, other)


BUGS = {
    "bounds from the true mean": (dict(law=_TrueMean), silent(0), 0),
    "budget used twice": (dict(whole=True), duel(4), 4),
    "mean without noise": (dict(law=_NoNoise), duel(4), 4),
    "share of another person": (dict(law=_SharesOfOthers), duel(5), 5),
    "half-width from the data": (dict(law=_WidthOfTheData), silent(0), 0),
}


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_refuted(kind, name):
    bug, pair, person = BUGS[name]
    assert not audited(planted(kind, **bug), *pair, person).passed
    sound = audited(kind(LAM, label_mean_share=0.4), *pair, person)
    assert sound.passed  # on the same neighbors


# ---------------------------------------------------------------- the account, and bad input


@pytest.mark.parametrize("model", [PDPRidge(), ObjectivePerturbation(1.0)], ids=str)
def test_an_account_is_charged_once_with_the_whole_budget(model):
    X, y, epsilon = people()
    account = BudgetAccount(PureDP(2 * epsilon, neighbors="replace-one"))
    with_share(model, 0.3).fit(X, y, epsilon=epsilon, account=account)
    assert_allclose(account.remaining, epsilon, rtol=1e-12)


@pytest.mark.parametrize("model", [PDPRidge(), ObjectivePerturbation(1.0)], ids=str)
def test_an_account_that_cannot_pay_refuses_before_the_first_draw(model):
    X, y, epsilon = people()
    account = BudgetAccount(PureDP(0.9 * epsilon, neighbors="replace-one"))
    rng = np.random.default_rng(1)
    model = with_share(model, 0.3).set_params(random_state=rng)
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded"):
        model.fit(X, y, epsilon=epsilon, account=account)
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state
    assert not hasattr(model, "label_mean_")


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
def test_a_fit_that_fails_after_the_first_draw_says_that_the_budgets_are_spent(kind, monkeypatch):
    X, y, epsilon = people()

    def fails(*_):
        raise RuntimeError("no minimizer")

    monkeypatch.setattr(kind, "law", fails)
    account = BudgetAccount(PureDP(2 * epsilon, neighbors="replace-one"))
    model = kind(1.0, label_mean_share=0.3)
    with pytest.raises(RuntimeError, match=r"budgets are spent.*no minimizer"):
        model.fit(X, y, epsilon=epsilon, account=account)
    assert_allclose(account.remaining, epsilon, rtol=1e-12)
    assert not hasattr(model, "label_mean_")


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
@pytest.mark.parametrize("share", [-0.1, 1.0, 2, np.nan, True, "a", None, [0.1, 0.2]])
def test_a_share_that_is_none_is_refused(kind, share):
    with pytest.raises((ValueError, TypeError), match=r"^label_mean_share"):
        kind(label_mean_share=share).fit(*people()[:2])


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
def test_a_share_that_leaves_no_rate_is_refused_before_the_charge(kind):
    X, y, epsilon = people()
    account = BudgetAccount(PureDP(epsilon, neighbors="replace-one"))
    with pytest.raises(ValueError, match=r"^label_mean_share is too small for a mean"):
        kind(1.0, label_mean_share=1e-160).fit(X, y, epsilon=epsilon, account=account)
    assert_array_equal(account.remaining, epsilon)


def test_a_norm_bound_and_sums_are_refused_beside_a_share():
    X, y, _ = people()
    with pytest.raises(ValueError, match=r"^bound must be None with a label_mean_share"):
        PDPRidge(label_mean_share=0.1, bound=0.5).fit(X, y)
    with pytest.raises(TypeError, match="PDPRidge with a label_mean_share cannot be fitted from"):
        PDPRidge(label_mean_share=0.1).sums(X, y)
    with pytest.raises(TypeError, match="PDPRidge with a label_mean_share cannot be fitted from"):
        PDPRidge(label_mean_share=0.1).fit(PDPRidge().sums(X, y), epsilon=np.ones(30))


def test_budgets_that_the_share_makes_too_small_are_refused_with_its_name():
    X, y, _ = people()
    plain = ObjectivePerturbation(0.08)  # 2 / 0.08 = 25 of the 30 nats
    plain.fit(X, y)
    with pytest.raises(ValueError, match=r"= 25 beside label_mean_share = 0\.3; got a sum of 21"):
        with_share(plain, 0.3).fit(X, y)


def test_labels_outside_of_the_public_bounds_are_refused_or_clipped_first():
    X, y, epsilon = people()
    y[3] = -1.5
    with pytest.raises(ValueError, match=r"^y must lie in"):
        PDPRidge(label_mean_share=0.1).fit(X, y, epsilon=epsilon)
    clipping = PDPRidge(label_mean_share=0.1, clip=True)
    law = clipping.output_law(X, y, epsilon=epsilon)
    assert law.y.min() == -1.0


# ---------------------------------------------------------------- off, and what it is for


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_without_a_share_nothing_of_it_is_left(model):
    X, y, epsilon = people()
    model = with_share(model, 0.0).set_params(random_state=3)
    law = model.output_law(X, y, epsilon=epsilon)
    fitted = model.fit(X, y, epsilon=epsilon)
    assert not isinstance(law, LabelMeanLaw)
    assert not hasattr(fitted, "label_mean_")
    assert not hasattr(fitted, "label_bounds_")
    drawn = law.sample(rng=np.random.default_rng(3))
    atol = 60 / getattr(fitted, "eta_", np.inf)
    assert_allclose(fitted.coef_, drawn[:2], rtol=1e-15, atol=atol)


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
def test_skewed_labels_are_pulled_to_their_mean_and_not_to_the_middle(kind):
    """So much budget that no noise is seen: what differs is where the penalty pulls."""
    rng = np.random.default_rng(SEED)
    X = rng.random((2000, 2))
    y = np.minimum(rng.gamma(1.0, 4 + 8 * X[:, 0]), 60.0)
    public = dict(epsilon=1e6, y_bounds=(0, 60), fit_intercept=True, random_state=1)
    plain = kind(1.0, **public).fit(X, y).predict(X).mean()
    centered = kind(1.0, label_mean_share=0.1, **public).fit(X, y)
    assert_allclose(centered.label_mean_, y.mean(), rtol=1e-4)
    assert plain > 1.5 * y.mean()
    assert abs(centered.predict(X).mean() - y.mean()) < 0.1 * y.mean()


def test_a_share_in_low_precision_would_be_spent_twice_and_is_refused():
    share = np.float16(2e-4)
    assert float(1 - share) + float(share) > 1.0001  # what its owner would spend, of a budget of 1
    X, y = np.array([[1.0], [0.0]]), np.ones(2)
    for kind in (PDPRidge, ObjectivePerturbation):
        model = kind(label_mean_share=share)
        for call in (model.fit, model.output_law):
            with pytest.raises(TypeError, match=r"^label_mean_share must be a number of 64 bits"):
                call(X, y)
