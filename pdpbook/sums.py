"""Sums over parts of a table that does not fit into memory: they add up, and `fit` takes them.

What many mechanisms need of their records are sums, and sums of parts add up to those of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn import base
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from pdpbook import Floats, check
from pdpbook._extras import of_pandas
from pdpbook.names import NameTable, python_objects
from pdpbook.tables import note_width, read_labels, refuse_small_table
from pdpbook.user_records import UserParticipants
from pdpbook.users import (
    Users,
    check_budgets_of_users,
    check_user_epsilon,
    check_users,
    participating_users,
)

__all__ = ["Sums"]

SMALLEST_PENALTY = 1e-8  # over the squared row norm: sums square the condition number
ROUNDING = 1e-11  # relative, of a total that was added up in another order

CUBE = ("bounds", "y_bounds", "fit_intercept", "clip", "delta")
BALL = ("bounds", "y_bounds", "fit_intercept", "clip", "row_norm")
MEAN = ("y_bounds", "clip")
#: the settings that decide what a record adds, of every mechanism for which sums suffice
MADE_UNDER = {
    "PDPRidge": (*CUBE, "row_norm"),
    "SufficientStatisticsRidge": (*CUBE, "noise", "centered"),
    "PersonalizedMean": MEAN,
    "WeightedMean": MEAN,
    "AdaSSP": BALL,
    "AdaOPS": BALL,
    "OnePosteriorSample": BALL,
}
#: what else a mechanism needs, and one for which sums suffice
NEEDS_MORE = {
    "ObjectivePerturbation": ("a minimizer of a perturbed objective", "PDPRidge"),
    "LogisticObjectivePerturbation": ("a minimizer of a perturbed objective", "PDPRidge"),
    "SampledRidge": ("a random choice of its people", "PDPRidge"),
    "GradientDescentRidge": ("a clipped gradient of every record at every step", "PDPRidge"),
    "DPSGDRegression": ("a clipped gradient of every record at every step", "AdaSSP"),
    "WeightedGradientDescent": ("a clipped gradient of every user at every step", "WeightedMean"),
    "WeightedOutputPerturbation": ("a minimizer of weighted losses", "WeightedMean"),
    "GWARegression": ("weights that follow all rows", "WeightedMean"),
    "TwoStageGWARegression": ("weights that follow all rows", "WeightedMean"),
    "SampleLimitedRegression": ("a choice of each user's records", "WeightedMean"),
    "SampleLimitedMean": ("a choice of each user's records", "WeightedMean"),
    "PACRegression": ("fits to many halves of its pool", "PDPRidge"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Owners:
    """Users who own several rows, in the order in which they came. NOT private."""

    names: list[Any]
    sizes: NDArray[np.intp]  #: shape (m,), rows of each
    budgets: Floats  #: shape (m,), when the sums were made
    labels: Floats  #: shape (m,), sum of the labels of each, measured from the lower bound


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    r"""Sums over the records of some people: all that a mechanism needs of them. NOT private.

    ``model.sums(X, y, epsilon=...)`` makes them of a part of a table; ``+`` and ``sum`` add those
    of parts, each person in exactly one; ``fit(sums, epsilon=...)`` takes them in place of X and y,
    with the budgets of all n people, and releases what it would from the rows, up to rounding. They
    hold the data without noise, and with few people a record itself: keep them with the data, also
    when they are pickled.

    A record is mapped to the domain by the public bounds, and clipped there if the model says so.
    It counts with what its person's budget buys under the settings of the model, :math:`s_i`: with
    a `delta` more than the budget. `moments` are second moments of :math:`(x, 1, y)` weighted so,
    such as :math:`\sum_is_ix_ix_i^\top` and :math:`\sum_is_iy_ix_i`. Where everybody weighs 1, so
    does :math:`s_i`. Statement ``prop-one-pass``, chapter *synthesis/at_scale*.

    ``+`` refuses sums of another `rule`, a part that is in both, and users who are in both. `fit`
    refuses another rule, too, and budgets that are not those of the sums: another number of people,
    another total or largest weight, or other budgets in any order. So a part that was added twice
    or forgotten is noticed. Not noticed are rows of which somebody made sums twice, where as many
    others with the same budgets were forgotten; that two people have exchanged their budgets since
    the sums were made, as budgets of rows have no names here (those of users do, and are compared
    one by one); and users who were forgotten where all have one number as their budget. An account
    must be able to pay for all: `fit` from sums leaves nobody out.

    Attributes
    ----------
    rule : dict
        The mechanism, its columns and the settings that decide what a record adds.
    n : int
        Number of people.
    participants : int
        How many of them have a budget above 0.
    total : Fraction
        Sum of their weights :math:`s_i`, added up exactly, however many parts there are.
    largest : float
        Maximum of their weights.
    budgets : int
        A hash of their budgets in any order: the sum of one of each, modulo :math:`2^{64}`.
    moments : tuple of ndarray
        The weighted sums, as the law of the mechanism asks for them.
        Empty for users, whose sums are in `owners`.
    owners : object or None
        Of users who own several rows: their names, sizes, budgets and sums of labels.
    parts : frozenset of str
        A random name for each part that was added.

    Examples
    --------
    >>> from pdpbook.personalized import PDPRidge
    >>> X, y, epsilon = np.ones((4, 1)), np.zeros(4), np.array([0.5, 1.0, 0.0, 1.0])
    >>> model = PDPRidge(random_state=0)
    >>> parts = [model.sums(X[k], y[k], epsilon=epsilon[k]) for k in (slice(2), slice(2, 4))]
    >>> sum(parts)
    Sums of 4 people for PDPRidge. NOT private: keep them with the data
    >>> model.fit(sum(parts), epsilon=epsilon).coef_ == model.fit(X, y, epsilon=epsilon).coef_
    array([ True])
    """

    rule: dict[str, Any]
    n: int
    participants: int
    total: Fraction
    largest: float
    budgets: int
    moments: tuple[Floats, ...]
    owners: Any = None
    parts: frozenset[str] = field(default_factory=lambda: frozenset([uuid4().hex]))

    @property
    def columns(self) -> int:
        """Number of columns of X."""
        names = self.rule.get("columns", 1)
        return names if isinstance(names, int) else len(names)

    def __repr__(self) -> str:
        who = "people" if self.owners is None else "users"
        made_for = self.rule["model"]
        return f"Sums of {self.n} {who} for {made_for}. NOT private: keep them with the data"

    def __add__(self, other: Any) -> Sums:
        if not isinstance(other, Sums):
            return NotImplemented
        name = _difference(self.rule, other.rule)
        if name is not None:
            raise ValueError(
                f"Sums must be made under one rule to be added; {name} is "
                f"{_said(self.rule, name)} in one and {_said(other.rule, name)} in the other"
            )
        owners = None if self.owners is None else _together(self.owners, other.owners)
        if self.parts & other.parts:
            raise ValueError(
                "Sums must be of different people to be added; one part is in both: was it added "
                "twice?"
            )
        return Sums(
            self.rule,
            self.n + other.n,
            self.participants + other.participants,
            self.total + other.total,
            max(self.largest, other.largest),
            (self.budgets + other.budgets) % 2**64,
            tuple(one + two for one, two in zip(self.moments, other.moments, strict=True)),
            owners,
            self.parts | other.parts,
        )

    def __radd__(self, other: Any) -> Sums:
        """Let the built-in `sum` begin with its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


