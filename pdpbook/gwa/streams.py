"""Row generation over blocks: public rows that never are in memory together.

Few rows carry weight. The problem is solved on those; passes over the blocks evaluate its dual on
all rows and find the ones that are missing. So both ends of the gap are those of the whole problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook._users import check_users
from pdpbook.blocks import Rows, several_passes
from pdpbook.gwa.dual import DualValue, evaluate, relative_gap
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem, whitening
from pdpbook.gwa.rows import PER_USER, leading, restrict
from pdpbook.gwa.solver import ConvergenceError, solve
from pdpbook.ridge import factor, triangle
from pdpbook.validation import check_finite, check_positive, check_single

__all__ = ["RowWeights", "gwa_rows", "stream_gwa_bound"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
ROUNDS = 30


@dataclass(frozen=True)
class RowWeights:
    """Weights of the rows that have any, and their certificate; all other weights are 0."""

    rows: Places  #: shape (r,), places of the rows, counted from 0 through the blocks
    C: Floats  #: shape (d, r), their weights; the estimate is C y of these rows
    objective: float  #: value of the problem at these weights
    lower_bound: float  #: no weights of any rows have a smaller one
    gap: float  #: (objective - lower_bound) / lower_bound
    scale: float  #: of the Laplace noise that keeps every budget
    multipliers: Floats  #: shape (d, d), which `stream_gwa_bound` turns into the lower bound


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
    Statement ``thm-gwa-dual`` (ours), chapter *user_level/gwa*. A pass for the factor of X, one
    for the first rows, and two for each evaluation of the dual; the memory of one block, of a few
    rows a user, and of the rows whose multipliers come near the threshold of their user.

    Examples
    --------
    >>> rows = Rows(np.ones((4, 1)), users=np.array([0, 0, 0, 1]))
    >>> found = gwa_rows(rows, sigma2=1.0, epsilon=1.0, width=1.0)
    >>> found.gap <= 1e-8, found.C.sum().round(6)
    (True, np.float64(1.0))
    """
    tol = check_single(check_positive(tol, "tol"), "tol")
    given = {"sigma2": sigma2, "epsilon": epsilon, "width": width}
    people = several_passes(blocks, "gwa_rows", "X", "users")
    design = _design(people, given)
    chosen = _first_rows(people, design)
    for _ in range(ROUNDS):
        white = _problem(chosen, design, given).change_basis(design.basis)
        found = solve(white, "auto", tol / 3)
        used = restrict(white, found.rows)
        objective = used.objective(found.C)
        dual, near = _price(people, design, white, found.M)
        gap = relative_gap(objective, dual.bound)
        if gap <= tol and used.infeasibility(found.C) <= FEASIBLE:
            M = dual.multipliers @ design.basis.T / (white.sigma2 or 1.0)
            order = white.order[found.rows]
            scale = float(np.max(used.sizes_of(found.C) / used.tau)) / white.unit
            places = chosen.places[order]
            return RowWeights(places, found.C, objective, dual.bound, gap, scale, M)
        size = np.abs((near.X @ design.basis) @ dual.multipliers.T).max(axis=1)
        beyond = size - _levels(dual, near, len(design.labels))[near.codes]
        beyond[np.isin(near.places, chosen.places) | ~(beyond > 0)] = 0.0
        new = np.flatnonzero(beyond)
        if not len(new):
            break
        new = new[leading(beyond[new], near.codes[new], PER_USER)]
        chosen = _joined(chosen, _part(near, new))
    raise ConvergenceError(
        f"row generation ended with a certified gap of {gap:.2g}, above tol = {tol:g}, on "
        f"{len(chosen.places)} rows"
    )


def stream_gwa_bound(
    blocks: Any, multipliers: ArrayLike, *, sigma2: float, epsilon: Any, width: float
) -> float:
    """Lower bound of the weighting problem from any multipliers, over all rows in blocks.

    Parameters
    ----------
    blocks, sigma2, epsilon, width
        As for `gwa_rows`.
    multipliers : array_like, shape (d, d)
        Any matrix; its scale does not matter.

    Returns
    -------
    float
        The bound of `certify`.

    Raises
    ------
    TypeError, ValueError
        As `gwa_rows`.

    Notes
    -----
    Statement ``thm-gwa-dual`` (ours), chapter *user_level/gwa*.

    Examples
    --------
    >>> rows = Rows(np.ones((4, 1)), users=np.arange(4))
    >>> round(stream_gwa_bound(rows, [[1.0]], sigma2=1.0, epsilon=1.0, width=1.0), 3)
    0.375
    """
    given = {"sigma2": sigma2, "epsilon": epsilon, "width": width}
    people = several_passes(blocks, "stream_gwa_bound", "X", "users")
    design = _design(people, given)
    problem = _problem(_first_rows(people, design), design, given)
    Lam = np.asarray(check_finite(multipliers, "multipliers"))
    d = len(design.basis)
    if Lam.shape != (d, d):
        raise ValueError(f"multipliers must have shape ({d}, {d}); got {Lam.shape}")
    return _price(people, design._replace(basis=np.eye(d)), problem, Lam)[0].bound


