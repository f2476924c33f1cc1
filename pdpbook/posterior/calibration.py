"""Inverse temperatures at which a posterior sample keeps a promise on every data set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from pdpbook import Floats, check
from pdpbook.guarantees.promises import RENYI_ORDERS, check_orders, rounded_up
from pdpbook.noise import gaussian_epsilon, gaussian_mu
from pdpbook.noise.profiles import largest_true
from pdpbook.per_instance import ops_profile, ops_renyi

CELLS = 2000  # of the search over S, how much the data weigh along one direction
CALIBRATIONS = ("joint", "simple")
TAIL_FRACTION = 1 / 20  # of delta, for the draw: its tails are heavier than those of a Gaussian


def check_norm(value: float, name: str = "norm_guess") -> float:
    """Return a guess of a norm, above 0, whose square is a number."""
    clean = check.number(value, name)
    if not clean <= 1e150:
        raise ValueError(
            f"{name} must be at most 1e+150, as it is squared; got {check.shown(clean)}"
        )
    return clean


def largest_scaled_residual(epsilon: float, delta: float, leverage: ArrayLike) -> Floats:
    r"""Largest scaled residual a person of this leverage may have in a draw that keeps a budget.

    .. math:: \rho(\mu) = \max\{\rho\ge0 :\ \delta_{P\|Q}(\varepsilon;\mu,\rho)\le\delta,\
              \delta_{Q\|P}(\varepsilon;\mu,\rho)\le\delta\}

    Both profiles are nondecreasing in the residual, so it is found by bisection, rounded down. NaN
    where not even a residual of 0 keeps the budget. Statement ``alg-adaops``, chapter
    *per_instance/adaops*. Elementwise, in the shape of `leverage`.

    Parameters
    ----------
    epsilon, delta : float
        Budget: epsilon in nats, above 0, and delta in (0, 1).
    leverage : array_like
        Out-of-sample leverages, above 0; any shape.

    Examples
    --------
    >>> largest_scaled_residual(1.0, 1e-6, [0.001, 0.3]).round(2)
    array([7.42,  nan])
    """
    epsilon = check.number(epsilon, "epsilon")
    delta = check.delta(delta)
    leverage = np.asarray(check.positive(leverage, "leverage"))

    def keeps_budget(rho: Floats) -> NDArray[np.bool_]:
        add, remove = ops_profile(epsilon, leverage, rho)
        return np.asarray(np.maximum(add, remove) <= delta)

    zero = np.zeros(leverage.shape)
    exists = keeps_budget(zero)
    largest = largest_true(keeps_budget, zero, np.where(exists, 1.0, 0.0))
    return np.where(exists, largest, np.nan)


def residual_bound(h: ArrayLike, lam: ArrayLike, n_max: int) -> Floats:
    r"""Largest absolute residual of any person when the data weigh at least `h` everywhere.

    .. math:: \bar L = 1 + \sqrt{N(\mu_0-\lambda\mu_0^2)} \le 1 + \sqrt{N/h} , \qquad
              \mu_0 = \min\{1/h,\ 1/(2\lambda)\}

    Statement ``lem-ridge-operator``, chapter *per_instance/adaops_proofs*. Elementwise, broadcast.

    Parameters
    ----------
    h, lam : array_like
        Lower bound on the smallest eigenvalue of :math:`X^\top X+\lambda I`, at least `lam`, and
        penalty against the *sum* of squares, at least 0. They broadcast.
    n_max : int
        Public bound N on the number of rows.

    Examples
    --------
    >>> residual_bound([100.0, 100.0], [0.0, 100.0], 400)
    array([3., 2.])
    """
    h, lam = np.asarray(h, dtype=float), np.asarray(lam, dtype=float)
    with np.errstate(divide="ignore"):
        mu = np.minimum(1 / h, 1 / (2 * lam))
    return np.asarray(1 + np.sqrt(n_max * np.maximum(mu - lam * mu**2, 0.0)))


def worst_case_gamma(lam: float, epsilon: float, delta: float, n_max: int) -> float:
    r"""Inverse temperature at which one posterior sample keeps a budget on every data set.

    A person of leverage :math:`\mu=1/(S+\lambda)` has a residual of at most
    :math:`1+\sqrt{NS}/(S+\lambda)`, so with :math:`\rho(\mu)` of `largest_scaled_residual`

    .. math:: \gamma = \min_{0\le S\le N}
              \Bigl(\frac{\rho(1/(S+\lambda))}{1+\sqrt{NS}/(S+\lambda)}\Bigr)^2 .

    The range of S is cut into cells. In a cell the largest leverage and the largest residual are
    taken together, so the result is never too large. Statement ``alg-adaops``, chapter
    *per_instance/adaops*.

    Parameters
    ----------
    lam : float
        Penalty against the *sum* of squares, at least 1. If it is so small that no inverse
        temperature keeps the budget, since a draw reveals its covariance, too: a ValueError.
    epsilon, delta : float
        Budget: epsilon in nats, above 0, and delta in (0, 1).
    n_max : int
        Public bound N on the number of rows.

    Examples
    --------
    >>> round(worst_case_gamma(100.0, 1.0, 1e-6, 1000), 2)
    1.17
    """
    lam, n_max = check_penalty(lam), check.count(n_max, "n_max")
    gamma = _smallest_gamma(lam, check.number(epsilon, "epsilon"), check.delta(delta), n_max)
    if not gamma > 0:  # NaN where not even a residual of 0 keeps the budget
        raise ValueError(
            f"lam must be larger for epsilon = {epsilon:g} and delta = {delta:g}; got {lam:g}: "
            "the covariance of a draw alone reveals more than this budget"
        )
    return gamma


def worst_case_renyi(
    lam: float, gamma: float, n_max: int, orders: ArrayLike = RENYI_ORDERS
) -> Floats:
    r"""Renyi curve of one posterior sample on every data set, both directions: in nats.

    With :math:`\mu_S=1/(S+\lambda)` and :math:`\rho_S=\sqrt\gamma\,(1+\sqrt{NS}/(S+\lambda))`, and
    `add` of `ops_renyi`, which grows with both and is never the smaller direction,

    .. math:: D_\alpha \le \max_{0\le S\le N} D_\alpha(\mu_S, \rho_S) ,

    infinite from :math:`\alpha=1+\lambda` on. The range of S is cut into cells as in
    `worst_case_gamma`, and the result rounded up. Statement ``prop-ops-worst-renyi`` (ours),
    chapter *per_instance/accounts*. Returns shape (k,).

    Parameters
    ----------
    lam : float
        Penalty against the *sum* of squares, at least 1.
    gamma : float
        Inverse temperature of the draw, above 0, such as `worst_case_gamma`.
    n_max : int
        Public bound N on the number of rows.
    orders : array_like, shape (k,), default RENYI_ORDERS
        The public grid of an account of `guarantees.RenyiDP`.

    Examples
    --------
    >>> worst_case_renyi(100.0, 1.17, 1000, [2, 8, 32]).round(4)
    array([0.0495, 0.207 , 1.0232])
    """
    lam, gamma = check_penalty(lam), check.number(gamma, "gamma")
    grid = check_orders(orders)[:, np.newaxis]
    leverage, residual = _worst_people(lam, check.count(n_max, "n_max"))
    curves, _ = ops_renyi(grid, leverage, np.sqrt(gamma) * residual)
    return np.asarray(rounded_up(curves.max(axis=1), True, 1e-12))


def _worst_people(lam: float, n_max: int) -> tuple[Floats, Floats]:
    """Return the largest leverage and the largest residual of a person in each cell of S."""
    edges = np.append(0.0, np.geomspace(1e-4 * lam, max(n_max, lam), CELLS))
    starts, ends = edges[:-1], edges[1:]
    fitted = np.sqrt(n_max * edges) / (edges + lam)
    largest_fitted = np.maximum(fitted[:-1], fitted[1:])
    has_peak = (starts <= lam) & (lam <= ends)  # the fitted value is largest at S = lam
    largest_fitted[has_peak] = np.sqrt(n_max / lam) / 2
    return 1 / (starts + lam), 1 + largest_fitted


@lru_cache(maxsize=64)  # rehearsals and audits fit with the same public numbers again and again
def _smallest_gamma(lam: float, epsilon: float, delta: float, n_max: int) -> float:
    """Return the least gamma over the cells of S, or NaN."""
    leverage, residual = _worst_people(lam, n_max)
    rho = largest_scaled_residual(epsilon, delta, leverage)
    return float(np.min((rho / residual) ** 2))


@lru_cache(maxsize=64)
def _gaussian_mu(epsilon: float, delta: float) -> float:
    return float(gaussian_mu(epsilon, delta))


@lru_cache(maxsize=64)
def _epsilon_of_draw(epsilon: float, delta: float, tail: float, count: int, mu: float) -> float:
    """Return the epsilon, at delta `tail`, that the joint calibration leaves for the draw.

    Of the Gaussian promise for `epsilon` and `delta`, `count` releases spend `mu` each
    (``thm-adaops-joint``).
    """
    total_mu = _gaussian_mu(epsilon, delta)
    remaining_mu = float(np.sqrt(total_mu**2 - count * mu**2))
    return float(gaussian_epsilon(tail, remaining_mu))


@lru_cache
def _penalty_grid(n_max: int) -> Floats:
    """Return the penalties, above the smallest one allowed, among which the cheapest is chosen."""
    return np.append(0.0, np.geomspace(1e-6, 10 * max(n_max, 10), 400))


def check_kappa(value: float | None, name: str = "kappa") -> float | None:
    """Return a condition number, at least 1, or None."""
    if value is None:
        return None
    kappa = check.number(value, name)
    if not kappa >= 1:
        raise ValueError(f"{name} must be at least 1, a condition number; got {check.shown(kappa)}")
    return kappa


def check_penalty(value: float, name: str = "lam") -> float:
    """Return a penalty against the sum of squares, at least 1."""
    lam = check.scale(value, name)
    if not lam >= 1:
        raise ValueError(
            f"{name} must be at least 1, against the sum of squares; got {check.shown(lam)}"
        )
    return lam


@dataclass(frozen=True)
class AdaptivePlan:
    r"""Everything public about a run of AdaOPS: how released numbers become parameters.

    Before the draw the eigenvalue is released, with noise of budget :math:`\varepsilon/3` and
    :math:`\delta/4`; with `release_norm` eigenvalue and norm, with :math:`\varepsilon/4` and
    :math:`\delta/5` each. The event that a released bound fails costs as much of delta again. The
    draw has what exact Gaussian composition leaves (`calibration` "joint"), or what a sum of
    budgets leaves ("simple"): :math:`2\varepsilon/3` and :math:`\delta/2`, with `release_norm`
    :math:`\varepsilon/2` and :math:`\delta/5`.
    Statements ``alg-adaops`` and ``thm-adaops-joint``, chapters *per_instance/adaops* and
    *per_instance/adaops_proofs*.

    Parameters
    ----------
    epsilon, delta, n_max, norm_guess, release_norm, calibration, kappa
        As in `AdaOPS`.
    d : int
        Dimension of the coefficients.

    Examples
    --------
    >>> AdaptivePlan(1.0, 1e-6, d=3, n_max=10_000).penalty(2000.0)
    0.0
    """

    epsilon: float
    delta: float
    d: int
    n_max: int
    norm_guess: float = 1.0
    release_norm: bool = False
    calibration: str = "joint"
    kappa: float | None = None

    def __post_init__(self) -> None:
        check.number(self.epsilon, "epsilon")
        check.delta(self.delta)
        check.count(self.d, "d")
        check.count(self.n_max, "n_max")
        check_norm(self.norm_guess)
        check.flag(self.release_norm, "release_norm")
        check.choice(self.calibration, "calibration", CALIBRATIONS)
        check_kappa(self.kappa)

    @property
    def released(self) -> int:
        """Number of numbers that are released before the draw, 1 or 2."""
        return 1 + bool(self.release_norm)

    @property
    def share(self) -> tuple[float, float]:
        """Budget (epsilon, delta) of the noise on each number that is released before the draw."""
        return self.epsilon / (self.released + 2), self.delta / (self.released + 3)

    @property
    def scale(self) -> float:
        """Standard deviation of a Gaussian release of sensitivity 1 here."""
        return 1 / _gaussian_mu(*self.share)

    @property
    def margin(self) -> float:
        """Shift, in units of the sensitivity, that makes a released number a bound."""
        return 1 - self.scale * float(ndtri(self.share[1]))

    @property
    def draw(self) -> tuple[float, float]:
        """Budget (epsilon, delta) of the draw from the posterior."""
        epsilon, delta = self.share
        if self.calibration == "simple":
            return 2 * epsilon, (3 - self.released) * delta
        tail = TAIL_FRACTION * self.delta
        # without the events that a bound fails, and the far tail of the draw
        remaining_delta = self.delta - self.released * delta - tail
        mu = _gaussian_mu(epsilon, delta)
        return _epsilon_of_draw(self.epsilon, remaining_delta, tail, self.released, mu), tail

    def penalty(self, eigenvalue: float) -> float:
        """Penalty for a released bound on the smallest eigenvalue.

        A bound below 0 counts as 0. With the penalty every direction weighs at least 1, and the
        draw can keep its budget: penalties with which it cannot are doubled.
        """
        bound = max(float(eigenvalue), 0.0)
        smallest = max(1.0 - bound, 0.0)
        if self.kappa is None:
            lam = self._cheapest(bound, smallest)
        else:
            lam = max(self.n_max / (self.kappa * self.d) - bound, smallest)
        epsilon, delta = self.draw
        while not max(ops_profile(epsilon, 1 / (bound + lam), 1e-6)) <= delta:
            lam = max(2 * lam, 1.0)
        return lam

    def _cheapest(self, bound: float, smallest: float) -> float:
        """Return the penalty with the smallest expected cost of the draw and of the penalty.

        `bound` is the released one on the eigenvalue, `smallest` the least penalty allowed.
        """
        penalties = smallest + _penalty_grid(self.n_max)
        h = bound + penalties
        residual = residual_bound(h, penalties, self.n_max)
        if self.release_norm:
            log_norm = np.log1p(self.norm_guess) + np.log1p(1 / h) * self.margin
            residual = np.minimum(residual, np.exp(np.minimum(log_norm, np.log(residual))))
        mu = _gaussian_mu(*self.draw)
        cost_of_draw = self.d * residual**2 / (2 * mu**2 * h)
        cost_of_penalty = penalties * self.norm_guess**2 / 2
        return float(penalties[np.argmin(cost_of_draw + cost_of_penalty)])

    def norm_sensitivity(self, h: float) -> float:
        r"""How far one person moves :math:`\log(1+\|\hat\theta\|)`: :math:`\log(1+1/h)`."""
        return float(np.log1p(1 / h))

    def gamma(self, h: ArrayLike, lam: ArrayLike, log_norm: ArrayLike = np.inf) -> Floats:
        r"""Inverse temperature of the draw, from released numbers alone.

        `h` bounds the smallest eigenvalue of :math:`X^\top X+\lambda I` from below, `log_norm` if
        released :math:`\log(1+\|\hat\theta\|)` from above, `lam` is the penalty; they broadcast.
        """
        h = np.asarray(h, dtype=float)
        residual = residual_bound(h, lam, self.n_max)
        released_bound = np.exp(np.minimum(np.maximum(log_norm, 0.0), np.log(residual)))
        residual = np.minimum(residual, released_bound)
        return np.asarray((largest_scaled_residual(*self.draw, 1 / h) / residual) ** 2)
