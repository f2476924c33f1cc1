"""Label-private regressions: limits by hand, exact laws, audits at user level, planted bugs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from pdpbook.gwa import (
    ConvergenceError,
    GWARegression,
    SampleLimitedRegression,
    TwoStageGWARegression,
    exact_sensitivity,
    gwa_weights,
    prediction_root,
)
from pdpbook.gwa.regression import limits_to_try
from pdpbook.users import check_users

SEED = 20261121
WIDTH = 2.0
SETTINGS = {"sigma2": 0.02, "random_state": SEED}
ALL = [
    GWARegression(**SETTINGS),
    GWARegression(**SETTINGS, objective="prediction", fit_intercept=True),
    GWARegression(**SETTINGS, prior=0.5),
    GWARegression(**SETTINGS, sensitivity="exact"),
    SampleLimitedRegression(**SETTINGS),
    SampleLimitedRegression(**SETTINGS, max_rows=5, sensitivity="exact"),
    TwoStageGWARegression(**SETTINGS),
    TwoStageGWARegression(**SETTINGS, epsilon=40.0, share=0.3),
]


def people(n=80, d=3, m=10, seed=SEED):
    """Rows of users of very different sizes; labels inside (-1, 1)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    users = np.minimum((m * rng.random(n) ** 3).astype(int), m - 1)
    users[:m] = np.arange(m)
    y = np.clip(X @ np.linspace(0.3, -0.2, d) + 0.1 * rng.normal(size=n), -0.99, 0.99)
    return X, y, users


def owned(users):
    owners = check_users(users, len(users))
    return owners, np.ones(len(owners.labels))


def adversarial(C, users, user):
    """Labels of one user at the bounds so as to move C y most, and the opposite ones."""
    mine = C[:, users == user]
    signs = 1.0 - 2 * (np.arange(2 ** len(C))[:, None] >> np.arange(len(C)) & 1)
    z = signs[np.abs(signs @ mine).sum(axis=1).argmax()]
    high, low = np.zeros(len(users)), np.zeros(len(users))
    high[users == user], low[users == user] = np.sign(z @ mine), -np.sign(z @ mine)
    return high, low


def realized(model, X, users, user, *, draws=200):
    """Largest log-ratio of two densities that was found, for the worst labels of a user."""
    owners, _ = owned(users)
    rows, _ = model.domain(X.shape[1]).to_domain(X, np.zeros(len(X)))
    plan = model.plan(rows, owners, np.full(len(owners.labels), model.epsilon))
    C = plan.last.weights if isinstance(model, TwoStageGWARegression) else plan.weights
    p, q = (model.output_law(X, y, users=users) for y in adversarial(C, users, user))
    rng = np.random.default_rng(SEED)
    span = p.center - q.center
    far = [p.center + t * np.sign(span) * np.abs(span).max() for t in (0, 1, 3, 9)]
    points = np.concatenate([p.sample(draws, rng=rng), q.sample(draws, rng=rng), far])
    return float(np.abs(p.logpdf(points) - q.logpdf(points)).max())


# ---------------------------------------------------------------- by hand


def test_the_mean_by_hand():
    """One column of ones, three rows and one row: both users at level 1/2, so scale is B/2."""
    X, users = np.ones((4, 1)), ["b", "b", "b", "a"]
    model = GWARegression(sigma2=0.0).fit(X, [0.0, 0.1, 0.2, 0.5], users=users)
    assert_allclose(model.noise_.scale, WIDTH / 2, rtol=1e-7)
    assert_allclose(model.exposure_, [1, 1], rtol=1e-6)
    assert_array_equal(model.users_, ["a", "b"])
    assert model.rank_ == 1
    limited = SampleLimitedRegression(max_rows="max").fit(X, [0, 0, 0, 0], users=users)
    assert_allclose(limited.noise_.scale, WIDTH * 3 / 4, rtol=1e-12)
    assert_allclose(limited.exposure_, [1 / 3, 1], rtol=1e-12)


