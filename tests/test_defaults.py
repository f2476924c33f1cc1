"""Edges that every mechanism shares: its defaults, budgets of 0, tiny budgets, too few people."""

import inspect
import re
import warnings
from types import NoneType

import numpy as np
import pytest
from mechanisms import KINDS, PROMISING, ROWS, SMALL, WITH_USERS, agreed, every, one_promise
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from test_estimators import assert_promised

from pdpbook.audit import audit_mechanism
from pdpbook.guarantees import BudgetAccount
from pdpbook.gwa import GWARegression, TwoStageGWARegression
from pdpbook.label_mean import LabelMeanLaw
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.participants import drop_budgets_costly_for_others
from pdpbook.personalized import PDPRidge, SampledRidge
from pdpbook.sufficient_statistics import SufficientStatisticsRidge
from pdpbook.user_level import (
    SampleLimitedMean,
    WeightedGradientDescent,
    WeightedMean,
    WeightedOutputPerturbation,
    quantile_law,
)


def people(n=60, d=2, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, X @ np.linspace(0.5, -0.5, d) + 0.1 * rng.random(n), rng.uniform(0.2, 2, n)


# a classifier has no default: its two classes are public, and the caller's
REGRESSORS = [kind for kind in KINDS if not is_classifier(kind())]


@pytest.mark.parametrize("kind", REGRESSORS, ids=lambda kind: kind.__name__)
def test_every_estimator_fits_at_its_defaults(kind):
    X, y, _ = people()
    assert np.isfinite(kind().fit(X, y).predict(X)).all()
    assert str(kind().fit(X, y).guarantee_)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if ROWS[kind].neighbors], ids=lambda kind: kind.__name__
)
def test_a_budget_that_nobody_passes_is_1_in_every_mechanism_and_its_promise_says_so(kind):
    """A default is needed: scikit-learn makes every estimator without arguments."""
    assert inspect.signature(kind).parameters["epsilon"].default == 1.0
    assert re.search(r"^    epsilon : .*, default 1\.0$", kind.__doc__, re.M)
    if kind in REGRESSORS:
        X, y, _ = people()
        assert_promised(kind().fit(X, y), 1.0)


# ---------------------------------------------------------------- a budget of 0


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_whoever_has_a_budget_of_0_takes_no_part(model):
    X, y, epsilon = people()
    epsilon, none = agreed(model, epsilon), np.arange(60) % 5 == 0
    model = clone(model).set_params(random_state=2)
    one = clone(model).fit(X, y, epsilon=np.where(none, 0.0, epsilon))
    other = clone(model).fit(X[~none], y[~none], epsilon=epsilon[~none])
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    X[none], y[none] = 1.0 - np.round(X[none]), -y[none]  # whatever they say
    again = clone(model).fit(X, y, epsilon=np.where(none, 0.0, epsilon))
    assert_array_equal(again.predict(X), one.predict(X))
    if not one_promise(model):  # a promise each
        parameter = next(iter(one.guarantee_._parameters().values()))
        assert_array_equal(np.asarray(parameter)[none], 0.0)
        delta = getattr(model, "delta", None) or 0.0
        assert np.all(np.asarray(one.guarantee_.profile(0.0))[none] <= delta)
    for name in ("exposure_", "weights_"):
        if hasattr(one, name):
            assert_array_equal(getattr(one, name)[none], 0.0)
            assert_allclose(getattr(one, name)[~none], getattr(other, name), rtol=1e-12)


@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_a_user_with_a_budget_of_0_takes_no_part(model):
    X, y, _ = people()
    users = np.arange(60) % 7
    model = clone(model).set_params(random_state=2)
    budgets = dict(enumerate([0.5, 0.0, 1.0, 0.7, 0.0, 1.0, 0.9]))
    one = clone(model).fit(X, y, users=users, epsilon=budgets)
    stay = ~np.isin(users, [1, 4])
    other = clone(model).fit(X[stay], y[stay], users=users[stay], epsilon=budgets)
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    assert_array_equal(one.users_, range(7))
    assert_array_equal(one.exposure_[[1, 4]], 0.0)
    law, without = (
        quantile_law(y[part], 0.5, users=users[part], epsilon=budgets, bounds=(-1, 1))
        for part in (slice(None), stay)
    )
    assert_array_equal(law.masses, without.masses)


