"""Per-instance privacy: leverages, refits, the loss of one release, exposure, an accusation."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.exercises.properties import Answer, Assignment, repeats

PROPERTIES = Assignment(  # each exercise with how many of its properties are hidden
    "per_instance",
    by_hand={"may_losses_be_published": 4},
    leverages=5,
    fits_without_each=4,
    loss_at_release=5,
    delta_both_ways=4,
    most_exposed_people=6,
    private_eigenvalue_bound=6,
    accuse=3,
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

# --- leverages ------------------------------------------------------------------------------------


def people(rng: Generator, n: int = 25, d: int = 3) -> tuple[Any, Any]:
    """Rows of very different lengths, and labels that roughly follow a line."""
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1)) / 2)
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


@visible("leverages")
def everybody_has_a_leverage(answer: Answer, rng: Generator) -> bool:
    """There is one leverage for each person, at least 0 and below 1."""
    h = np.asarray(answer(people(rng)[0], 0.7))
    return bool(h.shape == (25,) and np.all((h >= 0) & (h < 1)))


@visible("leverages")
def a_huge_penalty_silences_all(answer: Answer, rng: Generator) -> bool:
    """Under a huge penalty nobody has leverage."""
    return bool(np.max(np.abs(answer(people(rng)[0], 1e9))) < 1e-6)


@visible("leverages")
def farther_out_is_more_leverage(answer: Answer, rng: Generator) -> bool:
    """Of two people in the same direction, the one farther out has more leverage."""
    X = people(rng)[0]
    X[3] = 2 * X[8]
    h = np.asarray(answer(X, 0.7))
    return bool(h[3] > h[8])


# --- fits_without_each ----------------------------------------------------------------------------


@visible("fits_without_each")
def a_row_of_coefficients_a_person(answer: Answer, rng: Generator) -> bool:
    """The result has a row for each person and a column for each feature."""
    return bool(np.shape(answer(*people(rng), 0.7)) == (25, 3))


def hessian(X: Any, lam: float) -> Any:
    return X.T @ X + lam * np.eye(X.shape[1])


@visible("fits_without_each")
def who_has_no_row_is_not_missed(answer: Answer, rng: Generator) -> bool:
    """Without somebody whose features are all 0 the fit is the fit to everybody."""
    X, y = people(rng)
    X[4] = 0
    whole = np.linalg.solve(hessian(X, 0.7), X.T @ y)
    return bool(np.allclose(np.asarray(answer(X, y, 0.7))[4], whole, atol=1e-8))


# --- loss_at_release ------------------------------------------------------------------------------


@visible("loss_at_release")
def every_release_has_a_loss(answer: Answer, rng: Generator) -> bool:
    """There is one finite loss for each release."""
    X, y = people(rng)
    loss = np.asarray(answer(rng.normal(size=(6, 3)), X, y, 2, 0.7, 1.3))
    return bool(loss.shape == (6,) and np.all(np.isfinite(loss)))


@visible("loss_at_release")
def who_has_no_row_loses_nothing(answer: Answer, rng: Generator) -> bool:
    """Somebody whose features are all 0 loses nothing, whatever is released."""
    X, y = people(rng)
    X[4] = 0
    loss = answer(rng.normal(size=(6, 3)), X, y, 4, 0.7, 1.3)
    return bool(np.allclose(loss, 0, atol=1e-8))


@visible("loss_at_release")
def a_good_fit_and_a_bad_one_differ(answer: Answer, rng: Generator) -> bool:
    """A release that fits a person perfectly speaks for them, one that is far off against them."""
    X, y = people(rng)
    fits = np.outer((y[2] + np.array([0.0, 1e3])) / (X[2] @ X[2]), X[2])
    good, bad = answer(fits, X, y, 2, 0.7, 1.3)
    return bool(good < 0 < bad)


# --- delta_both_ways ------------------------------------------------------------------------------


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


@visible("delta_both_ways")
def more_leverage_and_residual_show_more(answer: Answer, rng: Generator) -> bool:
    """Both deltas are larger for somebody with more leverage and a larger residual."""
    little, much = (np.asarray(answer(0.1, *person)) for person in ((0.1, 0.2), (0.5, 2.0)))
    return bool(np.all(little < much))


# --- most_exposed_people --------------------------------------------------------------------------


@visible("most_exposed_people")
def k_people_are_named(answer: Answer, rng: Generator) -> bool:
    """As many people are named as were asked for, nobody twice."""
    X, y = people(rng)
    found = np.asarray(answer(X, y, 1.0, 0.5, 1e-3, 4))
    return bool(found.shape == (4,) and len({*found.tolist()} & {*range(25)}) == 4)


@visible("most_exposed_people")
def the_list_goes_on(answer: Answer, rng: Generator) -> bool:
    """Asking for more people changes nothing at the top of the list."""
    X, y = people(rng)
    few, many = (list(answer(X, y, 1.0, 0.5, 1e-3, k)) for k in (3, 8))
    return bool(few == many[:3])


# --- private_eigenvalue_bound ---------------------------------------------------------------------


def unit_rows(rng: Generator, n: int = 120, d: int = 2) -> Any:
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@visible("private_eigenvalue_bound")
def the_bound_is_not_negative(answer: Answer, rng: Generator) -> bool:
    """The bound is a number, at least 0, also where one direction is empty."""
    X = unit_rows(rng)
    X[:, 1] = 0
    bounds = [answer(X, 0.5, 0.1, rng) for _ in range(20)]
    return all(np.shape(b) == () and b >= 0 for b in bounds)


@visible("private_eigenvalue_bound")
def the_bound_repeats_with_its_generator(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator gives the same bound, and the next call another one."""
    X = unit_rows(rng)
    return repeats(lambda rng: answer(X, 1.0, 0.1, rng), rng)


# --- accuse ---------------------------------------------------------------------------------------


def posterior_law(X: Any, y: Any, lam: float, gamma: float) -> Any:
    H = hessian(X, lam)
    return stats.multivariate_normal(np.linalg.solve(H, X.T @ y), np.linalg.inv(H) / gamma)


def a_case(rng: Generator, gamma: float = 2.0, d: int = 3) -> tuple[Any, ...]:
    """Data without a person, and a person whose label does not quite fit."""
    X, y = people(rng, n=12, d=d)
    x = rng.normal(size=d)
    x *= 2 / np.linalg.norm(x)
    fit = posterior_law(X, y, 1.0, gamma).mean
    sign = float(rng.choice([-1, 1]))
    return X, y, x, x @ fit + sign * 1.2 / np.sqrt(gamma), 1.0, gamma


@visible("accuse")
def every_release_gets_a_verdict(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each release."""
    found = np.asarray(answer(rng.normal(size=(7, 3)), *a_case(rng), 0.1))
    return found.shape == (7,) and found.dtype == bool


@visible("accuse")
def bolder_attackers_spare_nobody(answer: Answer, rng: Generator) -> bool:
    """Whoever is accused at a low rate of false alarms is accused at a higher one."""
    case = a_case(rng)
    theta = np.outer(np.linspace(-5, 5, 2001), case[2])
    few, more = (np.asarray(answer(theta, *case, alarm)) for alarm in (0.05, 0.4))
    return bool(np.all(few <= more) and few.sum() < more.sum())
