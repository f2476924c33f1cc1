"""Two laws: their profile, and the event that tells most."""

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING
from pdpbook.pages.exercises.foundations import hidden, laws
from pdpbook.pages.exercises.properties import Answer, Demands

# --- privacy_profile ------------------------------------------------------------------------------


@hidden("privacy_profile")
def at_zero_it_is_total_variation(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 it is the total variation distance."""
    p, q = laws(rng)
    return bool(np.isclose(answer(p, q, 0.0), np.abs(p - q).sum() / 2))


@hidden("privacy_profile", promise=True)
def both_directions_count(answer: Answer, rng: Generator) -> bool:
    """It does not matter which law is named first."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    more = laws(rng)
    pairs = ((p, q), more)
    return all(bool(np.isclose(answer(a, b, 0.5), answer(b, a, 0.5))) for a, b in pairs)


@hidden("privacy_profile", weight=3, promise=True)
def no_event_does_better(answer: Answer, rng: Generator) -> Demands:
    """No event exceeds the promise by more than delta, and some event by exactly that much."""
    events = (np.arange(128)[:, None] >> np.arange(7)) & 1
    for epsilon in rng.uniform(0.1, 1.0, 12):
        p, q = laws(rng, m=7)
        forth, back = events @ (p - np.exp(epsilon) * q), events @ (q - np.exp(epsilon) * p)
        yield bool(np.isclose(answer(p, q, epsilon), max(forth.max(), back.max())))


@hidden("privacy_profile", promise=True)
def an_output_of_one_law_alone_counts(answer: Answer, rng: Generator) -> bool:
    """An output of one law alone counts, whatever epsilon is; one of neither law does not."""
    p, q = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.5, 0.0])
    return all(bool(np.isclose(answer(p, q, epsilon), 0.5)) for epsilon in (0.0, 0.4, 3.0))


@hidden("privacy_profile")
def merging_outputs_reveals_no_more(answer: Answer, rng: Generator) -> bool:
    """Outputs that are merged reveal no more than before."""
    p, q = laws(rng, m=8)
    merged = [law.reshape(4, 2).sum(axis=1) for law in (p, q)]
    return bool(answer(*merged, 0.2) <= answer(p, q, 0.2) + ROUNDING)


# --- worst_event ----------------------------------------------------------------------------------


@hidden("worst_event", weight=3, promise=True)
def no_other_event_exceeds_more(answer: Answer, rng: Generator) -> Demands:
    """No other event has a larger excess over the promise."""
    for epsilon in (0.0, 0.3, 1.0):
        p, q = laws(rng, m=7)
        events = (np.arange(128)[:, None] >> np.arange(7)) & 1
        excess = events @ (p - np.exp(epsilon) * q)
        event = np.asarray(answer(p, q, epsilon))
        mine = np.sum((p - np.exp(epsilon) * q)[event])
        yield bool(np.isclose(mine, excess.max(), atol=1e-12))


@hidden("worst_event")
def it_may_hold_many_outputs_or_none(answer: Answer, rng: Generator) -> bool:
    """The event may hold several outputs, and holds none where none pays."""
    p, q = np.array([0.4, 0.4, 0.2]), np.array([0.2, 0.2, 0.6])
    return bool(np.sum(answer(p, q, 0.1)) == 2 and np.sum(answer(p, p, 0.5)) == 0)


@hidden("worst_event", promise=True)
def what_one_law_never_gives_is_judged(answer: Answer, rng: Generator) -> bool:
    """An output that the second law never gives is in the event; one that neither gives is not."""
    p, q = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.5, 0.0])
    wanted = [False, True, False, False]
    return all(np.array_equal(answer(p, q, epsilon), wanted) for epsilon in (0.0, 0.3))


@hidden("worst_event", promise=True)
def what_pays_little_pays(answer: Answer, rng: Generator) -> Demands:
    """Among outputs that are very rare, and of laws nearly alike, just those that pay are in."""
    rare, q = 10 ** rng.uniform(-14, 0, (2, 300)), rng.dirichlet(np.ones(300))
    alike = q * np.exp(0.02 * rng.normal(size=300))
    for p, other, epsilon in (
        (*(law / law.sum() for law in rare), 0.5),
        (alike / alike.sum(), q, 0.01),
    ):
        pays = np.log(p / other) - epsilon
        clear = np.abs(pays) > 1e-6  # rounding decides about the rest
        event = np.asarray(answer(p, other, epsilon))
        yield bool(np.array_equal(event[clear], pays[clear] > 0))


@hidden("worst_event")
def outputs_may_be_renamed(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which outputs are listed."""
    p, q = laws(rng, m=9)
    order = rng.permutation(9)
    straight = np.asarray(answer(p, q, 0.2))
    return bool(np.array_equal(np.asarray(answer(p[order], q[order], 0.2)), straight[order]))
