"""A law with independent entries, each Laplace or each Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.noise.laws import check_points, check_size, keep
from pdpbook.validation import check_choice, check_finite, check_positive, check_rng

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProductLaw:
    r"""Law of ``center`` plus independent noise, with a scale for every entry.

    .. math:: \prod_k \frac{1}{2\beta_k} e^{-|z_k-c_k|/\beta_k} \quad\text{or}\quad
              \prod_k \frac{1}{\sqrt{2\pi}\,\beta_k} e^{-(z_k-c_k)^2/2\beta_k^2}

    Parameters
    ----------
    center : array_like, shape (m,)
        Where the density is highest; copied, and read-only afterwards.
    scale : array_like, shape (m,)
        :math:`\beta_k` above 0: the scale of a Laplace entry, the standard deviation of a
        Gaussian one.
    noise : {"laplace", "gaussian"}, default "laplace"
        Which of the two.

    Notes
    -----
    Statements ``thm-pssp-laplace`` and ``thm-pssp-gaussian``, chapter *personalized/beyond*. Not
    private: it holds the center.

    Examples
    --------
    >>> ProductLaw([0.0, 0.0], [0.5, 0.5]).logpdf([[0.0, 0.0], [1.0, -1.0]])
    array([ 0., -4.])
    """

    center: Floats
    scale: Floats
    noise: str = "laplace"

    def __post_init__(self) -> None:
        center = np.asarray(check_finite(self.center, "center"))
        scale = np.asarray(check_positive(self.scale, "scale"))
        check_choice(self.noise, "noise", ("laplace", "gaussian"))
        if center.ndim != 1 or center.size == 0 or scale.shape != center.shape:
            raise ValueError(
                "center and scale must have one shape (m,), m at least 1; "
                f"got {center.shape} and {scale.shape}"
            )
        keep(self, center=center, scale=scale)

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., m); returns shape (...)."""
        m = len(self.center)
        z = np.abs(check_points(points, m) - self.center) / self.scale
        if self.noise == "laplace":
            exponent, constant = z.sum(axis=-1), np.log(2)
        else:
            exponent, constant = (z**2).sum(axis=-1) / 2, np.log(2 * np.pi) / 2
        return np.asarray(-exponent - m * constant - np.log(self.scale).sum())[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw from the law: shape (m,), or (size, m)."""
        draw = check_rng(rng).laplace if self.noise == "laplace" else check_rng(rng).normal
        return np.asarray(
            self.center + draw(0.0, self.scale, (*check_size(size), len(self.center)))
        )
