"""Composition of promises and their sums over groups, and numbers that compare promises."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.guarantees.promises import (
    RENYI_ORDERS,
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    Promise,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    check_orders,
    log_factor,
)


def compose(*promises: Promise) -> Promise:
    """Return what several releases about the same people promise together.

    Pure epsilons add; so do the epsilons and the deltas of approximate promises (simple
    composition), the rhos of concentrated ones, and Renyi curves, order by order, on one grid; mus
    add as squares. A number serves everybody. Pure promises join any of the other kinds by their
    own theorem (as (epsilon, 0), `to_zcdp`, `to_gaussian`, `to_renyi`), Gaussian ones join
    concentrated ones by `to_zcdp`, and both join Renyi curves by `to_renyi`. What is added are the
    decimals that the numbers print as, exactly, and the sum is rounded up: 0.1 and 0.4 are 0.5, as
    in an account. A later mechanism may look at earlier outputs if its promise holds whatever they
    were. Hand in all at once: a sum of pure promises converted afterwards promises less. A missing
    theorem is a TypeError.

    Parameters
    ----------
    *promises : Promise
        At least one; all under one relation, and of one length or with one number for all.
    """
    _refuse_to_compose(promises)
    relation = promises[0].neighbors
    kinds = {type(p) for p in promises}
    if all(isinstance(p, PureDP) for p in promises):
        return PureDP(_total(p._parameters()["epsilon"] for p in promises), neighbors=relation)
    if ApproximateDP in kinds:
        for kind in kinds - {PureDP, ApproximateDP}:
            way_out = f". Turn the {kind.__name__} with to_approximate(delta) first"
            next(p for p in promises if type(p) is ApproximateDP)._refuse(kind, way_out)
        epsilon = _total(p._parameters()["epsilon"] for p in promises)
        delta = _total(p.delta for p in promises if isinstance(p, ApproximateDP))
        return ApproximateDP(epsilon, delta, neighbors=relation)
    if RenyiDP in kinds:
        orders = next(p.orders for p in promises if isinstance(p, RenyiDP))
        curve = _total(p.to_renyi(orders).epsilon for p in promises)
        return RenyiDP(orders, curve, neighbors=relation)
    if ZeroConcentratedDP in kinds:
        return ZeroConcentratedDP(_total(p.to_zcdp().rho for p in promises), neighbors=relation)
    mu = _total((p.to_gaussian().mu for p in promises), 2)
    return GaussianDP(mu, neighbors=relation)


def _refuse_to_compose(promises: Collection[Any]) -> None:
    """Raise if these are no promises, of two relations, or to different numbers of people."""
    if not promises:
        raise ValueError("compose needs at least one promise; got none")
    for promise in promises:
        if not isinstance(promise, Promise):
            raise TypeError(f"compose takes promises; got {promise!r}")
        if isinstance(promise, PACPrivacy):
            promise._refuse(ApproximateDP)
    relations = [promise.neighbors for promise in promises]
    for promise in promises:
        if promise.neighbors != relations[0]:
            raise ValueError(missing_relation(relations[0], promise.neighbors))
    lengths = {p.n for p in promises if p.n is not None}
    if len(lengths) > 1:
        raise ValueError(
            f"cannot compose promises to {' and '.join(map(str, sorted(lengths)))} people: "
            "no theorem says who of one list is who of the other"
        )


def group(promise: PureDP, members: Iterable[int]) -> float:
    """Return the epsilon that a pure promise gives to several people who act as one: their sum.

    In nats, rounded up, and 0 for no members. It holds since the records of the members can change
    one after the other, and the factors e^epsilon multiply.

    Parameters
    ----------
    promise : PureDP
        Of any relation; the record of each member changes by that relation, once.
    members : iterable of int
        Positions of different people, counted from 0.
    """
    if not isinstance(promise, PureDP):
        raise TypeError(f"promise must be a PureDP; got {promise!r}")
    who = [check.count(i, "members", minimum=0) for i in members]
    are_different = len(set(who)) == len(who)
    are_here = promise.n is None or all(i < promise.n for i in who)
    if not (are_different and are_here):
        raise ValueError(f"members must be different people below n = {promise.n}; got {who}")
    n = promise.n or max(who, default=0) + 1
    epsilon = np.broadcast_to(promise.epsilon, (n,))
    return _root_of_sum(epsilon[who].tolist(), 1)


def renyi_budget(promise: ApproximateDP, order: float, orders: ArrayLike = RENYI_ORDERS) -> RenyiDP:
    r"""Renyi budget at one order, chosen in advance, that implies an (epsilon, delta) promise.

    .. math:: \varepsilon_\alpha = \varepsilon + \frac1{\alpha - 1}
              \log\frac{\delta\,(\alpha - 1)}{(1 - 1/\alpha)^\alpha}

    at `order`, rounded down, and infinity at all others, which then bind nobody. For an account:
    ``BudgetAccount(renyi_budget(promise, order))``. If the order is chosen by what was released, or
    is any at which the budget is not exceeded in the end, the promise may break:
    ``prop-order-in-advance``, chapter *per_instance/accounts*. Whoever has epsilon and delta 0 has
    0 at all orders.

    Parameters
    ----------
    promise : ApproximateDP
        What is to hold for all releases together, to all or to each person.
    order : float
        One of the grid. `RenyiDP.best_order` finds it for the curve of planned releases.
    orders : array_like, shape (k,), default RENYI_ORDERS
        The public grid of the curves that are to be added.

    Examples
    --------
    >>> budget = renyi_budget(ApproximateDP(1.0, 1e-5, neighbors="user"), 24, [16, 24, 32])
    >>> budget.epsilon.round(2)
    array([ inf, 0.68,  inf])
    """
    if not isinstance(promise, ApproximateDP):
        raise TypeError(f"promise must be an ApproximateDP; got {promise!r}")
    grid = check_orders(orders)
    order = check.number(order, "order")
    if order not in grid:
        raise ValueError(f"order must be one of orders; got {order:g}")
    epsilon, delta = np.broadcast_arrays(promise.epsilon, promise.delta)
    is_participant = delta > 0
    log_delta = np.log(np.where(is_participant, delta, 1.0))
    budget = epsilon + (log_delta - log_factor(order)) / (order - 1)
    rounding = 1e-15 * (epsilon + (np.abs(log_delta) + abs(log_factor(order))) / (order - 1))
    rounded_down = budget - rounding
    if not (np.where(is_participant, rounded_down, 1.0) > 0).all():
        raise ValueError(
            "order must be larger, or else epsilon: at this order delta alone uses the whole "
            f"budget of somebody; got {order:g}"
        )
    curve = np.full((*epsilon.shape, len(grid)), math.inf)
    curve[..., grid == order] = rounded_down[..., np.newaxis]
    curve[~is_participant] = 0.0
    return RenyiDP(grid, curve, neighbors=promise.neighbors)


def missing_relation(first: str, second: str) -> str:
    """Return the error for promises against two relations, with what can be done about it."""
    both = f"cannot compose a promise against {first!r} with one against {second!r}"
    missing = f"{both}: it takes a theorem that turns one relation into the other"
    removal = {first, second} - {"replace-one"}
    if len(removal) > 1 or not removal <= {"add-remove", "zero-out"}:
        return missing
    twice = f"restate {removal.pop()} as replace-one, at twice the epsilon"
    return f"{missing} (a replacement is a removal and an addition: {twice})"


def _total(values: Iterable[Any], power: int = 1) -> Any:
    """Return sums over promises, entry by entry, of powers of their parameters, and its root."""
    arrays = np.broadcast_arrays(*values)
    columns = [np.ravel(array).tolist() for array in arrays]
    people = list(zip(*columns, strict=True))
    sums = {amounts: _root_of_sum(amounts, power) for amounts in set(people)}
    totals = [sums[amounts] for amounts in people]
    if arrays[0].ndim == 0:
        return totals[0]
    return np.reshape(totals, arrays[0].shape)


def _root_of_sum(amounts: Collection[float], power: int) -> float:
    """Return the least float whose decimal is not below the root of the sum of powers."""
    if math.inf in amounts:
        return math.inf
    total = sum((decimal(amount) ** power for amount in amounts), Fraction(0))
    try:
        near = root(total, power)
    except OverflowError:  # beyond all floats: no promise takes it
        return math.inf
    while near < math.inf and decimal(near) ** power < total:
        near = math.nextafter(near, math.inf)
    while near and decimal(math.nextafter(near, 0.0)) ** power >= total:
        near = math.nextafter(near, 0.0)
    return near


def decimal(value: float) -> Fraction:
    """Return exactly the decimal that a float prints as: the number that somebody wrote down."""
    return Fraction(repr(float(value)))


def root(value: Fraction | float, power: int) -> float:
    """Return a float next to the root of a value, for power 1 or 2; a float is infinity.

    A square root is computed with whole numbers, which do not overflow: of value * 4^shift, where
    the shift gives the root about 64 binary digits.
    """
    if power == 1 or not value or isinstance(value, float):
        return float(value)
    digits = value.numerator.bit_length() - value.denominator.bit_length()
    shift = 64 - digits // 2
    whole = math.isqrt(int(value * Fraction(4) ** shift))
    return float(Fraction(whole) / Fraction(2) ** shift)


def half_budget(epsilon: ArrayLike, delta: float = 0.0) -> tuple[Any, Any]:
    r"""Budgets under add-remove neighbors that imply (epsilon, delta) when a record is replaced.

    .. math:: \Bigl(\frac\varepsilon2,\ \frac{\delta}{1 + e^{\varepsilon/2}}\Bigr)

    Statement ``prop-even-odds``, part 2, chapter *synthesis/one_dataset*. For promises about
    adding, removing or zeroing out a record: a replacement is a removal and an addition
    (``fact-group``, chapter *per_instance/definitions*). Returns both, in the shape of `epsilon`,
    rounded down.

    Parameters
    ----------
    epsilon : array_like, in nats, of any shape
        Budgets against replacing a record.
    delta : float in [0, 1), default 0.0
    """
    whole = np.asarray(check.positive(epsilon, "epsilon"))
    was_rounded_up = 2 * (whole / 2) > whole  # among the smallest floats
    half = np.where(was_rounded_up, np.nextafter(whole / 2, 0.0), whole / 2)
    with np.errstate(over="ignore"):
        half_delta = check.delta(delta, zero=True) / (1 + np.exp(half))
    return half[()], np.nextafter(half_delta * (1 - 1e-15), 0.0)[()]


def success_rate(promise: Promise) -> Any:
    r"""Ceiling that a promise puts on guesses between two neighbors, with even odds.

    .. math:: \tfrac12(1 + \delta(0))

    Rounded up. For PAC privacy it is the ceiling that is promised, an average over halves of a
    pool. Statement ``prop-even-odds``, part 1, chapter *synthesis/one_dataset*. Returns a number,
    or an array with one for each person.

    Parameters
    ----------
    promise : Promise

    Examples
    --------
    >>> round(success_rate(PureDP(1.0, neighbors="replace-one")), 3)
    0.731
    """
    if isinstance(promise, PACPrivacy):
        return promise.success_rate
    rate = np.nextafter((1 + promise.profile(0.0)) / 2, 1.0)
    return rate if promise.n is not None else float(rate)
