"""Accounts: a budget for each person over several releases, exact sums of what they spent."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from threading import Lock
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._extras import of_pandas
from pdpbook.guarantees import account_files
from pdpbook.guarantees.conversions import decimal, missing_relation, root
from pdpbook.guarantees.promises import (
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    Promise,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from pdpbook.names import NameTable, read_names

#: kinds of promise with one number a person: the name of the number, and which power of it adds up
POWERS: dict[type, tuple[str, int]] = {
    PureDP: ("epsilon", 1),
    GaussianDP: ("mu", 2),
    ZeroConcentratedDP: ("rho", 1),
}
ABSENT = -1  # the place of a name that `NameTable` does not have

#: budget, cost or sum of costs of one person: all the numbers that add up; a float is infinity
Amounts = tuple[Fraction | float, ...]


class EpsilonDelta(NamedTuple):
    """Two amounts of an account of (epsilon, delta), each a number or one a person."""

    epsilon: Any  #: in nats
    delta: Any


class BudgetAccount:
    """A budget for each person, over several releases; a release that would overspend is refused.

    Pure epsilons add up, and so do rhos; mus add up as squares. Of approximate promises the
    epsilons add up, and the deltas, and each person stays within both: ``thm-approximate-filter``,
    chapter *per_instance/accounts*. Renyi curves add up order by order, on one public grid, and
    each person stays within their budget at *every* order: ``prop-order-in-advance`` there. Every
    amount is read as the decimal that its double prints as, and added exactly: three times 0.1
    fills 0.3 and leaves 0, and nothing that was written as more than the budget ever passes. The
    price is that ``2 * 3 * 0.1``, which prints as 0.6000000000000001, exceeds 0.6. Round such
    amounts, or spend ``remaining``.

    It is a *filter*, too: with `leave_out` a fit gives weight 0 to whoever has not enough left, and
    `admit` does so by costs that depend on each person's own record: ``thm-individual-filter``,
    chapter *per_instance/filters*. It cannot be copied or pickled, as fits in other processes
    (`n_jobs` above 1) do: a copy would not know what the original spends.

    For fits on different days, or in several processes, `save` it to a file once, and `open` the
    file each time.

    Parameters
    ----------
    budget : Promise, array_like or mapping
        A promise that is to hold for all releases together: the one way to write budgets of
        `ApproximateDP` and `RenyiDP`. Or epsilons in nats, mus or rhos: a number above 0; shape
        (n,), one for each person; or by person: a mapping, or a Series, whose index then says who
        they are. Names are text, numbers, booleans, dates, times, spans of time, periods,
        intervals, UUIDs, or tuples and frozensets of these, and are compared as Python objects: 1
        and 1.0 are one person, "1" is another, and so are True and a date as text. A time with a
        zone is its instant. What is missing is no name, and all other types are refused.
    neighbors : str, optional
        The relation of every release, as in `PureDP`; a promise brings its own.
    kind : {PureDP, GaussianDP, ZeroConcentratedDP}, optional
        The promise that numbers are budgets of, `PureDP` by default; a promise is its own kind.
        Other promises are turned into the kind of the account where a theorem does (`to_gaussian`,
        `to_zcdp`, `to_renyi`; a pure one counts with delta 0), rounded up, and refused where none
        does. None is turned into an approximate one, as somebody has to choose its delta: call
        `to_approximate`.
    leave_out : bool, default False
        Whether ``fit(..., account=...)`` leaves out, by budget 0, whoever has not enough left for
        what they would be promised, instead of raising. Promises and balance are public then. One
        number for all is refused as ever, and so is a release that leaves nobody. Public numbers of
        people still count everybody; users leave with all their rows.
    people : array_like, optional
        Names of the people of a promise, in its order; a mapping or Series names them itself.

    Examples
    --------
    >>> account = BudgetAccount([0.3, 1.0], neighbors="replace-one")
    >>> account.spend(PureDP([0.1, 0.5], neighbors="replace-one"))
    >>> account.remaining
    array([0.2, 0.5])
    >>> account = BudgetAccount(ApproximateDP(1.0, 1e-5, neighbors="user"))
    >>> account.spend(ApproximateDP(0.3, 1e-6, neighbors="user"))
    >>> account.spend(PureDP(0.1, neighbors="user"))
    >>> account.remaining
    EpsilonDelta(epsilon=0.6, delta=9e-06)
    """

    def __init__(
        self,
        budget: Any,
        *,
        neighbors: str | None = None,
        kind: type | None = None,
        leave_out: bool = False,
        people: Any = None,
    ) -> None:
        check.flag(leave_out, "leave_out")
        names = people
        if isinstance(budget, Promise):
            _check_budget_promise(budget, neighbors, kind)
            self.budget: Promise = budget
        else:
            self.budget, names = _promise_of_numbers(budget, neighbors, kind, people)
        self.kind: type = type(self.budget)
        self.leave_out = leave_out
        #: names of everybody, in order, if the budgets said who they are
        self.people: tuple[Any, ...] | None = None
        self._names: NameTable | None = None
        if names is not None:
            self._names = NameTable(names, "people" if names is people else POWERS[self.kind][0])
            self.people = self._names.names
            if len(self.people) != self.budget.n:
                raise ValueError(
                    f"people must be those of the budget, {self.budget.n}; got {len(self.people)}"
                )
        if leave_out and self.budget.n is None:
            raise ValueError("leave_out must be False with one budget for all; got True")
        self._power = 2 if self.kind is GaussianDP else 1  # which power of parameters adds up
        self._limit = self._exact(self._amounts(self.budget))
        self._spent: list[Amounts] = [(Fraction(0),) * len(limit) for limit in self._limit]
        self._private = False  # whether `admit` was told costs that depend on records
        self._lock = Lock()
        self._process = os.getpid()
        self._path: str | None = None  # of its file, if `save` or `open` put it into one
        self._id = account_files.new_id()
        self._head = ""  # the beginning of its file, which never changes
        self._content = b""  # all of its file, as last seen

    def save(self, path: Any) -> None:
        """Keep the account in a new file from now on: budgets, names, and what was spent.

        Every `spend`, and so every fit, is on the disk before it returns, and so before anything is
        released. The file may be open in several processes at once: each one sees what the others
        have spent, and one at a time spends, by a lock of the operating system (Linux or macOS)
        that ends with its owner. A process that is killed leaves a file that is whole. Not covered
        are network drives, whose locks and writes promise less, and *copies*: what is spent from a
        copy, or before an older copy was put back, is not known to the file. Everything in it is
        public, except after `admit`.

        Parameters
        ----------
        path : str or path
            Of a file that does not exist yet. Names are written as text, numbers, booleans, dates,
            times (with a zone, in UTC), spans of time, periods, intervals or tuples of these, and
            other names are refused. What is being written is beside it, under its name, the id of
            the account, and ``.new``.

        Examples
        --------
        >>> account = BudgetAccount({"Ana": 0.5, "Ben": 1.0}, neighbors="user")
        >>> account.save("club.json")  # doctest: +SKIP
        >>> BudgetAccount.open("club.json", neighbors="user").remaining  # doctest: +SKIP
        array([0.5, 1. ])
        """
        self._refuse_other_process()
        people = None
        if self.people is not None:
            people = [account_files.name_to_json(name) for name in self.people]
        head = account_files.head(
            {
                "id": self._id,
                "kind": self.kind.__name__,
                "neighbors": self.budget.neighbors,
                "leave_out": bool(self.leave_out),
                "people": people,
                "budget": account_files.numbers_to_json(self.budget._parameters()),
            }
        )
        with self._lock:
            if self._path is not None:
                raise ValueError(f"account must not be in a file yet; it is in {self._path}")
            where = os.path.realpath(os.fsdecode(path))  # one file, even by a link to it
            content = account_files.content_of(head, self._spent, self._private)
            account_files.create(where, content, self._id)
            self._path, self._head, self._content = where, head, content

    @classmethod
    def open(cls, path: Any, *, neighbors: str, kind: Any = PureDP) -> Self:
        """Return the account in a file, with what was spent from it.

        What this account spends goes into the file, as `save` says. A path raises ValueError if it
        is no account file, or one that was cut or changed or is of a later version, or if its
        account has other neighbors or another kind. Whether its people are those of the data is
        checked by each fit.

        Parameters
        ----------
        path : str or path
            Of a file that `save` wrote.
        neighbors, kind : str, and kind of promise, default PureDP
            Those of the account.
        """
        where = os.path.realpath(os.fsdecode(path))
        with account_files.locked(where) as content:
            fields = account_files.fields_of(content, where)
        kind_name = getattr(kind, "__name__", kind)
        for name, asked_for in (("neighbors", neighbors), ("kind", kind_name)):
            if fields[name] != asked_for:
                raise ValueError(
                    f"{name} must be those of {where}, {fields[name]}; got {asked_for}"
                )
        budget = kind(*account_files.numbers_from_json(fields["budget"]), neighbors=neighbors)
        people = fields["people"]
        if people is not None:
            people = [account_files.name_from_json(name) for name in people]
        account = cls(budget, leave_out=fields["leave_out"], people=people)
        account._path = where
        account._id = fields["id"]
        account._head = account_files.head_of(content)
        account._learn(content)
        return account

    @property
    def spent(self) -> Any:
        """What each person has spent, rounded up, a number or shape (n,): their odometer.

        In an account of `ApproximateDP` a pair of these, ``spent.epsilon`` and ``spent.delta``; of
        `RenyiDP` an array whose last axis goes through the orders.
        """
        with self._turn():
            return self._shaped(self._spent, _root_above)

    @property
    def remaining(self) -> Any:
        """What each person can still spend, rounded down, so that spending it is never refused.

        In the same form as `spent`.
        """
        with self._turn():
            return self._shaped(self._unspent(), _root_below)

    def spend(self, promise: Promise, *, people: Any = None) -> None:
        """Record the promise of one more release, or raise and record nothing.

        The promise is for the people of the account, in its order, or one number for all. Where the
        account names its people, `people` says who those of the promise are: each of them once, and
        nobody else who would pay. What no theorem turns into the kind of the account raises
        TypeError; another relation or length, whoever would overspend, with people and amounts, and
        any promise after `admit`, when what is left depends on records, raise ValueError.
        """
        asked, _ = self._asked(promise, people)
        with self._turn():
            if self._private:
                raise ValueError(
                    "account must hold public amounts; got costs of admit, which depend on "
                    "records: a refusal, or who is left out, would reveal them"
                )
            after = [_sum(spent, one) for spent, one in zip(self._spent, asked, strict=True)]
            overspending = [i for i, enough in enumerate(self._within(asked)) if not enough]
            if overspending:
                self._refuse_release(overspending, asked)
            self._record(after, private=False)

    def admit(self, cost: Any, *, people: Any = None) -> NDArray[np.bool_]:
        """Record a release for whoever can afford it, and return who takes part in it.

        The individual filter. Give everybody else weight 0 in this release. The relation must be
        add-remove or zero-out: whoever is left out is absent, and a replaced record is not.

        Parameters
        ----------
        cost : array_like, shape (n,), or Promise
            What each person's record can cost *whoever the others are*, in the unit of the budgets,
            at least 0, perhaps infinite, rounded up: a function of their own record and of earlier
            releases, never of the answer to come, nor of other records. Where a budget is more than
            one number, a promise with the cost of each person.
        people : array_like, optional
            As in `spend`; None where `cost` is a Series that names them.

        Returns
        -------
        ndarray of bool, shape (n,)
            Private, and so are `spent` and `remaining` from now on: tell each person their own, and
            publish none. `spend`, and so every fit, is refused afterwards.
        """
        if self.budget.neighbors not in ("add-remove", "zero-out"):
            got = f"got {self.budget.neighbors!r}, whose twin may take part where they do not"
            raise ValueError(f"neighbors must be 'add-remove' or 'zero-out' to admit people; {got}")
        if self.budget.n is None:
            raise ValueError("budget must be one for each person to admit people; got one for all")
        if isinstance(cost, Promise):
            asked, places = self._asked(cost, people, all_must_be_here=True)
        else:
            asked, places = self._asked_by_numbers(cost, people)
        with self._turn():
            enough = self._within(asked)
            after = [
                _sum(spent, cost) if pays else spent
                for spent, cost, pays in zip(self._spent, asked, enough, strict=True)
            ]
            self._record(after, private=True)
        return _by_person(enough, places)

    def _asked_by_numbers(self, cost: Any, people: Any) -> tuple[list[Amounts], NDArray[np.intp]]:
        """Return what `_asked` returns, for costs that are numbers, shape (n,)."""
        if self.kind not in POWERS:
            raise TypeError(
                f"cost must be a promise in an account of {self.kind.__name__}; got {cost!r}"
            )
        if self.people is None:
            check.refuse_index(cost, "cost", "the account does not say who its people are")
        else:
            names = check.index_of(cost)
            if names is not None and people is not None:
                raise ValueError("people must be None with a Series of costs, which names them")
            if names is not None:
                people = names
        costs = np.asarray(check.extended(cost, "cost"))
        amounts = costs[..., np.newaxis]
        if people is None:
            return self._asked_in_order(amounts, costs.shape)
        # All are told whether they take part, so even somebody with cost 0 must be in the account.
        return self._asked_by_name(amounts, costs.shape, people, np.full(costs.shape, True))

    def affords(self, promise: Promise, *, people: Any = None) -> NDArray[np.bool_]:
        """Return who can pay for a promise, shape (n,), and record nothing."""
        asked, places = self._asked(promise, people)
        with self._turn():
            enough = self._within(asked)
        return _by_person(enough, places)

    def convert(self, promise: Promise) -> Promise:
        """Return the promise as one of the kind of the account, rounded up, or raise TypeError."""
        if not isinstance(promise, Promise):
            raise TypeError(f"promise must be a {self.kind.__name__}; got {promise!r}")
        if isinstance(self.budget, RenyiDP):
            return promise.to_renyi(self.budget.orders)
        if isinstance(promise, self.kind):
            return promise
        if self.kind is PureDP:
            promise._refuse(PureDP, "; this account adds up pure promises alone")
        if self.kind is ApproximateDP:
            return _without_delta(promise)
        if self.kind is GaussianDP:
            return promise.to_gaussian()
        return promise.to_zcdp()

    def _amounts(self, promise: Promise) -> Floats:
        """Return the k numbers of a promise that add up here: shape (k,), or (n, k).

        The first is the shape of one promise to all, the second that of a promise to each person.
        """
        if isinstance(promise, RenyiDP):
            return np.asarray(promise.epsilon)
        columns = list(promise._parameters().values())
        if self.kind is ApproximateDP and isinstance(promise, PureDP):
            columns.append(0.0)
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def _asked(
        self, promise: Promise, people: Any, *, all_must_be_here: bool = False
    ) -> tuple[list[Amounts], NDArray[np.intp]]:
        """Return what each person of the account has to pay, and where people of the promise are.

        The second is the place in the account of each person of the promise, ABSENT for whoever is
        not in it and pays nothing.
        """
        promise = self.convert(promise)
        if promise.neighbors != self.budget.neighbors:
            raise ValueError(missing_relation(self.budget.neighbors, promise.neighbors))
        shape = () if promise.n is None else (promise.n,)
        amounts = self._amounts(promise)
        if people is None:
            return self._asked_in_order(amounts, shape)
        must_be_here = (amounts > 0).any(axis=-1) | all_must_be_here
        return self._asked_by_name(amounts, shape, people, must_be_here)

    def _asked_in_order(
        self, amounts: Floats, shape: tuple[int, ...]
    ) -> tuple[list[Amounts], NDArray[np.intp]]:
        """Return what `_asked` returns, for amounts in the order of the account, or one for all."""
        self._refuse_other_process()
        size = len(self._limit)
        if shape not in ((), (self.budget.n,)):
            has = "one budget for all" if self.budget.n is None else f"budgets of {size} people"
            got = f"{shape[0]} people" if len(shape) == 1 else f"shape {shape}"
            raise ValueError(f"promise must fit the account, {has}; got one to {got}")
        asked = self._exact(amounts)
        if shape == ():
            asked = asked * size
        return asked, np.arange(size)

    def _asked_by_name(
        self, amounts: Floats, shape: tuple[int, ...], people: Any, must_be_here: Any
    ) -> tuple[list[Amounts], NDArray[np.intp]]:
        """Return what `_asked` returns, for amounts in the order of `people`, who are names."""
        self._refuse_other_process()
        if self._names is None:
            raise ValueError("people must be None: the account does not say who its people are")
        names = read_names(people, "people")
        if shape not in ((), (len(names),)):
            raise ValueError(f"people must be the {shape[0]} of the promise; got {len(names)}")
        needed = np.broadcast_to(must_be_here, len(names))
        rule = "account must be of the people in the data"
        places = self._names.find_all(names, rule, needed=needed)
        width = amounts.shape[-1]
        asked = np.zeros((len(self._limit), width))
        asked[places[needed]] = np.broadcast_to(amounts, (len(names), width))[needed]
        return self._exact(asked), places

    def _exact(self, amounts: Floats) -> list[Amounts]:
        """Return the exact numbers that add up, one tuple a person.

        They are powers of the decimals that the amounts print as.
        """

        def power(value: float) -> Fraction | float:
            return value if value == math.inf else decimal(value) ** self._power

        exact = {value: power(value) for value in np.unique(amounts).tolist()}  # many are equal
        rows = np.atleast_2d(amounts).tolist()
        return [tuple(exact[value] for value in row) for row in rows]

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Keep all others from spending, and know what they have spent from the file before."""
        with self._lock:
            if self._path is None:
                yield
                return
            with account_files.locked(self._path) as content:
                if content != self._content:
                    self._learn(content)
                yield

    def _learn(self, content: bytes) -> None:
        """Take over what the file says was spent, or raise if it is less than is known here."""
        fields = account_files.fields_of(content, str(self._path))
        if account_files.head_of(content) != self._head:
            raise ValueError(f"account must keep its file; {self._path} is now another account's")
        spent = account_files.amounts_from_json(fields["spent"])
        for person in zip(self._spent, spent, self._limit, strict=True):
            for before, now, limit in zip(*person, strict=True):
                if not before <= now <= limit:
                    raise ValueError(
                        f"account must keep its file; in {self._path} less was spent than before: "
                        "an older copy took its place"
                    )
        self._spent = spent
        self._private = self._private or fields["private"]
        self._content = content

    def _record(self, spent: list[Amounts], *, private: bool) -> None:
        """Record what was spent: in the file first, if there is one."""
        if self._path is not None:
            content = account_files.content_of(self._head, spent, private)
            account_files.replace(self._path, content, self._id)
            self._content = content
        self._spent = spent
        self._private = private

    def _refuse_other_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "an account must be spent in the process that opened it: what a fork spends, the "
                "original would not know. Keep it in a file, and open that in each process"
            )

    def _within(self, asked: list[Amounts]) -> list[bool]:
        """Return who can pay what is asked, one entry a person of the account."""
        return [
            all(_plus(spent, one) <= limit for spent, one, limit in zip(*person, strict=True))
            for person in zip(self._spent, asked, self._limit, strict=True)
        ]

    def _refuse_release(self, overspending: list[int], asked: list[Amounts]) -> NoReturn:
        """Raise, and name the first five people who would overspend, with their amounts."""
        named = [f"{self._name(i)} {self._shortfall(i, asked[i])}" for i in overspending[:5]]
        more = f", and {len(overspending) - 5} more" if len(overspending) > 5 else ""
        raise ValueError(f"release refused, nothing recorded: {'; '.join(named)}{more}")

    def _shortfall(self, i: int, asked: Amounts) -> str:
        """Return what person i is asked and still has: of the first number that is not enough."""
        unspent = self._unspent()[i]
        k = next(k for k, amount in enumerate(asked) if not amount <= unspent[k])
        asks = root(asked[k], self._power)
        has = _root_below(unspent[k], self._power)
        if self.kind is ApproximateDP:
            return f"asks {EpsilonDelta._fields[k]} {asks!r} and has {has!r} left"
        if isinstance(self.budget, RenyiDP):
            return f"asks {asks!r} at order {self.budget.orders[k]:g} and has {has!r} left"
        return f"asks {asks!r} and has {has!r} left"

    def _name(self, i: int) -> str:
        """Return what an error calls person i."""
        if self.budget.n is None:
            return "each person"
        if self.people is None:
            return f"person {i}"
        return f"person {self.people[i]!r}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an account must not be copied or pickled: what a copy spends, in another process "
            "say, the original would not know. Fit with n_jobs=1, or save it to a file, and open "
            "that in each process"
        )

    def __repr__(self) -> str:
        return f"BudgetAccount({self.budget!r}, spent={self._shaped(self._spent, _root_above)!r})"

    def _unspent(self) -> list[Amounts]:
        """Return what each person can still spend, exactly."""
        pairs = zip(self._limit, self._spent, strict=True)
        return [tuple(map(_difference, limit, spent)) for limit, spent in pairs]

    def _shaped(
        self, amounts: list[Amounts], rounded: Callable[[Fraction | float, int], float]
    ) -> Any:
        """Return amounts as `spent` and `remaining` show them; `rounded` takes the root of each."""
        table = np.array([[rounded(one, self._power) for one in person] for person in amounts])
        if self.kind is RenyiDP:
            return table[0] if self.budget.n is None else table
        columns = list(table.T)
        if self.budget.n is None:
            columns = [float(column[0]) for column in columns]
        return EpsilonDelta(*columns) if self.kind is ApproximateDP else columns[0]


