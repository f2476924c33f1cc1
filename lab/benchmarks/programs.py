"""The convex program of GWA as cvxpy solves it best, on regressions with users."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_regression

from pdpbook.datasets import sample_zipf_users
from pdpbook.gwa import certify

TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-8}  # its 1e-8 can end above 1e-8


def instance(n, seed=0):
    """Regression with noise 20 and Zipf(1.5) users; width and variance as in the experiments."""
    X, y = make_regression(n, n_features=10, n_informative=10, noise=20.0, random_state=seed)
    users = sample_zipf_users(n, 1.5, rng=np.random.default_rng(seed))
    rest = y - X @ np.linalg.lstsq(X, y)[0]
    return X, users, {"sigma2": rest @ rest / (n - 10), "epsilon": 1.0, "width": np.ptp(y)}


def solve(X, users, setting, solver, **options):
    """Weights C = unit (P - N), P and N at least 0, by one of cvxpy's solvers, and multipliers."""
    import cvxpy as cp

    (n, d), m = X.shape, users.max() + 1
    sigma2, kappa = setting["sigma2"], 2 * d * (setting["width"] / setting["epsilon"]) ** 2
    unit, price = np.linalg.norm(np.linalg.pinv(X)) / np.sqrt(n * d), max(sigma2, kappa)
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), users)), shape=(n, m))
    P, N, t = cp.Variable((d, n), nonneg=True), cp.Variable((d, n), nonneg=True), cp.Variable()
    quadratic = sigma2 / price * (cp.sum_squares(P) + cp.sum_squares(N))
    equal = (P - N) @ X == np.eye(d) / unit
    limits = [equal, cp.sum(P + N, axis=0) @ member <= t]
    cp.Problem(cp.Minimize(quadratic + kappa / price * cp.square(t)), limits).solve(
        solver=solver, **options
    )
    return (P.value - N.value) * unit, -equal.dual_value


def gap(C, multipliers, X, users, setting):
    """Certified relative gap of such weights, once they are unbiased to rounding."""
    C = C + (np.eye(len(C)) - C @ X) @ np.linalg.pinv(X)
    return certify(C, X, users, multipliers=multipliers, **setting)[2]
