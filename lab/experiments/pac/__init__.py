"""PAC regression against DP-SGD: what stands behind the tables and figures of Yang (2024)."""

from lab.experiments.pac.cells import RATES, TARGET
from lab.experiments.pac.noise import ALPHAS, sweep_bases, sweep_pac
from lab.experiments.pac.readings import PENALTIES, agreement, sweep_readings
from lab.experiments.pac.runs import (
    DATA,
    OTHERS,
    Scores,
    dpsgd_weights,
    pac_weights,
    pool_of,
    printed_weights,
    rescaled,
    scores,
)
from lab.experiments.pac.sgd import noise_levels, opacus, start_weights, sweep_dpsgd
