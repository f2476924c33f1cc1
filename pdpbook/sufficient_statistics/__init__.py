"""Ridge regression from noisy sums: the Gram matrix and the moments are released, once.

A penalty only enters afterwards: one release serves all. `personalized` has noise on coefficients.
"""

from pdpbook.sufficient_statistics.adassp import AdaSSP, adassp_coefficients, adassp_scale
from pdpbook.sufficient_statistics.grid_sums import farthest_records
from pdpbook.sufficient_statistics.ridge import (
    RidgePath,
    SufficientStatisticsRidge,
    statistics_constant,
)