def test_without_privacy_it_is_least_squares():
    X, y, users = people()
    fit = np.linalg.lstsq(X, y, rcond=None)[0]
    for model in (GWARegression(**SETTINGS), TwoStageGWARegression(**SETTINGS)):
        model.set_params(epsilon=1e9).fit(X, y, users=users)
        assert_allclose(model.coef_, fit, atol=1e-6)
    limited = SampleLimitedRegression(**SETTINGS, epsilon=1e9).fit(X, y, users=users)
    assert limited.max_rows_ == np.bincount(users).max()
    assert_allclose(limited.coef_, fit, atol=1e-6)


def test_labels_are_not_shifted():
    """An interval of the same width elsewhere: the same law, in units of y."""
    X, y, users = people()
    one, two = (
        GWARegression(**SETTINGS, y_bounds=bounds).output_law(X, y / 2, users=users)
        for bounds in ((-1, 1), (-0.6, 1.4))
    )
    assert_array_equal(one.center, two.center)
    assert_allclose(one.scale, two.scale, rtol=1e-12)


def test_the_noise_is_that_of_the_matrix():
    X, y, users = people()
    found = gwa_weights(X, users, sigma2=0.02, epsilon=1.0, width=WIDTH)
    law = GWARegression(**SETTINGS).output_law(X, y, users=users)
    assert_allclose(law.center, found.C @ y, rtol=1e-9)
    norms = np.abs(found.C).sum(axis=0)
    assert_allclose(law.scale, WIDTH * np.bincount(users, norms).max(), rtol=1e-12)


def test_the_solver_asked_for_is_the_one_that_runs():
    X, y, users = people()
    with pytest.raises(ValueError, match=r"solver must be 'auto' or 'cvxpy' with norm='l2'"):
        GWARegression(**SETTINGS, delta=1e-5, solver="interior").fit(X, y, users=users)


@pytest.mark.parametrize("model", ALL, ids=str)
def test_fit_draws_from_the_output_law(model):
    X, y, users = people()
    law = model.output_law(X, y, users=users)
    model.fit(X, y, users=users)
    drawn = law.sample(rng=np.random.default_rng(SEED))
    assert_array_equal(model.release_, drawn[-len(model.release_) :])
    assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)


@pytest.mark.parametrize("kind", [GWARegression, SampleLimitedRegression, TwoStageGWARegression])
def test_an_integer_repeats_the_noise_and_none_does_not(kind):
    X, y, users = people()

    def released(state):
        return kind(sigma2=0.02, random_state=state).fit(X, y, users=users).release_

    assert_array_equal(released(3), released(3))
    for other in (4, None):
        assert (released(3) != released(other)).all()
    assert (released(None) != released(None)).all()


# ---------------------------------------------------------------- the promise


@pytest.mark.parametrize("model", ALL, ids=str)
def test_no_user_loses_more_than_their_exposure(model):
    X, y, users = people()
    model.fit(X, y, users=users)
    promised = model.guarantee_.epsilon
    assert model.guarantee_.neighbors == "user-labels"
    assert (model.exposure_ <= promised * (1 + 1e-12)).all()
    for user in (0, 5, 9):
        loss = realized(model, X, users, user)
        assert loss <= model.exposure_[user] * (1 + 1e-9)


def test_a_saturated_user_loses_all_of_it():
    """Promises are not padded: with one coefficient a row the bound is attained."""
    X, users = np.ones((6, 1)), np.array([0, 0, 0, 0, 1, 2])
    model = GWARegression(**SETTINGS)
    assert_allclose(realized(model, X, users, 0), 1.0, rtol=1e-6)
    exact = SampleLimitedRegression(**SETTINGS, max_rows="max", sensitivity="exact")
    X, _, users = people()
    model = exact.fit(X, np.zeros(80), users=users)
    worst = int(model.exposure_.argmax())
    assert_allclose(realized(exact, X, users, worst), 1.0, rtol=1e-6)


