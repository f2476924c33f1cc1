"""Ridge from noisy sums, with a penalty that follows a noisy smallest eigenvalue: AdaSSP."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.frames.ball import BallRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, one_of, setting
from pdpbook.guarantees import GaussianDP
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.noise.public import PublicNoise
from pdpbook.sufficient_statistics.ridge import matrix_and_moment

CALIBRATIONS = ("exact", "published")


def adassp_scale(epsilon: float, delta: float, calibration: str = "exact") -> float:
    r"""Standard deviation of the noise on each of the three releases of AdaSSP.

    .. math:: \sigma_0 = \sqrt3/\mu(\varepsilon,\delta) \quad\text{(exact)}, \qquad
              \sigma_0 = 3\sqrt{\log(6/\delta)}/\varepsilon \quad\text{(published)}

    Statement ``prop-adassp``, chapter *per_instance/adaops*. The published constants: Wang (2018).

    Parameters
    ----------
    epsilon : float, in nats, above 0
    delta : float, in (0, 1)
    calibration : {"exact", "published"}, default "exact"
        Gaussian composition of three sensitivities 1, or the constants of the paper.

    Examples
    --------
    >>> round(adassp_scale(1.0, 1e-6), 2), round(adassp_scale(1.0, 1e-6, "published"), 2)
    (7.32, 11.85)
    """
    epsilon, delta = check.number(epsilon, "epsilon"), check.delta(delta)
    check.choice(calibration, "calibration", CALIBRATIONS)
    if calibration == "published":
        return float(3 * np.sqrt(np.log(6 / delta)) / epsilon)
    return float(np.sqrt(3) / gaussian_mu(epsilon, delta))


def adassp_coefficients(
    release: ArrayLike, d: int, sigma: float, *, shift: float = 3.0, failure: float = 0.05
) -> Floats:
    r"""Coefficients from the numbers AdaSSP releases, on the domain: no privacy is spent here.

    For noise of standard deviation :math:`\sigma_0` on a matrix of order d and the other numbers,

    .. math:: &\tilde\theta = (\hat S+\lambda I)^{-1}\hat b,\\
              &\lambda = \max\{0, \sigma_0\sqrt{d\log(2d^2/\varrho)}-\tilde\lambda\},\qquad
              \tilde\lambda = \max\{\hat\lambda-c\sigma_0, 0\}

    with c for `shift` and :math:`\varrho` for `failure`, how often the penalty may be too small.
    Statement ``prop-adassp``, chapter *per_instance/adaops*. Returns an array of shape (d,).

    Parameters
    ----------
    release : array_like, noisy smallest eigenvalue, upper triangle row by row, noisy moment
    d : int
    sigma : float, above 0
    shift : float, above 0, default 3.0
    failure : float, in (0, 1), default 0.05
    """
    d, sigma = check.count(d, "d"), check.number(sigma, "sigma")
    shift, failure = check.number(shift, "shift"), check.delta(failure, "failure")
    gram, lam, moment = _system(release, d, sigma, shift, failure)
    return np.asarray(np.linalg.solve(gram + lam * np.eye(d), moment))


def _system(
    release: ArrayLike, d: int, sigma: float, shift: float, failure: float
) -> tuple[Floats, float, Floats]:
    """Matrix, penalty and moment that released numbers stand for."""
    size = 1 + d * (d + 1) // 2 + d
    release = check.shape(check.finite(release, "release"), "release", (size,), f"as d = {d} has")
    gram, moment = matrix_and_moment(release[1:], d, centered=False)
    eigenvalue = max(release[0] - shift * sigma, 0.0)
    lam = max(0.0, sigma * np.sqrt(d * np.log(2 * d**2 / failure)) - eigenvalue)
    return gram, float(lam), moment


def _numbers(gram: Floats, moment: Floats) -> Floats:
    """What is released, without its noise."""
    upper = gram[np.triu_indices(len(gram))]
    return np.concatenate([[np.linalg.eigvalsh(gram)[0]], upper, moment])


@mechanism
class AdaSSP(BallRegressor):
    r"""Ridge regression from noisy sums with an adaptive penalty.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is
    :math:`\lambda_{\min}(X^\top X)`, the upper triangle of :math:`X^\top X` and :math:`X^\top y`,
    each with Gaussian noise of standard deviation `adassp_scale` (``noise_.scale``); from it come
    the `adassp_coefficients`. Statement ``prop-adassp``, chapter *per_instance/adaops*.

    Parameters
    ----------
    failure : float, default 0.05
        How often the penalty may be too small for the noise, in (0, 1); no part of the promise.
    calibration : {"exact", "published"}, default "exact"
        How the budget becomes noise: exactly, or as published, with that shift of the eigenvalue.

    Attributes
    ----------
    release_ : ndarray, released smallest eigenvalue, upper triangle row by row, moment
    guarantee_ : GaussianDP
        What everybody was promised, under add-remove neighbors: the stronger form of
        :math:`(\varepsilon,\delta)`; ``guarantee_.to_approximate(delta)`` returns that one.

    Examples
    --------
    >>> X = np.random.default_rng(1).uniform(-1, 1, (5000, 2))
    >>> model = AdaSSP(random_state=3).fit(X, X @ [0.4, -0.2])
    >>> model.release_.shape, round(model.noise_.scale, 2), round(float(model.guarantee_.mu), 3)
    ((6,), 7.32, 0.237)
    """

    failure: float = setting(default=0.05, rule=check.delta, kw_only=False)
    calibration: str = setting(default="exact", rule=one_of(*CALIBRATIONS))

    def law(self, people: People) -> ProductLaw:
        center = _numbers(*people.statistics)
        sigma = self.scale(self.level(people))
        return ProductLaw(center, np.full(len(center), sigma), "gaussian")

    def promise(self, people: People) -> GaussianDP:
        level = self.level(people)
        if self.calibration == "exact":  # the number itself: no rounding on the way
            return GaussianDP(float(gaussian_mu(level, self.delta)), neighbors="add-remove")
        return GaussianDP(float(np.sqrt(3) / self.scale(level)), neighbors="add-remove")

    def scale(self, epsilon: float) -> float:
        """Return the standard deviation of the noise on every number."""
        return adassp_scale(epsilon, self.delta, self.calibration)

    def shift(self) -> float:
        """Return what lowers the eigenvalue, in standard deviations of its noise."""
        return 3.0 if self.calibration == "exact" else float(np.sqrt(np.log(6 / self.delta)))

    def release(self, draw: Floats, law: ProductLaw, people: People) -> None:
        self.release_, sigma = draw, float(law.scale[0])
        theta = adassp_coefficients(draw, people.d, sigma, shift=self.shift(), failure=self.failure)
        super().release(theta, law, people)
        self.noise_ = PublicNoise(scale=sigma)