class SumsOfRecords:
    """Sums in place of a table, of people who own one row each; see `Records`. Not private."""

    named = False
    neighbors = "replace-one"
    unnamed = (
        "epsilon does not: pass epsilon as a Series with that index, or open the account with an "
        "array, to go by position"
    )

    def __init__(self, model: Any, sums: Sums, y: Any, epsilon: Any):
        _refuse_other_rule(model, sums, y)
        refuse_small_table(sums.n)
        self.sums = sums
        self.n, self.columns = sums.n, sums.columns
        self.names = check.index_of(epsilon)

    def budgets(self, epsilon: Any) -> Floats:
        """Return the budgets of all people, shape (n,); one number for all is refused."""
        budgets = np.asarray(epsilon, dtype=float)
        if budgets.ndim == 0:
            raise ValueError(
                "epsilon must be the budgets of all people where X is Sums, so that a part which "
                f"was added twice is noticed; got one number. Pass np.full(n, {budgets:g}) with "
                "the public number n of people"
            )
        return budgets

    def leave_out(self, budgets: Floats, can_pay: NDArray[np.bool_]) -> NoReturn:
        """Refuse: whoever cannot pay is in the sums."""
        cannot = np.flatnonzero(~can_pay & (budgets > 0))
        first = int(cannot[0]) if self.names is None else self.names[cannot[0]]
        _refuse_to_leave_out(first, len(cannot), len(budgets))

    def participants(self, domain: Any, budgets: Floats) -> Any:
        """Return what is known of those whose budget is above 0."""
        return SummedParticipants(self.sums, domain, budgets)


