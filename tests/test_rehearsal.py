"""Rehearsals: the estimator itself, fitted to people who are invented from public guesses."""

import numpy as np
import pandas as pd
import pytest
from mechanisms import KINDS, ROWS
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lab.comparison import invented, rehearsed
from lab.tables import read_results
from pdpbook import rehearsal
from pdpbook.datasets import Dates, Numbers, PublicSchema, Words
from pdpbook.gradient import DPSGDRegression
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.rehearsal import rehearse
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedGradientDescent, WeightedMean

GUESSES = {"people": 600, "columns": 3, "y_mean": 0.1, "y_sd": 0.4, "r2": 0.5}
PUBLIC = {"bounds": (0.0, 1.0), "fit_intercept": True}
SQUARES = ("unexplained", "finite_sample", "exclusion", "clipping", "pull", "noise")


def quick(model, repeats=8, **other):
    return rehearse(model, repeats=repeats, **(GUESSES | other))


def square(part):
    return np.sign(part.value) * part.value**2


# --- what it returns -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        PDPRidge(0.1, epsilon=2.0, **PUBLIC),
        ObjectivePerturbation(0.1, epsilon=2.0, bounds=(0.2, 0.7), fit_intercept=True, clip=True),
        AdaSSP(epsilon=2.0, delta=1e-6, **PUBLIC),
    ],
)
def test_the_squares_of_the_parts_sum_to_that_of_the_error(model):
    found = quick(model, bounds=(0, 1))
    assert np.isclose(
        sum(square(getattr(found, name)) for name in SQUARES), found.error.value**2, rtol=1e-12
    )


def test_with_endless_budgets_the_pull_alone_is_left():
    lam = 0.3
    found = quick(PDPRidge(lam, epsilon=1e12, **PUBLIC), repeats=20)
    assert found.noise.value < 1e-6
    # ridge with the same penalty, on the same domain, by scikit-learn
    world = invented.World(np.tile([0.0, 1.0], (3, 1)), (-1.0, 1.0), 0.1, 0.4, 0.5)
    rng = np.random.default_rng(1)
    center, kappa = world.law(rng)
    X = world.rows(300_000, rng)
    y = world.labels(center(X), kappa, rng)
    rows = np.column_stack([X, np.ones(len(X))])
    fit = Ridge(lam * len(X), fit_intercept=False).fit(rows, y)
    pulled = np.mean((fit.predict(rows) - y) ** 2) - found.unexplained.value**2
    assert np.isclose(found.pull.value, np.sqrt(pulled), rtol=0.02)


def test_days_in_hospital_at_a_large_penalty_are_worse_than_a_constant():
    guesses = {"people": 12_000, "columns": 12, "y_mean": 8.3, "y_sd": 7.64, "r2": 0.21}
    days = {"y_bounds": (0, 60), "fit_intercept": True}
    large, small = (
        rehearse(ObjectivePerturbation(lam, **days), epsilon=1.0, repeats=5, **guesses)
        for lam in (0.1, 0.01)
    )
    assert large.noise.value < 0.1 * large.constant.value
    assert large.pull.value > 0.4 * large.constant.value
    assert not large.better
    assert large.verdict.startswith("Worse than a private constant, by 0.2")
    assert small.better
    assert small.verdict.startswith("Better than a private constant")


def test_a_mean_is_a_private_constant():
    found = quick(PersonalizedMean(epsilon=1.0), bounds=(0, 1), repeats=40)
    assert not found.better
    assert "No clear difference" in found.verdict
    assert abs(found.gap.value) < 0.001
    assert np.isclose(found.constant.value, np.hypot(0.4, np.sqrt(0.16 / 600)), rtol=0.01)


def test_people_who_are_left_out_are_counted():
    budgets = {0.0: 0.9, 10.0: 0.1}
    found = quick(PDPRidge(0.01, **PUBLIC), repeats=30, epsilon=budgets)
    # 60 people in place of 600: the error of least squares grows like (d + 1) / n
    grown = 0.5 * 0.16 * 4 * (1 / 60 - 1 / 600)
    assert np.isclose(square(found.exclusion), grown, rtol=0.35)
    assert quick(PDPRidge(0.01, **PUBLIC), epsilon=10.0).exclusion == (0.0, 0.0)


