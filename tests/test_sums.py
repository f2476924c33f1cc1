"""Sums: parts of a table add up to it, in every mechanism, and what does not fit is refused."""

import pickle
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from mechanisms import KINDS, agreed
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.domains import Labels
from pdpbook.guarantees import BudgetAccount
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.sums import MADE_UNDER, NEEDS_MORE, Sums, _hash_of
from pdpbook.user_level import WeightedMean

N, D = 30, 3
ROUNDING = 1e-11  # relative; the largest of 2,380 problems was 1.2e-13
CUT = {"row_norm": 1.2, "clip": True}
UNITS = {"bounds": [(-1.0, 2.0), (0.0, 9.0), (0.0, 1.0)], "y_bounds": (-3.0, 5.0)}

PERSONAL = [
    PDPRidge(0.3),
    PDPRidge(1e-3, proof="tight", fit_intercept=True),
    PDPRidge(0.3, proof="published", delta=1e-5, **UNITS, clip=True),
    PDPRidge(0.3, proof="exact-norm", **CUT),
    PDPRidge(0.3, bound=2.0, proof="published"),
    SufficientStatisticsRidge(0.3, fit_intercept=True),
    SufficientStatisticsRidge(0.3, centered=True, fit_intercept=True, **UNITS, clip=True),
    SufficientStatisticsRidge(0.3, noise="gaussian", delta=1e-5),
    SufficientStatisticsRidge(0.3, noise="gaussian", delta=1e-5, centered=True, scale=0.5),
    PersonalizedMean(y_bounds=(-2.0, 1.0), clip=True),
]
FOR_ALL = [
    AdaSSP(),
    AdaSSP(fit_intercept=True, calibration="published", **UNITS, clip=True),
    AdaOPS(n_max=100, **CUT),
    AdaOPS(n_max=100, release_norm=True, fit_intercept=True, kappa=9.0),
    OnePosteriorSample(500.0, n_max=100),
    OnePosteriorSample(500.0, n_max=100, fit_intercept=True, **CUT),
]
MODELS = PERSONAL + FOR_ALL


