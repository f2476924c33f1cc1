"""Public constants of weighted empirical risk minimization, and what they fix before any data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pdpbook import Floats, check
from pdpbook.user_level.weights import tradeoff_weights


def convergence_constant(n: int, d: int, gamma: float | None = None) -> float:
    r"""Constant K of weighted uniform convergence, for n rows and d parameters.

    With weights c of independent rows, a loss that is L-Lipschitz in its parameters on a set of
    radius R, and :math:`\Phi` the centered difference of empirical and true risk,

    .. math:: \mathbb E\sup_\theta|\Phi(\theta)| \le LR\,\|c\|_2\,K, \qquad
              K = 2 + \sqrt{2d\ln(1+2\sqrt n) + 2\ln 2},

    and with probability :math:`1-\gamma` the supremum itself is at most that with
    :math:`\ln(2/\gamma)` in place of :math:`\ln 2`. Statement ``thm-uniform-convergence``, chapter
    *user_level/erm_bounds*; Epasto et al. (2020), Theorem 5 multiplies logarithms, no constant.

    Parameters
    ----------
    n, d : int
    gamma : float in (0, 1), or None for the expectation, optional
    """
    rows, d = check.count(n, "n"), check.count(d, "d")
    fails = 1.0 if gamma is None else check.delta(gamma, "gamma")
    return float(2 + np.sqrt(2 * d * np.log1p(2 * np.sqrt(rows)) + 2 * np.log(2 / fails)))


def erm_tradeoff(n: int, d: int, rho: float = 1.0) -> float:
    r"""Price A of variance in units of noise, for `tradeoff_weights`.

    With K the `convergence_constant` of n rows and d parameters,

    .. math:: A = \frac{K^2\rho}{4d} .

    At the optimal weights the fit is as good as one of :math:`n_h=\sum_l\min(s_l,h)` rows.
    Statement ``thm-weighted-erm``, chapter *user_level/erm*.

    Parameters
    ----------
    n, d : int
    rho : float, default 1.0
        Budget of every user for zero-concentrated privacy. Where budgets differ, leave it at 1 and
        pass :math:`\sqrt{\rho_l}` to `tradeoff_weights` as `budgets`.
    """
    rho = check.number(rho, "rho")
    return convergence_constant(n, d) ** 2 * rho / (4 * check.count(d, "d"))


def calibrate_rho(epsilon: ArrayLike, delta: float) -> Any:
    r"""Zero-concentrated budget whose conversion is within (epsilon, delta).

    .. math:: \sqrt\rho = \sqrt{\varepsilon+\ln(1/\delta)} - \sqrt{\ln(1/\delta)}

    is the root of :math:`\rho+2\sqrt{\rho\ln(1/\delta)}=\varepsilon`. Statement
    ``alg-weighted-erm``, chapter *user_level/erm*; Bun and Steinke (2016).
    `ZeroConcentratedDP.to_approximate` converts back with a sharper theorem, to a smaller epsilon.
    Elementwise, in the shape of `epsilon`.

    Parameters
    ----------
    epsilon : float or array_like of any shape, in nats, above 0
    delta : float, in (0, 1)
    """
    budgets = check.positive(epsilon, "epsilon")
    tail = -np.log(check.delta(delta))
    root = budgets / (np.sqrt(budgets + tail) + np.sqrt(tail))
    return root * root if np.ndim(budgets) else float(root * root)


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
