"""Bugs in mechanisms that protect a person with all of their records, or their labels alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from pdpbook import Floats
from pdpbook.domains import label_width
from pdpbook.guarantees import PureDP
from pdpbook.gwa import GWARegression, SampleLimitedRegression, TwoStageGWARegression
from pdpbook.user_level import (
    GradientTranscript,
    QuantileLaw,
    SampleLimitedMean,
    WeightedGradientDescent,
    WeightedMean,
    WeightedOutputPerturbation,
    quantile_law,
)
from pdpbook.users import Users, check_user_epsilon, check_users
from plants.plant import Pair, Plant, about, owned


class RecordForUser(WeightedMean):
    """The noise hides one record of a user, and users have many."""

    def contributions(self, row_weights: Floats, users: Users) -> Floats:
        most = np.zeros(len(users.labels))
        np.maximum.at(most, users.codes, row_weights)
        return most


class AverageUser(WeightedMean):
    """The noise is for the average contribution of a user, not for the largest."""

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        moves = self.contributions(row_weights, users)
        return float(label_width(self.y_bounds) * np.mean(moves / budgets))


class BudgetOfTheAverage(WeightedMean):
    """Weights and noise for one budget, the average of all users."""

    def plan(self, users: Users, budgets: Floats) -> Any:
        return super().plan(users, np.full(len(budgets), budgets.mean()))

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        return super().noise_scale(row_weights, users, np.full(len(budgets), budgets.mean()))


class ScaleOfKeptRows(SampleLimitedMean):
    """The sum is divided by the rows that are kept, the noise by all of them."""

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        kept = int((row_weights > 0).sum())
        return super().noise_scale(row_weights, users, budgets) * kept / len(row_weights)


class RowsClippedAlone(WeightedGradientDescent):
    """Each row is clipped to what its owner may add, so a user adds that for every row."""

    def law(self, people: Any, plan: Any) -> Any:
        return _ByRow(**vars(super().law(people, plan)))


class _ByRow(GradientTranscript):
    def _clipped(self, rows: Floats) -> Floats:
        sizes = np.diff(np.append(self.starts, len(self.y)))
        limits = np.repeat(self.clips, sizes)
        norms = np.linalg.norm(rows, axis=2)
        return np.asarray(rows * (limits / np.maximum(norms, limits))[:, :, None])


class OneGradientCharged(WeightedGradientDescent):
    """The noise of one gradient on every one of many."""

    def law(self, people: Any, plan: Any) -> Any:
        law: Any = super().law(people, plan)
        return replace(law, sigma=law.sigma / np.sqrt(law.steps))


class RowScaleOutput(WeightedOutputPerturbation):
    """Noise on the minimizer for the weight of one row of a user."""

    def plan(self, users: Users, budgets: Floats, d: int) -> Any:
        plan = super().plan(users, budgets, d)
        return replace(plan, scale=plan.scale / float(users.sizes.max()))


class ColumnForUser(SampleLimitedRegression):
    """The noise of the largest column of the matrix, as if each user had one record."""

    def plan(self, X: Floats, users: Users, budgets: Floats) -> Any:
        plan = super().plan(X, users, budgets)
        scale = label_width(self.y_bounds) * np.abs(plan.weights).sum(axis=0).max() / budgets.min()
        return replace(plan, scale=float(scale))


class HalfTheWidth(GWARegression):
    """Labels in an interval of width 2, noise for width 1."""

    def plan(self, X: Floats, users: Users, budgets: Floats, width: float | None = None) -> Any:
        plan = super().plan(X, users, budgets, width)
        return replace(plan, scale=plan.scale / 2)


class NoiseByResiduals(GWARegression):
    """The noise follows the residuals of a fit without noise, as if those were public."""

    def law(self, people: Any, plan: Any) -> Any:
        law, X, y = super().law(people, plan), people.X, people.y
        residuals = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        return replace(law, scale=law.scale * (1 + 0.1 * float(np.std(residuals))))


class WholeBudgetInBothStages(TwoStageGWARegression):
    """A pilot and a final release, each with the whole budget."""

    def plan(self, X: Floats, users: Users, budgets: Floats) -> Any:
        plan = super().plan(X, users, budgets)
        pilot = replace(plan.pilot, scale=plan.pilot.scale * self.share)
        last = replace(plan.last, scale=plan.last.scale * (1 - self.share))
        return replace(plan, pilot=pilot, last=last)


@dataclass(frozen=True, eq=False)
class _NumberLaw:
    """A law of one number, in the shape of a release."""

    law: QuantileLaw

    def logpdf(self, points: ArrayLike) -> Floats:
        return self.law.logpdf(np.asarray(points, dtype=float)[..., 0])

    def sample(self, size: int, *, rng: np.random.Generator) -> Floats:
        return np.asarray(self.law.sample(size, rng=rng))[:, None]

    def largest_loss(self, other: _NumberLaw) -> float:
        return self.law.largest_loss(other.law)


class Median(BaseEstimator):  # type: ignore[misc]
    """The private median as an estimator, so that it is audited as all others are.

    Parameters
    ----------
    epsilon : float, default 1.0
        Budget of every user.
    bounds : pair of float, default (0.0, 1.0)
        Public range.
    random_state : int or Generator, optional
        Of the draw.
    """

    def __init__(
        self, *, epsilon: Any = 1.0, bounds: ArrayLike = (0.0, 1.0), random_state: Any = None
    ):
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, users: Any = None, epsilon: Any = None) -> Any:
        """Release the median of y."""
        owners = check_users(users, len(np.asarray(y)))
        budgets = check_user_epsilon(self.epsilon if epsilon is None else epsilon, owners)
        rng = np.random.default_rng(self.random_state)
        law = self.output_law(X, y, users=users, epsilon=epsilon)
        self.mean_ = float(law.sample(1, rng=rng)[0, 0])
        self.guarantee_ = PureDP(budgets, neighbors="user")
        return self

    def output_law(self, X: Any, y: ArrayLike, *, users: Any = None, epsilon: Any = None) -> Any:
        """Exact law of the release."""
        given = self.epsilon if epsilon is None else epsilon
        owners = check_users(users, len(np.asarray(y)))
        return _NumberLaw(self._quantile(np.asarray(y, dtype=float), owners, given))

    def _quantile(self, y: Floats, owners: Users, epsilon: Any) -> QuantileLaw:
        law = quantile_law(
            y,
            0.5,
            users=owners.codes,
            epsilon=epsilon,
            bounds=self.bounds,
            weights=self._rows(y, owners),
        )
        return QuantileLaw(law.edges, law.log_density)

    def _rows(self, y: Floats, owners: Users) -> Floats:
        return np.ones(len(y))


class ForgottenTwo(Median):
    """The exponential mechanism with the exponent of a score that moves one way only."""

    def _quantile(self, y: Floats, owners: Users, epsilon: Any) -> QuantileLaw:
        return super()._quantile(y, owners, 2 * np.asarray(epsilon))


class RecordsOfTheMedian(Median):
    """The score moves by the weight of a user, and the exponent is for that of a record."""

    def _quantile(self, y: Floats, owners: Users, epsilon: Any) -> QuantileLaw:
        return super()._quantile(y, owners, np.asarray(epsilon) * float(owners.sizes.max()))


class WeightsFromTheData(Median):
    """Users whose rows spread more weigh more."""

    def _rows(self, y: Floats, owners: Users) -> Floats:
        m = len(owners.labels)
        low, high = np.full(m, np.inf), np.full(m, -np.inf)
        np.minimum.at(low, owners.codes, y)
        np.maximum.at(high, owners.codes, y)
        return np.asarray(((0.01 + high - low) / owners.sizes)[owners.codes])


SIZES = np.array([1, 2, 5, 9])
GROUPS = owned(SIZES, 1, 3)
BUDGETS = {0: 0.2, 1: 1.0, 2: 1.0, 3: 2.0}


def _spread_rows() -> Pair:
    """Fifteen users with two equal rows each; one moves them to the far ends."""
    users = np.repeat(np.arange(15), 2)
    y = (users + 0.5) / 15
    other = y.copy()
    other[14:16] = [0.01, 0.99]
    return Pair((np.zeros((30, 1)), y), (np.zeros((30, 1)), other), None, users)


def cluster(rows: int) -> Pair:
    """Five users next to the left end; one more, with many rows, at the one end or the other."""
    users = np.r_[np.repeat(np.arange(5), 4), np.full(rows, 5)]
    y = np.where(users == 5, 0.0, 1e-6)
    X = np.zeros((len(y), 1))
    return Pair((X, y), (X, np.where(users == 5, 1.0, y)), None, users)


def regression(user: int, seed: int = 5) -> Pair:
    """Rows of users of very different sizes; labels of one of them, all against the others'."""
    users = np.repeat(np.arange(4), SIZES + 2)
    X = np.random.default_rng(seed).normal(size=(len(users), 2))
    X[:, 0] = np.abs(X[:, 0])
    y = np.zeros(len(users))
    mine = users == user
    sign = np.where(X[:, 0] >= 0, 1.0, -1.0)
    return Pair((X, np.where(mine, sign, y)), (X, np.where(mine, -sign, y)), None, users)


