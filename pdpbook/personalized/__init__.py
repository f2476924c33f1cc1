"""Regression with a privacy budget for every person, by noise on the fitted coefficients.

A budget buys weight: person i counts in proportion to `epsilon[i]`, and noise of one common size
hides everybody, each to the extent they asked for. The constants live in `sensitivity`.
"""

from pdpbook.huber import HuberSolution, huber_ridge
from pdpbook.personalized.accuracy import ErrorTerms, error_bound, mean_square_error
from pdpbook.personalized.kept import SampledLaw, keep_probabilities
from pdpbook.personalized.mean import PersonalizedMean
from pdpbook.personalized.penalty import PublicPenalty, prediction_error_bound, public_penalty
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.personalized.sampling import SampledRidge
from pdpbook.personalized.weights import (
    capped_weights,
    pdp_weights,
    sensitivity_weights,
    threshold_budgets,
)
