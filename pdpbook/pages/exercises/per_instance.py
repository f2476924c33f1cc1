"""Per-instance privacy: leverages, refits, the loss of one release, exposure, an accusation."""

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.pages.exercises.properties import (
    ROUNDING,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    repeats,
    truths,
)

PROPERTIES = Assignment("per_instance", by_hand={"may_losses_be_published": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden


def people(rng: Generator, n: int = 25, d: int = 3) -> tuple[Any, Any]:
    """Rows of very different lengths, and labels that roughly follow a line."""
    X = rng.normal(0, np.exp(rng.normal(size=(n, 1)) / 2), (n, d))
    return X, rng.normal(X @ rng.normal(size=d), 1)


@visible("leverages", unseen=5)
def every_person_has_a_leverage(answer: Answer, rng: Draws) -> bool:
    """There is one leverage for each person, at least 0 and below 1."""
    X, _ = people(rng, rng.size(25), rng.size(3))
    return numbers_between(answer(X, 0.7), X.shape[:1], 0, np.nextafter(1, 0))


@visible("leverages")
def who_is_alone_on_an_axis_has_half(answer: Answer, rng: Draws) -> bool:
    """At a penalty of 1, whoever has feature 1 alone on an axis has leverage one half."""
    return bool(np.allclose(answer(np.eye(2), 1.0), 0.5))


@visible("leverages")
def farther_out_is_more_leverage(answer: Answer, rng: Draws) -> bool:
    """Of two people in the same direction, the one farther out has more leverage."""
    X = people(rng, 1 + rng.size(24), rng.size(3))[0]
    X[0], X[-1] = 1, 2
    h = np.asarray(answer(X, 0.7))
    return bool(h[-1] > h[0])


@visible("fits_without_each", unseen=4)
def a_row_of_coefficients_a_person(answer: Answer, rng: Draws) -> bool:
    """The result has a row for each person and a column for each feature."""
    X, y = people(rng, rng.size(25), rng.size(3))
    return numbers_between(answer(X, y, 0.7), X.shape)


def hessian(X: Any, lam: float) -> Any:
    return X.T @ X + lam * np.eye(X.shape[1])


@visible("fits_without_each")
def who_has_no_row_is_not_missed(answer: Answer, rng: Draws) -> bool:
    """Without somebody whose features are all 0 the fit is the fit to everybody."""
    X, y = people(rng, 1 + rng.size(24), rng.size(3))
    X[-1] = 0
    whole = np.linalg.solve(hessian(X, 0.7), X.T @ y)
    return bool(np.allclose(np.asarray(answer(X, y, 0.7))[-1], whole, atol=1e-8))


@visible("fits_without_each")
def two_people_fit_one_another(answer: Answer, rng: Draws) -> bool:
    """It is right for two people whose one feature is 1, a case that is soon solved by hand."""
    return bool(np.allclose(answer(np.ones((2, 1)), np.array([1.0, 0.0]), 1.0), [[0.0], [0.5]]))


@visible("loss_at_release", unseen=5)
def every_release_has_a_loss(answer: Answer, rng: Draws) -> bool:
    """There is one finite loss for each release."""
    X, y = people(rng, n := rng.size(25), d := rng.size(3))
    theta = rng.normal(size=(m := rng.size(6), d))
    return numbers_between(answer(theta, X, y, n // 2, 0.7, 1.3), (m,))


@visible("loss_at_release")
def who_has_no_row_loses_nothing(answer: Answer, rng: Draws) -> bool:
    """Somebody whose features are all 0 loses nothing, whatever is released."""
    X, y = people(rng, n := rng.size(25), d := rng.size(3))
    X[n // 2] = 0
    loss = answer(rng.normal(size=(rng.size(6), d)), X, y, n // 2, 0.7, 1.3)
    return bool(np.allclose(loss, 0, atol=ROUNDING))


@visible("loss_at_release")
def a_good_fit_and_a_bad_one_differ(answer: Answer, rng: Draws) -> bool:
    """A release that fits a person perfectly speaks for them, one that is far off against them."""
    X, y = people(rng, n := 1 + rng.size(24), rng.size(3))
    X[n // 2] = 1
    fits = np.outer((y[n // 2] + np.array([0.0, 1e3])) / X.shape[1], X[n // 2])
    good, bad = answer(fits, X, y, n // 2, 0.7, 1.3)
    return bool(good < 0 < bad)


@visible("delta_both_ways", unseen=4)
def both_deltas_are_probabilities(answer: Answer, rng: Draws) -> bool:
    """There are two numbers, both from 0 to 1."""
    return numbers_between(answer(0.5, 0.5, 2.0), (2,), 0, 1)


@visible("delta_both_ways")
def a_larger_epsilon_leaves_less(answer: Answer, rng: Draws) -> Demands:
    """Neither delta grows with epsilon."""
    for pair in itertools.pairwise((0.0, 0.3, 1.0, 3.0)):
        more, less = (np.asarray(answer(epsilon, 0.5, 2.0)) for epsilon in pair)
        yield bool(np.all(less <= more + ROUNDING))


@visible("delta_both_ways")
def more_leverage_and_residual_show_more(answer: Answer, rng: Draws) -> bool:
    """Both deltas are larger for somebody with more leverage and a larger residual."""
    little, much = (np.asarray(answer(0.1, *person)) for person in ((0.1, 0.2), (0.5, 2.0)))
    return bool(np.all(little < much))


@visible("most_exposed_people", unseen=6)
def k_people_are_named(answer: Answer, rng: Draws) -> bool:
    """As many people are named as were asked for, nobody twice."""
    X, y = people(rng, n := 4 + rng.size(21), rng.size(3))
    found = np.asarray(answer(X, y, 1.0, 0.5, 1e-3, 4))
    return bool(found.shape == (4,) and len({*found.tolist()} & {*range(n)}) == 4)


@visible("most_exposed_people")
def the_list_goes_on(answer: Answer, rng: Draws) -> bool:
    """Asking for more people changes nothing at the top of the list."""
    X, y = people(rng, 3 + rng.size(22), rng.size(3))
    short, long = (list(answer(X, y, 1.0, 0.5, 1e-3, k)) for k in (1, 3))
    return bool(short == long[:1])


@visible("most_exposed_people")
def who_has_no_row_is_not_exposed(answer: Answer, rng: Draws) -> bool:
    """Somebody whose features and label are all 0 is not the most exposed."""
    X, y = people(rng, 2 + rng.size(23), rng.size(3))
    X[0], y[0], X[1], y[1] = 0, 0, 1, 9
    return bool(answer(X, y, 1.0, 0.5, 1e-3, 1)[0] != 0)


@visible("private_eigenvalue_bound", unseen=6)
def the_bound_is_not_negative(answer: Answer, rng: Draws) -> Demands:
    """The bound is a number, at least 0, also where one direction is empty."""
    X = np.tile([1.0, 0.0], (rng.size(120), 1))
    return (numbers_between(answer(X, 0.5, 0.1, rng.fresh()), (), 0) for _ in range(20))


@visible("private_eigenvalue_bound")
def the_bound_repeats_with_its_generator(answer: Answer, rng: Draws) -> Demands:
    """The same state of the generator gives the same bound, and the next call another one."""
    X = np.repeat(np.eye(2), 9 + rng.size(51), axis=0)
    return repeats(lambda rng: answer(X, 1.0, 0.1, rng), rng)


def posterior_law(X: Any, y: Any, lam: float, gamma: float) -> Any:
    H = hessian(X, lam)
    return stats.multivariate_normal(np.linalg.solve(H, X.T @ y), np.linalg.inv(H) / gamma)


def a_case(rng: Generator, gamma: float = 2.0, d: int = 3, n: int = 12) -> tuple[Any, ...]:
    """Data without a person, and a person whose label does not quite fit."""
    X, y = people(rng, n=n, d=d)
    x = rng.choice([-1.0, 1.0], d) * rng.uniform(0.1, 1, d)
    x *= 2 / np.linalg.norm(x)
    fit = posterior_law(X, y, 1.0, gamma).mean
    sign = float(rng.choice([-1, 1]))
    return X, y, x, x @ fit + sign * 1.2 / np.sqrt(gamma), 1.0, gamma


@visible("accuse", unseen=3)
def every_release_gets_a_verdict(answer: Answer, rng: Draws) -> bool:
    """There is one truth value for each release."""
    theta = rng.normal(size=(rng.size(7), d := rng.size(3)))
    return truths(answer(theta, *a_case(rng, d=d, n=rng.size(12)), 0.1), len(theta))


@visible("accuse", draws=True)
def bolder_attackers_spare_nobody(answer: Answer, rng: Draws) -> Demands:
    """A higher rate of false alarms accuses whoever a low one accuses, and others, too."""
    case, others = a_case(rng, d=rng.size(3), n=rng.size(12)), 0
    theta = posterior_law(*case[:2], *case[4:]).rvs(40, random_state=rng).reshape(40, 1, -1)
    for k, one in enumerate(theta.round(2)):
        careful, bold = (bool(answer(one, *case, alarm)[0]) for alarm in (0.05, 0.4))
        others += bold and not careful
        yield careful <= bold and (others > 0 or k < 39)
