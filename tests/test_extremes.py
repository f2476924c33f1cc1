"""The extreme cases of three accounts: their numbers, with fifty digits."""

import mpmath as mp
import pytest

from course.hidden.accounting import concentrated, exact
from course.hidden.dpsgd import account


def delta_of(epsilon, delta, k, total):
    """The largest excess of an event: among k coins only the number of lies matters."""
    truth = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
    excess = mp.mpf(0)
    for lies in range(k + 1):
        here = truth ** (k - lies) * (1 - truth) ** lies
        there = truth**lies * (1 - truth) ** (k - lies)
        excess += mp.binomial(k, lies) * max(here - mp.exp(total) * there, 0)
    never_shown = (1 - mp.mpf(delta)) ** k
    return 1 - never_shown * (1 - excess)


def least_epsilon(epsilons, multipliers, delta):
    """What the order proves at which the slope is 0, found by halving."""
    rho = sum(mp.mpf(e) * mp.tanh(mp.mpf(e) / 2) for e in epsilons)
    rho += sum(1 / (2 * mp.mpf(m) ** 2) for m in multipliers)
    low, high = mp.mpf("1e-6"), mp.mpf("1e12")  # the order less 1
    for _ in range(200):
        a = mp.sqrt(low * high)
        falls = rho + (mp.log(delta) + mp.log1p(a)) / a**2 < 0
        low, high = (a, high) if falls else (low, a)
    return (1 + a) * rho - mp.log1p(1 / a) - (mp.log(delta) + mp.log1p(a)) / a


@pytest.mark.parametrize(("given", "expected"), exact.CASES)
def test_the_deltas_of_extreme_cases_are_exact(given, expected):
    with mp.workdps(50):
        assert float(delta_of(*given)) == pytest.approx(expected, rel=1e-10, abs=0)


@pytest.mark.parametrize(("epsilons", "multipliers", "delta", "least"), concentrated.CASES)
def test_the_epsilons_of_extreme_cases_are_exact(epsilons, multipliers, delta, least):
    with mp.workdps(50):
        found = float(least_epsilon(epsilons, multipliers, delta))
    assert found == pytest.approx(least, rel=1e-10, abs=0)


def epsilon_of(rate, sigma, steps, delta):
    """The smallest that a whole order proves, by the sum over j as it is printed."""
    q, found = mp.mpf(rate), []
    for order in range(2, 257):
        moment = mp.fsum(
            mp.binomial(order, j)
            * (1 - q) ** (order - j)
            * q**j
            * mp.exp(j * (j - 1) / (2 * mp.mpf(sigma) ** 2))
            for j in range(order + 1)
        )
        rest = mp.log(mp.mpf(delta) * order) / (order - 1)
        found.append(steps * mp.log(moment) / (order - 1) + mp.log1p(-mp.mpf(1) / order) - rest)
    return min(found)


@pytest.mark.parametrize(("run", "expected"), account.CASES)
def test_the_epsilons_of_extreme_runs_are_exact(run, expected):
    with mp.workdps(50):
        assert float(epsilon_of(*run)) == pytest.approx(expected, rel=1e-10, abs=0)
