"""Right answers that are not the reference: other roads to the same numbers."""

import math
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product

import cvxpy as cp
import numpy as np
import pandas as pd
from scipy import integrate, linalg, optimize, sparse, special, stats
from sklearn.linear_model import Ridge

from pdpbook.guarantees import BudgetAccount, GaussianDP, ZeroConcentratedDP
from pdpbook.per_instance import ops_epsilon


@dataclass(frozen=True)
class Right:
    exercise: str
    answer: object


right_answers = defaultdict(list)


def right(assignment, exercise):
    """Decorate a right answer."""

    def add(answer):
        right_answers[assignment].append(Right(exercise, answer))
        return answer

    return add


# --- foundations ---------------------------------------------------------------------------------

right("foundations", "truth_probability")(special.expit)


@right("foundations", "truth_probability")
def by_half_a_tangent(epsilon):
    return 0.5 + 0.5 * np.tanh(np.asarray(epsilon) / 2)


@right("foundations", "truth_probability")
def from_the_other_side(epsilon):
    small = np.exp(-np.asarray(epsilon, dtype=float))
    return 1 - small / (1 + small)


right("foundations", "truth_probability")(
    np.vectorize(lambda epsilon: 1 / (1 + math.exp(-epsilon)), otypes=[float])
)


@right("foundations", "sample_l2_laplace")
def row_after_row(d, eta, size, rng):
    rows = []
    for _ in range(size):
        u = rng.standard_normal(d)
        rows.append(rng.gamma(d, 1 / eta) * u / np.linalg.norm(u))
    return np.array(rows).reshape(size, d)


@right("foundations", "sample_l2_laplace")
def exponential_variables_added_up(d, eta, size, rng):
    u = rng.normal(size=(d, size))
    radius = rng.exponential(1 / eta, (d, size)).sum(axis=0)
    return (radius * u / np.sqrt((u**2).sum(axis=0))).T


@right("foundations", "sample_l2_laplace")
def by_quantiles(d, eta, size, rng):
    radius = stats.gamma.ppf(rng.random(size), d) / eta
    u = stats.multivariate_normal(np.zeros(d)).rvs(size, random_state=rng).reshape(size, d)
    return u * (radius / linalg.norm(u, axis=1))[:, None]


@right("foundations", "sample_l2_laplace")
def drawn_in_float32(d, eta, size, rng):
    u = rng.standard_normal((size, d), dtype=np.float32)
    radius = rng.standard_gamma(d, (size, 1), dtype=np.float32) / np.float32(eta)
    return radius * u / np.linalg.norm(u, axis=1, keepdims=True)


@right("foundations", "sample_l2_laplace")
def a_normal_mixture(d, eta, size, rng):
    """The noise is a normal vector whose variance is Gamma."""
    variance = 2 * rng.gamma((d + 1) / 2, 1, size) / eta**2
    return rng.normal(size=(size, d)) * np.sqrt(variance)[:, None]


@right("foundations", "weighted_ridge")
def by_scikit_learn(X, y, weights, lam):
    return Ridge(lam, fit_intercept=False, solver="svd").fit(X, y, sample_weight=weights).coef_


@right("foundations", "weighted_ridge")
def by_rows_for_the_penalty(X, y, weights, lam):
    root, d = np.sqrt(weights), X.shape[1]
    rows = np.vstack([root[:, None] * X, np.sqrt(lam) * np.eye(d)])
    return np.linalg.lstsq(rows, np.append(root * y, np.zeros(d)), rcond=None)[0]


@right("foundations", "weighted_ridge")
def by_a_diagonal_of_all_people(X, y, weights, lam):
    """Right, with memory for n x n numbers: that is allowed, no table is large."""
    W = np.diag(weights)
    return np.linalg.inv(X.T @ W @ X + lam * np.eye(X.shape[1])) @ X.T @ W @ y


@right("foundations", "weighted_ridge")
def by_people_instead_of_features(X, y, weights, lam):
    root = np.sqrt(weights)
    A = root[:, None] * X
    return A.T @ np.linalg.solve(A @ A.T + lam * np.eye(len(y)), root * y)


@right("foundations", "weighted_ridge")
def as_a_series(X, y, weights, lam):
    gram = X.T @ (np.asarray(weights)[:, None] * X) + lam * np.eye(X.shape[1])
    return pd.Series(linalg.solve(gram, X.T @ (weights * y), assume_a="pos"))


@right("foundations", "privacy_profile")
def by_the_masses_of_the_best_events(p, q, epsilon):
    e = math.exp(epsilon)
    forth, back = p > e * q, q > e * p
    return max(p[forth].sum() - e * q[forth].sum(), q[back].sum() - e * p[back].sum())


@right("foundations", "privacy_profile")
def in_fractions(p, q, epsilon):
    e = Fraction(math.exp(epsilon))
    pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(p, q, strict=True)]
    found = [
        sum(max(Fraction(0), a - e * b) for a, b in s) for s in (pairs, [x[::-1] for x in pairs])
    ]
    return float(max(found))


@right("foundations", "privacy_profile")
def by_what_the_laws_share(p, q, epsilon):
    e = np.exp(epsilon)
    return 1 - min(np.minimum(p, e * q).sum(), np.minimum(q, e * p).sum())


@right("foundations", "worst_event")
def output_by_output(p, q, epsilon):
    return np.array([bool(a - math.exp(epsilon) * b > 0) for a, b in zip(p, q, strict=True)])


@right("foundations", "epsilon_lower_bound")
def by_hoeffding(hits_p, draws_p, hits_q, draws_q, alarm):
    reach = [np.sqrt(np.log(2 / alarm) / (2 * n)) for n in (draws_p, draws_q)]
    low, high = hits_p / draws_p - reach[0], min(1.0, hits_q / draws_q + reach[1])
    return max(0.0, float(np.log(low / high))) if low > 0 else 0.0


