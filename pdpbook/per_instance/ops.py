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
from pdpbook.noise.profiles import gauss_legendre, places

CANCELLED = 1e-4  # below this share of the tail mass the closed form has lost four digits
NODES_ABOVE_PEAK, NODES_ACROSS_PEAK = 22, 40  # of Gauss-Legendre quadrature, for full precision
LOWEST_QUANTILE = -37.0  # a normal variable lies below it with probability 6e-300
ROOT_2, ROOT_2PI = np.sqrt(2), np.sqrt(2 * np.pi)


def log_add(eps: Floats, mu: Floats, rho: Floats) -> tuple[Floats, Floats, Floats]:
    r"""Logarithm of delta in the direction `add`, minus its derivative in epsilon, and its second.

    With the letters of `ops_profile` and :math:`w = w_+`, standardized under P the ends w and -w
    are :math:`a = (w-\rho)/\sqrt\mu` and :math:`-b`, :math:`b = (w+\rho)/\sqrt\mu`; under Q they
    are a' and -b', likewise with :math:`\mu'` and :math:`\rho'`. There the densities under P and Q
    differ by the factor :math:`e^\varepsilon`, so that with :math:`R(t) = \Phi(-t)/\varphi(t)`

    .. math:: \delta_{add} = \varphi(a)\Bigl[R(a) + fR(b)
              - \frac{R(a') + fR(b')}{\sqrt{1+\mu}}\Bigr], \qquad f = e^{-2w\rho/\mu} .
    """
    root_mu = np.sqrt(mu)
    log_mu = np.log1p(mu)
    root_1_mu = np.sqrt(1 + mu)
    rho_in = rho / (1 + mu)
    w = np.sqrt(log_mu + rho * rho_in + 2 * eps)
    gap = 2 * eps + log_mu
    # w - rho as (w^2 - rho^2) / (w + rho): both may be large and equal
    a = np.maximum((gap - rho * rho_in * mu) / ((w + rho) * root_mu), LOWEST_QUANTILE)
    b = (w + rho) / root_mu
    a_in = (gap + rho_in * rho_in * mu) * root_1_mu / ((w + rho_in) * root_mu)
    b_in = (w + rho_in) * root_1_mu / root_mu
    f = np.exp(-2 * w * (rho / mu))  # the density at -w over that at w
    p = erfcx(a / ROOT_2) + f * erfcx(b / ROOT_2)  # R up to a factor
    q = (erfcx(a_in / ROOT_2) + f * erfcx(b_in / ROOT_2)) / root_1_mu
    delta = p - q
    cancelled = delta < CANCELLED * p
    if cancelled.any():
        delta[cancelled] = _cancelled_difference(
            a[cancelled], b[cancelled], w[cancelled] * root_mu[cancelled], mu[cancelled]
        )
    slope = q / delta
    curvature = ((1 + f) / (w * root_mu) * (2 / ROOT_2PI) - q) / delta - slope**2
    return np.log(delta) - a * a / 2 - np.log(2), slope, curvature


def _cancelled_difference(a: Floats, b: Floats, scale: Floats, mu: Floats) -> Floats:
    """Return the difference p - q of `log_add` by quadrature, for people where it cancels."""
    log_tail = _log_integral(a, scale, mu)
    counts = b < np.abs(a) + 40  # else the tail beyond -w is below rounding
    log_other_tail = _log_integral(b[counts], scale[counts], mu[counts])
    log_tail[counts] = np.logaddexp(log_tail[counts], log_other_tail)
    return np.asarray(np.exp(log_tail + a**2 / 2 + np.log(2)))


def _log_integral(a: Floats, scale: Floats, mu: Floats, end: Any = np.inf) -> Floats:
    r"""Log of the integral over 0 < s < end of phi(a + s) (1 - exp(-scale s - mu s^2 / 2)).

    The normal density has its peak at s = -a, inside the range where a is negative. The factor
    exp(-max(a, 0)^2 / 2) is taken out, so that nothing underflows.
    """
    above, below = np.maximum(a, 0.0), np.maximum(-a, 0.0)
    start = np.maximum(below - 9.2, 0.0)  # 9.2 deviations from the peak, exp(-9.2^2 / 2) = 4e-19
    length = np.minimum(84 / (np.sqrt(above**2 + 84) + above) + below, end) - start
    total = np.empty(len(a))
    for at, count in ((a >= 0, NODES_ABOVE_PEAK), (a < 0, NODES_ACROSS_PEAK)):
        nodes, weights = gauss_legendre(count)
        s = start[at, None] + (nodes + 1) / 2 * length[at, None]
        density = np.exp(s * (-a[at, None] - s / 2) - below[at, None] ** 2 / 2)
        loss = np.expm1(s * (-scale[at, None] - mu[at, None] / 2 * s))
        total[at] = (density * loss) @ weights * length[at] / -2
    return np.asarray(np.log(np.maximum(total, 1e-300)) - above**2 / 2 - np.log(ROOT_2PI))


