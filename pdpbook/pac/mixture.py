r"""One noise for many people: the cheapest that keeps every ceiling, with a certificate.

What person i does to the output has second moment :math:`C_i`, estimated in `allocation`. Among
all covariances with :math:`\operatorname{tr}(\Sigma^{-1}C_i)\le\tau` for every i the cheapest is
the optimum for a single mixture of people, so every mixture is a lower bound. The allowed mean
squared difference in units of the noise, :math:`\tau` or `snr`, is above 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._extras import extra

STEPS = 50_000  # of the multiplicative algorithm; each is one eigenvalue problem


@dataclass(frozen=True, eq=False)
class JointNoise:
    """The noise that serves everybody, and how far from the cheapest it can be."""

    noise: Floats  #: variances, shape (p,), or a covariance, shape (p, p); keeps every constraint
    value: float  #: what it costs
    lower_bound: float  #: what any noise that keeps every constraint costs at least
    mixture: Floats  #: shape (n,), adding up to 1, the weights of people behind the lower bound

    @property
    def gap(self) -> float:
        """Relative distance of `value` from `lower_bound`."""
        return self.value / self.lower_bound - 1 if self.lower_bound > 0 else 0.0


def lagrange_variances(second: ArrayLike, snr: float, weights: ArrayLike | None = None) -> Floats:
    r"""Cheapest independent noise on coordinates for one person, or for each of many: variances.

    .. math:: \min_e \sum_k s_k e_k \quad\text{subject to}\quad \sum_k v_k / e_k \le \tau,
              \qquad e_k = \frac1\tau \sqrt{\frac{v_k}{s_k}} \sum_j \sqrt{v_j s_j} .

    Statements ``prop-anisotropic``, Yang (2024), Algorithm 2, and ``prop-task-noise`` (ours),
    chapters *pac/noise* and *pac/printed*. Row by row, 0 where the moment is 0; shape of `second`.

    Parameters
    ----------
    second : array_like, shape (..., p)
        Second moments :math:`v_k` of the coordinates of the differences, at least 0.
    snr : float
        :math:`\tau`, the allowed mean squared difference in units of the noise, above 0.
    weights : array_like, shape (p,), optional
        Price :math:`s_k` of variance on a coordinate, above 0; None is 1 each.

    Examples
    --------
    >>> lagrange_variances([4.0, 1.0], 1.0)
    array([6., 3.])
    """
    v = np.asarray(check.nonnegative(second, "second"))
    tau = check.number(snr, "snr")
    s = _prices(weights, v.shape[-1])
    return np.asarray(np.sqrt(v / s) * np.sqrt(v * s).sum(axis=-1, keepdims=True) / tau)


def joint_variances(second: ArrayLike, snr: float, weights: ArrayLike | None = None) -> JointNoise:
    r"""Cheapest independent noise on coordinates that serves everybody.

    .. math:: &\min_e \sum_k s_k e_k \quad\text{subject to}\quad
              \sum_k v_{ik} / e_k \le \tau \text{ for all } i\\
              &\quad =\; \max_{\nu} \frac1\tau \Bigl(\sum_k \sqrt{s_k (\nu^\top v)_k}\Bigr)^2 ,

    the maximum over mixtures :math:`\nu\ge0`, :math:`\sum_i\nu_i=1` of people. By cvxpy with
    Clarabel (a RuntimeError if it fails), scaled to keep every constraint; its multipliers make the
    bound. `noise` has shape (p,). Statement ``prop-all-individuals`` (ours), chapter *pac/noise*.

    Parameters
    ----------
    second : array_like, shape (n, p)
        Second moments :math:`v_{ik}`, at least 0, a row a person.
    snr, weights
        As in `lagrange_variances`.
    """
    cp = extra("cvxpy")
    v = check.matrix(check.nonnegative(second, "second"), "second", "n", "p")
    tau = check.number(snr, "snr")
    s = _prices(weights, v.shape[1])
    start = lagrange_variances(v, tau, s).max(axis=0)  # keeps every constraint
    used = start > 0
    noise = np.zeros(v.shape[1])
    if not used.any():
        return JointNoise(noise, 0.0, 0.0, np.full(len(v), 1 / len(v)))
    # the variable is the variance over that of the start
    exposure = v[:, used] / start[used] / tau
    price = (s * start)[used] / (s * start)[used].sum()
    x = cp.Variable(len(price), pos=True)
    constraints = [exposure @ cp.inv_pos(x) <= 1]
    problem = cp.Problem(cp.Minimize(price @ x), constraints)
    with warnings.catch_warnings():  # an inaccurate solution is scaled below to serve all
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver=cp.CLARABEL)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise RuntimeError(f"Clarabel ended with status {problem.status!r}")
    solution = np.maximum(np.asarray(x.value), 1e-12)
    noise[used] = start[used] * solution * (exposure @ (1 / solution)).max()
    mixture = np.maximum(np.asarray(constraints[0].dual_value), 0)
    mixture = mixture / mixture.sum()
    lower = np.sqrt(s * (mixture @ v)).sum() ** 2 / tau
    return JointNoise(noise, float(s @ noise), float(lower), mixture)


def joint_covariance(
    matrices: ArrayLike, snr: float, task: ArrayLike | None = None, *, tol: float = 1e-3
) -> JointNoise:
    r"""Cheapest Gaussian noise of any covariance that serves everybody.

    .. math:: &\min_\Sigma \operatorname{tr}(S\Sigma) \quad\text{subject to}\quad
              \operatorname{tr}(\Sigma^{-1}C_i) \le \tau \text{ for all } i\\
              &\quad =\; \max_\nu \frac1\tau (\operatorname{tr} R_\nu)^2,\quad
              R_\nu = \Bigl(S^{1/2} \sum_i \nu_i C_i\, S^{1/2}\Bigr)^{1/2} .

    For a mixture the optimum is :math:`\frac{\operatorname{tr}R_\nu}{\tau}S^{-1/2}R_\nu S^{-1/2}`,
    shape (p, p). People's weights are multiplied by how far their constraint is exceeded until none
    is by more than `tol`; that excess is the gap, and is paid in noise. Statements
    ``prop-task-noise`` and ``prop-all-individuals`` (ours), chapters *pac/printed* and *pac/noise*.

    Parameters
    ----------
    matrices : array_like, shape (p, p) or (n, p, p)
        Second moments :math:`C_i` of the differences, positive semidefinite; one person or many.
    snr : float
        :math:`\tau`, the allowed mean squared difference in units of the noise, above 0.
    task : array_like, shape (p, p), optional
        Price S of noise, positive definite, such as `loss_task`; None is the identity.
    tol : float, default 1e-3
        Relative gap at which to stop.

    Examples
    --------
    >>> np.diag(joint_covariance([[4.0, 0.0], [0.0, 1.0]], 1.0).noise).round(6)
    array([6., 3.])
    """
    C = np.asarray(_finite_matrices(matrices))
    tau = check.number(snr, "snr")
    tol = check.number(tol, "tol")
    p = C.shape[-1]
    root, inverse_root = _roots(task, p)
    people = root @ C @ root
    flat = people.reshape(len(C), p * p)
    size = np.trace(people, axis1=1, axis2=2)
    if not size.max() > 0:
        return JointNoise(np.zeros((p, p)), 0.0, 0.0, np.full(len(C), 1 / len(C)))
    mixture = size / size.sum()
    for _ in range(STEPS):
        values, vectors = np.linalg.eigh((mixture @ flat).reshape(p, p))
        positive = values > 1e-14 * values[-1]
        roots = np.sqrt(np.where(positive, values, 0.0))
        inverse = (vectors[:, positive] / roots[positive]) @ vectors[:, positive].T
        exposure = flat @ inverse.ravel() / roots.sum()  # over tau; their mixture is 1
        if exposure.max() <= 1 + tol:
            break
        mixture = mixture * exposure
        mixture /= mixture.sum()
    R = (vectors * roots) @ vectors.T
    trace_R = roots.sum()
    lower = trace_R**2 / tau
    worst = max(float(exposure.max()), 1.0)
    noise = worst * trace_R / tau * inverse_root @ R @ inverse_root
    return JointNoise(noise, worst * float(lower), float(lower), mixture)


def _prices(weights: ArrayLike | None, p: int) -> Floats:
    if weights is None:
        return np.ones(p)
    return check.shape(check.positive(weights, "weights"), "weights", (p,), "one a coordinate")


def _finite_matrices(matrices: ArrayLike) -> Any:
    C = np.asarray(matrices, dtype=float)
    if C.ndim == 2:
        C = C[None]
    if C.ndim != 3 or C.shape[1] != C.shape[2] or C.size == 0:
        raise ValueError(f"matrices must have shape (n, p, p) or (p, p); got {np.shape(matrices)}")
    if not np.isfinite(C).all():
        raise ValueError("matrices must be finite")
    return (C + C.swapaxes(1, 2)) / 2


def _roots(task: ArrayLike | None, p: int) -> tuple[Floats, Floats]:
    """Symmetric square root of the price and its inverse."""
    if task is None:
        return np.eye(p), np.eye(p)
    S = _finite_matrices(task)[0]
    if S.shape != (p, p):
        raise ValueError(f"task must have shape ({p}, {p}); got {np.shape(task)}")
    values, vectors = np.linalg.eigh(S)
    if not values[0] > 1e-12 * values[-1]:
        raise ValueError(
            f"task must be positive definite; got the smallest eigenvalue {values[0]:.3g}. "
            "Add a small multiple of the identity"
        )
    root = (vectors * np.sqrt(values)) @ vectors.T
    return root, (vectors / np.sqrt(values)) @ vectors.T
