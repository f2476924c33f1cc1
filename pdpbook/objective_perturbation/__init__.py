"""Regression with a privacy budget for every person, by noise inside the objective.

A random linear term tilts the objective before it is minimized, so the data pull the noise together
where they have something to say. `personalized` has noise on the minimizer itself.
"""

from pdpbook.objective_perturbation.budget import BudgetSplit, split_budget
from pdpbook.objective_perturbation.law import ObjectiveLaw
from pdpbook.objective_perturbation.ridge import ObjectivePerturbation