@right("foundations", "epsilon_lower_bound")
def clopper_pearson(hits_p, draws_p, hits_q, draws_q, alarm):
    low, high = interval(hits_p, draws_p, alarm).low, interval(hits_q, draws_q, alarm).high
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


@cache  # the same few counts come again and again
def interval(hits, draws, alarm):
    """Both sides: half of the alarm on each."""
    return stats.binomtest(hits, draws).proportion_ci(1 - alarm, method="exact")


@right("foundations", "epsilon_lower_bound")
def by_inverse_beta_functions(hits_p, draws_p, hits_q, draws_q, alarm):
    low, high = 0.0, 1.0
    if hits_p > 0:
        low = special.betaincinv(hits_p, draws_p - hits_p + 1, alarm / 2)
    if hits_q < draws_q:
        high = special.betainccinv(hits_q + 1, draws_q - hits_q, alarm / 2)
    return float(np.log(low / high)) if low > high else 0.0


@right("foundations", "truth_probability")
def budgets_in_lists(epsilon):
    def each(part):
        return [each(one) for one in part] if isinstance(part, list) else 1 / (1 + math.exp(-part))

    return each(np.asarray(epsilon, dtype=float).tolist())


@right("foundations", "sample_l2_laplace")
def a_simplex_with_signs(d, eta, size, rng):
    u = np.sqrt(rng.dirichlet(np.full(d, 0.5), size)) * rng.choice([-1, 1], (size, d))
    return (rng.gamma(d, 1 / eta, (size, 1)) * u).tolist()


@right("foundations", "sample_l2_laplace")
def lengths_from_the_normal_ones(d, eta, size, rng):
    """The length of a normal vector says nothing of its direction, so it may be transformed."""
    z = rng.normal(size=(size, d))
    square = np.sum(z**2, axis=1, keepdims=True)
    return z / np.sqrt(square) * stats.gamma.isf(stats.chi2.sf(square, d), d) / eta


right("foundations", "squared_error_of_noise")(lambda d, eta: special.poch(d, 2) / eta**2)


@right("foundations", "squared_error_of_noise")
def an_integral(d, eta):
    def density(r):
        return math.exp((d + 1) * math.log(r) - r - math.lgamma(d)) if r > 0 else 0.0

    return integrate.quad(density, 0, 5 * d + 100, points=[d], limit=500)[0] / eta**2


@right("foundations", "weighted_ridge")
def by_a_search(X, y, weights, lam):
    def objective(theta):
        return np.sum(weights * (y - X @ theta) ** 2) + lam * theta @ theta

    def slope(theta):
        return 2 * (lam * theta - X.T @ (weights * (y - X @ theta)))

    H = 2 * (X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1]))
    start = np.zeros(X.shape[1])
    kind = {"method": "trust-exact", "options": {"gtol": 1e-9 * (1 + lam)}}
    return optimize.minimize(objective, start, jac=slope, hess=lambda _: H, **kind).x


@right("foundations", "weighted_ridge")
def by_singular_values_of_weighted_rows(X, y, weights, lam):
    root = np.sqrt(weights)
    U, s, V = np.linalg.svd(root[:, None] * X, full_matrices=False)
    return pd.Series(V.T @ (s / (s**2 + lam) * (U.T @ (root * y))))


@right("foundations", "privacy_profile")
def by_a_linear_program(p, q, epsilon):
    e = np.exp(epsilon)
    return max(-optimize.linprog(-(a - e * b), bounds=(0, 1)).fun for a, b in ((p, q), (q, p)))


@right("foundations", "worst_event")
def by_logarithms(p, q, epsilon):
    with np.errstate(all="ignore"):
        return np.log(p) - np.log(q) > epsilon


@right("foundations", "worst_event")
def a_list_of_verdicts(p, q, epsilon):
    return [bool(a * math.exp(-epsilon) > b) for a, b in zip(p, q, strict=True)]


@right("foundations", "epsilon_lower_bound")
def an_alarm_for_independent_sides(hits_p, draws_p, hits_q, draws_q, alarm):
    """Both bounds hold with a chance of 1 - alarm, as the counts are independent."""
    each = -math.expm1(math.log1p(-alarm) / 2)
    return by_binomial_tails(hits_p, draws_p, hits_q, draws_q, each, each)


@right("foundations", "epsilon_lower_bound")
def an_alarm_in_unequal_parts(hits_p, draws_p, hits_q, draws_q, alarm):
    return by_binomial_tails(hits_p, draws_p, hits_q, draws_q, 0.4 * alarm, 0.6 * alarm)


def by_binomial_tails(hits_p, draws_p, hits_q, draws_q, first, second):
    low, high = 0.0, 1.0
    if hits_p > 0:
        low = (
            special.bdtri(hits_p - 1, draws_p, 1 - first)
            if first > 1e-9
            else special.betaincinv(hits_p, draws_p - hits_p + 1, first)
        )
    if hits_q < draws_q:
        high = special.bdtri(hits_q, draws_q, second)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


# --- personalized --------------------------------------------------------------------------------


@right("personalized", "budget_shares")
def shares_as_a_series(epsilon):
    return pd.Series(epsilon) / pd.Series(epsilon).sum()


@right("personalized", "furthest_move")
def no_further_than_two_fits_are_apart(weights, lam, d):
    """A fit is never longer than `norm`: no s / (s^2 + lam) is above 1 / (2 sqrt(lam))."""
    norm = min(1 / (2 * np.sqrt(lam)), np.sqrt(d) / lam)
    return np.minimum(weights * 2 * np.sqrt(d) * (1 + np.sqrt(d) * norm) / lam, 2 * norm)