def log_remove(eps: Floats, mu: Floats, rho: Floats) -> Floats:
    r"""Logarithm of delta in the direction `remove`, minus infinity where it is 0.

    With the letters of `ops_profile` and :math:`w = w_-`, the interval from -w to w has the upper
    end :math:`c = (w-\rho)/\sqrt\mu` and the width :math:`2w/\sqrt\mu`, standardized under P; under
    Q likewise with :math:`\mu'` and :math:`\rho'`. Its two masses are subtracted as logarithms.
    """
    log_delta = np.full(eps.shape, -np.inf)
    square = np.log1p(mu) + rho * (rho / (1 + mu)) - 2 * eps
    positive = square > 0
    eps, mu, rho = eps[positive], mu[positive], rho[positive]
    w = np.sqrt(square[positive])
    root_mu = np.sqrt(mu)
    mu_in, rho_in = mu / (1 + mu), rho / (1 + mu)
    root_mu_in = np.sqrt(mu_in)
    gap = np.log1p(mu) - 2 * eps
    # w - rho as (w^2 - rho^2) / (w + rho): both may be large and equal
    c = (gap - rho * rho_in * mu) / ((w + rho) * root_mu)
    c_in = (gap + rho_in * rho_in * mu) / ((w + rho_in) * root_mu_in)
    log_q = _log_between(c_in, 2 * w / root_mu_in)
    log_p = eps + _log_between(c, 2 * w / root_mu)
    fraction = -np.expm1(np.minimum(log_p - log_q, 0.0))  # delta over the mass under Q
    narrow = w < 1e-3 * root_mu_in  # then the difference of two normal cdfs has lost digits
    cancelled = (fraction < CANCELLED) | narrow
    result = log_q + np.log(np.where(cancelled, 1.0, fraction))
    if cancelled.any():
        w, root_mu_in = w[cancelled], root_mu_in[cancelled]
        result[cancelled] = _log_integral(
            -c_in[cancelled], w * root_mu_in, -(root_mu_in**2), 2 * w / root_mu_in
        )
    log_delta[positive] = result
    return log_delta


def _log_between(high: Floats, width: Floats) -> Floats:
    """Logarithm of the normal mass between high - width (at most 0) and high."""
    low = high - width
    log_ratio = np.minimum(log_ndtr(low) - log_ndtr(high), -1e-300)
    by_lower_tails = log_ndtr(high) + np.log(-np.expm1(log_ratio))
    mass_above = np.exp(log_ndtr(-np.maximum(high, 0.0)))
    mass_below = np.exp(log_ndtr(np.minimum(low, -1e-300)))
    by_outside = np.log1p(-np.minimum(mass_above + mass_below, 1 - 1e-16))
    return np.asarray(np.where(high > 0, by_outside, by_lower_tails))


LARGEST_SHIFT = 1e7  # of a person that is searched for: beyond it epsilon, above 5e13, is rounded
CHUNK = 1 << 12  # people handled at once, so that the work stays in the cache
# logarithms of 0 and of infinity are meant
NO_WARNINGS: Any = {"over": "ignore", "divide": "ignore", "invalid": "ignore"}


class Profile(NamedTuple):
    """A curve of one person in both directions: smallest deltas, or divergences."""

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
    with np.errstate(**NO_WARNINGS):
        for at in places(mu > 0, CHUNK):
            some_eps, some_mu, some_rho = eps.flat[at], mu.flat[at], rho.flat[at]
            log_delta, _, _ = log_add(some_eps, some_mu, some_rho)
            add.flat[at] = np.exp(log_delta)
            remove.flat[at] = np.exp(log_remove(some_eps, some_mu, some_rho))
    return Profile(add[()], remove[()])


