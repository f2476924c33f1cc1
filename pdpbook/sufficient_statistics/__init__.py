"""Ridge regression from noisy sums: the Gram matrix and the moments are released, once.

A penalty only enters afterwards, so one release serves every penalty. Noise on the coefficients
lives in `personalized`.
"""

from pdpbook.sufficient_statistics.adassp import AdaSSP, adassp_coefficients, adassp_scale
from pdpbook.sufficient_statistics.ridge import (
    RidgePath,
    SufficientStatisticsRidge,
    statistics_constant,
)