def test_clipping_is_counted_where_people_lie_outside_the_bounds_of_the_model():
    narrow = PDPRidge(0.001, epsilon=1e12, y_bounds=(-0.2, 0.2), clip=True, **PUBLIC)
    found = quick(narrow, y_bounds=(-1, 1))
    assert found.clipping.value > 0.1
    assert abs(square(found.pull)) < 0.1 * square(found.clipping)
    assert quick(PDPRidge(0.001, epsilon=1e12, clip=True, **PUBLIC)).clipping == (0.0, 0.0)
    refused = quick(narrow.set_params(clip=False), y_bounds=(-1, 1))
    assert "y_bounds" in refused.refused


def test_a_foreign_estimator_has_a_total_error_and_no_guesses_at_parts():
    line = quick(LinearRegression(), epsilon=1.0, bounds=(0, 1), y_bounds=(-1, 1), repeats=30)
    assert np.isclose(line.error.value, np.sqrt(0.08 * (1 + 4 / 600)), rtol=0.01)
    assert (line.exclusion, line.clipping, line.pull) == (None, None, None)
    assert line.noise == (0.0, 0.0)
    assert "pull" not in str(line)
    forest = RandomForestRegressor(5, max_depth=3)
    found = quick(forest, epsilon=1.0, bounds=(0, 1), y_bounds=(-1, 1), repeats=3)
    assert found.error.value > line.error.value
    assert found.noise.value > 0
    assert not hasattr(forest, "estimators_")  # it is not touched


def test_the_same_seed_gives_the_same_rehearsal():
    model = ObjectivePerturbation(0.1, epsilon=2.0, random_state=3, **PUBLIC)
    assert quick(model, 3) == quick(model, 3)
    assert quick(model, 3) != quick(model, 3, random_state=1)
    assert model.random_state == 3
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.3, 1.0, 10.0])
def test_standard_errors_are_those_of_roots_also_where_a_part_is_nothing(mean):
    rng = np.random.default_rng(0)  # forty mean squares of deviation 1, two thousand times
    found = [rehearsal._root(squares) for squares in rng.normal(mean, 1.0, (2000, 40))]
    values, errors = np.transpose(found)
    assert 0.8 < np.sqrt(np.mean(errors**2)) / values.std() < 1.25  # 0.5 where it is too sure


def test_more_people_and_more_budget_make_less_noise():
    model = PDPRidge(0.1, **PUBLIC)
    noise = [
        quick(model, 30, people=n, epsilon=e).noise.value
        for n, e in [(500, 1.0), (1000, 1.0), (500, 2.0)]
    ]
    assert np.allclose(noise[0] / np.array(noise[1:]), 2, rtol=0.2)


def test_it_is_printed_as_a_short_table():
    lines = str(quick(PDPRidge(0.1, epsilon=2.0, **PUBLIC))).splitlines()
    assert lines[0] == "PDPRidge(lam=0.1): 600 people, 3 columns, all invented"
    assert len(lines) == 11
    assert max(map(len, lines)) <= 77
    assert "constant" in lines[-1]


# --- the people ----------------------------------------------------------------------------------


def test_that_a_number_is_missing_is_a_question_of_its_own():
    date = Dates("2024-01-01", "2025-01-01", fill="2024-07-01")
    schema = PublicSchema(
        {
            "age": Numbers(18, 90, fill=40),
            "ward": Words(["a", "b", "missing"], fill="missing"),
            "seen": date,
            "days": Numbers(0, 60, fill=8),
        },
        label="days",
    )
    columns = rehearsal._columns(schema, None, None)
    assert columns.words == (0, 2, 3, 0, 2)
    assert columns.y_bounds == (0, 60)
    rng = np.random.default_rng(1)
    X = columns.in_units(
        columns.from_normals(rng.standard_normal((30_000, 5)), rng.standard_normal(30_000))
    )
    missing = X[:, schema.names.index("age=missing")]
    assert set(missing) == {0, 1}
    assert abs(missing.mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 30_000)


