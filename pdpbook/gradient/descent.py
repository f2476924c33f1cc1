"""Ridge regression by gradient descent that is noisy at every step, with a budget for everyone.

What a person adds to a gradient is bounded at every step, whatever the step starts from, so no
minimizer has to be reached and every iterate may be seen. Noise added once, to or inside the
objective, lives in `personalized` and `objective_perturbation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import taking_part, where_above_zero
from pdpbook._domain import (
    bound_rows,
    check_mapping,
    check_sizes,
    data_of,
    features_to_domain,
    generator_from,
    in_hand,
    labels_to_domain,
    predictions,
    to_user_units,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import BudgetAccount, GaussianDP
from pdpbook.noise import gaussian_mu
from pdpbook.reports.frames import cube_frame
from pdpbook.reports.noise import Crowd, Noise, powers, through
from pdpbook.reports.reported import Reported
from pdpbook.sensitivity import huber_constant
from pdpbook.validation import (
    check_choice,
    check_count,
    check_delta,
    check_design,
    check_epsilon,
    check_finite,
    check_positive,
    check_rng,
    check_single,
)

__all__ = ["DescentLaw", "GradientDescentRidge"]

Floats = NDArray[np.float64]

BLOCK = 4_000_000  # numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class DescentLaw:
    r"""Law of all iterates of noisy gradient descent, one after the other in one vector.

    .. math:: &\theta_{k+1} = \theta_k - \gamma\Bigl[2\lambda\theta_k
              - 2\sum_i w_i\,\mathrm{clip}(y_i - x_i^\top\theta_k, \pm c_i)\,x_i
              + N(0, \sigma^2 I)\Bigr],\\ &\theta_0 = 0 .

    Given the iterate before, each is Gaussian, so the density of the path is a product. Clipping
    the gradient of a square loss to a length G is a Huber loss with the threshold
    :math:`c_i=G/(2\|x_i\|)`, so both losses are covered. Not private: it holds the data. Made by
    `GradientDescentRidge.output_law`.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Rows on the domain.
    y : ndarray, shape (n,)
        Labels on the domain.
    weights : ndarray, shape (n,)
        They sum to 1.
    lam : float
        Penalty, above 0, against the weighted mean of losses.
    thresholds : float or ndarray, shape (n,)
        Where the residual of each person is clipped, :math:`c_i`.
    step_size, steps : float and int
        :math:`\gamma`, and the number of steps T.
    sigma : float
        Standard deviation of the noise on each coordinate of a gradient.

    Notes
    -----
    Statement ``prop-gradient-descent`` (ours), chapter *personalized/beyond*.
    """

    X: Floats
    y: Floats
    weights: Floats
    lam: float
    thresholds: Any
    step_size: float
    steps: int
    sigma: float

    @property
    def center(self) -> Floats:
        """The path without noise, shape (steps * d,)."""
        return np.asarray(self._run(np.zeros((self.steps, 1, self.X.shape[1])))[0])

    def next_mean(self, theta: ArrayLike) -> Floats:
        """Return the mean of the iterate after each of `theta`, shape (..., d)."""
        start = np.asarray(check_finite(theta, "theta"))
        flat = start.reshape(-1, start.shape[-1])
        pull, block = np.empty_like(flat), max(1, BLOCK // len(self.y))
        for k in range(0, len(flat), block):
            residual = self.y - flat[k : k + block] @ self.X.T
            pull[k : k + block] = (self.weights * self._clip(residual)) @ self.X
        moved = flat - 2 * self.step_size * (self.lam * flat - pull)
        return np.asarray(moved.reshape(start.shape))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density of paths, shape (..., steps * d); returns shape (...)."""
        points = np.asarray(check_finite(points, "points"))
        d = self.X.shape[1]
        if points.ndim == 0 or points.shape[-1] != self.steps * d:
            raise ValueError(
                f"points must have shape (..., {self.steps * d}), a path each; "
                f"got shape {points.shape}"
            )
        path = points.reshape(*points.shape[:-1], self.steps, d)
        before = np.concatenate([np.zeros_like(path[..., :1, :]), path[..., :-1, :]], axis=-2)
        scale = self.step_size * self.sigma
        noise = (path - self.next_mean(before)) / scale
        constant = self.steps * d * np.log(scale * np.sqrt(2 * np.pi))
        return np.asarray(-(noise**2).sum(axis=(-1, -2)) / 2 - constant)[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw paths: shape (steps * d,), or (size, steps * d)."""
        check_rng(rng)
        count = 1 if size is None else check_count(size, "size", minimum=0)
        noise = rng.standard_normal((self.steps, count, self.X.shape[1]))
        paths = self._run(-self.step_size * self.sigma * noise)
        return np.asarray(paths[0] if size is None else paths)

    def _run(self, noise: Floats) -> Floats:
        """Descend from zero; noise of shape (steps, size, d)."""
        theta, path = np.zeros_like(noise[0]), np.empty_like(noise)
        for k in range(self.steps):
            theta = self.next_mean(theta) + noise[k]
            path[k] = theta
        return np.asarray(path.swapaxes(0, 1).reshape(noise.shape[1], self.steps * noise.shape[2]))

    def _clip(self, residuals: Floats) -> Floats:
        return np.asarray(np.clip(residuals, -self.thresholds, self.thresholds))


class GradientDescentRidge(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression that keeps the budget of every person by noise on every gradient.

    On the domain :math:`x_i\in[0,1]^d`, :math:`\|x_i\|\le R`, :math:`y_i\in[-1,1]`, from
    :math:`\theta_0=0`, it takes T steps

    .. math:: \theta_{k+1} = \theta_k - \gamma\Bigl[\sum_i w_i g_i(\theta_k) + 2\lambda\theta_k
              + N(0,\sigma^2 I)\Bigr], \qquad \|g_i\|\le G,

    and releases the last iterate. A replaced record moves each gradient by at most
    :math:`2w_iG`, so T steps are :math:`\mu_i`-Gaussian private for person i when

    .. math:: w_i = \frac{\mu_i}{\sum_j\mu_j}, \qquad
              \sigma = \frac{2G\sqrt T}{\sum_j\mu_j}, \qquad
              \mu_i = \mu(\varepsilon_i,\delta) .

    The promise covers all iterates together, so stopping earlier would not make it stronger.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    delta : float, default 1e-6
        Failure probability in (0, 1), the same for everybody. It must be given: Gaussian noise
        keeps no pure promise.
    steps : int, default 10
        Number of steps T. More steps get closer to the minimizer, with more noise on each: the
        noise of the sum grows with T, and a few steps are usually best.
    step_size : float, optional
        :math:`\gamma`, below ``1 / lam``; by default :math:`1/(2\lambda+R^2)`, with which every
        step contracts whatever the data.
    loss : {"huber", "square"}, default "huber"
        The Huber loss has gradients of length :math:`G=2cR` at most; those of the square loss are
        clipped to `clip_norm`, each person's alone.
    threshold : float, default 1.0
        Where the Huber loss turns linear, :math:`c`, in domain units of the label.
    clip_norm : float, optional
        Length G to which the gradient of each person's square loss is clipped; by default 2R, the
        length of a Huber gradient at ``threshold=1``.
    row_norm : float, optional
        Public bound R on the norm of a row on the domain, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: an integer repeats the noise on the next data set, and the
        difference of two such releases is the exact shift.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units, of the last iterate.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    guarantee_ : GaussianDP
        What each person was promised, under replace-one neighbors;
        ``guarantee_.to_approximate(delta)`` is the promise that was asked for.
    sigma_ : float
        Standard deviation of the noise on each coordinate of a gradient on the domain,
        data-independent.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statement ``prop-gradient-descent`` (ours), chapter *personalized/beyond*. Nothing without
    noise stays on the fitted object.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.random((500, 2)), rng.random(500)
    >>> epsilon = np.where(np.arange(500) < 100, 0.1, 1.0)
    >>> model = GradientDescentRidge(lam=0.5, delta=1e-6).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.sigma_, 3)
    ((2,), 0.184)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 1e-6,
        steps: int = 10,
        step_size: float | None = None,
        loss: str = "huber",
        threshold: float = 1.0,
        clip_norm: float | None = None,
        row_norm: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.steps = steps
        self.step_size = step_size
        self.loss = loss
        self.threshold = threshold
        self.clip_norm = clip_norm
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        GradientDescentRidge
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        rows, labels = data_of(self, X, y)
        law = self._law(rows, labels, budgets)
        mu = where_above_zero(self._mu, check_epsilon(budgets, len(rows)))
        promise = GaussianDP(mu, neighbors="replace-one")
        charge(account, promise, X)
        theta = law.sample(rng=rng)[-law.X.shape[1] :]
        self.coef_, self.intercept_ = to_user_units(
            theta, rows.shape[1], self.bounds, self.y_bounds
        )
        self.sigma_ = law.sigma
        self.guarantee_ = promise
        self._keep_noise(Crowd(rows.shape[1], check_epsilon(budgets, len(rows)), len(rows)))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> DescentLaw:
        """Exact law of all iterates on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws one path and releases its last d entries.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        return self._law(*check_design(X, y), budgets)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        if check_delta(self.delta, zero=True) == 0:
            raise ValueError(
                "delta must be above 0 and below 1; got 0. Gaussian noise keeps no pure promise: "
                "pass a delta well below 1 / n"
            )
        check_count(self.steps, "steps")
        check_choice(self.loss, "loss", ("huber", "square"))
        huber_constant(self.lam, 1, self.threshold, self.row_norm)  # refuses bad values
        check_sizes(self, "clip_norm")
        if self.step_size is not None:
            step = check_single(check_positive(self.step_size, "step_size"), "step_size")
            if not step < 1 / self.lam:
                raise ValueError(
                    f"step_size must be below 1 / lam = {1 / self.lam:.3g}, or the penalty alone "
                    f"makes the iterates diverge; got {step:g}"
                )
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _law(self, X: Floats, y: Floats, budgets: Any) -> DescentLaw:
        X, y, budgets = taking_part(X, y, budgets)
        X = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        X, y = (
            bound_rows(X, self.row_norm, self.clip),
            labels_to_domain(y, self.y_bounds, self.clip),
        )
        mu = self._mu(budgets)
        return DescentLaw(
            X,
            y,
            self._weights(mu),
            self.lam,
            self._thresholds(X),
            self._step(X.shape[1]),
            self.steps,
            self._sigma(mu, X.shape[1]),
        )

    def _step(self, d: int) -> float:
        default = 1 / (2 * self.lam + self._radius(d) ** 2)
        return float(default if self.step_size is None else self.step_size)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, and a bound on the mean square length.

        A step stretches distances by at most
        :math:`q=\max\{|1-2\gamma\lambda|, |1-2\gamma(\lambda+R^2)|\}` and adds noise of mean 0, so
        the mean square grows by :math:`q^2` and :math:`k\gamma^2\sigma^2` each time; where no
        residual is clipped, along an eigenvector of the rows by :math:`(1-2\gamma(\lambda+s))^2`.
        """
        frame = cube_frame(self, crowd.d, self.row_norm)
        k, step, lam = frame.order, self._step(frame.order), float(self.lam)
        sigma = self.sigma_ if crowd.fitted else self._sigma(self._mu(crowd.above), k)
        added = (step * sigma) ** 2
        most = max(abs(1 - 2 * step * v) for v in (lam, lam + self._radius(k) ** 2))

        def gain(values: Floats) -> Floats:
            return added * powers((1 - 2 * step * (values + lam)) ** 2, self.steps)

        bound = k * added * float(powers(most**2, self.steps))
        return Noise.of(crowd, frame, through(frame.kept, gain), bound, width=2 * frame.half)

    def _mu(self, budgets: Floats) -> Floats:
        levels, person = np.unique(budgets, return_inverse=True)
        return np.asarray(np.atleast_1d(gaussian_mu(levels, self.delta))[person])

    def _weights(self, mu: Floats) -> Floats:
        share = mu / mu.max()
        return np.asarray(share / share.sum())

    def _sigma(self, mu: Floats, d: int) -> float:
        """Noise of each gradient: a function of public things alone."""
        return float(2 * self._gradient_bound(d) * np.sqrt(self.steps) / mu.sum())

    def _gradient_bound(self, d: int) -> float:
        """Length G of the gradient of one person's loss."""
        if self.loss == "huber":
            return 2 * self.threshold * self._radius(d)
        return 2 * self._radius(d) if self.clip_norm is None else float(self.clip_norm)

    def _thresholds(self, X: Floats) -> Any:
        if self.loss == "huber":
            return self.threshold
        norms = np.linalg.norm(X, axis=1)
        return self._gradient_bound(X.shape[1]) / (2 * np.maximum(norms, 1e-300))

    def _radius(self, d: int) -> float:
        return float(np.sqrt(d)) if self.row_norm is None else min(self.row_norm, float(np.sqrt(d)))
