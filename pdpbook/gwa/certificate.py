"""Certificates of weight matrices, from the matrix and any multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.gwa.dual import evaluate, relative_gap
from pdpbook.gwa.exact_sensitivity import Parts, exact_sensitivity
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem


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
        raise ValueError("parts must be None without sensitivity='exact', which alone has them")
    k, n, d = len(problem.target), *problem.X.shape
    weights = check.matrix(C, "C", k, n)[:, problem.order]
    Lam = check.matrix(multipliers, "multipliers", k, d)
    if not (missing := problem.infeasibility(weights)) <= FEASIBLE:
        raise ValueError(f"C must satisfy C X = target; of its size it misses {missing:.2g}")
    proof = _check_parts(parts, problem) if exact else None
    objective, bound, *_ = judge(problem, weights, Lam, proof)
    return objective, bound, relative_gap(objective, bound)


def judge(
    problem: Problem, C: Floats, M: Floats, parts: Parts | None
) -> tuple[float, float, Floats, Floats, Parts | None]:
    """Objective, bound, contributions, and M and parts scaled so that the bound is <M, target>."""
    sizes = problem.sizes_of(C) if parts is None else exact_sensitivity(C, problem.codes)
    objective = problem.objective(C, float(np.max(sizes / problem.tau)))
    if parts is None:
        dual = evaluate(problem, M)
        return objective, dual.bound, sizes, dual.multipliers, None
    bound, scale = bound_of_parts(problem, M, parts)
    if bound > 0:  # else there is no certificate
        unit = bound / float(np.vdot(M, problem.target))
        M, scale = M * unit, scale * unit / (problem.sigma2 or 1.0)
        parts = tuple((Z, w * scale) for Z, w in parts)
    return objective, bound, sizes, M, parts


def bound_of_parts(problem: Problem, M: Floats, parts: Parts) -> tuple[float, float]:
    """Lower bound on the optimum from any multipliers M and any parts w of M X^T, and its scale.

    With M x_i = r_i + sum over z of w_iz z, the optimum is at least <M, A>^2 / (sum |r_i|^2 /
    sigma2 + (sum tau_l max_i |w_iz|)^2 / kappa). The parts are taken times what suits M best.
    """
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return 0.0, 0.0
    image, whole, paid = problem.X @ M.T, np.empty((len(problem.X), len(M))), 0.0
    for own, tau, (Z, w) in zip(problem.rows_of_users, problem.tau, parts, strict=True):
        whole[own] = (w @ Z).T if own.stop - own.start < len(M) else w @ Z
        paid += tau * float(np.abs(w).max(axis=0).sum())
    size = float(np.vdot(whole, whole)) / problem.sigma2 + paid**2 / problem.kappa
    scale = float(np.vdot(image, whole)) / problem.sigma2 / size if size > 0 else 0.0
    rest = image - scale * whole
    price = float(np.vdot(rest, rest)) / problem.sigma2 + (scale * paid) ** 2 / problem.kappa
    return pairing**2 / price, scale


def check_exact(problem: Problem) -> None:
    if problem.grouped:
        raise ValueError("norm must be 'l1' with sensitivity='exact', which is about Laplace noise")
    if not problem.sigma2 > 0:
        raise ValueError("sigma2 must be above 0 with sensitivity='exact'; got 0")
    if np.isfinite(problem.prior):
        raise ValueError(f"prior must be None with sensitivity='exact'; got {problem.prior:g}")
    if (k := len(problem.target)) > 15:
        raise ValueError(f"target must have at most 15 rows with sensitivity='exact'; got {k}")


def _check_parts(parts: Any, problem: Problem) -> Parts:
    """Signs and multipliers of every user, of shapes that fit."""
    rows, k = problem.rows_of_users, len(problem.target)
    if not isinstance(parts, tuple | list) or len(parts) != len(rows):
        got = len(parts) if isinstance(parts, tuple | list) else type(parts).__name__
        raise ValueError(f"parts must hold a pair for each of {len(rows)} users; got {got}")
    found = []
    for user, (own, pair) in enumerate(zip(rows, parts, strict=True)):
        long, short = sorted((k, own.stop - own.start), reverse=True)
        given = pair if isinstance(pair, tuple | list) else (pair,)
        arrays = [np.asarray(check.finite(part, "parts")) for part in given]
        shapes = [part.shape for part in arrays]
        p = shapes[0][0] if shapes and shapes[0] else 0
        if shapes != [(p, short), (long, p)] or p == 0 or not (np.abs(arrays[0]) == 1).all():
            raise ValueError(
                f"parts of user {user} must be signs of shape (p, {short}) and multipliers of "
                f"shape ({long}, p), p at least 1; got shapes {shapes}"
            )
        found.append((arrays[0], arrays[1]))
    return tuple(found)
