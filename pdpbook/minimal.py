"""Every mechanism of the book as its theorem reads: to read, not to use on people's data.

Written by tools/minimal.py from the cells tagged `minimal`; edit these. Nothing is checked here:
no bounds, no budgets, no rounding of floats, no account. The estimators check, and a test holds
the laws they draw from against these lines. Beside each name stands its statement, above the
functions of a chapter their chapter.
"""

# mypy: ignore-errors

import numpy as np
from scipy import integrate, optimize, special, stats

__all__: list[str] = []  # nothing to import: read it

# foundations/coins -----------------------------------------------------------

def personal_coin(bits, epsilon, rng):  # def-rr-coin
    n, t = len(bits), np.tanh(epsilon / 2)
    fair = rng.integers(0, 2, n)
    return np.where(rng.random(n) < t, bits, fair)

def survey_share(reports, epsilon):  # thm-rr-weights
    t = np.tanh(epsilon / 2)
    share = 0.5 + (reports - 0.5) @ t / (t @ t)
    return share, 0.5 / np.sqrt(t @ t)

# foundations/promises --------------------------------------------------------

def noisy_total(answers, weights, rate, size, rng):  # def-personalized-dp
    step = np.exp(-rate)  # one step further
    up, down = rng.geometric(1 - step, (2, size))
    return np.dot(weights, answers) + up - down

# foundations/noise -----------------------------------------------------------

def laplace_noise(move, epsilon, k, rng):  # thm-laplace: moves at most this far in l1
    return rng.laplace(0, move / epsilon, k)

def sample_l2_laplace(d, eta, size=(), *, rng):  # lem-gamma-radius
    U = rng.standard_normal((*size, d))  # a direction, then a length
    U = U / np.linalg.norm(U, axis=-1, keepdims=True)
    return rng.gamma(d, 1 / eta, (*size, 1)) * U

# foundations/profiles --------------------------------------------------------

def l2_laplace_density(angle, d, eps0, terms=(1, 1)):  # thm-l2-laplace-profile
    s = eps0 / 2  # nu = sin(angle); d at least 2
    p = np.array([(d - 1) / 2, (d - 3) / 2])
    J = (special.gamma(p + 1) / np.sqrt(np.pi) * (2 / s) ** (p + 0.5)
         * special.kv(p + 0.5, s))
    c = (s**d * special.gamma(d / 2) / np.sqrt(np.pi)
         / special.gamma(d) / special.gamma((d - 1) / 2))
    return c * np.exp(s * np.sin(angle)) * np.dot(terms, [
        np.cos(angle) ** (d - 2) * J[0], np.cos(angle) ** d * J[1]])

def l2_laplace_profile(epsilon, d, eps0):  # thm-l2-laplace-profile
    if d == 1 or eps0 <= epsilon:
        return max(0, -np.expm1((epsilon - eps0) / 2))

    def gain(angle):
        above = eps0 * np.sin(angle) - epsilon
        return -np.expm1(-above) * l2_laplace_density(angle, d, eps0)

    return integrate.quad(gain, np.arcsin(epsilon / eps0), np.pi / 2,
                          epsabs=1e-14, epsrel=1e-12)[0]

def gaussian_profile(epsilon, m):  # lem-gaussian-mechanism
    near, far = m / 2 - epsilon / m, -m / 2 - epsilon / m
    return special.ndtr(near) - np.exp(epsilon) * special.ndtr(far)

@np.vectorize
def gaussian_mu(epsilon, delta):  # lem-gaussian-mechanism: the largest move that is hidden
    return optimize.brentq(
        lambda m: gaussian_profile(epsilon, m) - delta,
        1e-3 * epsilon, 10 + 10 * epsilon, xtol=1e-15)

@np.vectorize
def l2_laplace_eps0(epsilon, delta, d):  # thm-profile-calibration: the largest loss it may have
    return optimize.brentq(
        lambda eps0: l2_laplace_profile(epsilon, d, eps0) - delta,
        epsilon, 2 * epsilon + 20, xtol=1e-14)