class CountsRecords(SampleLimitedRegression):
    """The noise of the largest column, as if a user had one record."""

    def plan(self, X, users, budgets):
        plan = super().plan(X, users, budgets)
        scale = WIDTH * np.abs(plan.weights).sum(axis=0).max() / budgets.min()
        return replace(plan, scale=scale)


class ForgetsTheWidth(GWARegression):
    def plan(self, X, users, budgets):
        plan = super().plan(X, users, budgets)
        return replace(plan, scale=plan.scale / 2)


class SpendsTwice(TwoStageGWARegression):
    """Both stages with the whole budget."""

    def plan(self, X, users, budgets):
        plan = super().plan(X, users, budgets)
        last = replace(plan.last, scale=plan.last.scale * (1 - self.share))
        return replace(plan, last=last)


@pytest.mark.parametrize(
    "bug",
    [
        CountsRecords(**SETTINGS, max_rows=5),
        ForgetsTheWidth(**SETTINGS),
        SpendsTwice(**SETTINGS, epsilon=40.0, share=0.3),
    ],
    ids=lambda bug: type(bug).__name__,
)
def test_planted_bugs_are_caught(bug):
    X, _, users = people()
    losses = [realized(bug, X, users, user) for user in (0, 4, 9)]
    assert max(losses) > bug.epsilon * 1.02


def test_budgets_of_their_own():
    X, y, users = people()
    table = {user: 0.5 if user % 2 else 4.0 for user in range(10)}
    model = GWARegression(**SETTINGS, epsilon=table).fit(X, y, users=users)
    assert_array_equal(model.guarantee_.epsilon, list(table.values()))
    assert (model.exposure_ <= model.guarantee_.epsilon * (1 + 1e-12)).all()
    careful = GWARegression(**SETTINGS, epsilon=0.5).fit(X, y, users=users)
    assert model.noise_.scale < 0.6 * careful.noise_.scale
    by_row = GWARegression(**SETTINGS).fit(
        X, y, users=users, epsilon=np.array(list(table.values()))[users]
    )
    assert_array_equal(by_row.coef_, model.coef_)
    series = GWARegression(**SETTINGS).fit(X, y, users=users, epsilon=pd.Series(table))
    assert_array_equal(series.coef_, model.coef_)


def test_gaussian_promise_and_noise():
    X, y, users = people()
    model = GWARegression(**SETTINGS, delta=1e-5).fit(X, y, users=users)
    law = model.output_law(X, y, users=users)
    assert law.noise == "gaussian"
    assert_allclose(model.guarantee_.profile(1.0), 1e-5, rtol=1e-6)
    found = gwa_weights(X, users, sigma2=0.02, epsilon=1.0, width=WIDTH, norm="l2", delta=1e-5)
    assert_allclose(model.noise_.scale, found.scale, rtol=1e-9)
    move = np.bincount(users, np.linalg.norm(found.C, axis=0))
    assert_allclose(model.exposure_, WIDTH * move / model.noise_.scale, rtol=1e-9)


# ---------------------------------------------------------------- accuracy


@pytest.mark.parametrize("limited", [1, 3, "max", "best"])
def test_sample_limiting_is_never_better(limited):
    """Feasible for the same program: by optimality, up to the certified gap."""
    X, _, users = people(m=8)
    model = SampleLimitedRegression(**SETTINGS, max_rows=limited)
    plan = model.plan(X, *owned(users))
    variance = 0.02 * (plan.weights**2).sum() + 2 * 3 * plan.scale**2
    found = gwa_weights(X, users, sigma2=0.02, epsilon=1.0, width=WIDTH)
    assert variance >= found.lower_bound
    assert_allclose(plan.weights @ X, np.eye(3), atol=1e-9)


