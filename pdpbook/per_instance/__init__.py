"""Privacy loss of given people on given data: one posterior sample, smooth losses, worst cases.

The release is a draw of N(theta, (gamma H)^-1) with H = X'X + lam I and theta = H^-1 X'y. Rows X
have shape (n, d), labels y (n,), one a person; `lam` is a penalty against the *sum* of losses,
`gamma` an inverse temperature above 0 (1 / variance of the labels gives the genuine posterior),
`delta` a failure probability in (0, 1); epsilon is in nats, neighbors add or remove one row.
A loss depends on the data: a report of the curator, not a promise that may be published.
"""

from pdpbook.per_instance.levels import ops_dp_level, ops_for_all
from pdpbook.per_instance.ops import Profile, ops_bound, ops_epsilon, ops_profile, ops_renyi
from pdpbook.per_instance.people import (
    Explanation,
    PerInstanceReport,
    StreamReport,
    explain,
    per_instance_epsilon,
    stream_per_instance,
)
