"""Quantiles that protect a user with all of their rows: weighted, with a budget for every user.

A release is one number from a law that is known exactly.
"""

from pdpbook.user_level.quantiles.accuracy import (
    quantile_error_bound,
    quantile_rate,
    quantile_tradeoff,
    weighted_dkw,
)
from pdpbook.user_level.quantiles.laws import GridLaw, QuantileLaw
from pdpbook.user_level.quantiles.mechanisms import (
    bisection_law,
    private_quantile,
    quantile_by_bisection,
    quantile_law,
)

__all__ = [
    "GridLaw",
    "QuantileLaw",
    "bisection_law",
    "private_quantile",
    "quantile_by_bisection",
    "quantile_error_bound",
    "quantile_law",
    "quantile_rate",
    "quantile_tradeoff",
    "weighted_dkw",
]
