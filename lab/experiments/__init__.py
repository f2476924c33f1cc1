"""Sweeps that reproduce printed tables and figures, as tidy frames and as committed CSV files.

``python -m lab NAME`` writes a file; `read_results` reads it back, `judge` holds
printed numbers against it. The printed numbers themselves are in `published`.
"""

from lab.experiments.columns import sweep_columns
from lab.experiments.records import (
    COLUMN_RESULTS,
    FOLDERS,
    PAC_RESULTS,
    RESULTS,
    SCALE_RESULTS,
    SEED,
    USER_RESULTS,
    judge,
    settings,
    write_results,
)
from lab.experiments.scale import sweep_scale
from lab.experiments.spread import sweep_spread
from lab.experiments.sweeps import (
    DATA,
    GRIDS,
    sweep_eps_c,
    sweep_eps_m,
    sweep_f_c,
    sweep_lambda,
    sweep_n,
)
from lab.experiments.user_problems import DESIGNS, USER_DATA, Problem, user_problem
from lab.experiments.users import (
    USER_GRIDS,
    USER_METHODS,
    noisy_loss,
    sweep_users,
    user_losses,
)
from lab.experiments.verdicts import judge_all, places, runs, select, short, side_by_side
from lab.tables import read_results