def problem(model, seed, n=None):
    """Records in and out of the unit cube, and budgets, some of them 0, that the model takes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60)) if n is None else n
    X, y = rng.random((n, D)), rng.uniform(-1, 1, n)
    if model.clip:
        X, y = 3 * X - 1, 3 * y
    epsilon = rng.choice([0.0, 0.05, 0.7, rng.uniform(0.01, 3)], n)
    epsilon[rng.integers(n)] = 0.4
    return X, y, agreed(model, epsilon)


def parts_of(model, X, y, epsilon, seed=0):
    """Sums of a partition at random, its parts of any size from 1."""
    rng = np.random.default_rng(seed)
    n = len(y)
    shuffled, cuts = rng.permutation(n), np.unique(rng.integers(1, n, rng.integers(1, n)))
    return [model.sums(X[k], y[k], epsilon=epsilon[k]) for k in np.split(shuffled, cuts)]


def numbers(law):
    """The center of a law, its rate, its scale and so on."""
    found = [value for value in vars(law).values() if isinstance(value, (float, np.ndarray))]
    assert len(found) > 1
    return found


def gap(one, two):
    """Largest difference, relative to the largest number of its kind."""
    if not isinstance(one, list):
        one, two = [one], [two]
    pairs = zip(one, two, strict=True)
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def released(model):
    if hasattr(model, "coef_"):
        return np.append(model.coef_, model.intercept_)
    return np.array([model.mean_])


# --- the same law ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_sums_of_any_partition_have_the_law_of_the_rows(model):
    for seed in range(30):
        X, y, epsilon = problem(model, seed)
        law = model.output_law(sum(parts_of(model, X, y, epsilon, seed)), epsilon=epsilon)
        exact = model.output_law(X, y, epsilon=epsilon)
        assert type(law) is type(exact)
        assert gap(numbers(law), numbers(exact)) < ROUNDING


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_one_seed_gives_one_release_and_one_promise(model):
    model.set_params(random_state=3)
    X, y, epsilon = problem(model, 7, N)
    own = model.fit(X, y, epsilon=epsilon)
    release, promise, noise = released(own), own.guarantee_, own.noise_
    sums = reduce(add, parts_of(model, X, y, epsilon))
    fit = model.fit(pickle.loads(pickle.dumps(sums)), epsilon=epsilon)
    assert gap(released(fit), release) < ROUNDING
    assert type(fit.guarantee_) is type(promise)
    for name, value in promise._parameters().items():
        assert_allclose(fit.guarantee_._parameters()[name], value, rtol=1e-12)
    assert [fit.noise_.rate, fit.noise_.scale] == [
        pytest.approx(noise.rate),
        pytest.approx(noise.scale),
    ]


def test_every_setting_is_in_the_list_above():
    assert {type(model).__name__ for model in MODELS} | {"WeightedMean"} == set(MADE_UNDER)


@pytest.mark.parametrize("model", [*PERSONAL, AdaSSP(), AdaOPS()], ids=repr)
def test_a_part_in_which_nobody_takes_part_adds_nothing(model):
    X, y, epsilon = problem(model, 1, N)
    idle = np.flatnonzero(epsilon == 0)
    assert len(idle) > 1
    part = model.sums(X[idle], y[idle], epsilon=epsilon[idle])
    assert (part.n, part.participants, part.total, part.largest) == (len(idle), 0, 0.0, 0.0)
    rest = epsilon > 0
    sums = part + model.sums(X[rest], y[rest], epsilon=epsilon[rest])
    law = model.output_law(sums, epsilon=epsilon)
    assert gap(numbers(law), numbers(model.output_law(X, y, epsilon=epsilon))) < ROUNDING


def test_a_part_may_be_of_one_person_and_is_no_release_alone():
    model = PDPRidge(0.3)
    one = model.sums([[0.5, 0.5]], [0.1], epsilon=[1.0])
    assert one.n == 1
    with pytest.raises(ValueError, match="X must have at least 2 rows; got 1"):
        model.fit(one, epsilon=[1.0])
    with pytest.raises(ValueError, match="X must have at least 1 row; got 0"):
        model.sums(np.zeros((0, 2)), np.zeros(0), epsilon=1.0)


def test_rows_of_people_without_a_budget_are_not_looked_at():
    X, y, epsilon = problem(MODELS[0], 2, N)
    X[0], y[1], epsilon[:2] = np.nan, 99.0, 0.0
    sums = PDPRidge(0.3, random_state=0).sums(X, y, epsilon=epsilon)
    same = PDPRidge(0.3, random_state=0).fit(X, y, epsilon=epsilon).coef_
    assert gap(PDPRidge(0.3, random_state=0).fit(sums, epsilon=epsilon).coef_, same) < ROUNDING


# --- users ----------------------------------------------------------------------------------------


def visits(seed):
    """Rows of users with budgets by name, and the part in which each row is."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    names = np.array([f"u{k}" for k in rng.permutation(m)])
    who = np.concatenate([np.arange(m), rng.integers(0, m, rng.integers(0, 80))])
    budgets = dict(zip(names.tolist(), rng.choice([0.0, 0.2, 1.0], m).tolist(), strict=True))
    budgets[names[0]] = 0.5
    return names[who], rng.uniform(-2, 5, len(who)), budgets, (who % rng.integers(1, m + 1))


def sums_of_visits(model, users, y, budgets, part):
    split = [part == k for k in np.unique(part)]
    return [model.sums(y[k], y[k], users=users[k], epsilon=budgets) for k in split]


