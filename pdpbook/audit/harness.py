"""One audit for every mechanism: its own promise against the exact law of what it releases.

The promise is read off the fitted object, so a mechanism that promises too much is refuted as is
one that adds too little noise. PAC privacy speaks of no neighbors: its audit is an attack.
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
PLACES = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0])  # epsilons at which a delta is looked at
RELEASED = ("release_", "coef_", "intercept_", "mean_")  # what a fit publishes
LEAST = 1e-9  # a smaller delta counts as none: rounding of the densities


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

    A pure promise is held against the largest log-ratio of the densities, any other against both

    .. math:: \delta(\varepsilon) = \mathbb{E}_{o\sim P}\bigl(1 - e^{\varepsilon}
              q(o)/p(o)\bigr)_+

    at several places: in closed form for equal noise, by quadrature in one dimension, else by draws
    with a certified lower bound. An audit sees one pair: passing is no proof. See
    *foundations/audits*.

    Parameters
    ----------
    mechanism : estimator
        With ``fit``, ``guarantee_`` and ``output_law``; it is cloned.
    data, neighbor : pair of array_like
        ``(X, y)``, neighbors under the relation of the promise, in the mechanism's units.
    epsilon : float or array_like, optional
        Budgets handed to the mechanism; None is the constructor's.
    users : array_like, shape (n,), optional
        Owner of each row, for mechanisms that protect users.
    rng : Generator
    method : {"density", "samples", "fits"}, default "density"
        Compare the stated laws; count events among draws from them; or fit many times and count
        among what the fits publish, which trusts no formula and is slow.
    draws : int, optional
        On each data set; by default 20,000, or 200 for a pure promise by density, or 2,000 fits.
    false_alarm : float, default 1e-6
        Chance at most that a kept promise is refuted; 0 in closed form and point by point.

    Raises
    ------
    TypeError, ValueError
        If there is no promise, one of PAC privacy, or no law to look at; the data are no neighbors
        under the promise's relation (under "zero-out" none are), the promise depends on the data,
        or the draws are too few to refute anything.

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
    one, two = ((np.asarray(X, dtype=float), np.asarray(y)) for X, y in (data, neighbor))
    given = {k: v for k, v in (("epsilon", epsilon), ("users", users)) if v is not None}
    promise, other = (_promise(mechanism, *part, given) for part in (one, two))
    relation = promise.neighbors
    person = differing_person(one, two, relation, users=users)
    if promise != other:
        raise ValueError(
            "mechanism must promise the same on both data sets, or the promise depends on them; "
            f"got {promise} And: {other}"
        )
    names = type(mechanism).__name__, type(promise).__name__
    report = partial(MechanismAudit, *names, relation, person)
    kind = "pure" if method == "density" and isinstance(promise, PureDP) else method
    size = check.count(DRAWS[kind] if draws is None else draws, "draws")
    place = 0 if promise.n is None else person
    if method == "fits":
        first, second = (_fits(mechanism, *part, given, size, rng) for part in (one, two))
    else:
        p, q = (_law(mechanism, *part, given) for part in (one, two))
    if method == "samples":
        first, second = (rows_of(law.sample(size, rng=rng)) for law in (p, q))
    if method != "density":
        found = audit_samples(first, second, promise, person=place, false_alarm=alarm)
        return report("counts", found.delta, found.promised, found.epsilon, size, alarm)
    if isinstance(promise, PureDP):
        promised = float(np.ravel(promise.epsilon)[place])
        if hasattr(p, "largest_loss"):  # exactly, where a law knows it
            return report("largest loss", float(p.largest_loss(q)), promised, np.nan, 0, 0.0)
        loss = largest_loss(p, q, size, rng)
        return report("largest loss", loss, promised, np.nan, size, 0.0)
    how, attack, promised, where = _by_deltas(p, q, promise, place, size, rng, alarm)
    if how != "draws":
        size, alarm = 0, 0.0
    return report(how, attack, promised, where, size, alarm)


def differing_person(data: Data, neighbor: Data, relation: str, *, users: Any = None) -> int:
    """Find the one person in whom two data sets differ, and refuse what are no neighbors.

    The row that differs, of the longer data set under add-remove neighbors; for users, the place of
    the user among the sorted labels. The first one if the data sets are equal. Shapes that do not
    fit, more than one person who differs, or features where labels alone may, are a ValueError.

    Parameters
    ----------
    data, neighbor : pair of array_like
        ``(X, y)``, shapes (n, d) and (n,). Under add-remove neighbors one of them has a row less,
        and its other rows stand in the same order.
    relation : {"replace-one", "add-remove", "labels", "user", "user-labels"}
        As in `guarantees`; "zero-out" compares runs, not data sets.
    users : array_like, shape (n,), optional
        Owner of each row, for the last two relations; by default everybody owns one row.

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
    at = np.flatnonzero((X != other_X).any(axis=1))
    if relation in ("labels", "user-labels") and at.size:
        raise ValueError(f"{relation} neighbors differ in labels alone; X differs in row {at[0]}")
    rows = np.union1d(at, np.flatnonzero(y != other_y))
    owners = check_users(users if relation.startswith("user") else None, len(y)).codes
    who = np.unique(owners[rows])
    if len(who) > 1:
        raise ValueError(
            f"{relation} neighbors differ in one person; data and neighbor differ in {len(who)} "
            f"(rows {', '.join(map(str, rows[:10]))}{', ...' if len(rows) > 10 else ''})"
        )
    return int(who[0]) if len(who) else 0


