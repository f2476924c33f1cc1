"""Plans: one decision from public numbers, no table, and no where no is the answer."""

import pickle
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pdpbook import plan as module
from pdpbook.datasets import Numbers, PublicSchema
from pdpbook.guarantees import BudgetAccount
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.plan import plan
from pdpbook.publish import export, statement
from pdpbook.rehearsal import Estimate, rehearse
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedGradientDescent

GUESSES = {"y_mean": 0.5, "y_sd": 0.2, "r2": 0.6}
PUBLIC = {"columns": 2, "bounds": (0, 1), "y_bounds": (0, 1)}
SURE = {"sd_factor": 1, "r2_margin": 0, "mean_margin": 0}
LADDER = (30, 100, 300, 1000, 3000)


@lru_cache
def planned(people, epsilon=1.0, **other):
    return plan(people, epsilon=epsilon, **(GUESSES | PUBLIC | other))


@pytest.fixture
def rng():
    return np.random.default_rng(57)


@pytest.fixture
def three_penalties(monkeypatch):
    monkeypatch.setattr(module, "PENALTIES", (1e-4, 0.01, 1.0))


def parameters(model):
    """Settings that can be compared."""
    return {name: np.array(value).tolist() for name, value in model.get_params().items()}


# --- the decision --------------------------------------------------------------------------------


def test_the_choice_has_the_largest_mean_gain_of_all_that_count():
    found = planned(1000)
    errors = [one.rehearsal.error.value for one in found.candidates[: module.SHORTLIST]]
    assert errors == sorted(errors)
    (chosen,) = [one for one in found.candidates if not one.why_not]
    assert chosen.estimator is found.estimator
    assert chosen.rehearsal is found.rehearsal
    doubted = [one for one in found.candidates if one.losses]
    assert len(doubted) >= 4
    for one in doubted:
        assert len(one.losses) == 3
        if max(one.losses.values()) > module.MOST_LOSS:
            assert "it is worse than a constant, by" in one.why_not
        elif one is not chosen:
            assert module._mean_gain(one) < module._mean_gain(chosen)
            assert one.why_not.startswith("a smaller gain in the mean")
    assert chosen in doubted
    assert max(chosen.losses.values()) <= module.MOST_LOSS


def test_a_mean_gain_is_of_the_guesses_and_of_the_wrong_ones():
    one = next(one for one in planned(1000).candidates if not one.why_not)
    square = (one.rehearsal.error.value / one.rehearsal.constant.value) ** 2
    assert np.isclose(module._mean_gain(one), (1 - square - sum(one.losses.values())) / 4)


def test_a_candidate_that_does_better_under_the_guesses_alone_is_not_taken(monkeypatch):
    bold, prudent = planned(1000).candidates[:2]
    gains = {"bold": 0.5, "prudent": 0.4}
    losses = {"bold": 0.04, "prudent": -0.3}

    def of(one, name):
        constant = one.rehearsal.constant.value
        error = Estimate(constant * np.sqrt(1 - gains[name]), 0.0)
        gap = Estimate(error.value - constant, 0.0)
        return replace(one, rehearsal=replace(one.rehearsal, model=name, error=error, gap=gap))

    monkeypatch.setattr(module, "_losses", lambda one, *_: {"": losses[one.rehearsal.model]})
    judged = module._with_reasons([of(bold, "bold"), of(prudent, "prudent")], None, 1.0, {})
    assert [bool(one.why_not) for one in judged] == [True, False]
    losses["prudent"] = 0.06  # more than may be lost
    judged = module._with_reasons([of(bold, "bold"), of(prudent, "prudent")], None, 1.0, {})
    assert [bool(one.why_not) for one in judged] == [False, True]


def test_with_sure_guesses_the_choice_has_the_smallest_error():
    found = planned(1000, **SURE)
    assert found.estimator is found.candidates[0].estimator
    assert found.candidates[0].losses == {}


def test_every_mechanism_is_tried_with_every_penalty():
    def settings(one):
        return type(one), one.lam, getattr(one, "label_mean_share", 0.0)

    found = [settings(one.estimator) for one in planned(1000).candidates]
    wanted = [(SufficientStatisticsRidge, lam, 0.0) for lam in module.PENALTIES]
    for kind in ObjectivePerturbation, PDPRidge:
        for share in module.LABEL_MEAN_SHARES:
            wanted += [(kind, lam, share) for lam in module.PENALTIES]
    assert len(found) == len(wanted) == 45
    assert set(found) == set(wanted)


def test_a_row_is_what_rehearse_says_of_the_same_model():
    found = planned(1000)
    again = rehearse(
        found.estimator, 1000, 2, epsilon=1.0, bounds=(0, 1), y_bounds=(0, 1), repeats=12, **GUESSES
    )
    assert again == found.rehearsal