# personalized/pdp_op ---------------------------------------------------------

def pdp_op(X, y, lam, epsilon, rng):  # alg-pdp-op
    d = X.shape[1]
    w = epsilon / epsilon.sum()
    B = min(1 / lam**0.5, d**0.5 / lam)
    C = 2 * d**0.5 / lam * (1 + d**0.5 * B)
    eta = epsilon.sum() / C
    A = (X.T * w) @ X + lam * np.eye(d)
    center = np.linalg.solve(A, X.T @ (w * y))
    U = rng.standard_normal(d)
    R = rng.gamma(d, 1 / eta)
    return center + R * U / np.linalg.norm(U)

# personalized/sampling -------------------------------------------------------

def sampled_ridge(X, y, lam, epsilon, t, rng):  # alg-jorgensen
    n, d = X.shape
    share = np.minimum(np.expm1(epsilon) / np.expm1(t), 1)
    n_bar = share.sum()
    W = n / n_bar
    B = min(np.sqrt(W / lam), W * np.sqrt(d) / lam)
    eta = t * n_bar * lam / (2 * np.sqrt(d) * (1 + np.sqrt(d) * B))
    kept = rng.random(n) < share
    Q, labels = X[kept], y[kept]
    H = Q.T @ Q / n_bar + lam * np.eye(d)
    center = np.linalg.solve(H, Q.T @ labels / n_bar)
    return center + sample_l2_laplace(d, eta, rng=rng)

# personalized/sums -----------------------------------------------------------

def pssp_laplace(X, y, epsilon, rng):  # thm-pssp-laplace
    d, total = X.shape[1], epsilon.sum()
    w, s = epsilon / total, max(1, d / 4)
    noise = d * (d + 1 + s)**2 / (2*d + 2) / total
    j, k = np.triu_indices(d)
    S = (X.T * w) @ X
    S[j, k] += rng.laplace(0, noise, len(j))
    S[k, j] = S[j, k]
    n = rng.laplace(0, noise / s, d)
    return S, X.T @ (w * y) + n

def ridge_of_sums(S, b, lam):  # thm-pssp-laplace
    values, V = np.linalg.eigh(S)
    gain = np.maximum(values, 0) + lam
    return V @ (V.T @ b / gain)

# personalized/objective ------------------------------------------------------

def weights_and_rate(epsilon, kappa):  # thm-objective-perturbation: equality for everybody
    low, high = epsilon.sum() - kappa, epsilon.sum()
    for _ in range(50):
        rate = (low + high) / 2
        w, top = np.zeros(len(epsilon)), epsilon / rate
        for _ in range(50):
            mid = (w + top) / 2
            fits = rate * mid + np.log1p(mid * kappa) <= epsilon
            w, top = np.where(fits, mid, w), np.where(fits, top, mid)
        low, high = (rate, high) if w.sum() > 1 else (low, rate)
    return w, rate

def huber_fit(X, y, w, lam, c, tilt=0):  # thm-huber-sensitivity
    def gradient(theta):
        pull = X.T @ (w * np.clip(y - X @ theta, -c, c))
        return tilt - 2 * pull + 2 * lam * theta

    return optimize.root(gradient, np.zeros(X.shape[1]), tol=1e-13).x

def objective_perturbation(X, y, lam, epsilon, rng, c=1.0):  # thm-objective-perturbation
    d = X.shape[1]
    w, rate = weights_and_rate(epsilon, d / lam)
    beta = rate / (4 * c * np.sqrt(d))
    tilt = sample_l2_laplace(d, beta, rng=rng)
    return huber_fit(X, y, w, lam, c, tilt)

# personalized/two_classes ----------------------------------------------------

def logistic_objective(X, y, lam, epsilon, rng):  # thm-logistic-objective
    d = X.shape[1]  # R^2; epsilon.sum() is at least d / lam
    w = epsilon / epsilon.sum()
    tilt = sample_l2_laplace(d, epsilon.sum() / (2 * np.sqrt(d)),
                             rng=rng)

    def gradient(theta):
        p = special.expit(-y * (X @ theta))
        return tilt - (w * p * y) @ X + 2 * lam * theta

    return optimize.root(gradient, np.zeros(d), tol=1e-13).x

