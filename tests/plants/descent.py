"""Bugs in noisy gradient descent."""

from dataclasses import replace
from typing import Any

import numpy as np

from pdpbook import Floats
from pdpbook.gradient import DescentLaw, DPSGDLaw, DPSGDRegression, GradientDescentRidge
from pdpbook.participants import Participants
from plants.plant import Pair, Plant, about, joined


class OneStepCharged(GradientDescentRidge):
    """The noise of a single gradient, on every one of many."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return super().noise_rate(parameters, d) * float(np.sqrt(self.steps))


class GradientOfWhoLeaves(GradientDescentRidge):
    """A replaced gradient moves the sum by twice its length; the noise is for once."""

    def noise_rate(self, parameters: Floats, d: int) -> float:
        return 2 * super().noise_rate(parameters, d)


class UnclippedGradients(GradientDescentRidge):
    """The length that the noise is made for is not enforced."""

    def thresholds(self, X: Floats) -> Any:
        return np.inf


class _AverageClipped(DescentLaw):
    def next_mean(self, theta: Any) -> Floats:
        theta = np.asarray(theta, dtype=float)
        pull = 2 * (self.weights * (self.y - theta @ self.X.T)) @ self.X
        bound = 2 * self.thresholds * np.sqrt(self.X.shape[1])
        length = np.linalg.norm(pull, axis=-1, keepdims=True)
        pull = pull * np.minimum(1, bound / np.maximum(length, 1e-300))
        return np.asarray(theta - self.step_size * (2 * self.lam * theta - pull))


class ClippedAfterAveraging(GradientDescentRidge):
    """The average of the gradients is clipped, and each of them is not."""

    def law(self, people: Participants) -> DescentLaw:
        return _AverageClipped(**vars(super().law(people)))


class _RealizedBatchLaw(DPSGDLaw):
    def _divisor(self, count: int) -> float:
        return float(max(count, 1))

    def _deviation(self, count: int) -> float:
        return float(self.noise_multiplier * self.clip_norm / max(count, 1))


class DividedByRealizedBatch(DPSGDRegression):
    """Sum and noise are divided by how many people happened to be in the batch."""

    def law(self, people: Participants) -> DPSGDLaw:
        return _RealizedBatchLaw(**vars(super().law(people)))


class _DividedTwiceLaw(DPSGDLaw):
    def _deviation(self, count: int) -> float:
        return super()._deviation(count) / self.batch_size


class NoiseDividedTwice(DPSGDRegression):
    """The noise of an average is divided by the size of the batch a second time."""

    def law(self, people: Participants) -> DPSGDLaw:
        return _DividedTwiceLaw(**vars(super().law(people)))


class _UnclippedLaw(DPSGDLaw):
    def _slopes(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        return np.asarray(2 * (theta @ X.T - y))


class UnclippedBatches(DPSGDRegression):
    """Gradients of a batch are summed as they are."""

    def law(self, people: Participants) -> DPSGDLaw:
        return _UnclippedLaw(**vars(super().law(people)))


class NothingSampled(DPSGDRegression):
    """The noise counts on random batches, and every step takes everybody."""

    def law(self, people: Participants) -> DPSGDLaw:
        return replace(super().law(people), sample_rate=1.0)


class _SlowLaw(DPSGDLaw):
    def _deviation(self, count: int) -> float:
        return super()._deviation(count) * self.learning_rate


class LearningRateTwice(DPSGDRegression):
    """The noise is multiplied by the learning rate before the step is, and again with it."""

    def law(self, people: Participants) -> DPSGDLaw:
        return _SlowLaw(**vars(super().law(people)))


def _loud() -> Pair:
    """One loud person who changes sides among the silent."""
    X, y = np.zeros((8, 2)), np.zeros(8)
    X[0], y[0] = 1.0, 1.0
    other = y.copy()
    other[0] = -1.0
    return Pair((X, y), (X, other))


LOUD = _loud()
STEPS: dict[str, Any] = {"delta": 0.01, "steps": 4, "huber_threshold": 0.01}


def _descent(name: str, kind: Any, *, public: bool = False, **settings: Any) -> Plant:
    settings = STEPS | settings
    sound = GradientDescentRidge(1.0, **settings)
    return Plant(name, about(kind), kind(1.0, **settings), sound, LOUD, draws=5000, public=public)


BATCHES: dict[str, Any] = {
    "epsilon": 0.5,
    "delta": 0.01,
    "batch_size": 3,
    "n_public": 6,
    "epochs": 1,
    "clip_norm": 0.5,
}
QUIET = joined(np.full((3, 1), 0.5), np.zeros(3), [1.0], 1.0)


def _sgd(name: str, kind: Any, pair: Pair = QUIET, *, public: bool = False, **more: Any) -> Plant:
    settings = BATCHES | more
    sound = DPSGDRegression(**settings)
    return Plant(name, about(kind), kind(**settings), sound, pair, draws=1500, public=public)


DESCENT = [
    _descent("one step charged", OneStepCharged, steps=9),
    _descent("gradient of who leaves", GradientOfWhoLeaves),
    _descent("unclipped gradients", UnclippedGradients),
    _descent("clipped after averaging", ClippedAfterAveraging),
    _sgd(
        "divided by realized batch",
        DividedByRealizedBatch,
        joined(np.ones((4, 1)), np.ones(4), [1.0], -1.0),
    ),
    _sgd("noise divided twice", NoiseDividedTwice),
    _sgd("unclipped batches", UnclippedBatches),
    _sgd("nothing sampled", NothingSampled),
    _sgd("learning rate twice", LearningRateTwice, learning_rate=0.1),
]