def test_all_candidates_are_rehearsed_on_the_same_people():
    fitted = [one.rehearsal for one in planned(1000).candidates[: module.SHORTLIST]]
    assert len({one.finite_sample for one in fitted}) == 1
    assert len({one.constant for one in fitted}) == 1


def test_a_loss_is_of_the_variance_under_the_wrong_guess():
    found = planned(1000)
    (chosen,) = [one for one in found.candidates if not one.why_not]
    for words, wrong in (
        ("if labels spread 2 times less,", {"y_sd": 0.1}),
        ("if r2 is 0.4,", {"r2": 0.4}),
        ("if the mean is 0.6,", {"y_mean": 0.6}),
    ):
        guesses = GUESSES | wrong
        again = rehearse(found.estimator, 1000, 2, bounds=(0, 1), repeats=2, **guesses)
        excess = again.error.value**2 - again.constant.value**2
        assert np.isclose(chosen.losses[words], excess / guesses["y_sd"] ** 2, rtol=1e-12)


def test_a_plan_is_the_same_each_time(three_penalties):
    one, two = (plan(300, epsilon=1.0, **GUESSES, **PUBLIC) for _ in range(2))
    assert str(one) == str(two)
    assert one.table() == two.table()


def test_the_order_of_levels_does_not_matter():
    one, other = (
        plan(300, epsilon=levels, **GUESSES, **PUBLIC)
        for levels in ({0.5: 0.5, 2.0: 0.5}, {2.0: 0.5, 0.5: 0.5})
    )
    assert str(one) == str(other)


def test_nothing_is_published_if_a_mean_has_more_noise_than_labels_spread():
    people = dict(bounds=(0, 1), y_bounds=(8, 50), y_mean=16, y_sd=4, r2=0.5)
    found = plan(3000, 3, epsilon=0.001, **people)  # noise of the mean: 42 / 3 * sqrt(2) = 20
    assert found.verdict.startswith("No: publish nothing. A private mean has more noise")
    assert not found.is_yes
    assert plan(3000, 3, epsilon=0.01, **people).verdict.startswith("No: publish the private mean")


@pytest.mark.parametrize(("people", "epsilon"), [(30, 1.0), (1000, 0.01), (2, 1e-6)])
def test_few_people_or_tiny_budgets_get_a_no(people, epsilon):
    found = planned(people, epsilon)
    assert not found.is_yes
    is_lost = found.constant.value > np.sqrt(2) * GUESSES["y_sd"]
    assert is_lost == (people == 2)
    says = "nothing." if is_lost else "the private mean."
    assert found.verdict.startswith(f"No: publish {says}")
    assert isinstance(found.estimator, PersonalizedMean)
    assert found.rehearsal.model == "PersonalizedMean"
    assert all(one.why_not for one in found.candidates)


def test_more_people_never_turn_a_yes_into_a_no():
    answers = [planned(people).is_yes for people in LADDER]
    assert answers == sorted(answers)
    assert set(answers) == {False, True}


def test_larger_budgets_never_turn_a_yes_into_a_no():
    answers = [planned(300, epsilon).is_yes for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)]
    assert answers == sorted(answers)
    assert set(answers) == {False, True}


def test_no_column_explains_anything_so_the_mean_is_published():
    assert not planned(3000, r2=0.0).is_yes


def test_doubts_turn_a_yes_that_hangs_on_the_guesses_into_a_no():
    narrow = {"y_sd": 0.08, "r2": 0.5}
    doubted, sure = planned(700, **narrow, sd_factor=8), planned(700, **narrow, **SURE)
    assert sure.is_yes
    assert not doubted.is_yes
    best = doubted.candidates[0]
    assert best.rehearsal == sure.rehearsal
    assert best.losses["if labels spread 8 times less,"] > module.MOST_LOSS
    assert best.why_not in doubted.verdict


def test_a_gain_too_small_for_a_rehearsal_to_see_is_a_no(monkeypatch):
    found = planned(1000)
    assert found.is_yes
    gain = module._gain(found.candidates[0].rehearsal)  # the largest of all
    monkeypatch.setattr(module, "LEAST_GAIN", gain + 1e-9)
    again = plan(1000, epsilon=1.0, **GUESSES, **PUBLIC)
    assert not again.is_yes
    assert again.candidates[0].why_not == "hardly better than a private constant"


