"""How often an adversary succeeds, by the information they have."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import special

from course.hidden import ROUNDING
from pdpbook.pages.exercises.pac import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


def _divergence(p: float, prior: float) -> float:
    return float(special.rel_entr(p, prior) + special.rel_entr(1 - p, 1 - prior))


def _told(joint: Any) -> float:
    """Mutual information of a table of probabilities, in nats."""
    apart = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    return float(special.rel_entr(joint, apart).sum())


@hidden("success_bound", weight=3, promise=True)
def all_of_the_information_is_used(answer: Answer, rng: Generator) -> Demands:
    """The divergence of the bound from the prior is the information, to rounding."""
    for prior in (0.5, 0.7, 0.9):
        for share in rng.uniform(0.01, 0.95, 5):
            v = share * -np.log(prior)
            p = float(answer(v, prior))
            low, high = (_divergence(p * end, prior) for end in (1 - ROUNDING, 1 + ROUNDING))
            yield prior <= p <= 1 and low <= v <= high


@hidden("success_bound")
def enough_information_is_certainty(answer: Answer, rng: Generator) -> bool:
    """Enough information makes the bound 1, and no more than that."""
    enough = ((0.7, 0.5), (9.0, 0.8), (0.23, 0.8), (0.5, 0.8), (0.11, 0.9), (2.5, 0.9))
    return all(abs(answer(v, prior) - 1) < ROUNDING for v, prior in enough)


@hidden("success_bound", promise=True)
def no_made_up_release_is_guessed_more_often(answer: Answer, rng: Generator) -> Demands:
    """No release, made up as a table, is guessed right more often than its information allows."""
    for outputs in (2, 2, 3, 5) * 15:
        inside = float(rng.uniform(0.05, 0.95))
        laws = rng.dirichlet(np.full(outputs, 0.4), size=2)
        joint = np.array([[1 - inside], [inside]]) * laws
        best = joint.max(axis=0).sum()
        yield best <= answer(_told(joint), max(inside, 1 - inside)) + ROUNDING


@hidden("success_bound")
def a_coin_that_tends_to_the_truth_attains_it(answer: Answer, rng: Generator) -> Demands:
    """For a coin that tells the truth more often than not the bound is that often."""
    for truth in rng.uniform(0.52, 0.98, 5):
        joint = np.array([[truth, 1 - truth], [1 - truth, truth]]) / 2
        yield abs(answer(_told(joint), 0.5) - truth) < 1e-6
