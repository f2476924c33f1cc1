"""Means, quantiles and fits that protect a person with all of their records."""

from pdpbook.user_level.erm.bounds import calibrate_rho, convergence_constant, erm_tradeoff
from pdpbook.user_level.erm.descent import GradientTranscript
from pdpbook.user_level.erm.gradient_descent import WeightedGradientDescent
from pdpbook.user_level.erm.losses import ball_minimizer
from pdpbook.user_level.erm.output_perturbation import WeightedOutputPerturbation
from pdpbook.user_level.mean import SampleLimitedMean, WeightedMean
from pdpbook.user_level.quantiles.accuracy import quantile_rate, quantile_tradeoff, weighted_dkw
from pdpbook.user_level.quantiles.laws import GridLaw, QuantileLaw
from pdpbook.user_level.quantiles.mechanisms import private_quantile, quantile_law
from pdpbook.user_level.weights import (
    SampleLimit,
    TradeoffWeights,
    limit_rows,
    sample_limit,
    sample_limit_value,
    tradeoff_value,
    tradeoff_weights,
)
