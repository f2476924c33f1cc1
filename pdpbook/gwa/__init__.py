"""Weights of everybody's labels for private linear regression, with certificates.

Throughout, X of shape (n, d) is a public design; `users` of shape (n,) names the owner of each row,
and None makes every row a user; of the m users only labels are protected, all of one at once.
"""

from pdpbook.gwa.certificate import certify
from pdpbook.gwa.program import gwa_program
from pdpbook.gwa.regression import GWARegression, SampleLimitedRegression, prediction_root
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.gwa.solver import ConvergenceError, GWAWeights, gwa_weights
from pdpbook.gwa.two_stage import TwoStageGWARegression