@pytest.mark.parametrize("model", [WeightedMean(y_bounds=(-2, 5)), WeightedMean(y_bounds=(-9, 9))])
def test_a_mean_of_users_is_that_of_all_rows(model):
    for seed in range(100):
        users, y, budgets, part = visits(seed)
        sums = sum(sums_of_visits(model, users, y, budgets, part))
        exact = model.output_law(y, y, users=users, epsilon=budgets)
        law = model.output_law(sums, epsilon=pd.Series(budgets))
        assert gap(numbers(law), numbers(exact)) < ROUNDING
        model.set_params(random_state=seed)
        fit = model.fit(sums, epsilon=budgets)
        found = fit.mean_, fit.h_, fit.weights_, fit.exposure_, fit.users_, fit.guarantee_.epsilon
        fit = model.fit(y, y, users=users, epsilon=budgets)
        for one, two in zip(
            found,
            (fit.mean_, fit.h_, fit.weights_, fit.exposure_, fit.users_, fit.guarantee_.epsilon),
            strict=True,
        ):
            if getattr(one, "dtype", float).__class__.__name__.startswith("Str"):
                assert_array_equal(one, two)
            else:
                assert_allclose(one, two, rtol=1e-11, atol=1e-12)


def test_users_go_by_name_and_a_user_in_two_parts_is_noticed():
    model, (users, y, budgets, part) = WeightedMean(y_bounds=(-2, 5)), visits(5)
    some, *others = sums_of_visits(model, users, y, budgets, part)
    assert others
    with pytest.raises(ValueError, match=r"is in both. Put the rows of a user into one part"):
        some + others[0] + some
    first = np.flatnonzero(users == users[0])
    assert len(first) > 1
    halves = [first[:1], first[1:]]
    one, two = (model.sums(y[k], y[k], users=users[k], epsilon=budgets) for k in halves)
    with pytest.raises(ValueError, match=f"'{users[0]}' is in both"):
        one + two
    whole = sum([some, *others])
    with pytest.raises(ValueError, match="epsilon must name exactly the users in the Sums"):
        model.fit(some, epsilon=budgets)
    swapped = budgets | {"u0": budgets["u1"], "u1": budgets["u0"]}
    assert swapped != budgets
    with pytest.raises(ValueError, match=r"of user 'u[01]' was"):
        model.fit(whole, epsilon=swapped)
    with pytest.raises(ValueError, match="it has no budget for 'u1'"):
        model.fit(whole, epsilon={k: v for k, v in budgets.items() if k != "u1"})
    with pytest.raises(TypeError, match="epsilon must be a number, or a mapping or Series by user"):
        model.fit(whole, epsilon=list(budgets.values()))
    with pytest.raises(ValueError, match="two for 'u1'"):
        model.fit(whole, epsilon=pd.Series([1.0, 1.0], index=["u1", "u1"]))
    with pytest.raises(ValueError, match="users must name the owner of every row"):
        model.sums(y, y, epsilon=1.0)
    with pytest.raises(ValueError, match="users must be None where X is Sums"):
        model.fit(whole, users=users, epsilon=budgets)


def test_users_without_a_budget_in_a_part_of_their_own():
    model, (users, y, budgets, _) = WeightedMean(y_bounds=(-2, 5)), visits(5)
    idle = np.array([budgets[name] == 0 for name in users])
    assert idle.any()
    parts = sums_of_visits(model, users, np.where(idle, np.nan, y), budgets, idle)
    assert parts[1].participants == 0
    law = model.output_law(sum(parts), epsilon=budgets)
    exact = model.output_law(y, y, users=users, epsilon=budgets)
    assert gap(numbers(law), numbers(exact)) < ROUNDING


# --- what is refused ------------------------------------------------------------------------------