def test_only_the_shortlist_is_doubted_and_nobody_undoubted_is_taken(monkeypatch):
    monkeypatch.setattr(module, "MOST_LOSS", -10.0)  # nothing is safe
    found = plan(1000, epsilon=1.0, **GUESSES, **PUBLIC)
    assert not found.is_yes
    assert {bool(one.losses) for one in found.candidates[module.SHORTLIST :]} == {False}
    assert all(one.why_not for one in found.candidates)


# --- penalties that cannot be fitted, and ends of the grid ---------------------------------------


def test_a_penalty_that_cannot_be_fitted_is_a_row_that_says_why():
    found = planned(300)
    refused = [one for one in found.candidates if one.rehearsal.refused]
    assert {one.estimator.lam for one in refused} == {1e-4, 3e-4, 1e-3, 3e-3, 0.01}
    assert {type(one.estimator) for one in refused} == {ObjectivePerturbation}
    assert found.candidates[-len(refused) :] == tuple(refused)
    for one in refused:
        assert one.why_not.startswith("epsilon must sum to more than d / lam")


def test_if_no_penalty_can_be_fitted_the_mean_is_published(monkeypatch):
    monkeypatch.setattr(module, "PENALTIES", (1e-300,))
    monkeypatch.setattr(
        module, "_models", lambda settings, *_: iter([ObjectivePerturbation(1e-300, **settings)])
    )
    found = plan(300, epsilon=1.0, **GUESSES, **PUBLIC)
    assert isinstance(found.estimator, PersonalizedMean)
    assert "lam" in found.verdict


@pytest.mark.parametrize(
    ("penalties", "word"), [((0.03, 10.0), "smallest"), ((1e-5, 0.03), "largest")]
)
def test_a_winner_at_an_end_of_the_grid_is_told(monkeypatch, penalties, word):
    monkeypatch.setattr(module, "PENALTIES", penalties)
    found = plan(1000, epsilon=1.0, **GUESSES, **PUBLIC, **SURE)
    assert found.estimator.lam == 0.03
    assert f"The penalty is the {word} that was tried" in str(found)


def test_a_winner_inside_the_grid_needs_no_note():
    assert planned(1000).notes == ()


# --- the estimator -------------------------------------------------------------------------------


def test_the_estimator_is_ready_to_fit():
    found = planned(1000)
    model = found.estimator
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert np.array_equal(model.bounds, [[0, 1], [0, 1]])
    assert (model.y_bounds, model.clip, model.fit_intercept) == ((0, 1), True, True)
    assert (model.epsilon, model.random_state) == (1.0, None)
    rng = np.random.default_rng(1)
    X = rng.random((1000, 2))
    y = 0.5 + 0.5 * (X[:, 0] - X[:, 1]) + rng.normal(0, 0.1, 1000)  # some lie outside
    assert clone(model).fit(X, y).score(X, y.clip(0, 1)) > 0


def test_a_schema_gives_bounds_words_and_the_label():
    columns = {"age": (18, 98), "ward": ["a", "b", "c"], "days": (0, 60)}
    schema = PublicSchema(columns, label="days")
    found = plan(300, schema, epsilon=1.0, y_mean=8, y_sd=8, r2=0.3)
    assert found.rehearsal.columns == 3
    assert found.candidates[0].estimator.y_bounds == (0, 60)
    assert np.array_equal(found.candidates[0].estimator.bounds, schema.bounds)


def test_shares_of_people_at_levels_set_the_smallest_budget(three_penalties):
    found = plan(300, epsilon={0.5: 0.5, 2.0: 0.5}, **GUESSES, **PUBLIC)
    assert found.estimator.epsilon == 0.5
    nobody_asked = plan(300, epsilon={0.0: 0.5, 2.0: 0.5}, **GUESSES, **PUBLIC)
    assert nobody_asked.excluded == 150
    with pytest.raises(ValueError, match="epsilon must be"):
        nobody_asked.estimator.fit(np.zeros((10, 2)), np.zeros(10))  # without their budgets


def test_who_is_left_out_is_counted(monkeypatch):
    def only_objective(settings, *_):
        yield ObjectivePerturbation(0.03, **settings)

    monkeypatch.setattr(module, "_models", only_objective)
    epsilon = np.repeat([0.0, 1e-9, 2.0], [10, 5, 985])
    found = plan(1000, epsilon=epsilon, **GUESSES, **PUBLIC, **SURE)
    assert isinstance(found.estimator, ObjectivePerturbation)
    assert found.excluded == 15  # five would cost all others too much
    assert "Left out: 15 of 1,000 people, one row each." in str(found)