# personalized/steps ----------------------------------------------------------

def noisy_descent(X, y, lam, epsilon, delta, steps, rng):  # prop-gradient-descent
    d, mu = X.shape[1], gaussian_mu(epsilon, delta)
    w, G = mu / mu.sum(), 2 * np.sqrt(d)  # Huber, with c = 1
    sigma, theta = 2 * G * np.sqrt(steps) / mu.sum(), np.zeros(d)
    for noise in rng.standard_normal((steps, d)):
        residual = np.clip(y - X @ theta, -1, 1)
        gradient = -2 * X.T @ (w * residual) + 2 * lam * theta
        theta = theta - (gradient + sigma * noise) / (2 * lam + d)
    return theta

def pssp_gaussian(X, y, epsilon, delta, rng):  # thm-pssp-gaussian
    d, mu = X.shape[1], gaussian_mu(epsilon, delta)
    w, s = mu / mu.sum(), np.sqrt(d / 3)
    scale = np.sqrt(d**2 + s**2 * d + 2.25 * s**4) / mu.sum()
    j, k = np.triu_indices(d)
    S = (X.T * w) @ X
    S[j, k] += rng.normal(0, np.where(j < k, scale / 2**0.5, scale))
    S[k, j] = S[j, k]
    return S, X.T @ (w * y) + rng.normal(0, scale / s, d)

def pdp_op_huber(X, y, lam, epsilon, delta, rng, c=1.0):  # thm-profile-calibration
    d = X.shape[1]
    loss = l2_laplace_eps0(epsilon, delta, d)
    eta = loss.sum() * lam / (2 * np.sqrt(d) * c)
    center = huber_fit(X, y, loss / loss.sum(), lam, c)
    return center + sample_l2_laplace(d, eta, rng=rng)

def personalized_mean(y, epsilon, rng):  # thm-pdp-op
    w, eta = epsilon / epsilon.sum(), epsilon.sum() / 2
    return w @ y + sample_l2_laplace(1, eta, rng=rng)[0]

# per_instance/ops ------------------------------------------------------------

def ops_exact(eps, leverage, residual):  # thm-ops-exact: add, remove
    r, h = np.array([residual, leverage]) / (1 + leverage)
    P = stats.norm(residual, np.sqrt(leverage))
    Q = stats.norm(r, np.sqrt(h))
    K = np.log1p(leverage) + residual * r
    w = np.sqrt(np.maximum(K + 2 * eps, 0))
    add = P.sf(w) + P.cdf(-w)
    add -= np.exp(eps) * (Q.sf(w) + Q.cdf(-w))
    w = np.sqrt(np.maximum(K - 2 * eps, 0))
    remove = Q.cdf(w) - Q.cdf(-w)
    remove -= np.exp(eps) * (P.cdf(w) - P.cdf(-w))
    return add, remove

# per_instance/adaops ---------------------------------------------------------

def adaops(G, b, epsilon, delta, N, kappa, rng):  # alg-adaops
    xi = rng.normal() + stats.norm.ppf(delta / 4)
    xi /= gaussian_mu(epsilon / 3, delta / 4)
    z = max(0, np.linalg.eigvalsh(G)[0] - 1 + xi)
    eps, left = 2 * epsilon / 3, delta / 2
    lam = max(0, N / (kappa * len(b)) - z, 1 - z)
    while max(ops_exact(eps, 1 / (z + lam), 0)) > left:
        lam = max(1, 2 * lam)
    mu = min(1 / (z + lam), 1 / (2 * lam + 1e-300))
    r = 1 + np.sqrt(N * (mu - lam * mu**2))
    s = largest_residual(eps, left, 1 / (z + lam))
    return posterior_sample(G, b, lam, (s / r) ** 2, rng)

