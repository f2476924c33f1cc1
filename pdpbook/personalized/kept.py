"""Who is kept of a crowd: budgets into chances, and the law of a release from a random sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from pdpbook import Floats, check
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.noise.laws import check_points

CHUNK = 1 << 20  # numbers held at a time while the parts are evaluated


def keep_probabilities(
    epsilon: ArrayLike, threshold: float | str, rule: str = "jorgensen"
) -> Floats:
    r"""Chance of each person to be in the sample: the sampling rule, not the release.

    It is 1 for :math:`\varepsilon_i\ge t`, and below, with :math:`u=e^{t/2}`,

    .. math:: \pi_i = \frac{e^{\varepsilon_i}-1}{e^t-1}\ \text{(jorgensen)}, \qquad
              \pi_i = \frac{u\,(e^{\varepsilon_i}-1)}{(u-1)(u+e^{\varepsilon_i})}\ \text{(exact)}.

    The rule "exact" keeps people more often. It is for mechanisms whose loss is at most t when a
    record is replaced and at most :math:`t/2` when one comes or goes. Any t above 0 is taken here;
    `SampledRidge` wants one within the range of the budgets. Statements ``alg-jorgensen`` (Acharya
    et al. 2024, section 3.2, after Jorgensen, Yu and Cormode 2015) and ``prop-sampling-replace``
    (ours), chapter *personalized/sampling*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0, above 0 for somebody
    threshold : float, "max" or "mean"
        The level t at which the sample is analyzed, or which number of the budgets it is.
    rule : {"jorgensen", "exact"}, default "jorgensen"

    Examples
    --------
    >>> keep_probabilities([0.1, 0.5, 1.0], "max").round(4)
    array([0.0612, 0.3775, 1.    ])
    """
    budgets = np.atleast_1d(check.each(epsilon, None, "epsilon"))
    check.choice(rule, "rule", ("jorgensen", "exact"))
    t = level(budgets, threshold)
    small = np.minimum(budgets, t)
    if rule == "exact":
        share = expit(small - t / 2) * np.expm1(-small) / np.expm1(-t / 2)
    else:
        share = np.exp(small - t) * (np.expm1(-small) / np.expm1(-t))
    return np.where(budgets < t, np.minimum(share, 1.0), 1.0)


def level(budgets: Any, threshold: Any) -> float:
    if isinstance(threshold, str):
        if threshold not in ("max", "mean"):
            raise ValueError(
                f"threshold must be 'max', 'mean' or a number above 0; got {threshold!r}"
            )
        largest = float(np.max(budgets))
        return largest if threshold == "max" else largest * float(np.mean(budgets / largest))
    return check.number(threshold, "threshold")


@dataclass(frozen=True, eq=False)
class SampledLaw:
    r"""Exact law of a release from a random sample: a mixture over who was kept.

    .. math:: p(z) = \sum_S \Pr[S]\; p_{\eta_S}(z-\theta_S)

    It holds the fits, everybody's last: not private. ``alg-jorgensen``, *personalized/sampling*.
    """

    log_weights: Floats  #: logarithms of the probabilities of the kept sets, shape (s,)
    centers: Floats  #: minimizer for each kept set, shape (s, d); everybody kept comes last
    etas: Floats  #: rate of the l2-Laplace noise for each kept set, shape (s,)

    @property
    def center(self) -> Floats:
        """Center of the part in which everybody is kept, where an audit should look first."""
        return np.asarray(self.centers[-1])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        d = self.centers.shape[1]
        points = check_points(points, d)
        flat, found = points.reshape(-1, d), [np.zeros(0)]
        peak = float(L2Laplace(np.zeros(d), 1.0).logpdf(np.zeros(d)))
        heights = self.log_weights + peak + d * np.log(self.etas)
        step = max(1, CHUNK // self.centers.size)
        for k in range(0, len(flat), step):
            distances = np.linalg.norm(flat[k : k + step, None] - self.centers, axis=2)
            found.append(logsumexp(heights - self.etas * distances, axis=1))
        return np.asarray(np.concatenate(found).reshape(points.shape[:-1]))[()]

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator
    ) -> Floats:
        """Draw from the law; shapes as in `noise.sample_l2_laplace`."""
        noise = sample_l2_laplace(self.centers.shape[1], 1.0, size, rng=rng)
        part = rng.choice(len(self.etas), noise.shape[:-1], p=np.exp(self.log_weights))
        return np.asarray(self.centers[part] + noise / np.asarray(self.etas[part])[..., None])