@pytest.mark.parametrize(
    "epsilon", [0.0, np.zeros(300), {0.0: 1.0}, {0.0: 1.0, 1.0: 0.0}, {0.0: 0.999, 1.0: 0.001}]
)
def test_budgets_that_leave_nobody_get_a_no_with_its_reason(epsilon):
    found = plan(300, epsilon=epsilon, **GUESSES, **PUBLIC)
    assert not found.is_yes
    assert found.rehearsal is None
    assert found.excluded == 300
    assert "so nobody takes part" in str(found)


@pytest.mark.parametrize("epsilon", [0.0, np.zeros(300), {0.0: 1.0}])
def test_a_fit_for_nobody_says_why_it_cannot_be(epsilon):
    model = plan(300, epsilon=epsilon, **GUESSES, **PUBLIC).estimator
    assert isinstance(model, PersonalizedMean)
    X, y = np.full((300, 2), 0.5), np.full(300, 0.5)
    with pytest.raises(ValueError, match="epsilon must be"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="epsilon must be above 0 for somebody"):
        model.fit(X, y, epsilon=np.zeros(300))


# --- guesses and margins -------------------------------------------------------------------------


def test_guesses_stand_in_the_words_and_in_an_attribute():
    found = planned(1000)
    margins = {"sd_factor": 2.0, "r2_margin": 0.2, "mean_margin": 0.5}
    assert found.guesses == GUESSES | margins
    words = str(found)
    for name, value in (GUESSES | margins).items():
        assert f"{name} = {value:g}" in words
    assert "Whoever computes a guess from the secret table has released it." in words
    assert pickle.loads(pickle.dumps(found)).guesses == found.guesses


@pytest.mark.parametrize("epsilon", [1.0, 0.0])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y_mean": 1.5}, "y_mean must lie inside y_bounds"),
        ({"y_sd": 0.6}, "y_sd must be above 0 and below"),
        ({"y_sd": 0.0}, "y_sd must be above 0"),
        ({"r2": 1.0}, "r2 must be at least 0 and below 1"),
        ({"r2": np.nan}, "r2 must be finite"),
        ({"sd_factor": 0.5}, "sd_factor must be at least 1"),
        ({"r2_margin": 1.5}, "r2_margin must be"),
        ({"mean_margin": -1.0}, "mean_margin must be"),
        ({"delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"neighbors": "user"}, "neighbors must be one of"),
        ({"neighbors": "add-remove", "delta": 1e-6}, "neighbors must hold 'replace-one'"),
        ({"neighbors": module.NEIGHBORS}, "delta must be above 0"),
        ({"bounds": None}, r"^bounds must be given .* pass bounds=\(low, high\)"),
        ({"y_bounds": None}, r"^y_bounds must be given.* Pass y_bounds=\(low, high\)"),
        ({"bounds": (1, 0)}, "bounds must have low < high"),
        ({"rows_per_user": [1, 2]}, "rows_per_user must be one number"),
        ({"rows_per_user": 0}, "rows_per_user must be at least 1"),
        ({"people": 1}, "people must be at least 2"),
    ],
)
def test_what_is_impossible_is_refused(epsilon, wrong, message):
    with pytest.raises(ValueError, match=message):
        plan(**({"people": 300, "epsilon": epsilon} | GUESSES | PUBLIC | wrong))


@pytest.mark.parametrize("epsilon", [-1.0, np.nan, [-1.0] * 300, {-1.0: 1.0}])
def test_budgets_below_zero_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        plan(300, epsilon=epsilon, **GUESSES, **PUBLIC)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("rows", [None, 2])
def test_budgets_of_other_people_are_refused_in_words_of_a_plan(value, rows):
    with pytest.raises(ValueError, match=r"one value for each of 300 people; got shape \(200,\)$"):
        plan(300, epsilon=np.full(200, value), rows_per_user=rows, **GUESSES, **PUBLIC)


@pytest.mark.parametrize(
    ("epsilon", "kind", "words"),
    [
        ({"ann": 0.5, "bo": 2.0}, TypeError, r"^levels of epsilon must be numbers.*; got str\."),
        ({7: 0.5, 8: 2.0}, ValueError, r"^shares of epsilon must sum to 1; got 2\.5\."),
    ],
)
def test_budgets_by_name_are_refused_with_what_to_pass_instead(epsilon, kind, words):
    with pytest.raises(kind, match=words + r".*list\(epsilon\.values\(\)\)$") as refused:
        plan(2, epsilon=epsilon, **GUESSES, **PUBLIC)
    assert "ann" not in str(refused.value)


FRAME = pd.DataFrame({"a": [0.1, 0.2], "y": [0.3, 0.4]})


