"""Fits that protect a person with all of their records: weighted empirical risk minimization."""

from pdpbook.user_level.erm.bounds import (
    calibrate_rho,
    convergence_constant,
    descent_bound,
    erm_tradeoff,
    user_volume,
)
from pdpbook.user_level.erm.descent import GradientTranscript
from pdpbook.user_level.erm.estimator import WeightedERM
from pdpbook.user_level.erm.losses import ball_minimizer