@pytest.mark.parametrize("model", [m for m in PROMISING if not one_promise(m)], ids=str)
def test_a_budget_of_0_is_kept_by_the_exact_law(model):
    X, y, epsilon = people(8, 1)
    epsilon[3] = 0.0
    X2, y2 = X.copy(), y.copy()
    y2[3] = -1.0
    relation = clone(model).fit(X, y, epsilon=epsilon).guarantee_.neighbors
    if relation != "user-labels":
        X2[3] = 1 - np.round(X2[3])
    found = audit_mechanism(
        model,
        (X, y),
        (X2, y2),
        epsilon=epsilon,
        rng=np.random.default_rng(0),
        method="density",
        draws=2000,
    )
    assert found.attack <= 1e-12


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_whoever_takes_no_part_is_not_even_looked_at(model):
    X, y, epsilon = people()
    epsilon = agreed(model, epsilon)
    epsilon[7] = 0.0
    rest = np.arange(60) != 7
    model = clone(model).set_params(random_state=2)
    one = clone(model).fit(X, y, epsilon=epsilon)
    y[7] = np.nan
    if "bounds" in model.get_params():  # else X is public
        X[7] = np.nan
    again = clone(model).fit(X, y, epsilon=epsilon)
    assert_array_equal(again.predict(X[rest]), one.predict(X[rest]))


def test_whoever_takes_no_part_names_no_class():
    X, y, epsilon = people()
    epsilon[0] = 0.0
    model = WeightedGradientDescent("logistic", random_state=2)
    labels = np.where(y > 0, "yes", "no")
    one = clone(model).fit(X, labels, epsilon=epsilon)
    labels[0] = "zz"
    again = clone(model).fit(X, labels, epsilon=epsilon)
    assert_array_equal(again.classes_, ["no", "yes"])
    assert_array_equal(again.coef_, one.coef_)


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_somebody_must_take_part(model):
    X, y, _ = people()
    with pytest.raises(ValueError, match=r"^epsilon must be above 0 for somebody; got 0 for all"):
        clone(model).fit(X, y, epsilon=np.zeros(60))


# ---------------------------------------------------------------- tiny budgets


def loudness(model, X, y, epsilon):
    """A length of the noise for everybody: what a tiny budget must not change."""
    if isinstance(model, SampledRidge):
        return clone(model).fit(X, y, epsilon=epsilon).noise_.scale
    law = model.output_law(X, y, epsilon=epsilon)
    fitted = clone(model).fit(X, y, epsilon=epsilon)
    if isinstance(model, ObjectivePerturbation):  # the error of a prediction for all 60 people
        rows = people()[0]
        S = rows.T @ rows / len(rows)
        moved = np.linalg.inv(S + model.lam * np.eye(len(S))) / (2 * fitted.noise_.rate)
        return np.sqrt(np.trace(moved @ S @ moved) + np.trace(S) / fitted.eta_**2)
    if isinstance(law, LabelMeanLaw):  # the noise of the fit is the same at every mean
        law = law.fit_around(0.0)
    return 1 / law.eta if hasattr(law, "eta") else np.max(getattr(law, "sigma", None) or law.scale)


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12, 1e-200])
@pytest.mark.parametrize("model", every("thrifty"), ids=str)
def test_a_tiny_budget_costs_the_others_at_most_a_percent(model, tiny):
    X, y, epsilon = people()
    some = epsilon.copy()
    some[[7, 30]] = tiny
    without = np.delete(np.arange(60), [7, 30])
    alone = loudness(model, X[without], y[without], epsilon[without])
    assert loudness(model, X, y, some) <= 1.01 * alone
    fitted = clone(model).fit(X, y, epsilon=some)
    if isinstance(model, (PDPRidge, ObjectivePerturbation)) and model.delta == 0:
        own = fitted.guarantee_.epsilon
        assert np.all((own[[7, 30]] == 0.0) | (own[[7, 30]] == tiny))
        assert_array_equal(own[without], epsilon[without])