def whole(model, seed=3):
    X, y, epsilon = problem(model, seed, N)
    return X, y, epsilon, model.sums(X, y, epsilon=epsilon)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_other_budgets_and_parts_that_count_twice_are_refused(model):
    X, y, epsilon, sums = whole(model)
    with pytest.raises(ValueError, match=r"one part is in both: was it added twice"):
        sums + sums
    part = model.sums(X[:5], y[:5], epsilon=epsilon[:5])
    again = model.sums(X, y, epsilon=epsilon)
    for wrong in (sums + part, sums + again, model.sums(X[5:], y[5:], epsilon=epsilon[5:])):
        with pytest.raises(ValueError, match=r"their number of people is .* added twice, or forg"):
            model.fit(wrong, epsilon=epsilon)
    above = np.flatnonzero(epsilon)
    fewer = np.where(np.arange(N) == above[0], 0.0, epsilon)
    with pytest.raises(ValueError, match="number of people with a budget above 0"):
        model.fit(sums, epsilon=fewer)
    with pytest.raises(ValueError, match="epsilon must be the budgets of all people"):
        model.fit(sums, epsilon=1.0)
    with pytest.raises(ValueError, match="y must be None where X is Sums"):
        model.fit(sums, y, epsilon=epsilon)
    with pytest.raises(ValueError, match="epsilon must be finite and at least 0"):
        model.fit(sums, epsilon=np.where(epsilon == epsilon[0], np.nan, epsilon))


@pytest.mark.parametrize("model", PERSONAL, ids=repr)
def test_budgets_of_the_same_people_that_changed_are_refused(model):
    _, _, epsilon, sums = whole(model)
    more = epsilon.copy()
    more[np.argmin(np.where(epsilon > 0, epsilon, np.inf))] *= 1 + 1e-6
    with pytest.raises(ValueError, match="their total weight is"):
        model.fit(sums, epsilon=more)
    top, low = np.argmax(epsilon), np.argmin(np.where(epsilon > 0, epsilon, np.inf))
    even = epsilon.copy()
    even[top], even[low] = epsilon[top] + epsilon[low] / 2, epsilon[low] / 2
    if model.get_params().get("delta", 0) == 0:  # budgets add up as weights do
        with pytest.raises(ValueError, match="their largest weight is"):
            model.fit(sums, epsilon=even)


def test_sums_weighted_by_raw_budgets_are_refused_where_a_delta_is_set():
    with_delta, without = PDPRidge(0.3, delta=0.03), PDPRidge(0.3)
    X, y, epsilon = problem(without, 4, N)
    raw, sums = (model.sums(X, y, epsilon=epsilon) for model in (without, with_delta))
    assert sums.total > 1.05 * raw.total
    with pytest.raises(ValueError, match=r"made with delta 0.0, and here it is 0.03"):
        with_delta.fit(raw, epsilon=epsilon)
    with pytest.raises(ValueError, match="their total weight is"):
        with_delta.fit(replace(raw, rule=sums.rule), epsilon=epsilon)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_part_added_in_the_place_of_another_one_is_refused(model):
    """Number, total and largest weight are then as they should be, and its people lose twice."""
    X, y, _ = problem(model, 3, N)
    epsilon = np.ones(N)
    parts = [model.sums(X[k : k + 6], y[k : k + 6], epsilon=epsilon[k : k + 6]) for k in (0, 6, 12)]
    with pytest.raises(ValueError, match=r"one part is in both: was it added twice"):
        sum([parts[0], parts[1], pickle.loads(pickle.dumps(parts[0]))])
    assert len(sum(parts).parts) == 3


def test_other_budgets_of_the_same_number_total_and_maximum_are_refused():
    y = np.array([0.0, 1.0, 0.0])
    for model in (PersonalizedMean(), PDPRidge(0.3)):
        sums = model.sums(y[:, None], y, epsilon=[1.0, 0.5, 0.5])
        account = BudgetAccount([5.0, 0.01, 5.0], neighbors="replace-one")
        with pytest.raises(ValueError, match="some are others, though their number, total and"):
            model.fit(sums, epsilon=[1.0, 0.01, 0.99], account=account)
        assert not account.spent.any()
    sums = PersonalizedMean().sums(y[:2, None], y[:2], epsilon=[1e12, 1.0])
    with pytest.raises(ValueError, match="some are others"):
        PersonalizedMean().fit(sums, epsilon=[1e12, 1e-12])


