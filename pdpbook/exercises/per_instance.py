"""Per-instance privacy: leverages, refits, the loss of one release, exposure, an accusation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.exercises.properties import Answer, Assignment

PROPERTIES = Assignment("per_instance")
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

ALARM = 1e-6  # a right answer may fail a property that draws this often


def _people(rng: Generator, n: int = 25, d: int = 3) -> tuple[Any, Any]:
    """Rows of very different lengths, and labels that roughly follow a line."""
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1)) / 2)
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def _hessian(X: Any, lam: float) -> Any:
    return X.T @ X + lam * np.eye(X.shape[1])


def _law(X: Any, y: Any, lam: float, gamma: float) -> Any:
    H = _hessian(X, lam)
    return stats.multivariate_normal(np.linalg.solve(H, X.T @ y), np.linalg.inv(H) / gamma)


def _outsider(X: Any, y: Any, x: Any, label: float, lam: float, gamma: float) -> tuple[Any, Any]:
    """Leverage and scaled residual of somebody who is not in the data, by a fit to the data."""
    H = _hessian(X, lam)
    residual = label - x @ np.linalg.solve(H, X.T @ y)
    return x @ np.linalg.inv(H) @ x, np.sqrt(gamma) * abs(residual)


def _densities(leverage: Any, residual: Any, points: int = 20001, reach: float = 9) -> Any:
    """Scaled residual at the release on a grid: its densities without and with, times the step."""
    leverage, residual = np.asarray(leverage)[..., None], np.asarray(residual)[..., None]
    center, spread = residual / (1 + leverage), np.sqrt(leverage)
    low, high = center - reach * spread, residual + reach * spread
    v = low + (high - low) * np.linspace(0, 1, points)
    without = np.exp(-(((v - residual) / spread) ** 2) / 2) / spread
    joined = np.exp(-(((v - center) / spread) ** 2) * (1 + leverage) / 2) / spread
    step = (v[..., 1:2] - v[..., :1]) / np.sqrt(2 * np.pi)
    return v, without * step, joined * np.sqrt(1 + leverage) * step


def _excess(p: Any, q: Any, epsilon: Any) -> Any:
    return np.maximum(p - np.exp(epsilon) * q, 0).sum(axis=-1)


# --- leverages ------------------------------------------------------------------------------------


@visible("leverages")
def everybody_has_a_leverage(answer: Answer, rng: Generator) -> bool:
    """There is one leverage for each person, at least 0 and below 1."""
    h = np.asarray(answer(_people(rng)[0], 0.7))
    return bool(h.shape == (25,) and np.all((h >= 0) & (h < 1)))


@visible("leverages")
def a_huge_penalty_silences_all(answer: Answer, rng: Generator) -> bool:
    """Under a huge penalty nobody has leverage."""
    return bool(np.max(np.abs(answer(_people(rng)[0], 1e9))) < 1e-6)


@hidden("leverages")
def who_leaves_takes_volume_along(answer: Answer, rng: Generator) -> bool:
    """When a person leaves, the determinant of H falls by their share."""
    X = _people(rng)[0]
    whole = np.linalg.det(_hessian(X, 0.7))
    left = [np.linalg.det(_hessian(np.delete(X, i, axis=0), 0.7)) for i in range(25)]
    return bool(np.allclose(answer(X, 0.7), 1 - np.array(left) / whole, rtol=1e-7))


@hidden("leverages")
def together_they_count_directions(answer: Answer, rng: Generator) -> bool:
    """All leverages together are the degrees of freedom that the penalty leaves."""
    X, lam = _people(rng)[0], float(rng.uniform(5, 50))
    values = np.linalg.svd(X, compute_uv=False) ** 2
    return bool(np.isclose(np.sum(answer(X, lam)), np.sum(values / (values + lam))))


@hidden("leverages")
def axes_may_be_turned(answer: Answer, rng: Generator) -> bool:
    """Turning the axes of the features changes no leverage."""
    X = _people(rng)[0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return bool(np.allclose(answer(X @ turn, 0.7), answer(X, 0.7), rtol=1e-7))


@hidden("leverages")
def two_copies_share(answer: Answer, rng: Generator) -> bool:
    """Two copies of everybody and twice the penalty leave each copy half of the leverage."""
    X = _people(rng)[0]
    twice = np.asarray(answer(np.vstack([X, X]), 3.0))
    return bool(np.allclose(twice[:25], np.asarray(answer(X, 1.5)) / 2, rtol=1e-7))


# --- fits_without_each ----------------------------------------------------------------------------


@visible("fits_without_each")
def a_row_of_coefficients_a_person(answer: Answer, rng: Generator) -> bool:
    """The result has a row for each person and a column for each feature."""
    return bool(np.shape(answer(*_people(rng), 0.7)) == (25, 3))


@visible("fits_without_each")
def who_has_no_row_is_not_missed(answer: Answer, rng: Generator) -> bool:
    """Without somebody whose features are all 0 the fit is the fit to everybody."""
    X, y = _people(rng)
    X[4] = 0
    whole = np.linalg.solve(_hessian(X, 0.7), X.T @ y)
    return bool(np.allclose(np.asarray(answer(X, y, 0.7))[4], whole, atol=1e-8))


@hidden("fits_without_each")
def each_row_is_the_minimum_for_the_others(answer: Answer, rng: Generator) -> bool:
    """Each row minimizes the objective of the others."""
    X, y = _people(rng)
    fits = np.asarray(answer(X, y, 0.7))
    fine = []
    for i, theta in enumerate(fits):
        A, b = np.delete(X, i, axis=0), np.delete(y, i)
        gradient = A.T @ (A @ theta - b) + 0.7 * theta  # convex: 0 only at the minimum
        fine.append(np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(A.T @ b))
    return all(fine)


@hidden("fits_without_each")
def who_is_out_has_no_say(answer: Answer, rng: Generator) -> bool:
    """Whatever a person answers, the fit without them stays the same."""
    X, y = _people(rng)
    other = y.copy()
    other[7] += 3
    one, two = (np.asarray(answer(X, labels, 0.7))[7] for labels in (y, other))
    return bool(np.allclose(one, two, atol=1e-8))


@hidden("fits_without_each")
def who_agrees_is_not_missed(answer: Answer, rng: Generator) -> bool:
    """Somebody who answers just what the others predict for them moves nothing."""
    X, y = _people(rng)
    A, b = np.delete(X, 3, axis=0), np.delete(y, 3)
    others = np.linalg.solve(_hessian(A, 0.7), A.T @ b)
    y[3] = X[3] @ others
    whole = np.linalg.solve(_hessian(X, 0.7), X.T @ y)
    return bool(np.allclose(np.asarray(answer(X, y, 0.7))[3], whole, atol=1e-8))


@hidden("fits_without_each")
def everybody_else_is_always_there(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which people are listed."""
    X, y = _people(rng)
    order = rng.permutation(25)
    straight = np.asarray(answer(X, y, 0.7))
    return bool(np.allclose(answer(X[order], y[order], 0.7), straight[order], atol=1e-8))


