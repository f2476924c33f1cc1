"""The largest privacy loss between two densities, and a search for the neighbors where it is.

A mechanism that states the law of its output can have a pure promise checked here, point by point
and without sampling error. A check that passes is no proof; one that fails is a refutation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._pandas import pd
from pdpbook.check import ULP

SLACK = 1e-9  # relative: what a loss may be above its promise, by rounding
# Points are tried on the line through both centers, so many typical radii beyond either end,
RADII_BEYOND = np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 13)])
# and at draws whose distance from the center is multiplied by these.
FAR_FACTORS = (1e3, 1e6, 1e9)
NO_DIVISION_BY_ZERO = 1e-300  # least length of a vector


@dataclass(frozen=True)
class MechanismAudit:
    """What one pair of neighbors shows about the promise of a mechanism."""

    mechanism: str  #: name of its class
    promise: str  #: name of the class of its promise
    neighbors: str  #: the relation of the pair
    person: int  #: who differs, a row or the place of a user among the sorted labels
    how: str  #: "largest loss", "closed form", "quadrature", "draws", "counts" or "attack"
    attack: float  #: what the pair shows, at least; a loss in nats, a delta or a success rate
    promised: float  #: the promised upper bound on it
    epsilon: float  #: the epsilon of a delta; else NaN
    draws: int  #: draws or fits on each of the two data sets; 0 where none were needed
    false_alarm: float  #: chance at most that a true promise is called refuted
    #: `data`, `neighbor` and `epsilon` of the worst pair of a search, to audit it again
    witness: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def ratio(self) -> float:
        """Attack over promise, or infinity where the promise is 0 and the attack is not."""
        if self.promised > 0:
            return float(max(self.attack, 0.0) / self.promised)
        return float("inf") if self.attack > 0 else 0.0

    @property
    def passed(self) -> bool:
        """Whether this pair does not refute the promise."""
        return bool(self.attack <= self.promised * (1 + SLACK))

    def __str__(self) -> str:
        verdict = "not refuted, which proves nothing" if self.passed else "REFUTED"
        attack = f"{max(self.attack, 0.0):.3g}"
        promised = f"{self.promised:.3g}"
        if np.isfinite(self.epsilon):
            shown = f"a delta of {attack} at {self.epsilon:.3g} nats"
        elif self.how == "attack":
            shown = f"a success rate of {attack}"
        else:
            shown = f"a loss of {attack}"
        return (
            f"{self.mechanism}: promise {verdict}. For person {self.person} ({self.neighbors}) "
            f"the audit by {self.how} shows {shown}; at most {promised} was promised."
        )


def largest_loss(p: Any, q: Any, draws: int, rng: np.random.Generator) -> float:
    """Largest log-ratio of two densities, over points where it may be large.

    The points are draws from both laws; points on the line through both centers, up to a billion
    radii beyond either end; and draws moved as far from their center, which tell apart laws whose
    tails fall at different rates. From every log-ratio we subtract what rounding of the two
    log-densities can explain, as far out that is much. A law has `logpdf` and `sample`; its
    attribute `center` is used where it has one.
    """
    points = _points(p, q, draws, rng)
    log_p = np.asarray(p.logpdf(points), dtype=float)
    log_q = np.asarray(q.logpdf(points), dtype=float)
    with np.errstate(invalid="ignore"):
        rounding = 8 * ULP * (np.abs(log_p) + np.abs(log_q) + 1)
        loss = np.abs(log_p - log_q) - rounding
    loss[np.isinf(log_p) != np.isinf(log_q)] = np.inf  # possible under one law alone
    return float(max(np.nanmax(loss, initial=0.0), 0.0))  # NaN: impossible under both


def _points(p: Any, q: Any, draws: int, rng: np.random.Generator) -> Floats:
    """Return the points of `largest_loss`, shape (points, d)."""
    samples = [np.asarray(law.sample(draws, rng=rng), dtype=float) for law in (p, q)]
    start = np.asarray(getattr(p, "center", samples[0].mean(axis=0)), dtype=float)
    end = np.asarray(getattr(q, "center", samples[1].mean(axis=0)), dtype=float)
    offsets = np.concatenate([samples[0] - start, samples[1] - end])
    radius = float(np.median(np.linalg.norm(offsets, axis=1)))
    along = end - start if np.any(end != start) else offsets[0]
    length = max(float(np.linalg.norm(along)), NO_DIVISION_BY_ZERO)
    outward = RADII_BEYOND[:, None] * radius * along / length
    line = [start - outward, end + outward]
    some_offsets = offsets[:: max(1, draws // 8)]
    far = [start + factor * some_offsets for factor in FAR_FACTORS]
    return np.concatenate([*samples, *line, *far])


class NeighborSearch(NamedTuple):
    """The outcome of `search_neighbors`; unpacks as ``worst, table``."""

    worst: MechanismAudit  #: the largest ratio found; its `witness` holds the pair
    table: pd.DataFrame  #: one row a pair, with kind, person, promised, realized, ratio


class _Pair(NamedTuple):
    """Two neighbors on the domain, which differ in the row of one person."""

    kind: str  # how the pair was made
    rows: Floats  # shape (n, d + 1): features and label of everybody in the first data set
    person: int
    replacement: Floats  # shape (d + 1,): the row of this person in the second data set
    budgets: Floats  # shape (n,)

    def data_sets(self, mechanism: Any) -> list[tuple[Floats, Floats]]:
        """Return (X, y) of both data sets, in the units of a mechanism."""
        changed = self.rows.copy()
        changed[self.person] = self.replacement
        return [_in_units(mechanism, rows[:, :-1], rows[:, -1]) for rows in (self.rows, changed)]


def search_neighbors(
    mechanism: Any,
    n: int,
    d: int,
    *,
    epsilon: ArrayLike,
    rng: np.random.Generator,
    trials: int = 2000,
    draws: int = 8,
    climbs: int = 3,
    steps: int = 60,
) -> NeighborSearch:
    """Search for the pair of neighbors that comes closest to breaking a pure promise, or breaks it.

    The search can refute a promise; it can never prove one. Pairs are random records, corners of
    the cube, and adversarial ones (all others equal, or null; the record ``x = 1, y = -1`` against
    its flipped label or the null record), differing in the heaviest, the lightest or any person.
    The worst few are then improved one coordinate at a time. Statements ``lem-loss-ratio`` and
    ``thm-pdp-op``, chapter *personalized/pdp_op*.

    Parameters
    ----------
    mechanism : object with ``output_law(X, y, *, epsilon)``
        Data are made on the domain [0, 1]^d x [-1, 1] and put into the units of its public `bounds`
        and `y_bounds`, within its `row_norm`, where it has such attributes.
    n, d : int
        Number of people and of features.
    epsilon : float or array_like, shape (n,)
        Budgets. A number is the scale of budgets drawn anew for each data set: equal, of two
        levels, or Gamma distributed; an array is used as it is.
    rng : Generator
    trials : int, default 2000
        Pairs before improvement.
    draws : int, default 8
        Draws from each law; the extreme points far out do most of the work.
    climbs : int, default 3
        How many of the worst pairs to improve.
    steps : int, default 60
        How many changes are attempted for each.
    """
    check.rng(rng)
    n = check.count(n, "n")
    d = check.count(d, "d")
    trials = check.count(trials, "trials")
    draws = check.count(draws, "draws")
    climbs = check.count(climbs, "climbs", minimum=0)
    steps = check.count(steps, "steps", minimum=0)
    scale = check.epsilon(epsilon, n if np.ndim(epsilon) else None)
    audited: list[tuple[MechanismAudit, _Pair]] = []

    def audit(pair: _Pair, law: Any = None) -> Any:
        """Audit one pair, and return the law on its first data set: `law`, where it is known."""
        data, neighbor = pair.data_sets(mechanism)
        law = law or mechanism.output_law(*data, epsilon=pair.budgets)
        other_law = mechanism.output_law(*neighbor, epsilon=pair.budgets)
        result = MechanismAudit(
            mechanism=type(mechanism).__name__,
            promise="PureDP",
            neighbors="replace-one",
            person=pair.person,
            how="largest loss",
            attack=largest_loss(law, other_law, draws, rng),
            promised=float(pair.budgets[pair.person]),
            epsilon=np.nan,
            draws=draws,
            false_alarm=0.0,
        )
        audited.append((result, pair))
        return law

    while len(audited) < trials:
        law = None
        for pair in islice(_propose(n, d, scale, rng), trials - len(audited)):
            law = audit(pair, law)  # all of these pairs have the same first data set

    worst_first = sorted(audited, key=lambda item: -item[0].ratio)
    for result, pair in worst_first[:climbs]:
        highest = result.ratio
        for _ in range(steps):
            moved = _changed(pair, rng)
            audit(moved)
            ratio = audited[-1][0].ratio
            if ratio >= highest:
                highest = ratio
                pair = moved

    rows = [(pair.kind, a.person, a.promised, a.attack, a.ratio) for a, pair in audited]
    table = pd.DataFrame(rows, columns=["kind", "person", "promised", "realized", "ratio"])
    worst, pair = max(audited, key=lambda item: item[0].ratio)
    data, neighbor = pair.data_sets(mechanism)
    witness = {"data": data, "neighbor": neighbor, "epsilon": pair.budgets}
    return NeighborSearch(replace(worst, witness=witness), table)


def _propose(n: int, d: int, scale: Any, rng: np.random.Generator) -> Iterator[_Pair]:
    """Yield pairs of one data set of a random kind and several of its neighbors."""
    budgets = _budgets(n, scale, rng)
    heaviest = int(budgets.argmax())
    lightest = int(budgets.argmin())
    people = [heaviest, lightest, *rng.integers(n, size=2).tolist()]
    sign = float(rng.choice([-1, 1]))
    kind = str(rng.choice(["random", "corners", "label flip", "equal others", "null others"]))
    if kind in ("equal others", "null others"):
        yield from _adversarial_pairs(kind, n, d, people, sign, budgets, rng)
        return
    X = rng.random((n, d))
    y = rng.uniform(-1, 1, n)
    if kind != "random":
        X = np.round(X)
        y = np.where(y < 0, -1.0, 1.0)
    rows = np.column_stack([X, y])
    for person in people:
        x = rng.random(d)
        label = rng.uniform(-1, 1)
        if kind == "corners":
            x = np.round(x)
            label = np.sign(label)
        elif kind == "label flip":
            x = X[person]
            label = -y[person]
        yield _Pair(kind, rows, person, np.append(x, label), budgets)


def _adversarial_pairs(
    kind: str,
    n: int,
    d: int,
    people: list[int],
    sign: float,
    budgets: Floats,
    rng: np.random.Generator,
) -> Iterator[_Pair]:
    """Yield pairs in which all other people have one record, and one person the opposite label."""
    ones = np.ones(d)
    null = (0 * ones, 0.0)
    level = 0.0 if kind == "null others" else float(rng.choice([rng.random(), 1.0]))
    person = people[int(rng.integers(4))]
    rows = np.tile(np.append(level * ones, sign if level else 0.0), (n, 1))
    rows[person] = np.append(ones, -sign)
    corner = np.round(rng.random(d))
    for x, label in [(ones, sign), null, (level * ones, sign), (corner, sign)]:
        yield _Pair(kind, rows, person, np.append(x, label), budgets)


def _budgets(n: int, scale: Any, rng: np.random.Generator) -> Floats:
    """Return budgets as they are, or of a random shape and this scale."""
    if np.ndim(scale):
        return np.asarray(scale)
    equal = np.ones(n)
    two_levels = np.where(rng.random(n) < 0.5, 0.02, 1.0)
    gamma = np.maximum(rng.gamma(0.5, 2.0, n), 0.01)
    shapes = (equal, two_levels, gamma)
    return np.asarray(scale * shapes[int(rng.integers(3))])


def _changed(pair: _Pair, rng: np.random.Generator) -> _Pair:
    """Return the pair with one number of one record replaced, by an extreme or a random value."""
    rows = pair.rows.copy()
    replacement = pair.replacement.copy()
    value = float(rng.choice([0.0, 1.0, rng.random()]))
    column = int(rng.integers(len(replacement)))
    row = int(rng.integers(len(rows)))
    which = rng.choice(["others", "record", "replacement"])
    is_label = column == len(replacement) - 1
    if is_label:
        value = 2 * value - 1
    if which == "replacement":
        replacement[column] = value
    elif which == "record":
        rows[pair.person, column] = value
    else:
        rows[row, column] = value
    return pair._replace(kind="climbed", rows=rows, replacement=replacement)


def _in_units(mechanism: Any, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return data on the domain in the units of the mechanism, within its public bounds."""
    row_norm = getattr(mechanism, "row_norm", None)
    if row_norm is not None:
        # a constant feature takes 1 of the squared norm
        room = row_norm**2 - bool(getattr(mechanism, "fit_intercept", False))
        longest = np.sqrt(max(room, 0.0))
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = X * np.minimum(1.0, longest / np.maximum(norms, NO_DIVISION_BY_ZERO))
    low, high = check.bounds(getattr(mechanism, "bounds", (0.0, 1.0)), "bounds", X.shape[1])
    y_low, y_high = check.bounds(getattr(mechanism, "y_bounds", (-1.0, 1.0)), "y_bounds")
    X = np.clip(low + X * (high - low), low, high)
    y = np.clip(y_low + (y + 1) / 2 * (y_high - y_low), y_low, y_high)
    return X, y