class SummedParticipants:
    """Sums over the people whose budget is above 0, on the domain; see `Participants`."""

    def __init__(self, sums: Sums, domain: Any, budgets: Floats):
        self._sums, self._domain = sums, domain
        self._budgets_of_all = budgets
        self.budgets = budgets[budgets > 0]
        self.d = getattr(domain, "d", 1)

    def total(self, statistic: Any) -> tuple[Floats, ...]:
        """Return the sums over everybody, each with weight 1."""
        _refuse_others(self._sums, self._budgets_of_all, np.ones(len(self.budgets)))
        return self._sums.moments

    def average(self, statistic: Any, weights: Floats) -> tuple[Floats, ...]:
        """Return the sums with weights of sum 1 in proportion to `weights`, shape (m,)."""
        _refuse_others(self._sums, self._budgets_of_all, weights)
        return tuple(moment / float(self._sums.total) for moment in self._sums.moments)

    def ridge(self, lam: float, weights: Floats) -> Floats:
        """Return the minimizer of the weighted mean of squares plus the penalty, shape (d,)."""
        smallest = SMALLEST_PENALTY * self._domain.radius**2
        if not lam >= smallest:
            raise ValueError(
                f"lam must be at least {smallest:.3g} with Sums, {SMALLEST_PENALTY:g} times the "
                "squared bound on the norm of a row: below it sums lose digits; got "
                f"{check.shown(lam)}. Fitted to the rows themselves, a smaller one will do"
            )
        gram, moment = self.average(None, weights)
        return np.asarray(np.linalg.solve(gram + lam * np.eye(self.d), moment))


class SumsOfUsers:
    """Sums in place of a table, of users who own several rows; see `UserRecords`. Not private."""

    named = True  # whether an account has to go by name

    def __init__(self, model: Any, sums: Sums, y: Any, users: Any):
        if users is not None:
            raise ValueError("users must be None where X is Sums, which have the users in them")
        _refuse_other_rule(model, sums, y)
        refuse_small_table(int(sums.owners.sizes.sum()))
        self.users, order = _sorted_users(sums.owners)
        self.n, self.names = sums.n, self.users.labels
        self._labels, self._made_with = sums.owners.labels[order], sums.owners.budgets[order]

    def budgets(self, epsilon: Any) -> Floats:
        """Return one budget a user, shape (m,), or refuse others than the sums were made with."""
        return _budgets_by_user(epsilon, self.users, self._made_with)

    def leave_out(self, budgets: Floats, can_pay: NDArray[np.bool_]) -> NoReturn:
        """Refuse: whoever cannot pay is in the sums."""
        cannot = np.flatnonzero(~can_pay & (budgets > 0))
        first = python_objects(self.names[cannot[:1]], "users")[0]
        _refuse_to_leave_out(first, len(cannot), self.n)

    def participants(self, domain: Any, budgets: Floats) -> UserParticipants:
        """Return the users whose budget is above 0 with one row each: the sum of their labels."""
        selected = participating_users(self.users, budgets)
        low, _ = check.bounds(domain.y_bounds, "y_bounds")
        y = (self._labels + (low - domain.origin) * self.users.sizes)[selected.rows]
        return UserParticipants(np.zeros((len(y), 1)), y, y, selected.users, selected.epsilon)


