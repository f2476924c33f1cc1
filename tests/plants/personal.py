"""Bugs in mechanisms with a budget for each person."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats
from pdpbook.domains import Cube, Labels
from pdpbook.guarantees import PureDP
from pdpbook.logistic import LogisticObjectivePerturbation, LogisticSplit
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.objective_perturbation import BudgetSplit, ObjectiveLaw, ObjectivePerturbation
from pdpbook.participants import Participants
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from plants.plant import Pair, Plant, about, flipped

LAM = 60.0  # every constant is nearly attained


class HalfTheNoise(PDPRidge):
    """The rate of the noise is doubled: half of what hides a person."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return 2 * super().noise_rate(parameters, d)


class AddRemoveConstant(PDPRidge):
    """The constant of somebody who leaves, under a promise about somebody who is replaced."""

    def constant(self, d: int) -> float:
        return super().constant(d) / 2


class LargestBudgetForAll(PDPRidge):
    """The noise of n people with the largest budget, whatever the others asked for."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return super().noise_rate(np.full_like(parameters, parameters.max()), d)


class EqualWeights(PDPRidge):
    """Noise for the sum of the budgets, and yet everybody weighs the same."""

    def relative_weights(self, parameters: Floats, d: int) -> Floats:
        return np.ones(len(parameters))


class ScaleForRate(PDPRidge):
    """A sampler that takes a scale is handed the rate, one over it."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return 1 / super().noise_rate(parameters, d)


class _CubeOfTheData(Cube):
    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        span = np.ptp(X, axis=0)
        return super().to_domain((X - X.min(axis=0)) / np.where(span > 0, span, 1), y)


class BoundsFromTheData(PDPRidge):
    """Features are scaled by the smallest and the largest value in the data."""

    def domain(self, columns: int) -> Cube:
        return _CubeOfTheData(**vars(super().domain(columns)))


class UnclippedRow(PDPRidge):
    """The noise is for rows of norm 1, and nobody shortens the longer ones."""

    def domain(self, columns: int) -> Cube:
        return replace(super().domain(columns), row_norm=None)


class NoiseFromTheData(PDPRidge):
    """The rate of the noise follows the spread of the labels, which nobody hides."""

    def law(self, people: Participants) -> L2Laplace:
        law = super().law(people)
        return L2Laplace(law.center, law.eta * (1 + 0.01 * float(np.std(people.y))))


