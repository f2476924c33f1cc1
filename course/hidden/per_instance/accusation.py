"""An accusation: whether a release points at a person."""

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from course.hidden.per_instance.laws import densities, outsider
from pdpbook.pages.exercises.per_instance import a_case, hidden, posterior_law
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("accuse", promise=True)
def false_alarms_are_as_frequent_as_stated(answer: Answer, rng: Generator) -> Demands:
    """Without the person the chance of an accusation is what was asked for."""
    X, y, x, label, lam, gamma = case = a_case(rng, float(rng.choice([0.5, 4.0])), d=1)
    leverage, residual = outsider(X, y, x, label, lam, gamma)
    v, p, _ = densities(leverage, residual)
    sign = np.sign(label - x @ posterior_law(X, y, lam, gamma).mean)
    theta = (label - sign * v / np.sqrt(gamma))[:, None] / x
    for alarm in (0.02, 0.1, 0.5, 0.9):
        chance = p[np.asarray(answer(theta, *case, alarm), dtype=bool)].sum()
        yield abs(chance - alarm) < 4 * p.max()  # the grid cuts two cells


@hidden("accuse")
def who_is_spared_looks_more_innocent(answer: Answer, rng: Generator) -> bool:
    """No release that is spared speaks more against the person than one that is not."""
    X, y, x, label, lam, gamma = case = a_case(rng)
    with_them = posterior_law(np.vstack([X, x]), np.append(y, label), lam, gamma)
    without = posterior_law(X, y, lam, gamma)
    theta = np.vstack([law.rvs(150, random_state=rng) for law in (without, with_them)])
    theta = np.vstack([theta, rng.normal(size=(100, 3)) * 3])
    loss = without.logpdf(theta) - with_them.logpdf(theta)
    accused = np.asarray(answer(theta, *case, 0.3), dtype=bool)
    if accused.all() or not accused.any():
        return False
    return bool(loss[accused].max() <= loss[~accused].min() + 1e-9)


@hidden("accuse", draws=True, weight=3, promise=True)
def nobody_convicts_more_often(answer: Answer, rng: Generator) -> bool:
    """With the person the share of accusations is the largest that any attacker can have."""
    X, y, x, label, lam, gamma = case = a_case(rng)
    alarm = 0.2
    _, p, q = densities(*outsider(X, y, x, label, lam, gamma))
    order = np.argsort(np.log(p) - np.log(q))  # the most telling outputs first
    power = np.interp(alarm, np.cumsum(p[order]), np.cumsum(q[order]))
    law = posterior_law(np.vstack([X, x]), np.append(y, label), lam, gamma)
    hits = int(np.sum(answer(law.rvs(4000, random_state=rng), *case, alarm)))
    return bool(stats.binomtest(hits, 4000, power).pvalue > ALARM)
