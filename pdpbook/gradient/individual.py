r"""What noisy gradients cost each person, from their own clipped gradients along the path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import binom

from pdpbook import Floats, check
from pdpbook.gradient.accounting import dpsgd_epsilon
from pdpbook.gradient.descent import DescentLaw
from pdpbook.gradient.dpsgd import DPSGDLaw
from pdpbook.noise import gaussian_epsilon

ORDERS = 2 ** np.arange(1, 9)  # of the divergences: each has an equal share of delta
LEVELS = 4096  # to which a shift is rounded up, between 0 and the largest


def individual_epsilon(law: DPSGDLaw | DescentLaw, path: ArrayLike, delta: float) -> Floats:
    r"""Account of every person, in nats, after a run of noisy gradients, along the path drawn.

    With :math:`m_k` the length of the person's clipped gradient at the iterate before step k, in
    standard deviations of its noise, everybody in every batch pays :math:`\varepsilon(\delta; \mu)`
    of Gaussian noise with :math:`\mu^2=\sum_k m_k^2`. In a batch with probability q they pay the
    least, over the orders :math:`\alpha=2, 4, \dots, 256`, of

    .. math:: \sum_k R_\alpha(m_k) + \ln\frac{\alpha-1}\alpha
              - \frac{\ln(\delta\alpha/8)}{\alpha-1} , \qquad
              R_\alpha(m) = \frac1{\alpha-1}\ln\sum_{j=0}^\alpha \binom\alpha j
              (1-q)^{\alpha-j}q^j e^{j(j-1)m^2/2} ,

    and never more than the worst case, `dpsgd_epsilon`; nothing if all :math:`m_k` are 0. Shifts
    are rounded up to a 4096th of the largest possible one. For every level e and set of paths on
    which a person's account is at most e, (e, `delta`) holds against the data with a gradient of 0
    in place of theirs. It is a report and no promise: it differs from path to path, and tells the
    record. It reads the person's record and the path alone, so whoever sees the path can compute
    their own. Statement ``thm-path-account``, chapter *pac/dpsgd_people*. Returns shape (n,).

    Parameters
    ----------
    law : DPSGDLaw or DescentLaw
        ``model.output_law(X, y)`` of an estimator: it holds the data.
    path : array_like, shape (steps * d,)
        All iterates of one run, on the domain, as ``law.sample`` draws them.
    delta : float in (0, 1)

    Examples
    --------
    >>> law = DPSGDLaw(np.array([[1.0], [0.1]]), np.ones(2), 0.5, 1, 1.0, 0.1, 3, 4.0)
    >>> individual_epsilon(law, [0.1, 0.2, 0.3], delta=1e-5).round(3)
    array([0.905, 0.189])
    """
    if not isinstance(law, DPSGDLaw | DescentLaw):
        raise TypeError(f"law must be a DPSGDLaw or a DescentLaw; got {type(law).__name__}")
    delta, shifts = check.delta(delta), law.shifts(path)
    if isinstance(law, DescentLaw) or law.sample_rate == 1:
        return gaussian_epsilon(delta, np.maximum(np.sqrt((shifts**2).sum(axis=0)), 1e-150))
    q, sigma = law.sample_rate, law.noise_multiplier
    levels = np.linspace(0, 1 / sigma, LEVELS + 1)
    at = np.minimum(np.searchsorted(levels, shifts), LEVELS)
    totals = [_divergences(int(order), levels, q)[at].sum(axis=0) for order in ORDERS]
    tail = np.log1p(-1 / ORDERS) - np.log(delta * ORDERS / len(ORDERS)) / (ORDERS - 1)
    least = np.where(shifts.any(axis=0), np.min(totals + tail[:, None], axis=0), 0.0)
    return np.asarray(np.clip(least, 0.0, dpsgd_epsilon(sigma, q, law.steps, delta)))


def _divergences(order: int, shifts: Floats, q: float) -> Floats:
    """Renyi divergence of one step from the same without the person, at each shift."""
    j = np.arange(order + 1)
    terms = binom.logpmf(j, order, q) + j * (j - 1) * shifts[:, None] ** 2 / 2
    return np.asarray(np.maximum(logsumexp(terms, axis=1), 0.0) / (order - 1))
