"""What several promises add up to: composition, groups, an account; and promises on one scale.

Every refusal says which theorem is missing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook._extras import extra, of_pandas
from pdpbook.guarantees.promises import (
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    Promise,
    PureDP,
    ZeroConcentratedDP,
)


def compose(*promises: Promise) -> Promise:
    """Return what several releases about the same people promise together.

    Pure epsilons add; so do the epsilons and the deltas of approximate promises (simple
    composition), and the rhos of concentrated ones; mus add as squares. A number serves everybody.
    Pure promises join any of the other kinds by their own theorem (as (epsilon, 0), `to_zcdp`,
    `to_gaussian`), Gaussian ones join concentrated ones by `to_zcdp`. A later mechanism may look
    at earlier outputs if its promise holds whatever they were. Hand in all at once: a sum of pure
    promises that is converted afterwards promises less.

    Parameters
    ----------
    *promises : Promise
        At least one; all under one relation, and of one length or with one number for all.

    Returns
    -------
    Promise
        Of the kind that all of them were brought to, under the same relation.

    Raises
    ------
    TypeError
        If no theorem brings the kinds together; the error says which is missing.
    ValueError
        If relations or lengths differ, or the deltas add up to 1.
    """
    if not promises:
        raise ValueError("compose needs at least one promise; got none")
    for promise in promises:
        if not isinstance(promise, Promise):
            raise TypeError(f"compose takes promises; got {promise!r}")
        if isinstance(promise, PACPrivacy):
            promise._refuse(ApproximateDP)
    relation = promises[0].neighbors
    if other := [p.neighbors for p in promises if p.neighbors != relation]:
        raise ValueError(_missing_relation(relation, other[0]))
    lengths = {p.n for p in promises if p.n is not None}
    if len(lengths) > 1:
        raise ValueError(
            f"cannot compose promises to {' and '.join(map(str, sorted(lengths)))} people: "
            "no theorem says who of one list is who of the other"
        )
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
    if ZeroConcentratedDP in kinds:
        return ZeroConcentratedDP(_total(p.to_zcdp().rho for p in promises), neighbors=relation)
    squares = _total(p.to_gaussian().mu ** 2 for p in promises)
    return GaussianDP(np.sqrt(squares), neighbors=relation)


def group(promise: PureDP, members: Iterable[int]) -> float:
    """Return the epsilon that a pure promise gives to several people who act as one: their sum.

    From one data set to the other, change one member at a time: the factors multiply.

    Parameters
    ----------
    promise : PureDP
        Of any relation; the group changes by that relation, each member once.
    members : iterable of int
        Positions of different people, counted from 0.

    Returns
    -------
    float
        In nats; 0 for no members.
    """
    if not isinstance(promise, PureDP):
        raise TypeError(f"promise must be a PureDP; got {promise!r}")
    who = [check.count(i, "members", minimum=0) for i in members]
    if len(set(who)) < len(who) or (promise.n is not None and any(i >= promise.n for i in who)):
        raise ValueError(f"members must be different people below n = {promise.n}; got {who}")
    each = np.broadcast_to(promise.epsilon, (promise.n or max(who, default=0) + 1,))
    return math.fsum(each[who])


class BudgetAccount:
    """A pure budget for each person, over several releases; the one that overspends is refused.

    Every amount is read as the decimal that it prints as, and added exactly: three times 0.1
    fills 0.3 and leaves 0, and nothing that was written as more than the budget ever passes. The
    price is that rounding counts as written, too: ``2 * 3 * 0.1`` prints as 0.6000000000000001
    and does not fit into 0.6, nor fifteen times ``1 / 15`` into 1. Round such amounts, or spend
    ``remaining``.

    An account is one object: a copy would not know what the original spends, nor the other way
    round, so it refuses to be copied or pickled, as fits in other processes (`n_jobs` above 1) do.

    Parameters
    ----------
    epsilon : array_like or mapping
        Budgets in nats: a number above 0; shape (n,), one for each person; or by person: a mapping,
        or a Series, whose index then says who they are.
    neighbors : str
        The relation of every release, as in `PureDP`.

    Examples
    --------
    >>> account = BudgetAccount([0.3, 1.0], neighbors="replace-one")
    >>> account.spend(PureDP([0.1, 0.5], neighbors="replace-one"))
    >>> account.remaining
    array([0.2, 0.5])
    """

    def __init__(self, epsilon: Any, *, neighbors: str) -> None:
        self.people: Any = None  #: their index, if the budgets said who they are
        if isinstance(epsilon, Mapping) or of_pandas(epsilon, "Series"):
            named = extra("pandas").Series(epsilon)
            if not named.index.is_unique:
                twice = named.index[named.index.duplicated()][0]
                raise ValueError(f"epsilon must have one budget for each person; two for {twice!r}")
            self.people, epsilon = named.index, named.to_numpy()
        self.budget = PureDP(epsilon, neighbors=neighbors)
        self._spent = [Fraction(0)] * (self.budget.n or 1)
        self._lock, self._process = Lock(), os.getpid()

    @property
    def spent(self) -> Any:
        """What each person has spent so far, a number or shape (n,)."""
        return self._shaped(float(s) for s in self._spent)

    @property
    def remaining(self) -> Any:
        """What each person can still spend, rounded down, so that spending it is never refused."""
        left = zip(_exact(self.budget.epsilon), self._spent, strict=True)
        return self._shaped(_float_below(budget - spent) for budget, spent in left)

    def spend(self, promise: Promise, *, people: Any = None) -> None:
        """Record the promise of one more release, or raise and record nothing.

        Parameters
        ----------
        promise : PureDP
            Of the relation of the account, for its people or one number for all.
        people : array_like, optional
            Who the people of the promise are, where the account names its own: each of them once,
            and nobody else. None means all people of the account, in its order.

        Raises
        ------
        TypeError
            If the promise is not pure.
        ValueError
            If its relation or length differs, or it would overspend: the error names the people
            and the amounts.
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                "an account must be spent in the process that opened it: what a fork spends, the "
                "original would not know"
            )
        if not isinstance(promise, PureDP):
            if isinstance(promise, Promise):
                promise._refuse(PureDP, "; this account adds up pure promises alone")
            raise TypeError(f"promise must be a PureDP; got {promise!r}")
        if promise.neighbors != self.budget.neighbors:
            raise ValueError(_missing_relation(self.budget.neighbors, promise.neighbors))
        n = self.budget.n
        amounts = promise.epsilon if people is None else self._of_each(promise, people)
        if np.ndim(amounts) and (got := len(amounts)) != n:
            kept = "one budget for all" if n is None else f"budgets of {n} people"
            raise ValueError(f"promise must fit the account, {kept}; got one to {got} people")
        with self._lock:
            self._record(_exact(np.broadcast_to(amounts, (n or 1,))))

    def _of_each(self, promise: PureDP, people: Any) -> Any:
        """What everybody in the account is asked for: 0 for those the promise does not name."""
        if self.people is None:
            raise ValueError("people must be None: the account does not say who its people are")
        who = extra("pandas").Index(people)
        if promise.n not in (None, len(who)):
            raise ValueError(f"people must be the {promise.n} of the promise; got {len(who)}")
        asked = np.broadcast_to(promise.epsilon, (len(who),))
        who, asked = who[asked > 0], asked[asked > 0]
        places = self.people.get_indexer(who)
        if not who.is_unique or (places < 0).any():
            wrong = who[who.duplicated() | (places < 0)][0]
            missing = f"it has no budget of its own for {wrong!r}"
            raise ValueError(f"account must be of the people in the data; {missing}")
        amounts = np.zeros(len(self.people))
        amounts[places] = asked
        return amounts

    def _record(self, asked: list[Fraction]) -> None:
        budget = _exact(self.budget.epsilon)
        after = [s + a for s, a in zip(self._spent, asked, strict=True)]
        over = [i for i, total in enumerate(after) if total > budget[i]]
        if over:
            left = np.atleast_1d(self.remaining)
            named = [
                f"{self._name(i)} asks {float(asked[i])!r} and has {float(left[i])!r} left"
                for i in over[:5]
            ]
            more = f", and {len(over) - 5} more" if len(over) > 5 else ""
            raise ValueError(f"release refused, nothing recorded: {'; '.join(named)}{more}")
        self._spent = after

    def _name(self, i: int) -> str:
        if self.budget.n is None:
            return "each person"
        return f"person {i if self.people is None else repr(self.people[i])}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an account must not be copied or pickled: what a copy spends, in another process "
            "say, the original would not know. Fit with n_jobs=1, or keep `spent` and open a new "
            "account with what remains"
        )

    def __repr__(self) -> str:
        return f"BudgetAccount({self.budget!r}, spent={self.spent!r})"

    def _shaped(self, values: Iterable[float]) -> Any:
        array = np.array(list(values))
        return float(array[0]) if self.budget.n is None else array


