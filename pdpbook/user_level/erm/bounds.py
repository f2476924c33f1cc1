"""Constants of weighted empirical risk minimization, all explicit and all public.

Then what they fix before the data are seen: weights, noise, and a price of noise on minimizers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pdpbook import Floats, check
from pdpbook.user_level.weights import TradeoffWeights, tradeoff_weights


def convergence_constant(n: int, d: int, gamma: float | None = None) -> float:
    r"""Constant K of weighted uniform convergence.

    With row weights c of n independent rows, a loss that is L-Lipschitz in its d parameters on a
    set of radius R, and :math:`\Phi` the centered difference of empirical and true risk,

    .. math:: \mathbb E\sup_\theta|\Phi(\theta)| \le LR\,\|c\|_2\,K, \qquad
              K = 2 + \sqrt{2d\ln(1+2\sqrt n) + 2\ln 2},

    and with probability :math:`1-\gamma` the supremum itself is at most that with
    :math:`\ln(2/\gamma)` in place of :math:`\ln 2`.

    Parameters
    ----------
    n, d : int
        Number of rows and of parameters.
    gamma : float, optional
        Failure probability in (0, 1); None is the constant of the expectation.

    Returns
    -------
    float
        :math:`K`.

    Notes
    -----
    Statement ``thm-uniform-convergence``, chapter *user_level/erm*; Epasto et al. (2020),
    Theorem 5, with a product of logarithms and no constant.

    Examples
    --------
    >>> round(convergence_constant(1000, 4), 3)
    7.89
    """
    rows, d = check.count(n, "n"), check.count(d, "d")
    fails = 1.0 if gamma is None else check.delta(gamma, "gamma")
    return float(2 + np.sqrt(2 * d * np.log1p(2 * np.sqrt(rows)) + 2 * np.log(2 / fails)))


def erm_tradeoff(n: int, d: int, rho: float = 1.0) -> float:
    r"""Price A of variance in units of noise, for `tradeoff_weights`.

    Noisy descent and uniform convergence together cost
    :math:`LR(2t\sqrt{d/\rho}+K\|c\|_2)`. The square is at most
    :math:`8L^2R^2(d/\rho)(t^2+A\|c\|_2^2)` with

    .. math:: A = \frac{K^2\rho}{4d} ,

    and at the optimal weights that is :math:`2L^2R^2K^2/n_h`: the fit is as good as one of
    :math:`n_h=\sum_l\min(s_l,h)` rows.

    Parameters
    ----------
    n, d : int
        Number of rows and of parameters.
    rho : float, default 1.0
        Budget of every user for zero-concentrated privacy. Where budgets differ, leave it at 1
        and pass :math:`\sqrt{\rho_l}` to `tradeoff_weights` as `budgets`.

    Returns
    -------
    float
        :math:`A`.

    Notes
    -----
    Statement ``thm-weighted-erm``, chapter *user_level/erm*.

    Examples
    --------
    >>> round(erm_tradeoff(1000, 4, rho=0.1), 4)
    0.389
    """
    rho = check.single(check.positive(rho, "rho"), "rho")
    return convergence_constant(n, d) ** 2 * rho / (4 * check.count(d, "d"))


def descent_bound(
    d: int, cap: float, steps: int, *, lipschitz: float = 1.0, radius: float = 1.0
) -> float:
    r"""Most that noisy projected gradient descent loses on average against the minimum.

    .. math:: \mathbb E\,\hat L(\bar\theta) - \min\hat L \le
              LR\sqrt{\frac{1+2dTt^2}{T+1}}, \qquad t = \max_l\frac{w_l}{\sqrt{\rho_l}},

    for the average of the start and the T iterates after it. It is at most
    :math:`2LRt\sqrt d` once :math:`T\ge1/(2dt^2)`.

    Parameters
    ----------
    d : int
        Number of parameters.
    cap : float
        t, above 0.
    steps : int
        T, the number of noisy gradients.
    lipschitz, radius : float, default 1.0
        L and R.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    Statement ``thm-weighted-erm`` (explicit constants are ours), chapter *user_level/erm*. With
    the step size :math:`R/\sqrt{(T+1)L^2(1+2dTt^2)}`.

    Examples
    --------
    >>> round(descent_bound(3, 0.1, 17), 3)
    0.335
    """
    d, T = check.count(d, "d"), check.count(steps, "steps")
    t = check.single(check.positive(cap, "cap"), "cap")
    scale = check.single(check.positive(lipschitz, "lipschitz"), "lipschitz")
    scale *= check.single(check.positive(radius, "radius"), "radius")
    return float(scale * np.sqrt((1 + 2 * d * T * t**2) / (T + 1)))


def calibrate_rho(epsilon: ArrayLike, delta: float) -> Any:
    r"""Zero-concentrated budget whose conversion is within (epsilon, delta).

    .. math:: \sqrt\rho = \sqrt{\varepsilon+\ln(1/\delta)} - \sqrt{\ln(1/\delta)}

    Parameters
    ----------
    epsilon : float or array_like
        In nats, above 0; any shape.
    delta : float
        Failure probability in (0, 1).

    Returns
    -------
    float or ndarray, shape of `epsilon`
        The root of :math:`\rho+2\sqrt{\rho\ln(1/\delta)}=\varepsilon`.

    Notes
    -----
    Statement ``alg-weighted-erm``, chapter *user_level/erm*; Bun and Steinke (2016).
    `ZeroConcentratedDP.to_approximate` converts back with a sharper theorem, to a smaller epsilon.

    Examples
    --------
    >>> round(calibrate_rho(1.0, 1e-6), 5)
    0.01747
    """
    budgets = check.positive(epsilon, "epsilon")
    tail = -np.log(check.delta(delta))
    root = budgets / (np.sqrt(budgets + tail) + np.sqrt(tail))
    return root * root if np.ndim(budgets) else float(root * root)


def user_volume(weight: float, lam: float, rank: int, *, smoothness: float = 1.0) -> float:
    r"""Most that one user can change the log-volume of objective perturbation.

    .. math:: \ln\frac{\det(H+A)}{\det H} \le r\ln\Bigl(1+\frac{\beta w}{r\lambda}\Bigr)
              \le \frac{\beta w}\lambda

    for every :math:`H\succeq\lambda I` and every Hessian A of a user: positive semidefinite, of
    rank at most r and trace at most :math:`\beta w`. Rank 1 is the constant for records.

    Parameters
    ----------
    weight : float
        w, the weight of the user, at least 0.
    lam : float
        Penalty: :math:`\frac\lambda2\|\theta\|^2` against the weighted mean of losses.
    rank : int
        r, the smaller of the user's number of rows and the number of parameters.
    smoothness : float, default 1.0
        :math:`\beta`, the largest curvature of a loss along its row: 1/4 for the logistic loss.

    Returns
    -------
    float
        In nats.

    Notes
    -----
    Statement ``prop-logistic`` (ours), chapter *user_level/erm*.

    Examples
    --------
    >>> [round(user_volume(0.5, 0.1, rank, smoothness=0.25), 3) for rank in (1, 3)]
    [0.811, 1.045]
    """
    w = check.single(check.nonnegative(weight, "weight"), "weight")
    lam = check.single(check.positive(lam, "lam"), "lam")
    beta = check.single(check.positive(smoothness, "smoothness"), "smoothness")
    r = check.count(rank, "rank")
    return float(r * np.log1p(beta * w / (r * lam)))


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights and noise; functions of public things alone."""

    weights: TradeoffWeights
    promised: Floats  #: shape (m,), the parameter of the promise: rho, mu or epsilon
    spent: Floats  #: shape (m,), the same of what each user spends: at most `promised`
    steps: int  #: of descent, or 0
    scale: float  #: sigma of each noisy gradient, or the scale of the noise on the minimizer

    @property
    def each(self) -> dict[str, Floats]:
        """Attributes of the fitted estimator, one number a user."""
        return {"exposure_": self.spent, "weights_": self.weights.weights}

    @property
    def public(self) -> dict[str, Any]:
        """The other attributes."""
        return {"steps_": self.steps}


def output_price(
    budgets: Floats, sizes: NDArray[np.intp], d: int, L: float, R: float, lam: float, beta: float
) -> float:
    """A at which the weights make LRK |c| + (beta + lam)/2 E|b|^2 stationary."""
    n = int(sizes.sum())
    slope = L * R * convergence_constant(n, d)
    growth = (beta + lam) / 2 * d * (d + 1) * (2 * L / lam) ** 2

    def excess(log_price: float) -> float:
        c = tradeoff_weights(sizes, float(np.exp(log_price)), budgets)
        norm = np.sqrt(c.weights @ c.row_weights)
        return float(log_price + np.log(2 * growth / slope * norm))

    low = np.log(slope / (2 * growth))  # as 1/n <= |c|^2 <= 1
    return float(np.exp(brentq(excess, low - 1e-9, low + np.log(n) / 2 + 1e-9)))
