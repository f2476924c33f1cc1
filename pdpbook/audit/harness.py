"""One audit for every mechanism: its promise against the exact law of what it releases.

The promise is read off the fitted object, so both bugs are refuted: a promise that is too strong
and noise that is too small. A promise of PAC privacy is about no neighbors: its audit is an attack.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from pdpbook import Floats, check
from pdpbook.audit.density import SLACK, MechanismAudit, largest_loss
from pdpbook.audit.membership import GaussianRelease, check_target, membership_attack
from pdpbook.audit.samples import (
    audit_samples,
    delta_lower_bound,
    pair_deltas,
    promised_deltas,
    rows_of,
)
from pdpbook.guarantees import PACPrivacy, PureDP
from pdpbook.guarantees.promises import Promise
from pdpbook.users import check_users

Data = tuple[ArrayLike, ArrayLike]
RELATIONS = ("replace-one", "add-remove", "labels", "user", "user-labels")
METHODS = ("density", "samples", "fits")
DRAWS = {"pure": 200, "density": 20_000, "samples": 20_000, "fits": 2000}
PLACES = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0])  # epsilons whose deltas are compared
RELEASED = ("release_", "coef_", "intercept_", "mean_")  # attributes that a fit publishes
SMALLEST_DELTA = 1e-9  # a smaller one counts as 0: it may be rounding of the densities
NO_DIVISION_BY_ZERO = 1e-300


def audit_mechanism(
    mechanism: Any,
    data: Data,
    neighbor: Data,
    *,
    epsilon: Any = None,
    users: Any = None,
    rng: np.random.Generator,
    method: str = "density",
    draws: int | None = None,
    false_alarm: float = 1e-6,
) -> MechanismAudit:
    r"""Try to refute the promise that a mechanism makes, on one pair of neighbors.

    A pure promise is compared with the largest log-ratio of the densities, any other with both

    .. math:: \delta(\varepsilon) = \mathbb{E}_{o\sim P}\bigl(1 - e^{\varepsilon}
              q(o)/p(o)\bigr)_+

    at several epsilons: in closed form for equal noise, by quadrature in one dimension, else by
    draws with a certified lower bound. An audit looks at one pair: passing is no proof. See
    *foundations/audits*.

    Parameters
    ----------
    mechanism : estimator
        With ``fit``, ``guarantee_`` and ``output_law``; it is cloned.
    data, neighbor : pair of array_like
        ``(X, y)``, neighbors under the relation of the promise, in the mechanism's units.
    epsilon : float or array_like, optional
        Budgets passed to `fit`; by default those of the constructor.
    users : array_like, shape (n,), optional
        Owner of each row, for mechanisms that protect users.
    rng : Generator
    method : {"density", "samples", "fits"}, default "density"
        Compare the stated laws; count events among draws from them; or fit many times and count
        among what the fits publish, which trusts no formula and is slow.
    draws : int, optional
        On each data set; by default 20,000, or 200 for a pure promise by density, or 2,000 fits.
    false_alarm : float, default 1e-6
        Chance at most that a true promise is refuted; it is 0 in closed form and point by point.

    Raises
    ------
    TypeError
        If there is no promise, one of PAC privacy, or no law to compare.
    ValueError
        If the data are no neighbors under the promise's relation (under "zero-out" none are), the
        promise depends on the data, or the draws are too few to refute anything.

    Examples
    --------
    >>> from pdpbook.personalized import PersonalizedMean
    >>> one, two = ([[0.0], [0.0]], [1, -1]), ([[0.0], [0.0]], [1, 1])
    >>> found = audit_mechanism(PersonalizedMean(), one, two, rng=np.random.default_rng(0))
    >>> found.passed, round(found.ratio, 6)
    (True, 1.0)
    """
    check.rng(rng)
    check.choice(method, "method", METHODS)
    alarm = check.delta(false_alarm, "false_alarm")
    one = (np.asarray(data[0], dtype=float), np.asarray(data[1]))
    two = (np.asarray(neighbor[0], dtype=float), np.asarray(neighbor[1]))
    fit_arguments = {"epsilon": epsilon, "users": users}
    fit_arguments = {name: value for name, value in fit_arguments.items() if value is not None}

    promise = _promise(mechanism, *one, fit_arguments)
    promise_of_neighbor = _promise(mechanism, *two, fit_arguments)
    relation = promise.neighbors
    person = differing_person(one, two, relation, users=users)
    if promise != promise_of_neighbor:
        raise ValueError(
            "mechanism must promise the same on both data sets, or the promise depends on them; "
            f"got {promise} And: {promise_of_neighbor}"
        )
    report = partial(
        MechanismAudit, type(mechanism).__name__, type(promise).__name__, relation, person
    )
    kind = "pure" if method == "density" and isinstance(promise, PureDP) else method
    size = check.count(DRAWS[kind] if draws is None else draws, "draws")
    column = 0 if promise.n is None else person

    if method == "fits":
        first = _fits(mechanism, *one, fit_arguments, size, rng)
        second = _fits(mechanism, *two, fit_arguments, size, rng)
    else:
        p = _law(mechanism, *one, fit_arguments)
        q = _law(mechanism, *two, fit_arguments)
    if method == "samples":
        first = rows_of(p.sample(size, rng=rng))
        second = rows_of(q.sample(size, rng=rng))
    if method != "density":
        found = audit_samples(first, second, promise, person=column, false_alarm=alarm)
        return report("counts", found.delta, found.promised, found.epsilon, size, alarm)

    if isinstance(promise, PureDP):
        promised = float(np.ravel(promise.epsilon)[column])
        if hasattr(p, "largest_loss"):  # a law that knows it exactly
            return report("largest loss", float(p.largest_loss(q)), promised, np.nan, 0, 0.0)
        loss = largest_loss(p, q, size, rng)
        return report("largest loss", loss, promised, np.nan, size, 0.0)
    how, delta, promised, place = _by_deltas(p, q, promise, column, size, rng, alarm)
    if how != "draws":
        size = 0
        alarm = 0.0
    return report(how, delta, promised, place, size, alarm)


def differing_person(data: Data, neighbor: Data, relation: str, *, users: Any = None) -> int:
    """Return the one person in whom two neighbors differ, or raise if they are no neighbors.

    It is the number of the row that differs, of the longer data set under add-remove neighbors; for
    users, the place of the user among the sorted labels; 0 if the data sets are equal. Shapes that
    do not fit, more than one person who differs, or features that differ where only labels may,
    raise ValueError.

    Parameters
    ----------
    data, neighbor : pair of array_like
        ``(X, y)``, shapes (n, d) and (n,). Under add-remove neighbors one of them has a row less,
        and its other rows stand in the same order.
    relation : {"replace-one", "add-remove", "labels", "user", "user-labels"}
        As in `guarantees`; "zero-out" compares runs, not data sets.
    users : array_like, shape (n,), optional
        Owner of each row, for the last two relations; by default each row is one user.

    Examples
    --------
    >>> differing_person(([[0.0], [1.0]], [0, 1]), ([[0.0]], [0]), "add-remove")
    1
    """
    check.choice(relation, "relation", RELATIONS)
    pairs = [(np.asarray(X), np.asarray(y)) for X, y in (data, neighbor)]
    for X, y in pairs:
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ValueError(
                "data and neighbor must be pairs of X with shape (n, d) and y with shape (n,); "
                f"got {X.shape} and {y.shape}"
            )
    if relation == "add-remove":
        return _removed_row(pairs)
    (X, y), (other_X, other_y) = pairs
    if X.shape != other_X.shape:
        raise ValueError(
            f"{relation} neighbors have equally many rows and columns; "
            f"got shapes {X.shape} and {other_X.shape}"
        )
    changed = np.flatnonzero((X != other_X).any(axis=1))
    if relation in ("labels", "user-labels") and changed.size:
        raise ValueError(
            f"{relation} neighbors differ in labels alone; X differs in row {changed[0]}"
        )
    rows = np.union1d(changed, np.flatnonzero(y != other_y))
    owners = check_users(users if relation.startswith("user") else None, len(y)).codes
    who = np.unique(owners[rows])
    if len(who) > 1:
        some_rows = ", ".join(str(row) for row in rows[:10])
        more = ", ..." if len(rows) > 10 else ""
        raise ValueError(
            f"{relation} neighbors differ in one person; data and neighbor differ in {len(who)} "
            f"(rows {some_rows}{more})"
        )
    return int(who[0]) if len(who) else 0


def _removed_row(pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> int:
    """Return the row of the longer table that is missing in the other, or raise."""
    tables = [np.column_stack(pair) for pair in pairs]
    longer, shorter = sorted(tables, key=len, reverse=True)
    if len(longer) != len(shorter) + 1 or longer.shape[1] != shorter.shape[1]:
        raise ValueError(
            "add-remove neighbors differ by one row; "
            f"got shapes {pairs[0][0].shape} and {pairs[1][0].shape}"
        )
    differs = (longer[:-1] != shorter).any(axis=1)
    row = int(np.argmax(differs)) if differs.any() else len(shorter)
    if not np.array_equal(np.delete(longer, row, axis=0), shorter):
        raise ValueError(
            "add-remove neighbors are equal but for one row that is missing; "
            f"more differs here, from row {row} on"
        )
    return row


def audit_members(
    mechanism: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    target: int,
    rng: np.random.Generator,
    draws: int = 1000,
    false_alarm: float = 1e-6,
) -> MechanismAudit:
    """Try to refute a promise of PAC privacy, by the membership game against one person.

    The result is that of the better of two attackers; see `membership_attack`. A promise of another
    kind raises TypeError; draws that are too few for even a perfect attacker raise ValueError.
    Statement ``prop-success-rate``, chapter *pac/membership*.

    Parameters
    ----------
    mechanism : PACRegression
        An estimator with a promise of PAC privacy; it is cloned, and calibrated on the pool.
    X : array_like, shape (n, d)
        Features of the public pool.
    y : array_like, shape (n,)
    target : int
        The row of the person who is attacked.
    rng : Generator
    draws : int, default 1000
        Releases to learn from, and as many to attack.
    false_alarm : float, default 1e-6
        Chance at most that a true ceiling is refuted, given the calibration.
    """
    check.rng(rng)
    alarm = check.delta(false_alarm, "false_alarm")
    size = check.count(draws, "draws", minimum=10)
    model = _seeded(mechanism, rng).fit(X, y)
    promise = getattr(model, "guarantee_", None)
    if not isinstance(promise, PACPrivacy):
        raise TypeError(
            f"mechanism must promise PAC privacy; {type(mechanism).__name__} promises "
            f"{type(promise).__name__}. Use audit_mechanism"
        )
    n = len(np.asarray(y))
    ceilings = np.broadcast_to(promise.success_rate, n)
    ceiling = float(ceilings[check_target(target, n)])
    lower_end_if_always_right = (alarm / 2) ** (1 / size)  # of Clopper and Pearson's interval
    if lower_end_if_always_right <= ceiling:
        raise ValueError(
            f"{size} draws are too few to say anything: an attacker who is right every time would "
            f"not refute {ceiling:g} at false_alarm = {alarm:g}"
        )
    pool = model.pool(X, y)
    calibrated = model.calibrate(pool, rng)
    outcome = membership_attack(
        GaussianRelease(calibrated.center, calibrated.covariance),
        len(pool.y),
        target,
        rng=rng,
        sample_rate=promise.sample_rate,
        shadows=size,
        trials=size,
        confidence=1 - alarm,
    )
    better = max(outcome._scores(), key=lambda score: score.successes)
    return MechanismAudit(
        mechanism=type(mechanism).__name__,
        promise="PACPrivacy",
        neighbors="membership",
        person=int(target),
        how="attack",
        attack=better.interval[0],
        promised=ceiling,
        epsilon=np.nan,
        draws=size,
        false_alarm=alarm,
    )


def _seeded(mechanism: Any, rng: np.random.Generator) -> Any:
    """Return a clone that draws from `rng`, unless it has a seed, which is one of its settings."""
    model = clone(mechanism)
    if getattr(model, "random_state", 0) is None:
        model.set_params(random_state=rng)
    return model


def _promise(mechanism: Any, X: Floats, y: Any, fit_arguments: dict[str, Any]) -> Promise:
    """Return what a fit promises about neighbors, or raise where there is no such promise."""
    name = type(mechanism).__name__
    if not hasattr(mechanism, "fit"):
        raise TypeError(f"mechanism must be an estimator with fit and guarantee_; got {name}")
    parameters = inspect.signature(mechanism.fit).parameters
    for argument in fit_arguments:
        if argument not in parameters:
            raise TypeError(f"{argument} must be None for {name}, whose fit does not take it")
    fitted = clone(mechanism).fit(X, y, **fit_arguments)
    promise = getattr(fitted, "guarantee_", None)
    if isinstance(promise, PACPrivacy):
        raise TypeError(
            f"mechanism must make a promise about neighbors; {name} promises PAC privacy, an "
            "average over data sets. Use audit_members or membership_attack"
        )
    if not isinstance(promise, Promise):
        raise TypeError(
            f"mechanism must leave a promise in guarantee_; {name} left {promise!r}, so there is "
            "nothing to refute"
        )
    if promise.neighbors == "zero-out":
        raise ValueError(
            f"mechanism must promise something about two data sets; that of {name} is about a "
            "person who adds nothing to any step, with the number of people public. Give that "
            "number as n_public and remove the row: q, T and the noise are then the same"
        )
    if promise.neighbors == "add-remove" and np.ndim(fit_arguments.get("epsilon", 0.0)):
        raise ValueError("epsilon must be a number under add-remove neighbors")
    return promise


def _law(mechanism: Any, X: Floats, y: Any, fit_arguments: dict[str, Any]) -> Any:
    """Return the law of the release that a mechanism states, or raise if it states none."""
    if not hasattr(mechanism, "output_law"):
        raise TypeError(
            f"mechanism must have output_law; {type(mechanism).__name__} has none. "
            "Pass method='fits'"
        )
    return clone(mechanism).output_law(X, y, **fit_arguments)


def _fits(
    mechanism: Any,
    X: Floats,
    y: Any,
    fit_arguments: dict[str, Any],
    draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Return what many fits publish, shape (draws, m)."""
    model = _seeded(mechanism, rng)
    releases = []
    for _ in range(draws):
        fitted = vars(model.fit(X, y, **fit_arguments))
        published = [np.ravel(fitted[name]) for name in RELEASED if name in fitted]
        releases.append(np.concatenate(published))
    return np.array(releases, dtype=float)


def _by_deltas(
    p: Any,
    q: Any,
    promise: Promise,
    person: int,
    draws: int,
    rng: np.random.Generator,
    alarm: float,
) -> tuple[str, float, float, float]:
    """Return how deltas were found, and the one that most exceeds its promise, with that and place.

    Where none exceeds its promise, it is the delta with the largest share of its promise.
    """
    places, promised = promised_deltas(promise, PLACES, person)
    how, deltas = pair_deltas(p, q, places, draws, rng, alarm)
    bound_of_certain_event = delta_lower_bound(np.ones(draws), alarm / (2 * len(places)))
    if how == "draws" and bound_of_certain_event <= promised.min():
        raise ValueError(
            f"{draws} draws are too few to say anything: even an event that is certain under one "
            "data set and impossible under the other would not refute this promise at "
            f"false_alarm = {alarm:g}"
        )
    deltas = np.where(deltas > SMALLEST_DELTA, deltas, 0.0)
    excess = deltas - promised * (1 + SLACK)
    if np.any(excess > 0):
        worst = int(np.argmax(excess))
    else:
        worst = int(np.argmax(deltas / np.maximum(promised, NO_DIVISION_BY_ZERO)))
    return how, float(deltas[worst]), float(promised[worst]), float(places[worst])
