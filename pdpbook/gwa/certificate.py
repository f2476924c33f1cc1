"""Certificates of weight matrices, from the matrix and any multipliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.gwa.dual import evaluate, relative_gap
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem
from pdpbook.gwa.sensitivity import Parts, exact_sensitivity


def certify(
    C: ArrayLike,
    X: ArrayLike,
    users: Any = None,
    *,
    multipliers: ArrayLike,
    sigma2: float,
    epsilon: Any,
    width: float,
    target: ArrayLike | None = None,
    prior: float | None = None,
    norm: str = "l1",
    delta: float | None = None,
    sensitivity: str = "entrywise",
    parts: Any = None,
) -> tuple[float, float, float]:
    r"""Verify a weight matrix from the matrix and any multipliers, whoever computed them.

    The objective is evaluated at `C`. By weak duality every :math:`\Lambda` with
    :math:`\langle\Lambda,A\rangle>0` bounds the optimum from below,

    .. math:: &f^\star\ \ge\ \frac{\sigma^2\langle\Lambda,A\rangle^2}{2\,G(\Lambda)},\\
        &2G(\Lambda)=\min_{\nu\ge0}\ \sum_{l,\,i\in S_l,\,j}\bigl(|(\Lambda x_i)_j|-\nu_l\bigr)_+^2
        +\frac{\sigma^2}{\kappa}\Bigl(\sum_l\tau_l\nu_l\Bigr)^2 ,

    so wrong multipliers make the gap larger and can never make it too small: statement
    ``thm-gwa-dual`` (ours), chapter *user_level/gwa_dual*. Without a prior a `C` that misses
    ``C X = target`` by more than rounding raises ValueError.

    Parameters
    ----------
    C : array_like, shape (k, n)
    multipliers : array_like, shape (k, d), of any scale
    X, users, sigma2, epsilon, width, target, prior, norm, delta, sensitivity
        As for `gwa_weights`.
    parts : sequence of pairs of arrays, optional
        `GWAWeights.parts`, for the exact sensitivity, whose bound is a formula of them.

    Returns
    -------
    objective, lower_bound, gap : float
        The gap is ``(objective - lower_bound) / lower_bound``, infinite where nothing is certified.
    """
    exact = check.choice(sensitivity, "sensitivity", ("entrywise", "exact")) == "exact"
    problem, _ = build_problem(X, users, sigma2, epsilon, width, target, prior, norm, delta)
    if exact:
        check_exact(problem)
    elif parts is not None:
        raise ValueError("parts must be None unless sensitivity='exact', which alone uses them")
    k = len(problem.target)
    n, d = problem.X.shape
    weights = check.matrix(C, "C", k, n)[:, problem.order]
    Lam = check.matrix(multipliers, "multipliers", k, d)
    missing = problem.infeasibility(weights)
    if not missing <= FEASIBLE:
        raise ValueError(f"C must satisfy C X = target; of its size it misses {missing:.2g}")
    proof = check_parts(parts, problem) if exact else None
    certificate = certificate_of(problem, weights, Lam, proof)
    return certificate.objective, certificate.bound, certificate.gap


class Certificate(NamedTuple):
    """Both ends of the gap of a weight matrix, and what proves them."""

    objective: float
    bound: float  # of the optimum from below
    contributions: Floats  # (m,), how far each user can move the estimate, per unit of a label
    multipliers: Floats  # (k, d), M, scaled so that bound = <M, target>
    parts: Parts | None  # of the exact sensitivity, scaled likewise

    @property
    def gap(self) -> float:
        """Relative gap of the objective and its bound."""
        return relative_gap(self.objective, self.bound)


def certificate_of(problem: Problem, C: Floats, M: Floats, parts: Parts | None) -> Certificate:
    """Return what M proves about C; with parts, for the exact sensitivity."""
    if parts is None:
        contributions = problem.sizes_of(C)
    else:
        contributions = exact_sensitivity(C, problem.codes)
    objective = problem.objective(C, float(np.max(contributions / problem.tau)))
    if parts is None:
        dual = evaluate(problem, M)
        return Certificate(objective, dual.bound, contributions, dual.multipliers, None)
    bound, scale = bound_of_parts(problem, M, parts)
    if bound > 0:  # else there is no certificate
        unit = bound / float(np.vdot(M, problem.target))
        M, scale = M * unit, scale * unit / (problem.sigma2 or 1.0)
        parts = tuple((Z, w * scale) for Z, w in parts)
    return Certificate(objective, bound, contributions, M, parts)


def bound_of_parts(problem: Problem, M: Floats, parts: Parts) -> tuple[float, float]:
    """Return a lower bound on the optimum from any multipliers, and the best scale of the parts.

    Every user l has a matrix Z of sign vectors and multipliers w. Let P, of shape (n, k), hold w Z
    in the rows of the user, or its transpose where a sign vector has an entry for each of these
    rows. For every number x the optimum is at least

        <M, A>^2 / (|X M^T - x P|^2 / sigma2 + x^2 (sum over l, p of tau_l max_a |w_ap|)^2 / kappa).

    The scale is the x that makes this largest.
    """
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return 0.0, 0.0
    image = problem.X @ M.T
    P = np.empty((len(problem.X), len(M)))
    levels = 0.0
    for rows, tau, (Z, w) in zip(problem.rows_of_users, problem.tau, parts, strict=True):
        z_has_entry_a_row = rows.stop - rows.start < len(M)
        P[rows] = (w @ Z).T if z_has_entry_a_row else w @ Z
        levels += tau * float(np.abs(w).max(axis=0).sum())
    size = float(np.vdot(P, P)) / problem.sigma2 + levels**2 / problem.kappa
    scale = float(np.vdot(image, P)) / problem.sigma2 / size if size > 0 else 0.0
    rest = image - scale * P
    price = float(np.vdot(rest, rest)) / problem.sigma2 + (scale * levels) ** 2 / problem.kappa
    return pairing**2 / price, scale


def check_exact(problem: Problem) -> None:
    """Refuse what the exact sensitivity is not implemented for."""
    if problem.grouped:
        raise ValueError("norm must be 'l1' with sensitivity='exact', which is about Laplace noise")
    if not problem.sigma2 > 0:
        raise ValueError("sigma2 must be above 0 with sensitivity='exact'; got 0")
    if np.isfinite(problem.prior):
        raise ValueError(f"prior must be None with sensitivity='exact'; got {problem.prior:g}")
    k = len(problem.target)
    if k > 15:
        raise ValueError(f"target must have at most 15 rows with sensitivity='exact'; got {k}")


def check_parts(parts: Any, problem: Problem) -> Parts:
    """Return signs and multipliers of every user as arrays; refuse shapes that do not fit."""
    rows_of_users = problem.rows_of_users
    users = len(rows_of_users)
    is_sequence = isinstance(parts, tuple | list)
    if not is_sequence or len(parts) != users:
        got = len(parts) if is_sequence else type(parts).__name__
        raise ValueError(f"parts must hold a pair for each of {users} users; got {got}")
    k = len(problem.target)
    checked = []
    for user, (rows, pair) in enumerate(zip(rows_of_users, parts, strict=True)):
        short, long = sorted((k, rows.stop - rows.start))
        arrays = pair if isinstance(pair, tuple | list) else (pair,)
        arrays = [np.asarray(check.finite(array, "parts")) for array in arrays]
        shapes = [array.shape for array in arrays]
        p = shapes[0][0] if shapes and shapes[0] else 0
        if shapes != [(p, short), (long, p)] or p == 0 or not (np.abs(arrays[0]) == 1).all():
            raise ValueError(
                f"parts of user {user} must be signs of shape (p, {short}) and multipliers of "
                f"shape ({long}, p), p at least 1; got shapes {shapes}"
            )
        checked.append((arrays[0], arrays[1]))
    return tuple(checked)