# per_instance/adaops_proofs --------------------------------------------------

def largest_residual(eps, delta, leverage):  # alg-pdp-to-dp
    low, high = 0 * leverage, 1e4 + 0 * leverage
    for _ in range(80):
        s = (low + high) / 2
        good = np.maximum(*ops_exact(eps, leverage, s)) <= delta
        low, high = np.where(good, s, low), np.where(good, high, s)
    return low

def posterior_sample(G, b, lam, gamma, rng):  # thm-ops
    H = G + lam * np.eye(len(b))
    root = np.linalg.cholesky(gamma * H)
    noise = np.linalg.solve(root.T, rng.normal(size=len(b)))
    return np.linalg.solve(H, b) + noise

def ops_gamma(lam, epsilon, delta, N):  # alg-pdp-to-dp: over all weights of the data
    s = np.append(0, np.geomspace(1e-4 * lam, max(N, lam), 2000))
    fit = np.sqrt(N * s) / (s + lam)  # rises up to s = lam
    most = np.maximum(fit[:-1], fit[1:])
    rho = largest_residual(epsilon, delta, 1 / (s[:-1] + lam))
    return min((rho / (1 + most)) ** 2)

def adassp(X, y, epsilon, delta, failure, rng):  # prop-adassp
    d, G = X.shape[1], X.T @ X
    sigma = np.sqrt(3) / gaussian_mu(epsilon, delta)
    z = np.linalg.eigvalsh(G)[0] + sigma * (rng.normal() - 3)
    j, k = np.triu_indices(d)
    G[j, k] += rng.normal(0, sigma, len(j))
    G[k, j] = G[j, k]
    b = X.T @ y + rng.normal(0, sigma, d)
    tail = np.log(2 * d**2 / failure)
    lam = max(0, sigma * np.sqrt(d * tail) - max(0, z))
    return np.linalg.solve(G + lam * np.eye(d), b)

# per_instance/filters --------------------------------------------------------

def filtered_sums(ask, records, mu, sigma, rounds, rng):  # def-individual-filter
    left, said = mu**2, []
    for _ in range(rounds):
        x = ask(records, said)           # by the past
        cost = (x / sigma) ** 2
        part = cost <= left              # the filter
        left = left - part * cost
        total = part @ x
        said.append(total + sigma * rng.standard_normal())
    return np.array(said)

# user_level/mean -------------------------------------------------------------

def best_level(sizes, A, tau=1):  # prop-tradeoff-weights
    # part 3 of the lemma; tau: caps, see below
    order = np.argsort(-sizes / tau)
    r, t = sizes[order], (tau + 0 * sizes)[order]
    top = A * np.cumsum(t)
    return max(top / (1 + A * np.cumsum(t**2 / r)))

def private_mean(y, owner, B, eps, sigma2, rng):  # alg-wa
    # y must lie in an interval of width B
    s = np.bincount(owner)
    A = sigma2 / (2 * B**2)
    w = np.minimum(s, eps * best_level(s, A, eps))
    w = w / w.sum()
    noise = rng.laplace(0, B * max(w / eps))
    return (w / s)[owner] @ y + noise

# user_level/mean_limits ------------------------------------------------------

def limit_records(owner, h, rng):  # claim-sample-limit: h of each, drawn at random
    order = np.lexsort((rng.random(len(owner)), owner))
    first = np.searchsorted(owner[order], owner[order])
    kept = np.empty(len(owner), dtype=bool)
    kept[order] = np.arange(len(owner)) - first < h
    return kept

def limited_mean(y, owner, kept, B, eps, rng):  # claim-sample-limit
    c = kept / kept.sum()
    noise = rng.laplace(0, B * max(np.bincount(owner, c) / eps))
    return c @ y + noise

# user_level/quantiles --------------------------------------------------------

