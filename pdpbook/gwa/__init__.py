"""Weights of everybody's labels for private linear regression, with certificates."""

from pdpbook.gwa.certificate import certify
from pdpbook.gwa.program import gwa_program
from pdpbook.gwa.regression import GWARegression, SampleLimitedRegression, prediction_root
from pdpbook.gwa.rows import ConvergenceError
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.gwa.solver import GWAWeights, gwa_weights
from pdpbook.gwa.two_stage import TwoStageGWARegression
