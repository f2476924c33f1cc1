"""The largest privacy loss between two densities, and a search for the neighbors where it is.

Where a mechanism can state the law of its output, a pure promise is checked here point by point,
without sampling error. Passing is no proof; failing is a refutation.
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

SLACK = 1e-9  # relative: a promise kept with equality is kept
REACH = np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 13)])  # how far out, in typical radii
FAR = (1e3, 1e6, 1e9)


@dataclass(frozen=True)
class MechanismAudit:
    """What one pair of neighbors shows about the promise of a mechanism."""

    mechanism: str  #: name of its class
    promise: str  #: name of the class of its promise
    neighbors: str  #: the relation of the pair
    person: int  #: who differs, a row or the place of a user among the sorted labels
    how: str  #: "largest loss", "closed form", "quadrature", "draws", "counts" or "attack"
    attack: float  #: what the pair shows at least, a loss in nats, a delta or a success rate
    promised: float  #: the most that was promised
    epsilon: float  #: where, for a delta; NaN else
    draws: int  #: draws or fits on each of the two data sets; 0 where none were needed
    false_alarm: float  #: chance at most that a promise that is kept is called refuted
    #: `data`, `neighbor` and `epsilon` of the worst pair of a search, to audit it again
    witness: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def ratio(self) -> float:
        """Attack over promise; of a promise of 0, any loss at all is infinitely too much."""
        if self.promised > 0:
            return float(max(self.attack, 0.0) / self.promised)
        return float("inf") if self.attack > 0 else 0.0

    @property
    def passed(self) -> bool:
        """Whether this pair does not refute the promise."""
        return bool(self.attack <= self.promised * (1 + SLACK))

    def __str__(self) -> str:
        verdict = "not refuted, which proves nothing" if self.passed else "REFUTED"
        unit = "a success rate of {:.3g}" if self.how == "attack" else "a loss of {:.3g}"
        if np.isfinite(self.epsilon):
            unit = f"a delta of {{:.3g}} at {self.epsilon:.3g} nats"
        shown, most = unit.format(max(self.attack, 0.0)), f"{self.promised:.3g}"
        return (
            f"{self.mechanism}: promise {verdict}. For person {self.person} ({self.neighbors}) "
            f"the audit by {self.how} shows {shown}; at most {most} was promised."
        )


def largest_loss(p: Any, q: Any, draws: int, rng: np.random.Generator) -> float:
    r"""Largest log-ratio of two densities, over points where it may be large.

    Over draws from both laws, points on the line through both centers beyond either end, up to a
    billion radii out, and draws blown up as far, so that laws whose tails fall at different rates
    are told apart whatever the centers. From every log-ratio we take what rounding of the two
    log-densities can explain, so that very far points do not cry wolf. A law has `logpdf` and
    `sample`; an attribute `center` helps.
    """
    points = _points(p, q, draws, rng)
    left, right = (np.asarray(law.logpdf(points), dtype=float) for law in (p, q))
    with np.errstate(invalid="ignore"):
        gap = np.abs(left - right) - 8 * ULP * (np.abs(left) + np.abs(right) + 1)
    gap[np.isinf(left) != np.isinf(right)] = np.inf  # possible under one law alone
    return float(max(np.nanmax(gap, initial=0.0), 0.0))  # NaN: impossible under both


def _points(p: Any, q: Any, draws: int, rng: np.random.Generator) -> Floats:
    """Draws from both laws, the line through their centers, and far points in all directions."""
    samples = [np.asarray(law.sample(draws, rng=rng), dtype=float) for law in (p, q)]
    ends = [
        np.asarray(getattr(law, "center", drawn.mean(axis=0)), dtype=float)
        for law, drawn in zip((p, q), samples, strict=True)
    ]
    offsets = np.concatenate([sample - end for sample, end in zip(samples, ends, strict=True)])
    radius = float(np.median(np.linalg.norm(offsets, axis=1)))
    along = ends[1] - ends[0] if np.any(ends[1] != ends[0]) else offsets[0]
    outward = REACH[:, None] * radius * along / max(float(np.linalg.norm(along)), 1e-300)
    line = [ends[0] - outward, ends[1] + outward]
    blown_up = [ends[0] + factor * offsets[:: max(1, draws // 8)] for factor in FAR]
    return np.concatenate([*samples, *line, *blown_up])


class NeighborSearch(NamedTuple):
    """The outcome of `search_neighbors`; unpacks as ``worst, table``."""

    worst: MechanismAudit  #: the largest ratio found; its `witness` holds the pair
    table: pd.DataFrame  #: one row a pair, with kind, person, promised, realized, ratio


class _Pair(NamedTuple):
    """Neighbors on the domain: rows (x, y) of everybody, and another row of one person."""

    kind: str
    rows: Floats
    person: int
    other: Floats
    budgets: Floats

    def sides(self, mechanism: Any) -> list[tuple[Floats, Floats]]:
        """Both data sets, in the units of a mechanism."""
        changed = self.rows.copy()
        changed[self.person] = self.other
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
    """Look for the pair of neighbors that comes closest to breaking a promise, or breaks it.

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
    n, d, trials = check.count(n, "n"), check.count(d, "d"), check.count(trials, "trials")
    draws, climbs = check.count(draws, "draws"), check.count(climbs, "climbs", minimum=0)
    steps = check.count(steps, "steps", minimum=0)
    scale = check.epsilon(epsilon, n if np.ndim(epsilon) else None)
    found: list[tuple[MechanismAudit, _Pair]] = []
    names = type(mechanism).__name__, "PureDP", "replace-one"

    def audit(pair: _Pair, law: Any = None) -> Any:
        data, neighbor = pair.sides(mechanism)
        law = law or mechanism.output_law(*data, epsilon=pair.budgets)
        other = mechanism.output_law(*neighbor, epsilon=pair.budgets)
        loss, budget = largest_loss(law, other, draws, rng), float(pair.budgets[pair.person])
        shown = "largest loss", loss, budget
        found.append((MechanismAudit(*names, pair.person, *shown, np.nan, draws, 0.0), pair))
        return law

    while len(found) < trials:
        law = None
        for pair in islice(_propose(n, d, scale, rng), trials - len(found)):
            law = audit(pair, law)  # one law, many neighbors
    for start, pair in sorted(found, key=lambda item: -item[0].ratio)[:climbs]:
        highest = start.ratio
        for _ in range(steps):
            moved = _changed(pair, rng)
            audit(moved)
            if found[-1][0].ratio >= highest:
                highest, pair = found[-1][0].ratio, moved
    rows = [(p.kind, one.person, one.promised, one.attack, one.ratio) for one, p in found]
    table = pd.DataFrame(rows, columns=["kind", "person", "promised", "realized", "ratio"])
    worst, pair = max(found, key=lambda item: item[0].ratio)
    data, neighbor = pair.sides(mechanism)
    witness = {"data": data, "neighbor": neighbor, "epsilon": pair.budgets}
    return NeighborSearch(replace(worst, witness=witness), table)


