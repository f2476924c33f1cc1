"""Which account for which mechanism: every cell of the page's table, tried by a fit."""

import re

import numpy as np
import pytest
from mechanisms import SMALL
from numpy.testing import assert_array_equal
from pages import published
from sklearn.base import clone

from pdpbook.gradient import DPSGDRegression, dpsgd_renyi
from pdpbook.guarantees import (
    RENYI_ORDERS,
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PACPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.posterior import OnePosteriorSample, worst_case_renyi
from pdpbook.sufficient_statistics import SufficientStatisticsRidge

PEOPLE = 60
PAGE = published()["per_instance/accounts"]
KINDS = [PureDP, ApproximateDP, GaussianDP, ZeroConcentratedDP, RenyiDP]
DELTA = {"delta": 1e-6}
SQUARES = [GaussianDP, ZeroConcentratedDP, RenyiDP]

#: the kinds of account that a promise goes into, by its class
GOES_INTO = {
    PureDP: KINDS,
    ApproximateDP: [ApproximateDP],
    GaussianDP: SQUARES,
    ZeroConcentratedDP: [ZeroConcentratedDP, RenyiDP],
    PACPrivacy: [],
}
#: mechanisms whose `fit` hands over a Renyi curve of their own
CURVES = (DPSGDRegression, OnePosteriorSample)


def kinds_of(model):
    """The kinds of account that a mechanism with these settings goes into."""
    kinds = GOES_INTO[type(clone(model).fit(*data()).guarantee_)]
    return [kind for kind in KINDS if kind in kinds or (kind is RenyiDP and type(model) in CURVES)]


def data():
    X = np.random.default_rng(4).random((PEOPLE, 2))
    return X, X @ [0.5, -0.5]


def charged(model, kind):
    """What a fitted model is to be charged with in an account of this kind, but for conversions."""
    promise = model.guarantee_
    if kind is not RenyiDP or not isinstance(model, CURVES):
        return promise
    if isinstance(model, DPSGDRegression):
        run = model.noise_multiplier_, model.sample_rate_, model.steps_
        curve = dpsgd_renyi(*run, RENYI_ORDERS)
    else:
        curve = worst_case_renyi(model.lam, model.gamma_, model.n_max, RENYI_ORDERS)
    return RenyiDP(RENYI_ORDERS, curve, neighbors=promise.neighbors)


def account_of(kind, neighbors, times=1e9):
    """An account with so much for each person that one fit is always paid for."""
    sizes = np.full(PEOPLE, times)
    budget = {
        ApproximateDP: lambda: ApproximateDP(sizes, np.full(PEOPLE, 0.5), neighbors=neighbors),
        RenyiDP: lambda: RenyiDP(
            RENYI_ORDERS,
            np.tile(np.r_[times, np.full(len(RENYI_ORDERS) - 1, np.inf)], (PEOPLE, 1)),
            neighbors=neighbors,
        ),
    }.get(kind, lambda: kind(sizes, neighbors=neighbors))()
    return BudgetAccount(budget, leave_out=True)


def spent_in(account):
    spent = account.spent
    return np.stack(spent, axis=-1) if account.kind is ApproximateDP else np.asarray(spent)


MODELS = [
    *SMALL,
    ObjectivePerturbation(**DELTA),
    SufficientStatisticsRidge(noise="gaussian", **DELTA),
]
CELLS = [(model, kind, kind in kinds_of(model)) for model in MODELS for kind in KINDS]


@pytest.mark.parametrize(("model", "kind", "goes"), CELLS, ids=str)
def test_a_cell_of_the_table_is_what_a_fit_does(model, kind, goes):
    X, y = data()
    model = clone(model).fit(X, y)
    promise = model.guarantee_
    neighbors = getattr(promise, "neighbors", "replace-one")
    account = account_of(kind, neighbors)
    if not goes:
        with pytest.raises(TypeError, match=r"cannot turn|must say its delta"):
            clone(model).fit(X, y, account=account)
        assert not spent_in(account).any()
        return
    clone(model).fit(X, y, account=account)
    other = account_of(kind, neighbors)
    other.spend(charged(model, kind))
    assert_array_equal(spent_in(account), spent_in(other))
    assert spent_in(account).all(axis=0).any()


LEAVING = [(model, kind) for model, kind, goes in CELLS if goes]


@pytest.mark.parametrize(("model", "kind"), LEAVING, ids=str)
def test_whoever_cannot_pay_twice_is_left_out_or_stops_a_promise_to_all(model, kind):
    X, y = data()
    fitted = clone(model).fit(X, y)
    promise = fitted.guarantee_
    once = account_of(kind, promise.neighbors).convert(charged(fitted, kind))
    short = np.arange(PEOPLE) % 3 == 0
    times = np.where(short, 1.5, 4.0)
    if kind is RenyiDP:
        curves = np.broadcast_to(once.epsilon, (PEOPLE, len(RENYI_ORDERS)))
        budget = RenyiDP(RENYI_ORDERS, curves * times[:, None], neighbors=promise.neighbors)
    elif kind is ApproximateDP:
        delta = np.broadcast_to(getattr(once, "delta", 0.01), PEOPLE)
        budget = ApproximateDP(once.epsilon * times, 4 * delta, neighbors=promise.neighbors)
    else:
        (amounts,) = once._parameters().values()
        root = np.sqrt(times) if kind is GaussianDP else times
        budget = kind(amounts * root, neighbors=promise.neighbors)
    account = BudgetAccount(budget, leave_out=True)
    clone(model).fit(X, y, account=account)
    if promise.n is None:
        with pytest.raises(ValueError, match=r"^release refused, nothing recorded: person 0 asks"):
            clone(model).fit(X, y, account=account)
        return
    second = clone(model).fit(X, y, account=account).guarantee_
    sizes = next(reversed(second._parameters().values()))
    if isinstance(second, ApproximateDP):
        sizes = second.epsilon
    assert_array_equal(np.asarray(sizes) == 0, short)


# ------------------------------------------------------------------ what the page says
TITLES = ["pure", r"$(\varepsilon, \delta)$", "Gaussian", "concentrated", "Rényi"]


def rows_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    lines = [line for line in re.findall(r'"(\|.*?)\\n"', text) if "✓" in line or "PACReg" in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_has_the_table():
    """Each row names mechanisms, and ticks the kinds that one of their settings goes into."""
    assert "| mechanism | " + " | ".join(TITLES).replace("\\", "\\\\") + " |" in PAGE.read_text(
        encoding="utf-8"
    )
    tried = {(type(model).__name__, *kinds_of(model)) for model in MODELS}
    told = set()
    for mechanism, *ticks in rows_of_the_page():
        kinds = [kind for kind, tick in zip(KINDS, ticks, strict=True) if tick == "✓"]
        told |= {(name, *kinds) for name in re.findall(r"`(\w+)", mechanism)}
    assert told <= tried
    assert len({name for name, *_ in told}) >= 18  # a new mechanism may join; none may go
    assert {row for row in tried if row[0] in {name for name, *_ in told}} <= told
