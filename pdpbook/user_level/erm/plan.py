"""What is fixed before the data are seen, weights and noise; and a price of noise on minimizers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pdpbook import Floats
from pdpbook.user_level.erm.bounds import convergence_constant
from pdpbook.user_level.weights import TradeoffWeights, tradeoff_weights


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
