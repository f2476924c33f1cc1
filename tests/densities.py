"""One pair of neighbors against given budgets, for mechanisms that state a law and no promise."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.audit.density import MechanismAudit, largest_loss


def audit_density(
    mechanism: Any,
    data: tuple[ArrayLike, ArrayLike],
    neighbor: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: ArrayLike,
    person: int,
    rng: np.random.Generator,
    draws: int = 200,
) -> MechanismAudit:
    """The largest log-ratio of the two output densities of one pair of replace-one neighbors."""
    check.rng(rng)
    draws = check.count(draws, "draws")
    n = _check_neighbors(data, neighbor, person)
    budgets = check.epsilon(epsilon, n)
    laws = [mechanism.output_law(X, y, epsilon=budgets) for X, y in (data, neighbor)]
    witness = {"data": data, "neighbor": neighbor, "epsilon": budgets}
    names = type(mechanism).__name__, "PureDP", "replace-one"
    shown = "largest loss", largest_loss(*laws, draws, rng), float(budgets[person])
    return MechanismAudit(*names, int(person), *shown, np.nan, draws, 0.0, witness)


def _check_neighbors(data: Any, neighbor: Any, person: int) -> int:
    (X, y), (X2, y2) = ([np.asarray(part) for part in pair] for pair in (data, neighbor))
    if X.shape != X2.shape or y.shape != y2.shape or X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            "data and neighbor must have X of one shape (n, d) and y of shape (n,); "
            f"got X {X.shape} and {X2.shape}, y {y.shape} and {y2.shape}"
        )
    if not check.count(person, "person", minimum=0) < len(y):
        raise ValueError(f"person must be a row of the data, 0 to {len(y) - 1}; got {person}")
    differ = np.flatnonzero((X != X2).any(axis=1) | (y != y2))
    if not np.isin(differ, person).all():
        rows = ", ".join(map(str, differ[:10])) + (", ..." if len(differ) > 10 else "")
        raise ValueError(
            f"data and neighbor must be replace-one neighbors, equal outside row {person}; "
            f"they differ in {len(differ)} rows: {rows}"
        )
    return len(y)
