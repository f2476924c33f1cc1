r"""How far one person can move a weighted ridge fit: bounds that hold on every data set.

The data are :math:`x_j\in[0,1]^d`, :math:`y_j\in[-1,1]`, the weights :math:`w_j` sum to one, and

.. math:: \bar\theta = \arg\min_\theta \sum_j w_j (y_j - x_j^\top\theta)^2 + \lambda\|\theta\|^2 .

A constant :math:`C` means: replacing the record of person :math:`i`, whose weight stays, moves
:math:`\bar\theta` by at most :math:`w_i C`. How far a person moves one given fit is
`ridge.leave_one_out`; the noise that hides the move is in `noise`. Factors that are maxima over one
number are upper ends of a bracket: never below the maximum, above it by less than 1 part in 10^14.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import check

__all__ = [
    "PROOFS",
    "capped_sensitivity",
    "huber_constant",
    "joint_factor",
    "label_sensitivity",
    "norm_bound",
    "ridge_constant",
    "solver_excess",
    "solver_noise_rate",
    "tight_factor",
]

ULPS = 8 * np.finfo(float).eps  # more than the rounding of the few operations it multiplies
ONE_SIDED = 3 * math.sqrt(3) / 4 - 1  # the constant of `joint_factor`
SOLVER_SHARE = 1e-3  # of the smallest budget, where noise hides that a minimizer is not exact
BISECTIONS = 64  # bring a bracket to the width of rounding


def tight_factor(kappa: ArrayLike) -> Any:
    r"""The factor of the tight constant, as a function of the ratio of dimension to penalty.

    .. math:: &K(\kappa) = \max_{0\le\tau\le1}\ \tau\bigl(1+\sqrt{\kappa\,\tau(1-\tau)}\bigr), \\
              &1\le K(\kappa)\le\min\Bigl\{1+\frac\kappa4,\ 1+\frac{3\sqrt3}{16}\sqrt\kappa\Bigr\} .

    The published factor is :math:`1+\min(\kappa,\sqrt\kappa)`. Statement ``thm-tight-sensitivity``
    (ours), chapter *personalized/constants*: with :math:`\tau=\cos^2\phi` the maximum is where
    :math:`\sqrt\kappa\cos3\phi=2\sin\phi`.

    Parameters
    ----------
    kappa : float or array_like, any shape
        :math:`R^2/\lambda`, at least 0; :math:`d/\lambda` on the whole domain.

    Returns
    -------
    float or ndarray, shape of `kappa`
        Never below the maximum, and above it by less than one part in :math:`10^{14}`.
    """
    clean = check.nonnegative(kappa, "kappa")
    k = np.asarray(clean)
    factor = np.where(k == 0, 1.0, largest_move(k, np.zeros_like(k)))
    return factor if np.ndim(clean) else float(factor)


def joint_factor(kappa: ArrayLike, ratio: float = 1.0) -> Any:
    r"""The factor of the joint constant: both records of a person are bounded together.

    .. math:: &K_2(\kappa,a) = \max_q\ p + \frac{\sqrt\kappa}2\Bigl(pq
              + \bigl(\tfrac{3\sqrt3}4-1\bigr)\frac{1-p^2-q^2}2\Bigr), \\
              &p^2 = \min\{1-q^2,\ a-3q^2\}, \qquad 0\le q\le\tfrac12\sqrt{\min\{a,2\}} .

    On the whole domain a is 1; a row norm R below :math:`\sqrt d` makes it :math:`d/R^2`, and the
    factor larger. From :math:`a=2` on the cube no longer helps, and the factor is
    :math:`\max_{\phi\le\pi/4}\cos\phi\,(1+\frac{\sqrt\kappa}2\sin\phi)`. Statements
    ``thm-joint-sensitivity`` and ``prop-row-norm`` (ours), chapter *personalized/constants*.

    Parameters
    ----------
    kappa : float or array_like, any shape
        :math:`R^2/\lambda`, at least 0.
    ratio : float, default 1.0
        :math:`a=d/R^2`, at least 1.

    Returns
    -------
    float or ndarray, shape of `kappa`
        Never below the maximum, and above it by less than one part in :math:`10^{14}`.

    Examples
    --------
    >>> joint_factor([0.0, 3.0, 12.0, 1000.0]).round(3), round(tight_factor(12.0), 3)
    (array([1.   , 1.114, 1.347, 6.079]), 1.911)
    """
    clean = check.nonnegative(kappa, "kappa")
    a = check.number(ratio, "ratio")
    if a < 1 - 1e-12:
        raise ValueError(
            f"ratio must be at least 1, as no row is longer than sqrt(d); got {check.shown(a)}"
        )
    k = np.asarray(clean)
    factor = np.where(k == 0, 1.0, largest_pair(k, max(a, 1.0)))
    return factor if np.ndim(clean) else float(factor)


def largest_move(kappa: NDArray[Any], omega: NDArray[Any]) -> NDArray[np.float64]:
    r"""Upper end of :math:`\max_\tau\tau(1+\sqrt{\kappa\tau(1-\tau)})/(1+\omega\tau^2)`.

    The maximand rises, then falls: its logarithmic derivative crosses zero once. So bisection
    brackets the peak, and bounding every factor on the bracket by its worse end bounds the peak.
    """
    root = np.sqrt(kappa)
    low = np.zeros_like(root)  # of phi, where tau = cos(phi)^2
    high = np.full_like(root, np.pi / 2)
    for _ in range(BISECTIONS):
        phi = (low + high) / 2
        sine, cosine = np.sin(phi), np.cos(phi)
        omega_tau_squared = omega * np.square(cosine**2)
        decrease = (1 + root * cosine * sine) * 2 * sine * (1 - omega_tau_squared)
        decrease = decrease / (1 + omega_tau_squared)
        increase = root * cosine * (cosine - sine) * (cosine + sine)
        past_peak = decrease > increase  # as phi grows
        low = np.where(past_peak, low, phi)
        high = np.where(past_peak, phi, high)
    widest = np.clip(np.pi / 4, low, high)  # where sin(2 phi) is largest in the bracket
    numerator = np.cos(low) ** 2 * (1 + root * np.sin(2 * widest) / 2)
    return np.asarray((1 + ULPS) * numerator / (1 + omega * np.cos(high) ** 4))


def largest_pair(kappa: NDArray[Any], ratio: float) -> NDArray[np.float64]:
    """Upper end of the maximum of `joint_factor`.

    As a function of p the maximand is concave, so that its slope in q changes sign once; p falls
    with q, and the other factors rise, so the worse ends of the bracket bound the peak.
    """
    root = np.sqrt(kappa) / 2
    low = np.zeros_like(root)
    high = np.full_like(root, math.sqrt(min(ratio, 2)) / 2)
    for _ in range(BISECTIONS):
        q = (low + high) / 2
        cube_binds = 2 * q**2 > ratio - 1  # a - 3 q^2 is the smaller term of p^2
        p = _largest_p(q, ratio)
        slope_p = np.where(cube_binds, -3, -1) * q / p
        slope_rest = np.where(cube_binds, 2 * ONE_SIDED, 0) * q
        is_rising = slope_p + root * (slope_p * q + p + slope_rest) > 0
        low = np.where(is_rising, q, low)
        high = np.where(is_rising, high, q)
    rest = np.maximum(1 - ratio + 2 * high**2, 0) / 2  # (1 - p^2 - q^2) / 2
    p = _largest_p(low, ratio)
    return np.asarray((1 + ULPS) * (p + root * (p * high + ONE_SIDED * rest)))


def _largest_p(q: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Return p of `joint_factor`: the half-sum of two records whose half-difference is q."""
    return np.asarray(np.sqrt(np.minimum(1 - q**2, ratio - 3 * q**2)))


