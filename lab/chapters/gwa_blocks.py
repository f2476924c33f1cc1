"""The best weights of more rows than memory holds: row generation in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._users import check_users
from pdpbook.blocks import Rows, several_passes
from pdpbook.gwa.dual import DualValue, evaluate, lowest_levels
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem, whitening
from pdpbook.gwa.rows import Chosen, ConvergenceError, Places, grow, longest
from pdpbook.ridge import factor, triangle


@dataclass(frozen=True)
class RowWeights:
    """Weights of the rows that have any, and their certificate; all other weights are 0."""

    rows: Places  #: shape (r,), places of the rows, counted from 0 through the blocks
    C: Floats  #: shape (d, r), their weights; the estimate is C y of these rows
    objective: float  #: value of the problem at these weights
    lower_bound: float  #: no weights of any rows have a smaller one
    gap: float  #: (objective - lower_bound) / lower_bound
    scale: float  #: of the Laplace noise that keeps every budget
    multipliers: Floats  #: shape (d, d), which prove the lower bound


def gwa_rows(
    blocks: Any, *, sigma2: float, epsilon: Any, width: float, tol: float = 1e-8
) -> RowWeights:
    """Weights of `gwa_weights` for more rows than memory holds.

    Parameters
    ----------
    blocks : Rows with columns X and users, or what `Rows.from_blocks` takes
        Public rows, shape (n, d), of full column rank, and who owns them; read several times.
    sigma2, width : float
        As for `gwa_weights`; Laplace noise, no prior, all coefficients.
    epsilon : float or mapping
        Budget of everybody, or of each user.
    tol : float, default 1e-8
        Certified gap at which to stop.

    Returns
    -------
    RowWeights
        The rows that carry weight, their weights and the certificate over all rows.

    Raises
    ------
    ConvergenceError
        If the certified gap ends above `tol`.
    TypeError, ValueError
        As `gwa_weights`, or if the blocks can be read only once.

    Notes
    -----
    Statement ``thm-gwa-dual`` (ours), chapter *user_level/gwa_dual*. A pass for the factor of X,
    one for the first rows, and two for each evaluation of the dual; the memory of one block, of a
    few rows a user, and of the rows whose multipliers come near the threshold of their user.

    Examples
    --------
    >>> rows = Rows(np.ones((4, 1)), users=np.array([0, 0, 0, 1]))
    >>> found = gwa_rows(rows, sigma2=1.0, epsilon=1.0, width=1.0)
    >>> found.gap <= 1e-8, found.C.sum().round(6)
    (True, np.float64(1.0))
    """
    tol = check.number(tol, "tol")
    given = {"sigma2": sigma2, "epsilon": epsilon, "width": width}
    people = several_passes(blocks, "gwa_rows", "X", "users")
    design = design_of(people, given)
    first = first_rows(people, design)
    problem = problem_of(first, design, given)
    priced = partial(price, people, design, problem)
    found, part = grow(problem, first, priced, InteriorPoint, tol)
    if not (found.gap <= tol and part.infeasibility(found.C) <= FEASIBLE):
        raise ConvergenceError(
            f"row generation ended with a certified gap of {found.gap:.2g}, above tol = {tol:g}, "
            f"on {len(found.rows)} rows"
        )
    objective, lower_bound = part.objective(found.C), float(np.vdot(found.M, part.target))
    scale = float(np.max(part.sizes_of(found.C) / part.tau)) / part.unit
    multipliers = found.M @ design.basis.T / (part.sigma2 or 1.0)
    return RowWeights(found.rows, found.C, objective, lower_bound, found.gap, scale, multipliers)


class Design(NamedTuple):
    """What blocks have in common, and what each of them tells."""

    labels: NDArray[Any]  # of the users, sorted
    basis: Floats  # X times it has orthonormal columns

    def rows(self, X: Any, users: Any) -> Chosen:
        """All rows of a block."""
        X = check.matrix(X, "X") @ self.basis
        return Chosen(X, np.searchsorted(self.labels, users), np.arange(len(X)))

    def longest(self, X: Any, users: Any) -> tuple[Chosen, int]:
        """Rows to start from, and how many the block has."""
        return longest(self.rows(X, users)), len(users)

    def highest(self, M: Floats, X: Any, users: Any) -> Floats:
        """The largest multiplier of every user."""
        highest, block = np.zeros(len(self.labels)), self.rows(X, users)
        np.maximum.at(highest, block.codes, np.abs(block.X @ M.T).max(axis=1))
        return highest

    def above(self, M: Floats, floor: Floats, X: Any, users: Any) -> tuple[Chosen, int]:
        """Rows with a multiplier of at least the floor of their user, and how many there are."""
        block = self.rows(X, users)
        large = np.abs(block.X @ M.T).max(axis=1) >= floor[block.codes]
        return block.at(np.flatnonzero(large)), len(users)


def design_of(people: Rows, given: dict[str, Any]) -> Design:
    """Users and a basis from one pass, after the numbers given."""
    alone = {**given, "epsilon": 1.0}
    build_problem(np.zeros((1, 1)), [0], **alone)  # refuses bad numbers before the first block
    labels: NDArray[Any] | None = None
    factors = []
    for users, part in people.each(_summary):
        labels = users if labels is None else np.union1d(labels, users)
        factors.append(part)
    if labels is None:
        raise ValueError("blocks must hold at least one person; got none")
    try:
        root = triangle(iter(factors), 0.0)[0]
    except ValueError:
        d = factors[0][0].shape[1] - 1
        raise ValueError(
            f"X must have full column rank {d} to estimate every coefficient"
        ) from None
    problem, _ = build_problem(root, np.zeros(len(root)), **alone)
    return Design(labels, whitening(problem, default_target=True))


def _summary(X: Any, users: Any) -> tuple[NDArray[Any], tuple[Floats, int]]:
    rows = check.matrix(X, "X")
    return check_users(users, len(rows)).labels, factor(rows, np.zeros(len(rows)))


def problem_of(first: Chosen, design: Design, given: dict[str, Any]) -> Problem:
    """The problem on the first rows, some of every user: budgets count as in the whole."""
    labels = design.labels[first.codes]
    return build_problem(first.X, labels, **given, target=design.basis)[0]


def first_rows(people: Rows, design: Design) -> Chosen:
    """Rows to start from, of all blocks."""
    d = design.basis.shape[1]
    chosen = Chosen(np.zeros((0, d)), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    for part in _placed(people, design.longest):
        chosen = longest(chosen.join(part)[0])
    return chosen


def _placed(people: Rows, function: Any) -> Iterator[Chosen]:
    """Rows chosen from each block, with their places in the whole."""
    start = 0
    for chosen, n in people.each(function):
        yield chosen._replace(places=chosen.places + start)
        start += n


def price(people: Rows, design: Design, problem: Problem, M: Floats) -> tuple[DualValue, Chosen]:
    """The dual of all rows at M, and the rows that it depends on.

    First the largest multiplier of every user; it bounds their level from below, and only rows
    above that bound, the largest included, play a part. See `dual.best_levels`.
    """
    highest = np.zeros(len(design.labels))
    for part in people.each(partial(design.highest, M)):
        highest = np.maximum(highest, part)
    floor = lowest_levels(problem, highest)
    parts = list(_placed(people, partial(design.above, M, floor)))
    every = Chosen(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    near = every.at(np.argsort(every.codes, kind="stable"))
    return evaluate(problem.part(near.X, near.codes), M), near
