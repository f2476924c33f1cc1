"""An audit: what counts prove."""

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ROUNDING
from pdpbook.pages.exercises.foundations import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("epsilon_lower_bound")
def more_releases_prove_more(answer: Answer, rng: Generator) -> bool:
    """Ten times as many releases with the same shares give a larger bound."""
    few, many = answer(80, 100, 20, 100, 1e-3), answer(800, 1000, 200, 1000, 1e-3)
    return bool(0 < few < many < np.log(4))


@hidden("epsilon_lower_bound")
def more_caution_proves_less(answer: Answer, rng: Generator) -> bool:
    """Fewer false alarms allowed give a smaller bound."""
    bounds = [answer(800, 1000, 200, 1000, alarm) for alarm in (1e-1, 1e-3, 1e-6)]
    return bool(bounds[0] > bounds[1] > bounds[2] > 0)


@hidden("epsilon_lower_bound")
def an_empty_count_is_no_proof_of_infinity(answer: Answer, rng: Generator) -> bool:
    """An event that was never seen from one side still gives a finite bound."""
    bound = answer(50, 100, 0, 100, 1e-2)
    return bool(np.isfinite(bound) and bound > 0 and answer(0, 100, 0, 100, 1e-2) == 0)


def _most_alarms(answer: Answer, n: int, m: int, alarm: float) -> float:
    """Chance of a bound above the truth, the largest over a grid of truths; nothing is drawn."""
    bound = [[float(answer(a, n, b, m, alarm)) for b in range(m + 1)] for a in range(n + 1)]
    truth = np.geomspace(1e-3, 0.5, 24)
    truth = np.append(truth, 1 - truth)
    first, second = (stats.binom.pmf(np.arange(k + 1), k, truth[:, None]) for k in (n, m))
    i, j = np.nonzero(truth[:, None] >= truth)
    above = np.array(bound) > np.log(truth[i] / truth[j])[:, None, None] + ROUNDING
    return float(np.einsum("ka,kab,kb->k", first[i], above, second[j]).max())


def _chance_of_alarm(answer: Answer, draws: Any, chances: Any, hits: Any, alarm: float) -> float:
    """Chance of a bound above the truth with one of these counts; all others are let pass."""
    truth, found = np.log(chances[0] / chances[1]) + ROUNDING, 0.0
    for a, b in itertools.product(*hits):
        if answer(a, draws[0], b, draws[1], alarm) > truth:
            likely = stats.binom.pmf([a, b], draws, chances)
            found += float(likely.prod())
    return found


def _alarms_at_an_edge(answer: Answer, hits: int, alarm: float) -> float:
    """Chance of a false alarm where one hit more or less decides; nothing is drawn.

    Every release of P is a hit. The chance of Q is a thousandth above the bound that `hits` hits of
    200 prove: so many hits raise a false alarm, and one more must not.
    """
    draws, q = (10**6, 200), 1.001 * stats.beta.isf(alarm / 2, hits + 1, 200 - hits)
    return _chance_of_alarm(answer, draws, (1.0, q), ([draws[0]], range(hits + 3)), alarm)


def _alarms_at_its_own_edge(answer: Answer, alarm: float) -> Any:
    """Chances of a false alarm just beyond what the answer itself claims; nothing is drawn.

    One law is known from millions of releases, the other from few. Where the few say the most that
    the claim allows, the claim is just above the truth.
    """
    many = 10**6  # all of them hits of P
    for hits in (0, 3, 40, 150):
        claim = np.exp(float(answer(many, many, hits, 200, alarm)))
        yield stats.binom.cdf(hits, 200, min(1.0, 1.0005 / claim))
    seen, unlucky = many, 2600  # hits of Q in four million; three deviations more are rare
    for hits in (10, 15, 19, 20):
        claim = np.exp(float(answer(hits, 20, seen, 4 * many, alarm)))
        p = 0.996 * claim / 4
        if 0.25 < p <= 1:
            still = answer(hits, 20, seen + unlucky, 4 * many, alarm) > np.log(4 * p)
            yield 0.998 * still * stats.binom.sf(hits - 1, 20, p)


@hidden("epsilon_lower_bound", weight=3, promise=True)
def false_alarms_are_as_rare_as_asked(answer: Answer, rng: Generator) -> Demands:
    """Whatever the two chances are, the bound exceeds the truth no more often than asked."""
    yield _most_alarms(answer, 7, 12, 0.1) <= 0.1
    for alarm in (0.05, 0.01):
        for hits in range(3):
            yield _alarms_at_an_edge(answer, hits, alarm) <= alarm
        for chance in _alarms_at_its_own_edge(answer, alarm):
            yield chance <= alarm


@hidden("epsilon_lower_bound", promise=True)
def the_alarm_is_divided(answer: Answer, rng: Generator) -> bool:
    """Two intervals do not both spend the whole alarm, which shows where it is large."""
    return _most_alarms(answer, 12, 12, 0.9) <= 0.9


@hidden("epsilon_lower_bound")
def only_the_event_itself_is_judged(answer: Answer, rng: Generator) -> bool:
    """Nothing is proved by the other event, or where the event is rarer on the first side."""
    rarer = [answer(100, 1000, 900, 1000, 0.01), answer(10, 20, 20, 20, 0.01)]
    return bool(answer(900, 1000, 800, 1000, 0.01) < np.log(9 / 8) and rarer == [0, 0])


@hidden("epsilon_lower_bound", promise=True)
def rare_events_raise_no_more_alarms(answer: Answer, rng: Generator) -> Demands:
    """False alarms are no more frequent where the event is rare, or the releases are few."""
    for draws_p, draws_q, chance, alarm, most in (
        (1000, 10**6, 1e-5, 1e-4, range(21)),
        (1, 400, 0.16, 0.1, range(42, 87)),
    ):
        draws, hits = (draws_p, draws_q), (range(1, min(draws_p, 3) + 1), most)
        yield _chance_of_alarm(answer, draws, (chance, chance), hits, alarm) <= alarm
    # with many releases of P, and 100 of Q: in 97 of 100 cases P has 49,700 hits or more
    high = [answer(49_700, 100_000, b, 100, 0.05) > np.log(0.5 / 0.026) for b in range(4)]
    yield bool(0.97 * stats.binom.pmf(np.arange(4), 100, 0.026) @ high <= 0.05)


@hidden("epsilon_lower_bound")
def the_bound_wastes_little(answer: Answer, rng: Generator) -> bool:
    """With a million releases, or more of one law, little is left between bound and truth."""
    n, fine = 1_000_000, []
    for draws_p, draws_q in ((n, n), (n, 4 * n), (4 * n, n)):
        bound = answer(6 * draws_p // 10, draws_p, 3 * draws_q // 10, draws_q, 1e-6)
        fine.append(np.log(2) - 0.02 < bound < np.log(2))
    certain = answer(1000, 1000, 300, 1000, 1e-3)  # hits in all releases are no reason to give up
    return bool(all(fine) and certain > np.log(2))
