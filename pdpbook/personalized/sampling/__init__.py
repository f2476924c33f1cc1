"""Ridge regression on a random sample in which the careful appear less often: the rival of PDP-OP.

The sampling rule is that of Jorgensen, Yu and Cormode. Noise on the fit to everybody, with weights
in place of luck, is `PDPRidge`.
"""

from pdpbook.personalized.sampling.estimator import SampledRidge
from pdpbook.personalized.sampling.law import SampledLaw
from pdpbook.personalized.sampling.rule import keep_probabilities
