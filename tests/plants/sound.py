"""Every mechanism of the package, with neighbors on which its promise is hard to keep."""

from typing import Any

import numpy as np

from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.gwa import GWARegression, SampleLimitedRegression, TwoStageGWARegression
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import SampleLimitedMean, WeightedERM, WeightedMean
from plants import descent, personal, pools, sums, users
from plants.plant import Trial, flipped, joined, owned

FLIP = flipped(6, 3, epsilon=personal.MIXED, person=5)
AGAINST = joined(np.ones((40, 1)), np.ones(40), [1.0], -1.0)
FEW: dict[str, Any] = {"delta": 0.01, "n_max": 41}
TURNED = owned([6, 1, 2, 3], 2, 0)
STEPS: dict[str, Any] = users.DESCENT | {"delta": 0.01}
POOL: dict[str, Any] = {"success_rate": 0.65, "draws": 2000, "random_state": 1}

#: label -> Trial, at least one for every estimator
SOUND = {
    "PDPRidge": Trial(PDPRidge(60.0), FLIP),
    "PDPRidge, Huber": Trial(PDPRidge(60.0, loss="huber"), FLIP),
    "PDPRidge, delta": Trial(PDPRidge(60.0, delta=0.01), FLIP),
    "PersonalizedMean": Trial(PersonalizedMean(), FLIP),
    "SampledRidge": Trial(SampledRidge(400.0), flipped(3, 4, epsilon=personal.THREE)),
    "ObjectivePerturbation": Trial(ObjectivePerturbation(2.0), personal.duel()),
    "ObjectivePerturbation, delta": Trial(
        ObjectivePerturbation(400.0, delta=0.01), personal.duel(), draws=5000
    ),
    "SufficientStatisticsRidge": Trial(SufficientStatisticsRidge(), sums.NULL),
    "SufficientStatisticsRidge, Gaussian": Trial(
        SufficientStatisticsRidge(**sums.GAUSSIAN), sums.NULL
    ),
    "AdaSSP": Trial(AdaSSP(delta=0.01), sums.ALONE),
    "OnePosteriorSample": Trial(OnePosteriorSample(100.0, **FEW), AGAINST),
    "AdaOPS": Trial(AdaOPS(**FEW), AGAINST),
    "AdaOPS, norm": Trial(AdaOPS(release_norm=True, **FEW), AGAINST),
    "GradientDescentRidge": Trial(
        GradientDescentRidge(1.0, delta=0.01, steps=4, huber_threshold=0.01), descent.LOUD
    ),
    "DPSGDRegression": Trial(DPSGDRegression(**descent.BATCHES), descent.QUIET, draws=1500),
    "WeightedMean": Trial(WeightedMean(**users.ROWS), users.GROUPS),
    "SampleLimitedMean": Trial(SampleLimitedMean(max_rows=2), users.GROUPS),
    "WeightedERM": Trial(WeightedERM(**STEPS), TURNED, draws=5000),
    "WeightedERM, Gaussian": Trial(WeightedERM(accounting="gaussian", **STEPS), TURNED, draws=5000),
    "WeightedERM, output": Trial(WeightedERM("logistic", **users.FAR), users.far()),
    "private_quantile": Trial(users.Median(), users.cluster(9)),
    "GWARegression": Trial(GWARegression(), users.regression(3)),
    "GWARegression, Gaussian": Trial(GWARegression(delta=0.01, prior=1.0), users.regression(3)),
    "SampleLimitedRegression": Trial(SampleLimitedRegression(max_rows=5), users.regression(3)),
    "TwoStageGWARegression": Trial(
        TwoStageGWARegression(sigma2=0.02, epsilon=40.0, share=0.3), users.regression(3)
    ),
    "PACRegression": Trial(PACRegression(**POOL), pools.pool(), "attack", 400),
}