def _propose(n: int, d: int, scale: Any, rng: np.random.Generator) -> Iterator[_Pair]:
    """One data set of a random kind, and several of its neighbors."""
    budgets = _budgets(n, scale, rng)
    people = [int(budgets.argmax()), int(budgets.argmin()), *rng.integers(n, size=2).tolist()]
    ones, sign = np.ones(d), float(rng.choice([-1, 1]))
    kind = str(rng.choice(["random", "corners", "label flip", "equal others", "null others"]))
    if kind in ("random", "corners", "label flip"):
        X, y = rng.random((n, d)), rng.uniform(-1, 1, n)
        if kind != "random":
            X, y = np.round(X), np.where(y < 0, -1.0, 1.0)
        rows = np.column_stack([X, y])
        for person in people:
            x, label = rng.random(d), rng.uniform(-1, 1)
            if kind == "corners":
                x, label = np.round(x), np.sign(label)
            elif kind == "label flip":
                x, label = X[person], -y[person]
            yield _Pair(kind, rows, person, np.append(x, label), budgets)
        return
    level = 0.0 if kind == "null others" else float(rng.choice([rng.random(), 1.0]))
    person = people[int(rng.integers(4))]
    rows = np.tile(np.append(level * ones, sign if level else 0.0), (n, 1))
    rows[person] = np.append(ones, -sign)
    records = [(ones, sign), (0 * ones, 0.0), (level * ones, sign), (np.round(rng.random(d)), sign)]
    for x, label in records:
        yield _Pair(kind, rows, person, np.append(x, label), budgets)


def _budgets(n: int, scale: Any, rng: np.random.Generator) -> Floats:
    if np.ndim(scale):
        return np.asarray(scale)
    levels = np.where(rng.random(n) < 0.5, 0.02, 1.0)
    spread = np.ones(n), levels, np.maximum(rng.gamma(0.5, 2.0, n), 0.01)
    return np.asarray(scale * spread[int(rng.integers(3))])


def _changed(pair: _Pair, rng: np.random.Generator) -> _Pair:
    """The pair with one number of one record replaced: an extreme value, or a random one."""
    rows, other = pair.rows.copy(), pair.other.copy()
    new = float(rng.choice([0.0, 1.0, rng.random()]))
    k, row = int(rng.integers(len(other))), int(rng.integers(len(rows)))
    who = rng.choice(["others", "record", "replacement"])
    if k == len(other) - 1:
        new = 2 * new - 1  # a label
    if who == "replacement":
        other[k] = new
    else:
        rows[row if who == "others" else pair.person, k] = new
    return pair._replace(kind="climbed", rows=rows, other=other)


def _in_units(mechanism: Any, X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """From the domain to the units of the mechanism, within its public bounds."""
    cap = getattr(mechanism, "row_norm", None)
    if cap is not None:
        room = cap**2 - bool(getattr(mechanism, "fit_intercept", False))
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = X * np.minimum(1.0, np.sqrt(max(room, 0.0)) / np.maximum(norms, 1e-300))
    low, high = check.bounds(getattr(mechanism, "bounds", (0.0, 1.0)), "bounds", X.shape[1])
    y_low, y_high = check.bounds(getattr(mechanism, "y_bounds", (-1.0, 1.0)), "y_bounds")
    X = np.clip(low + X * (high - low), low, high)
    return X, np.clip(y_low + (y + 1) / 2 * (y_high - y_low), y_low, y_high)
