"""What a person with data meets: an account that is charged, and advice for the curator."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from mechanisms import PROMISING, ROWS, SMALL, WITH_USERS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pdpbook.advice import SAID, Advice, CuratorWarning, PublicNumbersWarning, silence
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.gwa import GWARegression
from pdpbook.linear import MeanRegressor
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.posterior import OnePosteriorSample
from pdpbook.publish import export, statement
from pdpbook.user_level import WeightedMean


def people(n=60, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, X @ [0.5, -0.5], rng.integers(1, 9, n) / 4


def relation(model):
    return ROWS[type(model)].neighbors


def is_pure(model):
    """Whether an account of pure budgets can be charged with it; the others are refused below.

    The promise of a fit says so, and not the settings, which may have a delta that it lacks.
    """
    if model not in PROMISING:
        return False
    X, y, _ = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        return isinstance(clone(model).fit(X, y).guarantee_, PureDP)


PURE = [m for m in SMALL if is_pure(m)]
OTHERS = [m for m in SMALL if not is_pure(m)]


# ---------------------------------------------------------------- a table as it came

RAW = pd.DataFrame({"sex": ["m", "f"] * 30, "age": range(60)})
DATED = RAW.assign(sex=pd.date_range("2020-01-01", periods=60))
MANY_WORDS = pd.DataFrame({f"q{k}": ["m", "f"] * 30 for k in range(6)})


@pytest.mark.parametrize(
    ("X", "kind", "got"),
    [
        (RAW, ValueError, r"columns of another kind: 'sex' of \w+\. `PublicSchema`"),
        (RAW.astype({"sex": "category"}), ValueError, "'sex' of category"),
        (DATED, TypeError, r"'sex' of datetime64\[\w+\]"),
        (MANY_WORDS, ValueError, r"'q3' of \w+, \.\.\. \(6 columns\)"),
        (RAW.to_numpy(), ValueError, r"got text\. `PublicSchema`"),
    ],
)
@pytest.mark.parametrize("model", [m for m in SMALL if not isinstance(m, MeanRegressor)], ids=str)
def test_a_raw_table_is_refused_by_its_columns_with_the_way_out(model, X, kind, got):
    _, y, _ = people()
    with pytest.raises(kind, match=r"^X must be a table of numbers; .*" + got) as refused:
        clone(model).fit(X, y)
    assert "'m'" not in str(refused.value)  # no value of a person
    assert "2020" not in str(refused.value)


# ---------------------------------------------------------------- users that nobody named

EACH_A_USER = "Nobody said who owns the rows, so each row was taken to be another user."


@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_users_that_were_not_passed_are_pointed_out_and_said_of_the_release(model):
    X, y, _ = people()
    name = type(model).__name__
    forgotten = clone(model)
    with pytest.warns(PublicNumbersWarning, match=f"^users was not passed to {name}, so each row"):
        forgotten.fit(X, y)
    assert EACH_A_USER in statement(forgotten)
    assert EACH_A_USER in export(forgotten)["promise"]["words"]


@pytest.mark.filterwarnings("error::pdpbook.advice.PublicNumbersWarning")
@pytest.mark.parametrize("users", [range(60), np.arange(60) % 20], ids=["one row", "three rows"])
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_users_that_were_passed_need_no_advice_even_with_a_row_each(model, users):
    X, y, _ = people()
    named = clone(model).fit(X, y, users=users)
    assert EACH_A_USER not in statement(named)
    assert EACH_A_USER not in export(named)["promise"]["words"]


def test_a_second_fit_and_one_that_fails_note_users_anew():
    X, y, _ = people()
    model = WeightedMean().fit(X, y)
    model.fit(X, y, users=np.arange(60) % 20)
    assert EACH_A_USER not in statement(model)
    with pytest.raises(ValueError, match="must lie in"):
        model.fit(X, y + 9)
    assert EACH_A_USER not in statement(model)  # it is still the release of the second fit
    sums = WeightedMean().sums(X, y, users=np.arange(60) % 20)
    assert EACH_A_USER not in statement(WeightedMean().fit(sums, epsilon=1.0))


# ---------------------------------------------------------------- accounts


@pytest.mark.parametrize("model", PURE, ids=str)
def test_a_fit_is_charged_what_it_promises(model):
    X, y, epsilon = people()
    account = BudgetAccount(2 * epsilon, neighbors=relation(model))
    for _ in range(2):
        clone(model).fit(X, y, epsilon=epsilon, account=account)
    assert_allclose(account.spent, 2 * epsilon, rtol=1e-15)
    one = clone(model)
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 0 asks"):
        one.fit(X, y, epsilon=epsilon, account=account)
    assert not [name for name in vars(one) if name in ("coef_", "mean_", "release_", "guarantee_")]
    assert_allclose(account.spent, 2 * epsilon, rtol=1e-15)


@pytest.mark.parametrize("model", PURE, ids=str)
def test_a_refused_fit_draws_nothing(model):
    X, y, _ = people()
    rng = np.random.default_rng(1)
    state = rng.bit_generator.state
    account = BudgetAccount(0.5, neighbors=relation(model))
    with pytest.raises(ValueError, match=r"^release refused"):
        clone(model).set_params(random_state=rng).fit(X, y, account=account)
    assert rng.bit_generator.state == state
    assert account.spent == 0


@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_an_account_of_pure_budgets_takes_no_other_promise(model):
    X, y, _ = people()
    account = BudgetAccount(9.0, neighbors=relation(model) or "replace-one")
    with pytest.raises(TypeError, match=r"^cannot turn .* into PureDP: no theorem does"):
        clone(model).fit(X, y, account=account)
    assert account.spent == 0


@pytest.mark.parametrize("kind", [PDPRidge, ObjectivePerturbation])
def test_an_account_is_told_of_the_pure_promise_beside_one_with_a_delta(kind):
    X, y, _ = people()
    account = BudgetAccount(np.full(60, 9.0), neighbors="replace-one")
    with pytest.raises(TypeError, match=r"spend model\.pure_guarantee_ on it$"):
        kind(delta=1e-6).fit(X, y, account=account)
    assert not account.spent.any()
    model = kind(delta=1e-6).fit(X, y)
    account.spend(model.pure_guarantee_)
    assert_array_equal(account.spent, model.pure_guarantee_.epsilon)
    assert (account.spent > 1.0).all()


@pytest.mark.parametrize("model", [m for m in WITH_USERS if is_pure(m)], ids=str)
def test_users_are_charged_by_their_labels(model):
    X, y, _ = people()
    users = np.array(["zoe", "ann", "bo"])[np.arange(60) % 3]
    budgets = {"zoe": 2.0, "bo": 1.0, "ann": 0.5, "gone": 7.0}
    account = BudgetAccount(budgets, neighbors=relation(model))
    clone(model).fit(X, y, users=users, epsilon=budgets, account=account)
    assert_array_equal(account.spent, [2.0, 1.0, 0.5, 0.0])
    other = BudgetAccount({"zoe": 9.0, "bo": 9.0}, neighbors=relation(model))
    with pytest.raises(ValueError, match=r"^account must be of the people in the data.*'ann'"):
        clone(model).fit(X, y, users=users, account=other)
    in_some_order = BudgetAccount([9.0, 9.0, 9.0], neighbors=relation(model))
    with pytest.raises(ValueError, match=r"^account must name its users"):
        clone(model).fit(X, y, users=users, account=in_some_order)
    for_all = BudgetAccount(1.0, neighbors=relation(model))
    clone(model).fit(
        X, y, users=users, epsilon={"zoe": 0.5, "ann": 0.1, "bo": 0.2}, account=for_all
    )
    assert for_all.spent == 0.5  # what whoever loses most has lost


def test_people_are_charged_by_the_index_of_the_table():
    X, y, epsilon = people()
    names = [f"p{k}" for k in range(60)]
    frame = pd.DataFrame(X, index=names)
    account = BudgetAccount(pd.Series(3 * epsilon, index=names), neighbors="replace-one")
    half = frame.iloc[::-2]
    own = pd.Series(epsilon, index=names)[half.index]
    PDPRidge().fit(half, y[::-2], epsilon=own, account=account)
    assert_array_equal(account.spent, np.where(np.arange(60) % 2 == 1, epsilon, 0.0))
    with pytest.raises(ValueError, match=r"^account says who its people are, and X does not"):
        PDPRidge().fit(X, y, epsilon=epsilon, account=account)
    with pytest.raises(ValueError, match=r"^account must be of the people in the data.* 'q'"):
        PDPRidge().fit(frame.rename({"p7": "q"}), y, epsilon=epsilon, account=account)
    with pytest.raises(ValueError, match=r"^epsilon must have one budget for each person"):
        BudgetAccount(pd.Series([1.0, 2.0], index=["a", "a"]), neighbors="replace-one")


@pytest.mark.parametrize("model", PURE, ids=str)
def test_an_account_of_other_people_is_refused(model):
    X, y, epsilon = people()
    for wrong in (np.full(59, 9.0), np.full(61, 9.0)):
        account = BudgetAccount(wrong, neighbors=relation(model))
        with pytest.raises(ValueError, match=r"^account must be of the people in the data; got"):
            clone(model).fit(X, y, epsilon=epsilon, account=account)
    unlike = "labels" if relation(model) != "labels" else "user"
    with pytest.raises(ValueError, match=r"^cannot compose a promise against"):
        clone(model).fit(X, y, account=BudgetAccount(9.0, neighbors=unlike))


@pytest.mark.parametrize("model", SMALL, ids=str)
@pytest.mark.parametrize("wrong", [1.0, "mine", {}, PureDP(1.0, neighbors="user")])
def test_what_is_no_account_is_refused_before_the_data_are_touched(model, wrong):
    with pytest.raises(TypeError, match=r"^account must be a BudgetAccount or None"):
        clone(model).fit(np.full((3, 2), np.nan), [np.nan] * 3, account=wrong)


@pytest.mark.parametrize("model", PURE, ids=str)
def test_a_fit_that_fails_spends_nothing(model):
    X, y, _ = people()
    account = BudgetAccount(9.0, neighbors=relation(model))
    with pytest.raises(ValueError, match=r"^y must lie in"):
        clone(model).fit(X, np.where(np.arange(60) == 5, 7.0, y), account=account)
    assert account.spent == 0


def test_a_fork_cannot_spend():
    account = BudgetAccount(1.0, neighbors="replace-one")
    account._process += 1  # as the child of a fork sees it
    with pytest.raises(RuntimeError, match="spent in the process that opened it"):
        account.spend(PureDP(0.1, neighbors="replace-one"))


def test_a_refusal_names_people_and_needs_nobody_who_takes_no_part():
    X, y, _ = people()
    users = np.array(["zoe", "ann", "bo"])[np.arange(60) % 3]
    account = BudgetAccount({"zoe": 1.0, "ann": 0.5}, neighbors="user")
    WeightedMean().fit(
        X, y, users=users, epsilon={"zoe": 0.5, "ann": 0.5, "bo": 0.0}, account=account
    )
    with pytest.raises(ValueError, match=r"person 'ann' asks 0.5 and has 0.0 left"):
        WeightedMean().fit(
            X, y, users=users, epsilon={"zoe": 0.5, "ann": 0.5, "bo": 0.0}, account=account
        )


def test_an_account_refuses_to_be_copied():
    account = BudgetAccount(1.0, neighbors="replace-one")
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            copied(account)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_cannot_overspend(n_jobs):
    X, y, _ = people()
    account = BudgetAccount(0.25, neighbors="replace-one")
    with sklearn.config_context(enable_metadata_routing=True):
        model = PDPRidge(epsilon=0.1).set_fit_request(account=True)
        with pytest.raises((ValueError, pickle.PicklingError)) as caught:
            cross_validate(
                model, X, y, cv=5, n_jobs=n_jobs, params={"account": account}, error_score="raise"
            )
    said = str(caught.value if n_jobs == 1 else caught.value.__cause__)
    assert ("release refused" if n_jobs == 1 else "must not be copied or pickled") in said
    assert account.spent == (0.2 if n_jobs == 1 else 0.0)


# ---------------------------------------------------------------- advice


def heard(call):
    SAID.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", category=Advice)
        call()
    return [(w.category, str(w.message)) for w in said if issubclass(w.category, CuratorWarning)]


MODELS_OF_X = [
    m for m in PROMISING if "bounds" in m.get_params() and not getattr(m, "row_norm", None)
]


@pytest.mark.parametrize("model", MODELS_OF_X, ids=str)
def test_bounds_that_end_at_the_extremes_of_the_data_are_remarked_on(model):
    X, y, _ = people()
    read_off = np.column_stack([X.min(axis=0), X.max(axis=0)])
    [(kind, said)] = heard(lambda: clone(model).set_params(bounds=read_off).fit(X, y))
    assert kind is CuratorWarning
    assert said.startswith("bounds in column 0 end exactly at the least and the largest value")
    wide = np.column_stack([X.min(axis=0) - 0.1, X.max(axis=0) + 0.1])
    assert heard(lambda: clone(model).set_params(bounds=wide).fit(X, y)) == []


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_bounds_of_labels_that_end_at_their_extremes_are_remarked_on(model):
    X, y, _ = people()
    own = (float(y.min()), float(y.max()))
    said = heard(lambda: clone(model).set_params(y_bounds=own).fit(X, y))
    assert [text[:40] for _, text in said] == ["y_bounds end exactly at the least and th"]


def test_a_scaler_in_front_is_remarked_on_once():
    X, y, _ = people()
    pipe = make_pipeline(MinMaxScaler(), PDPRidge())
    assert [text[:20] for _, text in heard(lambda: pipe.fit(X, y))] == ["bounds in column 0 e"]


def test_whole_numbers_may_reach_public_bounds():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(18, 65, 500), rng.integers(0, 2, 500)]).astype(float)
    X[:2, 0] = 18, 64
    y = rng.integers(1, 6, 500).astype(float)
    model = PDPRidge(bounds=[(18, 64), (0, 1)], y_bounds=(1, 5))
    assert heard(lambda: model.fit(X, y)) == []
    assert heard(lambda: PDPRidge(bounds=(0, 1)).fit([[0.0], [0.5], [1.0]], [0.1, 0.2, 0.3])) == []


def test_no_alarm_on_shares_grades_or_a_few_outliers():
    rng = np.random.default_rng(2)
    X, y, _ = people(1000)
    shares = np.round(rng.random(1000), 2)
    assert heard(lambda: PDPRidge().fit(shares[:, None], y)) == []
    halves = rng.integers(0, 9, 1000) / 2
    assert heard(lambda: PDPRidge(bounds=(0, 4)).fit(halves[:, None], y)) == []
    some = rng.normal(0, 0.4, 1000)
    assert (np.abs(some) > 1).sum() > 4
    assert heard(lambda: PersonalizedMean(clip=True).fit(X, some)) == []


def test_a_loop_is_told_once():
    X, y, _ = people()

    def loop():
        for _ in range(9):
            PersonalizedMean(y_bounds=(y.min(), y.max())).fit(X, y)

    assert len(heard(loop)) == 1


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_labels_that_are_mostly_clipped_are_remarked_on(model):
    X, y, _ = people()
    said = heard(lambda: clone(model).set_params(clip=True).fit(X, 10_000 + 100 * y))
    assert [text[:45] for _, text in said] == ["clip=True moved y of 60 of 60 people into y_b"]
    some = np.where(np.arange(60) < 20, 9.0, y)
    assert heard(lambda: clone(model).set_params(clip=True).fit(X, some)) == []


@pytest.mark.parametrize("model", MODELS_OF_X, ids=str)
def test_rows_that_are_mostly_clipped_are_remarked_on(model):
    X, y, _ = people()
    said = heard(lambda: clone(model).set_params(clip=True).fit(50 * X + 2, y))
    assert [text[:45] for _, text in said] == ["clip=True moved X of 60 of 60 people into bou"]
    if "row_norm" in model.get_params():
        short = clone(model).set_params(clip=True, row_norm=1e-3)
        said = heard(lambda: short.fit(X, y))
        assert [text[:29] for _, text in said] == ["clip=True shortened 60 of 60 "]


def searches(n_jobs=None, account=None):
    X, y, _ = people()
    with sklearn.config_context(enable_metadata_routing=True):
        model = PDPRidge(epsilon=0.1).set_fit_request(account=True)
        search = GridSearchCV(model, {"lam": [0.1, 1.0]}, cv=3, n_jobs=n_jobs)
        given = {} if account is None else {"account": account}
        search.fit(X, y, **given)


def test_a_search_without_an_account_is_remarked_on_once():
    SAID.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", message="a search", category=PublicNumbersWarning)
        searches()
    assert len(said) == 1
    assert said[0].filename == __file__
    account = BudgetAccount(1.0, neighbors="replace-one")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="a search", category=PublicNumbersWarning)
        searches(account=account)
        X, y, _ = people()
        PDPRidge().fit(X, y)
    assert account.spent == 0.7  # two penalties on three parts, and the best on all


def test_one_switch_silences_all_of_it_and_nothing_stays_on_the_object():
    X, y, _ = people()
    own = np.column_stack([X.min(axis=0), X.max(axis=0)])
    model = PDPRidge(bounds=own, y_bounds=(2, 3), clip=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silence()
        quiet = clone(model).fit(X, y)
    assert heard(lambda: clone(model).fit(X, y))
    plain = PDPRidge(clip=True).fit(X, y)
    assert set(vars(quiet)) == set(vars(plain))
    labels = GWARegression(y_bounds=(2, 3), clip=True)
    assert heard(lambda: labels.fit(X, y))


def test_a_refused_fit_leaves_everything_as_it_was():
    """It once left the names of its columns, beside the coefficients of the fit before."""
    X = pd.DataFrame({"age": np.linspace(0, 1, 20), "bmi": np.linspace(0, 1, 20) ** 2})
    account = BudgetAccount(50.0, neighbors="replace-one")
    model = PDPRidge(0.01, random_state=0).fit(X, X.age, epsilon=50.0, account=account)
    before = {name: copy.copy(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError, match="release refused, nothing recorded"):
        model.fit(X[["bmi", "age"]], X.age, epsilon=50.0, account=account)
    assert vars(model).keys() == before.keys()
    assert_array_equal(model.feature_names_in_, ["age", "bmi"])
    assert_array_equal(model.coef_, before["coef_"])


def test_a_refused_fit_of_pac_leaves_everything_as_it_was():
    X = pd.DataFrame(np.random.default_rng(2).random((40, 2)), columns=["age", "bmi"])
    model = PACRegression(draws=50, random_state=0).fit(X, X.age)
    public = BudgetAccount(1.0, neighbors="replace-one")
    with pytest.raises(TypeError, match="cannot turn PACPrivacy"):
        model.fit(X[["bmi", "age"]], X.age, account=public)
    assert_array_equal(model.feature_names_in_, ["age", "bmi"])
    assert np.isfinite(model.predict(X)).all()


def test_a_certificate_goes_by_the_names_of_columns():
    X = pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": np.linspace(1, -1, 40) ** 2})
    model = OnePosteriorSample(200.0, n_max=100, epsilon=5.0, random_state=0).fit(X, 0.9 * X.a)
    assert model.certificate(X[:1], [1.0]).ex_ante > 0
    with pytest.raises(ValueError, match="in the same order as they were in fit"):
        model.certificate(X[["b", "a"]][:1], [1.0])