@pytest.mark.parametrize(
    "name", ["people", "columns", "epsilon", "bounds", "y_bounds", "y_mean", "y_sd", "r2"]
)
@pytest.mark.parametrize("table", [FRAME, FRAME.to_numpy()], ids=["frame", "array"])
def test_a_table_is_refused(name, table):
    if name == "bounds" and isinstance(table, np.ndarray):
        table = np.zeros((300, 2))  # two columns of a table, and no pair for each of two columns
    with pytest.raises((TypeError, ValueError), match=f"^{name} must be") as refused:
        plan(**({"people": 300, "epsilon": 1.0} | GUESSES | PUBLIC | {name: table}))
    if name != "bounds" or isinstance(table, pd.DataFrame):
        assert "never a table" in str(refused.value)
        assert refused.type is TypeError


# --- with a delta, and with users ----------------------------------------------------------------


def kinds(found):
    return {type(one.estimator) for one in found.candidates}


def test_a_delta_is_used_only_where_it_is_passed(three_penalties):
    pure = plan(300, epsilon=1.0, **GUESSES, **PUBLIC)
    assert all(one.estimator.delta == 0 for one in pure.candidates)
    assert AdaSSP not in kinds(pure)
    accepted = plan(300, epsilon=1.0, delta=1e-6, neighbors=module.NEIGHBORS, **GUESSES, **PUBLIC)
    assert all(one.estimator.delta == 1e-6 for one in accepted.candidates)
    assert AdaSSP in kinds(accepted)
    only_delta = plan(300, epsilon=1.0, delta=1e-6, **GUESSES, **PUBLIC)
    assert AdaSSP not in kinds(only_delta)
    (noises,) = {
        one.estimator.noise
        for one in only_delta.candidates
        if isinstance(one.estimator, SufficientStatisticsRidge)
    }
    assert noises == "gaussian"


def test_users_give_one_row_each_or_all_rows(three_penalties):
    users = plan(300, epsilon=1.0, rows_per_user=5, **GUESSES, **PUBLIC)
    people = plan(300, epsilon=1.0, **GUESSES, **PUBLIC)
    of_all_rows = {type(one.estimator) for one in users.candidates if one.all_rows}
    assert of_all_rows == {ObjectivePerturbation, SufficientStatisticsRidge}
    of_one_row = {settings_of(one) for one in users.candidates if not one.all_rows}
    assert of_one_row == {settings_of(one) for one in people.candidates}
    assert not any(one.all_rows for one in people.candidates)
    assert "users" not in str(people)


def settings_of(one):
    return one.rehearsal.model


@pytest.mark.parametrize("all_rows", [False, True])
def test_what_a_plan_for_users_proposes_can_be_fitted(monkeypatch, all_rows):
    def models(settings, *_):
        yield SufficientStatisticsRidge(0.03, centered=True, **settings)

    wanted, other = ("_models", "_models_of_all_rows")[:: -1 if all_rows else 1]
    monkeypatch.setattr(module, wanted, models)
    monkeypatch.setattr(module, other, lambda *_: iter(()))
    budgets = np.repeat([1.0, 3.0], 500)
    found = plan(1000, epsilon=budgets, rows_per_user=4, **GUESSES, **PUBLIC)
    assert found.is_yes
    assert found.all_rows is all_rows
    rng = np.random.default_rng(2)
    names = np.array([f"u{k}" for k in range(1000)])
    X = rng.random((4000, 2))
    y = np.clip(0.5 + 0.5 * (X[:, 0] - X[:, 1]), 0, 1)
    if all_rows:
        assert "Fit to all rows, with users=names" in str(found)
        by_name = dict(zip(names, budgets, strict=True))
        model = found.estimator.fit(X, y, users=np.repeat(names, 4), epsilon=by_name)
    else:
        assert "Of each user one row takes part, drawn at random" in str(found)
        rows = 4 * np.arange(1000) + rng.integers(0, 4, 1000)
        model = found.estimator.fit(X[rows], y[rows], epsilon=budgets)
    assert sorted(model.guarantee_.epsilon) == sorted(budgets)
    owners = np.repeat(names, 4)
    if all_rows:
        rows = np.arange(4000)
        budgets = dict(zip(names, budgets, strict=True))
    assert found.of_users
    again = found.fit(X[rows], y[rows], users=owners[rows], epsilon=budgets)
    if all_rows:
        assert again.guarantee_ == model.guarantee_
    else:  # in the order of the names, however many rows a user happens to have
        assert np.array_equal(again.guarantee_.epsilon, budgets[np.argsort(names)])
    assert type(again) is type(found.estimator)
    with pytest.raises(ValueError, match=r"^users must be passed, one name a row"):
        found.fit(X[rows], y[rows], epsilon=budgets)
    some = rows[owners[rows] != "u7"]
    with pytest.raises(ValueError, match=r"^X must have rows of the 1,000 people .*; got 999\."):
        found.fit(X[some], y[some], users=owners[some])
    if not all_rows:
        drawn = found.fit(X, y, users=owners, epsilon=dict(zip(names, budgets, strict=True)))
        assert sorted(drawn.guarantee_.epsilon) == sorted(budgets)