def _quiet(user: int) -> Pair:
    """The same, and that user falls silent."""
    pair = regression(user)
    return Pair(
        pair.data, (pair.data[0], np.zeros(len(np.asarray(pair.data[1])))), None, pair.users
    )


def far(m: int = 300, rows: int = 8) -> Pair:
    """Others push the fit far along one axis; one user turns all their rows across it."""
    X = np.tile([1.0, 0.0], (m + rows, 1))
    X[-rows:] = -np.cos(1.1), -np.sin(1.1)
    other, y = X.copy(), np.ones(m + rows)
    other[-rows:, 1] *= -1
    return Pair((X, y), (other, y), None, np.r_[np.arange(1, m + 1), np.zeros(rows, dtype=int)])


def _pure(name: str, kind: Any, sound: Any, pair: Pair, **settings: Any) -> Plant:
    draws = 5000 if "steps" in settings else None  # for the law of a descent
    return Plant(name, about(kind), kind(**settings), sound(**settings), pair, draws=draws)


ROWS: dict[str, Any] = {"sigma2": 40.0}  # labels so noisy that the number of rows matters
DESCENT: dict[str, Any] = {
    "delta": 0.01,
    "clip_norm": 0.3,
    "steps": 4,
    "row_norm": 1.0,
    "tradeoff": np.inf,
}
FAR: dict[str, Any] = {
    "lam": 1e-3,
    "radius": 50.0,
    "tradeoff": 0.0,
    "classes": (-1, 1),
}
USERS = [
    _pure("record for user", RecordForUser, WeightedMean, GROUPS, **ROWS),
    _pure("average user", AverageUser, WeightedMean, GROUPS, **ROWS),
    _pure(
        "budget of the average user",
        BudgetOfTheAverage,
        WeightedMean,
        owned(SIZES, 1, 0, epsilon=BUDGETS),
    ),
    _pure("scale of all rows", ScaleOfKeptRows, SampleLimitedMean, GROUPS, max_rows=2),
    _pure(
        "rows clipped alone",
        RowsClippedAlone,
        WeightedGradientDescent,
        owned([6, 1, 2, 3], 2, 0),
        **DESCENT,
    ),
    _pure(
        "one gradient charged",
        OneGradientCharged,
        WeightedGradientDescent,
        owned([6, 1, 2, 3], 2, 0),
        **DESCENT,
    ),
    _pure(
        "row scale on the output",
        RowScaleOutput,
        WeightedOutputPerturbation,
        far(),
        loss="logistic",
        **FAR,
    ),
    _pure("column for user", ColumnForUser, SampleLimitedRegression, regression(3), max_rows=5),
    _pure("half the width", HalfTheWidth, GWARegression, regression(3)),
    _pure("noise by residuals", NoiseByResiduals, GWARegression, _quiet(3)),
    _pure(
        "whole budget in both stages",
        WholeBudgetInBothStages,
        TwoStageGWARegression,
        regression(3),
        sigma2=0.02,
        epsilon=40.0,
        share=0.3,
    ),
    _pure("forgotten two", ForgottenTwo, Median, cluster(9)),
    _pure("records of the median", RecordsOfTheMedian, Median, cluster(9)),
    _pure("weights from the data", WeightsFromTheData, Median, _spread_rows()),
]