@right("personalized", "worst_neighbor")
def by_one_stack_of_fits(X, y, weights, i, lam):
    d = X.shape[1]
    corners = np.array(list(product([0, 1], repeat=d)) * 2, dtype=float)
    labels = np.repeat([-1.0, 1.0], 2**d)
    rest = np.arange(len(y)) != i
    gram = X[rest].T @ (weights[rest, None] * X[rest]) + lam * np.eye(d)
    side = X[rest].T @ (weights[rest] * y[rest])
    grams = gram + weights[i] * corners[:, :, None] * corners[:, None]
    fits = np.linalg.solve(grams, (side + (weights[i] * labels)[:, None] * corners)[..., None])
    now = Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=weights).coef_
    best = np.argmax(np.linalg.norm(fits[..., 0] - now, axis=1))
    return corners[best].tolist(), labels[best]


@right("personalized", "chance_to_be_kept")
def one_at_a_time(epsilon, t):
    kept = [1.0 if e >= t else math.exp(e - t) * math.expm1(-e) / math.expm1(-t) for e in epsilon]
    return np.array(kept)


@right("personalized", "furthest_move")
def by_singular_values_of_the_crowd(weights, lam, d):
    """No fit is longer than the largest s / (s**2 + lam), which is half of 1 / sqrt(lam)."""
    length = min(0.5 / math.sqrt(lam), math.sqrt(d) / lam)
    bound = 2 * math.sqrt(d) / lam * (1 + math.sqrt(d) * length)
    return [min(w * bound, 2 * length) for w in weights]


@right("personalized", "worst_neighbor")
def by_updates_of_rank_one(X, y, weights, i, lam):
    others = np.arange(len(y)) != i
    A, b, w = X[others], y[others], weights[others]
    G = np.linalg.inv(A.T @ (w[:, None] * A) + lam * np.eye(X.shape[1]))
    H = np.linalg.inv(X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1]))
    without, fit = G @ A.T @ (w * b), H @ X.T @ (weights * y)
    rows, best = np.array(list(product([0.0, 1.0], repeat=X.shape[1]))), (-1.0, None, None)
    for label in (-1, 1):
        lever = np.sum(rows @ G * rows, axis=1)
        step = weights[i] * (label - rows @ without) / (1 + weights[i] * lever)
        moves = np.linalg.norm(without + step[:, None] * (rows @ G) - fit, axis=1)
        k = int(np.argmax(moves))
        best = max(best, (moves[k], k, label), key=lambda one: one[0])
    return rows[best[1]].tolist(), best[2]


right("personalized", "noise_reach")(lambda eta, d, chance: special.gammainccinv(d, chance) / eta)


@right("personalized", "noise_reach")
def by_a_root_of_the_logarithm(eta, d, chance):
    def over(r):
        return stats.gamma.logsf(r, d) - math.log(chance)

    return optimize.brentq(over, 0, 1000 + 10 * d, xtol=1e-12, rtol=1e-14) / eta


@right("personalized", "chance_to_be_kept")
def one_budget_after_another(epsilon, t):
    def chance(one):
        return 1.0 if one >= t else math.exp(one - t) * math.expm1(-one) / math.expm1(-t)

    return [chance(one) for one in epsilon]


@right("personalized", "worst_pair")
def one_coordinate_after_another(d, scale):
    z = np.zeros(d)
    for _ in range(500):
        for j in range(d):
            z[j] = np.clip((scale - z.sum() + z[j]) / 2, 0, 1)
    return [[[1] * d, -1], [z.tolist(), 1]]


# --- per_instance --------------------------------------------------------------------------------


@right("per_instance", "leverages")
def from_the_hat_matrix(X, lam):
    """Right, with memory for n x n numbers: that is allowed, no table is large."""
    return np.diag(X @ np.linalg.inv(X.T @ X + lam * np.eye(X.shape[1])) @ X.T)


@right("per_instance", "leverages")
def from_singular_values(X, lam):
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    return left**2 @ (values**2 / (values**2 + lam))


@right("per_instance", "private_eigenvalue_bound")
def by_singular_values(X, epsilon, beta, rng):
    d = X.shape[1]  # with fewer people than features, rows of zeros make up for the rest
    smallest = linalg.svdvals(np.vstack([X, np.zeros((d, d))]))[-1] ** 2
    noise = (rng.exponential() - rng.exponential()) / epsilon
    return np.maximum(smallest + noise + np.log(2 * beta) / epsilon, 0)


@right("per_instance", "private_eigenvalue_bound")
def by_the_quantile_of_the_noise(X, epsilon, beta, rng):
    def quantile(share):  # of the law of Laplace
        return math.log(2 * share) if share < 0.5 else -math.log(2 - 2 * share)

    noise = (quantile(rng.random()) - quantile(1 - beta)) / epsilon
    return max(0.0, float(np.linalg.eigvalsh(X.T @ X).min() + noise))


@right("per_instance", "leverages")
def by_singular_values_of_rows(X, lam):
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return pd.Series(U**2 @ (s**2 / (s**2 + lam)))


@right("per_instance", "fits_without_each")
def a_stack_of_equations(X, y, lam):
    H = X.T @ X + lam * np.eye(X.shape[1])
    left = H - X[:, :, None] * X[:, None, :]
    return np.linalg.solve(left, (X.T @ y - y[:, None] * X)[..., None])[..., 0].tolist()


