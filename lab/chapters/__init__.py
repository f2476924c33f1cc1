"""What one page or long runs compute and no mechanism needs: refits, replaced records, bounds.

Every function refuses what is no number, not finite, out of range or of a wrong shape, with a
TypeError or ValueError that names the argument, the rule and the value.
"""

from lab.chapters.bisection import bisection_law, quantile_by_bisection
from lab.chapters.composition import composed_profile, posterior_losses
from lab.chapters.levels import (
    exponential_mechanism_level,
    isotropic_for_all,
    isotropic_sensitivity,
)
from lab.chapters.objective_error import ObjectiveError, objective_error
from lab.chapters.pools import pac_design
from lab.chapters.printed_noise import (
    PrintedMoments,
    PrintedNoise,
    printed_moments,
    printed_noise,
)
from lab.chapters.quantile_bound import quantile_error_bound
from lab.chapters.refits import (
    KernelLeaveOneOut,
    NewtonLeaveOneOut,
    kernel_leave_one_out,
    logistic_leave_one_out,
    logistic_ridge,
)
from lab.chapters.replace_one import ReplaceOneProfile, replace_one_profile
from lab.chapters.smooth import (
    ObjectiveLosses,
    OutputLosses,
    objective_perturbation_losses,
    output_perturbation_losses,
    release_intervals,
    stationary_shift,
)
from lab.chapters.tilted import objective_perturbation_epsilon, objective_perturbation_profile
from lab.chapters.user_bounds import descent_bound, user_volume