@pytest.mark.parametrize("model", every("thrifty"), ids=str)
def test_budgets_that_are_tiny_for_everybody_are_kept(model):
    X, y, _ = people()
    one = clone(model).fit(X, y, epsilon=np.full(60, 0.5))
    assert np.all(np.asarray(next(iter(one.guarantee_._parameters().values()))) > 0)


@pytest.mark.parametrize("model", [PDPRidge(0.5, loss="huber"), WeightedOutputPerturbation()])
@pytest.mark.parametrize("scale", [1e-9, 1e-12])
def test_nobody_is_left_out_where_all_are_equally_tiny(model, scale):
    X, y, epsilon = people()
    one = clone(model).fit(X, y, epsilon=scale * np.round(epsilon + 1))
    assert np.all(one.guarantee_.epsilon > 0)


@pytest.mark.parametrize("model", every("thrifty"), ids=str)
def test_whoever_is_left_out_is_not_heard(model):
    X, y, epsilon = people()
    epsilon[7] = 1e-13
    model = clone(model).set_params(random_state=1)
    one = clone(model).fit(X, y, epsilon=epsilon)
    spent = np.asarray(next(iter(one.guarantee_._parameters().values())))[7]
    y[7] = -1.0
    moved = np.abs(clone(model).fit(X, y, epsilon=epsilon).predict(X) - one.predict(X)).max()
    assert moved <= (1e-6 if spent > 0 else 0.0)


def test_as_few_as_possible_are_left_out():
    rng = np.random.default_rng(0)
    budgets = np.concatenate([[1e-12, 3e-12, 1e-9], rng.uniform(0.1, 1, 5000)])

    def noise(part, charge=1e-9):
        return 1 / part.sum() + charge / part.min() / part.sum()

    kept = drop_budgets_costly_for_others(budgets, noise, noise(budgets, 0.0))
    assert_array_equal(np.flatnonzero(kept == 0), [0, 1, 2])
    levels = np.sort(budgets)
    sizes = [noise(levels[k:]) for k in range(len(levels))]
    assert noise(kept[kept > 0]) <= 1.01 * min(sizes)
    fair = np.full(50, 1e-12)
    assert_array_equal(drop_budgets_costly_for_others(fair, noise, noise(fair, 0.0)), fair)


# ---------------------------------------------------------------- too few people


@pytest.mark.parametrize("model", SMALL, ids=str)
@pytest.mark.parametrize("n", [0, 1])
def test_tables_of_fewer_than_two_rows_are_refused_with_the_reason(model, n):
    said = "1 sample: noise that hides one person" if n else "0 samples"
    with pytest.raises(ValueError, match=f"^X must have at least 2 rows; got {said}"):
        clone(model).fit(np.zeros((n, 2)), np.zeros(n))


def test_no_noise_on_what_is_public():
    X, y, epsilon = people()
    for centered in (False, True):
        for noise, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
            model = SufficientStatisticsRidge(
                0.5, centered=centered, noise=noise, delta=delta, fit_intercept=True, random_state=1
            ).fit(X, y, epsilon=epsilon)
            assert model.gram_[-1, -1] == pytest.approx(1.0, abs=0 if not centered else 1e-15)
            law = model.output_law(X, y, epsilon=epsilon)
            d = 3
            whole = d * (d + 1) // 2 + d + (d + 1 if centered else 0)
            assert len(law.center) == len(model.release_) == whole - (2 if centered else 1)
            quiet = SufficientStatisticsRidge(
                0.5, centered=centered, noise=noise, delta=delta, fit_intercept=True, epsilon=1e9
            ).fit(X, y)
            ones = np.column_stack([X, np.ones(60)])
            assert_allclose(quiet.gram_, ones.T @ ones / 60, atol=1e-4)
            assert_allclose(quiet.moment_, ones.T @ y / 60, atol=1e-4)