def quantile_masses(y, level, users, epsilon, weights):  # prop-quantile-privacy
    c, order = weights / weights.sum(), np.argsort(y)
    w = np.bincount(users, c)
    r = np.minimum(w, level) + np.minimum(w, 1 - level)
    rate = 1 / max(r / epsilon)
    edges = np.r_[0, y[order], 1]  # bounds 0 and 1
    left = np.r_[0, np.cumsum(c[order])]  # share so far
    log_mass = np.log(np.diff(edges)) - rate * abs(left - level)
    mass = np.exp(log_mass - log_mass.max())
    return edges, mass / mass.sum()

def private_quantile(y, level, users, epsilon, weights, rng):  # prop-quantile-privacy
    edges, mass = quantile_masses(y, level, users, epsilon, weights)
    k = rng.choice(len(mass), p=mass)
    return rng.uniform(edges[k], edges[k + 1])

# user_level/erm --------------------------------------------------------------

def users_gradient(theta, X, y, users, w):  # alg-weighted-erm: logistic loss, L = 1
    r = -y * (w / np.bincount(users))[users] / (1 + np.exp(X @ theta * y))
    g = np.array([r[users == u] @ X[users == u] for u in range(len(w))])
    return np.minimum(1, w / np.linalg.norm(g, axis=1)) @ g

def weighted_erm(X, y, users, epsilon, delta, R, T, rng):  # alg-weighted-erm
    w, t = weights_for_erm(np.bincount(users), epsilon, delta, X.shape[1])
    sigma, theta, total = t * np.sqrt(2 * T), *np.zeros((2, X.shape[1]))
    eta = R / np.sqrt((T + 1) * (1 + len(theta) * sigma**2))
    for noise in rng.standard_normal((T, len(theta))):
        g = users_gradient(theta, X, y, users, w) + sigma * noise
        theta = theta - eta * g
        theta *= R / max(R, np.linalg.norm(theta))
        total += theta
    return total / (T + 1)

# user_level/erm_bounds -------------------------------------------------------

def weights_for_erm(sizes, epsilon, delta, d):  # thm-weighted-erm: and the noise per step
    tail = np.log(1 / delta)
    root = np.sqrt(epsilon + tail) - np.sqrt(tail)  # of rho
    K = 2 + np.sqrt(2 * d * np.log1p(2 * sizes.sum()**0.5) + 2 * np.log(2))
    level = best_level(sizes, K**2 / (4 * d), root)
    w = np.minimum(sizes, level * root)
    return w / w.sum(), max(w / w.sum() / root)

def noisy_minimizer(X, y, users, epsilon, A, lam, rng):  # prop-logistic: logistic loss
    s = np.bincount(users)
    w = np.minimum(s, epsilon * best_level(s, A, epsilon))
    c, t = (w / w.sum() / s)[users], max(w / w.sum() / epsilon)

    def gradient(theta):
        slope = y / (1 + np.exp(y * (X @ theta)))
        return lam * theta - X.T @ (c * slope)

    theta = optimize.root(gradient, np.zeros(X.shape[1]), tol=1e-13).x
    noise = sample_l2_laplace(len(theta), lam / (2 * t), rng=rng)
    return theta + noise

# user_level/gwa --------------------------------------------------------------

def gwa(X, users, sigma2, tau):  # thm-gwa
    import cvxpy as cp
    C, b = cp.Variable(X.T.shape), cp.Variable()
    fair = [cp.sum(cp.abs(C[:, users == k])) <= tau[k] * b
            for k in range(len(tau))]
    value = sigma2 * cp.sum_squares(C) + 2 * X.shape[1] * cp.square(b)
    cp.Problem(cp.Minimize(value), [C @ X == np.eye(X.shape[1]), *fair]
               ).solve("CLARABEL", tol_gap_rel=1e-12, tol_gap_abs=1e-12)
    return C.value

def gwa_release(C, y, users, tau, rng):  # alg-gwa
    b = max(np.bincount(users, np.abs(C).sum(axis=0)) / tau)
    return C @ y + rng.laplace(0, b, len(C))

# user_level/gwa_dual ---------------------------------------------------------