def _check_budget_promise(budget: Promise, neighbors: str | None, kind: type | None) -> None:
    """Refuse a promise that does not add up, or arguments that contradict it."""
    if type(budget) not in (*POWERS, ApproximateDP, RenyiDP):
        kinds = ", ".join(one.__name__ for one in (*POWERS, ApproximateDP))
        raise TypeError(
            f"budget must be a promise that adds up, {kinds} or RenyiDP; got {budget!r}"
        )
    if isinstance(budget, RenyiDP) and np.isinf(budget.epsilon).all(axis=-1).any():
        raise ValueError(
            "budget must be finite at some order for each person; got somebody with infinity at all"
        )
    if kind not in (None, type(budget)):
        raise ValueError(f"kind must be that of the budget, {type(budget).__name__}; got {kind!r}")
    if neighbors not in (None, budget.neighbors):
        raise ValueError(
            f"neighbors must be those of the budget, {budget.neighbors}; got {neighbors!r}"
        )


def _promise_of_numbers(
    budget: Any, neighbors: str | None, kind: type | None, people: Any
) -> tuple[Promise, Any]:
    """Return the promise that numbers are budgets of, and the names that come with them."""
    kind = PureDP if kind is None else kind
    if kind not in POWERS:
        kinds = ", ".join(one.__name__ for one in POWERS)
        raise TypeError(
            f"kind must be one of {kinds} where budgets are numbers; got {kind!r}. Other budgets "
            "are written as a promise"
        )
    if neighbors is None:
        raise TypeError("neighbors must be given where budgets are numbers; got None")
    if people is not None:
        raise ValueError("people must be None where budgets are numbers: pass them by name")
    names = None
    if isinstance(budget, Mapping):
        names, budget = list(budget), list(budget.values())
    elif of_pandas(budget, "Series"):
        names, budget = budget.index, budget.to_numpy()
    return kind(budget, neighbors=neighbors), names