# --- loss_at_release ------------------------------------------------------------------------------


@visible("loss_at_release")
def every_release_has_a_loss(answer: Answer, rng: Generator) -> bool:
    """There is one finite loss for each release."""
    X, y = _people(rng)
    loss = np.asarray(answer(rng.normal(size=(6, 3)), X, y, 2, 0.7, 1.3))
    return bool(loss.shape == (6,) and np.all(np.isfinite(loss)))


@visible("loss_at_release")
def who_has_no_row_loses_nothing(answer: Answer, rng: Generator) -> bool:
    """Somebody whose features are all 0 loses nothing, whatever is released."""
    X, y = _people(rng)
    X[4] = 0
    loss = answer(rng.normal(size=(6, 3)), X, y, 4, 0.7, 1.3)
    return bool(np.allclose(loss, 0, atol=1e-8))


@hidden("loss_at_release")
def it_compares_the_two_densities(answer: Answer, rng: Generator) -> bool:
    """It is the logarithm of how much likelier the release is without the person."""
    X, y = _people(rng)
    i, lam, gamma = int(rng.integers(25)), 0.7, float(rng.choice([0.2, 3.5]))
    law = _law(np.delete(X, i, axis=0), np.delete(y, i), lam, gamma)
    theta = law.rvs(20, random_state=rng)
    exact = law.logpdf(theta) - _law(X, y, lam, gamma).logpdf(theta)
    return bool(np.allclose(answer(theta, X, y, i, lam, gamma), exact, rtol=1e-7, atol=1e-7))


