"""One pair of neighbors against given budgets, for mechanisms that state a law and no promise."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.audit.density import DensityAudit, largest_loss


def audit_density(
    mechanism: Any,
    data: tuple[ArrayLike, ArrayLike],
    neighbor: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: ArrayLike,
    person: int,
    rng: np.random.Generator,
    draws: int = 200,
) -> DensityAudit:
    r"""Compare the two output densities of one pair of replace-one neighbors.

    .. math:: \text{realized} = \max_{o}\ \bigl|\ln p_D(o) - \ln p_{D'}(o)\bigr|

    over draws from both laws, over points on the line through both centers beyond either end,
    from next to the centers to a billion radii out, and over draws blown up as far, so that laws
    whose tails fall at different rates are told apart whatever the centers.

    Parameters
    ----------
    mechanism : object with ``output_law(X, y, *, epsilon)``
        The law may be any with ``logpdf(points)`` and ``sample(size, *, rng)``. Densities must be
        those of the released object, every data-dependent step included.
    data, neighbor : pair of array_like
        ``(X, y)``, with n rows each, in the mechanism's units.
    epsilon : float or array_like, shape (n,)
        Budgets handed to the mechanism; the person's own is what was promised.
    person : int
        The one row in which the two may differ, from 0 to n - 1.
    rng : Generator
        Source of the draws.
    draws : int, default 200
        Draws from each law.

    Returns
    -------
    DensityAudit
        With ``.realized``, ``.promised``, ``.ratio`` and ``.passed``; prints as one sentence.

    Raises
    ------
    ValueError
        If the two data sets differ in shape, or in a row other than `person`.

    Notes
    -----
    Statement ``lem-loss-ratio``, chapter *personalized/pdp_op*. An audit can refute a promise,
    never prove it: it sees one pair. From every log-ratio we take what rounding of the two
    log-densities can explain, so that very far points do not cry wolf.

    Examples
    --------
    >>> from pdpbook.personalized import PersonalizedMean
    >>> x = [[0.0], [0.0]]
    >>> audit = audit_density(PersonalizedMean(), (x, [1, -1]), (x, [1, 1]), epsilon=[0.5, 0.1],
    ...                       person=1, rng=np.random.default_rng(0))
    >>> round(audit.ratio, 6), audit.passed
    (1.0, True)
    """
    check.rng(rng)
    draws = check.count(draws, "draws")
    n = _check_neighbors(data, neighbor, person)
    budgets = check.epsilon(epsilon, n)
    laws = [mechanism.output_law(X, y, epsilon=budgets) for X, y in (data, neighbor)]
    return DensityAudit(
        realized=largest_loss(laws[0], laws[1], draws, rng),
        promised=float(budgets[person]),
        draws=draws,
        person=int(person),
        witness={"data": data, "neighbor": neighbor, "epsilon": budgets},
    )


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
