"""Accounts whose budgets are several numbers a person: (epsilon, delta), and an adversary."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pdpbook.guarantees import (
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PACPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    compose,
)

USER = {"neighbors": "user"}
ZERO = {"neighbors": "zero-out"}


def approximate(epsilon, delta, **more):
    return BudgetAccount(ApproximateDP(epsilon, delta, **USER), **more)


# ------------------------------------------------------------------ two sums
def test_epsilons_and_deltas_fill_to_the_last_decimal():
    account = approximate([0.3, 1.0], [3e-6, 1e-5])
    for _ in range(3):
        account.spend(ApproximateDP(0.1, 1e-6, **USER))
    assert_array_equal(account.spent.epsilon, [0.3, 0.3])
    assert_array_equal(account.spent.delta, [3e-6, 3e-6])
    assert_array_equal(account.remaining.epsilon, [0.0, 0.7])
    assert_array_equal(account.remaining.delta, [0.0, 7e-6])
    with pytest.raises(ValueError, match=r"person 0 asks epsilon 1e-17 and has 0\.0 left$"):
        account.spend(PureDP([1e-17, 0.1], **USER))


def test_each_of_the_two_numbers_can_be_what_is_missing():
    account = approximate(1.0, 1e-6)
    with pytest.raises(ValueError, match=r"each person asks delta 2e-06 and has 1e-06 left"):
        account.spend(ApproximateDP(0.1, 2e-6, **USER))
    with pytest.raises(ValueError, match=r"each person asks epsilon 1\.1 and has 1\.0 left"):
        account.spend(ApproximateDP(1.1, 1e-7, **USER))
    assert account.spent == (0.0, 0.0)
    account.spend(ApproximateDP(*account.remaining, **USER))
    assert account.remaining == (0.0, 0.0)


@given(
    st.lists(st.tuples(st.floats(1e-6, 1), st.floats(1e-12, 1e-3)), min_size=1, max_size=30),
    st.floats(0.1, 5),
    st.floats(1e-6, 1e-2),
)
def test_nobody_overspends_either_number_and_what_remains_passes(asked, epsilon, delta):
    account, sums = approximate(epsilon, delta), [Fraction(0), Fraction(0)]
    for amounts in asked:
        try:
            account.spend(ApproximateDP(*amounts, **USER))
        except ValueError:
            continue
        sums = [s + Fraction(repr(a)) for s, a in zip(sums, amounts, strict=True)]
    assert sums[0] <= Fraction(repr(epsilon))
    assert sums[1] <= Fraction(repr(delta))
    assert all(Fraction(repr(s)) >= total for s, total in zip(account.spent, sums, strict=True))
    if account.remaining.delta > 0:
        account.spend(ApproximateDP(*account.remaining, **USER))


@given(st.lists(st.tuples(st.floats(1e-6, 1), st.floats(1e-9, 1e-3)), min_size=1, max_size=6))
def test_what_is_charged_one_by_one_is_what_compose_says(asked):
    promises = [ApproximateDP(*amounts, **USER) for amounts in asked]
    account, together = approximate(10.0, 0.1), compose(*promises)
    for promise in promises:
        account.spend(promise)
    assert account.spent == (together.epsilon, together.delta)
    BudgetAccount(together).spend(together)


# ------------------------------------------------------------------ what converts
def test_a_pure_promise_counts_with_delta_0_and_no_delta_is_chosen_for_others():
    account = approximate([2.0, 2.0], 1e-6)
    account.spend(PureDP([0.25, 0.0], **USER))
    assert_array_equal(account.spent.epsilon, [0.25, 0.0])
    assert_array_equal(account.spent.delta, 0.0)
    for promise in (GaussianDP(0.1, **USER), ZeroConcentratedDP(0.01, **USER)):
        with pytest.raises(TypeError, match=r"^promise must say its delta .*to_approximate\(delta"):
            account.spend(promise)
        account.spend(promise.to_approximate(1e-7))
    with pytest.raises(TypeError, match="cannot turn PACPrivacy into ApproximateDP: no theorem"):
        account.spend(PACPrivacy(0.6))
    with pytest.raises(ValueError, match="cannot compose a promise against 'user' with one"):
        account.spend(PureDP(0.1, **ZERO))
    for kind in (PureDP, GaussianDP, ZeroConcentratedDP):
        with pytest.raises(TypeError, match="cannot turn ApproximateDP into"):
            BudgetAccount(1.0, kind=kind, **USER).spend(ApproximateDP(0.1, 1e-6, **USER))


def test_whoever_takes_no_part_pays_no_delta_and_needs_no_account():
    account = approximate([1.0, 1.0], 1e-6, people=["Ana", "Ben"])
    account.spend(ApproximateDP([0.5, 0.0], [1e-6, 0.0], **USER), people=["Ben", "Zoe"])
    assert_array_equal(account.remaining.delta, [1e-6, 0.0])
    with pytest.raises(ValueError, match="no budget for 'Zoe'"):
        account.spend(ApproximateDP([0.1, 0.0], 1e-9, **USER), people=["Ana", "Zoe"])
    absent = PureDP([0.5, 0.0], **USER).to_approximate(1e-3)
    assert_array_equal(absent.delta, [1e-3, 0.0])
    assert_array_equal(absent.profile(0.0) > 0, [True, False])


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [([1.0, 0.0], [0.0, 1e-6]), ([0.0, 0.0], [0.0, 0.0]), (0.0, 0.0), (1.0, [1e-6, 0.0])],
)
def test_a_delta_of_0_is_for_those_with_an_epsilon_of_0(epsilon, delta):
    with pytest.raises(ValueError, match="delta must be above 0 and below 1"):
        ApproximateDP(epsilon, delta, **USER)


# ------------------------------------------------------------------ names, files, filters
def test_budgets_are_by_name_and_come_back_from_a_file(tmp_path):
    path = tmp_path / "club.json"
    account = approximate([0.5, 1.0], [1e-6, 1e-5], people=["Ana", "Ben"], leave_out=True)
    account.spend(ApproximateDP([0.1, 0.2], 1e-7, **USER), people=["Ben", "Ana"])
    account.save(path)
    again = BudgetAccount.open(path, kind=ApproximateDP, **USER)
    assert (
        again._spent
        == account._spent
        == [(Fraction(1, 5), Fraction(1, 10**7)), (Fraction(1, 10), Fraction(1, 10**7))]
    )
    assert (again.people, again.leave_out) == (("Ana", "Ben"), True)
    assert again.budget == account.budget
    again.spend(PureDP(0.3, **USER), people=["Ana"])
    assert_array_equal(account.remaining.epsilon, [0.0, 0.9])
    with pytest.raises(ValueError, match=r"^kind must be those of .*, ApproximateDP; got PureDP"):
        BudgetAccount.open(path, **USER)
    one = tmp_path / "one.json"
    approximate(0.5, 1e-6).save(one)
    assert BudgetAccount.open(one, kind=ApproximateDP, **USER).remaining == (0.5, 1e-6)


def test_what_each_can_afford_and_who_is_admitted():
    account = BudgetAccount(ApproximateDP([0.5, 0.5, 1.0], [1e-6, 1e-5, 1e-6], **ZERO))
    asked = ApproximateDP([0.4, 0.6, 0.0], [2e-6, 1e-6, 0.0], **ZERO)
    assert_array_equal(account.affords(asked), [False, False, True])
    assert_array_equal(account.admit(asked), [False, False, True])
    cheap = ApproximateDP(0.5, 1e-6, **ZERO)
    assert_array_equal(account.admit(cheap), [True, True, True])
    assert_array_equal(account.admit(PureDP(0.1, **ZERO)), [False, False, True])
    assert_array_equal(account.spent.epsilon, [0.5, 0.5, 0.6])
    with pytest.raises(TypeError, match=r"^cost must be a promise in an account of ApproximateDP"):
        account.admit([0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match=r"^account must hold public amounts"):
        account.spend(cheap)
    named = BudgetAccount(ApproximateDP([0.5], [1e-6], **ZERO), people=["Ana"])
    with pytest.raises(ValueError, match="no budget for 'Zoe'"):
        named.admit(ApproximateDP([0.1, 0.0], [1e-7, 0.0], **ZERO), people=["Ana", "Zoe"])


def test_the_weakest_of_promises_to_each_holds_for_all():
    each = ApproximateDP([0.1, 0.5, 0.0], [1e-5, 1e-6, 0.0], **USER)
    assert each.weakest() == ApproximateDP(0.5, 1e-5, **USER)
    assert PureDP([0.1, 0.5], **USER).weakest() == PureDP(0.5, **USER)
    assert GaussianDP(0.5, **USER).weakest() == GaussianDP(0.5, **USER)


def test_a_promise_as_budget_is_a_budget_of_numbers():
    for promise in (PureDP([0.5, 1.0], **ZERO), GaussianDP(0.5, **ZERO)):
        account = BudgetAccount(promise)
        (numbers,) = promise._parameters().values()
        other = BudgetAccount(numbers, kind=type(promise), **ZERO)
        assert (account.kind, account.budget) == (other.kind, other.budget)
        assert_array_equal(account.remaining, numbers)


def test_budgets_that_contradict_themselves_are_refused():
    pure = PureDP([0.5, 1.0], **USER)
    with pytest.raises(ValueError, match=r"^kind must be that of the budget, PureDP; got"):
        BudgetAccount(pure, kind=GaussianDP)
    with pytest.raises(ValueError, match=r"^neighbors must be those of the budget, user; got"):
        BudgetAccount(pure, neighbors="zero-out")
    with pytest.raises(TypeError, match=r"^neighbors must be given where budgets are numbers"):
        BudgetAccount(1.0)
    with pytest.raises(ValueError, match=r"^people must be those of the budget, 2; got 3"):
        BudgetAccount(pure, people=["Ana", "Ben", "Chi"])
    with pytest.raises(ValueError, match=r"^people must be those of the budget, None; got 1"):
        BudgetAccount(PureDP(1.0, **USER), people=["Ana"])
    with pytest.raises(ValueError, match=r"^people must be None where budgets are numbers"):
        BudgetAccount([1.0], people=["Ana"], **USER)
    with pytest.raises(ValueError, match=r"^people must have one budget for each person; two for"):
        BudgetAccount(pure, people=["Ana", "Ana"])
    with pytest.raises(TypeError, match=r"^budget must be a promise that adds up"):
        BudgetAccount(PACPrivacy([0.6]))
    with pytest.raises(ValueError, match=r"^leave_out must be False with one budget for all"):
        approximate(1.0, 1e-6, leave_out=True)
    named = BudgetAccount(pure, people=pd.Index(["Ana", "Ben"]))
    assert named.people == ("Ana", "Ben")


# ------------------------------------------------------------------ adaptive runs
class FirstNumber(BudgetAccount):
    """Only the first of the numbers of a person counts."""

    def _within(self, asked):
        each = zip(self._spent, asked, self._limit, strict=True)
        return [s[0] + a[0] <= b[0] for s, a, b in each]


class SomeNumber(BudgetAccount):
    """Whoever is within their budget in one of the numbers takes part: some order, say."""

    def _within(self, asked):
        each = zip(self._spent, asked, self._limit, strict=True)
        return [any(map(lambda s, a, b: s + a <= b, *person)) for person in each]


class Afterwards(BudgetAccount):
    """Whoever has anything left takes part, and pays then."""

    def _within(self, asked):
        each = zip(self._spent, self._limit, strict=True)
        return [all(map(lambda s, b: s < b, *person)) for person in each]


def pairs(table):
    return ApproximateDP(table[:, 0], table[:, 1], **ZERO)


def curves(table):
    return RenyiDP([2, 4], table, **ZERO)


def overspent(kind, promise, runs, seed=7):
    """Largest exact sum over a budget, less 1; each cost follows from who took part so far."""
    rng, worst = np.random.default_rng(seed), Fraction(-1)
    for _ in range(runs):
        budgets, unit = rng.integers(1, 10, (3, 2)) / 20, rng.integers(1, 5, (3, 2)) / 40
        account, exact, part = kind(promise(budgets)), np.full((3, 2), Fraction(0)), 3
        for _ in range(4):
            costs = unit * (1 + part) / 2 if rng.random() < 0.7 else unit
            taking = account.admit(promise(costs))
            part = int(taking.sum())
            paid = [[Fraction(repr(float(c))) for c in row] for row in costs]
            exact = exact + np.array(paid) * taking[:, None]
        limits = [[Fraction(repr(float(b))) for b in row] for row in budgets]
        worst = max(worst, (exact / np.array(limits)).max() - 1)
    return float(worst)


@pytest.mark.parametrize("promise", [pairs, curves])
def test_nobody_is_let_past_a_budget_of_several_numbers(promise):
    assert overspent(BudgetAccount, promise, 500) == 0.0  # never beyond, and often all of it


@pytest.mark.parametrize("promise", [pairs, curves])
@pytest.mark.parametrize("bug", [FirstNumber, SomeNumber, Afterwards])
def test_planted_filters_of_several_numbers_are_caught(bug, promise):
    assert overspent(bug, promise, 100) > 0