PROOFS = ("published", "exact-norm", "tight", "joint")


def norm_bound(lam: float, d: int, proof: str = "joint", row_norm: float | None = None) -> float:
    r"""Largest norm of the weighted ridge minimizer over all data sets, in labels per feature unit.

    With :math:`R=\min(\sqrt d,` `row_norm` :math:`)` the published bound is
    :math:`\min(1/\sqrt\lambda,\ R/\lambda)`; the exact supremum is

    .. math:: B_\star = \frac1{2\sqrt\lambda}\ (\lambda\le R^2), \qquad
              B_\star = \frac{R}{\lambda+R^2}\ (\lambda>R^2).

    Statements ``lem-norm-sqrt``, ``lem-norm-dim`` (Acharya et al. 2024, Lemmas C.1, C.2), chapter
    *personalized/sensitivity*; ``lem-exact-norm``, ``prop-row-norm`` (ours), on the page below it,
    *personalized/constants*.

    Parameters
    ----------
    lam : float
        Ridge penalty, above 0, against the weighted mean of squares.
    d : int
        Number of features, a constant one included.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Whose bound; all but the first give the exact supremum.
    row_norm : float, optional
        Public and enforced bound on the norm of a row of X; above :math:`\sqrt d` without effect.

    Examples
    --------
    >>> norm_bound(1.0, 12, proof="published"), norm_bound(1.0, 12)
    (1.0, 0.5)
    """
    check.choice(proof, "proof", PROOFS)
    return _norm_bound(check.penalty(lam), check.radius(d, row_norm), proof)


def _norm_bound(lam: float, radius: float, proof: str) -> float:
    """Return `norm_bound` of arguments that are checked."""
    if proof == "published":
        return min(1 / math.sqrt(lam), radius / lam)
    if lam <= radius**2:
        return 1 / (2 * math.sqrt(lam))
    return radius / (lam + radius**2)