def ops_epsilon(delta: ArrayLike, leverage: ArrayLike, scaled_residual: ArrayLike) -> Any:
    r"""Smallest epsilon of one person at a given delta, under one posterior sample.

    .. math:: \varepsilon(\delta) = \min\{\varepsilon \ge 0 : \delta_{add}(\varepsilon)\le\delta\} ,

    with :math:`\delta_{add}` of `ops_profile`, the larger of the two directions. Statements
    ``thm-ops-exact`` and ``thm-add-dominates`` (ours), *per_instance/ops* and below it. Parabolas
    are laid through the log profile, below `ops_bound`; at the number returned the profile was
    evaluated and does not exceed `delta`. It depends on the data: not to be published. Elementwise.

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
    with np.errstate(**NO_WARNINGS):
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
    c_ell = constant * np.log(2 / target)
    if form == "remove":
        mu_in, rho_in = mu / (1 + mu), rho / (1 + mu)
        bound = (np.log1p(mu) + rho_in**2 * mu + c_ell * mu_in) / 2
        bound += rho_in * np.sqrt(c_ell * mu_in)
        return bound[()]
    b = rho**2 * mu / (1 + mu) - np.log1p(mu)
    if form == "both":
        b = np.abs(b)
    bound = np.maximum(0.0, (b + c_ell * mu) / 2 + rho * np.sqrt(c_ell * mu))
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
    above_1 = clean > 1
    if not above_1.all():
        raise ValueError(f"alpha must be above 1; got {check.shown(clean[~above_1].flat[0])}")
    order, mu, rho = _person(clean, leverage, scaled_residual, "alpha")
    beyond = order - 1
    finite = beyond * mu < 1
    denominator = np.where(finite, 1 - beyond * mu, 1.0)
    quadratic = order * rho**2 * mu / (2 * (1 + mu))
    add = -np.log1p(mu) / 2 + quadratic / denominator
    add -= np.log1p(np.where(finite, -beyond * mu, 0.0)) / (2 * beyond)
    add = np.where(finite, add, np.inf)
    remove = np.log1p(mu) / 2 + quadratic / (1 + order * mu)
    remove -= np.log1p(beyond * mu / (1 + mu)) / (2 * beyond)
    return Profile(np.maximum(add, 0.0), np.maximum(remove, 0.0))


def _person(first: Any, leverage: Any, scaled_residual: Any, name: str) -> list[Floats]:
    """Return an argument that is checked already, leverage and scaled residual, in one shape."""
    check.refuse_other_index(scaled_residual, "scaled_residual", leverage=leverage)
    mu = check.nonnegative(leverage, "leverage")
    rho = check.nonnegative(scaled_residual, "scaled_residual")
    return check.together(f"{name}, leverage and scaled_residual", first, mu, rho)


def _invert(target: Floats, mu: Floats, rho: Floats) -> Floats:
    """Smallest epsilon with a delta of at most `target`, rounded up, shape (m,).

    A bracket per person, from `low`, where delta is too large, to `high`, where it is not. Every
    step goes to the root of a parabola through the log profile, or to the middle of the bracket.
    """
    high = ops_bound(target, mu, rho, "add")
    low = np.full(len(mu), -1.0)
    log_target = np.log(target) - 1e-12  # room for the rounding of a logarithm
    center = rho**2 * mu / (1 + mu) - np.log1p(mu)
    shift = rho * np.sqrt(mu)
    # start from a normal quantile of the loss; q takes nearly all of the tail of small losses
    z = -ndtri(np.minimum(target * (1 + 4 / (shift + mu)), 0.5))
    x = np.clip((center + z * z * mu) / 2 + shift * z, 0.0, high)
    too_far = shift > LARGEST_SHIFT
    high = np.where(too_far, high * (1 + 1e-6), high)  # the bound, and its rounding
    searched = np.flatnonzero(~too_far)
    for _ in range(80):
        at = x[searched]
        log_delta, slope, curvature = log_add(at, mu[searched], rho[searched])
        error = log_delta - log_target[searched]
        safe = error <= 0
        lower = np.where(safe, low[searched], at)
        upper = np.where(safe, at, high[searched])
        low[searched], high[searched] = lower, upper

        drop = 2 * (error + 3e-11)  # a little to the safe side, so that the last step ends safe
        root = np.sqrt(np.maximum(slope**2 - curvature * drop, 0.0))
        step = at + drop / (slope + root)
        inside = (step > lower) & (step < upper)  # else the profile is flat: halve the bracket
        x[searched] = np.maximum(np.where(inside, step, (lower + upper) / 2), 0.0)

        close = safe & ((error > -1e-10) | (at == 0))
        narrow = upper - lower <= 4e-16 * upper
        searched = searched[~(close | narrow)]
        if not len(searched):
            break
    return np.asarray(high)