@pytest.mark.parametrize(
    ("mean", "sd", "r2", "y_bounds"),
    [(8.3, 7.64, 0.21, (0, 60)), (0.0, 0.25, 0.5, (-1, 1)), (55.0, 5.0, 0.7, (0, 60))],
)
def test_mean_spread_and_r2_are_the_guesses_and_labels_keep_their_bounds(mean, sd, r2, y_bounds):
    schema = PublicSchema({"age": (18, 90), "ward": ["a", "b", "c"], "bmi": (15, 60)})
    columns = rehearsal._columns(schema, None, None)
    labels = rehearsal._labels(columns, mean, sd, r2, y_bounds)
    population = rehearsal._Population(150_000, columns, 1.0, None)
    v = population.rows(np.random.default_rng(5))
    y = labels.draw(v, np.random.default_rng(6))
    X = columns.in_units(v)
    assert y_bounds[0] <= y.min() < y.max() <= y_bounds[1]
    assert np.allclose([y.mean(), y.std()], [mean, sd], rtol=0.01, atol=0.01 * sd)
    assert np.isclose(LinearRegression().fit(X, y).score(X, y), r2, atol=0.01)
    assert (X >= schema.bounds[:, 0]).all()
    assert (X <= schema.bounds[:, 1]).all()
    assert set(np.unique(X[:, 1:3])) == {0.0, 1.0}
    assert X[:, 1:3].sum(axis=1).max() == 1  # one word a person
    assert np.allclose(X[:, 1:3].mean(axis=0), np.array([3, 2]) / 11, atol=0.01)


def test_people_left_out_of_a_gaussian_promise_are_counted():
    """Their promise is a mu of 0, no epsilon."""
    model = SufficientStatisticsRidge(0.01, noise="gaussian", delta=1e-6, **PUBLIC)
    mixed = {0.0: 0.9, 5.0: 0.1}
    guesses = dict(people=200, columns=3, y_mean=0.0, y_sd=0.3, r2=0.5)
    found = rehearse(model, epsilon=mixed, **guesses, repeats=10)
    assert found.exclusion.value > 5 * found.exclusion.se > 0


def test_settings_drawn_by_other_code_agree():
    found = invented.rows(4, seed=5)
    assert (found.standard_errors.abs() < 3.5).all()


def test_a_rehearsal_of_other_people_is_noticed(monkeypatch):
    """Planted: labels whose spread around their mean is that of the whole."""

    def wider(self, v, rng):
        return rng.normal(self.mean(v), 2 * self.unexplained)

    model = PDPRidge(0.01, epsilon=5.0, y_bounds=(-3, 3), clip=True, **PUBLIC)
    before = quick(model, 20, people=100)
    monkeypatch.setattr(rehearsal._Labels, "draw", wider)
    after = quick(model, 20, people=100)
    assert after.finite_sample.value > 1.5 * before.finite_sample.value


def test_at_most_five_percent_of_200_settings_differ_by_two_standard_errors():
    own = read_results(invented.FOLDER / "own_model.csv")
    assert len(own) == 200
    assert (own.standard_errors.abs() > 2).sum() <= 10


def test_the_committed_runs_are_what_the_page_says():
    real = read_results(invented.FOLDER / "tables.csv")
    assert set(real.table) == set(rehearsed.tables())
    outside = (real.ratio.dropna() - 1).abs() > 0.25
    assert (len(outside), outside.sum()) == (109, 2)


def test_a_row_of_real_fits_is_computed_again():
    committed = read_results(invented.FOLDER / "tables.csv")
    table = rehearsed.tables()["concrete-slump"]
    model = rehearsed.models(table.schema)["ObjectivePerturbation 0.3"]
    error, _ = rehearsed.real_error(table, model, 3.0)
    row = committed[
        (committed.table == "concrete-slump")
        & (committed.budget == "3")
        & (committed.estimator == "ObjectivePerturbation 0.3")
    ]
    assert np.isclose(row.real.item(), error, rtol=1e-3)


def test_rows_of_users_share_an_owner():
    found = quick(WeightedMean(epsilon=1.0), bounds=(0, 1), rows_per_user=3)
    assert not found.refused
    sizes = np.arange(600) % 4 + 1
    assert not quick(WeightedMean(epsilon=1.0), bounds=(0, 1), rows_per_user=sizes).refused


