"""Every user's own budget, whatever the weights: personal budgets, settings far from the best ones.

The best weights saturate everybody, and hide noise that was made for somebody else. Here nothing
is best. What one user can show is computed from what `fit` releases: two fits with one seed differ
by the exact shift, and the densities are those of the law that the fit was drawn from.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lab.chapters import bisection_law, quantile_by_bisection
from pdpbook.gwa import (
    GWARegression,
    SampleLimitedRegression,
    TwoStageGWARegression,
    gwa_weights,
)
from pdpbook.user_level import (
    SampleLimitedMean,
    WeightedGradientDescent,
    WeightedMean,
    WeightedOutputPerturbation,
    output_perturbation,
    private_quantile,
    quantile_law,
)

SEED = 20261121
ROUNDING = 1e-9  # of sums of a few dozen floats, seen through a difference of two releases
BOUNDS = (-1.0, 3.0)
CENTER, HALF = 1.0, 2.0
seeds = st.integers(0, 10_000)


def crowd(seed, m=4, most=5):
    """Owners in mixed order, from 1 to `most` rows each, and budgets from 0.05 to 5 nats."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, m)
    users = rng.permutation(np.repeat(np.arange(m), sizes))
    return users, dict(enumerate(0.05 * 100 ** rng.random(m)))


