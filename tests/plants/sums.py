"""Bugs in mechanisms that release noisy sums, or one draw from a posterior."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pdpbook import Floats, check
from pdpbook.domains import Ball, Cube
from pdpbook.noise import ProductLaw
from pdpbook.participants import Participants
from pdpbook.posterior import AdaOPS, AdaptiveLaw, AdaptivePlan, OnePosteriorSample, PosteriorLaw
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from plants.plant import Pair, Plant, about, joined


def _diagonal(d: int) -> NDArray[np.bool_]:
    rows, columns = np.triu_indices(d)
    return np.asarray(rows == columns)


class BareDiagonal(SufficientStatisticsRidge):
    """The range of a square is computed from its lower bound twice, so squares get no noise."""

    def factors(self, d: int) -> Floats:
        out, diagonal = super().factors(d), _diagonal(d)
        out[: len(diagonal)] *= np.where(diagonal, 1e9, 1.0)
        return out


class BareProducts(SufficientStatisticsRidge):
    """Noise on the squares, none on the products of two features."""

    def factors(self, d: int) -> Floats:
        out, diagonal = super().factors(d), _diagonal(d)
        out[: len(diagonal)] *= np.where(diagonal, 1.0, 1e9)
        return out


class MatrixAlone(SufficientStatisticsRidge):
    """The sensitivity of the matrix hides the matrix and the moments."""

    def constant(self, d: int) -> float:
        return d * (d + 1) / 2 if self.noise == "laplace" else float(d)


class OverspentShares(SufficientStatisticsRidge):
    """With an intercept one share of the budget is spent again, and the total not updated."""

    def law(self, people: Participants) -> ProductLaw:
        law = super().law(people)
        return ProductLaw(law.center, law.scale / (1 + 1 / people.d), law.noise)


class _UnclippedRows(Cube):
    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        return X, super().to_domain(X, y)[1]


class ClippedWithInterceptOnly(SufficientStatisticsRidge):
    """Rows are clipped to their bounds in one branch of the code, that with an intercept."""

    def domain(self, columns: int) -> Cube:
        domain = super().domain(columns)
        return domain if self.fit_intercept else _UnclippedRows(**vars(domain))

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats]:
        (found,) = super().statistic(np.clip(X, 0, 1), y, weights)
        upper = np.triu_indices(X.shape[1])
        found[: len(upper[0])] = ((X.T * weights) @ X)[upper]
        return (found,)


class EpsilonForMu(SufficientStatisticsRidge):
    """A budget in nats is used as the parameter of Gaussian privacy; the promise is converted."""

    def law(self, people: Participants) -> ProductLaw:
        law = super().law(people)
        ratio = self.privacy_parameters(people.budgets).sum() / people.budgets.sum()
        return ProductLaw(law.center, law.scale * ratio, "gaussian")


class VarianceForDeviation(SufficientStatisticsRidge):
    """The variance of the noise is handed to a sampler that takes a standard deviation."""

    def law(self, people: Participants) -> ProductLaw:
        law = super().law(people)
        return ProductLaw(law.center, law.scale**2, law.noise)


class EachWithEverything(AdaSSP):
    """Three releases, and the noise of each is that of a single one."""

    def law(self, people: Any, neighbors: str = "add-remove") -> ProductLaw:
        law = super().law(people, neighbors)
        return ProductLaw(law.center, law.scale / np.sqrt(3), law.noise)


class _LabelsOverTheLargest(Ball):
    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        return super().to_domain(X, y / max(float(np.abs(y).max()), 1e-9))


class LabelRangeFromTheData(AdaSSP):
    """Labels are divided by the largest one in the data, and who holds it shows."""

    def domain(self, columns: int) -> Ball:
        return _LabelsOverTheLargest(**vars(super().domain(columns)))


class _TransposedLaw(PosteriorLaw):
    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        z = check.rng(rng).normal(size=(1 if size is None else size, len(self.center)))
        draws = self.center + solve_triangular(self._root, z.T, lower=True).T
        return np.asarray(draws[0] if size is None else draws)


class TransposedFactor(OnePosteriorSample):
    """A Cholesky factor is solved against the wrong way round: right sizes, wrong directions."""

    def law(self, people: Participants, gamma: float) -> PosteriorLaw:
        law = super().law(people, gamma)
        return _TransposedLaw(law.center, law.precision)


class SharperForMoreData(OnePosteriorSample):
    """The temperature is multiplied by the number of rows, which is private here."""

    def law(self, people: Participants, gamma: float) -> PosteriorLaw:
        law = super().law(people, gamma)
        return PosteriorLaw(law.center, law.precision * len(people.X))


class _GreedyPlan(AdaptivePlan):
    def gamma(self, h: Any, lam: Any, log_norm: Any = np.inf) -> Any:
        return 100 * super().gamma(h, lam, log_norm)


class _QuietPlan(AdaptivePlan):
    @property
    def scale(self) -> float:
        return super().scale / 8


def _replanned(law: AdaptiveLaw, kind: type[AdaptivePlan]) -> AdaptiveLaw:
    return replace(law, plan=kind(**vars(law.plan)))


class GreedyDraw(AdaOPS):
    """The draw is as sharp as if the residual of a person were a tenth of what it can be."""

    def law(self, people: Participants) -> AdaptiveLaw:
        return _replanned(super().law(people), _GreedyPlan)


class QuietEigenvalue(AdaOPS):
    """The smallest eigenvalue is released with an eighth of its noise: it only steers the rest."""

    def law(self, people: Participants) -> AdaptiveLaw:
        return _replanned(super().law(people), _QuietPlan)


def _sums(name: str, kind: Any, pair: Pair, *, public: bool = False, **settings: Any) -> Plant:
    sound = SufficientStatisticsRidge(**settings)
    return Plant(name, about(kind), kind(**settings), sound, pair, public=public)


def _changed(n: int, d: int, row: Any) -> Pair:
    """Everybody at the far corner; one person there or elsewhere."""
    X, y = np.ones((n, d)), np.ones(n)
    other, labels = X.copy(), y.copy()
    other[0], labels[0] = row, -1.0
    return Pair((X, y), (other, labels))


def _leaning(n: int = 1000) -> Pair:
    """Two features that nearly agree, labels by their difference, and a person against all."""
    sign = (-1.0) ** np.arange(n)
    X = np.column_stack([0.63 + 0.02 * sign, 0.63 - 0.02 * sign])
    return joined(X, sign, [0.7, -0.7], -1.0)


GAUSSIAN: dict[str, Any] = {"noise": "gaussian", "delta": 0.01}
NULL = _changed(3, 3, 0.0)
ALONE = joined(np.zeros((3, 1)), np.zeros(3), [1.0], 1.0)
SUMS = [
    _sums("bare diagonal", BareDiagonal, NULL, public=True),
    _sums("bare products", BareProducts, NULL),
    _sums("sensitivity of the matrix alone", MatrixAlone, NULL),
    _sums(
        "share spent again", OverspentShares, _changed(3, 2, 0.0), fit_intercept=True, public=True
    ),
    _sums(
        "clipped with intercept only",
        ClippedWithInterceptOnly,
        _changed(3, 2, 1e3),
        clip=True,
        public=True,
    ),
    _sums("epsilon for mu", EpsilonForMu, NULL, **GAUSSIAN),
    _sums(
        "variance for deviation",
        VarianceForDeviation,
        _changed(50, 2, 0.0),
        **GAUSSIAN,
    ),
    Plant(
        "each with everything",
        about(EachWithEverything),
        EachWithEverything(delta=0.01),
        AdaSSP(delta=0.01),
        ALONE,
    ),
    Plant(
        "label range from the data",
        about(LabelRangeFromTheData),
        LabelRangeFromTheData(delta=0.01),
        AdaSSP(delta=0.01),
        joined(np.ones((40, 1)), np.full(40, 0.05), [1.0], 1.0),
        public=True,
    ),
    Plant(
        "transposed factor",
        about(TransposedFactor),
        TransposedFactor(1.0, delta=0.01, epsilon=4.0, n_max=1001),
        OnePosteriorSample(1.0, delta=0.01, epsilon=4.0, n_max=1001),
        _leaning(),
        method="samples",
        public=True,
    ),
    Plant(
        "sharper for more data",
        about(SharperForMoreData),
        SharperForMoreData(100.0, delta=0.01, n_max=100),
        OnePosteriorSample(100.0, delta=0.01, n_max=100),
        ALONE,
    ),
    Plant(
        "greedy draw",
        about(GreedyDraw),
        GreedyDraw(delta=0.01, n_max=1000),
        AdaOPS(delta=0.01, n_max=1000),
        joined(np.ones((40, 1)), np.ones(40), [1.0], -1.0),
    ),
    Plant(
        "quiet eigenvalue",
        about(QuietEigenvalue),
        QuietEigenvalue(delta=0.01, n_max=1000),
        AdaOPS(delta=0.01, n_max=1000),
        joined(np.ones((40, 1)), np.ones(40), [1.0], -1.0),
    ),
]
