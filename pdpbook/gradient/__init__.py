"""Linear regression by noisy gradients: what a person adds to one is bounded at every step."""

from pdpbook.gradient.accounting import (
    calibrate_noise_multiplier,
    calibrate_to_success_rate,
    dpsgd_epsilon,
    dpsgd_profile,
    dpsgd_renyi,
    dpsgd_total_variation,
    subsampled_gaussian_profile,
)
from pdpbook.gradient.descent import DescentLaw, GradientDescentRidge
from pdpbook.gradient.dpsgd import DPSGDLaw, DPSGDRegression, individual_epsilon
