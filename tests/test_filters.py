"""Accounts as filters: exact densities of adaptive releases, adaptive runs, planted bugs, fits."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from mechanisms import PROMISING, SMALL
from numpy.testing import assert_allclose, assert_array_equal
from plants.filters import FILTERS, Filter
from scipy import stats
from sklearn.base import clone

from pdpbook.gradient import GradientDescentRidge
from pdpbook.guarantees import (
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PureDP,
    ZeroConcentratedDP,
)
from pdpbook.noise import gaussian_profile
from pdpbook.personalized import PDPRidge, SampledRidge
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedGradientDescent, WeightedMean, WeightedOutputPerturbation

ZERO = {"neighbors": "zero-out"}
GAUSS = {"kind": GaussianDP, **ZERO}
EDGES = np.linspace(-9.0, 13.0, 221)
GRID, WIDE = (EDGES[1:] + EDGES[:-1]) / 2, EDGES[1] - EDGES[0]


# ------------------------------------------------------- exact densities, an adaptive adversary
def density(account, x, sigma):
    """Density of one answer at the grid: over the sets that may take part, with their noise."""
    total, taking = np.zeros(len(GRID)), {}
    for bits in range(2 ** len(x)):
        those = np.array([bits >> k & 1 for k in range(len(x))], dtype=bool)
        taking[bits] = GRID - x @ those
    # an account that does not look at the noise says the same for all of it
    blind = type(account).part is Filter.part
    constant = account.part(x, sigma, 0.0) if blind else None
    for bits, off in taking.items():
        those = np.array([bits >> k & 1 for k in range(len(x))], dtype=bool)
        if blind:
            chosen = np.full(len(GRID), bool((constant == those).all()))
        else:
            chosen = np.array([(account.part(x, sigma, z) == those).all() for z in off / sigma])
        total += chosen * stats.norm.pdf(off, scale=sigma)
    return total


def joint(kind, x, budgets, first, then):
    """Density of two answers, the second asked as `then` of the first says, and what is told."""
    account = kind(budgets, **GAUSS)
    before, told = density(account, x, first), account.told()
    rows = []
    for answer, mass in zip(GRID, before, strict=True):
        again = kind(budgets, **GAUSS)
        if type(again).part is Filter.part:
            again.part(x, first, 0.0)
        rows.append(mass * density(again, x, then(answer)))
    return np.array(rows) * WIDE**2, told


def excess(kind, then, first=2.0):
    """By how much the exact delta exceeds that of the budget, at the worst of three epsilons."""
    x, budgets = np.array([1.0, 2.0]), np.array([0.8, 1.1])
    worst = -1.0
    for person in range(2):
        without = np.where(np.arange(2) == person, 0.0, x)
        p, told_p = joint(kind, x, budgets, first, then)
        q, told_q = joint(kind, without, budgets, first, then)
        if told_p != told_q:
            return 1.0
        for epsilon in (0.1, 0.4, 1.0):
            for one, other in ((p, q), (q, p)):
                delta = np.maximum(one - np.exp(epsilon) * other, 0).sum()
                worst = max(worst, delta - gaussian_profile(epsilon, budgets[person]))
    return worst


def tempting(answer):
    """Quiet after a low answer, loud after a high one."""
    return 1.3 if answer > 2.0 else 4.0


def louder(answer):
    return 1.0 if answer > 2.0 else 1.9


@pytest.mark.parametrize("then", [tempting, louder])
def test_two_adaptive_answers_keep_the_budget_by_exact_densities(then):
    # sums over cells of 0.1: the error of such a sum of smooth densities is far below 1e-5
    assert excess(Filter, then) < 1e-5


def test_the_budget_is_spent_to_the_last_if_the_adversary_can():
    x, budget = np.array([0.6]), [0.5]  # 0.3 first, then 0.4: 0.09 + 0.16 = 0.25
    p, _ = joint(Filter, x, budget, 2.0, lambda answer: 1.5)
    q, _ = joint(Filter, 0 * x, budget, 2.0, lambda answer: 1.5)
    inside = p.sum()  # of wide noise not all lies on the grid
    assert inside > 0.99
    found = np.maximum(p - q, 0).sum()
    assert_allclose(found, gaussian_profile(0.0, 0.5), atol=1 - inside)


# ------------------------------------------------------------------------- ten thousand runs
def overspent(kind, runs=10_000, seed=25):
    """Largest exact loss beyond a budget, as a share, over runs in which answers choose noise."""
    rng, worst = np.random.default_rng(seed), Fraction(-1)
    for _ in range(runs):
        x = rng.integers(1, 6, 3) / 5
        budgets = rng.integers(1, 10, 3) / 10
        account, exact, answer = kind(budgets, **GAUSS), [Fraction(0)] * 3, 0.0
        for _ in range(4):
            sigma = [10.0, 4.0, 2.5, 2.0, 1.25][int(abs(answer)) % 5]  # moves of whole hundredths
            noise = rng.standard_normal()
            those = account.part(x, sigma, noise)
            answer = x @ those + sigma * noise
            moves = (Fraction(str(v)) / Fraction(str(sigma)) for v in x)
            exact = [s + m**2 * bool(t) for s, m, t in zip(exact, moves, those, strict=True)]
        for s, b in zip(exact, budgets, strict=True):
            worst = max(worst, s / Fraction(str(b)) ** 2 - 1)
    return float(worst)


def test_nobody_is_let_past_their_budget_in_ten_thousand_adaptive_runs():
    assert overspent(Filter) == 0.0  # never beyond, and often all of it


def nearly(kind, asked=0.5 + 2e-7):
    """Whether a person takes part whose cost is beyond the budget by less than a millionth."""
    return bool(kind([0.5, 1.0], **GAUSS).part(np.array([asked, 0.1]), 1.0, 0.0)[0])


#: what the tests above say against a filter
WRONG = {
    "density": lambda kind: any(excess(kind, then) > 1e-3 for then in (tempting, louder)),
    "runs": lambda kind: overspent(kind, 300) > 0,
    "edge": nearly,
}


@pytest.mark.parametrize("by", WRONG)
def test_the_sound_filter_passes_what_the_planted_ones_are_tried_by(by):
    assert not WRONG[by](Filter)


@pytest.mark.parametrize(
    ("bug", "by"),
    [
        ("looks at the current answer", "density"),
        ("rounds to the nearest", "runs"),
        ("tolerance of floats", "edge"),
        ("largest cost instead of the sum", "density"),
        ("published balance", "density"),
        ("pays after taking part", "density"),
    ],
)
def test_a_planted_filter_is_caught_by_name(bug, by):
    assert WRONG[by](FILTERS[bug])


def test_every_planted_filter_is_tried():
    (mark,) = [
        m for m in test_a_planted_filter_is_caught_by_name.pytestmark if m.name == "parametrize"
    ]
    assert {bug for bug, _ in mark.args[1]} == set(FILTERS)


# ------------------------------------------------------------------------- amounts of each kind
def test_mus_add_as_squares_and_rhos_add():
    account = BudgetAccount([0.5, 1.0], **GAUSS)
    account.spend(GaussianDP([0.3, 0.6], **ZERO))
    assert_array_equal(account.remaining, [0.4, 0.8])
    account.spend(GaussianDP([0.4, 0.0], **ZERO))
    assert_array_equal(account.spent, [0.5, 0.6])
    with pytest.raises(ValueError, match=r"person 0 asks 0\.001 and has 0\.0 left"):
        account.spend(GaussianDP(0.001, **ZERO))
    rhos = BudgetAccount(0.3, kind=ZeroConcentratedDP, **ZERO)
    for _ in range(3):
        rhos.spend(ZeroConcentratedDP(0.1, **ZERO))
    assert rhos.remaining == 0


@pytest.mark.parametrize("budget", [0.7, 1.0, 3.3, 1e-9, 1e200, 3.7e-162])
def test_what_remains_of_a_mu_is_never_refused(budget):
    account = BudgetAccount(budget, **GAUSS)
    for share in (0.5, 0.1, 1 / 3):
        account.spend(GaussianDP(share * budget, **ZERO))
    account.spend(GaussianDP(account.remaining, **ZERO))
    assert account.remaining < 1e-6 * budget  # the root of what rounding leaves


def test_promises_are_turned_into_the_kind_of_the_account_rounded_up():
    rhos = BudgetAccount([1.0], kind=ZeroConcentratedDP, **ZERO)
    rhos.spend(GaussianDP(0.6, **ZERO))
    assert 0.18 < rhos.spent[0] < 0.18 * (1 + 1e-14)
    rhos.spend(PureDP([0.5], **ZERO))
    mus = BudgetAccount([1.0], **GAUSS)
    pure = PureDP(0.5, **ZERO)
    mus.spend(pure)
    assert mus.spent[0] == pure.to_gaussian().mu  # `test_conversions` holds it against mpmath
    for account in (rhos, mus):
        with pytest.raises(TypeError, match="cannot turn ApproximateDP into"):
            account.spend(ApproximateDP(0.1, 1e-6, **ZERO))
    with pytest.raises(TypeError, match="cannot turn ZeroConcentratedDP into GaussianDP"):
        mus.spend(ZeroConcentratedDP(0.1, **ZERO))


# ------------------------------------------------------------------------- admit
def test_admit_leaves_out_whoever_has_not_enough_and_lets_them_back_for_less():
    account = BudgetAccount({"Ana": 0.5, "Ben": 0.2, "Chi": 0.1}, **GAUSS)
    asked = GaussianDP([0.2, 0.3, 0.0], **ZERO)
    assert_array_equal(account.affords(asked), [True, False, True])
    assert not account.spent.any()
    assert_array_equal(account.admit([0.2, 0.2, 0.0]), [True, True, True])
    assert_array_equal(account.admit([0.1, 0.1], people=["Ben", "Ana"]), [False, True])
    assert_allclose(account.spent, [np.sqrt(0.05), 0.2, 0.0])
    assert_array_equal(account.admit(0.1), [True, False, True])
    assert_array_equal(
        account.admit([0.0, np.inf, 0.0]), [True, False, True]
    )  # no budget is enough
    with pytest.raises(ValueError, match=r"no budget for 'Zoe'"):  # whatever it costs
        account.admit([0.1, 0.0], people=["Ben", "Zoe"])
    with pytest.raises(ValueError, match=r"the data name 'Ben' twice"):
        account.admit([0.1, 0.1], people=["Ben", "Ben"])
    with pytest.raises(ValueError, match=r"^cost must be .*at least 0"):
        account.admit([0.1, -0.1, 0.1])
    with pytest.raises(ValueError, match="budgets of 3 people; got one to 2"):
        account.admit([0.1, 0.1])


def test_what_admit_was_told_is_private():
    account = BudgetAccount([0.5, 0.5], **GAUSS)
    account.spend(GaussianDP(0.1, **ZERO))
    account.admit([0.3, 0.1])
    with pytest.raises(ValueError, match=r"^account must hold public amounts; got costs of admit"):
        account.spend(GaussianDP(0.1, **ZERO))


@pytest.mark.parametrize("relation", ["replace-one", "user", "labels", "user-labels"])
def test_admit_is_for_people_who_may_be_absent(relation):
    account = BudgetAccount([0.5, 0.5], neighbors=relation, kind=GaussianDP)
    with pytest.raises(ValueError, match=r"^neighbors must be 'add-remove' or 'zero-out'"):
        account.admit(0.1)
    assert not account.spent.any()


def test_accounts_refuse_what_is_no_budget_and_no_kind():
    with pytest.raises(TypeError, match=r"^kind must be one of PureDP, GaussianDP"):
        BudgetAccount(1.0, kind=ApproximateDP, **ZERO)
    with pytest.raises(TypeError, match=r"^leave_out must be True or False"):
        BudgetAccount([1.0], leave_out=1, **ZERO)
    with pytest.raises(ValueError, match=r"^leave_out must be False with one budget for all"):
        BudgetAccount(1.0, leave_out=True, **ZERO)
    with pytest.raises(ValueError, match=r"^budget must be one for each person"):
        BudgetAccount(1.0, **ZERO).admit(0.1)
    with pytest.raises(ValueError, match="mu must be"):
        BudgetAccount([-1.0], **GAUSS)


# ------------------------------------------------------------------------- fits that leave out
def crowd(n=60):
    rng = np.random.default_rng(4)
    X = rng.random((n, 2))
    return X, X @ [0.5, -0.5], rng.integers(1, 9, n) / 4


FITS = [
    (PDPRidge(random_state=3), PureDP),
    (SampledRidge(random_state=3, threshold="max"), PureDP),
    (GradientDescentRidge(random_state=3), GaussianDP),
    (SufficientStatisticsRidge(noise="gaussian", delta=1e-6, random_state=3), GaussianDP),
    (GradientDescentRidge(random_state=3), ZeroConcentratedDP),
]


@pytest.mark.parametrize(("model", "kind"), FITS, ids=str)
def test_a_fit_leaves_out_whoever_cannot_pay_as_if_their_budget_were_0(model, kind):
    X, y, epsilon = crowd()
    promise = model.fit(X, y, epsilon=epsilon).guarantee_
    name = {PureDP: "epsilon", GaussianDP: "mu", ZeroConcentratedDP: "rho"}[kind]
    if kind is ZeroConcentratedDP:
        promise = promise.to_zcdp()
    budgets = getattr(promise, name) * np.where(np.arange(60) % 3, 3.0, 1.3)
    account = BudgetAccount(budgets, kind=kind, neighbors="replace-one", leave_out=True)
    model.fit(X, y, epsilon=epsilon, account=account)
    whole = model.coef_
    model.fit(X, y, epsilon=epsilon, account=account)  # a third cannot pay twice
    out = np.arange(60) % 3 == 0
    (promised,) = model.guarantee_._parameters().values()
    assert_array_equal(promised == 0, out)
    same = model.coef_
    assert not np.allclose(whole, same)
    model.fit(X, y, epsilon=np.where(out, 0.0, epsilon))
    assert_array_equal(model.coef_, same)
    assert (account.spent <= budgets * (1 + 1e-12)).all()


def has_squares(model):
    """Whether it promises a mu or a rho, which a filter adds up."""
    X, y, _ = crowd()
    return isinstance(clone(model).fit(X, y).guarantee_, (GaussianDP, ZeroConcentratedDP))


@pytest.mark.parametrize("model", [m for m in SMALL if m in PROMISING and has_squares(m)], ids=str)
@pytest.mark.parametrize("kind", [GaussianDP, ZeroConcentratedDP])
def test_every_mechanism_with_a_mu_or_a_rho_draws_from_an_account(model, kind):
    X, y, _ = crowd()
    promise = clone(model).fit(X, y).guarantee_
    if kind is GaussianDP and isinstance(promise, ZeroConcentratedDP):
        account = BudgetAccount(np.full(60, 9.0), kind=kind, neighbors=promise.neighbors)
        with pytest.raises(TypeError, match="cannot turn ZeroConcentratedDP into GaussianDP"):
            clone(model).fit(X, y, account=account)
        return
    (amount,) = (
        (promise.to_zcdp() if kind is ZeroConcentratedDP else promise)._parameters().values()
    )
    each = np.broadcast_to(amount, 60)
    power = 2 if kind is GaussianDP else 1
    account = BudgetAccount(
        each * (2 * (1 + 1e-11)) ** (1 / power), kind=kind, neighbors=promise.neighbors
    )
    for _ in range(2):
        clone(model).fit(X, y, account=account)
    assert_allclose(account.spent, each * 2 ** (1 / power), rtol=1e-11)
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 0 asks"):
        clone(model).fit(X, y, account=account)


@pytest.mark.parametrize(
    "model", [PDPRidge(), WeightedGradientDescent(), WeightedOutputPerturbation()], ids=str
)
def test_nobody_leaves_to_people_whose_noise_is_no_number(model):
    X, y, _ = crowd()
    asked = np.where(np.arange(60) < 30, 1.0, 1e-120)
    promise = clone(model).fit(X, y).guarantee_
    account = BudgetAccount(
        np.where(asked < 1, 1.0, 1e-9),
        kind=type(promise),
        neighbors=promise.neighbors,
        leave_out=True,
    )
    with pytest.raises(ValueError, match=r"^epsilon must be at least 1e-100 for somebody"):
        clone(model).fit(X, y, epsilon=asked, account=account)
    assert_array_equal(account.spent, np.zeros(60))


def test_users_and_tables_leave_by_name():
    X, y, _ = crowd()
    users = np.array(["zoe", "ann", "bo"])[np.arange(60) % 3]
    asked = {"zoe": 0.5, "ann": 0.25, "bo": 0.2}
    account = BudgetAccount(
        {"zoe": 1.0, "ann": 0.25, "bo": 0.5, "gone": 1.0}, neighbors="user", leave_out=True
    )
    for _ in range(2):
        model = WeightedMean().fit(X, y, users=users, epsilon=asked, account=account)
    assert_array_equal(model.guarantee_.epsilon, [0.0, 0.2, 0.5])  # of ann, bo, zoe
    assert_array_equal(account.remaining, [0.0, 0.0, 0.1, 1.0])
    descent = WeightedGradientDescent(steps=3)
    rho = descent.fit(X, y, users=users, epsilon=asked).guarantee_.rho
    rhos = BudgetAccount(
        pd.Series(rho * [1.5, 3.0, 3.0], index=["ann", "bo", "zoe"]),
        kind=ZeroConcentratedDP,
        neighbors="user",
        leave_out=True,
    )
    for _ in range(2):
        model = clone(descent).fit(X, y, users=users, epsilon=asked, account=rhos)
    assert_array_equal(model.guarantee_.rho == 0, [True, False, False])
    frame = pd.DataFrame(X, index=[f"p{k}" for k in range(60)])
    own = pd.Series(np.where(np.arange(60) < 20, 1.5, 3.0), index=frame.index)
    named = BudgetAccount(own, neighbors="replace-one", leave_out=True)
    for _ in range(2):
        model = PDPRidge().fit(frame, y, account=named)
    assert_array_equal(model.guarantee_.epsilon == 0, np.arange(60) < 20)


def test_whoever_leaves_may_raise_what_others_are_promised_and_these_are_asked_again():
    X, y, _ = crowd()
    epsilon = np.r_[np.full(20, 4.0), np.full(20, 1.0), np.full(20, 2.0)]
    model = SampledRidge(threshold="mean")  # t is the mean of whoever takes part
    first = model.fit(X, y, epsilon=epsilon).guarantee_.epsilon
    limit = np.r_[np.full(20, 0.1), first[20:] * 1.01]
    account = BudgetAccount(limit, neighbors="replace-one", leave_out=True)
    promised = model.fit(X, y, epsilon=epsilon, account=account).guarantee_.epsilon
    assert_array_equal(promised[:20], 0.0)
    assert (promised <= limit).all()
    assert promised.any()


def test_people_leave_in_rounds_until_all_others_can_pay():
    """Without the first twenty the mean of the budgets rises, and the next twenty cannot pay it."""
    X, y, _ = crowd()
    epsilon = np.r_[np.full(20, 0.2), np.full(40, 3.0)]
    model = SampledRidge(threshold="mean")
    first = model.fit(X, y, epsilon=epsilon).guarantee_.epsilon
    limit = np.r_[np.full(20, 0.1), 1.01 * first[20:40], np.full(20, 9.0)]
    account = BudgetAccount(limit, neighbors="replace-one", leave_out=True)
    promised = model.fit(X, y, epsilon=epsilon, account=account).guarantee_.epsilon
    assert_array_equal(promised > 0, np.arange(60) >= 40)
    assert (promised[40:] > 1.01 * first[20:40]).all()
    assert_array_equal(account.spent, promised)


def test_one_number_for_all_is_charged_as_what_it_promises_to_whoever_loses_most():
    """The mean of what is promised would be less than what somebody lost."""
    X, y, epsilon = crowd()
    account = BudgetAccount(9.0, neighbors="replace-one")
    PDPRidge().fit(X, y, epsilon=epsilon, account=account)
    assert account.spent == epsilon.max() > epsilon.mean()
    named = {"a": 0.5, "b": 2.0}
    users = BudgetAccount(9.0, neighbors="user")
    WeightedMean().fit(X[:4], y[:4], users=list("abab"), epsilon=named, account=users)
    assert users.spent == 2.0


def test_whoever_has_no_budget_takes_nothing_from_the_last_person():
    """A place of -1 once stood for the last of them."""
    account = BudgetAccount({"ann": 1.0, "bo": 1.0}, neighbors="user")
    X, y = np.zeros((3, 1)), np.array([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"it has no budget for 'zoe'$"):
        WeightedMean().fit(X, y, users=["zoe", "ann", "bo"], epsilon=0.5, account=account)
    assert_array_equal(account.spent, 0)
    account.spend(PureDP([0.3, 0.0, 0.5], neighbors="user"), people=["ann", "zoe", "bo"])
    assert_array_equal(account.spent, [0.3, 0.5])
    enough = account.affords(PureDP([0.9, 0.0], neighbors="user"), people=["bo", "zoe"])
    assert_array_equal(enough, [False, True])


def test_one_number_for_all_nobody_left_and_private_balances_are_refused():
    X, y, epsilon = crowd()
    limit = np.r_[0.1, np.full(59, 9.0)]
    account = BudgetAccount(limit, kind=GaussianDP, neighbors="add-remove", leave_out=True)
    with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 0 asks"):
        AdaSSP(delta=1e-6).fit(X / 2, y, account=account)  # one number for all
    none = BudgetAccount(epsilon / 2, neighbors="replace-one", leave_out=True)
    with pytest.raises(ValueError, match=r"person 0 asks .*, and 55 more$"):
        PDPRidge().fit(X, y, epsilon=epsilon, account=none)
    wrong = BudgetAccount(np.full(59, 9.0), neighbors="replace-one", leave_out=True)
    with pytest.raises(ValueError, match=r"^account must be of the people in the data; got"):
        PDPRidge().fit(X, y, epsilon=epsilon, account=wrong)
    private = BudgetAccount(limit, kind=GaussianDP, neighbors="add-remove")
    private.admit(0.01)
    with pytest.raises(ValueError, match=r"^account must hold public amounts"):
        AdaSSP(delta=1e-6).fit(X / 2, y, account=private)
    assert not any(a.spent.any() for a in (account, none, wrong))


def test_costs_go_by_name_where_the_account_does():
    """A Series in another order once charged each person for the other."""
    account = BudgetAccount(
        pd.Series({"ann": 0.5, "bo": 0.1}), neighbors="zero-out", kind=GaussianDP
    )
    cost = pd.Series({"bo": 0.05, "ann": 0.4})
    assert_array_equal(account.admit(cost), [True, True])  # in the order of the costs
    assert_array_equal(account.spent, [0.4, 0.05])
    assert_array_equal(account.admit(cost), [True, False])
    with pytest.raises(ValueError, match="no budget for 'cy'"):
        account.admit(pd.Series({"ann": 0.1, "cy": 0.1}))
    with pytest.raises(ValueError, match="people must be None with a Series"):
        account.admit(cost, people=["ann", "bo"])


BY_NAME = [pd.Series({"bo": 0.05, "ann": 0.4}), pd.Series([0.05, 0.4], index=[1, 0])]
BY_NAME += [pd.Series([0.05, 0.4])]


@pytest.mark.parametrize("named", BY_NAME, ids=["text", "turned around", "in order"])
def test_names_are_refused_where_nobody_keeps_them(named):
    """A promise has no names, so one of a Series went to the people of the account in their order,
    whoever they were; and so did costs, in an account without names."""
    rule = r"^mu must be an array: a promise keeps no names; got a Series\. Pass mu\.to_numpy"
    with pytest.raises(TypeError, match=rule):
        GaussianDP(named, neighbors="zero-out")
    account = BudgetAccount([0.5, 0.1], **GAUSS)
    with pytest.raises(
        TypeError, match=r"^cost must be an array: the account does not say who its"
    ):
        account.admit(named)
    assert_array_equal(account.spent, 0)


@pytest.mark.parametrize("kind", [GaussianDP, PureDP, ZeroConcentratedDP])
def test_infinite_costs_are_beyond_the_largest_budget(kind):
    """They counted as the largest float, which that budget could pay."""
    most = np.finfo(float).max
    account = BudgetAccount([most, most], neighbors="zero-out", kind=kind)
    assert_array_equal(account.admit([np.inf, most]), [False, True])
    assert_array_equal(account.spent, [0.0, most])
    named = BudgetAccount({"ann": most}, neighbors="zero-out", kind=kind)
    assert_array_equal(named.admit([np.inf], people=["ann"]), [False])
