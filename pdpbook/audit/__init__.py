"""Attempts to break a promise: an audit can refute it, never prove it.

Where a mechanism can state the law of its output, `audit_density` compares it with that of a
neighbor, point by point.
"""

from pdpbook.audit.density import (
    SLACK,
    DensityAudit,
    NeighborSearch,
    audit_density,
    search_neighbors,
)

__all__ = ["SLACK", "DensityAudit", "NeighborSearch", "audit_density", "search_neighbors"]