def test_means_far_from_0_keep_their_promise_and_their_answer():
    rng = np.random.default_rng(3)
    users = rng.integers(0, 9, 200)
    for width in (1e-6, 1e-2, 1.0):
        near = rng.random(200) * width
        far, bounds = 1e8 + near, (1e8, 1e8 + width)
        near = far - 1e8  # as much of it as floats near 1e8 can hold
        for model in (
            WeightedMean(epsilon=50.0, random_state=1),
            SampleLimitedMean(random_state=1),
        ):
            here = clone(model).set_params(y_bounds=bounds).fit(far, far, users=users)
            own = (bounds[0] - 1e8, bounds[1] - 1e8)
            there = clone(model).set_params(y_bounds=own).fit(near, near, users=users)
            assert here.noise_.scale == pytest.approx(there.noise_.scale, rel=1e-12)
            assert here.mean_ - 1e8 == pytest.approx(there.mean_, abs=2**-25)


def test_the_baselines_keep_their_smallest_budget_by_definition():
    X, y, epsilon = people()
    epsilon[7] = 1e-6
    model = SampleLimitedMean(max_rows="max").fit(X, y, epsilon=epsilon)
    assert model.noise_.scale > 1e3
    assert WeightedMean().fit(X, y, epsilon=epsilon).noise_.scale < 1


# ---------------------------------------------------------------- far away


@pytest.mark.parametrize("epsilon", [1e-300, 1e-40, 1e-13, 1e-9, 1e-6, 1e9, 1e40, 1e100])
@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_wild_budgets_are_served_or_refused_by_name(model, epsilon):
    X, y, _ = people()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            one = clone(model).fit(X, y, epsilon=epsilon)
        except ValueError as error:
            assert str(error).startswith(("epsilon must", "lam must")), str(error)  # noqa: PT017
        else:
            assert np.isfinite(one.predict(X)).all()


SIZES = {
    "lam": (1e-200, 1e200),
    "row_norm": (1e-170, 1e170),
    "threshold": (1e-300, 1e300),
    "huber_threshold": (1e-300, 1e300),
    "clip_norm": (1e-200, 1e200),
    "radius": (1e-200, 1e200),
    "learning_rate": (1e-200, 1e200),
    "epsilon": (1e-200, 1e300, 1e308),
    "y_bounds": ((-1e200, 1e200), (0.0, 1e-200)),
    "bounds": ((-1e200, 1e200), (0.0, 1e-200)),
}
WILD = [
    pytest.param(model, {name: value}, id=f"{model}, {name}={value}")
    for model in PROMISING
    for name, values in SIZES.items()
    for value in values
    if name in model.get_params() and isinstance(model.get_params()[name], (float, tuple, NoneType))
]


@pytest.mark.parametrize(("model", "wild"), WILD)
def test_sizes_that_leave_no_noise_are_refused_by_name_and_charge_nothing(model, wild):
    X, y, _ = people()
    (name,) = wild
    account = BudgetAccount(1e307, neighbors=clone(model).fit(X, y).guarantee_.neighbors)
    for given in ({"account": account}, {}):
        with pytest.raises(ValueError, match=rf"^{name} must (lie in|have a finite width|be at)"):
            clone(model).set_params(**wild).fit(X, y, **given)
    assert account.spent == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if ROWS[k].neighbors == "add-remove"])
def test_a_row_norm_beyond_every_row_is_as_none(kind):
    X, y, _ = people()
    fits = [kind(row_norm=R, random_state=0).fit(X, y) for R in (None, 1.5, 1e8)]
    for fit in fits[1:]:
        assert_array_equal(fit.coef_, fits[0].coef_)
        assert fit.noise_.scale == fits[0].noise_.scale


@pytest.mark.parametrize("sigma2", [None, 1e-12, 1e-6])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-2, 1.0])
def test_gwa_certifies_where_noise_or_labels_hardly_count(epsilon, sigma2):
    X, y, _ = people()
    one = GWARegression(epsilon=epsilon, sigma2=sigma2).fit(X, y)
    assert -1e-12 <= one.gap_ <= 1e-8
    for seed in range(12):
        Z, z, _ = people(12, seed=seed)
        TwoStageGWARegression(epsilon=epsilon, sigma2=sigma2).fit(Z, z)