def limited_regression(X, y, users, kept, tau, rng):  # prop-sample-limit-regression
    C = np.zeros(X.T.shape)
    C[:, kept] = np.linalg.pinv(X[kept])
    return gwa_release(C, y, users, tau, rng)

# user_level/gwa_variants -----------------------------------------------------

def two_stage_gwa(X, y, users, sigma2, B, eps, share, reach, rng):  # prop-two-stage
    tau = share * eps / B
    P = gwa(X, users, sigma2, tau)
    first = gwa_release(P, y, users, tau, rng)
    b = max(np.bincount(users, np.abs(P).sum(axis=0)) / tau)
    V = sigma2 * P @ P.T + 2 * b**2 * np.eye(len(P))
    t = reach * np.sqrt(sigma2 + np.sum(V * (X.T @ X)) / len(X))
    tau = (1 - share) * eps / (2 * t)  # residuals have a width of 2t
    C = gwa(X, users, sigma2, tau)
    residual = np.clip(y - X @ first, -t, t)
    return first + gwa_release(C, residual, users, tau, rng)

# pac/noise -------------------------------------------------------------------

def anisotropic_noise(v, V, tau):  # prop-anisotropic: v of everybody, (n, p), or of one
    e = np.sqrt(v) * np.sqrt(v).sum(axis=-1, keepdims=True) / tau
    return V * np.atleast_2d(e).max(axis=0) @ V.T

# pac/printed -----------------------------------------------------------------

def ridge_of_half(X, y, half, alpha):  # alg-pac-release
    Z = np.column_stack([X, np.ones(len(X))])
    G = Z[half].T @ Z[half] + alpha * np.diag([1.0] * X.shape[1] + [0])
    return np.linalg.solve(G, Z[half].T @ y[half])

def pac_release(X, y, half, alpha, Sigma, center, radius, rng):  # alg-pac-release
    away = ridge_of_half(X, y, half, alpha) - center
    length = np.sqrt(away @ np.linalg.solve(Sigma, away))
    noise = np.linalg.cholesky(Sigma) @ rng.standard_normal(len(away))
    return center + away * min(1, radius / length) + noise

# pac/dpsgd -------------------------------------------------------------------

def dpsgd(X, y, q, b, C, learning_rate, steps, sigma, rng):  # alg-dpsgd
    theta = np.zeros(X.shape[1])
    for _ in range(steps):
        size = rng.binomial(len(X), q)  # so many of n coins came up
        S = rng.choice(len(X), size, replace=False, shuffle=False)
        slope = 2 * (X[S] @ theta - y[S])
        norm = np.abs(slope) * np.linalg.norm(X[S], axis=1)
        total = (slope * C / np.maximum(norm, C)) @ X[S]
        total += sigma * C * rng.standard_normal(X.shape[1])
        theta = theta - learning_rate * total / b
    return theta

# synthesis/your_data ---------------------------------------------------------

def centered_sums(X, y, epsilon, rng):  # thm-pssp-laplace
    d, total = X.shape[1], epsilon.sum()
    w, s, x = epsilon / total, max(1 / 2, d / 8), X - 1 / 2
    j, k = np.triu_indices(d)
    sums = np.concatenate([w @ (x[:, j] * x[:, k]), w @ x,
                           (w * y) @ x, [w @ y]])
    parts = np.repeat([1, s, s * d / 2], [len(j), 2 * d, 1])
    D = d * (d + 1) / 8 + 2 * s * d
    sums += rng.laplace(0, D / total / parts)
    S, m, b = np.zeros((d, d)), sums[-2*d-1:-d-1], sums[-d-1:-1]
    S[j, k] = S[k, j] = sums[:len(j)]
    return S + (m + m[:, None] + 1/2) / 2, b + sums[-1] / 2

# synthesis/in_practice -------------------------------------------------------

def on_a_grid(f, S, epsilon, g):  # prop-grid-noise
    steps = np.ceil(S / g) + len(f) - 1
    r = np.min(epsilon / steps)
    return np.floor(f / g + 0.5), r  # F and r
