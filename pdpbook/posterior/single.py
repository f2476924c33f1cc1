"""One draw from a posterior as a release, and what participants may say of their own loss."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook import Floats, check
from pdpbook.frames.ball import BallRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, setting
from pdpbook.noise.public import PublicNoise
from pdpbook.per_instance import ops_epsilon
from pdpbook.per_instance.levels import in_unit_ball
from pdpbook.posterior.calibration import check_penalty, worst_case_gamma
from pdpbook.posterior.eigenvalues import largest_eigenvalue_bound
from pdpbook.posterior.laws import PosteriorLaw

_gamma = lru_cache(maxsize=64)(worst_case_gamma)


class Certificate(NamedTuple):
    """Two upper bounds on the loss of each participant; see `posterior_certificate`."""

    ex_ante: Floats  #: on the epsilon of the draw at delta, shape (n,)
    ex_post: Floats  #: on the size of the log-likelihood ratio at the released point, shape (n,)


def release_gram_bound(
    X: ArrayLike, mu: float, *, failure: float = 1e-3, rng: np.random.Generator
) -> Floats:
    r"""Private matrix that is below the sum of squares and products, but for a small chance.

    With a d by d matrix A of independent standard normal numbers,

    .. math:: X^\top X + \frac{A+A^\top}{2\mu} - \frac{t_d(\varrho)}\mu I ,

    where :math:`t_d` is `largest_eigenvalue_bound`, the same for all data. It may be published, and
    need not be positive. Statement ``prop-published-losses``, chapter
    *per_instance/published_losses*. Returns an array of shape (d, d), symmetric.

    Parameters
    ----------
    X : array_like, shape (n, d), rows in the unit ball
    mu : float
        Budget of Gaussian privacy, above 0, under add-remove neighbors. A person loses
        ``mu * ||x||^2`` of it, whoever the others are.
    failure : float, default 1e-3
        :math:`\varrho`, in (0, 1): probability that the matrix is not below :math:`X^\top X`.
    rng : Generator
        Fresh for every release.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> release_gram_bound(np.ones((1000, 1)), 1.0, failure=0.01, rng=rng).round(1)
    array([[998.]])
    """
    mu, failure, rng = check.number(mu, "mu"), check.delta(failure, "failure"), check.rng(rng)
    X = check.matrix(X, "X")
    in_unit_ball((X**2).sum(axis=1), "X", "have rows in the unit ball", " of squared norm")
    noise = rng.standard_normal(2 * X.shape[1:]) / (2 * mu)
    margin = largest_eigenvalue_bound(len(noise), failure) / mu
    return np.asarray(X.T @ X + (noise + noise.T) - margin * np.eye(len(noise)))


def posterior_certificate(
    X: ArrayLike,
    y: ArrayLike,
    theta: ArrayLike,
    *,
    gamma: float,
    h: float,
    matrix: ArrayLike | None = None,
    delta: float = 1e-6,
    failure: float = 1e-3,
) -> Certificate:
    r"""What each participant can say about their own loss, seeing only the release.

    With :math:`u=\sqrt\gamma\,\lvert y-x^\top\tilde\theta\rvert`, :math:`m=\|x\|^2/h`,
    :math:`s=t\sqrt{m/(1+m)}`, :math:`t=\Phi^{-1}(1-\tfrac12\varrho)` and
    :math:`\bar\rho'=u+s`, except with probability :math:`\varrho`

    .. math:: \varepsilon(\delta) \le \varepsilon(\delta; m, (1+m)\bar\rho'), \qquad
              \lvert L\rvert \le \tfrac12\log(1+m) + \tfrac12 s(2u+s) + \tfrac12 m\bar\rho'^2 .

    A `matrix` M below that of everybody lessens m to at most :math:`x^\top M^{-1}x` over one less
    that. Statement ``prop-publishable`` (ours), chapter *per_instance/adaops*; with a matrix
    ``prop-published-losses``, chapter *per_instance/published_losses*. A person's entry depends on
    the release and on their own record alone; who publishes it reveals a function of that record.

    Parameters
    ----------
    X, y : array_like, shapes (n, d) and (n,)
        Participants' rows in the unit ball and labels, on the domain.
    theta : array_like, shape (d,)
        The released coefficients, on the domain.
    gamma : float
        Inverse temperature of the draw: released, or public.
    h : float
        Lower bound, at least 1, on the smallest eigenvalue of :math:`X^\top X+\lambda I` of the
        data *without* the participant: released, or the penalty itself.
    matrix : array_like, shape (d, d), optional
        Public symmetric matrix below :math:`X^\top X+\lambda I` *with* the participant, such as
        ``release_gram_bound(...) + lam * np.eye(d)``. If it is not positive, h alone counts.
    delta : float, default 1e-6
    failure : float, default 1e-3
        :math:`\varrho`, in (0, 1): probability that the certificate of one person is wrong, on
        top of the probability that `h` or `matrix` is.

    Examples
    --------
    >>> certificate = posterior_certificate([[0.6]], [0.5], [0.4], gamma=2.0, h=100.0)
    >>> certificate.ex_ante.round(2), certificate.ex_post.round(3)
    (array([0.15]), array([0.094]))
    """
    X, y = check.design(X, y)
    theta = check.finite(theta, "theta")
    theta = check.shape(theta, "theta", X.shape[1:], "one for each column of X")
    gamma, h = check.number(gamma, "gamma"), check.number(h, "h")
    delta, failure = check.delta(delta), check.delta(failure, "failure")
    if not h >= 1:
        raise ValueError(f"h must be at least 1; got {check.shown(h)}")
    norms = (X**2).sum(axis=1)
    in_unit_ball(norms, "X", "have rows in the unit ball", " of squared norm")
    u = np.sqrt(gamma) * np.abs(y - X @ theta)
    m = np.maximum(norms, np.finfo(float).tiny) / h
    if matrix is not None:
        m = np.minimum(m, _leverages(X, matrix))
    s = -float(ndtri(failure / 2)) * np.sqrt(m / (1 + m))
    inside = u + s
    ex_ante = np.asarray(ops_epsilon(delta, m, (1 + m) * inside))
    ex_post = np.log1p(m) / 2 + s * (2 * u + s) / 2 + m * inside**2 / 2
    return Certificate(ex_ante, ex_post)


def _leverages(X: Floats, matrix: ArrayLike) -> Floats:
    """Largest leverages of participants, against the others, under a public bound of the matrix."""
    bound = check.matrix(matrix, "matrix", *2 * X.shape[1:])
    if not np.allclose(bound, bound.T, rtol=1e-12, atol=0):
        raise ValueError("matrix must be symmetric")
    values, basis = np.linalg.eigh(bound)
    # below this smallest eigenvalue rounding decides
    inside = (X @ basis) ** 2 @ (1 / values) if values[0] > 1e-9 * values[-1] else np.ones(len(X))
    return np.where(inside < 1, inside / np.maximum(1 - inside, 1e-16), np.inf)


@mechanism
class PosteriorRegressor(BallRegressor):
    r"""One draw from a Gaussian posterior of ridge regression.

    Chapter *per_instance/adaops*.

    Parameters
    ----------
    n_max : int, default 100000
        Public bound on the number of rows: under add-remove neighbors the number itself is not
        public. More rows raise.

    Attributes
    ----------
    theta_ : ndarray
        The draw on the domain.
    gamma_ : float
        Inverse temperature of the draw. The noise follows the data, with covariance
        :math:`(\gamma H)^{-1}`, so `noise_` has no scale.
    h_ : float
        Bound from below on what the data and the penalty weigh in every direction.
    """

    n_max: int = setting(default=100_000, rule=check.count)

    def refuse_crowd(self, n: int, d: int) -> None:
        if n > self.n_max:
            raise ValueError(
                f"X must have at most n_max = {self.n_max} rows; got {n}. Raise the public "
                "n_max, for a reason that does not come from these data"
            )

    def certificate(self, X: ArrayLike, y: ArrayLike, *, failure: float = 1e-3) -> Certificate:
        """Upper bounds participants can compute on their own loss, from the release alone.

        Rows X, shape (m, d), are in your units and inside `bounds`; labels y have shape (m,). See
        `posterior_certificate`, also for `failure`; its delta is the one of the estimator.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)  # names
        rows, labels = self.to_domain(*check.design(X, y))
        released: Any = {"gamma": self.gamma_, "h": self.h_, "delta": self.delta}
        return posterior_certificate(rows, labels, self.theta_, failure=failure, **released)

    def release(self, draw: Floats, law: Any, people: People) -> None:
        super().release(draw, law, people)
        self.theta_ = draw
        self.noise_ = PublicNoise()  # it follows the data


