"""What the definitions say, in plain loops and refits: the slow side of the record.

What is called `checked` makes the checks of the package first, and shows what they cost.
"""

import numpy as np
from scipy import optimize, stats
from sklearn.linear_model import Ridge

from pdpbook import check
from pdpbook.personalized import keep_probabilities
from pdpbook.sensitivity import ridge_constant


def private_fit(X, y, epsilon, lam, rng):
    """PDP-OP person by person: weights, two sums over people, a solve, and one draw."""
    n, d = X.shape
    total = sum(epsilon)
    gram, moment = lam * np.eye(d), np.zeros(d)
    for i in range(n):
        gram += epsilon[i] / total * np.outer(X[i], X[i])
        moment += epsilon[i] / total * y[i] * X[i]
    bound = min(1 / np.sqrt(lam), np.sqrt(d) / lam)
    eta = lam * total / (2 * (d * bound + np.sqrt(d)))
    return np.linalg.solve(gram, moment) + one_draw(d, eta, rng)


def checked_fit(X, y, epsilon, lam, rng):
    """The same, once everything is a number of the right shape, inside its bounds."""
    check.positive(lam, "lam")
    check.epsilon(epsilon, len(y))
    check.design(X, y)
    check.inside(X, 0.0, 1.0, "X", "bounds", clip=False)
    check.inside(y, -1.0, 1.0, "y", "y_bounds", clip=False)
    return private_fit(X, y, epsilon, lam, rng)


def fit_by_scikit_learn(X, y, epsilon, lam, rng):
    """The same fit as whoever knows the theorem would write it today."""
    d, total = X.shape[1], epsilon.sum()
    model = Ridge(alpha=lam, fit_intercept=False).fit(X, y, sample_weight=epsilon / total)
    bound = min(1 / np.sqrt(lam), np.sqrt(d) / lam)
    return model.coef_ + one_draw(d, lam * total / (2 * (d * bound + np.sqrt(d))), rng)


def one_draw(d, eta, rng):
    """l2-Laplace noise: a radius and a direction."""
    direction = rng.standard_normal(d)
    return rng.gamma(d, 1 / eta) * direction / np.linalg.norm(direction)


def draws(size, d, eta, rng):
    return np.array([one_draw(d, eta, rng) for _ in range(size)])


def score_releases(X_test, y_test, theta, eta, size, rng):
    """Draw a model, score it, and again."""
    losses = np.empty(size)
    for k in range(size):
        losses[k] = np.mean((y_test - X_test @ (theta + one_draw(len(theta), eta, rng))) ** 2)
    return losses.mean(), losses.std()


def repeat(split, lams, epsilon, rng):
    """Both losses of four methods at every penalty, each from a draw of noise of its own."""
    n, d = split.X.shape
    total = 0.0
    for lam in lams:
        constant = ridge_constant(lam, d, "published")
        crowds = [(epsilon / epsilon.sum(), epsilon.sum()), (np.full(n, 1 / n), n * epsilon.min())]
        for t in (epsilon.max(), epsilon.mean()):
            kept = rng.random(n) < keep_probabilities(epsilon, float(t))
            crowds.append((kept / kept.sum(), t * kept.sum()))
        for weights, rate in crowds:
            gram = (split.X.T * weights) @ split.X + lam * np.eye(d)
            theta = np.linalg.solve(gram, split.X.T @ (weights * split.y))
            for penalty in (0.0, lam):
                release = theta + one_draw(d, rate / constant, rng)
                error = split.y_test - split.X_test @ release
                total += error @ error / len(error) + penalty * release @ release
    return total


def refits(X, y, lam, people):
    """Fits without each of some people, and the Gram matrices of those fits."""
    found = []
    for i in people:
        rows, labels = np.delete(X, i, axis=0), np.delete(y, i)
        gram = rows.T @ rows + lam * np.eye(X.shape[1])
        found.append((np.linalg.solve(gram, rows.T @ labels), gram))
    return found


def profile(epsilon, mu, rho):
    """Delta of one person, the direction `add`, from two normal distributions."""
    w = np.sqrt(np.log1p(mu) + rho**2 / (1 + mu) + 2 * epsilon)
    with_, spread = rho / (1 + mu), np.sqrt(mu / (1 + mu))
    far = stats.norm.sf(w, rho, np.sqrt(mu)) + stats.norm.cdf(-w, rho, np.sqrt(mu))
    near = stats.norm.sf(w, with_, spread) + stats.norm.cdf(-w, with_, spread)
    return far - np.exp(epsilon) * near


def person_epsilon(mu, rho, delta):
    """Epsilon of one person by bisection."""
    high = 1.0
    while profile(high, mu, rho) > delta:
        high *= 2
    if profile(0.0, mu, rho) <= delta:
        return 0.0
    return optimize.brentq(lambda e: profile(e, mu, rho) - delta, 0.0, high, xtol=1e-10)


def losses_by_refits(X, y, lam, gamma, delta, people):
    """Leave each of some people out, refit, and search for their epsilon."""
    found = []
    for i, (theta, gram) in zip(people, refits(X, y, lam, people), strict=True):
        mu = X[i] @ np.linalg.solve(gram, X[i])
        found.append(person_epsilon(mu, np.sqrt(gamma) * abs(y[i] - X[i] @ theta), delta))
    return found


def pac_refits(X, y, masks):
    """What each person does to the fit of each half, by scikit-learn with and without them."""
    moved = np.empty((*masks.shape, X.shape[1] + 1))
    for t, mask in enumerate(masks):
        for i in range(len(y)):
            pair = []
            for inside in (True, False):
                half = mask.copy()
                half[i] = inside
                fit = Ridge(alpha=1.0).fit(X[half], y[half])
                pair.append(np.r_[fit.coef_, fit.intercept_])
            moved[t, i] = pair[0] - pair[1]
    return moved


def sgd_epoch(X, y, sample_rate, batch_size, clip_norm, learning_rate, noise_multiplier, rng):
    """One epoch of DP-SGD, gradient by gradient."""
    n, d = X.shape
    theta = np.zeros(d)
    for _ in range(round(1 / sample_rate)):
        total = noise_multiplier * clip_norm * rng.standard_normal(d)
        for i in np.flatnonzero(rng.random(n) < sample_rate):
            g = 2 * (X[i] @ theta - y[i]) * X[i]
            total += g * min(1.0, clip_norm / np.linalg.norm(g))
        theta = theta - learning_rate * total / batch_size
    return theta


def exact_sensitivity(C, users):
    """Largest sum of |z c_i| of every user, one sign vector after the other."""
    k = len(C)
    worst = {}
    for number in range(1 << (k - 1)):
        z = 1.0 - 2.0 * ((number >> np.arange(k)) & 1)
        for user in np.unique(users):
            value = np.abs(z @ C[:, users == user]).sum()
            worst[user] = max(worst.get(user, 0.0), value)
    return worst


def tradeoff(sizes, price):
    """Weights of users: bisection for h, then the shares."""
    s = np.asarray(sizes, dtype=float)
    h = optimize.brentq(lambda h: h - price * np.maximum(1 - h / s, 0).sum(), 0.0, price * len(s))
    share = np.minimum(s, h)
    return share / share.sum()


def checked_tradeoff(sizes, price):
    """The same, once sizes are whole numbers; with the objective and the weights of rows."""
    s = check.positive(sizes, "sizes")
    if not (s == np.floor(s)).all():
        raise ValueError("sizes must be whole numbers")
    check.nonnegative(price, "tradeoff")
    share = tradeoff(s, price)
    return share, share / s, share.max() ** 2 + price * np.sum(share**2 / s)
