"""What public settings fix before the data are seen: weights of users, steps, noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pdpbook.noise import gaussian_mu
from pdpbook.user_level.erm.bounds import calibrate_rho, convergence_constant, erm_tradeoff
from pdpbook.user_level.weights import TradeoffWeights, tradeoff_weights

__all__ = ["Plan", "plan_descent", "plan_output"]

Floats = NDArray[np.float64]

MOST_STEPS = 1000  # of a descent whose number of steps is not given


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights and noise; functions of public things alone."""

    weights: TradeoffWeights
    promised: Floats  #: shape (m,), the parameter of the promise: rho, mu or epsilon
    spent: Floats  #: shape (m,), the same of what each user spends: at most `promised`
    steps: int  #: of descent, or 0
    scale: float  #: sigma of each noisy gradient, or the scale of the noise on the minimizer


def plan_descent(
    budgets: Floats,
    delta: float,
    sizes: NDArray[np.intp],
    d: int,
    *,
    lipschitz: float,
    accounting: str,
    tradeoff: float | None,
    steps: int | None,
) -> Plan:
    """Plan noisy gradients: what each user may weigh is the square root of their rho."""
    if accounting == "zcdp":
        promised = calibrate_rho(budgets, delta)
        level = np.sqrt(promised)
    else:
        values, at = np.unique(budgets, return_inverse=True)
        promised = np.atleast_1d(gaussian_mu(values, delta))[at]
        level = promised / np.sqrt(2)
    price = erm_tradeoff(int(sizes.sum()), d) if tradeoff is None else tradeoff
    weights = tradeoff_weights(sizes, price, level)
    cap = float(np.max(weights.weights / level))
    T = int(np.ceil(min(1 / (2 * d * cap**2), MOST_STEPS))) if steps is None else steps
    share = np.minimum(weights.weights / (cap * level), 1.0)
    spent = promised * (share**2 if accounting == "zcdp" else share)
    return Plan(weights, promised, spent, T, float(lipschitz * cap * np.sqrt(2 * T)))


def plan_output(
    budgets: Floats,
    sizes: NDArray[np.intp],
    d: int,
    *,
    lipschitz: float,
    radius: float,
    lam: float,
    smoothness: float,
    tradeoff: float | None,
    gradient_norm: float,
) -> Plan:
    """Plan noise on a minimizer whose true gradient norm is at most the one given."""
    price = tradeoff
    if price is None:
        price = _output_price(budgets, sizes, d, lipschitz, radius, lam, smoothness)
    weights = tradeoff_weights(sizes, price, budgets)
    moves = 2 * (lipschitz * weights.weights + gradient_norm) / lam
    scale = float(np.max(moves / budgets))
    return Plan(weights, budgets, np.minimum(moves / scale, budgets), 0, scale)


def _output_price(
    budgets: Floats,
    sizes: NDArray[np.intp],
    d: int,
    lipschitz: float,
    radius: float,
    lam: float,
    smoothness: float,
) -> float:
    r"""A at which the weights make LRK |c| + (smoothness + lam)/2 E|b|^2 stationary."""
    n = int(sizes.sum())
    slope = lipschitz * radius * convergence_constant(n, d)
    growth = (smoothness + lam) / 2 * d * (d + 1) * (2 * lipschitz / lam) ** 2

    def excess(log_price: float) -> float:
        c = tradeoff_weights(sizes, float(np.exp(log_price)), budgets)
        norm = np.sqrt(c.weights @ c.row_weights)
        return float(log_price + np.log(2 * growth / slope * norm))

    low = np.log(slope / (2 * growth))  # as 1/n <= |c|^2 <= 1
    return float(np.exp(brentq(excess, low - 1e-9, low + np.log(n) / 2 + 1e-9)))