@hidden("loss_at_release")
def losses_turn_one_law_into_the_other(answer: Answer, rng: Generator) -> bool:
    """Weighed down by its losses, the law without the person still adds up to one."""
    X, y = _people(rng, n=5, d=1)
    law = _law(X[1:], y[1:], 0.7, 1.3)
    spread = np.sqrt(law.cov.item())
    theta = law.mean + spread * np.linspace(-12, 12, 4001)[:, None]
    weight = law.pdf(theta) * spread * 24 / 4000
    loss = np.asarray(answer(theta, X, y, 0, 0.7, 1.3))
    return bool(np.isclose(weight @ np.exp(-loss), 1, rtol=1e-6))


@hidden("loss_at_release")
def only_their_own_prediction_tells(answer: Answer, rng: Generator) -> bool:
    """Two releases that predict the same for the person have the same loss."""
    X, y = _people(rng)
    theta, aside = rng.normal(size=(2, 8, 3))
    aside -= np.outer(aside @ X[2], X[2]) / (X[2] @ X[2])
    one, two = (np.asarray(answer(t, X, y, 2, 0.7, 1.3)) for t in (theta, theta + aside))
    return bool(np.allclose(one, two, rtol=1e-7, atol=1e-7))


@hidden("loss_at_release")
def a_perfect_fit_points_at_the_person(answer: Answer, rng: Generator) -> bool:
    """No release points more to the person's presence than one that fits them perfectly."""
    X, y = _people(rng)
    theta = rng.normal(size=(40, 3))
    perfect = theta + np.outer((y[2] - theta @ X[2]) / (X[2] @ X[2]), X[2])
    both_sides = np.vstack([perfect, theta, 2 * perfect - theta])
    loss = np.asarray(answer(both_sides, X, y, 2, 0.7, 1.3))
    return bool(np.all(loss[:40] <= loss.min() + 1e-9))


# --- delta_both_ways ------------------------------------------------------------------------------

PERSONS = ((0.5, 2.0), (0.02, 4.0), (1.5, 0.3))  # leverage and scaled residual


@visible("delta_both_ways")
def both_deltas_are_probabilities(answer: Answer, rng: Generator) -> bool:
    """There are two numbers, both from 0 to 1."""
    found = np.asarray(answer(0.5, 0.5, 2.0), dtype=float)
    return bool(found.shape == (2,) and np.all((found >= 0) & (found <= 1)))


@visible("delta_both_ways")
def a_larger_epsilon_leaves_less(answer: Answer, rng: Generator) -> bool:
    """Neither delta grows with epsilon."""
    found = np.array([answer(epsilon, 0.5, 2.0) for epsilon in (0.0, 0.3, 1.0, 3.0)])
    return bool(np.all(np.diff(found, axis=0) <= 1e-9))


@hidden("delta_both_ways")
def no_event_exceeds_by_more(answer: Answer, rng: Generator) -> bool:
    """In each direction some event exceeds the promise by delta, and none by more."""
    fine = []
    for leverage, residual in PERSONS:
        epsilon = float(rng.uniform(0.1, 0.8))
        _, p, q = _densities(leverage, residual)
        exact = _excess(p, q, epsilon), _excess(q, p, epsilon)
        fine.append(bool(np.allclose(answer(epsilon, leverage, residual), exact, atol=1e-6)))
    return all(fine)