def a_plan(**changed):
    """A plan without the time that it takes."""
    facts = {"rehearsal": None, "constant": Estimate(0.2, 0.0), "candidates": (), "verdict": "Yes",
             "guesses": {}, "people": 50, "excluded": 0}  # fmt: skip
    model = ObjectivePerturbation(1.0, epsilon=1.0)
    return module.ReleasePlan(**({"estimator": model} | facts | changed))


def test_more_rows_than_people_are_refused_by_a_plan():
    X, y = np.linspace(0, 1, 200).reshape(200, 1), np.linspace(-1, 1, 200)
    visits = np.arange(200) // 4
    found = a_plan()
    assert "Left out: 0 of 50 people, one row each." in str(found)
    assert "Left out: 0 of 50 users.\n" in str(a_plan(of_users=True))
    assert found.fit(X[::4], y[::4]).guarantee_.n == 50
    assert found.fit(X[::4], y[::4], users=visits[::4], epsilon=2.0).guarantee_.n == 50
    with pytest.raises(ValueError, match=r"^X must have rows of the 50 .* plan with rows_per_user"):
        found.fit(X, y)
    with pytest.raises(ValueError, match=r"got 200 rows of 50 users: plan with rows_per_user$"):
        found.fit(X, y, users=visits)
    account = BudgetAccount(3.0, neighbors="replace-one")
    found.fit(X[::4], y[::4], account=account)
    assert account.spent == 1.0
    with pytest.raises(NotFittedError):
        check_is_fitted(found.estimator)
    with pytest.raises(TypeError, match=r"^X must be rows: Sums"):
        found.fit(PDPRidge().sums(X, y), None)


def of_visits(rng, people=50, **changed):
    """A plan for users, and visits of theirs in random order: names, rows and labels."""
    names = np.array([f"u{k:02d}" for k in range(people)])
    visits = rng.permutation(np.repeat(np.arange(people), rng.integers(1, 5, people)))
    X = pd.DataFrame({"a": visits / people, "b": rng.random(len(visits))})
    found = a_plan(people=people, of_users=True, **changed)
    return found, names[visits], X, pd.Series(visits / people)


def test_drawn_rows_user_is_drawn_and_keeps_its_label_and_budget(rng):
    _, owners, X, y = of_visits(rng)
    users = module.check_users(owners, len(y))
    seen = set()
    for _ in range(20):
        rows, labels = module._drawn_rows(X, y, users, rng)
        assert list(rows.index) == list(labels.index) == sorted(set(owners))
        assert np.array_equal(rows["a"], labels)  # of one visit
        theirs = X.assign(who=owners).groupby("who")["b"].agg(set)
        assert all(row.b in theirs[name] for name, row in rows.iterrows())
        seen |= set(rows["b"])
    assert seen == set(X["b"])  # each of the visits has its turn
    rows, labels = module._drawn_rows(X.to_numpy(), list(y), users, rng)
    assert np.array_equal(rows[:, 0], labels)
    others = X.copy()
    others.loc[owners == "u07"] = 0.0  # all rows of one user are replaced
    (before, _), (after, _) = (
        module._drawn_rows(table, y, users, np.random.default_rng(1)) for table in (X, others)
    )
    assert list(before.index[(before != after).any(axis=1)]) == ["u07"]


@pytest.mark.parametrize("estimator", [ObjectivePerturbation, PDPRidge, PersonalizedMean])
def test_a_fit_to_drawn_rows_charges_users_by_name(rng, estimator):
    found, owners, X, y = of_visits(rng, estimator=estimator(clip=True))
    wanted = {name: 1.0 + (name > "u20") for name in set(owners)}
    account = BudgetAccount(dict.fromkeys(wanted, 3.0), neighbors="replace-one")
    model = found.fit(X, y, users=owners, epsilon=wanted, account=account)
    spent = dict(zip(account.people, account.spent, strict=True))
    assert spent == wanted
    assert "all of them together" in statement(model)
    assert "all of them together" in export(model)["promise"]["words"]
    assert "budgets of their rows add up" not in statement(model)
    model.fit(X, y, epsilon=1.0)  # of rows again
    assert "budgets of their rows add up" in statement(model)
    assert "together" not in export(model)["promise"]["words"]