def test_users_who_differ_add_no_more_error_than_the_docstring_says():
    """Real fits of the mean: people beside whom all rows are alike against independent rows."""
    m, rows = 20, 25
    users, errors = np.repeat(np.arange(m), rows), []
    model = WeightedMean(epsilon=1e6)
    for share in (0.0, 1.0):  # of the variance of labels, that is between users
        squares = []
        for seed in range(400):
            rng = np.random.default_rng(seed)
            z = rng.standard_normal(m)[users] * share + rng.standard_normal(m * rows) * (1 - share)
            y = np.clip(0.2 * z, -1, 1)
            fitted = model.set_params(random_state=seed).fit(y[:, None], y, users=users)
            squares.append(0.2**2 + fitted.mean_**2)  # of somebody new
        errors.append(np.sqrt(np.mean(squares)))
    # the bound is met in expectation, up to (1 / 2m)^2; the deviation of the last mean is 0.2 / 20
    assert 1.0 < errors[1] / errors[0] < 1 + 1 / (2 * m) + 0.005


def test_people_in_a_small_part_of_the_bounds_are_harder_to_fit():
    model = AdaSSP(epsilon=1.0, delta=1e-6, **PUBLIC)
    wide, narrow = quick(model), quick(model, bounds=(0.7, 0.8))
    assert narrow.error.value > wide.error.value + 5 * (wide.error.se + narrow.error.se)


# --- every mechanism -----------------------------------------------------------------------------

ONE_BUDGET = {"n_max": 2000, "delta": 1e-6}


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not is_classifier(kind())], ids=lambda kind: kind.__name__
)
def test_every_mechanism_of_numbers_is_rehearsed(kind):
    model = kind()
    known = model.get_params()
    one = ROWS[kind].neighbors in ("add-remove", "zero-out")
    model.set_params(**{k: v for k, v in ONE_BUDGET.items() if one and k in known})
    more = {"epsilon": 5.0}
    if "bounds" not in known:
        more["bounds"] = (0, 1)
    if "y_bounds" not in known:
        more["y_bounds"] = (-1, 1)
    found = quick(model, 2, people=200, **more)
    assert found.refused == ""
    assert np.isfinite(found.error.value)
    assert found.noise.value > 0


def test_a_penalty_that_cannot_be_fitted_is_said_and_loses():
    found = quick(ObjectivePerturbation(1e-4, epsilon=1.0, **PUBLIC))
    assert found.error.value == np.inf
    assert not found.better
    assert "epsilon must sum to more than" in found.verdict
    assert "would do" in str(found)


# --- budgets and seeds, wherever they are --------------------------------------------------------


def inside_a_pipeline(**settings):
    inner = PDPRidge(0.1, bounds=(-5, 5), clip=True, **settings)
    return make_pipeline(StandardScaler(), inner)


LAID = {"bounds": (0, 1), "y_bounds": (-1, 1)}  #: what a pipeline does not say


def test_a_seed_inside_a_pipeline_does_not_hide_the_noise():
    free = quick(inside_a_pipeline(epsilon=0.5), epsilon=0.5, **LAID)
    seeded = quick(inside_a_pipeline(epsilon=0.5, random_state=4), epsilon=0.5, **LAID)
    assert seeded == free
    assert seeded.noise.value > 0.05


def test_budgets_reach_the_model_inside_a_pipeline():
    own = quick(inside_a_pipeline(epsilon=8.0), **LAID)
    given = quick(inside_a_pipeline(epsilon=0.5), epsilon=8.0, **LAID)
    assert given == own
    assert given.constant == quick(PersonalizedMean(epsilon=8.0), **LAID).constant
    around = TransformedTargetRegressor(PDPRidge(0.1, epsilon=8.0, **PUBLIC))
    assert quick(around, **LAID).constant == own.constant


def test_an_epsilon_that_is_no_budget_is_not_taken_for_one():
    with pytest.raises(ValueError, match="epsilon must be given: HuberRegressor"):
        quick(HuberRegressor(epsilon=1.35), **LAID)
    told = quick(HuberRegressor(epsilon=1.35), epsilon=2.0, **LAID)
    assert told.error == quick(HuberRegressor(epsilon=1.35), epsilon=0.1, **LAID).error