def test_best_is_the_best_of_all_thresholds():
    X, y, users = people()
    variance = {}
    for h in range(1, np.bincount(users).max() + 1):
        model = SampleLimitedRegression(**SETTINGS, max_rows=h)
        plan = model.plan(X, *owned(users))
        variance[h] = 0.02 * (plan.weights**2).sum() + 6 * plan.scale**2
    best = SampleLimitedRegression(**SETTINGS).fit(X, y, users=users)
    assert best.max_rows_ == min(variance, key=variance.get)


def test_exact_noise_is_smaller_and_exact():
    X, y, users = people()
    loose, exact = (
        SampleLimitedRegression(**SETTINGS, max_rows=4, sensitivity=kind).fit(X, y, users=users)
        for kind in ("entrywise", "exact")
    )
    assert exact.noise_.scale < loose.noise_.scale
    C = SampleLimitedRegression(**SETTINGS, max_rows=4).plan(X, *owned(users)).weights
    assert_allclose(exact.noise_.scale, exact_sensitivity(C, users, width=WIDTH).max(), rtol=1e-12)


def test_kept_rows_are_random_and_at_most_the_threshold():
    owners, _ = owned(np.array([3, 1, 3, 3, 1, 2]))
    place = owners.places(0)
    for code in range(3):
        assert sorted(place[owners.codes == code]) == list(range(owners.sizes[code]))
    shares = np.mean([owners.places(seed) == 0 for seed in range(2000)], axis=0)
    # six standard errors of a share of 2000 draws
    assert_allclose(shares, [1 / 3, 1 / 2, 1 / 3, 1 / 3, 1 / 2, 1], atol=6 * 0.5 / 2000**0.5)


def test_thresholds_that_are_looked_at():
    assert_array_equal(limits_to_try(4), [1, 2, 3, 4])
    many = limits_to_try(10**6)
    assert (many[0], many[-1], len(many) <= 500) == (1, 10**6, True)


def test_variance_of_theorem_six():
    """Simulated labels and noise: 3000 draws, so 5 standard errors are one alarm in a million."""
    X, _, users = people()
    beta = np.array([0.3, 0.05, -0.2])
    rng = np.random.default_rng(SEED)
    plan = GWARegression(**SETTINGS).plan(X, *owned(users))
    labels = X @ beta + np.sqrt(0.02) * rng.choice([-1.0, 1.0], (3000, 80))
    errors = labels @ plan.weights.T - beta + rng.laplace(0, plan.scale, (3000, 3))
    squares = (errors**2).sum(axis=1)
    found = gwa_weights(X, users, sigma2=0.02, epsilon=1.0, width=WIDTH)
    assert abs(squares.mean() - found.objective) < 5 * squares.std() / np.sqrt(3000)
    assert_allclose(errors.mean(axis=0), 0, atol=5 * errors.std() / np.sqrt(3000))


def test_prediction_objective_pays_for_predictions():
    X, _, users = people()
    X = X * [1.0, 5.0, 0.2]
    root = prediction_root(X)
    assert_allclose(root @ root, X.T @ X / len(X), atol=1e-12)

    def error(objective):
        plan = GWARegression(**SETTINGS, objective=objective).plan(X, *owned(users))
        moments = X.T @ X / len(X)
        L = plan.to_coefficients @ plan.weights
        return 0.02 * np.trace(moments @ L @ L.T) + 2 * plan.scale**2 * np.trace(
            plan.to_coefficients.T @ moments @ plan.to_coefficients
        )

    assert error("prediction") < error("parameters") * (1 - 1e-3)


def test_the_defaults_of_two_stages_are_the_stated_ones():
    model = TwoStageGWARegression()
    assert (model.share, model.reach) == (0.25, 3.5)