def test_one_promise_for_all_is_that_of_the_sums():
    X, y = np.full((6, 2), 0.1), np.zeros(6)
    model = AdaSSP()
    parts = [model.sums(X[:3], y[:3], epsilon=b) for b in (np.full(3, 0.5), np.full(3, 3.0))]
    for budget in (0.5, 3.0, 100.0):
        with pytest.raises(ValueError, match="some are others"):
            model.fit(sum(parts), epsilon=np.full(6, budget))


def test_budgets_have_one_hash_in_any_order_and_zeros_one_sign():
    rng = np.random.default_rng(8)
    budgets = rng.uniform(0, 3, 1000)
    again = _hash_of(rng.permutation(budgets))
    assert again == _hash_of(budgets)
    assert (_hash_of(budgets[:400]) + _hash_of(budgets[400:])) % 2**64 == again
    changed = budgets.copy()
    changed[17] = np.nextafter(changed[17], 9)
    assert _hash_of(changed) != again
    assert _hash_of([0.0, 1.0]) == _hash_of([-0.0, 1.0])


def test_a_million_parts_of_one_person_have_the_total_of_their_budgets():
    part = PersonalizedMean().sums([[0.0]], [0.5], epsilon=[0.1])
    many = replace(part, total=part.total * 10**6, n=10**6, participants=10**6)
    many = replace(many, budgets=part.budgets * 10**6 % 2**64, moments=(part.moments[0] * 10**6,))
    PersonalizedMean().fit(many, epsilon=np.full(10**6, 0.1))


@pytest.mark.parametrize("names", [["a", "b"], [0, 1], [("a", 1), ("b", 2)]], ids=str)
def test_columns_in_another_order_are_refused(names):
    X, y, epsilon = np.random.default_rng(0).random((6, 2)), np.zeros(6), np.ones(6)
    frame = pd.DataFrame(X)
    frame.columns = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
    model = PDPRidge(0.1)
    one = model.sums(frame[:3], y[:3], epsilon=epsilon[:3])
    other = model.sums(frame.iloc[3:, ::-1], y[3:], epsilon=epsilon[3:])
    with pytest.raises(ValueError, match="columns is"):
        one + other


