"""Laws of noise on vectors, the same in all directions or entry by entry, and public noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pdpbook import Floats, check

Size = int | tuple[int, ...] | None


def sample_l2_laplace(d: int, eta: float, size: Size = None, *, rng: np.random.Generator) -> Floats:
    r"""Draw noise whose density is proportional to :math:`e^{-\eta\|z\|}` on :math:`\mathbb{R}^d`.

    The radius is Gamma with shape `d` and rate `eta`, the direction is uniform on the sphere, and
    the two are independent. Statement ``lem-gamma-radius``, Acharya et al. (2024), Remark .1;
    chapter *foundations/noise*. The output is a float, so its set of possible values depends on
    what it is added to: see `round_to_grid`. The shape is (d,), (size, d) or ``(*size, d)``.

    Parameters
    ----------
    d : int
    eta : float
        Rate of the radius: epsilon over sensitivity. The mean length of the noise is ``d / eta``.
    size : int or tuple of int, optional
    rng : numpy.random.Generator
    """
    d = check.count(d, "d")
    eta = check.rate(eta)
    rng = check.rng(rng)
    shape = check_size(size)
    length = np.zeros(1)
    while not np.all(length > 0):  # once in 2^52 draws for d = 1: never return noise of length 0
        direction = rng.standard_normal((*shape, d))
        length = np.linalg.norm(direction, axis=-1, keepdims=True)
    radius = rng.gamma(shape=d, scale=1 / eta, size=(*shape, 1))  # numpy wants a scale, not a rate
    return np.asarray(radius * (direction / length))


def l2_laplace_radius(d: int, eta: float) -> Any:
    """Law of the length of l2-Laplace noise: Gamma with shape `d` and rate `eta`.

    Statement ``lem-gamma-radius``, Acharya et al. (2024), Remark .1; chapter *foundations/noise*.

    Parameters
    ----------
    d : int
    eta : float

    Returns
    -------
    scipy.stats frozen distribution

    Examples
    --------
    >>> l2_laplace_radius(30, 2.0).ppf(0.99).round(2)
    np.float64(22.09)
    """
    from scipy import stats

    return stats.gamma(check.count(d, "d"), scale=1 / check.rate(eta))


@dataclass(frozen=True, eq=False)
class L2Laplace:
    r"""Law of ``center`` plus l2-Laplace noise of rate ``eta``.

    .. math:: p(z) = \frac{\eta^d\,\Gamma(d/2)}{2\pi^{d/2}\,\Gamma(d)}\,e^{-\eta\|z-c\|}

    The `center` has shape (d,), and is copied and read-only. Statement ``lem-gamma-radius``,
    chapter *foundations/noise*. Not private: it holds the center.
    """

    center: Floats  #: shape (d,), where the density is highest
    eta: float  #: rate of the radius

    def __post_init__(self) -> None:
        center = check.vector(check.finite(self.center, "center"), "center", "d")
        keep(self, center=center, eta=check.rate(self.eta))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        d = len(self.center)
        distance = np.linalg.norm(check_points(points, d) - self.center, axis=-1)
        log_area = np.log(2) + d / 2 * np.log(np.pi) - special.gammaln(d / 2)
        constant = d * np.log(self.eta) - special.gammaln(d) - log_area
        return np.asarray(constant - self.eta * distance)[()]

    def sample(self, size: Size = None, *, rng: np.random.Generator) -> Floats:
        """Draw from the law; shapes as in `sample_l2_laplace`."""
        return self.center + sample_l2_laplace(len(self.center), self.eta, size, rng=rng)


def round_to_grid(values: ArrayLike, step: float) -> Floats:
    """Round released values to the multiples of a public power of two.

    Chapter *foundations/noise*, when it does not help: the floats that noise can produce depend on
    what it is added to (Mironov, 2012). Rounding hides that pattern; it is a mitigation, not a
    proof. For a release with a proof see `grid_laplace`, chapter *synthesis/in_practice*.
    Elementwise, in the shape of `values`.

    Parameters
    ----------
    values : array_like
        What is to be released, noise included.
    step : float
        A public power of two, far above the spacing of the floats and far below the noise.
    """
    released = check.finite(values, "values")
    step = float(check_step(step))
    return np.asarray(np.round(released / step) * step)[()]


@dataclass(frozen=True, eq=False)
class ProductLaw:
    r"""Law of ``center`` plus independent noise, with a scale for every entry.

    .. math:: \prod_k \frac{1}{2\beta_k} e^{-|z_k-c_k|/\beta_k} \quad\text{or}\quad
              \prod_k \frac{1}{\sqrt{2\pi}\,\beta_k} e^{-(z_k-c_k)^2/2\beta_k^2}

    Center and `scale`, of shape (m,), are copied and read-only. The scale :math:`\beta_k` is above
    0, with `noise` "gaussian" a standard deviation. Not private: it holds the center. Statements
    ``thm-pssp-laplace`` and ``thm-pssp-gaussian``, chapter *personalized/sums*.
    """

    center: Floats  #: shape (m,), where the density is highest
    scale: Floats  #: shape (m,), of the noise on each entry
    noise: str = "laplace"  #: or "gaussian"

    def __post_init__(self) -> None:
        center = np.asarray(check.finite(self.center, "center"))
        scale = np.asarray(check.positive(self.scale, "scale"))
        check.choice(self.noise, "noise", ("laplace", "gaussian"))
        if center.ndim != 1 or center.size == 0 or scale.shape != center.shape:
            got = f"{center.shape} and {scale.shape}"
            raise ValueError(f"center and scale must have one shape (m,), m at least 1; got {got}")
        keep(self, center=center, scale=scale)

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., m); returns shape (...)."""
        m = len(self.center)
        z = np.abs(check_points(points, m) - self.center) / self.scale
        if self.noise == "laplace":
            exponent = z.sum(axis=-1)
            log_constant = np.log(2)
        else:
            exponent = (z**2).sum(axis=-1) / 2
            log_constant = np.log(2 * np.pi) / 2
        return np.asarray(-exponent - m * log_constant - np.log(self.scale).sum())[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw from the law: shape (m,), or (size, m)."""
        rng = check.rng(rng)
        shape = (*check_size(size), len(self.center))
        if self.noise == "laplace":
            noise = rng.laplace(0.0, self.scale, shape)
        else:
            noise = rng.normal(0.0, self.scale, shape)
        return np.asarray(self.center + noise)


def keep(law: Any, **checked: Any) -> None:
    """Store checked values on a frozen object, arrays as read-only copies."""
    for name, value in checked.items():
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        object.__setattr__(law, name, value)


def check_points(points: Any, d: int, what: str = "") -> Floats:
    """Return points of shape (..., d), finite; `what` says in an error what the d numbers are."""
    clean: Floats = np.asarray(check.finite(points, "points"))
    if clean.ndim == 0 or clean.shape[-1] != d:
        raise ValueError(f"points must have shape (..., {d}){what}; got shape {clean.shape}")
    return clean


def starts(path: Any, steps: int, d: int) -> Floats:
    """Return where the steps of a path begin, shape (steps, d): at zero, then at the iterates."""
    iterates = check.shape(check.finite(path, "path"), "path", (steps * d,), "all iterates")
    return np.concatenate([np.zeros((1, d)), iterates.reshape(steps, d)[:-1]])


def check_size(size: Any) -> tuple[int, ...]:
    """Return the axes that `size` puts in front of one draw: none for None."""
    if size is None:
        return ()
    entries = size if isinstance(size, tuple) else (size,)
    return tuple(check.count(entry, "size", minimum=0) for entry in entries)


def check_step(step: Any) -> Fraction:
    """Return the width of a grid, a power of two, as an exact fraction."""
    value = check.number(step, "step")
    mantissa, _ = math.frexp(value)
    if mantissa != 0.5:
        raise ValueError(f"step must be a power of two, such as 2**-20; got {value:g}")
    return Fraction(value)


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicNoise:
    """The law of the noise of a release, as far as it is public, on the domain of the theorem.

    Attributes
    ----------
    rate : float or None
        Rate of noise whose density falls as exp(-rate * length); its unit is one over a length.
    scale : float or None
        The scale that the theorem names: one over the rate, the scale of Laplace noise, or the
        standard deviation of Gaussian noise on one number or gradient. None where there is more
        than one, or where it depends on the data.
    covariance : ndarray of shape (k, k), or None
        Covariance of the noise on the released coefficients, a constant feature's last, or on the
        mean, in its domain. None where it depends on the data.
    """

    rate: float | None = None
    scale: float | None = None
    covariance: Floats | None = None


def round_noise(rate: float, order: int) -> PublicNoise:
    """Return l2-Laplace noise of this rate on `order` coefficients, as public noise."""
    covariance = (order + 1) / rate**2 * np.eye(order)
    return PublicNoise(rate=rate, scale=1 / rate, covariance=covariance)
