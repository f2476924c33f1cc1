"""Promises of privacy: to whom, how much, and against which change of the data.

A promise holds for every data set and is made before any is seen. So a per-instance loss is never a
promise but a report about one data set, on which it depends, and no class here holds one. The noise
that keeps a promise lives in `noise` and in the mechanisms.

All promises meet in one hub, `profile`: the smallest delta that the promise alone implies at an
epsilon, for each person. A conversion goes through the hub or through one theorem that its
docstring names; where there is neither, it is refused.
"""

from pdpbook.guarantees.accounts import BudgetAccount
from pdpbook.guarantees.conversions import compose, group, half_budget, renyi_budget, success_rate
from pdpbook.guarantees.promises import (
    NEIGHBORS,
    RENYI_ORDERS,
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    Promise,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
