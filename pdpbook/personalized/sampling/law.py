"""The law of a release from a random sample: a mixture with a density."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pdpbook import Floats, check
from pdpbook.noise import L2Laplace, sample_l2_laplace

CHUNK = 1 << 20  # numbers held at a time while the parts are evaluated


@dataclass(frozen=True, eq=False)
class SampledLaw:
    r"""Exact law of a release from a random sample: a mixture over who was kept.

    .. math:: p(z) = \sum_S \Pr[S]\; p_{\eta_S}(z-\theta_S)

    Parameters
    ----------
    log_weights : ndarray, shape (s,)
        Logarithms of the probabilities of the kept sets.
    centers : ndarray, shape (s, d)
        Minimizer for each kept set; everybody kept comes last.
    etas : ndarray, shape (s,)
        Rate of the l2-Laplace noise for each kept set.

    Notes
    -----
    Statement ``alg-jorgensen``, chapter *personalized/sampling*. Not private: it holds the fits.
    """

    log_weights: Floats
    centers: Floats
    etas: Floats

    @property
    def center(self) -> Floats:
        """Center of the part in which everybody is kept, where an audit should look first."""
        return np.asarray(self.centers[-1])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        points = np.asarray(check.finite(points, "points"))
        d = self.centers.shape[1]
        if points.ndim == 0 or points.shape[-1] != d:
            raise ValueError(f"points must have shape (..., {d}); got shape {points.shape}")
        flat = points.reshape(-1, d)
        peak = float(L2Laplace(np.zeros(d), 1.0).logpdf(np.zeros(d)))
        heights = self.log_weights + peak + d * np.log(self.etas)
        step = max(1, CHUNK // self.centers.size)
        parts = [
            logsumexp(heights - self.etas * self._distances(flat[k : k + step]), axis=1)
            for k in range(0, len(flat), step)
        ]
        return np.asarray(np.concatenate([*parts, []]).reshape(points.shape[:-1]))[()]

    def _distances(self, points: Floats) -> Floats:
        return np.asarray(np.linalg.norm(points[:, None, :] - self.centers, axis=2))

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator
    ) -> Floats:
        """Draw from the law; shapes as in `noise.sample_l2_laplace`."""
        noise = sample_l2_laplace(self.centers.shape[1], 1.0, size, rng=rng)
        part = rng.choice(len(self.etas), noise.shape[:-1], p=np.exp(self.log_weights))
        return np.asarray(self.centers[part] + noise / np.asarray(self.etas[part])[..., None])
