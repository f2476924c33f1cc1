"""Certificates of participants: bounds on their own privacy loss that a release lets them compute.

They may be sharpened by a private matrix below the sum of squares and products; how far below it
must be is a bound on the largest eigenvalue of symmetric Gaussian noise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtri
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook import Floats, check
from pdpbook.noise.profiles import bisect, gauss_legendre
from pdpbook.per_instance import ops_epsilon
from pdpbook.per_instance.levels import in_unit_ball

SMALLEST_EIGENVALUE = 1e-9  # over the largest: of a matrix below it rounding decides


class Certificate(NamedTuple):
    """Two upper bounds on the privacy loss of each participant; see `posterior_certificate`."""

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
    d = X.shape[1]
    noise = rng.standard_normal((d, d)) / (2 * mu)
    margin = largest_eigenvalue_bound(d, failure) / mu
    return np.asarray(X.T @ X + (noise + noise.T) - margin * np.eye(d))


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
    r"""Bounds on the privacy loss of each participant, from the release and their own record alone.

    With :math:`u=\sqrt\gamma\,\lvert y-x^\top\tilde\theta\rvert`, :math:`m=\|x\|^2/h`,
    :math:`s=t\sqrt{m/(1+m)}`, :math:`t=\Phi^{-1}(1-\tfrac12\varrho)` and
    :math:`\bar\rho'=u+s`, except with probability :math:`\varrho`

    .. math:: \varepsilon(\delta) \le \varepsilon(\delta; m, (1+m)\bar\rho'), \qquad
              \lvert L\rvert \le \tfrac12\log(1+m) + \tfrac12 s(2u+s) + \tfrac12 m\bar\rho'^2 .

    A `matrix` M below :math:`X^\top X+\lambda I` lessens m to at most :math:`v/(1-v)`,
    :math:`v=x^\top M^{-1}x`. Statement ``prop-publishable`` (ours), chapter *per_instance/adaops*;
    with a matrix ``prop-published-losses``, chapter *per_instance/published_losses*. Whoever
    publishes their entry reveals a function of their record.

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
    gamma = check.number(gamma, "gamma")
    h = check.number(h, "h")
    delta = check.delta(delta)
    failure = check.delta(failure, "failure")
    if not h >= 1:
        raise ValueError(f"h must be at least 1; got {check.shown(h)}")
    squared_norms = (X**2).sum(axis=1)
    in_unit_ball(squared_norms, "X", "have rows in the unit ball", " of squared norm")
    u = np.sqrt(gamma) * np.abs(y - X @ theta)
    m = np.maximum(squared_norms, np.finfo(float).tiny) / h
    if matrix is not None:
        m = np.minimum(m, _largest_leverages(X, matrix))
    t = -float(ndtri(failure / 2))
    s = t * np.sqrt(m / (1 + m))
    rho_in = u + s  # the bound on rho', the scaled residual to the fit with the participant
    ex_ante = np.asarray(ops_epsilon(delta, m, (1 + m) * rho_in))
    ex_post = np.log1p(m) / 2 + s * (2 * u + s) / 2 + m * rho_in**2 / 2
    return Certificate(ex_ante, ex_post)


def _largest_leverages(X: Floats, matrix: ArrayLike) -> Floats:
    """Return bounds on the leverages of participants against the others, shape (n,).

    `matrix` is below the matrix with everybody. Infinite where it bounds nothing.
    """
    d = X.shape[1]
    bound = check.matrix(matrix, "matrix", d, d)
    if not np.allclose(bound, bound.T, rtol=1e-12, atol=0):
        raise ValueError("matrix must be symmetric")
    values, basis = np.linalg.eigh(bound)
    if not values[0] > SMALLEST_EIGENVALUE * values[-1]:
        return np.full(len(X), np.inf)
    leverage_in = (X @ basis) ** 2 @ (1 / values)  # against everybody, themselves included
    leverage = leverage_in / np.maximum(1 - leverage_in, 1e-16)
    return np.where(leverage_in < 1, leverage, np.inf)


def certificate_of_release(model: Any, X: ArrayLike, y: ArrayLike, failure: float) -> Certificate:
    """Return the certificates that a fitted posterior sample gives to these participants.

    Rows X and labels y are in the user's units.
    """
    check_is_fitted(model)
    validate_data(model, X, reset=False, skip_check_array=True, ensure_2d=False)  # names
    rows, labels = check.design(X, y)
    rows, labels = model.domain(rows.shape[1]).to_domain(rows, labels)
    return posterior_certificate(
        rows,
        labels,
        model.theta_,
        gamma=model.gamma_,
        h=model.h_,
        delta=model.delta,
        failure=failure,
    )


RELATIVE_ERROR = 1e-9  # of `eigenvalues_above`, at most: its tests say how much
TAIL_LENGTH = 12.0  # so far above the edge of the spectrum the density of eigenvalues is 0
RESCALING_SIZE = 1e50  # Hermite functions above it are divided by it: none overflows


def largest_eigenvalue_bound(d: int, failure: float) -> float:
    r"""Number that the largest eigenvalue of Gaussian noise exceeds with a small probability.

    The noise is :math:`Z=\frac12(A+A^\top)`, A a d by d matrix of independent standard normals:

    .. math:: t_d(\varrho) = \min\{t : \mathbb E\,\#\{\text{eigenvalues of } Z \text{ above } t\}
              \le \varrho\} .

    The probability that any eigenvalue is above t is at most the mean number of those that are.
    Rounded up. Statement ``prop-published-losses``, chapter *per_instance/published_losses*.

    Parameters
    ----------
    d : int
        Number of rows and columns.
    failure : float
        :math:`\varrho`, in (0, 1).

    Examples
    --------
    >>> [round(largest_eigenvalue_bound(d, 0.01), 3) for d in (1, 2, 10)]
    [2.326, 2.918, 5.301]
    """
    return _smallest_bound(check.count(d, "d"), check.delta(failure, "failure"))


@lru_cache(maxsize=256)
def _smallest_bound(d: int, failure: float) -> float:
    """Return `largest_eigenvalue_bound` of arguments that are checked."""

    def is_bound(t: float) -> bool:
        return eigenvalues_above(t, d) * (1 + RELATIVE_ERROR) <= failure

    low = np.sqrt(2 * d)  # the edge of the spectrum
    while is_bound(low):
        low -= 1
    high = low + 1
    while not is_bound(high):
        high += 1
    return float(bisect(lambda t: is_bound(float(t)), true_at=high, false_at=low))


def eigenvalues_above(t: float, d: int) -> float:
    r"""Return the mean number of eigenvalues of the symmetric noise that are above t.

    It is the integral over :math:`x>t` of their density: with the orthonormal Hermite functions
    :math:`\phi_j` and :math:`J_j(x)=\int_x^\infty\phi_j`,

    .. math:: \sum_{j=0}^{d-2}\phi_j(x)^2 + \phi_{d-1}(x)\Bigl(c_d -
              \sqrt{\tfrac{d-1}2}\,J_{d-2}(x)\Bigr), \qquad c_d = \begin{cases}
              1/\int\phi_{d-1} & d \text{ odd} \\
              \sqrt{\tfrac{d-1}2}\,\tfrac12\int\phi_{d-2} & d \text{ even.} \end{cases}

    The density of the Gaussian orthogonal ensemble is classical; see Mehta's *Random Matrices*,
    chapter 7. It is quoted, not proved: tests hold it against quadrature of the joint density of
    two and of three eigenvalues, and against simulated matrices.
    """
    edge = np.sqrt(2 * d)
    end = max(t, edge) + TAIL_LENGTH
    waves = edge * max(0.0, edge - t) / np.pi  # of the squared functions, within the spectrum
    nodes, weights = gauss_legendre(200 * int(1 + waves / 25))
    x = t + (end - t) * (1 + nodes) / 2
    return float((end - t) / 2 * (_eigenvalue_density(x, d) @ weights))


def _eigenvalue_density(x: Floats, d: int) -> Floats:
    r"""Return the density of `eigenvalues_above` at points x.

    By the recursions
    :math:`\phi_{j+1}=\sqrt{2/(j+1)}\,x\phi_j-\sqrt{j/(j+1)}\,\phi_{j-1}`, and
    :math:`J_{j+1}=\sqrt{2/(j+1)}\,\phi_j+\sqrt{j/(j+1)}\,J_{j-1}`. All values are held over
    ``exp(log_scale)``, so that none overflows or vanishes where x is large.
    """
    log_scale = -(x**2) / 2 - np.log(np.pi) / 4
    previous_phi = np.zeros_like(x)
    phi = np.ones_like(x)
    previous_tail = np.zeros_like(x)  # J_{-1}, which is multiplied by 0
    tail = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))  # J_0, a normal tail
    squares = np.zeros_like(x)  # the sum of phi_j^2 so far
    last_tail = np.zeros_like(x)  # at the end J_{d-2}
    for j in range(d - 1):
        squares = squares + phi**2
        last_tail = tail
        next_phi = np.sqrt(2 / (j + 1)) * x * phi - np.sqrt(j / (j + 1)) * previous_phi
        next_tail = np.sqrt(2 / (j + 1)) * phi + np.sqrt(j / (j + 1)) * previous_tail
        scale = np.where(np.abs(next_phi) > RESCALING_SIZE, RESCALING_SIZE, 1.0)
        previous_phi = phi / scale
        phi = next_phi / scale
        previous_tail = tail / scale
        tail = next_tail / scale
        last_tail = last_tail / scale
        squares = squares / scale**2
        log_scale = log_scale + np.log(scale)
    products = squares - phi * np.sqrt((d - 1) / 2) * last_tail  # of two functions of this scale
    return np.asarray(
        np.exp(2 * log_scale) * products + np.exp(log_scale) * phi * _last_coefficient(d)
    )


def _last_coefficient(d: int) -> float:
    """Return c_d of `eigenvalues_above`.

    The integral of the Hermite function of order 0 is known; each further even order multiplies it
    by the root of a ratio.
    """
    order = d - 1 if d % 2 else d - 2
    ratios: Floats = np.arange(1, order, 2) / np.arange(2, order + 1, 2)
    integral = float(np.pi**-0.25 * np.sqrt(2 * np.pi) * np.prod(np.sqrt(ratios)))
    if d % 2:
        return 1 / integral
    return float(np.sqrt((d - 1) / 2) * integral / 2)
