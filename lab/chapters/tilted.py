"""Per-instance privacy of ridge whose objective was tilted by Gaussian noise.

The covariance of the minimizer carries information too, so no Gaussian formula applies; the loss
of a person is a quadratic of two normal numbers. Noise that does not look at the data is in
`lab.chapters`, the mechanism with a promise for everybody in `objective_perturbation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import elementwise

from pdpbook import Floats, check
from pdpbook.noise.profiles import places
from pdpbook.per_instance.ops import Profile

REACH = 10.0  # standard deviations kept; what is left has probability below 1e-22
NODES, WEIGHTS = (np.polynomial.legendre.leggauss(12) + np.array([[1.0], [0.0]])) / 2  # a panel
BLOCK = 2000  # people at a time
TOLERANCES = {"xatol": 0.0, "xrtol": 1e-12, "fatol": 0.0, "frtol": 0.0}  # of an epsilon
RUNGS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def objective_perturbation_profile(
    epsilon: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike, spread: ArrayLike
) -> Profile:
    r"""Exact privacy profile of objective perturbation of ridge, for one person or many.

    The release is :math:`\arg\min_\theta \frac12\|y-X\theta\|^2 + \frac\lambda2\|\theta\|^2
    + b^\top\theta` with :math:`b\sim\mathcal N(0,\varsigma^2 I)`. Three numbers of a person count,
    all from the fit without them, :math:`H = X^\top X + \lambda I`:

    .. math:: &\mu = x^\top H^{-1}x, \qquad \rho = \frac{\|x\|\,|y-x^\top\hat\theta|}{\varsigma},\\
              &\tau = \|x\|\,\|H^{-1}x\| \ge \mu .

    With :math:`w = \|x\|(y-x^\top\tilde\theta)/\varsigma` and the tilt along x,
    :math:`a = b^\top x/(\varsigma\|x\|)`, the privacy loss of adding them is

    .. math:: &L = -\ln(1+\mu) + a w + \tfrac12 w^2,\\
              &w\sim\mathcal N(\rho,\tau^2),\ a\sim\mathcal N(0,1),\ \operatorname{Cov}(a,w)=\mu .

    Parameters
    ----------
    epsilon : array_like
        Where to evaluate, in nats, at least 0.
    leverage : array_like
        :math:`\mu`, above 0.
    scaled_residual : array_like
        :math:`\rho`; its sign does not matter.
    spread : array_like
        :math:`\tau`, at least the leverage; equal to it where x is an eigenvector of H.
        All four broadcast.

    Returns
    -------
    Profile
        `add` and `remove`, of the common shape.

    Notes
    -----
    Statement ``thm-objpert-profile`` (ours), chapter *per_instance/smooth*. Given w the loss is
    normal, which leaves one integral over w. The largest
    absolute error measured is 1e-8, over 20,000 random people; 1e-13 is usual.

    Examples
    --------
    >>> add, remove = objective_perturbation_profile(1.0, 0.1, scaled_residual=1.0, spread=0.2)
    >>> round(float(add), 4), round(float(remove), 4)
    (0.1472, 0.0826)
    """
    epsilon = check.nonnegative(epsilon, "epsilon")
    values = _person(epsilon, leverage, scaled_residual, spread)
    add, remove = np.zeros(values[0].shape), np.zeros(values[0].shape)
    for at in places(np.ones(add.shape), BLOCK):
        add.flat[at], remove.flat[at] = _profile(*(value.flat[at] for value in values))
    return Profile(add[()], remove[()])


def objective_perturbation_epsilon(
    delta: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike, spread: ArrayLike
) -> Floats:
    r"""Smallest epsilon at which a person's loss under objective perturbation keeps `delta`.

    Parameters
    ----------
    delta : array_like
        Failure probabilities in (0, 1).
    leverage, scaled_residual, spread : array_like
        As in `objective_perturbation_profile`; everything broadcasts.

    Returns
    -------
    ndarray, common shape
        In nats, for the worse of the two directions; 0 where total variation is at most `delta`.

    Notes
    -----
    Statement ``thm-objpert-profile`` (ours), chapter *per_instance/smooth*. The end of the last
    bracket whose computed delta is not above `delta`.

    Examples
    --------
    >>> objective_perturbation_epsilon(1e-6, [0.1, 0.01], 1.0, spread=[0.2, 0.02]).round(3)
    array([8.551, 5.151])
    """
    delta = check.probability(delta, "delta")
    target, mu, rho, tau = _person(delta, leverage, scaled_residual, spread)
    # |a| <= t and |w - rho| <= tau t, but for a chance of delta / 2
    t = np.sqrt(2 * np.log(4 / target))
    w = rho + tau * t
    high = np.log1p(mu) + w * t + w**2 / 2
    of = (target, mu, rho, tau)
    found = elementwise.find_root(_excess, (0.0 * high, high), args=of, tolerances=TOLERANCES)
    kept = np.where(found.f_bracket[0] <= 0, *found.bracket)  # the end that keeps delta
    return np.where(_excess(0.0 * high, *of) <= 0, 0.0, kept)[()]


def _excess(epsilon: Floats, delta: Floats, mu: Floats, rho: Floats, tau: Floats) -> Floats:
    """How far the logarithm of the larger delta is above the one asked for."""
    found = np.maximum(*objective_perturbation_profile(epsilon, mu, rho, tau))
    # 1e-12: room for the rounding of a logarithm
    return np.asarray(np.log(np.maximum(found, 1e-300)) - np.log(delta) + 1e-12)


def _person(first: ArrayLike, mu: ArrayLike, rho: ArrayLike, tau: ArrayLike) -> list[Floats]:
    """Epsilon or delta, checked already, and the three numbers, checked and of one shape."""
    mu, rho = check.positive(mu, "leverage"), np.abs(check.finite(rho, "scaled_residual"))
    tau, names = check.positive(tau, "spread"), "epsilon or delta and the three numbers"
    first, mu, rho, tau = check.together(names, first, mu, rho, tau)
    if not np.all(tau >= mu * (1 - 1e-9)):
        at = np.argmin(tau / mu)
        got = f"{tau.flat[at]:g} against {mu.flat[at]:g}"
        raise ValueError(f"spread must be at least the leverage; got {got}")
    return [first, mu, rho, np.maximum(mu, tau)]


def _profile(epsilon: Floats, mu: Floats, rho: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """Both directions, shape (2, people)."""
    slope = mu / tau**2  # of the mean of a, given w
    rest = np.sqrt(np.maximum(0, (1 - mu / tau) * (1 + mu / tau)))  # deviation of a, given w
    shrink = 1 + mu
    # the mean of the loss given w is A w^2 + B w + C, its deviation rest |w|
    add = _hockey_stick(epsilon, rho, tau, rest, (0.5 + slope, -slope * rho, -np.log1p(mu)))
    lifted = (0.5 - slope * shrink, slope * rho, np.log1p(mu))
    remove = _hockey_stick(epsilon, rho / shrink, tau / shrink, rest, lifted)
    return add, remove


def _hockey_stick(
    epsilon: Floats, center: Floats, deviation: Floats, rest: Floats, quadratic: Any
) -> Floats:
    """Integrate E(1 - e^(epsilon - loss))_+ over w: panels that end where the loss crosses."""
    A, B, C = quadratic
    C = C - epsilon
    with np.errstate(all="ignore"):  # infinite and undefined break points are clipped away
        root = np.sqrt(np.maximum(0, B**2 - 4 * A * C))
        far = -(B + np.where(B < 0, -1, 1) * root) / 2
        crossing = np.stack([far / A, C / far, -B / (2 * A)], axis=-1)
        steep = np.abs(2 * A[:, None] * crossing + B[:, None])
        ladder = [np.zeros((len(A), 3, 1))]
        # panels on two scales of w: where L strays across the crossing, and where it gains 1
        for gain in (rest[:, None] * np.abs(crossing), np.ones(crossing.shape)):
            width = np.minimum(gain / steep, np.sqrt(2 * gain / np.abs(A[:, None])))
            ladder += [sign * width[..., None] * RUNGS for sign in (-1, 1)]
        near = (crossing[..., None] + np.concatenate(ladder, axis=-1)).reshape(len(A), -1)
        still = np.abs(C / rest)[:, None] * RUNGS / 16  # at w = 0 the loss does not stray at all
        near = np.concatenate([near, -still, np.zeros((len(A), 1)), still], axis=1)
        near = np.nan_to_num((near - center[:, None]) / deviation[:, None], nan=REACH)
    grid = np.broadcast_to(np.linspace(-REACH, REACH, 11), (len(A), 11))
    ends = np.sort(np.concatenate([grid, np.clip(near, -REACH, REACH)], axis=1), axis=1)
    z = (ends[:, :-1, None] + np.diff(ends)[..., None] * NODES).reshape(len(A), -1)
    mass = (np.diff(ends)[..., None] * WEIGHTS).reshape(len(A), -1)
    w = center[:, None] + deviation[:, None] * z
    above = (A[:, None] * w + B[:, None]) * w + C[:, None]
    gain = _normal_gain(above, rest[:, None] * np.abs(w))
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.clip((mass * density * gain).sum(axis=1), 0, 1))


def _normal_gain(above: Floats, s: Floats) -> Floats:
    """E(1 - e^(-L))_+ of a normal L with mean `above` and deviation `s`."""
    with np.errstate(all="ignore"):
        a = above / s
        left = special.erfcx(np.maximum(-a, 0) / np.sqrt(2))
        right = special.erfcx((s - a) / np.sqrt(2))
        # a common factor where the loss is rare, so that the difference keeps its digits
        rare = np.exp(-(a**2) / 2) / 2 * (left - right)
        usual = special.ndtr(a) - np.exp(s**2 / 2 - above + special.log_ndtr(a - s))
        sure = -np.expm1(-np.maximum(above, 0))
        gain = np.where(a < 0, rare, usual)
        return np.asarray(np.where((s > 0) & np.isfinite(a) & (np.abs(a) < 1e8), gain, sure))