def _exact(values: Any) -> list[Fraction]:
    """Return the decimals that the numbers print as."""
    return [Fraction(repr(float(v))) for v in np.atleast_1d(values)]


def _float_below(value: Fraction) -> float:
    """Return the largest float, or nearly, whose printed decimal is not above `value`."""
    near = float(value)
    return near if Fraction(repr(near)) <= value else math.nextafter(near, 0.0)


def _missing_relation(first: str, second: str) -> str:
    both = f"cannot compose a promise against {first!r} with one against {second!r}"
    missing = f"{both}: it takes a theorem that turns one relation into the other"
    removal = {first, second} - {"replace-one"}
    if len(removal) > 1 or not removal <= {"add-remove", "zero-out"}:
        return missing
    twice = f"restate {removal.pop()} as replace-one, at twice the epsilon"
    return f"{missing} (a replacement is a removal and an addition: {twice})"


def _total(values: Iterable[Any]) -> Any:
    """Add exactly and round once, for each person: the order does not matter."""
    columns = np.broadcast_arrays(*values)
    if columns[0].ndim == 0:
        return math.fsum(float(v) for v in columns)
    return np.array([math.fsum(person) for person in zip(*columns, strict=True)])


def half_budget(epsilon: ArrayLike, delta: float = 0.0) -> tuple[Any, Any]:
    r"""Budgets under add-remove neighbors that keep (epsilon, delta) when a record is replaced.

    .. math:: \Bigl(\frac\varepsilon2,\ \frac{\delta}{1 + e^{\varepsilon/2}}\Bigr)

    Parameters
    ----------
    epsilon : array_like
        Budgets against replacing a record, in nats; any shape.
    delta : float, default 0.0
        Failure probability, in [0, 1).

    Returns
    -------
    epsilon, delta : floats or ndarrays
        For a mechanism whose promise is about adding or removing a record, or zeroing it out: a
        replaced record is one that leaves and one that comes (``fact-group``, chapter
        *per_instance/definitions*).

    Notes
    -----
    Statement ``prop-even-odds``, part 2, chapter *synthesis/one_dataset*.

    Examples
    --------
    >>> epsilon, delta = half_budget(2.0)
    >>> float(epsilon), float(delta)
    (1.0, 0.0)
    """
    half = np.asarray(check.positive(epsilon, "epsilon")) / 2
    return half[()], (check.delta(delta, zero=True) / (1 + np.exp(half)))[()]


def success_rate(promise: Promise) -> Any:
    r"""Ceiling that a promise puts on guesses between two neighbors, with even odds.

    .. math:: \tfrac12(1 + \delta(0))

    Parameters
    ----------
    promise : Promise
        Of any kind. That of PAC privacy is its own ceiling, an average over halves of a pool.

    Returns
    -------
    float or ndarray
        One number, or one a person.

    Notes
    -----
    Statement ``prop-even-odds``, part 1, chapter *synthesis/one_dataset*.

    Examples
    --------
    >>> from pdpbook.guarantees import PureDP
    >>> round(success_rate(PureDP(1.0, neighbors="replace-one")), 3)
    0.731
    """
    if isinstance(promise, PACPrivacy):
        return promise.success_rate
    return (1 + promise.profile(0.0)) / 2