@right("per_instance", "loss_at_release")
def by_the_residual_alone(theta, X, y, i, lam, gamma):
    others = np.arange(len(y)) != i
    A, b = X[others], y[others]
    H = A.T @ A + lam * np.eye(X.shape[1])
    leverage = X[i] @ np.linalg.solve(H, X[i])
    residual = y[i] - X[i] @ np.linalg.solve(H, A.T @ b)
    v = y[i] - np.asarray(theta) @ X[i]
    return (gamma * (v**2 - residual**2 / (1 + leverage)) - np.log1p(leverage)) / 2


@right("per_instance", "delta_both_ways")
def one_less_the_common_part(epsilon, leverage, scaled_residual):
    """On a grid that ends at 5.2 deviations: its errors are some 2e-7, also where delta is 0."""
    p = stats.norm(scaled_residual, np.sqrt(leverage))
    q = stats.norm(scaled_residual / (1 + leverage), np.sqrt(leverage / (1 + leverage)))

    def left(p, q):
        v = p.mean() + p.std() * np.linspace(-5.2, 5.2, 20_001)
        with np.errstate(over="ignore"):
            both = np.exp(np.minimum(p.logpdf(v), epsilon + q.logpdf(v)))
        return 1 - np.trapezoid(both, v)

    return left(p, q), left(q, p)


@right("per_instance", "delta_both_ways")
def by_a_fine_grid(epsilon, leverage, scaled_residual):
    spread = math.sqrt(leverage)
    v = scaled_residual / (1 + leverage) - 9 * spread, scaled_residual + 9 * spread
    v = np.linspace(*v, 100_001)
    p = stats.norm.pdf(v, scaled_residual, spread)
    q = stats.norm.pdf(v, scaled_residual / (1 + leverage), spread / math.sqrt(1 + leverage))
    e = math.exp(epsilon)
    return [np.trapezoid(np.maximum(one, 0), v) for one in (p - e * q, q - e * p)]


@right("per_instance", "most_exposed_people")
def sorted_after_refits(X, y, lam, gamma, delta, k):
    losses = []
    for i in range(len(y)):
        A, b = np.delete(X, i, axis=0), np.delete(y, i)
        H = A.T @ A + lam * np.eye(X.shape[1])
        off = abs(y[i] - X[i] @ np.linalg.solve(H, A.T @ b))
        lever = X[i] @ np.linalg.solve(H, X[i])
        losses.append(float(ops_epsilon(delta, lever, math.sqrt(gamma) * off)))
    return sorted(range(len(y)), key=lambda i: -losses[i])[:k]


@right("per_instance", "private_eigenvalue_bound")
def cut_off_twice(X, epsilon, beta, rng):
    """Both cuts are one, as what is subtracted is above 0."""
    noisy = max(0.0, np.linalg.eigvalsh(X.T @ X)[0] + rng.laplace(0, 1 / epsilon))
    return np.array(max(0.0, noisy - exceeded_with_chance(beta, epsilon)))


@cache  # a property asks a hundred thousand times for the same two numbers
def exceeded_with_chance(beta, epsilon):
    return stats.laplace.isf(beta, scale=1 / epsilon)


@right("per_instance", "accuse")
def by_a_chance_for_each_release(theta, X, y, x, label, lam, gamma, alarm):
    H = X.T @ X + lam * np.eye(len(x))
    spread = math.sqrt(x @ np.linalg.solve(H, x) / gamma)
    off, v = label - x @ np.linalg.solve(H, X.T @ y), np.abs(label - theta @ x)
    inside = stats.norm.cdf((v - off) / spread) - stats.norm.cdf((-v - off) / spread)
    return [bool(one <= alarm) for one in inside]


# --- accounting ----------------------------------------------------------------------------------


@right("accounting", "epsilon_in_all")
def account_by_account(costs, reads):
    totals = [0.0] * reads.shape[1]
    for cost, row in zip(costs, reads, strict=True):
        for person in np.flatnonzero(row):
            totals[person] += float(cost)
    return totals


@right("accounting", "delta_in_all")
def by_the_law_of_the_summed_loss(epsilon, delta, k, total):
    """One release after the other: chances that cannot cancel."""
    law = np.ones(1)
    for _ in range(k):
        law = np.convolve(law, [special.expit(epsilon), special.expit(-epsilon)])
    loss = epsilon * (k - 2 * np.arange(k + 1))
    excess = law[loss > total] @ (1 - np.exp(total - loss[loss > total]))
    return -math.expm1(k * math.log1p(-delta)) + (1 - delta) ** k * excess


@right("accounting", "delta_in_all")
def by_two_tails(epsilon, delta, k, total):
    """The event is that few of the answers are lies: two binomial chances."""
    most = math.ceil((k - total / epsilon) / 2 - 1e-12) - 1
    chance = special.expit(-epsilon)
    here, there = stats.binom.logcdf(most, k, [chance, 1 - chance])
    excess = math.exp(here) - math.exp(total + there) if most >= 0 else 0.0
    return 1 - (1 - delta) ** k * (1 - excess)


@right("accounting", "epsilon_by_zcdp")
def as_the_package_converts(epsilons, multipliers, delta):
    rho = sum(e * math.tanh(e / 2) for e in epsilons) + sum(1 / (2 * m * m) for m in multipliers)
    if rho == 0:
        return 0.0
    return ZeroConcentratedDP(rho, neighbors="replace-one").to_approximate(delta).epsilon


@right("accounting", "epsilon_by_zcdp")
def by_a_search_for_the_order(epsilons, multipliers, delta):
    rho = float(epsilons @ np.tanh(epsilons / 2) + np.sum(multipliers**-2.0) / 2)
    if rho == 0:
        return 0

    def proved(power):
        order = 1 + math.exp(power)
        log = math.log(delta) + math.log(order)
        return order * rho + math.log1p(-1 / order) - log / (order - 1)

    found = optimize.minimize_scalar(proved, bounds=(-9, 25), method="bounded")
    return max(0, found.fun)


