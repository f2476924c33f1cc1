"""Privacy loss of given people on given data: one posterior sample, smooth losses, worst cases.

Penalties `lam` are against the *sum* of losses, neighbors add or remove one row, and epsilon is in
nats. Every function refuses what is no number, not finite, out of range or of a wrong shape, with
a TypeError or ValueError that names the argument, the rule and the value.
"""

from pdpbook.per_instance.levels import ops_dp_level, ops_for_all
from pdpbook.per_instance.ops import Profile, ops_bound, ops_epsilon, ops_profile, ops_renyi
from pdpbook.per_instance.people import (
    Explanation,
    PerInstanceReport,
    StreamReport,
    explain,
    per_instance_epsilon,
    per_instance_losses,
    stream_per_instance,
)
