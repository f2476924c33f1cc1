"""Confidence intervals around a release, from what was released and what is public alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from pdpbook import Floats, check
from pdpbook.gwa import GWARegression
from pdpbook.linear import MeanRegressor
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.sufficient_statistics import SufficientStatisticsRidge
from pdpbook.sufficient_statistics.ridge import NOISES, matrix_and_moment
from pdpbook.user_level import SampleLimitedMean, WeightedMean, WeightedOutputPerturbation

__all__ = ["Intervals", "intervals", "sum_quantile"]

ROUND = (PDPRidge, SampledRidge, WeightedOutputPerturbation)  # density exp(-rate * length)
TAIL = 40.0  # standard deviations that a sum exceeds with a probability below 1e-16
HIGHEST_LEVEL = 1 - 1e-9  # beyond, rounding would be seen
TRUNCATION = 1e-12  # size of a term at which the sum of `sum_quantile` ends

SAMPLE = (
    "the noise of the release and the error of a sample from a linear model whose errors have one "
    "standard deviation, residual_sd; no penalty pulls at the estimate"
)
PEOPLE = (
    "the noise of the release alone: what least squares with the public weights, without a "
    "penalty, gives for these same people"
)
SAME_FIT = (
    "the noise of the release alone: what the same fit, penalty and all, gives without noise for "
    "the records that went into it"
)
MEAN = "the noise of the release and the error of a sample of labels with standard deviation "
SAME_MEAN = "the noise of the release alone: the same weighted mean of these same labels"


@dataclass(frozen=True, eq=False)
class Intervals:
    """Estimates with an interval each; each covers with probability `level`, taken by itself."""

    names: tuple[str, ...]  #: of the columns, then "intercept"; or "mean"
    estimate: Floats  #: shape (k,), in your units
    low: Floats  #: shape (k,)
    high: Floats  #: shape (k,)
    level: float  #: of each interval by itself
    covers: str  #: what the intervals take into account

    def __str__(self) -> str:
        width = max(map(len, ("", *self.names))) + 2
        lines = [f"{'':{width}}{'estimate':>12}{'low':>12}{'high':>12}"]
        for row in zip(self.names, self.estimate, self.low, self.high, strict=True):
            lines.append(f"{row[0]:{width}}" + "".join(f"{value:12.4g}" for value in row[1:]))
        return "\n".join([*lines, f"{self.level:.12g} of such intervals cover {self.covers}."])


def intervals(model: Any, *, residual_sd: float | None = None, level: float = 0.95) -> Intervals:
    r"""Return a confidence interval for every coefficient, or for the mean: post-processing.

    Nothing is read but what a fit released and public settings, so intervals cost no budget. With
    `residual_sd` they cover what a sample is taken for, the coefficients of a linear model whose
    errors have that standard deviation; without it, what the people at hand would give if there
    were no noise.

    For `SufficientStatisticsRidge` the estimate solves :math:`\hat S\hat\theta=\hat b`, without a
    penalty, so it differs from `coef_`, and the errors of it are

    .. math:: \hat\theta-\theta^* = \hat S^{-1}(m - N\theta^* + e), \qquad
              e \sim \mathcal N\Bigl(0,\ \sigma^2\,\hat S\sum_i w_i^2\Bigr),

    with noise m and N of public laws, :math:`\hat\theta` put in for :math:`\theta^*` next to N, and
    e = 0 without `residual_sd`. An interval ends where that law, which is symmetric, has the
    quantile that `level` asks for: exact, without simulation. What is assumed with `residual_sd`:
    a linear model, errors of one variance that are unrelated, budgets that have nothing to do with
    the rows, and few labels clipped. What never is: none of this touches the promise.

    For `PersonalizedMean` the same holds with the noise of a mean. Where noise is added to a fit
    with a penalty, the sampling error would need second moments that were not released:
    `PDPRidge`, `SampledRidge`, `WeightedOutputPerturbation`, `WeightedMean`, `SampleLimitedMean`,
    `GWARegression` with Gaussian noise and `PACRegression` have intervals of the noise alone. They
    cover the fit without noise, penalty and all, so the pull of the penalty is in no interval.

    Parameters
    ----------
    model : estimator
        Fitted, of this package.
    residual_sd : float, optional
        Standard deviation of a label around the model, above 0, in the units of the label. It must
        be public, or released on its own: computed from the table, it is one more release.
    level : float, default 0.95
        In (0, 1 - 1e-9], for each interval by itself. By Bonferroni, k of them all cover with this
        probability if each has the level ``1 - (1 - level) / k``.

    Raises
    ------
    TypeError
        For a mechanism without a public law of the noise on its coefficients, or, with
        `residual_sd`, without released second moments.
    ValueError
        If the released matrix is not positive definite: too few people for this promise.

    Notes
    -----
    Statements ``prop-noisy-sums-error`` (chapter *synthesis/your_data_steps*) and
    ``prop-round-marginal`` (ours, chapter *synthesis/statement*).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.random((20_000, 1))
    >>> model = SufficientStatisticsRidge(random_state=0, fit_intercept=True)
    >>> slope = intervals(model.fit(X, X[:, 0] / 2), residual_sd=0.1)
    >>> slope.names, slope.low.round(2), slope.high.round(2)
    (('coefficient 0', 'intercept'), array([ 0.48, -0.01]), array([0.51, 0.01]))
    """
    level = _checked_level(level)
    if residual_sd is not None:
        residual_sd = check.scale(residual_sd, "residual_sd")
    check_is_fitted(model)
    if getattr(model, "noise", None) == "grid":
        raise TypeError(
            f"{type(model).__name__} with noise='grid' has noise in whole steps, and no intervals "
            "yet; a fit with noise='laplace' has them, and is a release of its own"
        )
    if isinstance(model, SufficientStatisticsRidge):
        return _of_sums(model, residual_sd, level)
    if isinstance(model, PersonalizedMean):
        return _of_personalized_mean(model, residual_sd, level)
    if not _has_noise_on_coefficients(model):
        _refuse(model, "whose noise on the coefficients has a public law", "has none")
    if residual_sd is not None:
        _refuse(
            model,
            "that releases second moments, for intervals with residual_sd",
            "releases none. Without residual_sd there are intervals of the noise alone",
        )
    return _of_noise_alone(model, level)


def sum_quantile(level: float, scales: Any, *, power: float = 1.0, sd: float = 0.0) -> float:
    r"""Return the q with :math:`P(|E|\le q)` equal to `level`, for a sum E of independent noises.

    .. math:: E = \sum_k a_k L_k + \varsigma G, \qquad
              \mathbb E\,e^{itL_k} = (1+t^2)^{-p}, \quad G \sim \mathcal N(0, 1).

    Power p = 1 is Laplace noise, p = (d + 1)/2 is one entry of noise in d dimensions whose density
    falls as exp(-length). The characteristic function :math:`\varphi` is inverted by a sum,

    .. math:: P(|E|\le q) = \frac{hq}\pi + \frac2\pi\sum_{k\ge1}\frac{\sin(khq)}{k}\varphi(kh),

    which errs by no more than the chance that :math:`|E|` exceeds :math:`2\pi/h - q`, below 1e-15,
    and by what is cut off. The probability found is off by less than 1e-9 in all.

    Parameters
    ----------
    level : float
        In (0, 1 - 1e-9].
    scales : array_like, shape (k,)
        The :math:`a_k`; their signs do not matter.
    power : float, default 1.0
        p, at least 1.
    sd : float, default 0.0
        :math:`\varsigma`, at least 0; above 0 if all scales are 0.

    Notes
    -----
    Statement ``prop-round-marginal`` (ours), chapter *synthesis/statement*.

    Examples
    --------
    >>> round(sum_quantile(0.95, [1.0]), 6), round(sum_quantile(0.95, [], sd=1.0), 6)
    (2.995732, 1.959964)
    """
    level = _checked_level(level)
    sd = check.scale(sd, "sd", zero=True)
    power = check.number(power, "power")
    if not power >= 1:
        raise ValueError(f"power must be at least 1; got {power:g}")
    a = np.abs(np.atleast_1d(np.asarray(check.finite(scales, "scales"), dtype=float)))
    a = a[a > 0]
    if a.size == 0:
        return sd * float(ndtri((1 + level) / 2))
    if a.size == 1 and sd == 0 and power == 1:  # Laplace noise alone
        return float(-a[0] * np.log1p(-level))
    unit = float(np.sqrt(2 * power * np.sum(a**2) + sd**2))  # standard deviation of the sum
    a, sd = a / unit, sd / unit
    most = float(np.log(4 / (1 - level)))  # by Chernoff's bound at 1: the quantile is below

    def log_phi(t: Any) -> Any:
        exponent = -((sd * t) ** 2) / 2
        for scale in a:
            exponent = exponent - power * np.log1p((scale * t) ** 2)
        return exponent

    end = 1.0
    while float(log_phi(np.float64(end))) - np.log(end) > np.log(TRUNCATION):
        end *= 1.5
    h = 2 * np.pi / (most + TAIL)
    k = np.arange(1, int(np.ceil(end / h)) + 1)
    terms = np.exp(log_phi(k * h)) / k

    def excess(q: float) -> float:
        return float(h * q + 2 * np.sin(k * h * q) @ terms) / np.pi - level

    return unit * float(brentq(excess, 0.0, most, xtol=1e-13))


def _checked_level(level: Any) -> float:
    """Return a level in (0, 1), far enough from 1 for `sum_quantile`."""
    level = check.delta(level, "level")
    if not level <= HIGHEST_LEVEL:
        raise ValueError(f"level must be at most 1 - 1e-9; got {check.shown(level)}")
    return float(level)


# --- one kind of release each ---------------------------------------------------------------------


def _of_sums(
    model: SufficientStatisticsRidge, residual_sd: float | None, level: float
) -> Intervals:
    """Return the intervals of noisy sums: see `intervals`."""
    check.choice(model.noise, "noise", NOISES)
    S = model.gram_
    smallest = float(np.linalg.eigvalsh(S)[0])
    if not smallest > 0:
        raise ValueError(
            "model must have released a positive definite matrix for an interval; got the "
            f"eigenvalue {smallest:.3g}: the people are too few for this promise"
        )
    d = len(S)
    domain = model.domain(model.n_features_in_)
    theta: Any = np.linalg.solve(S, model.moment_)
    to_units = _linear_map(domain, d)
    solve = to_units @ np.linalg.inv(S)
    errors = solve @ _noise_in_equation(model, theta) * _scales_of_sums(model, d)
    sampling = np.zeros(len(errors))
    if residual_sd is not None:
        y_low, y_high = check.bounds(model.y_bounds, "y_bounds")
        sigma = residual_sd / ((y_high - y_low) / 2)
        w = _parameters(model.guarantee_)
        sum_of_squares = float(np.sum((w / w.sum()) ** 2))
        sampling = sigma * np.sqrt(sum_of_squares * np.sum(solve * to_units, axis=1))
    coef, intercept = domain.to_user_units(theta)
    estimate = np.append(coef, intercept) if model.fit_intercept else coef
    reach = []
    for scales, sd in zip(errors, sampling, strict=True):
        if model.noise == "gaussian":
            reach.append(sum_quantile(level, [], sd=float(np.hypot(np.linalg.norm(scales), sd))))
        else:
            reach.append(sum_quantile(level, scales, sd=float(sd)))
    covers = PEOPLE if residual_sd is None else SAMPLE
    return _around(model, estimate, np.array(reach), level, covers)


def _noise_in_equation(model: SufficientStatisticsRidge, theta: Floats) -> Floats:
    """Return the matrix, shape (d, m), from noise on the released numbers to m - N theta."""
    d = len(theta)
    known = model.insert_public_sums(np.zeros(len(model.release_)), d)
    origin, zero = matrix_and_moment(known, d, model.centered)
    columns = []
    for unit in np.eye(len(model.release_)):
        gram, moment = matrix_and_moment(model.insert_public_sums(unit, d), d, model.centered)
        columns.append((moment - zero) - (gram - origin) @ theta)
    return np.array(columns).T


def _scales_of_sums(model: SufficientStatisticsRidge, d: int) -> Floats:
    """Return the scale of the noise on every released number, of public numbers alone."""
    factors = model.factors(d)
    every = model.noise_.scale * factors[0] / factors
    if not model.fit_intercept:
        return np.asarray(every)
    marked = model.insert_public_sums(np.full(len(model.release_), np.nan), d)
    return np.asarray(every[np.isnan(marked)])


def _of_personalized_mean(
    model: PersonalizedMean, residual_sd: float | None, level: float
) -> Intervals:
    """Return the interval of a mean with public weights."""
    low, high = check.bounds(model.y_bounds, "y_bounds")
    scale = (high - low) / 2 * model.noise_.scale
    sd, covers = 0.0, SAME_MEAN
    if residual_sd is not None:
        w = _parameters(model.guarantee_)
        sd = residual_sd * float(np.linalg.norm(w / w.sum()))
        covers = MEAN + "residual_sd"
    reach = np.array([sum_quantile(level, [scale], sd=sd)])
    return _around(model, np.array([model.mean_]), reach, level, covers)


def _has_noise_on_coefficients(model: Any) -> bool:
    """Return whether the law of the noise on the coefficients is public, and known here."""
    is_normal = isinstance(model, GWARegression) and model.delta > 0
    kinds = (*ROUND, PACRegression, WeightedMean, SampleLimitedMean)
    return is_normal or isinstance(model, kinds)


def _of_noise_alone(model: Any, level: float) -> Intervals:
    """Return intervals of a fit to which noise of a public law was added."""
    if isinstance(model, MeanRegressor):
        reach = np.array([sum_quantile(level, [model.noise_.scale])])
        return _around(model, np.array([model.mean_]), reach, level, SAME_MEAN)
    estimate = np.asarray(model.coef_)
    if model.fit_intercept:
        estimate = np.append(estimate, model.intercept_)
    if isinstance(model, ROUND):
        d = model.n_features_in_ + bool(model.fit_intercept)
        lengths = np.linalg.norm(_linear_map(model.domain(model.n_features_in_), d), axis=1)
        one = sum_quantile(level, [model.noise_.scale], power=(d + 1) / 2)
        return _around(model, estimate, one * lengths, level, SAME_FIT)
    in_units = isinstance(model, PACRegression)
    covariance = model.covariance_ if in_units else model.noise_.covariance
    deviations = np.sqrt(np.diag(covariance))[: len(estimate)]
    reach = deviations * sum_quantile(level, [], sd=1.0)
    return _around(model, estimate, reach, level, SAME_FIT)


def _linear_map(domain: Any, d: int) -> Floats:
    """Return the matrix from coefficients of the domain to those in the user's units.

    Its last row is that of the intercept, if there is a constant feature.
    """
    origin = domain.to_user_units(np.zeros(d))
    columns = []
    for unit in np.eye(d):
        coef, intercept = domain.to_user_units(unit)
        columns.append(np.append(coef - origin[0], intercept - origin[1]))
    matrix = np.array(columns).T
    return matrix if domain.fit_intercept else matrix[:-1]


def _parameters(guarantee: Any) -> Floats:
    """Return what was promised to each participant, one number each: weights are in proportion."""
    (values,) = guarantee._parameters().values()
    return np.asarray(values, dtype=float)


def _around(model: Any, estimate: Floats, reach: Floats, level: float, covers: str) -> Intervals:
    """Return the intervals from estimates less their reach to estimates plus their reach."""
    names: list[str] = ["mean"]
    if not isinstance(model, MeanRegressor):
        columns = range(model.n_features_in_)
        names = [f"coefficient {j}" for j in columns]
        names = list(map(str, getattr(model, "feature_names_in_", names)))
        names += ["intercept"] * (len(estimate) - len(names))
    return Intervals(tuple(names), estimate, estimate - reach, estimate + reach, level, covers)


def _refuse(model: Any, what: str, why: str) -> NoReturn:
    """Raise: this mechanism has no such intervals, and another one has."""
    raise TypeError(
        f"model must be a mechanism {what}; {type(model).__name__} {why}. "
        "SufficientStatisticsRidge has intervals of noise and sample together"
    )
