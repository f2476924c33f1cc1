"""Attempts to break a promise: an audit can refute it, never prove it.

Where a mechanism can state the law of its output, `audit_density` compares it with that of a
neighbor, point by point; `audit_samples` counts events among releases where it cannot.
`membership_attack` guesses from releases who was in the data. `audit_mechanism` does what fits a
mechanism, against its own promise.
"""

from pdpbook.audit.deltas import delta_lower_bound
from pdpbook.audit.density import (
    SLACK,
    DensityAudit,
    NeighborSearch,
    audit_density,
    search_neighbors,
)
from pdpbook.audit.harness import (
    MechanismAudit,
    audit_mechanism,
    audit_members,
)
from pdpbook.audit.membership import (
    AttackScore,
    GaussianRelease,
    MembershipAttack,
    membership_attack,
)
from pdpbook.audit.neighbors import differing_person
from pdpbook.audit.samples import SampleAudit, audit_samples
