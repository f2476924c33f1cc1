"""Data for the book: real tables that are part of the package, and generators of others."""

from pdpbook.datasets.schema import Dates, EncodedTable, Numbers, PublicSchema, Words
from pdpbook.datasets.tables import (
    diabetes_design,
    load,
    make_ridge_data,
    medical_cost_design,
    sample_budgets,
    sample_zipf_users,
)