def _removed_row(pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> int:
    more, fewer = sorted((np.column_stack(pair) for pair in pairs), key=len, reverse=True)
    if len(more) != len(fewer) + 1 or more.shape[1] != fewer.shape[1]:
        raise ValueError(
            "add-remove neighbors differ by one row; "
            f"got shapes {pairs[0][0].shape} and {pairs[1][0].shape}"
        )
    differs = (more[:-1] != fewer).any(axis=1)
    row = int(np.argmax(differs)) if differs.any() else len(fewer)
    if not np.array_equal(np.delete(more, row, axis=0), fewer):
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

    Of two attackers it shows the one who did best; see `membership_attack`. A promise of another
    kind is a TypeError, and draws too few for even a perfect attacker a ValueError. Statement
    ``prop-success-rate``, chapter *pac/membership*.

    Parameters
    ----------
    mechanism : PACRegression
        It is cloned, and calibrated on the pool.
    X : array_like, shape (n, d)
        Features of the public pool.
    y : array_like, shape (n,)
    target : int
        Who is attacked, a row.
    rng : Generator
    draws : int, default 1000
        Releases to learn from, and as many to attack.
    false_alarm : float, default 1e-6
        Chance at most that a ceiling that is kept is refuted, given the calibration.
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
    ceiling = float(np.broadcast_to(promise.success_rate, n)[check_target(target, n)])
    if (alarm / 2) ** (1 / size) <= ceiling:
        raise ValueError(
            f"{size} draws are too few to say anything: an attacker who is right every time would "
            f"not refute {ceiling:g} at false_alarm = {alarm:g}"
        )
    pool = model.pool(X, y)
    known = model.calibrate(pool, rng)
    release = GaussianRelease(known.center, known.covariance)
    game = partial(membership_attack, release, len(pool.y), target, shadows=size, trials=size)
    found = game(sample_rate=promise.sample_rate, confidence=1 - alarm, rng=rng)
    attack = max(found._scores(), key=lambda score: score.successes).interval[0]
    who = type(mechanism).__name__, "PACPrivacy", "membership", int(target)
    return MechanismAudit(*who, "attack", attack, ceiling, np.nan, size, alarm)


def _seeded(mechanism: Any, rng: np.random.Generator) -> Any:
    """A clone that draws from `rng`, unless it has a seed of its own: a seed is part of it."""
    model = clone(mechanism)
    if getattr(model, "random_state", 0) is None:
        model.set_params(random_state=rng)
    return model


def _promise(mechanism: Any, X: Floats, y: Any, given: dict[str, Any]) -> Promise:
    name = type(mechanism).__name__
    if not hasattr(mechanism, "fit"):
        raise TypeError(f"mechanism must be an estimator with fit and guarantee_; got {name}")
    takes = inspect.signature(mechanism.fit).parameters
    for argument in given:
        if argument not in takes:
            raise TypeError(f"{argument} must be None for {name}, whose fit does not take it")
    promise = getattr(clone(mechanism).fit(X, y, **given), "guarantee_", None)
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
    if promise.neighbors == "add-remove" and np.ndim(given.get("epsilon", 0.0)):
        raise ValueError("epsilon must be a number under add-remove neighbors")
    return promise


def _law(mechanism: Any, X: Floats, y: Any, given: dict[str, Any]) -> Any:
    if not hasattr(mechanism, "output_law"):
        raise TypeError(
            f"mechanism must have output_law; {type(mechanism).__name__} has none: method='fits'"
        )
    return clone(mechanism).output_law(X, y, **given)


def _fits(
    mechanism: Any, X: Floats, y: Any, given: dict[str, Any], draws: int, rng: np.random.Generator
) -> Floats:
    model, out = _seeded(mechanism, rng), []
    for _ in range(draws):
        fitted = vars(model.fit(X, y, **given))
        out.append(np.concatenate([np.ravel(fitted[name]) for name in RELEASED if name in fitted]))
    return np.array(out, dtype=float)


def _by_deltas(
    p: Any, q: Any, promise: Promise, who: int, draws: int, rng: np.random.Generator, alarm: float
) -> tuple[str, float, float, float]:
    """How, and the delta that exceeds its promise most, what was promised there, and where."""
    places, promised = promised_deltas(promise, PLACES, who)
    how, deltas = pair_deltas(p, q, places, draws, rng, alarm)
    surest = delta_lower_bound(np.ones(draws), alarm / (2 * len(places)))
    if how == "draws" and surest <= promised.min():
        raise ValueError(
            f"{draws} draws are too few to say anything: even a certain giveaway would not "
            f"refute this promise at false_alarm = {alarm:g}"
        )
    deltas = np.where(deltas > LEAST, deltas, 0.0)
    excess = deltas - promised * (1 + SLACK)
    share = deltas / np.maximum(promised, 1e-300)
    worst = int(np.argmax(excess if np.any(excess > 0) else share))
    return how, float(deltas[worst]), float(promised[worst]), float(places[worst])
