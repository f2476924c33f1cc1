"""An audit: what counts prove."""

import itertools

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from pdpbook.exercises.foundations import hidden
from pdpbook.exercises.properties import Answer


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


@hidden("epsilon_lower_bound", draws=True)
def false_alarms_are_as_rare_as_asked(answer: Answer, rng: Generator) -> bool:
    """Where the promise is kept exactly, the bound exceeds it no more often than asked."""
    games, n, alarm, p, q = 3000, 200, 0.05, 0.6, 0.3
    first, second = rng.binomial(n, p, games), rng.binomial(n, q, games)
    seen: dict[tuple[int, int], float] = {}
    for pair in {*zip(first.tolist(), second.tolist(), strict=True)}:
        seen[pair] = float(answer(pair[0], n, pair[1], n, alarm))
    wrong = sum(
        seen[pair] > np.log(p / q) for pair in zip(first.tolist(), second.tolist(), strict=True)
    )
    return bool(stats.binom.sf(wrong - 1, games, alarm) > ALARM)


@hidden("epsilon_lower_bound")
def rare_events_raise_no_more_alarms(answer: Answer, rng: Generator) -> bool:
    """False alarms are no more frequent where the event is rare, or the releases are few."""
    fine = []
    for draws_p, draws_q, chance, alarm, most in (
        (1000, 10**6, 1e-5, 1e-4, range(21)),
        (1, 400, 0.16, 0.1, range(42, 87)),
    ):
        false = 0.0  # the chance of a bound above 0, which is the truth; other counts are let pass
        for a, b in itertools.product(range(1, min(draws_p, 3) + 1), most):
            if answer(a, draws_p, b, draws_q, alarm) > 0:
                false += stats.binom.pmf(a, draws_p, chance) * stats.binom.pmf(b, draws_q, chance)
        fine.append(bool(false <= alarm))
    return all(fine)


@hidden("epsilon_lower_bound")
def the_bound_wastes_little(answer: Answer, rng: Generator) -> bool:
    """With a million releases little is left between the bound and the truth."""
    bound = answer(600_000, 1_000_000, 300_000, 1_000_000, 1e-6)
    return bool(bound > np.log(2) - 0.02)
