"""A release that is calibrated and certified before the secret half is drawn.

Everything here but the draws is public: it knows the pool and simulated halves. One calibration
serves many experiments; a real pool gets one release, since two have no common ceiling.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.pac.allocation import allocate_noise, loss_task, whitener
from pdpbook.pac.certificate import (
    NoiseCertificate,
    PublicEllipsoid,
    certify_noise,
    public_ellipsoid,
)
from pdpbook.pac.differences import PILOT, difference_moments
from pdpbook.pac.pool import Pool

TASKS = ("weights", "loss")  #: what noise is to disturb least
ROUNDING = 1e-10  # of a label; noise below it would hide less than the last digits show


@dataclass(frozen=True, eq=False)
class CalibratedRelease:
    """Pool, clipping and noise of a release; its draws are PAC private, its centers are not."""

    pool: Pool  #: public pool and model
    region: PublicEllipsoid  #: into which weights are clipped before noise
    covariance: Floats  #: of the noise, shape (p, p)
    certificate: NoiseCertificate  #: everybody's bound, within the target
    sample_rate: float  #: chance of being in the secret half

    def center(self, members: ArrayLike) -> Floats:
        """Clipped weights of one subset, shape (n,) to (p,): what the noise is added to."""
        mask = np.asarray(members)
        if mask.dtype != bool or mask.shape != (len(self.pool.y),):
            raise ValueError(f"members must be booleans of shape ({len(self.pool.y)},)")
        return self.region.clip(self.pool.fits(mask[None])[0])

    def draw(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Released weights, each of a fresh secret half that is then forgotten.

        Shape (p,), or (size, p). A half that is short of rank gets the shortest solution: an error
        would be an output too.
        """
        check.rng(rng)
        count = 1 if size is None else check.count(size, "size", minimum=0)
        halves = self.pool.sample(count, self.sample_rate, rng)
        back = whitener(self.covariance)[1]
        noise = rng.standard_normal((count, back.shape[1])) @ back.T
        weights = self.region.clip(self.pool.fits(halves).reshape(-1, self.pool.p)) + noise
        return np.asarray(weights[0] if size is None else weights)


def calibrate_release(
    pool: Pool,
    success_rate: float = 0.75,
    *,
    calibration: str = "mi",
    basis: str | ArrayLike = "difference",
    combine: str = "minimax",
    task: str = "weights",
    sample_rate: float = 0.5,
    tol: float = 0.1,
    confidence: float = 0.99,
    draws: int = 20_000,
    rng: np.random.Generator,
) -> CalibratedRelease:
    r"""Size, clip and certify the noise of a release, before any secret.

    Moments by `difference_moments`, a covariance by `allocate_noise`, a region by
    `public_ellipsoid`, and a bound for everybody by `certify_noise`, which then sets the level: the
    covariance is multiplied by bound over target, up or down.

    Parameters
    ----------
    pool : Pool
        Public pool and model.
    success_rate : float, default 0.75
        Ceiling on how often anybody guesses a membership right, the chance that the simulation
        fails counted: see `conditional_success_rate`.
    calibration : {"mi", "tv"}, default "mi"
        By mutual information or by total variation.
    basis : {"difference", "svd", "unit"} or array_like, default "difference"
        Coordinates in which the noise is independent.
    combine : {"minimax", "max"}, default "minimax"
        One noise for everybody.
    task : {"weights", "loss"}, default "weights"
        What the noise is to disturb least: the weights, or predictions on the pool.
    sample_rate : float, default 0.5
        Chance of being in the secret half.
    tol : float, default 0.1
        Relative standard error at which the estimate of the moments stops.
    confidence : float, default 0.99
        That everybody's bound holds, over the simulation.
    draws : int, default 20000
        Fresh halves for the certificate, and at most for the moments.
    rng : numpy.random.Generator
        Source of randomness of the simulation; it may be public.

    Returns
    -------
    CalibratedRelease
        With a certificate that holds.

    Raises
    ------
    ValueError
        Also if the labels leave nothing to hide.

    Notes
    -----
    Algorithm ``alg-pac-noise``, Yang (2024), Algorithm 2, as it must read; chapter *pac/noise*.
    Noise is independent in the coordinates of the pool: center it beforehand, as `PACRegression`
    does.
    """
    check.rng(rng)
    check.choice(task, "task", TASKS)
    simulated: dict[str, Any] = {"sample_rate": sample_rate, "confidence": confidence, "rng": rng}
    moments = difference_moments(pool, basis=basis, tol=tol, max_draws=draws, **simulated)
    price = loss_task(pool.X, fit_intercept=pool.fit_intercept)
    first = allocate_noise(
        moments,
        success_rate,
        calibration=calibration,
        combine=combine,
        task=price if task == "loss" else None,
        upper=False,
    ).covariance
    size = np.sqrt(np.trace(price @ first))
    if not size > ROUNDING * np.abs(pool.y).max():
        raise ValueError(
            "y must differ between people, and by more than a linear function of X: the models of "
            "all halves are the same, and there is nothing for noise to hide"
        )
    pilot = min(draws, PILOT)
    region = public_ellipsoid(pool, first, sample_rate=sample_rate, rng=rng, draws=pilot)
    certificate = certify_noise(
        pool, first, success_rate, calibration=calibration, region=region, draws=draws, **simulated
    )
    factor = certificate.ratio  # up or down: a valid bound sets the level either way
    covariance, certificate = factor * first, certificate.scaled(factor)
    return CalibratedRelease(pool, region, covariance, certificate, moments.sample_rate)
