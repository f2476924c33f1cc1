"""PAC privacy of membership: noise that caps how often anybody guesses who was in the data.

The pool of n people is public, who of them is in the secret half is not: each with probability q,
the `sample_rate`. A blind guess is right with the `prior`, max(q, 1 - q). Models have p weights,
the intercept last; information is in nats; penalties `alpha` are scikit-learn's. Every function
refuses what is no number, not finite, out of range or of a wrong shape, with a TypeError or
ValueError that names the argument, the rule and the value; ``model="ols"`` also halves without full
rank, or that lose it without one person.
"""

from pdpbook.pac.allocation import (
    BASES,
    COMBINE,
    DifferenceMoments,
    allocate_noise,
    difference_moments,
    exposure,
    loss_task,
    whitener,
)
from pdpbook.pac.certificate import (
    NoiseCertificate,
    PublicEllipsoid,
    certify_noise,
    conditional_success_rate,
    empirical_bernstein,
    public_ellipsoid,
)
from pdpbook.pac.mixture import JointNoise, joint_covariance, joint_variances, lagrange_variances
from pdpbook.pac.pool import MODELS, Pool
from pdpbook.pac.rates import (
    CALIBRATIONS,
    epsilon_to_success_rate,
    gaussian_mutual_information,
    gaussian_success_rate,
    mi_to_success_rate,
    snr_to_success_rate,
    success_rate_to_epsilon,
    success_rate_to_mi,
    success_rate_to_snr,
)
from pdpbook.pac.regression import TASKS, CalibratedRelease, PACRegression, calibrate_release
