"""Means, quantiles and fits that protect a person with all of their records."""

from pdpbook.user_level.erm import ball_minimizer, calibrate_rho, convergence_constant, erm_tradeoff
from pdpbook.user_level.gradient_descent import GradientTranscript, WeightedGradientDescent
from pdpbook.user_level.mean import SampleLimitedMean, WeightedMean
from pdpbook.user_level.output_perturbation import WeightedOutputPerturbation
from pdpbook.user_level.quantiles import (
    GridLaw,
    QuantileLaw,
    private_quantile,
    quantile_law,
    quantile_rate,
    quantile_tradeoff,
    weighted_dkw,
)
from pdpbook.user_level.weights import (
    SampleLimit,
    TradeoffWeights,
    limit_rows,
    sample_limit,
    sample_limit_value,
    tradeoff_value,
    tradeoff_weights,
)
