"""Regression with a privacy budget for every person, by noise on the fitted coefficients.

A budget buys weight: person i counts in proportion to `epsilon[i]`, and noise of one common size
hides everybody, each to the extent they asked for. The constants live in `sensitivity`.
"""

from pdpbook.personalized.accuracy import (
    ErrorTerms,
    PublicPenalty,
    error_bound,
    mean_square_error,
    prediction_error_bound,
    public_penalty,
)
from pdpbook.personalized.mean import PersonalizedMean
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.personalized.sampling import SampledLaw, SampledRidge, keep_probabilities
from pdpbook.personalized.weights import (
    capped_weights,
    pdp_weights,
    sensitivity_weights,
    threshold_budgets,
)
from pdpbook.ridge import HuberSolution, huber_ridge