def ridge_constant(
    lam: float,
    d: int,
    proof: str = "joint",
    bound: float | None = None,
    row_norm: float | None = None,
) -> float:
    r"""Sensitivity of weighted ridge per unit weight: person i moves it by at most `w_i` times it.

    With :math:`R=\min(\sqrt d,` `row_norm` :math:`)` and :math:`B` from `norm_bound`,

    .. math:: C = \frac{2R}{\lambda}(1+RB) \ \text{(published, exact-norm)}, \qquad
              C = \frac{2R}{\lambda}K\ \text{(tight, joint)},

    with :math:`K` the `tight_factor` of :math:`R^2/\lambda`, or its `joint_factor` for the ratio
    :math:`d/R^2`. Neighbors are replace-one: one record changed, and the same weights, which sum to
    at most 1. Statement ``thm-sensitivity`` (Acharya et al. 2024, Theorem C.4), chapter
    *personalized/sensitivity*; ``thm-tight-sensitivity``, ``thm-joint-sensitivity`` and
    ``prop-row-norm`` (ours), on the page below it, *personalized/constants*.

    Parameters
    ----------
    lam, d, row_norm
        As in `norm_bound`.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Which theorem. Each is valid; a later one is never larger. For a person who comes or goes,
        half of each but the last is valid, too.
    bound : float, optional
        A norm bound known without looking at the data: that of the weighted least-squares solution
        (Assumption 2.2), or of the minimizer itself. It replaces `norm_bound` where it is smaller,
        and a later constant where that makes it smaller. Read from the data it voids the promise.

    Examples
    --------
    >>> [round(ridge_constant(1.0, 12, proof), 2) for proof in PROOFS]
    [30.93, 18.93, 13.24, 9.33]
    """
    check.choice(proof, "proof", PROOFS)
    lam, radius = check.penalty(lam), check.radius(d, row_norm)
    supplied_bound = math.inf if bound is None else check.scale(bound, "bound")
    unit = 2 * radius / lam
    constant = unit * (1 + radius * min(supplied_bound, _norm_bound(lam, radius, proof)))
    if proof in ("tight", "joint"):
        kappa = _finite(radius**2 / lam, lam)
        constant = min(constant, unit * _factor(proof, kappa, d / radius**2))
    return _finite(constant, lam)


def huber_constant(
    lam: float, d: int, threshold: float = 1.0, row_norm: float | None = None
) -> float:
    r"""Sensitivity per unit weight of ridge with the Huber loss; no norm bound enters.

    .. math:: C_H = \frac{2Rc}{\lambda}, \qquad
              h_c(r) = r^2\ (|r|\le c), \quad 2c|r|-c^2\ (|r|>c),

    for the minimizer of :math:`\sum_j w_j h_c(y_j-x_j^\top\theta)+\lambda\|\theta\|^2`, with
    :math:`R=\min(\sqrt d,` `row_norm` :math:`)`. The labels may be anything. Statement
    ``thm-huber-sensitivity`` (after Chaudhuri et al. 2011), chapter *personalized/constants*.

    Parameters
    ----------
    lam, d, row_norm
        As in `norm_bound`, the penalty against the weighted mean of losses.
    threshold : float, default 1.0
        Where the loss turns linear, :math:`c>0`. From :math:`1+RB_\star` on it is plain ridge, and
        `ridge_constant` is smaller.
    """
    lam, radius = check.penalty(lam), check.radius(d, row_norm)
    return _finite(2 * radius * check.scale(threshold, "threshold") / lam, lam)


def label_sensitivity(weights: ArrayLike, lam: float, d: int, row_norm: float | None = None) -> Any:
    r"""Exact sensitivity of weighted ridge where only the label of a person may change.

    .. math:: \Delta_i = \frac{2w_iR}{\lambda+w_iR^2}\ (w_iR^2\le\lambda), \qquad
              \Delta_i = \sqrt{w_i/\lambda}\ (w_iR^2>\lambda),

    the largest move over all data sets and both labels, with R as in `norm_bound`. Statement
    ``thm-label-sensitivity`` (ours), chapter *personalized/constants*. Elementwise.

    Parameters
    ----------
    weights : float or array_like, any shape
        Weight of a person, or of each person, at least 0.
    lam, d, row_norm
        As in `norm_bound`.

    Examples
    --------
    >>> label_sensitivity([0.01, 1.0], 1.0, 12).round(3)
    array([0.062, 1.   ])
    """
    clean = check.nonnegative(weights, "weights")
    lam, radius = check.penalty(lam), check.radius(d, row_norm)
    w = np.asarray(clean)
    small = 2 * w * radius / (lam + w * radius**2)
    move = np.where(w * radius**2 <= lam, small, np.sqrt(w) / math.sqrt(lam))
    return move if np.ndim(clean) else float(move)