@pytest.mark.parametrize(
    ("rule", "clip", "warns"),
    [((0, 60), True, True), (Numbers(0, 60, fill=8), True, False), ((0, 60), False, False),
     ((0, 20), True, False)],
)  # fmt: skip
def test_a_plan_says_what_a_gap_in_the_label_counts_as(monkeypatch, rule, clip, warns):
    monkeypatch.setattr(module, "PENALTIES", (0.1,))
    schema = PublicSchema({"age": (18, 100), "days": rule}, label="days", clip=clip)
    found = plan(100, schema, epsilon=1.0, y_mean=8, y_sd=7, r2=0.4)
    middle = "A gap in 'days' counts as 30, the middle of its bounds"
    assert any(middle in note for note in found.notes) is warns
    empty = pd.DataFrame({"age": [40.0], "days": [np.nan]})
    if clip:  # what the note says is so
        assert bool(schema.encode(empty).y[0] == 30) is warns


def test_of_one_seed_the_noise_is_no_function_of_what_draws_the_rows(rng, monkeypatch):
    found, owners, X, y = of_visits(rng, estimator=PDPRidge(clip=True, random_state=7))
    states = []
    drawn_rows = module._drawn_rows

    def watched(X, y, users, rng):
        states.append(rng.bit_generator.state["state"])
        return drawn_rows(X, y, users, rng)

    monkeypatch.setattr(module, "_drawn_rows", watched)
    one, other = (found.fit(X, y, users=owners) for _ in range(2))
    assert np.array_equal(one.coef_, other.coef_)  # a seed repeats rows and noise
    assert states[0] == states[1] != np.random.default_rng(7).bit_generator.state["state"]


def test_an_account_that_cannot_find_the_users_of_drawn_rows_is_refused(rng):
    found, owners, X, y = of_visits(rng)
    in_some_order = BudgetAccount(np.full(50, 3.0), neighbors="replace-one")
    with pytest.raises(ValueError, match=r"^account must name its users"):
        found.fit(X, y, users=owners, account=in_some_order)
    named = BudgetAccount(dict.fromkeys(owners, 3.0), neighbors="replace-one")
    with pytest.raises(ValueError, match=r"^X must be a DataFrame where an account names"):
        found.fit(X.to_numpy(), y.to_numpy(), users=owners, account=named)
    assert not np.any(in_some_order.spent)
    assert not np.any(named.spent)
    with pytest.raises(ValueError, match=r"^epsilon must be a number, a mapping"):
        found.fit(X, y, users=owners, epsilon=np.ones(50))


def test_a_number_of_people_that_is_protected_is_not_compared_with_a_plan():
    found = a_plan(estimator=AdaSSP(epsilon=1.0))
    found.fit(np.full((49, 1), 0.5), np.zeros(49))
    with pytest.raises(ValueError, match=r"^X must have rows of the 50 people"):
        replace(found, all_rows=True, of_users=True).fit(
            np.full((98, 1), 0.5), np.zeros(98), users=np.arange(98) // 2
        )


@pytest.mark.parametrize("epsilon", [np.repeat([0.5, 2.0], 100), {0.5: 0.5, 2.0: 0.5}])
def test_a_fit_to_all_rows_that_forgets_names_overspends_nobody(epsilon, three_penalties):
    found = plan(200, epsilon=epsilon, rows_per_user=3, **GUESSES, **PUBLIC)
    assert {one.estimator.epsilon for one in found.candidates if one.all_rows} == {0.5}


def test_with_a_delta_mechanisms_for_users_join(three_penalties, monkeypatch):
    monkeypatch.setattr(module, "MOST_REPEATS", 5)
    more = {"rows_per_user": np.repeat([1, 3], 100), "delta": 1e-6}
    found = plan(200, epsilon=1.0, **more, **GUESSES, **PUBLIC)
    of_all_rows = [one for one in found.candidates if one.all_rows]
    assert {AdaSSP, WeightedGradientDescent} < {type(one.estimator) for one in of_all_rows}
    for one in of_all_rows:  # what users may not have is refused by none of them
        assert "with users" not in one.rehearsal.refused
        if isinstance(one.estimator, ObjectivePerturbation):
            assert one.estimator.delta == 0


def test_more_rows_than_are_invented_leave_one_row_each(three_penalties):
    found = plan(300, epsilon=1.0, rows_per_user=1000, **GUESSES, **PUBLIC)
    assert not any(one.all_rows for one in found.candidates)


# --- planted bugs --------------------------------------------------------------------------------


def test_a_plan_that_forgets_to_sort_is_noticed(monkeypatch):
    reasons = module._with_reasons
    monkeypatch.setattr(module, "_with_reasons", lambda one, *more: reasons(one[::-1], *more))
    found = plan(300, epsilon=1.0, **GUESSES, **PUBLIC)
    errors = [one.rehearsal.error.value for one in found.candidates[: module.SHORTLIST]]
    assert errors != sorted(errors)


