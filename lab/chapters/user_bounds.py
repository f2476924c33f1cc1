"""Bounds of *user_level/erm* that no mechanism is calibrated by."""

import numpy as np

from pdpbook import check


def descent_bound(
    d: int, cap: float, steps: int, *, lipschitz: float = 1.0, radius: float = 1.0
) -> float:
    r"""Most that noisy projected gradient descent loses on average against the minimum.

    .. math:: \mathbb E\,\hat L(\bar\theta) - \min\hat L \le
              LR\sqrt{\frac{1+2dTt^2}{T+1}}, \qquad t = \max_l\frac{w_l}{\sqrt{\rho_l}},

    for the average of the start and the T iterates after it. It is at most
    :math:`2LRt\sqrt d` once :math:`T\ge1/(2dt^2)`.

    Parameters
    ----------
    d : int
        Number of parameters.
    cap : float
        t, above 0.
    steps : int
        T, the number of noisy gradients.
    lipschitz, radius : float, default 1.0
        L and R.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    Statement ``thm-weighted-erm`` (explicit constants are ours), chapter *user_level/erm*. With
    the step size :math:`R/\sqrt{(T+1)L^2(1+2dTt^2)}`.

    Examples
    --------
    >>> round(descent_bound(3, 0.1, 17), 3)
    0.335
    """
    d, T = check.count(d, "d"), check.count(steps, "steps")
    t = check.single(check.positive(cap, "cap"), "cap")
    scale = check.single(check.positive(lipschitz, "lipschitz"), "lipschitz")
    scale *= check.single(check.positive(radius, "radius"), "radius")
    return float(scale * np.sqrt((1 + 2 * d * T * t**2) / (T + 1)))


def user_volume(weight: float, lam: float, rank: int, *, smoothness: float = 1.0) -> float:
    r"""Most that one user can change the log-volume of objective perturbation.

    .. math:: \ln\frac{\det(H+A)}{\det H} \le r\ln\Bigl(1+\frac{\beta w}{r\lambda}\Bigr)
              \le \frac{\beta w}\lambda

    for every :math:`H\succeq\lambda I` and every Hessian A of a user: positive semidefinite, of
    rank at most r and trace at most :math:`\beta w`. Rank 1 is the constant for records.

    Parameters
    ----------
    weight : float
        w, the weight of the user, at least 0.
    lam : float
        Penalty: :math:`\frac\lambda2\|\theta\|^2` against the weighted mean of losses.
    rank : int
        r, the smaller of the user's number of rows and the number of parameters.
    smoothness : float, default 1.0
        :math:`\beta`, the largest curvature of a loss along its row: 1/4 for the logistic loss.

    Returns
    -------
    float
        In nats.

    Notes
    -----
    Statement ``prop-logistic`` (ours), chapter *user_level/erm_bounds*.

    Examples
    --------
    >>> [round(user_volume(0.5, 0.1, rank, smoothness=0.25), 3) for rank in (1, 3)]
    [0.811, 1.045]
    """
    w = check.single(check.nonnegative(weight, "weight"), "weight")
    lam = check.single(check.positive(lam, "lam"), "lam")
    beta = check.single(check.positive(smoothness, "smoothness"), "smoothness")
    r = check.count(rank, "rank")
    return float(r * np.log1p(beta * w / (r * lam)))