def sums_over_records(model: Any, X: Any, y: Any, epsilon: Any) -> Sums:
    """Return the sums of people who own one row each; `epsilon` is read by position.

    Parameters
    ----------
    model : estimator
        It says what a record adds: `check_settings`, `domain`, `weights_in_sums` and `statistic`.
    X, y, epsilon : array_like, shapes (n, d), (n,) and () or (n,)
    """
    refuse_mechanism(model)
    check.refuse_other_index(epsilon, "epsilon", X=X, y=y)
    check.refuse_other_index(y, "y", X=X)
    budgets = check.some_epsilon(epsilon.to_numpy() if of_pandas(epsilon, "Series") else epsilon)
    model.check_settings()
    names = _columns(X)
    X, y = _records(model, X, y)
    budgets = check.some_epsilon(budgets, len(y))
    positive = budgets > 0
    domain = model.domain(X.shape[1])
    rows, labels = domain.to_domain(X[positive], y[positive])
    weights = np.zeros(0)
    if len(labels):
        weights = model.weights_in_sums(budgets[positive], rows.shape[1])
    return Sums(
        _rule(model, names if has_columns(model) else None),
        len(y),
        len(labels),
        Fraction(float(weights.sum())),
        float(weights.max(initial=0.0)),
        _hash_of(budgets),
        model.statistic(rows, labels, weights),
    )


def sums_over_users(model: Any, X: Any, y: Any, users: Any, epsilon: Any) -> Sums:
    """Return one sum of labels for each user of these rows.

    Parameters
    ----------
    model : estimator
        It says what a row adds: `check_settings` and `domain`.
    X, y, users : array_like, one entry a row
    epsilon : float, mapping or array_like, as in `fit`; all may be 0
    """
    refuse_mechanism(model)
    if isinstance(epsilon, Mapping) or np.any(epsilon):
        check_budgets_of_users(epsilon)
    model.check_settings()
    if users is None:
        raise ValueError(
            "users must name the owner of every row: sums of users find their budgets by name. "
            "Where every row is a person of its own, PersonalizedMean takes sums without names"
        )
    labels = read_labels(X, y)
    owners = check_users(users, len(labels), X=X, y=y)
    budgets = check_user_epsilon(epsilon, owners, is_block=True)
    selected = participating_users(owners, budgets)
    low, _ = check.bounds(model.y_bounds, "y_bounds")
    _, above = model.domain(origin=low).to_domain(X, labels[selected.rows])
    names = python_objects(owners.labels, "users")
    labels_of_users = selected.for_all_users(selected.users.totals(above))
    return Sums(
        _rule(model, None),
        len(names),
        int(selected.who.sum()),
        Fraction(float(budgets.sum())),
        float(budgets.max()),
        _hash_of(budgets),
        (),
        Owners(names, owners.sizes, budgets, labels_of_users),
    )


def refuse_mechanism(model: Any) -> None:
    """Refuse a mechanism, or a setting, that needs more than sums, and name one that does not.

    Parameters
    ----------
    model : estimator
    """
    names = [cls.__name__ for cls in type(model).__mro__]
    needs = next((NEEDS_MORE[name] for name in names if name in NEEDS_MORE), None)
    this = type(model).__name__
    if needs is None and not any(name in MADE_UNDER for name in names):
        needs = "rows, as far as this package knows", "PDPRidge"
    elif needs is None and getattr(model, "loss", "") == "huber":
        this += " with loss='huber'"
        needs = "its rows many times", "loss='square'"
    elif needs is None and getattr(model, "weights", "") == "capped":
        this += " with weights='capped'"
        needs = "the budgets of all people before it weighs one", "weights='proportional'"
    elif needs is None and getattr(model, "noise", "") == "grid":
        this += " with noise='grid'"
        needs = "the largest of all budgets before it rounds a weight", "noise='laplace'"
    elif needs is None and np.any(np.not_equal(getattr(model, "label_mean_share", 0.0), 0.0)):
        this += " with a label_mean_share"
        needs = "the labels again once their mean is released", "label_mean_share=0"
    if needs is not None:
        raise TypeError(
            f"{this} cannot be fitted from Sums: it needs {needs[0]}. Sums suffice for {needs[1]}"
        )