@mechanism
class OnePosteriorSample(PosteriorRegressor):
    r"""One draw from the posterior of ridge regression, calibrated for the worst data set: OPS.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is one draw

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta, (\gamma H)^{-1}\bigr), \qquad
              H = X^\top X+\lambda I,\quad \hat\theta = H^{-1}X^\top y,

    with :math:`\gamma` of `worst_case_gamma`. Statements ``thm-ops-dp-level`` and ``alg-adaops``,
    chapters *per_instance/guarantees* and *per_instance/adaops*.

    Parameters
    ----------
    lam : float, default 100.0
        Penalty against the *sum* of squares on the domain, at least 1; scikit-learn's ``alpha``.

    Examples
    --------
    >>> X = np.random.default_rng(1).uniform(-1, 1, (500, 2))
    >>> model = OnePosteriorSample(50.0, n_max=1000, random_state=3).fit(X, X @ [0.4, -0.2])
    >>> round(model.gamma_, 3), model.guarantee_.neighbors
    (0.332, 'add-remove')
    """

    lam: float = setting(default=100.0, rule=check_penalty, kw_only=False)

    def law(self, people: People) -> PosteriorLaw:
        gram, moment = people.statistics
        H = gram + self.lam * np.eye(people.d)
        center = np.linalg.solve(H, moment)
        return PosteriorLaw(np.asarray(center, dtype=float), self.gamma(self.level(people)) * H)

    def gamma(self, epsilon: float) -> float:
        """Return the inverse temperature that keeps a budget on every data set."""
        return _gamma(float(self.lam), epsilon, float(self.delta), int(self.n_max))

    def release(self, draw: Floats, law: PosteriorLaw, people: People) -> None:
        super().release(draw, law, people)
        self.gamma_, self.h_ = self.gamma(self.level(people)), float(self.lam)
