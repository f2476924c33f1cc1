"""The noisy average of a random batch: coins, noise, and a public divisor."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM, leaves
from pdpbook.pages.exercises.dpsgd import hidden
from pdpbook.pages.exercises.properties import Answer, Demands, shaped

MANY = 20_000  # weights, so that one call has so many draws of noise
QUIET = 1e-9  # a noise multiplier at which the batch can be read off
FAR = 5.2  # deviations: a normal number is farther out twice in ten million times
SETTINGS = [  # rate, batch size, clipping norm, noise multiplier
    (0.5, 7.5, 1.0, 1.0),
    (1.0, 40.0, 0.01, 5.0),
    (0.01, 0.5, 3.0, 0.4),
    (0.2, 1.0, 1e-4, 30.0),
    (0.2, 1000.0, 1e4, 0.05),
    (0.2, 1.0, 1e-4, 1e-3),
    (0.2, 1.0, 100.0, 100.0),
]


def noise(answer: Answer, gradients: Any, setting: Any, rng: Generator) -> Any:
    """What is left of the sum without the gradients of all, in deviations of the noise."""
    rate, batch_size, clip_norm, sigma = setting
    found = shaped(answer(gradients, rate, batch_size, clip_norm, sigma, rng), gradients.shape[1:])
    total = found * batch_size
    return (total - gradients.sum(axis=0) * (rate == 1)) / (sigma * clip_norm)


def wide(draws: Any, alarm: float = ALARM) -> bool:
    """Whether squares add up to as much as those of unit normals do."""
    return bool(np.sum(draws**2) >= stats.chi2.ppf(alarm, len(draws)))


def sums(
    answer: Answer, gradients: Any, rate: float, times: int, rng: Generator, sigma: float = QUIET
) -> Any:
    """Sums over the batch of several calls, with hardly any noise."""
    found = [answer(gradients, rate, 10.0, 1.0, sigma, rng) for _ in range(times)]
    return np.multiply(10, found)


def fair(heads: Any, tosses: int, rate: float, alarm: float) -> bool:
    """Whether a coin can come up so often."""
    return bool(stats.binomtest(int(np.rint(heads)), tosses, rate).pvalue > alarm)


@hidden("noisy_average", weight=3, promise=True, draws=True)
def the_noise_is_as_wide_as_promised(answer: Answer, rng: Generator) -> Demands:
    """The noise on the sum deviates by the multiplier times the clipping norm, and not by less."""
    found = [noise(answer, np.zeros((3, MANY)), setting, rng) for setting in SETTINGS]
    yield all(wide(draws, ALARM / 9) for draws in found)
    yield wide(np.concatenate(found), ALARM / 9)
    few = [noise(answer, np.zeros((4, 3)), SETTINGS[0], rng) for _ in range(1500)]
    yield wide(np.ravel(few), ALARM / 9)
    yield len(np.unique(few, axis=0)) == len(few)  # a generator of few seeds repeats itself


@hidden("noisy_average", promise=True, draws=True)
def whoever_comes_meets_the_same_noise(answer: Answer, rng: Generator) -> Demands:
    """The noise is as wide whoever comes: nobody, somebody, or everybody."""
    apart = rng.normal(size=(5, MANY)) * np.array([[0.0], [1e-3], [1.0], [1.0], [-1.5]])
    alike = [np.full((n, MANY), 2.0) for n in (0, 1, 2, 50)]
    for gradients in (apart, *alike):
        for setting in ((1.0, 4.0, 2.0, 0.7), (1e-7, 4.0, 2.0, 0.7)):
            draws = noise(answer, gradients / np.sqrt(MANY), setting, rng)
            yield wide(draws, ALARM / 12)
    for n in (150, 3000):
        draws = noise(answer, np.full((n, 2000), 0.01), (1e-7, 4.0, 2.0, 0.7), rng)
        yield wide(draws, ALARM / 12)


@hidden("noisy_average", promise=True, draws=True)
def every_number_has_normal_noise_of_its_own(answer: Answer, rng: Generator) -> Demands:
    """The noise of every number is normal, and independent of that of all others and of before."""
    zeros, setting = np.zeros((2, MANY)), (0.5, 3.0, 0.5, 2.0)
    calls = [noise(answer, zeros, setting, rng) for _ in range(3)]
    both = np.concatenate(calls)
    both /= both.std() or 1.0  # how wide it is the other properties ask
    yield bool(stats.kstest(both, "norm").pvalue > ALARM)
    yield bool(np.abs(both).max() > 3.5)  # 28 of 60,000 are expected
    fourth = np.mean(both**4) / (np.mean(both**2) or 1.0) ** 2
    yield bool(abs(fourth - 3) < 6 * np.sqrt(24 / len(both)))
    nobody = [noise(answer, np.zeros((0, MANY)), setting, rng) for _ in range(2)]
    yield bool(abs(nobody[0] @ nobody[1]) < FAR * np.sqrt(MANY))
    first, half = calls[0], MANY // 2
    for a, b in (
        (first[1:], first[:-1]),
        (first[:half], first[half:]),
        (first, first[::-1]),
        (first, calls[1]),
        (first, calls[2]),
        (first, noise(answer, zeros, setting, np.random.default_rng(int(rng.integers(10**9))))),
    ):
        spread = np.sqrt(2 * len(a)) if b is first[::-1] else np.sqrt(len(a))
        yield bool(abs(a @ b) < FAR * spread)


@hidden("noisy_average", promise=True, draws=True)
def nobody_is_in_more_often(answer: Answer, rng: Generator) -> Demands:
    """Nobody is in a batch more often than the rate says, alone or among many."""
    for rate in (0.5, 0.1):
        heads = np.sum(sums(answer, np.ones((1000, 1)), rate, 200, rng))
        yield bool(stats.binom.sf(round(heads) - 1, 200_000, rate) > ALARM / 8)
    for rate in (0.001, 0.005, 0.02, 0.25, 0.96):
        heads = np.sum(sums(answer, np.ones((20_000, 1)), rate, 1, rng))
        yield bool(stats.binom.sf(round(heads) - 1, 20_000, rate) > ALARM / 40)
    alone = np.sum(sums(answer, np.ones((1, 1)), 0.3, 300, rng))
    yield bool(stats.binom.sf(round(alone) - 1, 300, 0.3) > ALARM / 4)
    length = np.linspace(0.05, 1, 20)  # of the gradients: it must not decide who is in
    each = np.sum(sums(answer, np.diag(length), 0.3, 300, rng), axis=0) / length
    yield bool(np.all(stats.binom.sf(np.rint(each) - 1, 300, 0.3) > ALARM / 80))


@hidden("noisy_average", promise=True, draws=True)
def everybody_has_a_coin_of_their_own(answer: Answer, rng: Generator) -> Demands:
    """Whether somebody is in depends neither on others, nor on noise, nor on batches before."""
    counts = sums(answer, np.ones((1000, 1)), 0.4, 200, rng)[:, 0]
    share = float(np.mean(counts)) / 1000  # how often people are in the other properties ask
    yield 0 < share < 1
    spread = 200 * np.var(counts) / (1000 * share * (1 - share))  # normal, near enough
    yield bool(min(stats.chi2.cdf(spread, 199), stats.chi2.sf(spread, 199)) > ALARM / 4)
    n, calls, sigma = 30, 300, 0.05
    found = sums(answer, np.eye(n), 0.5, calls, rng, sigma)
    batch = np.rint(found)
    rest, side = (found - batch) / sigma, 2 * batch - 1
    for a, b in ((side, rest), (side[1:], rest[:-1]), (side[:-1], rest[1:]), (side, rest**2 - 1)):
        yield bool(abs(np.sum(a * b)) < FAR * np.sqrt(2 * a.size))
    drawn = sums(answer, np.eye(n), 0.3, calls, rng, sigma)
    members = np.rint(drawn)
    # coin and noise of one seed: small coins would come with small noise
    size = abs(drawn - members) / sigma - np.sqrt(2 / np.pi)
    spread = np.sqrt(members.size * 0.3 * 0.7 * (1 - 2 / np.pi))
    yield bool(abs(np.sum((members - 0.3) * size)) < FAR * spread)
    first, second = np.triu_indices(n, 1)
    coins = [
        *(batch[:, first] != batch[:, second]).T,
        *(batch[1:] != batch[:-1]).T,
    ]  # each is a row of fair and independent coins
    yield all(fair(coin.sum(), len(coin), 0.5, ALARM / 4 / len(coins)) for coin in coins)


@hidden("noisy_average", promise=True)
def the_divisor_is_public(answer: Answer, rng: Generator) -> Demands:
    """One person moves the average by the clipping norm over the batch size, whoever comes."""
    for n, batch_size in ((1, 0.5), (4, 8.0), (30, 7.5), (30, 1000.0)):
        total = batch_size * np.asarray(answer(np.eye(n), 0.5, batch_size, 1.0, QUIET, rng))
        yield bool(np.all(np.minimum(abs(total), abs(total - 1)) < 1e-5))


@hidden("noisy_average", weight=2, draws=True)
def the_noise_is_no_wider(answer: Answer, rng: Generator) -> Demands:
    """The noise is no wider than it has to be."""
    for setting in SETTINGS:
        draws = noise(answer, np.zeros((3, MANY)), setting, rng)
        yield bool(np.sum(draws**2) <= stats.chi2.isf(ALARM / len(SETTINGS), MANY))


@hidden("noisy_average", draws=True)
def people_are_in_as_often_as_the_rate_says(answer: Answer, rng: Generator) -> Demands:
    """People are in as often as the rate says, and at a rate of 1 all of them always."""
    everybody = rng.uniform(-0.3, 0.3, (20, 4))
    found = sums(answer, everybody, 1.0, 5, rng)
    yield bool(np.allclose(found, everybody.sum(axis=0), atol=1e-5))
    for rate in (0.5, 0.1):
        heads = np.sum(sums(answer, np.ones((1000, 1)), rate, 100, rng))
        yield fair(heads, 100_000, rate, ALARM / 2)


@hidden("noisy_average")
def the_rows_stay_as_they_were(answer: Answer, rng: Generator) -> bool:
    """The gradients are left as they were handed in."""
    given = rng.uniform(-0.3, 0.3, (5, 3))
    return leaves(lambda gradients: answer(gradients, 0.5, 2.0, 1.0, 1.0, rng), given)