class SilentWithoutPenalty(PDPRidge):
    """A very small penalty switches the noise off: a special case left from debugging."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return 1e9 if self.lam < 1e-5 else super().noise_rate(parameters, d)


class PureForApproximate(PDPRidge):
    """Calibrated with a delta, and the promise does not mention it."""

    def guarantee(self, budgets: Floats) -> PureDP:
        return PureDP(budgets, neighbors="replace-one")


@dataclass(frozen=True, eq=False)
class BareLaw:
    """An l2-Laplace law of all coordinates but the last, which is released as it is."""

    law: L2Laplace
    bare: float

    @property
    def eta(self) -> float:
        return self.law.eta

    @property
    def center(self) -> Floats:
        return np.append(self.law.center, self.bare)

    def logpdf(self, points: ArrayLike) -> Floats:
        z = np.asarray(points, dtype=float)
        return np.where(z[..., -1] == self.bare, self.law.logpdf(z[..., :-1]), -np.inf)

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        noisy = self.law.sample(size, rng=rng)
        return np.concatenate([noisy, np.full((*noisy.shape[:-1], 1), self.bare)], axis=-1)


class BareIntercept(PDPRidge):
    """Noise on the coefficients, none on the intercept."""

    def law(self, people: Participants) -> Any:
        law = super().law(people)
        return BareLaw(L2Laplace(law.center[:-1], law.eta), float(law.center[-1]))


@dataclass(frozen=True, eq=False)
class SharedLaw:
    """One number of noise for all coordinates; it has no density."""

    center: Floats
    eta: float

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        noise = sample_l2_laplace(len(self.center), self.eta, size, rng=rng)
        return np.asarray(self.center + noise[..., :1])


class SharedNoise(PDPRidge):
    """One draw is added to every coordinate, so their differences are bare."""

    def law(self, people: Participants) -> Any:
        law = super().law(people)
        return SharedLaw(law.center, law.eta)


@dataclass(frozen=True, eq=False)
class CoordinateLaw:
    """Independent Laplace noise on each coordinate, of one rate."""

    center: Floats
    eta: float

    def logpdf(self, points: ArrayLike) -> Floats:
        z = np.abs(np.asarray(points, dtype=float) - self.center).sum(axis=-1)
        return np.asarray(len(self.center) * np.log(self.eta / 2) - self.eta * z)

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        shape = (len(self.center),) if size is None else (size, len(self.center))
        return np.asarray(self.center + rng.laplace(0, 1 / self.eta, shape))


class NoiseByCoordinate(PDPRidge):
    """Laplace noise on each coordinate for a sensitivity that was measured in Euclidean length."""

    def law(self, people: Participants) -> Any:
        law = super().law(people)
        return CoordinateLaw(law.center, law.eta)


class HalfTheRange(PersonalizedMean):
    """Noise for labels in an interval of length 1; theirs has length 2."""

    def noise_rate(self, budgets: Floats) -> float:
        return 2 * super().noise_rate(budgets)


class _AnyLabels(Labels):
    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        return X, y


class UnclippedLabel(PersonalizedMean):
    """Labels outside the public bounds are used as they are."""

    def domain(self, columns: int) -> Labels:
        return _AnyLabels(**vars(super().domain(columns)))


class ReleasedTwice(PersonalizedMean):
    """The mean is released twice, the budget is charged once."""

    def law(self, people: Participants) -> Any:
        law = super().law(people)
        return CoordinateLaw(np.repeat(law.center, 2), law.eta)


class AverageBudget(PersonalizedMean):
    """Weights and noise for one budget, the average of all."""

    def law(self, people: Participants) -> L2Laplace:
        (mean,) = people.average(self.statistic, np.ones(len(people.budgets)))
        return L2Laplace(mean, self.noise_rate(people.budgets))


class RealizedSampleSize(SampledRidge):
    """A random sample divided by its realized size, with the promise for a fixed one."""

    def fit(self, X: Any, y: Any = None, *, epsilon: Any = None, account: Any = None) -> Any:
        super().fit(X, y, epsilon=epsilon, account=account)
        budgets = np.asarray(self.epsilon if epsilon is None else epsilon, dtype=float)
        self.guarantee_ = PureDP(budgets, neighbors="replace-one")
        return self


class SampledAtTwiceTheLevel(SampledRidge):
    """The analysis of the sample runs at twice the level that the sampling was made for."""

    def law_of_sample(
        self, people: Participants, sampled: Any, probabilities: Floats, t: float
    ) -> L2Laplace:
        return super().law_of_sample(people, sampled, probabilities, 2 * t)


class ForgottenVolume(ObjectivePerturbation):
    """All of the budget for the tilt, none for how a person stretches the volume."""

    def split_budgets(self, budgets: Floats, d: int, rank: int = 1) -> BudgetSplit:
        available = self.minimizer_budgets(budgets)
        rate = float(available.sum())
        return BudgetSplit(available / rate, available, 0 * available, rate)


class HalfTheTilt(ObjectivePerturbation):
    """The random tilt of the objective is half as large as it must be."""

    def noise_rate(self, split: BudgetSplit, d: int) -> float:
        return 2 * super().noise_rate(split, d)


class LongRows(ObjectivePerturbation):
    """Rows twice as long as the bound that the tilt was made for."""

    def law(self, people: Participants, split: BudgetSplit) -> ObjectiveLaw:
        return super().law(replace(people, X=2 * people.X), split)


class _SquareLaw(ObjectiveLaw):
    def _influence(self, residuals: Floats) -> Floats:
        return residuals

    def _curvature(self, residuals: Floats) -> NDArray[np.bool_]:
        return np.ones(residuals.shape, dtype=bool)


class SquareLoss(ObjectivePerturbation):
    """The square loss in place of Huber's: its gradient has no bound far out."""

    def law(self, people: Participants, split: BudgetSplit) -> ObjectiveLaw:
        law = super().law(people, split)
        return _SquareLaw(*(getattr(law, f.name) for f in fields(law)))


class EqualWeightsOfClasses(LogisticObjectivePerturbation):
    """Two classes: noise for weights by budget, and yet everybody weighs the same."""

    def split_budgets(self, budgets: Floats, d: int) -> LogisticSplit:
        equal = np.full(len(budgets), 1 / len(budgets))
        return replace(super().split_budgets(budgets, d), weights=equal)


def duel(epsilon: Any = None, *, leaves: bool = False) -> Pair:
    """Two loud people who cancel, and silence; then one changes sides, or leaves."""
    X, y = np.zeros((8, 4)), np.zeros(8)
    X[:2], y[:2] = 1, [1, -1]
    other_X, other = X.copy(), y.copy()
    if leaves:
        other_X[0] = 0
    else:
        other[0] = -1
    return Pair((X, y), (other_X, other), epsilon)


TWO = {"classes": (-1, 1), "bounds": (-1, 1), "row_norm": 1.0}
TURN = np.r_[5.0, 10.0, np.full(38, 100.0)]
TURN_PENALTY = 1.002 / TURN.sum()  # the squared radius over the sum of the budgets, and a little


def turned_away() -> Pair:
    """All pull one way; one person turns round, so that a far output is sure of the wrong class."""
    X = np.tile([np.cos(0.080), np.sin(0.080)], (40, 1))
    X[0] = np.cos(0.006), np.sin(0.006)
    other = X.copy()
    other[0] = -np.cos(0.151), -np.sin(0.151)
    return Pair((X, np.ones(40)), (other, np.ones(40)), TURN)


