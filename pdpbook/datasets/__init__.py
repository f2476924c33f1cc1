"""Data for the book: real tables that are part of the package, and generators of others."""

from pdpbook.datasets.originals import diabetes_design, load, medical_cost_design
from pdpbook.datasets.synthetic import make_ridge_data, sample_budgets, sample_zipf_users
from pdpbook.datasets.tables import EncodedTable, PublicSchema
