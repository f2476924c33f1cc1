"""What a fitted estimator says of its noise, held against draws from its law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pdpbook.noise import PublicNoise
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import OnePosteriorSample
from pdpbook.user_level import SampleLimitedMean, WeightedMean, WeightedOutputPerturbation

DRAWS = 40_000
EXACT = [
    PDPRidge(0.1, fit_intercept=True),
    PDPRidge(0.1, loss="huber", delta=1e-6),
    PersonalizedMean(),
    SampledRidge(0.1),
    WeightedMean(),
    SampleLimitedMean(),
    WeightedOutputPerturbation(),
]


def people():
    rng = np.random.default_rng(4)
    X = rng.random((40, 2))
    return X, X @ [0.5, -0.4]


@pytest.mark.parametrize("model", EXACT, ids=str)
def test_the_covariance_is_that_of_the_law(model):
    X, y = people()
    noise, law = model.fit(X, y).noise_, model.output_law(X, y)
    if isinstance(model, SampledRidge):  # budgets that are equal keep everybody
        law = model.conditional_law(X, y, np.ones(40, dtype=bool))
    drawn = law.sample(DRAWS, rng=np.random.default_rng(1)) - law.center
    products = drawn[:, :, None] * drawn[:, None, :]
    error = products.std(axis=0) / np.sqrt(DRAWS)
    # five standard errors of each entry: one alarm in a million
    assert (np.abs(products.mean(axis=0) - noise.covariance) < 5 * error).all()
    if noise.rate is not None:
        assert_allclose(noise.scale, 1 / noise.rate, rtol=1e-15)


def test_noise_that_follows_the_data_has_no_public_law():
    noise = OnePosteriorSample(50.0, n_max=100).fit(*people()).noise_
    assert (noise.rate, noise.scale, noise.covariance) == (None, None, None)


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        PublicNoise(scale=1.0).scale = 2.0