def capped_sensitivity(
    weights: ArrayLike, lam: float, d: int, row_norm: float | None = None
) -> Any:
    r"""Sensitivity of weighted ridge for a person of a given weight, large weights included.

    The smallest of twice the norm bound, of the joint constant, and of a refinement of the tight
    one that keeps the denominators: with :math:`\kappa=R^2/\lambda`, the weight w of the person
    and the `joint_factor` :math:`K_2`,

    .. math:: \Delta_i \le \min\Bigl\{2B_\star,\ \frac{2wR}{\lambda}
              K_2\bigl((1-w)\kappa\bigr),\ \frac{2wR}{\lambda}\max_{0\le\tau\le1}
              \frac{\tau(1+\sqrt{(1-w)\kappa\tau(1-\tau)})}{1+w\kappa\tau^2}\Bigr\} .

    It is at most ``weights * ridge_constant(lam, d)`` and not proportional to the weight: weights
    that spend every budget are those of `pdpbook.personalized.sensitivity_weights`. Statements
    ``thm-tight-sensitivity``, ``thm-joint-sensitivity`` (ours), chapter *personalized/constants*.
    Elementwise, in the shape of `weights`.

    Parameters
    ----------
    weights : float or array_like, any shape
        Weight of a person, or of each person, in [0, 1] out of a total of 1.
    lam, d, row_norm
        As in `norm_bound`.

    Examples
    --------
    >>> capped_sensitivity([0.01, 0.1, 1.0], 1.0, 12).round(3)
    array([0.093, 0.768, 1.   ])
    """
    clean = check.nonnegative(weights, "weights")
    w = np.asarray(clean)
    if not w.size or not w.max() <= 1:
        raise ValueError(f"weights must be shares of a total of 1; got {np.max(w, initial=0):g}")
    lam, radius = check.penalty(lam), check.radius(d, row_norm)
    unit = _finite(2 * radius / lam, lam)
    kappa = _finite(radius**2 / lam, lam)
    kappa_of_others = (1 - w) * kappa
    ratio = max(d / radius**2, 1.0)  # rounding
    joint = largest_pair(kappa_of_others, ratio)
    tight = largest_move(kappa_of_others, w * kappa)
    factor = np.minimum(joint, tight)
    move = np.minimum(unit * w * factor, 2 * norm_bound(lam, d, row_norm=row_norm))
    return move if np.ndim(clean) else float(move)


def solver_excess(gradient_norm: float, lam: float) -> float:
    r"""What an inexact minimizer adds to every sensitivity, whatever the weight: :math:`g/\lambda`.

    Add it to `w_i * constant`. A single minimizer is off by at most half of it; two neighbors make
    the whole. Statement ``prop-solver-tolerance`` (ours), chapter *personalized/constants*.

    Parameters
    ----------
    gradient_norm : float
        Norm :math:`g`, at least 0, of the gradient of the whole objective (a weighted mean of
        losses plus :math:`\lambda\|\theta\|^2`); a solver that does not reach it must raise.
    lam : float
        Ridge penalty, above 0.
    """
    norm = check.single(check.nonnegative(gradient_norm, "gradient_norm"), "gradient_norm")
    return _finite(norm / check.penalty(lam), lam)


def solver_noise_rate(smallest_budget: float, gradient_norm: float, lam: float) -> float:
    r"""Rate of the round noise on a minimizer that hides how far its solver was off.

    .. math:: \eta = \frac{\varsigma\,\varepsilon_{\min}}{2g/\lambda}, \qquad \varsigma = 10^{-3} .

    The computed gradient is no longer than g, and rounding may have hidden as much again, so
    `solver_excess` is that of 2g. Everybody pays a loss of :math:`\varsigma\,\varepsilon_{\min}`
    for it. Statement ``prop-solver-tolerance`` (ours), chapter *personalized/constants*.

    Parameters
    ----------
    smallest_budget : float
        Of all who take part, in nats.
    gradient_norm : float
        g, at which the solver stops.
    lam : float
        Ridge penalty, above 0.
    """
    return SOLVER_SHARE * smallest_budget / solver_excess(2 * gradient_norm, lam)


@lru_cache(maxsize=1024)  # an audit asks for these thousands of times
def _factor(proof: str, kappa: float, ratio: float) -> float:
    return float(tight_factor(kappa) if proof == "tight" else joint_factor(kappa, ratio))


def _finite(quantity: float, lam: float) -> float:
    """Return a quantity that grows as lam falls, unless it left the range of floats."""
    if not quantity < math.inf:
        raise ValueError(f"lam is too small for a finite sensitivity; got {lam:g}")
    return quantity