def test_noise_that_is_fixed_otherwise_is_rehearsed():
    public = {"batch_size": 100, "epochs": 2, "fit_intercept": True}
    loud = quick(DPSGDRegression(noise_multiplier=20.0, **public), 3)
    quiet = quick(DPSGDRegression(noise_multiplier=2.0, **public), 3)
    assert loud.noise.value > 3 * quiet.noise.value > 0
    assert loud.constant.value > quiet.constant.value  # its budget is what the noise keeps
    rate = quick(DPSGDRegression(success_rate=0.9, **public), 3)
    same = quick(PersonalizedMean(epsilon=np.log(0.9 / 0.1)), 3, bounds=(0, 1))  # as good a guess
    assert rate.constant == same.constant
    both = quick(DPSGDRegression(success_rate=0.9, **public), 3, epsilon=1.0)
    assert "epsilon must not be given with success_rate" in both.refused


def test_budgets_stay_beside_the_rows_of_the_same_user():
    sizes, budgets = np.repeat([1, 50], [400, 200]), np.repeat([0.05, 2.0], [400, 200])
    seen = []

    class Watched(WeightedMean):
        def fit(self, X, y=None, *, users=None, epsilon=None, account=None):
            seen.append(np.array_equal(epsilon, budgets[users]))
            return super().fit(X, y, users=users, epsilon=epsilon, account=account)

    quick(Watched(), 2, bounds=(0, 1), rows_per_user=sizes, epsilon=budgets)
    assert seen == [True] * 4
    seen.clear()
    shares = {0.05: 2 / 3, 2.0: 1 / 3}  # who has which is not said
    quick(Watched(), 2, bounds=(0, 1), rows_per_user=sizes, epsilon=shares)
    assert seen == [False] * 4


# --- models that are none ------------------------------------------------------------------------


class Own(RegressorMixin, BaseEstimator):
    """A regressor of somebody else: `fit` returns nothing, and `predict` what it is told."""

    def __init__(self, shape=None, value=0.1):
        self.shape, self.value = shape, value

    def fit(self, X, y):
        self.fitted_ = True

    def predict(self, X):
        return np.full(len(X) if self.shape is None else self.shape, self.value)


def test_a_fit_that_returns_nothing_is_a_fit():
    assert np.isclose(quick(Own(), epsilon=1.0, **LAID).error.value, 0.4, rtol=0.05)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (PDPRidge, r"model must be an estimator, not a class: write PDPRidge\(...\)"),
        (None, "model must have fit, predict, get_params and set_params; got None"),
        ("PDPRidge", "model must have fit, predict"),
        (StandardScaler(), "model must have fit, predict"),
        (LogisticRegression(), "model must predict numbers; LogisticRegression predicts classes"),
        (
            WeightedGradientDescent("logistic"),
            "model must predict numbers; WeightedGradientDescent predicts classes",
        ),
        (KMeans(2), "model must predict numbers; KMeans finds clusters"),
    ],
)
@pytest.mark.usefixtures("no_draw")
def test_what_is_no_regressor_is_refused(model, words):
    with pytest.raises(TypeError, match=words):
        quick(model, epsilon=1.0, **LAID)


@pytest.mark.parametrize("model", [Own((2000, 1)), Own((5,)), Own(value="0.1"), Own(value=True)])
def test_predictions_of_another_form_are_refused(model):
    with pytest.raises(ValueError, match="model must predict one number for each row"):
        quick(model, epsilon=1.0, **LAID)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_predictions_that_are_no_number_lose(value):
    found = quick(Own(value=value), epsilon=1.0, **LAID)
    assert found.error.value == np.inf
    assert "not finite" in found.verdict


# --- refusals ------------------------------------------------------------------------------------