def _stretched() -> Pair:
    """Everybody in the middle; one person at the end of the range, or in the middle too."""
    X, y = np.full((6, 3), 0.5), np.ones(6)
    X[1] = 0.4
    other = X.copy()
    X[0], other[0] = 1.0, 0.5
    return Pair((X, y), (other, y))


def _turned() -> Pair:
    """One person moves along one axis alone."""
    X, y = np.full((6, 3), 0.5), np.ones(6)
    other = X.copy()
    other[0, 0] = 1.0
    return Pair((X, y), (other, y))


def _loud_label() -> Pair:
    X, y = np.zeros((5, 1)), np.zeros(5)
    other = y.copy()
    y[0], other[0] = 9.0, -9.0
    return Pair((X, y), (X, other))


MIXED = np.array([0.1, 0.1, 1.0, 1.0, 1.0, 1.0])
THREE = np.array([0.25, 1.0, 1.0])


def _ridge(name: str, kind: type[PDPRidge], pair: Pair, lam: float = LAM, **more: Any) -> Plant:
    settings = {k: more.pop(k) for k in list(more) if k not in ("method", "draws", "public")}
    return Plant(name, about(kind), kind(lam, **settings), PDPRidge(lam, **settings), pair, **more)


FLIP = flipped(6, 3)
PERSONAL = [
    _ridge("half the noise", HalfTheNoise, FLIP),
    _ridge("add-remove constant", AddRemoveConstant, FLIP),
    _ridge("largest budget for all", LargestBudgetForAll, flipped(6, 3, epsilon=MIXED)),
    _ridge("equal weights", EqualWeights, flipped(6, 3, epsilon=MIXED)),
    _ridge("scale for rate", ScaleForRate, flipped(2, 3, epsilon=0.25), 3.0),
    _ridge("bounds from the data", BoundsFromTheData, _stretched(), public=True),
    _ridge("unclipped row", UnclippedRow, FLIP, row_norm=1.0, clip=True),
    _ridge("noise from the data", NoiseFromTheData, FLIP),
    _ridge("silent without penalty", SilentWithoutPenalty, FLIP, 1e-6, public=True),
    _ridge("pure for approximate", PureForApproximate, FLIP, delta=0.01),
    _ridge("bare intercept", BareIntercept, FLIP, fit_intercept=True),
    _ridge("shared noise", SharedNoise, _turned(), method="samples", draws=2000),
    _ridge("noise by coordinate", NoiseByCoordinate, FLIP),
    Plant(
        "seed reused",
        "A fixed seed: every release carries the same noise, and their difference is the shift",
        PDPRidge(LAM, random_state=7),
        PDPRidge(LAM),
        FLIP,
        method="fits",
        draws=100,
    ),
    Plant("half the range", about(HalfTheRange), HalfTheRange(), PersonalizedMean(), FLIP),
    Plant(
        "unclipped label",
        about(UnclippedLabel),
        UnclippedLabel(clip=True),
        PersonalizedMean(clip=True),
        _loud_label(),
    ),
    Plant("budget spent twice", about(ReleasedTwice), ReleasedTwice(), PersonalizedMean(), FLIP),
    Plant(
        "average budget",
        about(AverageBudget),
        AverageBudget(),
        PersonalizedMean(),
        flipped(6, 1, epsilon=MIXED),
    ),
    Plant(
        "realized sample size",
        about(RealizedSampleSize),
        RealizedSampleSize(400.0, normalizer="sampled"),
        SampledRidge(400.0),
        flipped(3, 4, epsilon=THREE),
        public=True,
    ),
    Plant(
        "sampled at twice the level",
        about(SampledAtTwiceTheLevel),
        SampledAtTwiceTheLevel(400.0),
        SampledRidge(400.0),
        flipped(3, 4, epsilon=THREE),
    ),
    Plant(
        "forgotten volume",
        about(ForgottenVolume),
        ForgottenVolume(2.0),
        ObjectivePerturbation(2.0),
        duel(),
    ),
    Plant(
        "half the tilt", about(HalfTheTilt), HalfTheTilt(2.0), ObjectivePerturbation(2.0), duel()
    ),
    Plant("long rows", about(LongRows), LongRows(2.0), ObjectivePerturbation(2.0), duel()),
    Plant(
        "square loss",
        about(SquareLoss),
        SquareLoss(2.0),
        ObjectivePerturbation(2.0),
        duel(leaves=True),
    ),
    Plant(
        "equal weights of classes",
        about(EqualWeightsOfClasses),
        EqualWeightsOfClasses(TURN_PENALTY, **TWO),
        LogisticObjectivePerturbation(TURN_PENALTY, **TWO),
        turned_away(),
    ),
]