@right("accounting", "answers_within")
def in_whole_thousandths(ask, release, budgets, rounds):
    limit = np.rint(np.multiply(budgets, 1000)).astype(int) ** 2
    spent, said = 0 * limit, []
    for _ in range(rounds):
        after = spent + np.rint(1000 * np.asarray(ask(said))).astype(int) ** 2
        if (after > limit).any():
            said.append(None)
            continue
        spent = after
        said.append(release(said))
    return said


@right("accounting", "answers_within")
def with_an_account_of_the_package(ask, release, budgets, rounds):
    account, said = BudgetAccount(budgets, kind=GaussianDP, neighbors="zero-out"), []
    for _ in range(rounds):
        moves = np.asarray(ask(said))
        try:
            account.spend(GaussianDP(moves, neighbors="zero-out"))
        except ValueError:
            said.append(None)
        else:
            said.append(release(said))
    return tuple(said)


# --- user_level ----------------------------------------------------------------------------------


@right("user_level", "best_user_weights")
def by_a_general_solver(sizes, A):
    m = len(sizes)
    start = np.append(np.full(m, 1 / m), 1 / m)
    found = optimize.minimize(
        lambda z: z[-1] ** 2 + A * np.sum(z[:-1] ** 2 / sizes),
        start,
        jac=lambda z: np.append(2 * A * z[:-1] / sizes, 2 * z[-1]),
        bounds=[(0, None)] * (m + 1),
        constraints=[
            {"type": "eq", "fun": lambda z: z[:-1].sum() - 1},
            {"type": "ineq", "fun": lambda z: z[-1] - z[:-1]},
        ],
        options={"ftol": 1e-15, "maxiter": 1000},
        method="SLSQP",
    )
    return np.maximum(found.x[:-1], 0) / np.maximum(found.x[:-1], 0).sum()


@right("user_level", "noise_scale_for_users")
def by_pandas(c, users, width, epsilon):
    weight = pd.Series(c).groupby(users).sum().reindex(range(len(epsilon)))
    return (weight * width / epsilon).max()


@right("user_level", "noise_scale_for_users")
def user_after_user(c, users, width, epsilon):
    moved = [0.0] * len(epsilon)
    for weight, user in zip(c, users, strict=True):
        moved[user] += float(weight) * width
    return max(move / nats for move, nats in zip(moved, epsilon, strict=True))


@right("user_level", "best_user_weights")
def by_a_ceiling_and_a_list(sizes, A):
    low, high = 0.0, float(max(sizes))
    for _ in range(100):
        h = (low + high) / 2
        low, high = (h, high) if h < A * sum(max(0, 1 - h / s) for s in sizes) else (low, h)
    return [min(s, high) / sum(min(r, high) for r in sizes) for s in sizes]


@right("user_level", "rows_that_count")
def by_brent(sizes, A):
    return optimize.brentq(lambda h: h - A * np.maximum(0, 1 - h / sizes).sum(), 0, max(sizes))


@right("user_level", "rows_that_count")
def by_filling_up(sizes, A):
    h = inverse = 0.0
    for k, size in enumerate(sorted(map(float, sizes), reverse=True), start=1):
        if size <= h:
            break
        inverse += 1 / size
        h = A * k / (1 + A * inverse)
    return h


@right("user_level", "cap_contributions")
def ranks_of_pandas(users, m, rng):
    return pd.Series(rng.random(len(users))).groupby(users).rank(method="first") <= m


@right("user_level", "cap_contributions")
def first_come_in_a_random_order(users, m, rng):
    kept, seen = [False] * len(users), defaultdict(int)
    for row in rng.permutation(len(users)):
        seen[users[row]] += 1
        kept[row] = seen[users[row]] <= m
    return kept