@pytest.fixture
def no_draw(monkeypatch):
    def never(*_):
        raise AssertionError("somebody was invented")

    monkeypatch.setattr(rehearsal, "_squares_of_errors", never)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"y_mean": 1.0}, r"y_mean must lie inside y_bounds \(-1, 1\); got 1"),
        ({"y_mean": np.nan}, "y_mean must be finite"),
        ({"y_sd": 1.0}, r"y_sd must be above 0 and below 0\.995"),
        ({"y_sd": 0.0}, "y_sd must be above 0"),
        ({"r2": 1.0}, "r2 must be at least 0 and below 1; got 1"),
        ({"r2": -0.1}, "r2 must be at least 0 and below 1"),
        ({"r2": 0.98, "y_mean": -0.9, "y_sd": 0.3}, "r2 must be at most about"),
        ({"people": 1}, "people must be at least 2"),
        ({"people": 10**6}, "people must have at most 200,000 rows"),
        ({"columns": 0}, "columns must be at least 1"),
        ({"bounds": [(0, 1)] * 2}, r"bounds must be .* shape \(3, 2\)"),
        ({"epsilon": {0.1: 0.5, 1.0: 0.6}}, "shares of epsilon must sum to 1; got 1.1"),
        ({"epsilon": {0.1: -0.5, 1.0: 1.5}}, "shares of epsilon must be"),
        ({"epsilon": -1.0}, "epsilon must be finite and above 0"),
        ({"epsilon": [1.0, 2.0]}, "epsilon must"),
        ({"rows_per_user": 3}, "rows_per_user must be None: PDPRidge takes one row a person"),
        ({"repeats": 1}, "repeats must be at least 2"),
        ({"random_state": -1}, "random_state must be at least 0; got -1"),
        ({"columns": 2000}, "columns must be at most 1,000"),
        ({"r2": 0.9999}, r"r2 must be at most about 0\.99"),
    ],
)
def test_impossible_guesses_are_refused_before_anything_is_drawn(other, words):
    with pytest.raises(ValueError, match=words):
        quick(PDPRidge(0.1, **PUBLIC), **other)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"epsilon": {"0.1": 0.5, "1": 0.5}}, "levels of epsilon must be"),
        ({"epsilon": {"ana": 0.5, "ben": 0.5}}, "levels of epsilon must be"),
        ({"random_state": "0"}, "random_state must be a whole number"),
        ({"random_state": None}, "random_state must be a whole number"),
        ({"random_state": True}, "random_state must be a whole number"),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused(other, words):
    with pytest.raises(TypeError, match=words):
        quick(PDPRidge(0.1, **PUBLIC), **other)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize("name", ["people", "columns", "y_mean", "y_sd", "r2"])
@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"label": [1.0, 2.0]}), pd.Series([1.0, 2.0]), np.ones((4, 2)), [0.1, 0.2]],
    ids=["frame", "series", "array", "list"],
)
def test_a_table_in_place_of_a_guess_is_refused(name, table):
    with pytest.raises(TypeError, match=rf"{name} must be a public guess, never a table"):
        quick(PDPRidge(0.1, **PUBLIC), **{name: table})


@pytest.mark.usefixtures("no_draw")
def test_the_arguments_of_fit_are_refused():
    X, y = np.ones((9, 2)), np.ones(9)
    with pytest.raises(TypeError, match="never a table: a rehearsal on private data would be"):
        rehearse(PDPRidge(0.1, **PUBLIC), X, y, y_mean=0.0, y_sd=0.3, r2=0.5)


@pytest.mark.usefixtures("no_draw")
def test_what_the_model_does_not_say_must_be_given():
    with pytest.raises(ValueError, match="epsilon must be given: LinearRegression"):
        quick(LinearRegression(), bounds=(0, 1), y_bounds=(-1, 1))
    with pytest.raises(ValueError, match="y_bounds must be given: PACRegression"):
        quick(PACRegression(), bounds=(0, 1), epsilon=1.0)
    with pytest.raises(ValueError, match="bounds must be given: PersonalizedMean"):
        quick(PersonalizedMean(), epsilon=1.0)
    with pytest.raises(ValueError, match="rows_per_user must be one number, or one for each"):
        quick(WeightedMean(epsilon=1.0), bounds=(0, 1), rows_per_user=[1, 2])
    with pytest.raises(TypeError, match="rows_per_user must be a whole number"):
        quick(WeightedMean(epsilon=1.0), bounds=(0, 1), rows_per_user=1.5)


def test_the_gap_is_exact_where_model_and_constant_err_alike():
    squares = np.zeros((6, 6))
    squares[:, 0] = squares[:, 5] = np.arange(1.0, 7.0)  # finite sample, and constant
    known = {"model": "m", "people": 9, "columns": 1, "unexplained": rehearsal.Estimate(0.0, 0.0)}
    gap = rehearsal._summary(known, 0.0, squares, ours=False).gap
    assert np.abs(gap).max() < 1e-12