def test_two_stages_where_public_numbers_say_so():
    X, y, users = people()
    model = TwoStageGWARegression(**SETTINGS)
    small, large = (model.set_params(epsilon=e).fit(X, y, users=users).stages_ for e in (0.5, 80))
    assert (small, large) == (1, 2)
    assert model.predicted_[1] < model.predicted_[0]
    assert 2 * model.clip_ < (1 - model.share) * WIDTH
    alone = TwoStageGWARegression(**SETTINGS, epsilon=0.5).fit(X, y, users=users)
    single = GWARegression(**SETTINGS, epsilon=0.5).fit(X, y, users=users)
    assert_array_equal(alone.coef_, single.coef_)
    assert len(alone.pilot_) == 0


def test_two_stage_density_by_hand():
    X, y, users = people()
    law = TwoStageGWARegression(**SETTINGS, epsilon=40.0).output_law(X, y, users=users)
    point = np.array([0.1, 0.2, 0.3, -0.1, 0.0, 0.2])
    first, second = point[:3], point[3:]
    residual = np.clip(y - X @ first, -law.reach, law.reach)
    a, b = law.pilot.scale, law.final.scale
    by_hand = -np.abs(first - law.pilot.weights @ y).sum() / a - 3 * np.log(2 * a)
    by_hand += -np.abs(second - first - law.final.weights @ residual).sum() / b - 3 * np.log(2 * b)
    assert_allclose(law.logpdf(point), by_hand, rtol=1e-12)
    draws = law.sample(4000, rng=np.random.default_rng(SEED))
    assert_allclose(
        draws[:, :3].mean(axis=0), law.pilot.weights @ y, atol=6 * a * (2 / 4000) ** 0.5
    )
    spread = 6 * (2 * b**2 / 4000) ** 0.5 + 1e-2  # clipping may bias a little
    assert_allclose(draws[:, 3:].mean(axis=0), law.final.weights @ y, atol=spread)


def test_every_number_of_the_second_stage_has_noise_of_its_own():
    """Kolmogorov-Smirnov at 1e-6; six standard errors of a correlation of 4000 pairs."""
    X, y, users = people()
    law = TwoStageGWARegression(**SETTINGS, epsilon=40.0).output_law(X, y, users=users)
    draws = law.sample(4000, rng=np.random.default_rng(SEED))
    noise = draws[:, 3:] - law._mean_of_final(draws[:, :3])
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=law.final.scale).cdf).pvalue > 1e-6
    pairs = np.corrcoef(np.hstack([draws[:, :3], noise]).T)
    assert_allclose(pairs, np.eye(6), atol=6 / np.sqrt(4000))


# ---------------------------------------------------------------- rank


@pytest.mark.parametrize("kind", [GWARegression, SampleLimitedRegression, TwoStageGWARegression])
def test_without_full_rank_it_solves_in_the_row_space_and_says_so(kind):
    X, y, users = people()
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = kind(sigma2=0.02, epsilon=1e9, random_state=0)
    with pytest.warns(UserWarning, match="X has rank 3, less than its 4 columns"):
        model.fit(wide, y, users=users)
    assert model.rank_ == 3
    assert_allclose(model.coef_, np.linalg.lstsq(wide, y, rcond=None)[0], atol=1e-6)


def test_a_prior_needs_no_rank_and_no_warning():
    X, y, users = people()
    wide = np.column_stack([X, X[:, 0]])
    model = GWARegression(**SETTINGS, prior=1.0).fit(wide, y, users=users)
    assert model.rank_ == 3
    assert_allclose(model.release_, model.coef_, rtol=1e-12)


