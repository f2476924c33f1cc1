"""Data for the book: real tables under a checksum, generated ones under a generator.

Original tables are looked for in the folder named by the environment variable ``PDPBOOK_DATA``,
then in pooch's cache, then at their public address; what is verified is the parsed table, not the
bytes. Nothing here is private, and nothing is shipped with the package.
"""

from pdpbook.datasets.designs import diabetes_design, medical_cost_design, pac_design
from pdpbook.datasets.originals import canonical_checksum, load
from pdpbook.datasets.synthetic import make_ridge_data, sample_budgets, sample_zipf_users
from pdpbook.datasets.tables import EncodedTable, PublicSchema

__all__ = [
    "EncodedTable",
    "PublicSchema",
    "canonical_checksum",
    "diabetes_design",
    "load",
    "make_ridge_data",
    "medical_cost_design",
    "pac_design",
    "sample_budgets",
    "sample_zipf_users",
]