@pytest.fixture(scope="module", autouse=True)
def weights_are_found_once():
    """They depend on public things alone: without this most of the time is spent on them again."""
    known = {}

    def remembered(*arrays, **settings):
        asked = repr([np.asarray(part).tolist() for part in (*arrays, *settings.values())])
        if asked not in known:
            known[asked] = gwa_weights(*arrays, **settings)
        return known[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pdpbook.gwa.regression.gwa_weights", remembered)
        yield


def corners(k):
    return 1.0 - 2.0 * (np.arange(1 << k)[:, None] >> np.arange(k) & 1)


def released(model):
    """What a fit publishes, in the order of its law."""
    if hasattr(model, "mean_"):
        return np.array([model.mean_])
    return np.concatenate([getattr(model, "pilot_", []), getattr(model, "release_", model.coef_)])


def fitted(model, X, y, users, epsilon):
    """A fit with the fixed seed, and its law: that it was drawn from it is asserted."""
    model = clone(model).set_params(random_state=SEED).fit(X, y, users=users, epsilon=epsilon)
    law = model.output_law(X, y, users=users, epsilon=epsilon)
    drawn = law.sample(rng=np.random.default_rng(SEED))
    if hasattr(law, "release"):  # noisy gradients, of which the average of iterates is published
        drawn = law.release(drawn)
    assert_allclose(released(model), drawn, rtol=1e-12)
    return model, law


# ---------------------------------------------------------------- means and regressions


def labels(model, users, user, signs):
    """Labels of one user at the ends of the bounds, and far beyond them where they are clipped."""
    y = np.full(len(users), CENTER)
    y[users == user] += signs * (HALF if not model.clip else 1e6)
    return y


def linear_loss(model, X, users, epsilon, user):
    """Largest loss of a user over all labels: nats under Laplace noise, mu under Gaussian noise."""
    size = int((users == user).sum())
    base, _ = fitted(model, X, labels(model, users, user, np.zeros(size)), users, epsilon)
    moves = [  # of half the width, row by row; the release is linear in labels inside the bounds
        released(fitted(model, X, labels(model, users, user, row), users, epsilon)[0])
        - released(base)
        for row in np.eye(size)
    ]
    gaussian = getattr(model, "delta", 0) > 0
    ends = corners(size)
    far = ends[np.linalg.norm(ends @ np.array(moves), ord=2 if gaussian else 1, axis=1).argmax()]
    (_, p), (_, q) = (
        fitted(model, X, labels(model, users, user, s), users, epsilon) for s in (far, -far)
    )
    if gaussian:  # the loss at the center of p is mu^2 / 2
        return np.sqrt(2 * (p.logpdf(p.center) - q.logpdf(p.center)))
    beyond = 2 * p.center - q.center  # each entry on the far side of both centers
    return p.logpdf(beyond) - q.logpdf(beyond)


def rows(seed, users, d):
    return (
        np.random.default_rng(seed).normal(size=(len(users), d)) if d else np.ones((len(users), 1))
    )


LINEAR = [  # columns of X (0 is ones), and whether the largest loss that is stated can be shown
    (WeightedMean(sigma2=1e3), 0, True),
    (WeightedMean(sigma2=1e-9, clip=True), 0, True),
    (WeightedMean(sigma2=0.3), 0, True),
    (SampleLimitedMean(max_rows="max"), 0, True),
    (SampleLimitedMean(max_rows=2, clip=True), 0, True),
    (SampleLimitedMean(sigma2=1e3), 0, True),
    (SampleLimitedRegression(max_rows="max"), 1, True),
    (SampleLimitedRegression(max_rows=2, clip=True), 1, True),
    (SampleLimitedRegression(max_rows="max", sensitivity="exact"), 3, True),
    (SampleLimitedRegression(max_rows="max", sensitivity="exact", fit_intercept=True), 1, True),
    (SampleLimitedRegression(sigma2=1e6), 1, True),
    (GWARegression(sigma2=1e6), 1, True),
    (GWARegression(sigma2=1e-6, clip=True), 1, True),
    (GWARegression(sigma2=1e6, objective="prediction"), 1, True),
    (GWARegression(sigma2=1e3, prior=1e-3), 1, True),
    (GWARegression(sigma2=1e6, delta=1e-5), 1, True),
    (GWARegression(sigma2=1e4, sensitivity="exact"), 2, True),
    (TwoStageGWARegression(sigma2=1e6), 1, True),  # one stage: two would not pay
    # with several coefficients a sum of norms is more than signs or directions can do together
    (SampleLimitedRegression(max_rows="max"), 2, False),
    (GWARegression(sigma2=1e6, fit_intercept=True), 2, False),
    (GWARegression(sigma2=1e6, delta=1e-5), 2, False),
]


@pytest.mark.parametrize(("model", "d", "attained"), LINEAR, ids=str)
@settings(max_examples=5)
@given(seeds)
def test_linear_releases_keep_every_budget(model, d, attained, seed):
    users, epsilon = crowd(seed)
    X = np.random.default_rng(seed).normal(size=(len(users), d)) if d else np.ones((len(users), 1))
    model = clone(model).set_params(y_bounds=BOUNDS)
    lost = np.array([linear_loss(model, X, users, epsilon, user) for user in epsilon])
    model, _ = fitted(model, X, np.full(len(users), CENTER), users, epsilon)
    budgets = np.array([*epsilon.values()])
    if getattr(model, "delta", 0) > 0:
        assert_allclose(np.diag(model.guarantee_.profile(budgets[:, None])), 1e-5, rtol=1e-6)
        budgets = model.guarantee_.mu
    else:
        assert_array_equal(model.guarantee_.epsilon, budgets)
    assert np.all(lost <= budgets * (1 + ROUNDING))
    assert_allclose((model.exposure_ / budgets).max(), 1, rtol=ROUNDING)  # no more noise than due
    if attained:
        assert_allclose(lost, model.exposure_, rtol=1e-7)
    assert np.all(lost <= model.exposure_ * (1 + ROUNDING))


@settings(max_examples=10)
@given(seeds)
def test_two_stages_together_keep_every_budget(seed):
    """Where the pilot shows all it can, clipped residuals still have their whole width to move."""
    users, epsilon = crowd(seed, m=6)
    epsilon = {user: 400 * budget for user, budget in epsilon.items()}
    X, model = np.ones((len(users), 1)), TwoStageGWARegression(sigma2=1e-4, share=0.3)
    for user, budget in epsilon.items():
        mine = users == user
        base, _ = fitted(model, X, np.zeros(len(users)), users, epsilon)
        assert base.stages_ == 2
        pilot = fitted(model, X, 1.0 * mine, users, epsilon)[0].pilot_ - base.pilot_
        others = -min(1.0, float(pilot[0] / (1 - pilot[0])))  # so that no pilot is near the end
        (_, p), (_, q) = (
            fitted(model, X, np.where(mine, end, others), users, epsilon) for end in (1.0, -1.0)
        )
        shown = np.array([p.center[0], p.center[1] + 1e3])
        lost = p.logpdf(shown) - q.logpdf(shown)
        at = base.users_.tolist().index(user)
        assert_allclose(lost, base.exposure_[at], rtol=1e-7)
        assert lost <= budget * (1 + ROUNDING)
    assert_allclose((base.exposure_ / base.guarantee_.epsilon).max(), 1, rtol=ROUNDING)


# ---------------------------------------------------------------- weighted fits


def facing(users, user, d, rng):
    """Rows of others anywhere in the ball; all rows of one user along the first axis."""
    X = rng.normal(size=(len(users), d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.choice([-1.0, 1.0], len(users))
    X[users == user] = np.eye(d)[0]
    return X, np.where(users == user, 1.0, y), np.where(users == user, -1.0, y)


@pytest.mark.parametrize("accounting", ["zcdp", "gaussian"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("clip_norm", [None, 0.1])
@settings(max_examples=6)
@given(seeds, st.sampled_from([0.0, 0.3, np.inf]))
def test_noisy_gradients_keep_every_budget(accounting, loss, clip_norm, seed, tradeoff):
    users, epsilon = crowd(seed)
    model = WeightedGradientDescent(
        loss,
        delta=1e-5,
        accounting=accounting,
        clip_norm=clip_norm,
        tradeoff=tradeoff,
        steps=3,
        radius=0.5,  # a slope is then at least 1/3, so that clipped gradients have their length
        row_norm=1.0,
        classes=(-1, 1) if loss == "logistic" else None,
    )
    rng, lost = np.random.default_rng(seed), []
    for user in epsilon:
        X, one, two = facing(users, user, 2, rng)
        (_, p), (_, q) = (fitted(model, X, y, users, epsilon) for y in (one, two))
        rho = p.logpdf(p.center) - q.logpdf(p.center)  # of steps that all differ by the same
        lost.append(rho if accounting == "zcdp" else np.sqrt(2 * rho))
    model, _ = fitted(model, X, one, users, epsilon)
    promised = model.guarantee_.rho if accounting == "zcdp" else model.guarantee_.mu
    budgets = np.array([*epsilon.values()])
    assert np.all(np.diag(model.guarantee_.profile(budgets[:, None])) <= 1e-5 * (1 + 1e-9))
    assert np.all(lost <= promised * (1 + ROUNDING))
    assert np.all(lost <= model.exposure_ * (1 + ROUNDING))
    assert_allclose((model.exposure_ / promised).max(), 1, rtol=ROUNDING)
    if clip_norm is not None:
        assert_allclose(lost, model.exposure_, rtol=1e-7)


def as_lazy_as_allowed(X, y, lam, weights, *, gradient_norm, **settings):
    """A minimizer off by all that is charged: the gradient as computed, and its rounding."""
    exact = minimizer(X, y, lam, weights, gradient_norm=gradient_norm, **settings)
    pull = X[:, 0] @ (weights * y)
    return exact + np.sign(pull) * 2 * gradient_norm / (lam + weights @ X[:, 0] ** 2)


minimizer = output_perturbation.ball_minimizer


@pytest.mark.parametrize("tradeoff", [0.0, 0.3, np.inf])
def test_noise_on_the_minimizer_keeps_every_budget_and_pays_for_the_solver(tradeoff, monkeypatch):
    """One user has next to nothing, so that the solver takes half a percent of it.

    The penalty is so large, and the ball so small, that nobody has curvature to speak of: a user
    moves the minimizer by 2w / lam, all but a share of (w + R) / lam.
    """
    monkeypatch.setattr(output_perturbation, "ball_minimizer", as_lazy_as_allowed)
    users = np.repeat(np.arange(4), [1, 2, 5, 3])
    epsilon = {0: 8e-9, 1: 0.2, 2: 1.0, 3: 0.8}
    model = WeightedOutputPerturbation(lam=1e5, radius=1e-5, tradeoff=tradeoff, row_norm=1.0)
    lost = []
    for user in epsilon:
        X, y = np.where(users == user, 1.0, 0.0)[:, None], np.where(users == user, 1.0, 0.0)
        (model, p), (_, q) = (fitted(model, X, end, users, epsilon) for end in (y, -y))
        lost.append(p.logpdf(p.center) - q.logpdf(p.center))
    budgets = np.array([*epsilon.values()])
    assert np.all(lost <= budgets * (1 + ROUNDING))
    assert_allclose(lost, model.exposure_, rtol=3e-5)  # the share that curvature and ball take
    assert_allclose((model.exposure_ / budgets).max(), 1, rtol=ROUNDING)


# ---------------------------------------------------------------- quantiles


def weighed(seed):
    """Given weights that have nothing to do with sizes and budgets, and nobody above a half."""
    users, epsilon = crowd(seed, m=5)
    c = np.random.default_rng(seed).dirichlet(np.ones(len(users)))
    w = np.bincount(users, c)
    c *= np.minimum(1, 0.45 / w)[users]
    return users, epsilon, c, np.bincount(users, c) / c.sum(), np.array([*epsilon.values()])


def moved(users, user, others):
    """All rows of one user at the low end, and all of them at the high end."""
    return (np.where(users == user, end, others) for end in (0.0, 1.0))


@settings(max_examples=20)
@given(seeds, st.sampled_from([0.1, 0.5, 0.8]), st.integers(1, 6))
def test_a_search_keeps_every_budget(seed, level, steps):
    """Where all others are at one end, every answer on the way there shows all that it can."""
    users, epsilon, c, w, budgets = weighed(seed)
    asked = {"users": users, "epsilon": epsilon, "bounds": (0, 1), "weights": c, "steps": steps}
    lost = []
    for user in epsilon:
        p, q = (bisection_law(y, level, **asked) for y in moved(users, user, 1.0 * (level >= 0.5)))
        lost.append(p.largest_loss(q))
        y = next(moved(users, user, 0.3))
        one = quantile_by_bisection(y, level, rng=np.random.default_rng(SEED), **asked)
        assert one == bisection_law(y, level, **asked).sample(rng=np.random.default_rng(SEED))
    lost = np.array(lost)
    assert np.all(lost <= budgets * (1 + ROUNDING))
    assert_allclose(lost, w / (w / budgets).max(), rtol=1e-9)


@settings(max_examples=20)
@given(seeds, st.sampled_from([0.1, 0.5, 0.8]), st.booleans())
def test_one_draw_keeps_every_budget(seed, level, on_a_grid):
    users, epsilon, c, w, budgets = weighed(seed)
    asked = {"users": users, "epsilon": epsilon, "bounds": (0, 1), "weights": c}
    z0 = 1e-13  # next to the low end, so that next to nothing is normalized away
    asked["grid"] = np.r_[0.0, np.linspace(2 * z0, 1, 9)] if on_a_grid else None
    lost = []
    for user in epsilon:
        laws = [quantile_law(y, level, **asked) for y in moved(users, user, z0)]
        lost.append(laws[0].largest_loss(laws[1]))
        y = next(moved(users, user, 0.3))
        one = private_quantile(y, level, rng=np.random.default_rng(SEED), **asked)
        assert one == quantile_law(y, level, **asked).sample(rng=np.random.default_rng(SEED))
    lost, reach = np.array(lost), np.minimum(w, level) + np.minimum(w, 1 - level)
    assert np.all(lost <= budgets * (1 + ROUNDING))
    light = w <= min(level, 1 - level)  # heavier users would have to leave on both sides
    if not on_a_grid:
        assert_allclose(lost[light], (reach / (reach / budgets).max())[light], rtol=1e-6)