def _refuse_to_leave_out(who: Any, cannot: int, people: int) -> NoReturn:
    raise ValueError(
        f"account has too little left for {cannot} of {people} people, the first of whom is "
        f"{who!r}: a fit from Sums leaves nobody out. Make the sums again with a budget of 0 for "
        "whoever cannot pay, see account.affords"
    )


def _refuse_other_rule(model: Any, sums: Sums, y: Any) -> None:
    """Refuse sums that were not made for this model."""
    refuse_mechanism(model)
    if y is not None:
        raise ValueError("y must be None where X is Sums, which have the labels in them")
    columns = sums.rule.get("columns")
    rule = _rule(model, columns)
    name = _difference(sums.rule, rule)
    if name is not None:
        raise ValueError(
            f"X must be Sums made for this model; they were made with {name} "
            f"{_said(sums.rule, name)}, and here it is {_said(rule, name)}"
        )


def note_columns(model: Any, sums: Sums) -> None:
    """Say of which columns the sums were made, as scikit-learn does of a table."""
    note_width(model, sums.columns)
    names = sums.rule["columns"]
    if not isinstance(names, int) and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = np.array(names, dtype=object)


def _columns(X: Any) -> Any:
    """Names of the columns of X, if they have any, or their number."""
    noted: Any = base.BaseEstimator()
    validate_data(noted, X, skip_check_array=True)  # pandas, Polars or Arrow: as in a fit
    if hasattr(noted, "feature_names_in_"):
        return tuple(noted.feature_names_in_)
    if of_pandas(X, "DataFrame"):  # whole numbers, say
        return tuple(X.columns)
    return np.shape(X)[1] if np.ndim(X) == 2 else None


def _records(model: Any, X: Any, y: Any) -> tuple[Floats, Floats]:
    """Rows and labels of a part, which may be of one person."""
    if has_columns(model):
        check.refuse_hidden(X, "X")
        X = check_array(X, dtype=float, ensure_all_finite=False, ensure_min_samples=0)
        rows, labels = X, read_labels(X, y)
    else:
        labels = read_labels(X, y)
        rows = np.zeros((len(labels), 1))
    if not len(labels):
        raise ValueError("X must have at least 1 row; got 0: leave out parts without people")
    return rows, labels


def _rule(model: Any, columns: Any) -> dict[str, Any]:
    """What decides which sums a model makes, in one form for all ways to write it."""
    kind = type(model)
    rule: dict[str, Any] = {"model": kind.__name__}
    if _known(model) is not kind:  # a subclass may do anything with settings of its own
        rule["model"] = f"{kind.__module__}.{kind.__qualname__}"
        rule |= {name: getattr(model, name) for name in _settings_of_subclass(model)}
    if columns is not None:
        rule["columns"] = columns
    for name in _settings(model):
        value = getattr(model, name)
        if name == "bounds":
            d = columns if isinstance(columns, int) else len(columns)
            low, high = check.bounds(value, name, d)
            value = tuple(zip(low.tolist(), high.tolist(), strict=True))
        elif name == "y_bounds":
            value = check.bounds(value, name)
        elif name in ("delta", "row_norm") and value is not None:
            value = float(value)
        rule[name] = value
    return rule


def _known(model: Any) -> type:
    """The mechanism of this package that a model is, or extends."""
    return next(
        cls
        for cls in type(model).__mro__
        if cls.__name__ in MADE_UNDER and cls.__module__.startswith("pdpbook.")
    )


def _settings(model: Any) -> tuple[str, ...]:
    """The settings that decide what a record adds."""
    return MADE_UNDER[_known(model).__name__]


def _settings_of_subclass(model: Any) -> list[str]:
    """Settings of a subclass that its mechanism does not have."""
    known: Any = _known(model)
    return sorted(set(model.get_params(deep=False)) - set(known().get_params(deep=False)))