@right("user_level", "cap_contributions")
def a_reservoir(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        chosen = own[:m].copy()
        for k in range(m, len(own)):
            place = rng.integers(k + 1)
            if place < m:
                chosen[place] = own[k]
        kept[chosen] = True
    return kept


@right("user_level", "gwa_problem")
def without_a_scale(X, users, sigma2, tau):
    n, d = X.shape
    C = cp.Variable((d, n), name="C")
    moves = [cp.norm1(C[:, users == k]) / tau[k] for k in range(len(tau))]
    cost = sigma2 * cp.norm(C, "fro") ** 2 + 2 * d * cp.square(cp.max(cp.hstack(moves)))
    return cp.Problem(cp.Minimize(cost), [X.T @ C.T == np.eye(d)])


@right("user_level", "gwa_problem")
def up_and_down_apart(X, users, sigma2, tau):
    n, d = X.shape
    C, b = cp.Variable((d, n), name="C"), cp.Variable(nonneg=True)
    up, down = cp.Variable((d, n), nonneg=True), cp.Variable((d, n), nonneg=True)
    own = (users[:, None] == np.arange(len(tau))).astype(float)
    limits = [cp.sum((up + down) @ own, axis=0) <= tau * b, up - down == C, C @ X == np.eye(d)]
    return cp.Problem(cp.Minimize(sigma2 * cp.sum_squares(C) + 2 * d * b**2), limits)


@right("user_level", "median_law")
def cumulated_weights(y, users, grid, epsilon):
    m, order = len(np.unique(users)), np.argsort(y)
    total = np.append(0, np.cumsum((1 / m / np.bincount(users)[users])[order]))
    low, high = (total[np.searchsorted(y[order], grid, side)] for side in ("left", "right"))
    return special.softmax(-m * epsilon / 2 * np.abs(0.5 - np.clip(0.5, low, high)))


@right("user_level", "median_law")
def by_ratios(y, users, grid, epsilon):
    own = [np.asarray(y)[np.asarray(users) == user] for user in range(max(users) + 1)]
    scores = []
    for z in grid:
        low, high = (np.mean([f(v, z).mean() for v in own]) for f in (np.less, np.less_equal))
        scores.append(max(0.0, low - 0.5, 0.5 - high))
    nats = -epsilon * len(own) / 2 * np.array(scores)
    return [1 / float(np.exp(nats - one).sum()) for one in nats]


@right("user_level", "user_epsilon")
def by_halving(rows, epsilon, delta):
    def missing(e, mu):
        one, two = special.log_ndtr(mu / 2 - e / mu), e + special.log_ndtr(-mu / 2 - e / mu)
        return one + math.log(-math.expm1(min(two - one, -1e-300))) <= math.log(delta)

    low, high = 1e-4, 50.0
    for _ in range(200):
        mid = math.sqrt(low * high)
        low, high = (mid, high) if missing(epsilon, mid) else (low, mid)
    low, mu = 0.0, rows * high
    high = mu**2 / 2 + 20 * mu
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (low, mid) if missing(mid, mu) else (mid, high)
    return high


@right("user_level", "user_epsilon")
def by_scaled_tails(rows, epsilon, delta):
    def excess(e, mu):
        left, right = e / mu - mu / 2, e / mu + mu / 2
        one = special.ndtr(-left)
        return one - np.exp(-(left**2) / 2) / 2 * special.erfcx(right / np.sqrt(2)) - delta

    mu = rows * optimize.brentq(lambda mu: excess(epsilon, mu), 1e-3, 50, xtol=1e-14)
    return optimize.brentq(excess, 0, mu**2 / 2 + 20 * mu, args=(mu,), xtol=1e-12)


# --- pac -----------------------------------------------------------------------------------------


@right("pac", "clipped_step")
def person_by_person(gradients, clip_norm, batch_size):
    total = np.zeros(gradients.shape[1])
    for gradient in gradients:
        length = math.hypot(*gradient)
        total += gradient if length <= clip_norm else gradient * (clip_norm / length)
    return total / batch_size


@right("pac", "clipped_step")
def with_a_little_in_the_denominator(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1)
    return np.minimum(1, clip_norm / (length + 1e-6)) @ gradients / batch_size


@right("pac", "clipped_step")
def as_a_sparse_product(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1)
    shrink = np.where(length > clip_norm, clip_norm / np.where(length > 0, length, 1), 1.0)
    return np.ravel(sparse.csr_array(shrink[None]) @ gradients) / batch_size


right("pac", "clipped_step")(
    lambda gradients, clip_norm, batch_size: [
        sum(g[j] / max(1.0, math.hypot(*g) / clip_norm) for g in gradients) / batch_size
        for j in range(gradients.shape[1])
    ]
)


@right("pac", "half_covariance")
def one_half_after_another(output, n, draws, rng):
    mean, total = 0.0, 0.0
    for t in range(1, draws + 1):
        value = output(rng.integers(0, 2, n).astype(bool))
        off = value - mean
        mean = mean + off / t
        total = total + np.outer(off, value - mean)
    return total / (draws - 1)


@right("pac", "half_covariance")
def as_many_as_come(output, n, draws, rng):
    values = []
    for _ in range(draws):
        half = np.zeros(n, dtype=bool)
        half[rng.permutation(n)[: rng.binomial(n, 0.5)]] = True
        values.append(list(output(half)))
    return pd.DataFrame(values).cov()


@right("pac", "gaussian_information")
def by_two_determinants(S, B):
    return (np.linalg.slogdet(S + B)[1] - np.linalg.slogdet(B)[1]) / 2


@right("pac", "gaussian_information")
def by_ratios_of_variances(S, B):
    return np.log1p(np.maximum(linalg.eigh(S, B, eigvals_only=True), 0)).sum() / 2


@right("pac", "cheapest_noise")
def from_singular_values_of_a_covariance(S, v):
    axes, variances, _ = np.linalg.svd(S)
    root = np.sqrt(np.where(variances > 1e-13 * variances.max(), variances, 0))
    return ((axes * root) @ axes.T * root.sum() / (2 * v)).tolist()


@right("pac", "cheapest_noise")
def by_a_matrix_root(S, v):
    variances, axes = np.linalg.eigh(S)
    moved = axes[:, variances > 1e-12 * variances.max()]
    root = np.real(linalg.sqrtm(moved.T @ S @ moved))
    return moved @ root @ moved.T * np.trace(root) / (2 * v)


@right("pac", "success_bound")
def by_bisection(v, prior):
    low, high = prior, 1.0
    if -math.log(prior) <= v:
        return 1
    for _ in range(60):
        p = (low + high) / 2
        told = p * math.log(p / prior) + (1 - p) * math.log((1 - p) / (1 - prior))
        low, high = (p, high) if told <= v else (low, p)
    return low


@right("pac", "success_bound")
def by_log_odds(v, prior):
    if v >= -np.log(prior):
        return 1.0
    start = special.logit(prior)

    def excess(t):
        p = special.expit(t)
        return p * (t - start) - np.logaddexp(0, t) - np.log1p(-prior) - v

    return special.expit(optimize.brentq(excess, start, 745, xtol=1e-15)) if v > 0 else prior


@right("pac", "best_guess_rate")
def by_an_error_function(shift, covariance):
    white = linalg.solve_triangular(np.linalg.cholesky(covariance), shift, lower=True)
    return (1 + math.erf(math.hypot(*white) / math.sqrt(8))) / 2


@right("pac", "best_guess_rate")
def along_the_axes(shift, covariance):
    variances, axes = np.linalg.eigh(covariance)
    return special.ndtr(np.sqrt(np.sum((axes.T @ shift) ** 2 / variances)) / 2)


@right("pac", "guess_members")
def by_logarithms_of_densities(releases, outside, inside, covariance, prior):
    within = stats.multivariate_normal(inside, covariance).logpdf(releases)
    without = stats.multivariate_normal(outside, covariance).logpdf(releases)
    return np.atleast_1d(within + np.log(prior) > without + np.log1p(-prior))


@right("pac", "guess_members")
def release_by_release(releases, outside, inside, covariance, prior):
    inverse, found = np.linalg.inv(covariance), []
    for z in releases:
        far = [float((z - mean) @ inverse @ (z - mean)) for mean in (outside, inside)]
        found.append(far[0] - far[1] >= 2 * math.log((1 - prior) / prior))
    return found


# --- dpsgd ---------------------------------------------------------------------------------------


@right("dpsgd", "clipped_gradients")
def gradients_person_by_person(theta, X, y, clip_norm):
    rows = []
    for x, label in zip(X, y, strict=True):
        one = [2 * (sum(a * b for a, b in zip(x, theta, strict=True)) - label) * a for a in x]
        length = math.hypot(*one)
        rows.append(one if length <= clip_norm else [a / length * clip_norm for a in one])
    return np.reshape(rows, X.shape)


@right("dpsgd", "clipped_gradients")
def by_the_smaller_of_two_factors(theta, X, y, clip_norm):
    gradients = -2 * X * (y - X @ theta)[:, np.newaxis]
    length = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))
    with np.errstate(divide="ignore"):
        factor = np.minimum(1, clip_norm / length)
    return (gradients.T * factor).T


