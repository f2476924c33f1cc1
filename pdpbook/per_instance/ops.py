"""Exact privacy of one person under one posterior sample of ridge regression.

Its two probabilities are differences of masses that may be nearly equal, or below the smallest
float: their logarithms are computed without cancellation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, ndtri

from pdpbook import Floats, check
from pdpbook.noise.profiles import places

CANCELLED = 1e-4  # below this share of the tail mass the closed form has lost four digits
RULES = [np.polynomial.legendre.leggauss(nodes) for nodes in (22, 40)]  # above the peak, across it
SURE = -37.0  # a normal variable lies above this but for 6e-300
ROOT_2, ROOT_2PI = np.sqrt(2), np.sqrt(2 * np.pi)


def log_add(eps: Floats, mu: Floats, rho: Floats) -> tuple[Floats, Floats, Floats]:
    """Logarithm of delta in the direction `add`, minus its derivative in epsilon, and its second.

    At +-w the densities under P and Q differ by the factor e^epsilon, so both probabilities are
    Mills ratios times one normal density at a, and nothing large is ever subtracted.
    """
    root, log, grow, rest = np.sqrt(mu), np.log1p(mu), np.sqrt(1 + mu), rho / (1 + mu)
    w = np.sqrt(log + rho * rest + 2 * eps)
    gap = 2 * eps + log  # never w - rho itself: both may be large and equal
    a = np.maximum((gap - rho * rest * mu) / ((w + rho) * root), SURE)
    b = (w + rho) / root
    a_in = (gap + rest * rest * mu) * grow / ((w + rest) * root)
    b_in = (w + rest) * grow / root
    far = np.exp(-2 * w * (rho / mu))  # the density at -w over that at w
    p = erfcx(a / ROOT_2) + far * erfcx(b / ROOT_2)
    q = (erfcx(a_in / ROOT_2) + far * erfcx(b_in / ROOT_2)) / grow
    delta = p - q
    lost = delta < CANCELLED * p
    if lost.any():
        scale = w[lost] * root[lost]
        tail = _log_integral(a[lost], scale, mu[lost])
        both = b[lost] < np.abs(a[lost]) + 40  # else the other tail is below rounding
        other = _log_integral(b[lost][both], scale[both], mu[lost][both])
        tail[both] = np.logaddexp(tail[both], other)
        delta[lost] = np.exp(tail + a[lost] ** 2 / 2 + np.log(2))
    slope = q / delta
    bend = ((1 + far) / (w * root) * (2 / ROOT_2PI) - q) / delta - slope**2
    return np.log(delta) - a * a / 2 - np.log(2), slope, bend


def _log_integral(a: Floats, scale: Floats, mu: Floats, end: Any = np.inf) -> Floats:
    """Log of the integral over 0 < s < end of phi(a + s) (1 - exp(-scale s - mu s^2 / 2))."""
    above, below = np.maximum(a, 0.0), np.maximum(-a, 0.0)  # phi has its peak at s = below
    start = np.maximum(below - 9.2, 0.0)
    length = np.minimum(84 / (np.sqrt(above**2 + 84) + above) + below, end) - start
    total = np.empty(len(a))
    for (nodes, weights), at in zip(RULES, (a >= 0, a < 0), strict=True):
        s = start[at, None] + (nodes + 1) / 2 * length[at, None]
        weight = np.exp(s * (-a[at, None] - s / 2) - below[at, None] ** 2 / 2)
        loss = np.expm1(s * (-scale[at, None] - mu[at, None] / 2 * s))
        total[at] = (weight * loss) @ weights * length[at] / -2
    return np.asarray(np.log(np.maximum(total, 1e-300)) - above**2 / 2 - np.log(ROOT_2PI))


def log_remove(eps: Floats, mu: Floats, rho: Floats) -> Floats:
    """Logarithm of delta in the direction `remove`, minus infinity where it is pure."""
    log_delta = np.full(eps.shape, -np.inf)
    square = np.log1p(mu) + rho * (rho / (1 + mu)) - 2 * eps
    some = square > 0
    eps, mu, rho, w = eps[some], mu[some], rho[some], np.sqrt(square[some])
    root, log = np.sqrt(mu), np.log1p(mu)
    inside, rest = mu / (1 + mu), rho / (1 + mu)
    root_in, gap = np.sqrt(inside), log - 2 * eps
    c = (gap - rho * rest * mu) / ((w + rho) * root)
    c_in = (gap + rest * rest * mu) / ((w + rest) * root_in)
    log_q = _log_between(c_in, 2 * w / root_in)
    log_p = eps + _log_between(c, 2 * w / root)
    kept = -np.expm1(np.minimum(log_p - log_q, 0.0))
    narrow = w < 1e-3 * root_in  # then the difference of two normal cdfs has lost digits
    lost = (kept < CANCELLED) | narrow
    result = log_q + np.log(np.where(lost, 1.0, kept))
    if lost.any():
        w, root = w[lost], root_in[lost]
        result[lost] = _log_integral(-c_in[lost], w * root, -(root**2), 2 * w / root)
    log_delta[some] = result
    return log_delta


def _log_between(high: Floats, width: Floats) -> Floats:
    """Logarithm of the normal mass between high - width (at most 0) and high."""
    low = high - width
    below = log_ndtr(high) + np.log(-np.expm1(np.minimum(log_ndtr(low) - log_ndtr(high), -1e-300)))
    upper = np.maximum(high, 0.0)
    outside = np.exp(log_ndtr(-upper)) + np.exp(log_ndtr(np.minimum(low, -1e-300)))
    around = np.log1p(-np.minimum(outside, 1 - 1e-16))  # used where high is above 0
    return np.asarray(np.where(high > 0, around, below))


HUGE = 1e7  # a person so far out costs over 5e13 nats, where epsilon itself is rounded
CHUNK = 1 << 12  # people handled at once, so that the work stays in the cache
# logarithms of 0 and of infinity
MEANT: Any = {"over": "ignore", "divide": "ignore", "invalid": "ignore"}


class Profile(NamedTuple):
    """A curve of one person in each direction: smallest deltas, or divergences."""

    add: Any  #: the release without the person against the release with them
    remove: Any  #: the release with the person against the release without them


def ops_profile(epsilon: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike) -> Profile:
    r"""Exact privacy profile of one posterior sample, for one person, in both directions.

    The release is a draw of :math:`\mathcal N(\hat\theta, (\gamma H)^{-1})`,
    :math:`H = X^\top X + \lambda I`. With :math:`\mu = x^\top H^{-1} x`,
    :math:`\rho = \sqrt\gamma\,|y - x^\top\hat\theta|` (both without the person),
    :math:`\mu' = \mu/(1+\mu)`, :math:`\rho' = \rho/(1+\mu)` and
    :math:`w_\pm^2 = \ln(1+\mu) + \rho^2/(1+\mu) \pm 2\varepsilon`,

    .. math:: \delta_{add}(\varepsilon) &= P(|v| > w_+) - e^\varepsilon\, Q(|v| > w_+) , \\
              \delta_{remove}(\varepsilon) &= Q(|v| < w_-) - e^\varepsilon\, P(|v| < w_-) ,

    where v is :math:`\mathcal N(\rho, \mu)` under P and :math:`\mathcal N(\rho', \mu')` under Q.
    `add` is never the smaller, `remove` is 0 from half of :math:`\ln(1+\mu) + \rho^2/(1+\mu)` on.
    Statement ``thm-ops-exact`` (ours), chapter *per_instance/ops*.

    Parameters
    ----------
    epsilon, leverage, scaled_residual : array_like
        Where to evaluate, in nats; :math:`\mu` against the data and :math:`\rho` to the fit, both
        *without* the person. All are at least 0, and broadcast.

    Examples
    --------
    >>> add, remove = ops_profile(1.0, leverage=0.5, scaled_residual=2.0)
    >>> round(float(add), 6), round(float(remove), 6)
    (0.209138, 0.068439)
    """
    epsilon = check.nonnegative(epsilon, "epsilon")
    eps, mu, rho = _person(epsilon, leverage, scaled_residual, "epsilon")
    add, remove = np.zeros(eps.shape), np.zeros(eps.shape)
    with np.errstate(**MEANT):
        for at in places(mu > 0, CHUNK):
            some = eps.flat[at], mu.flat[at], rho.flat[at]
            add.flat[at] = np.exp(log_add(*some)[0])
            remove.flat[at] = np.exp(log_remove(*some))
    return Profile(add[()], remove[()])


def ops_epsilon(delta: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike) -> Any:
    r"""Smallest epsilon of one person at a given delta, under one posterior sample.

    .. math:: \varepsilon(\delta) = \min\{\varepsilon \ge 0 : \delta_{add}(\varepsilon)\le\delta\} ,

    with :math:`\delta_{add}` of `ops_profile`, the larger of the two directions. Statements
    ``thm-ops-exact`` and ``thm-add-dominates`` (ours), *per_instance/ops* and below it. Parabolas
    through the log profile, below `ops_bound`; ``ops_profile`` was evaluated at what is
    returned and never exceeds `delta`. It depends on the data: not to be published. Elementwise.

    Parameters
    ----------
    delta, leverage, scaled_residual : array_like
        Failure probability, in (0, 1), and as in `ops_profile`. The three broadcast.

    Examples
    --------
    >>> round(float(ops_epsilon(1e-6, leverage=0.01, scaled_residual=3.0)), 4)
    1.3822
    """
    delta = check.probability(delta, "delta")
    target, mu, rho = _person(delta, leverage, scaled_residual, "delta")
    epsilon = np.zeros(target.shape)
    with np.errstate(**MEANT):
        for at in places(mu > 0, CHUNK):
            epsilon.flat[at] = _invert(target.flat[at], mu.flat[at], rho.flat[at])
    return epsilon[()]


def ops_bound(
    delta: ArrayLike,
    leverage: ArrayLike,
    scaled_residual: ArrayLike,
    form: str = "both",
    *,
    constant: float = 2.0,
) -> Any:
    r"""Upper bounds in closed form on a person's epsilon, under one posterior sample. Elementwise.

    With :math:`\ell = \ln(2/\delta)`, :math:`c = 2` and the letters of `ops_profile`,

    .. math:: both:\quad & \tfrac12 |b| + \tfrac c2 \mu\ell + \rho\sqrt{c\mu\ell} , \qquad
                  b = \frac{\rho^2\mu}{1+\mu} - \ln(1+\mu) , \\
              add:\quad & \bigl(\tfrac12 b + \tfrac c2 \mu\ell + \rho\sqrt{c\mu\ell}\bigr)_+ , \\
              remove:\quad & \tfrac12 (\ln(1+\mu) + \rho'^2\mu) + \tfrac c2 \mu'\ell
                  + \rho'\sqrt{c\mu'\ell} .

    Statement ``thm-ops``, chapter *per_instance/ops*; Wang (2019), Theorem 14, constants ours.

    Parameters
    ----------
    delta, leverage, scaled_residual : array_like
        As in `ops_epsilon`; they broadcast.
    form : {"both", "add", "remove"}, default "both"
        The direction that the formula certifies. ``"both"`` is written for outsiders; ``"remove"``,
        in the numbers of a participant, does *not* certify `add` for people of high leverage;
        ``"add"``, the larger direction, is the sharpest form that holds in both.
    constant : float, default 2
        :math:`c`. The bounds hold for 2; other values are for experiments, and 1 fails.

    Examples
    --------
    >>> round(float(ops_bound(1e-6, leverage=0.01, scaled_residual=3.0)), 4)
    1.8007
    """
    check.choice(form, "form", ("both", "add", "remove"))
    constant = check.number(constant, "constant")
    delta = check.probability(delta, "delta")
    target, mu, rho = _person(delta, leverage, scaled_residual, "delta")
    tail = constant * np.log(2 / target)
    if form == "remove":
        inside, rest = mu / (1 + mu), rho / (1 + mu)
        bound = (np.log1p(mu) + rest**2 * mu + tail * inside) / 2 + rest * np.sqrt(tail * inside)
    else:
        center = rho**2 * mu / (1 + mu) - np.log1p(mu)
        center = np.abs(center) if form == "both" else center
        bound = np.maximum(0.0, (center + tail * mu) / 2 + rho * np.sqrt(tail * mu))
    return bound[()]


def ops_renyi(alpha: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike) -> Profile:
    r"""Renyi divergences of one posterior sample, for one person, in both directions.

    .. math:: D_\alpha(P\|Q) &= -\tfrac12\ln(1+\mu) - \frac{\ln(1 - (\alpha-1)\mu)}{2(\alpha-1)}
                  + \frac{\alpha\rho^2\mu}{2(1+\mu)(1 - (\alpha-1)\mu)} , \\
              D_\alpha(Q\|P) &= \tfrac12\ln(1+\mu) + \frac1{2(\alpha-1)}\ln\frac{1+\mu}{1+\alpha\mu}
                  + \frac{\alpha\rho^2\mu}{2(1+\mu)(1+\alpha\mu)} .

    `add` is the first, infinite from :math:`\alpha = 1 + 1/\mu` on, `remove` the second, always
    finite. Statement ``prop-ops-renyi`` (ours), chapter *per_instance/ops_curve*.

    Parameters
    ----------
    alpha, leverage, scaled_residual : array_like
        Orders above 1, and as in `ops_profile`. The three broadcast.

    Examples
    --------
    >>> add, remove = ops_renyi([2.0, 11.0], leverage=0.1, scaled_residual=1.0)
    >>> add.round(4), remove.round(4)
    (array([0.106,   inf]), array([0.0799, 0.2534]))
    """
    clean = np.asarray(check.finite(alpha, "alpha"))
    if not (clean > 1).all():
        raise ValueError(f"alpha must be above 1; got {check.shown(clean[~(clean > 1)].flat[0])}")
    order, mu, rho = _person(clean, leverage, scaled_residual, "alpha")
    beyond = order - 1
    finite = beyond * mu < 1
    room = np.where(finite, 1 - beyond * mu, 1.0)
    quadratic = order * rho**2 * mu / (2 * (1 + mu))
    add = -np.log1p(mu) / 2 + quadratic / room
    add -= np.log1p(np.where(finite, -beyond * mu, 0.0)) / (2 * beyond)
    add = np.where(finite, add, np.inf)
    remove = np.log1p(mu) / 2 + quadratic / (1 + order * mu)
    remove -= np.log1p(beyond * mu / (1 + mu)) / (2 * beyond)
    return Profile(np.maximum(add, 0.0), np.maximum(remove, 0.0))


def _person(first: Any, leverage: Any, scaled_residual: Any, name: str) -> list[Floats]:
    """What stands first, checked already, and the two numbers, as arrays of one shape."""
    check.refuse_other_index(scaled_residual, "scaled_residual", leverage=leverage)
    mu = check.nonnegative(leverage, "leverage")
    rho = check.nonnegative(scaled_residual, "scaled_residual")
    return check.together(f"{name}, leverage and scaled_residual", first, mu, rho)


def _invert(target: Floats, mu: Floats, rho: Floats) -> Floats:
    """Smallest epsilon, rounded up, by parabolas through the log profile within a bracket."""
    kept = ops_bound(target, mu, rho, "add")
    log_target = np.log(target) - 1e-12  # room for the rounding of a logarithm
    center, shift = rho**2 * mu / (1 + mu) - np.log1p(mu), rho * np.sqrt(mu)
    # start from a normal quantile of the loss; q takes nearly all of the tail of small losses
    z = -ndtri(np.minimum(target * (1 + 4 / (shift + mu)), 0.5))
    x, broken = np.clip((center + z * z * mu) / 2 + shift * z, 0.0, kept), np.full(len(mu), -1.0)
    kept, open_ = np.where(shift > HUGE, kept * (1 + 1e-6), kept), np.flatnonzero(shift <= HUGE)
    for _ in range(80):
        at, (value, slope, bend) = x[open_], log_add(x[open_], mu[open_], rho[open_])
        error = value - log_target[open_]
        safe = error <= 0
        low, high = np.where(safe, broken[open_], at), np.where(safe, at, kept[open_])
        broken[open_], kept[open_] = low, high
        short = 2 * (error + 3e-11)  # a little to the safe side, so that the last is kept
        step = at + short / (slope + np.sqrt(np.maximum(slope**2 - bend * short, 0.0)))
        between = (step > low) & (step < high)  # no step where the profile is flat: then we halve
        x[open_] = np.maximum(np.where(between, step, (low + high) / 2), 0.0)
        done = (safe & ((error > -1e-10) | (at == 0))) | (high - low <= 4e-16 * high)
        if not len(open_ := open_[~done]):
            break
    return np.asarray(kept)