def _without_delta(promise: Promise) -> PureDP:
    """Return a pure promise, which counts with delta 0; raise for others, which have no delta."""
    if isinstance(promise, PureDP):
        return promise
    if isinstance(promise, PACPrivacy):
        promise._refuse(ApproximateDP)
    raise TypeError(
        f"promise must say its delta in an account of ApproximateDP; got a "
        f"{type(promise).__name__}. Turn it with to_approximate(delta) first, at a delta of your "
        "choice"
    )


def _by_person(enough: list[bool], places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each person of a promise can pay; whoever is absent pays nothing, so can."""
    return np.where(places == ABSENT, True, np.asarray(enough)[places])


def _sum(spent: Amounts, asked: Amounts) -> Amounts:
    """Return the exact sums of two lists of amounts."""
    return tuple(_plus(one, other) for one, other in zip(spent, asked, strict=True))


def _difference(limit: Fraction | float, spent: Fraction | float) -> Fraction | float:
    """Return limit - spent, exactly; infinity if the limit is."""
    return math.inf if limit == math.inf else limit - spent


def _plus(spent: Fraction | float, asked: Fraction | float) -> Fraction | float:
    """Return an exact sum, infinity if one of them is; fractions above all floats stay exact."""
    return math.inf if math.inf in (spent, asked) else spent + asked


def _root_above(value: Fraction | float, power: int) -> float:
    """Return the root of a value as a float, rounded up: its printed decimal is not below it."""
    near = root(value, power)
    while near < math.inf and decimal(near) ** power < value:
        near = math.nextafter(near, math.inf)
    return near


def _root_below(value: Fraction | float, power: int) -> float:
    """Return the root of a value as a float, rounded down: its printed decimal is not above it."""
    near = root(value, power)
    while near < math.inf and decimal(near) ** power > value:
        near = math.nextafter(near, 0.0)
    return near