def has_columns(model: Any) -> bool:
    """Whether a mechanism looks at X; a mean does not."""
    return "bounds" in _settings(model)


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The first name under which two rules differ."""
    missing = object()
    names = [*one, *(name for name in other if name not in one)]
    return next((k for k in names if one.get(k, missing) != other.get(k, missing)), None)


def _said(rule: dict[str, Any], name: str) -> str:
    """One entry of a rule in few words."""
    value = rule.get(name, "absent")
    if name == "bounds" and len(set(value)) == 1:
        value = value[0]
    return str(value)


def _hash_of(budgets: Any) -> int:
    """Return a number that budgets have in any order: a hash of each, added modulo 2^64.

    The hash is the mixer of splitmix64 (Steele, Lea and Flood 2014).
    """
    bits = (np.asarray(budgets, dtype=float) + 0.0).view(np.uint64)  # -0.0 is 0.0 here
    mixed = bits + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return int(mixed.sum(dtype=np.uint64))


def _refuse_others(sums: Sums, budgets: Floats, weights: Floats) -> None:
    """Refuse sums that are not of these public people."""
    total, largest = float(sums.total), float(weights.max())
    for what, have, asked, rounding in (
        ("number of people", sums.n, len(budgets), 0.0),
        ("number of people with a budget above 0", sums.participants, len(weights), 0.0),
        ("total weight", total, float(weights.sum()), ROUNDING),
        ("largest weight", sums.largest, largest, ROUNDING),
    ):
        if not math.isclose(have, asked, rel_tol=rounding):
            raise ValueError(
                "epsilon must be the budgets with which the Sums were made, of everybody in them; "
                f"their {what} is {check.shown(have)}, and that of epsilon {check.shown(asked)}. "
                "Was a part added twice, or forgotten?"
            )
    if sums.budgets != _hash_of(budgets):
        raise ValueError(
            "epsilon must be the budgets with which the Sums were made, of everybody in them; "
            "some are others, though their number, total and largest weight are the same"
        )


def _together(one: Owners, other: Owners) -> Owners:
    """Users of two parts, or an error if somebody is in both."""
    names = one.names + other.names
    found = check_users(names, len(names))
    if found.sizes.max() > 1:
        again = python_objects(found.labels[found.sizes > 1][:1], "users")[0]
        raise ValueError(
            f"users must be in one of the Sums that are added, with all of their rows; {again!r} "
            "is in both. Put the rows of a user into one part, or was a part added twice?"
        )
    return Owners(
        names,
        sizes=np.concatenate([one.sizes, other.sizes]),
        budgets=np.concatenate([one.budgets, other.budgets]),
        labels=np.concatenate([one.labels, other.labels]),
    )


def _sorted_users(owners: Owners) -> tuple[Users, Any]:
    """Users as a table of all rows has them, in sorted order, and where in `owners` each is."""
    m = len(owners.names)
    found = check_users(owners.names, m)
    order = np.argsort(found.codes)
    sizes = owners.sizes[order]
    return found._replace(codes=np.arange(m), sizes=sizes, rows={}, summed=True), order


def _budgets_by_user(epsilon: Any, users: Users, made: Floats) -> Floats:
    """Budgets of all users by name, the same as when the sums were made."""
    if of_pandas(epsilon, "Series"):
        names = NameTable(epsilon.index, "epsilon").names
        epsilon = dict(zip(names, epsilon.to_numpy().tolist(), strict=True))
    if not isinstance(epsilon, Mapping) and np.ndim(epsilon):
        raise TypeError(
            "epsilon must be a number, or a mapping or Series by user, where X is Sums of users: "
            f"they have no order; got {type(epsilon).__name__}"
        )
    budgets = check_user_epsilon(epsilon, users)
    if isinstance(epsilon, Mapping) and len(epsilon) != len(users.labels):
        raise ValueError(
            "epsilon must name exactly the users in the Sums; it has budgets of "
            f"{len(epsilon)}, and the Sums are of {len(users.labels)}. Was a part forgotten?"
        )
    if (budgets != made).any():
        at = int(np.flatnonzero(budgets != made)[0])
        who = python_objects(users.labels[at : at + 1], "users")[0]
        raise ValueError(
            "epsilon must be the budgets with which the Sums were made; that of user "
            f"{who!r} was {check.shown(made[at])}, and now it is {check.shown(budgets[at])}"
        )
    return budgets
