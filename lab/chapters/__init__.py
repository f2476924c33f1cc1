"""What one page computes and no mechanism needs: refits, replaced records, the noise as printed.

Every function refuses what is no number, not finite, out of range or of a wrong shape, with a
TypeError or ValueError that names the argument, the rule and the value.
"""

from lab.chapters.printed_noise import (
    PrintedMoments,
    PrintedNoise,
    printed_moments,
    printed_noise,
)
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