@hidden("delta_both_ways")
def at_zero_it_is_the_distance(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 both are the total variation distance of the two laws."""
    leverage, residual = float(rng.uniform(0.1, 1)), float(rng.uniform(0.5, 3))
    _, p, q = _densities(leverage, residual)
    distance = np.abs(p - q).sum() / 2
    return bool(np.allclose(answer(0.0, leverage, residual), distance, atol=1e-6))


@hidden("delta_both_ways")
def with_little_leverage_it_is_a_shift(answer: Answer, rng: Generator) -> bool:
    """For somebody of tiny leverage it is the profile of a shifted normal law."""
    shift, epsilon = float(rng.uniform(0.5, 2)), 0.4
    cut = epsilon / shift
    gauss = stats.norm.cdf(shift / 2 - cut) - np.exp(epsilon) * stats.norm.cdf(-shift / 2 - cut)
    found = answer(epsilon, 1e-6, shift * 1e3)
    return bool(np.allclose(found, gauss, atol=1e-5))  # the two laws differ by about the leverage


@hidden("delta_both_ways")
def the_directions_end_differently(answer: Answer, rng: Generator) -> bool:
    """Only one of the two directions is exactly private from some epsilon on."""
    _, p, q = _densities(0.5, 1.0)
    end = np.max(np.log(q / p))
    add, remove = answer(end + 0.05, 0.5, 1.0)
    return bool(abs(remove) < 1e-9 and np.isclose(add, _excess(p, q, end + 0.05), atol=1e-6))


# --- most_exposed_people --------------------------------------------------------------------------


def _losses(X: Any, y: Any, lam: float, gamma: float, delta: float) -> Any:
    """Everybody's epsilon at delta: a refit a person, and halving on an integral."""
    numbers = [
        _outsider(np.delete(X, i, axis=0), np.delete(y, i), X[i], y[i], lam, gamma)
        for i in range(len(y))
    ]
    leverage, residual = np.array(numbers).T
    _, p, q = _densities(leverage, residual, points=1001, reach=7)
    low, high = np.zeros(len(y)), np.full(len(y), 1000.0)
    for _ in range(23):
        middle = (low + high) / 2
        at = middle[:, None]
        over = np.maximum(_excess(p, q, at), _excess(q, p, at)) > delta
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return high


def _ranked(loss: Any, found: Any, k: int) -> bool:
    """Whether these are the k largest losses, from the largest down, up to the integral's error."""
    found = np.asarray(found)
    if found.shape != (k,) or len(set(found.tolist())) != k:
        return False
    return bool(np.all(loss[found] >= np.sort(loss)[::-1][:k] * (1 - 2e-3) - 1e-3))


@visible("most_exposed_people")
def k_people_are_named(answer: Answer, rng: Generator) -> bool:
    """As many people are named as were asked for, nobody twice."""
    X, y = _people(rng)
    found = np.asarray(answer(X, y, 1.0, 0.5, 1e-3, 4))
    return bool(found.shape == (4,) and len({*found.tolist()} & {*range(25)}) == 4)


@visible("most_exposed_people")
def the_list_goes_on(answer: Answer, rng: Generator) -> bool:
    """Asking for more people changes nothing at the top of the list."""
    X, y = _people(rng)
    few, many = (list(answer(X, y, 1.0, 0.5, 1e-3, k)) for k in (3, 8))
    return bool(few == many[:3])


@hidden("most_exposed_people")
def nobody_else_loses_more(answer: Answer, rng: Generator) -> bool:
    """Those who are named come in the order of their losses, and nobody else loses more."""
    fine = []
    for gamma in (0.1, 10.0):
        X, y = _people(rng, n=15)
        loss = _losses(X, y, 0.5, gamma, 1e-2)
        fine.append(_ranked(loss, answer(X, y, 0.5, gamma, 1e-2, 12), 12))
    return all(fine)


@hidden("most_exposed_people")
def a_row_near_zero_hides_any_answer(answer: Answer, rng: Generator) -> bool:
    """Somebody whose row is nearly 0 is not exposed, however odd their label."""
    X, y = _people(rng)
    X[11], y[11] = X[11] * 1e-6 / np.linalg.norm(X[11]), 30.0
    return 11 not in set(np.asarray(answer(X, y, 1.0, 0.5, 1e-3, 12)).tolist())


@hidden("most_exposed_people")
def an_odd_answer_may_tell_more_than_a_far_row(answer: Answer, rng: Generator) -> bool:
    """Somebody far out who answers as predicted may be less exposed than one who does not."""
    X, y = _people(rng, n=60)
    X[:, :] /= np.linalg.norm(X, axis=1, keepdims=True)
    y[:] = X @ np.ones(3) + rng.normal(size=60) / 10
    X[7] *= 2
    y[7], y[19] = X[7] @ np.ones(3), y[19] + 6
    top = np.asarray(answer(X, y, 1.0, 5.0, 1e-3, 1)).tolist()
    return bool(top == [19])


@hidden("most_exposed_people")
def rows_alone_tell_where_labels_drown(answer: Answer, rng: Generator) -> bool:
    """Where the noise drowns all labels, only the rows expose people."""
    X, y = _people(rng)
    h = np.array([x @ np.linalg.inv(_hessian(X, 20.0)) @ x for x in X])
    top = np.asarray(answer(X, y, 20.0, 1e-10, 1e-4, 4))
    return bool(top.shape == (4,) and np.all(h[top] >= np.sort(h)[::-1][:4] * (1 - 1e-3)))


# --- private_eigenvalue_bound ---------------------------------------------------------------------


def _unit_rows(rng: Generator, n: int = 120, d: int = 2) -> Any:
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _smallest(X: Any) -> float:
    return float(np.linalg.svd(X, compute_uv=False)[-1] ** 2)


@visible("private_eigenvalue_bound")
def the_bound_is_not_negative(answer: Answer, rng: Generator) -> bool:
    """The bound is a number, at least 0, also where one direction is empty."""
    X = _unit_rows(rng)
    X[:, 1] = 0
    bounds = [answer(X, 0.5, 0.1, rng) for _ in range(20)]
    return all(np.shape(b) == () and b >= 0 for b in bounds)


@visible("private_eigenvalue_bound")
def the_bound_repeats_with_its_generator(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator gives the same bound, and the next call another one."""
    X, state = _unit_rows(rng), int(rng.integers(2**31))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = answer(X, 1.0, 0.1, one)
    return bool(first == answer(X, 1.0, 0.1, two) and first != answer(X, 1.0, 0.1, one))


@hidden("private_eigenvalue_bound", draws=True)
def it_is_wrong_as_often_as_allowed(answer: Answer, rng: Generator) -> bool:
    """The bound is too large as often as it may be: not more often, and not more rarely."""
    X, calls, beta = _unit_rows(rng), 800, float(rng.choice([0.25, 0.3]))
    smallest = _smallest(X)
    wrong = sum(float(answer(X, 2.0, beta, rng)) > smallest for _ in range(calls))
    return bool(stats.binomtest(wrong, calls, beta).pvalue > ALARM)


@hidden("private_eigenvalue_bound", draws=True)
def noise_spends_the_budget(answer: Answer, rng: Generator) -> bool:
    """The noise is Laplace, as loud as the budget demands and no louder."""
    X, epsilon = _unit_rows(rng), float(rng.choice([0.7, 3.0]))
    bounds = np.array([float(answer(X, epsilon, 0.1, rng)) for _ in range(1000)])
    apart = epsilon * np.abs(bounds[::2] - bounds[1::2])  # what is subtracted drops out
    beyond = (1 + apart / 2) * np.exp(-apart)  # chance that two Laplace variables are farther apart
    far = stats.binomtest(int(np.sum(apart > 3)), len(apart), 2.5 * np.exp(-3))
    return bool(min(far.pvalue, stats.kstest(beyond, "uniform").pvalue) > ALARM / 2)


@hidden("private_eigenvalue_bound")
def one_person_moves_it_by_one_at_most(answer: Answer, rng: Generator) -> bool:
    """With equal noise, one person more moves the bound by at most 1."""
    X = _unit_rows(rng) * 0.7
    moved = []
    for x in (np.linalg.svd(X)[2][-1], *_unit_rows(rng, n=15)):
        Y, state = np.vstack([X, x]), int(rng.integers(2**31))
        pair = (np.random.default_rng(state) for _ in range(2))
        one, two = (float(answer(A, 1.0, 0.1, g)) for A, g in zip((X, Y), pair, strict=True))
        moved.append(abs(one - two))
    return max(moved) < 1 + 1e-9


@hidden("private_eigenvalue_bound")
def a_huge_budget_leaves_the_eigenvalue(answer: Answer, rng: Generator) -> bool:
    """With a huge budget it is the smallest eigenvalue itself."""
    X = _unit_rows(rng) * rng.uniform(0.2, 1, (120, 1))
    return bool(np.isclose(answer(X, 1e9, 0.1, rng), _smallest(X), rtol=1e-6))


# --- accuse ---------------------------------------------------------------------------------------


def _case(rng: Generator, gamma: float = 2.0, d: int = 3) -> tuple[Any, ...]:
    """Data without a person, and a person whose label does not quite fit."""
    X, y = _people(rng, n=12, d=d)
    x = rng.normal(size=d)
    x *= 2 / np.linalg.norm(x)
    fit = _law(X, y, 1.0, gamma).mean
    sign = float(rng.choice([-1, 1]))
    return X, y, x, x @ fit + sign * 1.2 / np.sqrt(gamma), 1.0, gamma


@visible("accuse")
def every_release_gets_a_verdict(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each release."""
    found = np.asarray(answer(rng.normal(size=(7, 3)), *_case(rng), 0.1))
    return found.shape == (7,) and found.dtype == bool


@visible("accuse")
def bolder_attackers_spare_nobody(answer: Answer, rng: Generator) -> bool:
    """Whoever is accused at a low rate of false alarms is accused at a higher one."""
    case = _case(rng)
    theta = np.outer(np.linspace(-5, 5, 2001), case[2])
    few, more = (np.asarray(answer(theta, *case, alarm)) for alarm in (0.05, 0.4))
    return bool(np.all(few <= more) and few.sum() < more.sum())


@hidden("accuse")
def false_alarms_are_as_frequent_as_stated(answer: Answer, rng: Generator) -> bool:
    """Without the person the chance of an accusation is what was asked for."""
    X, y, x, label, lam, gamma = case = _case(rng, float(rng.choice([0.5, 4.0])), d=1)
    leverage, residual = _outsider(X, y, x, label, lam, gamma)
    v, p, _ = _densities(leverage, residual)
    sign = np.sign(label - x @ _law(X, y, lam, gamma).mean)
    theta = (label - sign * v / np.sqrt(gamma))[:, None] / x
    fine = []
    for alarm in (0.02, 0.1, 0.5):
        chance = p[np.asarray(answer(theta, *case, alarm), dtype=bool)].sum()
        fine.append(abs(chance - alarm) < 4 * p.max())  # the grid cuts two cells
    return all(fine)


@hidden("accuse")
def who_is_spared_looks_more_innocent(answer: Answer, rng: Generator) -> bool:
    """No release that is spared speaks more against the person than one that is not."""
    X, y, x, label, lam, gamma = case = _case(rng)
    with_them = _law(np.vstack([X, x]), np.append(y, label), lam, gamma)
    without = _law(X, y, lam, gamma)
    theta = np.vstack([law.rvs(150, random_state=rng) for law in (without, with_them)])
    theta = np.vstack([theta, rng.normal(size=(100, 3)) * 3])
    loss = without.logpdf(theta) - with_them.logpdf(theta)
    accused = np.asarray(answer(theta, *case, 0.3), dtype=bool)
    if accused.all() or not accused.any():
        return False
    return bool(loss[accused].max() <= loss[~accused].min() + 1e-9)


@hidden("accuse", draws=True)
def nobody_convicts_more_often(answer: Answer, rng: Generator) -> bool:
    """With the person the share of accusations is the largest that any attacker can have."""
    X, y, x, label, lam, gamma = case = _case(rng)
    alarm = 0.2
    _, p, q = _densities(*_outsider(X, y, x, label, lam, gamma))
    order = np.argsort(np.log(p) - np.log(q))  # the most telling outputs first
    power = np.interp(alarm, np.cumsum(p[order]), np.cumsum(q[order]))
    law = _law(np.vstack([X, x]), np.append(y, label), lam, gamma)
    hits = int(np.sum(answer(law.rvs(4000, random_state=rng), *case, alarm)))
    return bool(stats.binomtest(hits, 4000, power).pvalue > ALARM)