@right("dpsgd", "clipped_gradients")
def slopes_are_cut_before_the_rows(theta, X, y, clip_norm):
    rows = np.linalg.norm(X, axis=1)
    most = np.divide(clip_norm, rows, out=np.full(len(X), np.inf), where=rows > 0)
    return np.clip(2 * (X @ theta - y), -most, most)[:, None] * X


@right("dpsgd", "noisy_average")
def noise_first_and_a_list_of_coins(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n, d = np.shape(gradients)
    total = [rng.normal(0, noise_multiplier * clip_norm) for _ in range(d)]
    for k in range(n):
        if rng.binomial(1, rate):
            total = total + gradients[k]
    return list(np.array(total) / batch_size)


@right("dpsgd", "noisy_average")
def so_many_of_all_and_then_who(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n, d = gradients.shape
    batch = rng.permutation(n)[: rng.binomial(n, rate)]
    average = np.ones(len(batch)) @ gradients[batch] / batch_size
    return average + rng.normal(size=d) * (noise_multiplier * clip_norm / batch_size)


@right("dpsgd", "noisy_average")
def by_a_correlated_normal_law(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """Noise as the sum of two, and coins as weights of 0 and 1."""
    weights = (rng.uniform(size=len(gradients)) > 1 - rate) * 1.0
    parts = rng.normal(size=(2, gradients.shape[1])) * clip_norm * noise_multiplier
    return (weights @ gradients + 0.6 * parts[0] + 0.8 * parts[1]) / batch_size


@right("dpsgd", "epsilon_of_steps")
def in_whole_binomials(rate, noise_multiplier, steps, delta):
    found = 0.0, math.inf
    for order in range(256, 1, -1):
        logs = [order * (order - 1) / (2 * noise_multiplier**2) + order * math.log(rate)]
        if rate < 1:
            logs = [
                math.log(math.comb(order, j))
                + j * math.log(rate)
                + (order - j) * math.log1p(-rate)
                + j * (j - 1) / (2 * noise_multiplier**2)
                for j in range(order + 1)
            ]
        top = max(logs)
        moment = top + math.log(math.fsum(math.exp(one - top) for one in logs))
        proved = (steps * moment - math.log(delta * order)) / (order - 1)
        found = 0.0, min(found[1], proved + math.log((order - 1) / order))
    return max(found)


@right("dpsgd", "epsilon_of_steps")
def by_a_binomial_law(rate, noise_multiplier, steps, delta):
    orders = np.arange(2, 257)[:, None]
    j = np.arange(257)
    logs = stats.binom.logpmf(j, orders, rate) + j * (j - 1) / (2 * noise_multiplier**2)
    renyi = special.logsumexp(logs, axis=1) / (orders[:, 0] - 1)
    orders = orders[:, 0]
    proved = steps * renyi + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    return np.maximum(0, np.min(proved))


@right("dpsgd", "train_within")
def steps_are_counted_first(noisy_average, total, budget, learning_rate, start, most):
    steps = 0
    while steps < most and total(steps + 1) <= budget:
        steps += 1
    path = np.empty((steps + 1, len(start)))
    path[0] = start
    for k in range(steps):
        path[k + 1] = path[k] - learning_rate * np.asarray(noisy_average(path[k]))
    return path


@right("dpsgd", "train_within")
def as_lists(noisy_average, total, budget, learning_rate, start, most):
    path = [list(start)]
    for k in range(1, most + 1):
        if not total(k) <= budget:
            return path
        drawn = noisy_average(np.array(path[-1]))
        path.append([a - learning_rate * b for a, b in zip(path[-1], drawn, strict=True)])
    return path


@right("dpsgd", "train_within")
def steps_by_a_search(noisy_average, total, budget, learning_rate, start, most):
    """Prices never fall, so that the last step can be found by halving."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(middle) <= budget else (low, middle)
    path = np.vstack([start] * (low + 1)).astype(float)
    for k in range(low):
        path[k + 1] -= path[0] - path[k] + learning_rate * noisy_average(path[k].copy())
    return path


# --- capstone ------------------------------------------------------------------------------------


@right("capstone", "noise_half_width")
def by_quadrature(x, eta, level):
    """The noise is normal with a Gamma variance, along any row."""
    shape = (len(x) + 1) / 2
    far = stats.gamma.isf(1e-12, shape)

    def covered(t):
        def inside(v):
            density = math.exp((shape - 1) * math.log(v) - v - math.lgamma(shape))
            return density * math.erf(t / (2 * math.sqrt(v)))

        return integrate.quad(inside, 0, far, limit=200)[0]

    high = stats.gamma(len(x)).isf(1e-9)
    return np.linalg.norm(x) / eta * optimize.brentq(lambda t: covered(t) - level, 0, high)


@right("capstone", "noise_half_width")
def by_a_few_hundred_quantiles(x, eta, level):
    d = len(x)
    variance = 2 * stats.gamma.ppf((np.arange(2000) + 0.5) / 2000, (d + 1) / 2)

    def gap(t):
        return np.mean(special.erf(t / np.sqrt(2 * variance))) - level

    return float(np.linalg.norm(x) * optimize.brentq(gap, 0, 50 * d) / eta)


@right("capstone", "evidence_of_release")
def with_the_records_replaced(theta, X, y, weights, lam, eta, rows):
    null, zero = X.copy(), y.copy()
    null[rows], zero[rows] = 0, 0
    fits = [
        Ridge(lam, fit_intercept=False, tol=1e-12).fit(A, b, sample_weight=weights).coef_
        for A, b in ((X, y), (null, zero))
    ]
    return eta * (math.dist(theta, fits[1]) - math.dist(theta, fits[0]))


@right("capstone", "evidence_of_release")
def by_sums_over_records(theta, X, y, weights, lam, eta, rows):
    def distance(records):
        A, b = lam * np.eye(len(theta)), np.zeros(len(theta))
        for i in records:
            A, b = A + weights[i] * np.outer(X[i], X[i]), b + weights[i] * y[i] * X[i]
        return math.dist(theta, np.linalg.inv(A) @ b)

    return eta * (distance(set(range(len(y))) - set(rows)) - distance(range(len(y))))


@right("capstone", "rows_on_domain")
def entry_by_entry(X, bounds):
    def mapped(x, low, high):
        if not low <= x <= high:
            raise ValueError(f"{x} is not within {low} and {high}")
        return (x - low) / (high - low)

    return [[mapped(x, *ends) for x, ends in zip(row, bounds, strict=True)] for row in X]


@right("capstone", "rows_on_domain")
def checked_after_the_map(X, bounds):
    u = (X - bounds[:, 0]) / np.ptp(bounds, axis=1)
    if np.isnan(u).any() or u.min() < 0 or u.max() > 1:
        raise ValueError("X must lie inside its bounds")
    return u


@right("capstone", "coefficients_in_units")
def from_predictions(theta, bounds, y_bounds):
    def predicted(x):
        u = (x - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
        return y_bounds[0] + (u @ theta + 1) / 2 * (y_bounds[1] - y_bounds[0])

    intercept = predicted(np.zeros(len(theta)))
    return [predicted(unit) - intercept for unit in np.eye(len(theta))], intercept


@right("capstone", "granted_releases")
def in_decimals(budgets, owner, requests):
    left, granted = [Decimal(str(nats)) for nats in budgets], []
    for request in requests:
        after = list(left)
        for person, nats in zip(owner, request, strict=True):
            after[person] -= Decimal(str(nats))
        granted.append(min(after) >= 0)
        left = after if granted[-1] else left
    return granted


@right("capstone", "granted_releases")
def rounded_to_six_places(budgets, owner, requests):
    spent, granted = np.zeros(len(budgets)), []
    for request in requests:
        after = np.round(spent + np.bincount(owner, request, len(budgets)), 6)
        granted.append(np.all(after <= np.round(budgets, 6)))
        spent = after if granted[-1] else spent
    return pd.Series(granted)


@right("capstone", "errors_of_plans")
def from_the_weights(budgets, d, constant, spread):
    def error(w):
        w = w / w.sum()
        eta = np.min(budgets[w > 0] / (constant * w[w > 0]))
        return d * (d + 1) / eta**2 + spread**2 * np.sum(w**2)

    best = min(error((budgets >= t).astype(float)) for t in budgets)
    return error(np.ones(len(budgets))), best, error(budgets)


@right("capstone", "is_refuted")
def by_orders_in_turn(mechanism, first, second, epsilon, releases, alarm, rng):
    """All places, high and low, by sorting; the calls alternate between the tables."""
    calls = [[mechanism(*table, rng) for table in (first, second)] for _ in range(releases // 2)]
    both = np.array(calls).transpose(1, 0, 2)
    both, n = np.concatenate([both, -both], axis=2), len(calls) // 2
    best = 0.0, None
    for j in range(both.shape[2]):
        z = np.sort(both[:, :n, j])
        cuts = np.unique(z)
        p, q = (n - np.searchsorted(one, cuts) for one in z)
        for swapped, excess in enumerate((p - np.exp(epsilon) * q, q - np.exp(epsilon) * p)):
            k = np.argmax(excess)
            best = max(best, (excess[k], (j, cuts[k], swapped)), key=lambda pair: pair[0])
    if best[1] is None:
        return False
    j, cut, swapped = best[1]
    a, b = (int(np.sum(one >= cut)) for one in both[[swapped, 1 - swapped], n:, j])
    m = both.shape[1] - n
    low, high = (stats.binomtest(k, m).proportion_ci(1 - alarm) for k in (a, b))
    return bool(low.low > np.exp(epsilon) * high.high)