def test_columns_of_an_arrow_table_in_another_order_are_refused():
    arrow = pytest.importorskip("pyarrow")
    y, epsilon, model = np.zeros(3), np.ones(3), PDPRidge(0.1)
    one = arrow.table({"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1]})
    other = one.select(["b", "a"])
    with pytest.raises(ValueError, match="columns is"):
        model.sums(one, y, epsilon=epsilon) + model.sums(other, y, epsilon=epsilon)
    fitted = model.fit(model.sums(one, y, epsilon=epsilon), epsilon=epsilon)
    assert [*fitted.feature_names_in_] == ["a", "b"]


@dataclass(frozen=True, kw_only=True)
class ShrunkLabels(Labels):
    k: float

    def to_domain(self, X, y):
        X, y = super().to_domain(X, y)
        return X, y * self.k


class Shrunk(PersonalizedMean):
    """A mean of labels that a setting of its own shrinks."""

    def __init__(self, k=1.0, **more):
        super().__init__(**more)
        self.k = k

    def get_params(self, deep=True):
        return super().get_params(deep) | {"k": self.k}

    def domain(self, columns):
        return ShrunkLabels(**vars(super().domain(columns)), k=self.k)


def test_settings_of_a_subclass_are_part_of_the_rule():
    model = Shrunk(1.0)
    sums = model.sums([[0.0], [0.0]], [0.5, 0.5], epsilon=[1.0, 1.0])
    model.k = 0.0
    with pytest.raises(ValueError, match=r"made with k 1.0, and here it is 0.0"):
        model.fit(sums, epsilon=[1.0, 1.0])
    other = type("PersonalizedMean", (PersonalizedMean,), {})()
    with pytest.raises(ValueError, match="made with model"):
        other.fit(
            PersonalizedMean().sums([[0.0], [0.0]], [0.5, 0.5], epsilon=[1.0, 1.0]),
            epsilon=[1.0, 1.0],
        )


def test_one_user_with_one_row_is_refused_as_from_rows():
    model = WeightedMean()
    with pytest.raises(ValueError, match="at least 2 rows; got 1 sample"):
        model.fit(model.sums([0], [0.5], users=["a"]))


OTHER = [
    ("bounds", {"bounds": (0.0, 2.0)}),
    ("y_bounds", {"y_bounds": (-1.0, 2.0)}),
    ("fit_intercept", {"fit_intercept": True}),
    ("clip", {"clip": True}),
    ("row_norm", {"row_norm": 5.0}),
    ("delta", {"delta": 1e-7}),
]


@pytest.mark.parametrize("kind", [PDPRidge, AdaSSP])
@pytest.mark.parametrize(("name", "other"), OTHER, ids=[name for name, _ in OTHER])
def test_sums_of_another_rule_are_not_added_or_fitted(kind, name, other):
    X, y, epsilon, sums = whole(kind())
    changed = kind(**other)
    if (kind, name) == (AdaSSP, "delta"):  # it sets the noise, and no weight
        assert changed.fit(sums, epsilon=epsilon).n_features_in_ == D
        return
    with pytest.raises(ValueError, match=f"made under one rule to be added; {name} is "):
        sums + changed.sums(X, y, epsilon=epsilon)
    with pytest.raises(ValueError, match=f"made with {name} .* and here it is"):
        changed.fit(sums, epsilon=epsilon)


def test_sums_of_other_columns_or_of_another_mechanism():
    X, y, epsilon, sums = whole(PDPRidge())
    table = pd.DataFrame(X, columns=["age", "dose", "came"])
    named = PDPRidge().sums(table, y, epsilon=epsilon)
    turned = PDPRidge().sums(table[["dose", "age", "came"]], y, epsilon=epsilon)
    for other in (turned, sums, PDPRidge().sums(X[:, :2], y, epsilon=epsilon)):
        with pytest.raises(ValueError, match="to be added; columns is "):
            named + other
    fit = PDPRidge(random_state=0).fit(named, epsilon=epsilon)
    assert list(fit.feature_names_in_) == list(table)
    with pytest.raises(ValueError, match="feature names should match"):
        fit.predict(table[["dose", "age", "came"]])
    with pytest.raises(ValueError, match="bounds must be a pair"):
        PDPRidge(bounds=[(0, 1), (0, 1)]).fit(named, epsilon=epsilon)
    with pytest.raises(ValueError, match="made with model PDPRidge, and here it is Suff"):
        SufficientStatisticsRidge().fit(sums, epsilon=epsilon)
    mean = PersonalizedMean().sums(X, y, epsilon=epsilon)
    with pytest.raises(ValueError, match="added; model is PDPRidge in one and PersonalizedMean"):
        sums + mean
    for noise in ("laplace", "gaussian"):
        delta = 0.0 if noise == "laplace" else 1e-5
        made = SufficientStatisticsRidge(noise=noise, delta=delta).sums(X, y, epsilon=epsilon)
        centered = SufficientStatisticsRidge(noise=noise, delta=delta, centered=True)
        with pytest.raises(ValueError, match="made with centered False"):
            centered.fit(made, epsilon=epsilon)
    with pytest.raises(TypeError, match="unsupported operand"):
        sums + 1.0


def test_one_way_to_write_a_setting_is_as_good_as_another():
    X, y, epsilon, sums = whole(PDPRidge())
    other = PDPRidge(bounds=[[0, 1]] * D, y_bounds=[-1, 1], delta=0, lam=3.0, proof="published")
    assert (sums + other.sums(X, y, epsilon=epsilon)).n == 2 * N
    assert other.fit(sums, epsilon=epsilon).n_features_in_ == D


def test_budgets_exchanged_between_people_are_not_seen():
    """Public numbers cannot tell: the docstring says so, and this holds it to it."""
    _, _, epsilon, sums = whole(PDPRidge())
    turned = epsilon[np.random.default_rng(0).permutation(N)]
    assert not np.array_equal(turned, epsilon)
    PDPRidge().fit(sums, epsilon=turned)
    assert "exchanged their budgets" in Sums.__doc__


def test_a_penalty_too_small_for_sums_is_refused_by_public_numbers():
    X, y, epsilon = problem(PDPRidge(), 1, N)
    for row_norm, least in ((None, 3e-8), (0.5, 0.25e-8)):
        settings = {"row_norm": row_norm, "clip": True}
        enough = PDPRidge(1.01 * least, **settings)
        sums = enough.sums(X, y, epsilon=epsilon)
        assert enough.fit(sums, epsilon=epsilon).n_features_in_ == D
        with pytest.raises(ValueError, match=r"lam must be at least .* with Sums"):
            PDPRidge(0.99 * least, **settings).fit(sums, epsilon=epsilon)


@pytest.mark.parametrize("lam", [1e-6, 3.1e-8])
def test_singular_rows_have_the_same_law_to_what_the_condition_allows(lam):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((N, 1)), D, axis=1)
    y, epsilon = rng.uniform(-1, 1, N), rng.uniform(0.1, 1, N)
    model = PDPRidge(lam)
    sums = sum(parts_of(model, X, y, epsilon))
    law, exact = model.output_law(sums, epsilon=epsilon), model.output_law(X, y, epsilon=epsilon)
    assert_allclose(law.center, exact.center, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 7.0])