def test_lost_rank_names_the_threshold():
    X = np.eye(3)[[0, 1, 2, 0, 1]]
    with pytest.raises(ValueError, match=r"^max_rows must keep rows of rank 3.*at most 1 of each"):
        SampleLimitedRegression(max_rows=1).fit(X, np.zeros(5), users=[0, 0, 0, 1, 1])
    model = SampleLimitedRegression().fit(X, np.zeros(5), users=[0, 0, 0, 1, 1])
    assert model.max_rows_ > 1


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("kind", [GWARegression, TwoStageGWARegression])
def test_a_solver_that_does_not_converge_releases_nothing(kind):
    X, y, users = people()
    model = kind(**SETTINGS, tol=1e-300)
    with pytest.raises(ConvergenceError, match="with a certified gap of"):
        model.fit(X, y, users=users)
    assert not hasattr(model, "release_")
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (GWARegression, {"epsilon": 0.0}, "epsilon must be finite and above 0"),
        (GWARegression, {"sigma2": -1.0}, "sigma2 must be finite and at least 0"),
        (GWARegression, {"y_bounds": (1, 1)}, "y_bounds must have low < high"),
        (GWARegression, {"delta": 1.0}, "delta must be at least 0 and below 1"),
        (GWARegression, {"prior": 0.0}, "prior must be finite and above 0"),
        (GWARegression, {"prior": [1.0, 2.0]}, "prior must be a single number"),
        (GWARegression, {"tol": np.nan}, "tol must be finite and above 0"),
        (GWARegression, {"objective": "both"}, "objective must be one of"),
        (GWARegression, {"sensitivity": "loose"}, "sensitivity must be one of"),
        (GWARegression, {"sensitivity": "exact", "delta": 0.1}, "sensitivity must be 'entrywise'"),
        (SampleLimitedRegression, {"max_rows": 0}, "max_rows must be at least 1"),
        (SampleLimitedRegression, {"max_rows": "some"}, "max_rows must be one of"),
        (SampleLimitedRegression, {"selection_seed": -1}, "selection_seed must be at least 0"),
        (TwoStageGWARegression, {"share": 1.0}, "share must be above 0 and below 1"),
        (TwoStageGWARegression, {"reach": 0.0}, "reach must be finite and above 0"),
    ],
)
def test_bad_settings_are_refused_before_data(kind, settings, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        kind(**settings).fit(None, None)


def test_kinds_are_refused():
    with pytest.raises(TypeError, match="clip must be True or False"):
        GWARegression(clip=1).fit(None, None)
    with pytest.raises(TypeError, match="max_rows must be a whole number"):
        SampleLimitedRegression(max_rows=1.5).fit(None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": [0, 1]}, r"users must have shape \(80,\)"),
        ({"users": [None] * 80}, "users must have no missing label"),
        ({"epsilon": {0: 1.0}}, "epsilon must have a budget for every user; it has no budget for"),
        ({"epsilon": np.linspace(1, 2, 80)}, "epsilon must be the same on all rows of a user"),
        ({"y": np.full(80, 1.5)}, r"y must lie in \[-1, 1\]; got y\[0\] = 1.5"),
        ({"X": np.zeros((80, 3))}, "X must have an entry other than 0"),
    ],
)
@pytest.mark.parametrize("kind", [GWARegression, SampleLimitedRegression, TwoStageGWARegression])
def test_bad_data_are_refused(kind, change, message):
    X, y, users = people()
    given = {"X": X, "y": y, "users": users} | change
    with pytest.raises(ValueError, match=f"^{message}"):
        kind().fit(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize(
    "model",
    [GWARegression(), GWARegression(delta=1e-5)],
    ids=["pure", "gaussian"],
)
def test_whoever_is_not_heard_is_promised_0(model):
    X, y, users = people()
    budgets = dict.fromkeys(range(10), 1.0) | {3: 0.0} | ({} if model.delta else {5: 1e-9})
    silent = [user for user, budget in budgets.items() if budget < 1]
    fitted = model.fit(X, y, users=users, epsilon=budgets)
    promised = fitted.guarantee_.mu if model.delta else fitted.guarantee_.epsilon
    assert_array_equal(np.flatnonzero(promised == 0), silent)
    assert_array_equal(np.flatnonzero(fitted.exposure_ == 0), silent)
