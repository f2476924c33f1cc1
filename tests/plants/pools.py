"""Bugs in releases that promise PAC privacy of membership."""

from dataclasses import replace
from typing import Any

import numpy as np

from pdpbook import Floats
from pdpbook.pac import PACRegression
from plants.plant import Pair, Plant, about


class _Recast(PACRegression):
    """Noise of another covariance than was certified."""

    def calibrate(self, pool: Any, rng: np.random.Generator) -> Any:
        release = super().calibrate(pool, rng)
        return replace(release, covariance=self._recast(np.asarray(release.covariance)))

    def _recast(self, covariance: Floats) -> Floats:
        raise NotImplementedError


class DeviationForVariance(_Recast):
    """The calibrated number is a variance, and the sampler takes it as a standard deviation."""

    def _recast(self, covariance: Floats) -> Floats:
        return covariance @ covariance


class DiagonalBack(_Recast):
    """Noise is carried back from a rotated basis by the diagonal of the rotation alone."""

    def _recast(self, covariance: Floats) -> Floats:
        values, vectors = np.linalg.eigh(covariance)
        return np.diag(np.maximum(np.diag(vectors) * values, 0.0))


class BareConstant(_Recast):
    """The intercept of the model is released without noise."""

    def _recast(self, covariance: Floats) -> Floats:
        bare = covariance.copy()
        bare[-1], bare[:, -1] = 0.0, 0.0
        return bare


class AveragePerson(_Recast):
    """The noise holds for the average person of the pool, and one of them is not average."""

    def _recast(self, covariance: Floats) -> Floats:
        return covariance / 30


def pool(n: int = 30) -> Pair:
    """A pool in which one person lies far from the line of all others."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, 2))
    y = 0.02 * (X @ [0.5, -0.3] + 0.1 * rng.standard_normal(n))
    X[0], y[0] = [1.5, 1.5], -0.16
    return Pair((X, y), (X, y))


def _attacked(name: str, kind: Any, *, public: bool = False) -> Plant:
    settings: dict[str, Any] = {"success_rate": 0.65, "draws": 2000, "random_state": 1}
    planted, sound = kind(**settings), PACRegression(**settings)
    return Plant(name, about(kind), planted, sound, pool(), "attack", draws=400, public=public)


POOLS = [
    _attacked("deviation for variance", DeviationForVariance, public=True),
    _attacked("diagonal of the rotation", DiagonalBack, public=True),
    _attacked("bare constant", BareConstant),
    _attacked("average person", AveragePerson),
]