class _Design(NamedTuple):
    labels: NDArray[Any]  # of the users, sorted
    basis: Floats  # X times it has orthonormal columns


class _Chosen(NamedTuple):
    """Some rows of all blocks."""

    X: Floats
    codes: Places
    places: Places


def _design(people: Rows, given: dict[str, Any]) -> _Design:
    one = np.zeros((1, 1))
    _build(one, [0], **{**given, "epsilon": 1.0})  # refuses bad numbers before the first block
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
    problem = _build(root, np.zeros(len(root)), **{**given, "epsilon": 1.0})
    return _Design(labels, whitening(problem, default_target=True))


def _build(X: Floats, users: Any, **given: Any) -> Problem:
    """A problem of Laplace noise for all coefficients."""
    return build_problem(X, users, **given, target=None, prior=None, norm="l1", delta=None)[0]


def _problem(chosen: _Chosen, design: _Design, given: dict[str, Any]) -> Problem:
    """The problem on some rows, of every user at least one: budgets count as in the whole."""
    return _build(chosen.X, design.labels[chosen.codes], **given)


def _summary(X: Any, users: Any) -> tuple[NDArray[Any], tuple[Floats, int]]:
    rows = _rows(X)
    return check_users(users, len(rows)).labels, factor(rows, np.zeros(len(rows)))


def _rows(X: Any) -> Floats:
    rows = np.asarray(check_finite(X, "X"))
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"X must have shape (n, d), n and d at least 1; got {rows.shape}")
    return rows


def _part(chosen: _Chosen, at: Places) -> _Chosen:
    return _Chosen(chosen.X[at], chosen.codes[at], chosen.places[at])


def _joined(one: _Chosen, other: _Chosen) -> _Chosen:
    X, codes, places = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    return _Chosen(X, codes, places)


def _placed(people: Rows, function: Any) -> Iterator[_Chosen]:
    """Rows chosen from each block, with their places in the whole."""
    start = 0
    for chosen, n in people.each(function):
        yield chosen._replace(places=chosen.places + start)
        start += n


def _longest(chosen: _Chosen, T: Floats) -> _Chosen:
    """The longest rows of every user and of all, in the basis of T."""
    score = np.abs(chosen.X @ T).max(axis=1)
    many = min(20 * len(T), len(score))
    keep = np.union1d(
        leading(score, chosen.codes, PER_USER), np.argpartition(-score, many - 1)[:many]
    )
    return _part(chosen, keep)


def _first_rows(people: Rows, design: _Design) -> _Chosen:
    parts = _placed(people, partial(_first_of_block, design))
    chosen = next(parts)
    for part in parts:
        chosen = _longest(_joined(chosen, part), design.basis)
    return chosen


def _first_of_block(design: _Design, X: Any, users: Any) -> tuple[_Chosen, int]:
    codes = np.searchsorted(design.labels, users)
    return _longest(_Chosen(_rows(X), codes, np.arange(len(codes))), design.basis), len(codes)


def _price(people: Rows, design: _Design, problem: Problem, M: Floats) -> tuple[DualValue, _Chosen]:
    """The dual of all rows at M, and the rows that it depends on.

    First the largest multiplier of every user; it bounds their level from below, and only rows
    above that bound, the largest included, play a part. See `dual.best_levels`.
    """
    M = M / np.abs(M).max()
    highest = np.zeros(len(design.labels))
    for part in people.each(partial(_highest, design, M)):
        highest = np.maximum(highest, part)
    floor = highest
    if problem.sigma2 > 0:
        ratio = problem.kappa / problem.sigma2
        floor = np.maximum(highest - problem.tau * float(problem.tau @ highest) / ratio, 0.0)
    parts = list(_placed(people, partial(_above, design, M, floor)))
    near = parts[0]
    for part in parts[1:]:
        near = _joined(near, part)
    by_user = np.argsort(near.codes, kind="stable")
    near = _part(near, by_user)
    whole = replace(problem, X=near.X @ design.basis, codes=near.codes)
    return evaluate(restrict(whole, np.arange(len(near.codes))), M), near


def _multipliers(design: _Design, M: Floats, X: Any) -> Floats:
    return np.asarray(np.abs((_rows(X) @ design.basis) @ M.T).max(axis=1))


def _highest(design: _Design, M: Floats, X: Any, users: Any) -> Floats:
    highest = np.zeros(len(design.labels))
    codes = np.searchsorted(design.labels, users)
    np.maximum.at(highest, codes, _multipliers(design, M, X))
    return highest


def _above(design: _Design, M: Floats, floor: Floats, X: Any, users: Any) -> tuple[_Chosen, int]:
    codes = np.searchsorted(design.labels, users)
    rows = np.flatnonzero(_multipliers(design, M, X) >= floor[codes])
    return _Chosen(_rows(X)[rows], codes[rows], rows), len(codes)


def _levels(dual: DualValue, near: _Chosen, m: int) -> Floats:
    """The level of every user; 0 for those of whom no row matters."""
    levels = np.zeros(m)
    levels[np.unique(near.codes)] = dual.levels
    return levels
