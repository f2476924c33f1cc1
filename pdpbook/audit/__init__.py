"""Attempts to break a promise: an audit can refute it, never prove it.

`audit_mechanism` holds a mechanism against its own promise on one pair of neighbors: by the exact
laws of what it releases where it can state them, by counting where it cannot, as `audit_samples`
does for releases of any kind. `search_neighbors` looks for the pair, and `membership_attack`
guesses from releases who was in the data. A false alarm is a true promise that is called refuted;
`false_alarm` bounds its chance.
"""

from pdpbook.audit.density import SLACK, MechanismAudit, NeighborSearch, search_neighbors
from pdpbook.audit.harness import audit_mechanism, audit_members, differing_person
from pdpbook.audit.membership import (
    AttackScore,
    GaussianRelease,
    MembershipAttack,
    membership_attack,
)
from pdpbook.audit.samples import SampleAudit, audit_samples, delta_lower_bound