def test_records_outside_the_domain_are_refused(bad):
    X, y, epsilon = problem(PDPRidge(), 1, N)
    k = int(np.flatnonzero(epsilon)[0])
    rows, labels = X.copy(), y.copy()
    rows[k, 1], labels[k] = bad, bad
    with pytest.raises(ValueError, match=r"X must .*; got X\["):
        PDPRidge().sums(rows, y, epsilon=epsilon)
    with pytest.raises(ValueError, match=r"y must .*; got y\["):
        PDPRidge().sums(X, labels, epsilon=epsilon)


def test_privacy_parameters_are_refused_before_the_data():
    for wrong, match in (
        ({"epsilon": [-1.0]}, "epsilon must be finite and at least 0"),
        ({"epsilon": 0.0}, "epsilon must be finite and above 0"),
        ({"epsilon": True}, "epsilon must"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            PDPRidge().sums(None, None, **wrong)
    with pytest.raises(ValueError, match="delta must"):
        PDPRidge(delta=1.0).sums(None, None, epsilon=[0.0])
    with pytest.raises(ValueError, match="epsilon must be one number for all"):
        AdaSSP().sums(None, None, epsilon=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"epsilon must be a number or have shape \(30,\)"):
        PDPRidge().sums(*problem(PDPRidge(), 1, N)[:2], epsilon=[1.0, 2.0])


# --- accounts -------------------------------------------------------------------------------------


def test_an_account_pays_for_all_or_the_fit_is_refused_and_nothing_is_charged():
    X, y, epsilon, sums = whole(PDPRidge())
    names = [f"p{k}" for k in range(N)]
    k = int(np.flatnonzero(epsilon)[1])
    for leave_out, match in (
        (True, f"account has too little left for 1 of {N} people, the first of whom is 'p{k}'"),
        (False, f"'p{k}'"),
    ):
        budget = pd.Series(np.where(np.arange(N) == k, epsilon / 2, 1.5 * epsilon + 1), names)
        account = BudgetAccount(budget, neighbors="replace-one", leave_out=leave_out)
        own = pd.Series(epsilon, names)
        model = PDPRidge(random_state=0)
        with pytest.raises(ValueError, match=match):
            model.fit(sums, epsilon=own, account=account)
        assert not hasattr(model, "coef_")
        assert_array_equal(np.asarray(account.spent), 0)
        with pytest.raises(ValueError, match="pass epsilon as a Series with that index"):
            model.fit(sums, epsilon=epsilon, account=account)
        own[f"p{k}"] = 0.0
        again = model.sums(X, y, epsilon=own.to_numpy())
        model.fit(again, epsilon=own, account=account)
        assert_allclose(np.asarray(account.spent), own.to_numpy())


def test_accounts_by_position_of_one_number_and_of_users():
    _, _, epsilon, sums = whole(PDPRidge())
    account = BudgetAccount(epsilon + 0.5, neighbors="replace-one")
    PDPRidge().fit(sums, epsilon=epsilon, account=account)
    assert_allclose(np.asarray(account.spent), epsilon)
    one = BudgetAccount(5.0, neighbors="replace-one")
    PDPRidge().fit(sums, epsilon=epsilon, account=one)
    assert float(np.max(one.spent)) == epsilon.max()
    users, labels, budgets, part = visits(5)
    model = WeightedMean(y_bounds=(-2, 5))
    sums = sum(sums_of_visits(model, users, labels, budgets, part))
    account = BudgetAccount(dict.fromkeys(budgets, 1.0), neighbors="user", leave_out=True)
    model.fit(sums, epsilon=budgets, account=account)
    poor = BudgetAccount(dict.fromkeys(budgets, 0.6), neighbors="user", leave_out=True)
    with pytest.raises(ValueError, match=r"account has too little left for . of . people"):
        model.fit(sums, epsilon=budgets, account=poor)


# --- what needs more, and what the object is ------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_mechanism_takes_sums_or_says_why_not_and_names_one_that_does(kind):
    assert not {kind.__name__} & set(MADE_UNDER) & set(NEEDS_MORE)
    assert len(MADE_UNDER) + len(NEEDS_MORE) >= 18  # none may go
    sums = whole(PDPRidge())[3]
    if kind.__name__ not in MADE_UNDER:  # a new mechanism may be in neither list
        other = NEEDS_MORE.get(kind.__name__, ("", "PDPRidge"))[1]
        assert other in MADE_UNDER
        known = kind().get_params()
        own = {"delta": 1e-6, "classes": (0, 1)}
        model = kind(**{name: own[name] for name in own if name in known})
        match = f"^{kind.__name__} cannot be fitted from Sums: .* suffice for {other}$"
        for call in (lambda: model.sums(None, None), lambda: model.fit(sums)):
            with pytest.raises(TypeError, match=match):
                call()


def test_settings_that_need_rows_are_refused():
    X, y, epsilon, sums = whole(PDPRidge())
    for setting, match in (
        ({"loss": "huber"}, "with loss='huber' .* suffice for loss='square'"),
        ({"weights": "capped"}, "with weights='capped' .* suffice for weights='proportional'"),
    ):
        for call in (
            lambda own: PDPRidge(**own).sums(X, y, epsilon=epsilon),
            lambda own: PDPRidge(**own).fit(sums, epsilon=epsilon),
        ):
            with pytest.raises(TypeError, match=match):
                call(setting)


def test_sums_say_that_they_are_not_private_and_cannot_be_written_to():
    sums = whole(PDPRidge())[3]
    assert repr(sums) == f"Sums of {N} people for PDPRidge. NOT private: keep them with the data"
    assert "NOT private" in Sums.__doc__.splitlines()[0]
    with pytest.raises(AttributeError):
        sums.n = 3
    assert not any(
        isinstance(value, Sums)
        for value in vars(PDPRidge().fit(sums, epsilon=whole(PDPRidge())[2])).values()
    )