def test_a_plan_that_trusts_its_guesses_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "_losses", lambda *_: {"nothing is feared": 0.0})
    narrow = GUESSES | {"y_sd": 0.08, "r2": 0.5}
    assert plan(700, epsilon=1.0, sd_factor=8, **narrow, **PUBLIC).is_yes  # doubts say no


def test_a_plan_that_takes_noise_for_a_gain_is_noticed(monkeypatch):
    class Hopeful(module._Stage):
        def rehearse(self, *facts, **more):
            found = super().rehearse(*facts, **more)
            return replace(found, gap=found.gap._replace(value=-1.0)) if found.columns else found

    monkeypatch.setattr(module, "_Stage", Hopeful)
    monkeypatch.setattr(module, "LEAST_GAIN", -np.inf)
    assert plan(30, epsilon=1.0, **GUESSES, **PUBLIC, **SURE).is_yes  # few people must get a no


def test_an_encoded_table_and_tables_in_mappings_are_refused_by_name():
    schema = PublicSchema({"a": (0, 9), "b": (0, 1)}, label="b")
    encoded = schema.encode(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]}))
    public = {"epsilon": 1.0, "bounds": (0, 1), "y_bounds": (0, 1)}
    guesses = {"y_mean": 0.5, "y_sd": 0.2, "r2": 0.3}
    table = pd.DataFrame({"a": [1.0, 2.0]})
    for name, value in [
        ("columns", encoded), ("people", encoded), ("columns", {"t": table}), ("epsilon", encoded),
        ("epsilon", {1.0: table["a"]}), ("rows_per_user", table),
    ]:  # fmt: skip
        arguments = {"people": 100, "columns": 2} | public | guesses | {name: value}
        with pytest.raises(TypeError, match=f"^{name} must be public, never a table"):
            plan(**arguments)
    with pytest.raises((TypeError, ValueError), match=r"^neighbors must be"):
        plan(100, 2, neighbors=5, **public, **guesses)
    for columns in (0, -1, None, "3"):
        with pytest.raises((TypeError, ValueError), match=r"^columns must be"):
            plan(100, columns, epsilon=1.0, **guesses)


def test_a_schema_of_numbers_gives_bounds_of_the_label():
    schema = PublicSchema({"a": Numbers(0, 9, fill=1), "b": Numbers(0, 1)}, label="b")
    found = plan(100, schema, epsilon=0.1, y_mean=0.5, y_sd=0.2, r2=0.3)
    assert not found.is_yes
    assert found.estimator.y_bounds == (0.0, 1.0)


def test_a_gain_within_two_standard_errors_does_not_count():
    yes = plan(20_000, 2, epsilon=1.0, bounds=(0, 1), y_bounds=(0, 1), y_mean=0.5, y_sd=0.2, r2=0.5)
    assert yes.is_yes
    chosen = next(one for one in yes.candidates if not one.why_not)
    size = chosen.rehearsal.gap.value
    for se, reason in [
        (abs(size) / 2.1, ""),
        (abs(size) / 1.9, "not clearly better than a private constant"),
    ]:
        rehearsal = replace(chosen.rehearsal, gap=Estimate(size, se))
        (again,) = module._with_reasons([replace(chosen, rehearsal=rehearsal)], None, 1.0, {})
        assert again.why_not == reason


def test_a_schema_that_does_not_fit_is_refused_by_name(three_penalties):
    schema = PublicSchema({"age": (18, 98), "ward": ["a", "b"], "days": (0, 60)}, label="days")
    without_label = PublicSchema({"age": (18, 98), "ward": ["a", "b"]})
    guesses = {"epsilon": 3.0, "y_mean": 8, "y_sd": 8, "r2": 0.5}
    with pytest.raises(ValueError, match=r"^y_bounds must be given; only a schema with a label"):
        plan(1000, without_label, **guesses)
    with pytest.raises(ValueError, match=r"^bounds must"):
        plan(1000, schema, bounds=[(0, 1)] * 3, **guesses)
    with pytest.raises(ValueError, match=r"^y_mean must lie inside y_bounds"):
        plan(1000, schema, **(guesses | {"y_mean": 61}))
    model = plan(1000, schema, **guesses).candidates[0].estimator
    table = pd.DataFrame({"age": [20.0, 30.0], "ward": ["a", "z"], "days": [1.0, 2.0]})
    with pytest.raises(ValueError, match="ward"):
        schema.encode(table)
    with pytest.raises(ValueError, match="bounds must"):
        model.fit(np.zeros((1000, 3)), np.zeros(1000))
