"""Certificates of their own loss that participants may publish, from released numbers alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from pdpbook import Floats, check
from pdpbook.per_instance import ops_epsilon


class Certificate(NamedTuple):
    """Two upper bounds on the loss of each participant; see `posterior_certificate`."""

    ex_ante: Floats  #: on the epsilon of the draw at delta, shape (n,)
    ex_post: Floats  #: on the size of the log-likelihood ratio at the released point, shape (n,)


def posterior_certificate(
    X: ArrayLike,
    y: ArrayLike,
    theta: ArrayLike,
    *,
    gamma: float,
    h: float,
    delta: float = 1e-6,
    failure: float = 1e-3,
) -> Certificate:
    r"""What each participant can say about their own loss, seeing only the release.

    With :math:`u=\sqrt\gamma\,\lvert y-x^\top\tilde\theta\rvert`, :math:`m=\|x\|^2/h`,
    :math:`s=t\sqrt{m/(1+m)}`, :math:`t=\Phi^{-1}(1-\tfrac12\varrho)` and
    :math:`\bar\rho'=u+s`, except with probability :math:`\varrho`

    .. math:: \varepsilon(\delta) \le \varepsilon(\delta; m, (1+m)\bar\rho'), \qquad
              \lvert L\rvert \le \tfrac12\log(1+m) + \tfrac12 s(2u+s) + \tfrac12 m\bar\rho'^2 .

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows of participants in the unit ball.
    y : array_like, shape (n,)
        Their labels, on the domain.
    theta : array_like, shape (d,)
        The released coefficients, on the domain.
    gamma : float
        Inverse temperature of the draw: released, or public.
    h : float
        Lower bound, at least 1, on the smallest eigenvalue of :math:`X^\top X+\lambda I` of the
        data *without* the participant: released, or the penalty itself.
    delta : float, default 1e-6
        In (0, 1).
    failure : float, default 1e-3
        :math:`\varrho`, in (0, 1): probability that the certificate of one person is wrong, on
        top of the probability that `h` is.

    Returns
    -------
    Certificate
        `ex_ante` and `ex_post`. A person's entry depends on the release and on their own record
        alone; who publishes it reveals a function of that record.

    Notes
    -----
    Statement ``prop-publishable`` (ours), chapter *per_instance/adaops*.

    Examples
    --------
    >>> certificate = posterior_certificate([[0.6]], [0.5], [0.4], gamma=2.0, h=100.0)
    >>> certificate.ex_ante.round(2), certificate.ex_post.round(3)
    (array([0.15]), array([0.094]))
    """
    X, y = check.design(X, y)
    theta = np.asarray(check.finite(theta, "theta"))
    gamma, h = check.number(gamma, "gamma"), check.number(h, "h")
    delta = check.delta(delta)
    failure = check.delta(failure, "failure")
    if not h >= 1:
        raise ValueError(f"h must be at least 1; got {h:g}")
    norms = (X**2).sum(axis=1)
    if not np.all(norms <= 1 + 1e-9):
        at = int(np.flatnonzero(~(norms <= 1 + 1e-9))[0])
        raise ValueError(
            f"X must have rows in the unit ball; got X[{at}] of squared norm {norms[at]:g}"
        )
    if theta.shape != X.shape[1:]:
        raise ValueError(f"theta must have shape ({X.shape[1]},); got shape {theta.shape}")
    u = np.sqrt(gamma) * np.abs(y - X @ theta)
    m = np.maximum(norms, np.finfo(float).tiny) / h
    s = -float(ndtri(failure / 2)) * np.sqrt(m / (1 + m))
    inside = u + s
    ex_ante = np.asarray(ops_epsilon(delta, m, (1 + m) * inside))
    ex_post = np.log1p(m) / 2 + s * (2 * u + s) / 2 + m * inside**2 / 2
    return Certificate(ex_ante, ex_post)
