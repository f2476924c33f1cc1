"""Regression with a privacy budget for every person, by noise on the fitted coefficients.

A budget buys weight: person i counts in proportion to `epsilon[i]`, and noise of one common size
hides everybody, each to the extent they asked for. The constants live in `sensitivity`, the noise
in `noise`; attempts to break the promises made here are in `audit`.
"""

from pdpbook.personalized.huber import HuberSolution, huber_ridge
from pdpbook.personalized.mean import PersonalizedMean
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.personalized.weights import pdp_weights

__all__ = ["HuberSolution", "PDPRidge", "PersonalizedMean", "huber_ridge", "pdp_weights"]
